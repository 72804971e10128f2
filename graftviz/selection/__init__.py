"""Stability of edges and choice of λ, by repeated runs of a learner on parts of the rows."""

from graftviz.selection.grid import with_plain_test
from graftviz.selection.information import extended_bic, free_weights
from graftviz.selection.path import LamPath, PathPoint, lam_path, lam_path_steps
from graftviz.selection.stability import EdgeStability, edge_stability, stability_steps
from graftviz.selection.subsamples import subsample_rows

__all__ = [
    "EdgeStability",
    "LamPath",
    "PathPoint",
    "edge_stability",
    "extended_bic",
    "free_weights",
    "lam_path",
    "lam_path_steps",
    "stability_steps",
    "subsample_rows",
    "with_plain_test",
]
