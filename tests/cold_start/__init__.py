"""Measurement of a first start: from a fresh clone without compiled kernels to a growing graph."""
