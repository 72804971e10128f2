"""Choice of λ, stability of edges, intervals of weights, and comparison of groups."""

from graftviz.evaluation.selection.fits import (
    extended_bic,
    free_weights,
    subsample_rows,
    with_plain_test,
)
from graftviz.evaluation.selection.groups import (
    GroupProgress,
    coded_alike,
    compare_groups,
    compare_groups_steps,
    split_groups,
)
from graftviz.evaluation.selection.intervals import EdgeIntervals, FoundEdges
from graftviz.evaluation.selection.path import LamPath, PathPoint, lam_path, lam_path_steps
from graftviz.evaluation.selection.stability import EdgeStability, edge_stability, stability_steps

__all__ = [
    "EdgeIntervals",
    "EdgeStability",
    "FoundEdges",
    "GroupProgress",
    "LamPath",
    "PathPoint",
    "coded_alike",
    "compare_groups",
    "compare_groups_steps",
    "edge_stability",
    "extended_bic",
    "free_weights",
    "lam_path",
    "lam_path_steps",
    "split_groups",
    "stability_steps",
    "subsample_rows",
    "with_plain_test",
]
