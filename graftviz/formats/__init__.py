"""File formats of models, results and tables, one module per format."""
