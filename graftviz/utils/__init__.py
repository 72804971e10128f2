"""Errors, options, arrays, files and compilation, which know nothing of networks."""
