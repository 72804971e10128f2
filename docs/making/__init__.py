"""Generators of the documentation: pictures of real runs, tables of options, import order."""
