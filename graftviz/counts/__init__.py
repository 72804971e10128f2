"""Pair counts of a table from bit-packed columns, computed on demand within a memory limit."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
