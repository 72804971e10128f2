"""Synthetic data: random graphs, random potentials on them, and rows drawn from the model."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
