"""Named data sets, public data sets that users download, and true edges."""
