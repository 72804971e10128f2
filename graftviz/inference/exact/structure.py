"""What the kernels of exact inference work on, as flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Cliques(NamedTuple):
    """The cliques of an elimination order, their factors, and where everything lies.

    Attributes
    ----------
    states : int64 array, shape (n,)
        States of the variable at each place.
    starts, scopes, parent : int64 arrays
        See :class:`graftviz.inference.exact.ordering.Scopes`.
    child_starts, children : int64 arrays
        Places whose messages go to k: ``children[child_starts[k] : child_starts[k + 1]]``.
    potential_starts : int64 array, shape (n + 1,)
        The potentials of k: its node's first, then edges to later places.
    other : int64 array, shape (potentials,)
        The later place of each edge; -1 for nodes.
    value_at, marginal_at : int64 arrays, shape (potentials,)
        Where each potential and its marginal begin.
    weight_at : int64 array, shape (potentials,)
        Where the weights of each potential begin in the model.
    is_turned : bool array, shape (potentials,)
        Whether the weights have the other place fastest.
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
    """What is known about the tables at a moment.

    Attributes
    ----------
    entries : float64 array
        All tables.
    message_at, belief_at : int64 arrays, shape (n,)
        Where the message of each place and the belief about its scope lie now.
    is_log : bool array, shape (n,)
        Whether the message is there as its logarithm.
    in_logs : bool array, shape (n,)
        Whether the clique has to be worked out in logarithms.
    span : float64 array, shape (n,)
        Nats between the largest and the smallest positive entry of each message.
    log_scale : float64 array, shape (n,)
        What was divided out of the potentials and the message of each place.
    """

    entries: np.ndarray
    message_at: np.ndarray
    belief_at: np.ndarray
    is_log: np.ndarray
    in_logs: np.ndarray
    span: np.ndarray
    log_scale: np.ndarray
