"""Declared experiments, one file per paper, found by :func:`..experiment.experiments`."""
