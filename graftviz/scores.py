"""The activation score of an inactive edge, as the paper writes it: one pair at a time, in numpy.

For telling people about a single pair. The learners score thousands with the kernels of
:mod:`graftviz.search`; a test compares the two.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

GroupWeight = Literal["count", "sqrt"]


def edge_dimension(cardinality_i: int, cardinality_j: int, group_weight: GroupWeight) -> float:
    """Return d_e: the number of joint states of two variables ("count"), or its root ("sqrt")."""
    joint_states = int(cardinality_i) * int(cardinality_j)
    return math.sqrt(joint_states) if group_weight == "sqrt" else float(joint_states)


def belief_score(
    frequencies: np.ndarray, belief_i: np.ndarray, belief_j: np.ndarray, dimension: float
) -> float:
    """Return s_e = ‖b_i b_jᵀ − p_D(e)‖₂ / d_e (best-choice edge grafting, eq. 5).

    Parameters
    ----------
    frequencies : float array, shape (s_i, s_j)
        p_D(e): how often each pair of states occurs in the data, as shares that sum to 1.
    belief_i, belief_j : float arrays, shapes (s_i,) and (s_j,)
        The model's probabilities of the states.
    dimension : float
        d_e, see :func:`edge_dimension`.
    """
    return float(np.linalg.norm(np.outer(belief_i, belief_j) - frequencies)) / dimension
