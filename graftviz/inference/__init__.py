"""Inference: one file a method, one result type, one front door."""

from __future__ import annotations

import numpy as np

from graftviz.errors import InputError
from graftviz.inference.beliefs import Beliefs
from graftviz.inference.propagation import (
    bethe_log_partition,
    message_graph,
    pair_belief,
    propagate,
)
from graftviz.model import PairwiseMRF

__all__ = ["Beliefs", "infer"]

_METHODS = ("bp",)


def infer(
    model: PairwiseMRF,
    method: str = "bp",
    *,
    tolerance: float = 1e-9,
    max_sweeps: int = 500,
    damping: float = 0.0,
) -> Beliefs:
    """Compute the marginals of a model.

    Parameters
    ----------
    model : PairwiseMRF
    method : {"bp"}
        "bp": loopy belief propagation; exact where the graph is a forest.
    tolerance : float
        Largest relative change of a message that counts as converged.
    max_sweeps : int
        At least 1. When reached, the result says ``converged=False``; its beliefs are those of the
        last sweep.
    damping : float
        Share of the old message kept in each update, 0 ≤ damping < 1.

    Raises
    ------
    InputError
        For an unknown method, or a tolerance, number of sweeps or damping out of range.
    """
    if method not in _METHODS:
        raise InputError(f"Inference method must be one of {', '.join(_METHODS)}, not {method!r}.")
    if not tolerance >= 0.0:
        raise InputError(f"The tolerance must be at least 0; got {tolerance:g}.")
    if max_sweeps < 1:
        raise InputError(f"The number of sweeps must be at least 1; got {max_sweeps}.")
    if not 0.0 <= damping < 1.0:
        raise InputError(f"Damping must be at least 0 and less than 1; got {damping:g}.")
    graph = message_graph(model)
    n, m = model.n_variables, model.n_edges
    largest = int(model.cardinalities.max())
    work = np.empty((5, largest))
    sweeps, residual = propagate(graph, n, m, max_sweeps, tolerance, damping, work)
    offsets = model.node_offsets
    nodes = tuple(graph.node_beliefs[offsets[i] : offsets[i + 1]].copy() for i in range(n))
    edges = []
    shift = 0.0
    for e, (i, j) in enumerate(model.edges):
        out = np.empty((int(model.cardinalities[i]), int(model.cardinalities[j])))
        pair_belief(graph, e, work, out.reshape(-1))
        highest = float(model.edge_weights(e).max())
        shift += highest if np.isfinite(highest) else 0.0
        edges.append(out)
    for array in (*nodes, *edges):
        array.flags.writeable = False
    log_partition = float(bethe_log_partition(graph, n, m, work)) + shift
    return Beliefs(
        nodes, tuple(edges), log_partition, bool(residual <= tolerance), sweeps, residual, method
    )
