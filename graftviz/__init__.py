"""graftviz: learning of pairwise Markov random fields, shown step by step.

>>> import graftviz as gv
>>> table = gv.read_table("survey.csv")  # doctest: +SKIP
>>> result = gv.learn(table, gv.BestChoice(alpha=0.5, max_edges=600))  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from graftviz import _numba_cache
from graftviz._version import __version__

_numba_cache.prepare()  # before the first import of numba, which reads the variable

if TYPE_CHECKING:
    from graftviz import dynamics
    from graftviz.counts import PairCounts
    from graftviz.datasets import load_dataset, read_public
    from graftviz.errors import InputError
    from graftviz.estimator import MarkovNetwork
    from graftviz.forecasting import Forecast, forecast
    from graftviz.formats.models import read_model
    from graftviz.inference import Beliefs, infer
    from graftviz.learners.best_choice import BestChoice
    from graftviz.learners.bounded_inference import BoundedInference
    from graftviz.learners.chow_liu import ChowLiu
    from graftviz.learners.edge_grafting import EdgeGrafting
    from graftviz.learners.feature_grafting import FeatureGrafting
    from graftviz.learners.first_hit import FirstHit
    from graftviz.learners.forced_pruning import ForcedPruning
    from graftviz.learners.grafting_light import GraftingLight
    from graftviz.learners.nodewise_l1 import NodewiseL1
    from graftviz.model import PairwiseMRF
    from graftviz.regions import (
        LocalMarginal,
        RegionStep,
        dobrushin_coefficient,
        grow_region,
        influence_matrix,
        local_marginal,
    )
    from graftviz.runs import Branch, Result, Run, learn
    from graftviz.selection import EdgeStability, LamPath, edge_stability, lam_path
    from graftviz.table import ChunkedTable, DiscreteTable, open_table, read_table
    from graftviz.trace import Step, Trace
    from graftviz.tuning import Tuning, tuning_grid

__all__ = [
    "Beliefs",
    "BestChoice",
    "BoundedInference",
    "Branch",
    "ChowLiu",
    "ChunkedTable",
    "DiscreteTable",
    "EdgeGrafting",
    "EdgeStability",
    "FeatureGrafting",
    "FirstHit",
    "ForcedPruning",
    "Forecast",
    "GraftingLight",
    "InputError",
    "LamPath",
    "LocalMarginal",
    "MarkovNetwork",
    "NodewiseL1",
    "PairCounts",
    "PairwiseMRF",
    "RegionStep",
    "Result",
    "Run",
    "Step",
    "Trace",
    "Tuning",
    "__version__",
    "dobrushin_coefficient",
    "dynamics",
    "edge_stability",
    "forecast",
    "grow_region",
    "infer",
    "inference_cost",
    "influence_matrix",
    "lam_path",
    "learn",
    "load_dataset",
    "local_marginal",
    "ncmll",
    "nll",
    "open_table",
    "read_model",
    "read_public",
    "read_table",
    "tuning_grid",
]

# Public names are imported at first use, so that `python -m graftviz --help` and the start of the
# app need not import numba and pandas.
_MODULES = {
    "Beliefs": "graftviz.inference",
    "BestChoice": "graftviz.learners.best_choice",
    "BoundedInference": "graftviz.learners.bounded_inference",
    "Branch": "graftviz.runs",
    "ChowLiu": "graftviz.learners.chow_liu",
    "ChunkedTable": "graftviz.table",
    "DiscreteTable": "graftviz.table",
    "Forecast": "graftviz.forecasting",
    "forecast": "graftviz.forecasting",
    "open_table": "graftviz.table",
    "EdgeGrafting": "graftviz.learners.edge_grafting",
    "EdgeStability": "graftviz.selection",
    "FeatureGrafting": "graftviz.learners.feature_grafting",
    "FirstHit": "graftviz.learners.first_hit",
    "ForcedPruning": "graftviz.learners.forced_pruning",
    "GraftingLight": "graftviz.learners.grafting_light",
    "InputError": "graftviz.errors",
    "LamPath": "graftviz.selection",
    "MarkovNetwork": "graftviz.estimator",
    "NodewiseL1": "graftviz.learners.nodewise_l1",
    "PairCounts": "graftviz.counts",
    "PairwiseMRF": "graftviz.model",
    "Result": "graftviz.runs",
    "Run": "graftviz.runs",
    "Step": "graftviz.trace",
    "Trace": "graftviz.trace",
    "Tuning": "graftviz.tuning",
    "edge_stability": "graftviz.selection",
    "infer": "graftviz.inference",
    "inference_cost": "graftviz.inference.cost",
    "ncmll": "graftviz.metrics",
    "nll": "graftviz.metrics",
    "lam_path": "graftviz.selection",
    "learn": "graftviz.runs",
    "load_dataset": "graftviz.datasets",
    "LocalMarginal": "graftviz.regions",
    "RegionStep": "graftviz.regions",
    "dobrushin_coefficient": "graftviz.regions",
    "grow_region": "graftviz.regions",
    "influence_matrix": "graftviz.regions",
    "local_marginal": "graftviz.regions",
    "read_model": "graftviz.formats.models",
    "read_public": "graftviz.datasets",
    "read_table": "graftviz.table",
    "tuning_grid": "graftviz.tuning",
}


# Subpackages with public names of their own, such as gv.dynamics.learn.
_SUBPACKAGES = frozenset({"dynamics"})


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"graftviz.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
