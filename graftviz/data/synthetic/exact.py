"""Exact sampling: of small models by enumeration of all joint states, of forests node by node."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
from scipy.special import logsumexp, softmax

from graftviz.data.synthetic.seeds import generator
from graftviz.data.table import DiscreteTable
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError

MAX_JOINT_STATES = 2**20


def joint_states(model: PairwiseModel) -> np.ndarray:
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
            f"Exact sampling lists every joint state of a graph with cycles, and this model has "
            f"{total:.3g}; at most {MAX_JOINT_STATES:,} are possible. Use Gibbs sampling instead."
        )
    rest = np.arange(int(total))
    dtype = np.uint8 if max(sizes) <= 256 else np.int64
    states = np.empty((len(sizes), len(rest)), dtype=dtype)
    for i in reversed(range(len(sizes))):
        rest, states[i] = np.divmod(rest, sizes[i])
    return states


def joint_probabilities(model: PairwiseModel) -> np.ndarray:
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


def sample_exact(model: PairwiseModel, rows: int, seed: int = 0) -> DiscreteTable:
    """Draw independent rows from the model's distribution.

    A small model is sampled by inverting its cumulative sum, a larger forest from its roots down.

    Raises
    ------
    InputError
        For fewer than one row, or a model with cycles that :func:`joint_probabilities` refuses.
    """
    if rows < 1:
        raise InputError(f"A sample needs at least 1 row; got {rows}.")
    graph = nx.Graph(model.edges.tolist())
    graph.add_nodes_from(range(model.n_variables))
    is_large = float(np.log2(model.cardinalities).sum()) > math.log2(MAX_JOINT_STATES)
    if is_large and nx.is_forest(graph):
        return _downwards(model, graph, generator(seed, "exact").random((model.n_variables, rows)))
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


def _downwards(model: PairwiseModel, graph: nx.Graph, uniforms: np.ndarray) -> DiscreteTable:
    """Draw rows of a forest: roots from their margins, others given the state of their parent.

    Parameters
    ----------
    uniforms : float64 array, shape (n, rows)
    """
    roots = [min(part) for part in nx.connected_components(graph)]
    order = [edge for root in roots for edge in nx.bfs_edges(graph, root)]
    weights = {}
    for e, (i, j) in enumerate(model.edges.tolist()):
        weights[i, j] = model.edge_weights(e)
        weights[j, i] = weights[i, j].T
    logs = [model.node_weights(i).copy() for i in range(model.n_variables)]
    for parent, child in reversed(order):
        logs[parent] += logsumexp(weights[parent, child] + logs[child], axis=1)
    codes = np.empty(uniforms.shape, dtype=np.int64)
    for root in roots:
        codes[root] = _drawn(logs[root][None, :], np.zeros(len(uniforms[0]), int), uniforms[root])
    for parent, child in order:
        codes[child] = _drawn(weights[parent, child] + logs[child], codes[parent], uniforms[child])
    return DiscreteTable.from_codes(
        codes.T, names=model.names, cardinalities=model.cardinalities, labels=model.labels
    )


def _drawn(logs: np.ndarray, rows: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Draw a state for every row from the distribution in its row of `logs`."""
    cumulative = np.cumsum(softmax(logs, axis=1), axis=1)
    states: np.ndarray = (uniforms[:, None] > cumulative[rows, :-1]).sum(axis=1)
    return states
