"""Evaluation of learned networks: metrics, races, choice of options, benchmarks."""
