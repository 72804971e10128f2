"""Tree-reweighted belief propagation: beliefs, and an upper bound on log Z.

Wainwright, Jaakkola and Willsky, "A new class of upper bounds on the log partition function", IEEE
Transactions on Information Theory 51 (2005). The reported bound is valid for any messages
(:func:`graftviz.inference.reweighted.reweighted.free_energy`); converged messages give the tightest
bound for their edge appearance probabilities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.inference.beliefs import Beliefs, flat_edges, flat_nodes
from graftviz.inference.bethe.damping import Passing, pass_damped, passing_notes
from graftviz.inference.reweighted.appearance import edge_appearance, heaviest_forest, is_forest
from graftviz.inference.reweighted.reweighted import (
    LogGraph,
    fill_beliefs,
    free_energy,
    log_graph,
    pass_messages,
)
from graftviz.inference.settings import InferenceSettings
from graftviz.inference.support import impossible_beliefs, support
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import kernel

_FIRST_STEP = 0.5  # towards the best forest
_HALVINGS = 4
_LEAST_GAIN = 1e-6  # smallest decrease of the bound, in nats, for another step


class _Solution(NamedTuple):
    """Final messages and bound for one choice of edge appearance probabilities."""

    graph: LogGraph
    passing: Passing
    bound: float


def tree_reweighted_beliefs(model: PairwiseModel, settings: InferenceSettings) -> Beliefs:
    """Return the beliefs of tree-reweighted message passing, and its upper bound on log Z."""
    states = support(model)
    if states.empty_node >= 0:
        return impossible_beliefs(model, "trbp", states.empty_node)
    weights = states.node_weights(model)
    # A node with one possible state may be copied for each of its edges: it is on no cycle.
    counts = np.add.reduceat(states.possible, model.node_offsets[:-1], dtype=np.int64)
    couples = (counts[model.edges] > 1).all(axis=1)
    coupling = model.edges[couples]
    found = edge_appearance(model.n_variables, coupling)
    appearance = np.ones(model.n_edges)
    appearance[couples] = found.probabilities
    solution = _solve(model, weights, appearance, settings, None)
    notes = [f"Edge appearance probabilities are those of {found.source}."]
    first = solution.bound
    steps = 0
    for _ in range(settings.reweighting):
        better = _reweighted(model, weights, couples, solution, settings)
        if better is None:
            break
        solution = better
        steps += 1
    if steps:
        notes.append(
            f"{steps} steps of reweighting lowered the bound by {first - solution.bound:.3g}."
        )
    if not solution.passing.converged:
        notes.append("The upper bound is still valid.")
    is_exact = solution.passing.converged and is_forest(model)
    nodes, pairs = _flat_beliefs(solution.graph)
    return Beliefs(
        flat_nodes(model, nodes),
        flat_edges(model, pairs),
        solution.bound,
        solution.passing.converged,
        solution.passing.sweeps,
        solution.passing.residual,
        "trbp",
        "exact" if is_exact else "upper bound",
        notes=(
            *passing_notes("Tree-reweighted belief propagation", solution.passing),
            *(() if is_exact else notes),
        ),
    )


def _work(graph: LogGraph) -> np.ndarray:
    return np.empty((3, int(np.diff(graph.node_offsets).max())))


def _solve(
    model: PairwiseModel,
    node_weights: np.ndarray,
    appearance: np.ndarray,
    settings: InferenceSettings,
    messages: np.ndarray | None,
) -> _Solution:
    """Pass messages, starting from `messages` or uniform ones, and record the smallest bound."""
    graph = log_graph(model, node_weights, appearance)
    if messages is not None:
        graph.messages[:] = messages
    n, m = model.n_variables, model.n_edges
    work = _work(graph)
    bounds: list[float] = []

    def sweep(done: int, most: int, tolerance: float, damping: float) -> tuple[int, float]:
        sweeps, residual = pass_messages(graph, m, done, most, tolerance, damping, work)
        return int(sweeps), float(residual)

    def record_bound() -> None:
        bounds.append(float(sum(free_energy(graph, n, m, work))))

    passing = pass_damped(sweep, settings, record_bound)
    return _Solution(graph, passing, min(bounds))


def _reweighted(
    model: PairwiseModel,
    node_weights: np.ndarray,
    couples: np.ndarray,
    solution: _Solution,
    settings: InferenceSettings,
) -> _Solution | None:
    """Move the probabilities towards the forest of largest mutual information.

    The derivative of the bound with respect to ρ_e is minus the mutual information of b_e
    (Wainwright et al., § V): a conditional-gradient step, shortened until the bound decreases.
    Return None if it does not.
    """
    _, pairs = _flat_beliefs(solution.graph)
    information = mutual_information(
        model.cardinalities, model.edges, solution.graph.edge_offsets, pairs
    )
    order = np.argsort(-information[couples], kind="stable")
    vertex = np.ones(model.n_edges)
    vertex[couples] = heaviest_forest(model.n_variables, model.edges[couples], order)
    step = _FIRST_STEP
    for _ in range(_HALVINGS):
        appearance = (1.0 - step) * solution.graph.appearance + step * vertex
        tried = _solve(model, node_weights, appearance, settings, solution.graph.messages)
        if tried.bound < solution.bound - _LEAST_GAIN:
            return tried
        step /= 2.0
    return None


def _flat_beliefs(graph: LogGraph) -> tuple[np.ndarray, np.ndarray]:
    nodes, pairs = np.empty(len(graph.fields)), np.empty(len(graph.potentials))
    fill_beliefs(graph, len(graph.node_offsets) - 1, len(graph.edge_nodes), nodes, pairs)
    return nodes, pairs


@kernel
def mutual_information(sizes, edge_nodes, edge_offsets, pairs):
    """Return the mutual information of the two ends of every edge, in nats.

    Parameters
    ----------
    sizes : int64 array, shape (n,)
        Numbers of states.
    pairs : float64 array, flat
        Pair beliefs, row-major, edge after edge.
    """
    out = np.zeros(len(edge_nodes))
    largest = sizes.max()
    rows, columns = np.empty(largest), np.empty(largest)
    for e in range(len(edge_nodes)):
        states_i, states_j = sizes[edge_nodes[e, 0]], sizes[edge_nodes[e, 1]]
        rows[:states_i], columns[:states_j] = 0.0, 0.0
        at = edge_offsets[e]
        for x in range(states_i):
            for y in range(states_j):
                rows[x] += pairs[at + x * states_j + y]
                columns[y] += pairs[at + x * states_j + y]
        for x in range(states_i):
            for y in range(states_j):
                share = pairs[at + x * states_j + y]
                # For smaller beliefs the product of the margins may underflow.
                if share > 1e-150:
                    out[e] += share * np.log(share / (rows[x] * columns[y]))
    return out
