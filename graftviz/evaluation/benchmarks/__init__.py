"""Experiments: benchmark, comparison of learners, and reproduction of the papers."""
