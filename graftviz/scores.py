"""Activation scores of a single inactive edge in plain NumPy.

They explain single pairs in the app. The learners compute scores with the kernels of
:mod:`graftviz.search`; a test compares the two.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from graftviz.model import PairwiseMRF

GroupWeight = Literal["count", "sqrt"]
_CONSTANT = 1e-9  # impurity below which a variable counts as constant


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
        p_D(e): relative frequency of each pair of states in the data.
    belief_i, belief_j : float arrays, shapes (s_i,) and (s_j,)
        The model's probabilities of the states.
    dimension : float
        d_e, see :func:`edge_dimension`.
    """
    return float(np.linalg.norm(np.outer(belief_i, belief_j) - frequencies)) / dimension


def response_score(
    frequencies: np.ndarray,
    belief_i: np.ndarray,
    belief_j: np.ndarray,
    covariance: np.ndarray,
    dimension: float,
) -> float:
    """Return s_e = ‖b_i b_jᵀ + C_ij − p_D(e)‖₂ / d_e.

    Parameters
    ----------
    frequencies, belief_i, belief_j, dimension
        As for :func:`belief_score`.
    covariance : float array, shape (s_i, s_j)
        C_ij, the covariance of the pair in the model: see
        :meth:`graftviz.inference.response.LinearResponse.covariance`.
    """
    expected = np.outer(belief_i, belief_j) + covariance
    return float(np.linalg.norm(expected - frequencies)) / dimension


def belief_noise(belief_i: np.ndarray, belief_j: np.ndarray, rows: int) -> float:
    """Return the noise of ‖b_i b_jᵀ − p_D(e)‖₂ due to sampling N rows.

    It is the root mean square if i and j are independent: √((1 − ‖b_i‖²)(1 − ‖b_j‖²) / N).
    """
    spread = _spread(belief_i[None, :])[0] * _spread(belief_j[None, :])[0]
    return math.sqrt(float(spread) / rows)


def conditional(model: PairwiseMRF, codes: np.ndarray, i: int) -> np.ndarray:
    """Return p(x_i = a | the other variables) in every row, shape (N, s_i).

    Parameters
    ----------
    model : PairwiseMRF
    codes : int array, shape (n, N)
    i : int
    """
    logits = np.tile(model.node_weights(i), (codes.shape[1], 1))
    for e in np.flatnonzero((model.edges == i).any(axis=1)):
        first, second = model.edges[e].tolist()
        weights = model.edge_weights(int(e))
        logits += weights[codes[first]] if second == i else weights[:, codes[second]].T
    logits -= logits.max(axis=1, keepdims=True)
    shares = np.exp(logits)
    conditionals: np.ndarray = shares / shares.sum(axis=1, keepdims=True)
    return conditionals


def pseudo_likelihood_score(
    conditional_i: np.ndarray,
    conditional_j: np.ndarray,
    codes_i: np.ndarray,
    codes_j: np.ndarray,
    dimension: float,
) -> float:
    """Return s_e = ‖∂PL/∂w_e‖₂ / d_e, the gradient of the mean pseudo-likelihood at w_e = 0.

    Parameters
    ----------
    conditional_i, conditional_j : float arrays, shapes (N, s_i) and (N, s_j)
        See :func:`conditional`.
    codes_i, codes_j : int arrays, shape (N,)
        The states of both variables.
    dimension : float
        d_e, see :func:`edge_dimension`.
    """
    is_a, is_b = np.eye(conditional_i.shape[1])[codes_i], np.eye(conditional_j.shape[1])[codes_j]
    expected = conditional_i.T @ is_b + is_a.T @ conditional_j
    return float(np.linalg.norm(expected - 2.0 * is_a.T @ is_b)) / len(conditional_i) / dimension


def pseudo_likelihood_noise(conditional_i: np.ndarray, conditional_j: np.ndarray) -> float:
    """Return the noise of ‖∂PL/∂w_e‖₂ due to sampling N rows.

    It is the root mean square if i and j are independent given all others: twice the root of
    mean((1 − ‖p_i‖²)(1 − ‖p_j‖²)) / N over the rows, where p_i is p(x_i | the others).
    """
    spread = _spread(conditional_i) * _spread(conditional_j)
    return 2.0 * math.sqrt(float(spread.mean()) / len(conditional_i))


def _spread(shares: np.ndarray) -> np.ndarray:
    """Return 1 − ‖p‖² of every row; 0 if it is below the threshold of a constant variable."""
    spread = 1.0 - (shares**2).sum(axis=1)
    return np.where(spread < _CONSTANT, 0.0, spread)
