"""Learners of Markov networks, one per file; the registry finds them."""
