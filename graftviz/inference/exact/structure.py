"""Flat arrays for the kernels of exact inference: cliques and tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.inference.exact.layout import Layout
from graftviz.inference.exact.ordering import Elimination
from graftviz.model.pairwise import PairwiseModel


class Cliques(NamedTuple):
    """Cliques of an elimination order, their factors, and the offsets of the factors.

    Attributes
    ----------
    states : int64 array, shape (n,)
        Number of states of the variable at each place.
    starts, scopes, parent : int64 arrays
        See :class:`graftviz.inference.exact.ordering.Elimination`.
    child_starts, children : int64 arrays
        Places that send messages to k: ``children[child_starts[k] : child_starts[k + 1]]``.
    potential_starts : int64 array, shape (n + 1,)
        Range of the potentials of k: its node potential first, then edges to later places.
    other : int64 array, shape (potentials,)
        The later place of each edge; -1 for nodes.
    value_at, marginal_at : int64 arrays, shape (potentials,)
        Start of each potential and of its marginal in the tables.
    weight_at : int64 array, shape (potentials,)
        Start of the weights of each potential in the model.
    is_turned : bool array, shape (potentials,)
        Whether the other place varies fastest in the weights.
    message_sizes : int64 array, shape (n,)
    """

    states: np.ndarray
    starts: np.ndarray
    scopes: np.ndarray
    parent: np.ndarray
    child_starts: np.ndarray
    children: np.ndarray
    potential_starts: np.ndarray
    other: np.ndarray
    value_at: np.ndarray
    marginal_at: np.ndarray
    weight_at: np.ndarray
    is_turned: np.ndarray
    message_sizes: np.ndarray


class Tables(NamedTuple):
    """All tables, their offsets and their scaling.

    Attributes
    ----------
    entries : float64 array
        All tables.
    message_at, belief_at : int64 arrays, shape (n,)
        Current offsets of the message of each place and of the belief of its scope.
    is_log : bool array, shape (n,)
        Whether the message is stored as its logarithm.
    in_logs : bool array, shape (n,)
        Whether the clique must be computed in logarithms.
    span : float64 array, shape (n,)
        Nats between the largest and the smallest positive entry of each message.
    log_scale : float64 array, shape (n,)
        Log of the scale that was divided out of the potentials and the message of each place.
    """

    entries: np.ndarray
    message_at: np.ndarray
    belief_at: np.ndarray
    is_log: np.ndarray
    in_logs: np.ndarray
    span: np.ndarray
    log_scale: np.ndarray


def empty_tables(n_weights: int, layout: Layout) -> Tables:
    """Allocate all tables of a layout, after the potentials and their marginals.

    Parameters
    ----------
    n_weights : int
        Number of weights of the model: the first entries hold potentials, the next ones marginals.
    layout : Layout
    """
    n, fixed = len(layout.first), 2 * n_weights
    return Tables(
        entries=np.empty(fixed + layout.entries),
        message_at=layout.first + fixed,
        belief_at=layout.belief + fixed,
        is_log=np.zeros(n, dtype=np.bool_),
        in_logs=np.zeros(n, dtype=np.bool_),
        span=np.zeros(n),
        log_scale=np.zeros(n),
    )


def cliques_of(model: PairwiseModel, scopes: Elimination) -> Cliques:
    """Assign the potentials of a model to the places that eliminate them."""
    n = model.n_variables
    order, parent = scopes.order, scopes.parent
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    ends = place[model.edges]
    earlier, later = ends.min(axis=1), ends.max(axis=1)
    owner = np.concatenate([np.arange(n), earlier])
    other = np.concatenate([np.full(n, -1), later]).astype(np.int64)
    weight_at = np.concatenate([model.node_offsets[:-1][order], model.edge_offsets[:-1]])
    # In the model the second variable of an edge varies fastest.
    is_turned = np.concatenate([np.zeros(n, dtype=bool), ends[:, 0] < ends[:, 1]])
    sort = np.argsort(owner, kind="stable")
    value_at = weight_at[sort]
    children = np.argsort(parent, kind="stable")
    children = children[np.count_nonzero(parent < 0) :]
    states = model.cardinalities[order]
    return Cliques(
        states=states,
        starts=scopes.starts,
        scopes=scopes.scopes,
        parent=parent,
        child_starts=_starts(parent[parent >= 0], n),
        children=children,
        potential_starts=_starts(owner, n),
        other=other[sort],
        value_at=value_at,
        marginal_at=value_at + len(model.weights),
        weight_at=value_at,
        is_turned=is_turned[sort],
        message_sizes=np.rint(scopes.clique_sizes / states).astype(np.int64),
    )


def _starts(owner: np.ndarray, n: int) -> np.ndarray:
    counts = np.bincount(owner, minlength=n)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
