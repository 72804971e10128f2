"""Learners of Markov networks: one folder for each family, and what they share."""
