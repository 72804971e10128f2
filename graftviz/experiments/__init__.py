"""Experiments: what the project measures, and against what."""
