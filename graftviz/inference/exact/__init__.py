"""Exact inference: variable elimination and its junction tree."""

from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.structure import EliminationPlan, plan_elimination

__all__ = ["EliminationPlan", "JunctionTree", "plan_elimination"]
