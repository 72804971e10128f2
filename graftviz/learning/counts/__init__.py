"""Counts of the states of pairs of variables."""
