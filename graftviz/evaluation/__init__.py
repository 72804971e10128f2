"""Evaluation of learners: races, choice of options, stability, benchmarks."""
