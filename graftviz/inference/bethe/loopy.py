"""Loopy belief propagation as an inference method."""

from __future__ import annotations

import numpy as np

from graftviz.inference.beliefs import Beliefs, flat_edges, flat_nodes
from graftviz.inference.bethe.damping import Passing, pass_damped, passing_notes
from graftviz.inference.bethe.propagation import (
    bethe_log_partition,
    fill_pair_beliefs,
    message_graph,
    propagate,
    scaled_weights,
)
from graftviz.inference.reweighted.appearance import is_forest
from graftviz.inference.reweighted.reweighted import (
    fill_beliefs,
    free_energy,
    log_graph,
    pass_messages,
)
from graftviz.inference.settings import InferenceSettings
from graftviz.inference.support import impossible_beliefs, support
from graftviz.model.pairwise import PairwiseModel

_WIDEST_TABLE = 600.0  # exp(±600) times a few factors is still a normal float


def loopy_beliefs(model: PairwiseModel, settings: InferenceSettings) -> Beliefs:
    """Return the beliefs of sum-product message passing; exact where the graph is a forest."""
    compute = log_beliefs if needs_logs(model) else linear_beliefs
    return compute(model, settings)


def needs_logs(model: PairwiseModel) -> bool:
    """Return whether messages of this model may be zero or exceed the range of a float.

    Without zeros, the range of a message is at most that of its edge's table, and what underflows
    in a cavity is negligible.
    """
    if not np.isfinite(model.weights).all():
        return True
    offsets = model.edge_offsets - model.edge_offsets[0]
    scaled = scaled_weights(model.weights[int(model.edge_offsets[0]) :], offsets)
    return bool(len(scaled) and scaled.min() < -_WIDEST_TABLE)


def linear_beliefs(model: PairwiseModel, settings: InferenceSettings) -> Beliefs:
    """Pass messages in the linear domain, which is faster; see :func:`needs_logs`."""
    graph = message_graph(model)
    n, m = model.n_variables, model.n_edges
    work = np.empty((6, int(model.cardinalities.max())))

    def sweep(_done: int, most: int, tolerance: float, damping: float) -> tuple[int, float]:
        # The kernel measures damped changes; the reported residual is that before damping.
        sweeps, residual = propagate(graph, n, m, most, tolerance * (1 - damping), damping, work)
        return sweeps, min(1.0, residual / (1 - damping))

    passing = pass_damped(sweep, settings)
    pairs = np.empty(int(graph.edge_offsets[-1]))
    fill_pair_beliefs(graph, m, work, pairs)
    weights = model.weights[int(model.edge_offsets[0]) :]
    shift = 0.0
    if m:
        highest = np.maximum.reduceat(weights, graph.edge_offsets[:-1])
        shift = float(highest[np.isfinite(highest)].sum())
    log_partition = float(bethe_log_partition(graph, n, m, work)) + shift
    return _beliefs(model, graph.node_beliefs, pairs, log_partition, passing)


def log_beliefs(model: PairwiseModel, settings: InferenceSettings) -> Beliefs:
    """Pass messages in the log domain, over the possible states."""
    states = support(model)
    if states.empty_node >= 0:
        return impossible_beliefs(model, "bp", states.empty_node)
    graph = log_graph(model, states.node_weights(model))
    n, m = model.n_variables, model.n_edges
    work = np.empty((3, int(model.cardinalities.max())))

    def sweep(done: int, most: int, tolerance: float, damping: float) -> tuple[int, float]:
        sweeps, residual = pass_messages(graph, m, done, most, tolerance, damping, work)
        return int(sweeps), float(residual)

    passing = pass_damped(sweep, settings)
    nodes, pairs = np.empty(len(graph.fields)), np.empty(len(graph.potentials))
    fill_beliefs(graph, n, m, nodes, pairs)
    log_partition, _ = free_energy(graph, n, m, work)
    return _beliefs(model, nodes, pairs, float(log_partition), passing)


def _beliefs(
    model: PairwiseModel,
    nodes: np.ndarray,
    pairs: np.ndarray,
    log_partition: float,
    passing: Passing,
) -> Beliefs:
    is_exact = passing.converged and is_forest(model)
    return Beliefs(
        flat_nodes(model, nodes),
        flat_edges(model, pairs),
        log_partition,
        passing.converged,
        passing.sweeps,
        passing.residual,
        "bp",
        "exact" if is_exact else "approximation",
        notes=passing_notes("Belief propagation", passing),
    )
