"""Comparison of several runs on the same data at equal cost."""
