"""Visitors without a browser: they speak to a running app as browsers do, many at once."""
