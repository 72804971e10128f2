"""Scores of inactive edges, and the test of a pair."""
