"""The documentation; ``python -m docs.making`` writes what of it is made from the package."""
