"""What the documentation is made by: pictures from real runs, tables from options, import order."""
