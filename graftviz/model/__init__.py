"""The pairwise model."""
