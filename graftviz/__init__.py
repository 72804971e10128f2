"""graftviz: learning of pairwise Markov random fields, shown step by step.

>>> import graftviz as gv
>>> table = gv.read_table("survey.csv")  # doctest: +SKIP
>>> result = gv.learn(table, gv.BestChoice(alpha=0.5, max_edges=600))  # doctest: +SKIP
"""

import lazy_loader

from graftviz import _numba_cache
from graftviz._version import __version__  # noqa: F401

_numba_cache.prepare()

# Public names are imported at first use, so that `python -m graftviz --help` and the start of the
# app need not import numba and pandas.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
