"""Exact sampling by enumeration of all joint states: for small models and for tests of samplers."""

from __future__ import annotations

import numpy as np

from graftviz.errors import InputError
from graftviz.model import PairwiseMRF
from graftviz.sampling.seeds import generator
from graftviz.table import DiscreteTable

MAX_JOINT_STATES = 2**20


def joint_states(model: PairwiseMRF) -> np.ndarray:
    """Return every joint state, shape (variables, joint states); the last variable varies fastest.

    Raises
    ------
    InputError
        When there are more than 2²⁰ joint states.
    """
    sizes = model.cardinalities.tolist()
    total = float(np.prod(model.cardinalities, dtype=np.float64))
    if total > MAX_JOINT_STATES:
        raise InputError(
            f"Exact sampling lists every joint state, and this model has {total:.3g}; "
            f"at most {MAX_JOINT_STATES:,} are possible. Use Gibbs sampling instead."
        )
    rest = np.arange(int(total))
    dtype = np.uint8 if max(sizes) <= 256 else np.int64
    states = np.empty((len(sizes), len(rest)), dtype=dtype)
    for i in reversed(range(len(sizes))):
        rest, states[i] = np.divmod(rest, sizes[i])
    return states


def joint_probabilities(model: PairwiseMRF) -> np.ndarray:
    """Return p(x) of every joint state x in the order of :func:`joint_states`.

    Raises
    ------
    InputError
        When there are too many joint states, or all have probability zero.
    """
    scores = model.log_scores(joint_states(model))
    top = scores.max()
    if top == -np.inf:
        raise InputError("Every joint state of this model has probability zero.")
    weights = np.exp(scores - top)
    return np.asarray(weights / weights.sum())


def sample_exact(model: PairwiseMRF, rows: int, seed: int = 0) -> DiscreteTable:
    """Draw independent rows from the model's distribution, by inverting its cumulative sum.

    Raises
    ------
    InputError
        For fewer than one row, or a model that :func:`joint_probabilities` refuses.
    """
    if rows < 1:
        raise InputError(f"A sample needs at least 1 row; got {rows}.")
    cumulative = np.cumsum(joint_probabilities(model))
    # Scaled by the rounded sum, so that a uniform below 1 never exceeds the cumulative probability
    # of the last state of positive probability.
    uniforms = generator(seed, "exact").random(rows) * cumulative[-1]
    drawn = np.searchsorted(cumulative, uniforms, side="right")
    return DiscreteTable.from_codes(
        joint_states(model)[:, drawn].T,
        names=model.names,
        cardinalities=model.cardinalities,
        labels=model.labels,
    )
