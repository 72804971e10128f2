"""Localized inference: certified marginals from small regions, by Dobrushin's comparison theorem.

`star` computes the coefficients of one variable, `comparison` turns those of a region into an error
bound, `candidates` computes the bound with one more variable, `expansion` grows the region, and
:func:`local_marginal` is the main entry point. `influence` and `global_bounds` concern the whole
model.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
