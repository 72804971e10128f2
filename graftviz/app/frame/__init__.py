"""Parts that every page has."""
