"""Rank of the best edge of a reservoir among all pairs: simulated, and in a run."""
