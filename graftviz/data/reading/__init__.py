"""Reading of files and frames."""
