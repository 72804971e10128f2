"""Scores of inactive edges: one file each, with kernel, scorer, cost and words."""
