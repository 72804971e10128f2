"""Files that results are written to, one format a module."""
