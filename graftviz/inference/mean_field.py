"""Mean field: the product of node beliefs closest to the model, and a lower bound on log Z.

Coordinate ascent on Σ_i ⟨b_i, w_i⟩ + Σ_e b_iᵀ w_e b_j + Σ_i H(b_i), which is at most log Z for any
beliefs (Wainwright and Jordan, "Graphical models, exponential families, and variational inference",
2008, § 5). It has many local maxima: the best of several starts is used.

If two beliefs put mass on a zero potential, the bound is −∞. So an update first minimises the mass
on zero potentials and then, among the states that do so, uses the weights: the limit of an
unbounded penalty. If all starts end with a bound of −∞, a joint state of positive probability is
searched for (:mod:`graftviz.inference.support`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.inference.beliefs import Beliefs, flat_nodes
from graftviz.inference.propagation import loopy_beliefs
from graftviz.inference.settings import InferenceSettings
from graftviz.inference.support import consistent_states, impossible_beliefs, support
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.arrays import read_only
from graftviz.utils.compiling import inner_kernel, kernel

_GUIDING_SWEEPS = 50  # of belief propagation, whose beliefs are one of the starts
_LOOSE, _LOOSE_SWEEPS = 1e-5, 40  # limits of every start; only the best one is continued
_SPREAD = 3.0  # standard deviation of the log-beliefs of a random start
_STILL = 0.1  # changes below this share of the tolerance do not cause updates of neighbours
_TIE = 1e-9  # relative difference below which masses on zero potentials are equal


class FieldGraph(NamedTuple):
    """Graph arrays for mean field: weights, with zero potentials stored separately.

    Attributes
    ----------
    node_offsets : int64 array, shape (n + 1,)
    node_weights : float64 array, flat
        −inf at impossible states.
    starts, neighbours, edges : int64 arrays
        Incidence of the graph.
    edge_offsets : int64 array, shape (m + 1,)
    edge_weights : float64 array, flat, row-major
        0 where the potential is zero.
    forbidden : bool array, flat
        Where the potential is zero; empty if nowhere.
    """

    node_offsets: np.ndarray
    node_weights: np.ndarray
    starts: np.ndarray
    neighbours: np.ndarray
    edges: np.ndarray
    edge_offsets: np.ndarray
    edge_weights: np.ndarray
    forbidden: np.ndarray


class _Fit(NamedTuple):
    beliefs: np.ndarray
    bound: float
    sweeps: int
    residual: float


def mean_field_beliefs(model: PairwiseModel, settings: InferenceSettings) -> Beliefs:
    """Return the best product of node beliefs over all starts, and its lower bound on log Z."""
    states = support(model)
    if states.empty_node >= 0:
        return impossible_beliefs(model, "mean-field", states.empty_node)
    weights = states.node_weights(model)
    graph = field_graph(model, weights)
    loosely = settings._replace(
        tolerance=max(_LOOSE, settings.tolerance),
        max_sweeps=min(_LOOSE_SWEEPS, settings.max_sweeps),
    )
    starts = _starts(model, weights, settings)
    fits = [_climb(graph, start, loosely) for start in starts]
    best = max(fits, key=lambda fit: fit.bound)
    if best.bound == -np.inf:
        state, is_settled = consistent_states(model, states, starts[0])
        if state is not None:
            masses = np.zeros(int(model.node_offsets[-1]))
            masses[model.node_offsets[:-1] + state] = 1.0
            best = best._replace(beliefs=masses)
        elif is_settled:
            return impossible_beliefs(model, "mean-field")
    best = _climb(graph, best.beliefs, settings)
    converged = best.residual <= settings.tolerance
    nodes = flat_nodes(model, best.beliefs)
    edges = tuple(read_only(np.outer(nodes[i], nodes[j])) for i, j in model.edges.tolist())
    is_exact = model.n_edges == 0
    notes = [f"The best of {len(fits)} starts."] if len(fits) > 1 else []
    if not converged:
        sweeps = "1 sweep" if best.sweeps == 1 else f"{best.sweeps} sweeps"
        notes.append(
            f"Mean field did not converge after {sweeps}: the largest change of a belief is still "
            f"{best.residual:.2g}. The lower bound is still valid."
        )
    if best.bound == -np.inf:
        notes.append(
            "No product of beliefs that avoids the zero potentials was found, so the lower bound "
            "is vacuous."
        )
    return Beliefs(
        nodes,
        edges,
        best.bound,
        converged,
        best.sweeps,
        best.residual,
        "mean-field",
        "exact" if is_exact else "lower bound",
        notes=tuple(notes),
    )


def field_graph(model: PairwiseModel, node_weights: np.ndarray) -> FieldGraph:
    """Return the arrays of `model` for the kernels; impossible states have node weight −inf."""
    offsets = model.edge_offsets - model.edge_offsets[0]
    weights = model.weights[int(model.edge_offsets[0]) :]
    forbidden = weights == -np.inf
    starts, neighbours, edges = (array.copy() for array in model.incidence)
    return FieldGraph(
        node_offsets=model.node_offsets.copy(),
        node_weights=np.array(node_weights, dtype=np.float64),
        starts=starts,
        neighbours=neighbours,
        edges=edges,
        edge_offsets=offsets,
        edge_weights=np.where(forbidden, 0.0, weights),
        forbidden=forbidden if forbidden.any() else np.zeros(0, dtype=np.bool_),
    )


def _climb(graph: FieldGraph, start: np.ndarray, settings: InferenceSettings) -> _Fit:
    beliefs = start.copy()
    work = np.empty((2, int(np.diff(graph.node_offsets).max())))
    sweeps, residual = climb(graph, beliefs, settings.max_sweeps, settings.tolerance, work)
    return _Fit(
        beliefs, float(mean_field_bound(graph, beliefs, work)), int(sweeps), float(residual)
    )


def _starts(
    model: PairwiseModel, node_weights: np.ndarray, settings: InferenceSettings
) -> list[np.ndarray]:
    """Return initial beliefs: of BP, of the nodes alone, uniform, and random ones."""
    if model.n_edges == 0:
        return [_softmax(model, node_weights)]
    guide = settings._replace(max_sweeps=min(_GUIDING_SWEEPS, settings.max_sweeps), damping="auto")
    possible = node_weights > -np.inf
    starts = [
        np.concatenate(loopy_beliefs(model, guide).node),
        _softmax(model, node_weights),
        _softmax(model, np.where(possible, 0.0, -np.inf)),
    ]
    rng = np.random.default_rng(settings.seed)
    while len(starts) < settings.starts:
        noise = rng.normal(0.0, _SPREAD, len(node_weights))
        starts.append(_softmax(model, np.where(possible, noise, -np.inf)))
    return starts[: settings.starts]


def _softmax(model: PairwiseModel, values: np.ndarray) -> np.ndarray:
    starts, sizes = model.node_offsets[:-1], model.cardinalities
    shifted = np.exp(values - np.repeat(np.maximum.reduceat(values, starts), sizes))
    beliefs: np.ndarray = shifted / np.repeat(np.add.reduceat(shifted, starts), sizes)
    return beliefs


@kernel(inline="always")
def _expectations(graph, arrays, i, field, breach):
    """Write w_i plus the neighbours' expected weights, and their mass on zero potentials."""
    offsets, starts, neighbours, edges, places, weights, forbidden, beliefs = arrays
    start, states = offsets[i], offsets[i + 1] - offsets[i]
    for x in range(states):
        field[x] = graph.node_weights[start + x]
        breach[x] = 0.0
    for k in range(starts[i], starts[i + 1]):
        j, at = neighbours[k], places[edges[k]]
        first, others = offsets[j], offsets[j + 1] - offsets[j]
        if i < j:
            for x in range(states):
                total = 0.0
                for y in range(others):
                    total += weights[at + x * others + y] * beliefs[first + y]
                field[x] += total
        else:
            for y in range(others):
                belief = beliefs[first + y]
                for x in range(states):
                    field[x] += weights[at + y * states + x] * belief
        if len(forbidden) > 0:
            step, stride = (others, 1) if i < j else (1, states)
            for x in range(states):
                for y in range(others):
                    if forbidden[at + x * step + y * stride]:
                        breach[x] += beliefs[first + y]


@inner_kernel
def _arrays(graph, beliefs):
    return (
        *(graph.node_offsets, graph.starts, graph.neighbours, graph.edges),
        *(graph.edge_offsets, graph.edge_weights, graph.forbidden, beliefs),
    )


@kernel
def climb(graph, beliefs, max_sweeps, tolerance, work):
    """Optimise one node belief after the other, forwards and backwards, in place.

    A node is skipped if no neighbour has changed since its last update; the final sweep covers all
    nodes.

    Parameters
    ----------
    beliefs : float64 array, flat
        0 at impossible states.
    work : float64 array, shape (2, largest number of states)
        Scratch space.

    Returns
    -------
    sweeps : int
    residual : float
        Largest change of a belief in the last sweep.
    """
    n = len(graph.node_offsets) - 1
    arrays = _arrays(graph, beliefs)
    offsets, starts, neighbours = graph.node_offsets, graph.starts, graph.neighbours
    field, breach = work[0], work[1]
    is_due = np.ones(n, dtype=np.bool_)
    is_whole = True  # whether this sweep covers all nodes
    sweeps, residual = 0, np.inf
    while sweeps < max_sweeps:
        residual = 0.0
        for k in range(n):
            i = k if sweeps % 2 == 0 else n - 1 - k
            if not is_due[i]:
                continue
            is_due[i] = False
            start, states = offsets[i], offsets[i + 1] - offsets[i]
            _expectations(graph, arrays, i, field, breach)
            least, highest, total = np.inf, -np.inf, 0.0
            for x in range(states):
                if field[x] > -np.inf:
                    least = min(least, breach[x])
            least *= 1.0 + _TIE  # 0 stays 0: then no mass is allowed
            for x in range(states):
                if breach[x] > least:
                    field[x] = -np.inf
                highest = max(highest, field[x])
            for x in range(states):
                field[x] = np.exp(field[x] - highest)
                total += field[x]
            change = 0.0
            for x in range(states):
                value = field[x] / total
                change = max(change, abs(value - beliefs[start + x]))
                # A belief that becomes or ceases to be zero may forbid or allow a state elsewhere.
                if (value > 0.0) != (beliefs[start + x] > 0.0):
                    change = max(change, 2.0 * tolerance)
                beliefs[start + x] = value
            residual = max(residual, change)
            if change > _STILL * tolerance:
                for q in range(starts[i], starts[i + 1]):
                    is_due[neighbours[q]] = True
        sweeps += 1
        if residual <= tolerance:
            if is_whole:
                break
            is_due[:] = True
            is_whole = True
        else:
            is_whole = False
    return sweeps, residual


@kernel
def mean_field_bound(graph, beliefs, work):
    """Return the lower bound of a product of beliefs; −inf if it has mass on a zero potential."""
    total = 0.0
    arrays = _arrays(graph, beliefs)
    field, breach = work[0], work[1]
    for i in range(len(graph.node_offsets) - 1):
        start = graph.node_offsets[i]
        _expectations(graph, arrays, i, field, breach)
        for x in range(graph.node_offsets[i + 1] - start):
            belief = beliefs[start + x]
            if belief > 0.0:
                if breach[x] > 0.0 or field[x] == -np.inf:
                    return -np.inf
                own = graph.node_weights[start + x]
                # Every edge is visited from both ends and counted by half each time.
                total += belief * (own + 0.5 * (field[x] - own) - np.log(belief))
    return total
