"""Exact inference: variable elimination and its junction tree."""

from __future__ import annotations

import numpy as np

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.plan import EliminationPlan, plan_elimination
from graftviz.inference.settings import InferenceSettings
from graftviz.inference.support import impossible_beliefs
from graftviz.model import PairwiseMRF

__all__ = ["EliminationPlan", "JunctionTree", "exact_beliefs", "plan_elimination"]


def exact_beliefs(model: PairwiseMRF, settings: InferenceSettings) -> Beliefs:
    """Return the exact marginals and log Z.

    Raises
    ------
    InputError
        When the tables would need more memory than allowed.
    """
    tree = JunctionTree(model, max_memory=settings.max_memory)
    if tree.log_partition == -np.inf:
        return impossible_beliefs(model, "exact", -1)
    return tree.beliefs()
