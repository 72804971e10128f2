"""graftviz: learning of pairwise Markov random fields, shown step by step.

>>> import graftviz as gv
>>> table = gv.read_table("survey.csv")  # doctest: +SKIP
>>> result = gv.learn(table, gv.BestChoice(alpha=0.5, max_edges=600))  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import Any

from graftviz.utils.version import __version__  # noqa: F401

# Public names are imported at first use, so that `python -m graftviz --help` and the start of the
# app need not import numba and pandas. Type checkers read ``__init__.pyi``.
_NAMES = {
    "graftviz.data.sets.public": ("read_public",),
    "graftviz.data.sets.registry": ("load_dataset",),
    "graftviz.data.table": ("DiscreteTable",),
    "graftviz.evaluation.selection.groups": ("compare_groups",),
    "graftviz.evaluation.selection.intervals": ("EdgeIntervals",),
    "graftviz.evaluation.selection.path": (
        "LamPath",
        "lam_path",
    ),
    "graftviz.evaluation.selection.stability": (
        "EdgeStability",
        "edge_stability",
    ),
    "graftviz.evaluation.tuning": (
        "Tuning",
        "tuning_grid",
    ),
    "graftviz.inference.beliefs": ("Beliefs",),
    "graftviz.inference.cost": ("inference_cost",),
    "graftviz.inference.likelihood": (
        "ncmll",
        "nll",
        "nlpl",
    ),
    "graftviz.inference.local.influence": (
        "dobrushin_coefficient",
        "influence_matrix",
    ),
    "graftviz.inference.local.marginal": (
        "LocalMarginal",
        "RegionStep",
        "grow_region",
        "local_marginal",
    ),
    "graftviz.inference.methods": ("infer",),
    "graftviz.inference.prediction": ("PairwiseMRF",),
    "graftviz.learning.bounded.bounded_inference": ("BoundedInference",),
    "graftviz.learning.completion": ("read_table",),
    "graftviz.learning.features.grafting": (
        "FeatureGrafting",
        "GraftingLight",
    ),
    "graftviz.learning.grafting.best_choice": ("BestChoice",),
    "graftviz.learning.grafting.edge_grafting": (
        "EdgeGrafting",
        "FirstHit",
    ),
    "graftviz.learning.nodewise.nodewise_l1": ("NodewiseL1",),
    "graftviz.learning.pruning.forced_pruning": ("ForcedPruning",),
    "graftviz.learning.trace": (
        "Step",
        "Trace",
    ),
    "graftviz.learning.trees.chow_liu": ("ChowLiu",),
    "graftviz.reports.estimator": ("MarkovNetwork",),
    "graftviz.reports.files.run_folder": (
        "read_model",
        "read_result",
        "write_model",
    ),
    "graftviz.reports.results": (
        "Result",
        "Run",
        "fit",
        "learn",
    ),
    "graftviz.utils.errors": ("InputError",),
}
_PACKAGES = {"dynamics": "graftviz.dynamics", "figures": "graftviz.reports.figures"}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
__all__ = [*_HOME, *_PACKAGES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        found = importlib.import_module(_PACKAGES[name])
    elif name in _HOME:
        found = getattr(importlib.import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted((*globals(), *__all__))
