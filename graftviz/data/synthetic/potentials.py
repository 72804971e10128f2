"""Random potentials on a given graph."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal, get_args

import networkx as nx
import numpy as np
from scipy.special import logsumexp, softmax

from graftviz.data.table import DiscreteTable
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError

Purpose = Literal["graph", "potentials", "gibbs", "exact", "noise"]


def generator(seed: int, purpose: Purpose) -> np.random.Generator:
    """Return the generator for `purpose`; the streams of one seed are independent of each other.

    Raises
    ------
    InputError
        For a negative seed.
    """
    if seed < 0:
        raise InputError(f"A seed must be 0 or a positive whole number; got {seed}.")
    stream = get_args(Purpose).index(purpose)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))


NODE_SIGMA = 0.5  # best-choice edge grafting, appendix C
EDGE_SIGMA = 1.0


def random_model(
    edges: np.ndarray,
    cardinalities: Sequence[int] | np.ndarray,
    node_sigma: float = NODE_SIGMA,
    edge_sigma: float = EDGE_SIGMA,
    seed: int = 0,
    names: Sequence[str] = (),
    labels: Sequence[Sequence[str]] = (),
) -> PairwiseModel:
    """Draw every node weight from N(0, node_sigma²) and every edge weight from N(0, edge_sigma²).

    The paper (appendix C) centres the weights at 100. Adding a constant to all weights of a group
    does not change the distribution, so they are centred at 0 here.

    Parameters
    ----------
    edges : int array, shape (m, 2)
        Pairs i < j, no pair twice.
    cardinalities : sequence of int, length n
        Number of states of every variable.
    node_sigma, edge_sigma : float
        Standard deviations, not negative.
    seed : int
    names, labels : optional
        As in :class:`~graftviz.inference.prediction.PairwiseMRF`.

    Raises
    ------
    InputError
        For a standard deviation that is negative or not finite, or an invalid structure.
    """
    for name, sigma in (("node", node_sigma), ("edge", edge_sigma)):
        if not 0 <= sigma < np.inf:
            raise InputError(
                f"The standard deviation of {name} weights must be 0 or more; got {sigma:g}."
            )
    sizes = np.asarray(cardinalities, dtype=np.int64)
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(sizes)):
        raise InputError(f"An edge names a variable that is not one of 0 … {len(sizes) - 1}.")
    rng = generator(seed, "potentials")
    node_weights = rng.normal(0.0, node_sigma, int(sizes.sum()))
    edge_weights = rng.normal(0.0, edge_sigma, int(sizes[pairs].prod(axis=1).sum()))
    return PairwiseModel(
        cardinalities=sizes,
        edges=pairs,
        weights=np.concatenate([node_weights, edge_weights]),
        names=tuple(names),
        labels=tuple(tuple(states) for states in labels),
    )


def add_noise(table: DiscreteTable, share: float, seed: int = 0) -> DiscreteTable:
    """Return a table in which cells are replaced by states drawn uniformly, each by chance `share`.

    A cell may be replaced by its own state.

    Parameters
    ----------
    table : DiscreteTable
    share : float
        From 0 to 1.
    seed : int

    Raises
    ------
    InputError
        For another share.
    """
    check_share(share)
    if share == 0.0:
        return table
    rng = generator(seed, "noise")
    codes = table.codes.copy()
    for states, column in zip(table.cardinalities.tolist(), codes, strict=True):
        is_replaced = rng.random(len(column)) < share
        column[is_replaced] = rng.integers(0, states, int(is_replaced.sum()))
    return dataclasses.replace(table, codes=codes)


def check_share(share: float) -> None:
    """Raise :class:`InputError` unless a share of noise is from 0 to 1."""
    if not 0.0 <= share <= 1.0:
        raise InputError(f"The noise must be a share from 0 to 1; got {share:g}.")


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
