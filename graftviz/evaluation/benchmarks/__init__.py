"""Benchmarks: time, quality, calibration of the defaults, prediction."""
