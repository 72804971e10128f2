"""Named data sets, readers of public data sets, and files of true edges and positions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
