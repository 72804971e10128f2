"""Inspection of a model: facts on nodes and edges, differences of models, pictures."""

from graftviz.inspection.difference import ModelDifference, compare_models
from graftviz.inspection.facts import (
    Change,
    changes_by_size,
    degree_counts,
    degree_ranks,
    deviation_from_independence,
    entropies,
    mutual_informations,
    strongest_partners,
    total_variations,
)
from graftviz.inspection.picture import GraphPicture, difference_picture, graph_picture

__all__ = [
    "Change",
    "GraphPicture",
    "ModelDifference",
    "changes_by_size",
    "compare_models",
    "degree_counts",
    "degree_ranks",
    "deviation_from_independence",
    "difference_picture",
    "entropies",
    "graph_picture",
    "mutual_informations",
    "strongest_partners",
    "total_variations",
]
