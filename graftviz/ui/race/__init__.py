"""The Race page."""
