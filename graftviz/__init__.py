"""graftviz: watch a pairwise Markov random field being learned by best-choice edge grafting.

>>> import graftviz as gv
>>> table = gv.read_table("survey.csv")  # doctest: +SKIP
>>> result = gv.learn(table, gv.BestChoice(alpha=0.5, max_edges=600))  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from graftviz import _numba_cache
from graftviz._version import __version__

_numba_cache.prepare()  # numba reads the variable when it is first imported, which is below

if TYPE_CHECKING:
    from graftviz.counts import PairCounts
    from graftviz.datasets import load_dataset
    from graftviz.errors import InputError
    from graftviz.inference import Beliefs, infer
    from graftviz.learners.best_choice import BestChoice
    from graftviz.learners.edge_grafting import EdgeGrafting
    from graftviz.learners.first_hit import FirstHit
    from graftviz.model import PairwiseMRF
    from graftviz.runs import Branch, Result, Run, learn
    from graftviz.table import DiscreteTable, read_table
    from graftviz.trace import Step, Trace

__all__ = [
    "Beliefs",
    "BestChoice",
    "Branch",
    "DiscreteTable",
    "EdgeGrafting",
    "FirstHit",
    "InputError",
    "PairCounts",
    "PairwiseMRF",
    "Result",
    "Run",
    "Step",
    "Trace",
    "__version__",
    "infer",
    "learn",
    "load_dataset",
    "read_table",
]

# Public names are fetched when they are first used: `python -m graftviz --help` and the app's
# first second should not wait for numba and pandas.
_HOME = {
    "Beliefs": "graftviz.inference",
    "BestChoice": "graftviz.learners.best_choice",
    "Branch": "graftviz.runs",
    "DiscreteTable": "graftviz.table",
    "EdgeGrafting": "graftviz.learners.edge_grafting",
    "FirstHit": "graftviz.learners.first_hit",
    "InputError": "graftviz.errors",
    "PairCounts": "graftviz.counts",
    "PairwiseMRF": "graftviz.model",
    "Result": "graftviz.runs",
    "Run": "graftviz.runs",
    "Step": "graftviz.trace",
    "Trace": "graftviz.trace",
    "infer": "graftviz.inference",
    "learn": "graftviz.runs",
    "load_dataset": "graftviz.datasets",
    "read_table": "graftviz.table",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
