"""Stability of edges and choice of λ, by repeated runs of a learner on parts of the rows."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
