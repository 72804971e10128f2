"""Sum-product message passing in the log domain, with edge appearance probabilities.

With probabilities ρ_e of the edges in a distribution over spanning forests this is tree-reweighted
belief propagation (Wainwright, Jaakkola and Willsky, "A new class of upper bounds on the log
partition function", IEEE Transactions on Information Theory 51, 2005); with ρ ≡ 1 it is loopy
belief propagation. Messages m are per edge and direction,

    F_i(x) = exp(w_i(x)) Π_(e at i) m_(e→i)(x)^ρ_e,
    m_(e→j)(y) ∝ Σ_x exp(w_e(x, y) / ρ_e) F_i(x) / m_(e→i)(x),

and for any messages the model is a product of the beliefs b_i ∝ F_i and
b_e ∝ exp(w_e / ρ_e) (F_i / m_(e→i)) (F_j / m_(e→j)):

    p(x) Z = exp(C) Π_i b_i(x_i) Π_e (b_e(x_i, x_j) / (b_i(x_i) b_j(x_j)))^ρ_e.

All quantities are stored as logarithms, so that no number overflows or underflows; only products of
a table and a cavity are computed in the linear domain, where the result is well within range.
Impossible states (:mod:`graftviz.inference.support`) have the log-potential −inf and are left out,
so every message is finite. :mod:`graftviz.inference.propagation` does the same for ρ ≡ 1
without logarithms: several times as fast, for models without extreme potentials.

The upper bound on log Z of tree-reweighted belief propagation is valid for any messages (see
:func:`free_energy`); converged messages give the tightest one for their probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graftviz.inference.appearance import edge_appearance, heaviest_forest, is_forest
from graftviz.inference.beliefs import Beliefs, flat_edges, flat_nodes
from graftviz.inference.settings import InferenceSettings, Passing, pass_damped, passing_notes
from graftviz.inference.support import impossible_beliefs, support
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import inner_kernel, kernel

_SMALL = 1e-250  # sums below this are recomputed in the log domain
_REFRESH_EVERY = 16  # sweeps between recomputations of all fields, against rounding drift
_FIRST_STEP = 0.5  # towards the best forest
_HALVINGS = 4
_LEAST_GAIN = 1e-6  # smallest decrease of the bound, in nats, for another step


class LogGraph(NamedTuple):
    """Arrays of message passing in the log domain.

    Attributes
    ----------
    node_offsets : int64 array, shape (n + 1,)
    node_weights : float64 array, flat
        −inf at impossible states.
    fields : float64 array, flat
        log F_i.
    edge_nodes : int64 array, shape (m, 2)
    edge_offsets : int64 array, shape (m + 1,)
    log_potentials : float64 array, flat
        w_e / ρ_e, row-major, shifted so that the largest one of possible states is 0; −inf at
        impossible states.
    potentials : float64 array, flat
        Exponentials of `log_potentials`.
    shifts : float64 array, shape (m,)
        Numbers that were subtracted from w_e.
    appearance : float64 array, shape (m,)
        ρ_e, 0 < ρ_e ≤ 1.
    message_offsets : int64 array, shape (m + 1,)
    messages : float64 array, flat
        log m, per edge (i, j) the message into i, then the one into j; 0 at impossible states.
    """

    node_offsets: np.ndarray
    node_weights: np.ndarray
    fields: np.ndarray
    edge_nodes: np.ndarray
    edge_offsets: np.ndarray
    log_potentials: np.ndarray
    potentials: np.ndarray
    shifts: np.ndarray
    appearance: np.ndarray
    message_offsets: np.ndarray
    messages: np.ndarray


def log_graph(
    model: PairwiseModel, node_weights: np.ndarray, appearance: np.ndarray | None = None
) -> LogGraph:
    """Return a graph of `model` with all messages uniform.

    Parameters
    ----------
    node_weights : float64 array, flat
        −inf at impossible states; every variable and every edge needs a possible state.
    appearance : float64 array, shape (m,), optional
        ρ; default: 1 for all edges, loopy belief propagation.
    """
    m = model.n_edges
    offsets = np.ascontiguousarray(model.edge_offsets - model.edge_offsets[0])
    rho = np.ones(m) if appearance is None else np.array(appearance, dtype=np.float64)
    log_potentials = model.weights[int(model.edge_offsets[0]) :].copy()
    node_offsets, edge_nodes = model.node_offsets.copy(), model.edges.copy()
    shifts = np.empty(m)
    _scale(node_offsets, node_weights, edge_nodes, offsets, rho, log_potentials, shifts)
    sizes = model.cardinalities[model.edges].sum(axis=1)
    message_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return LogGraph(
        node_offsets=node_offsets,
        node_weights=np.array(node_weights, dtype=np.float64),
        fields=np.array(node_weights, dtype=np.float64),
        edge_nodes=edge_nodes,
        edge_offsets=offsets,
        log_potentials=log_potentials,
        potentials=np.exp(log_potentials),
        shifts=shifts,
        appearance=rho,
        message_offsets=message_offsets,
        messages=np.zeros(int(message_offsets[-1])),
    )


@kernel
def _scale(node_offsets, node_weights, edge_nodes, edge_offsets, appearance, weights, shifts):
    """Convert edge weights to log-potentials, in place, and write the shifts."""
    for e in range(len(edge_nodes)):
        start_i, start_j = node_offsets[edge_nodes[e, 0]], node_offsets[edge_nodes[e, 1]]
        states_i = node_offsets[edge_nodes[e, 0] + 1] - start_i
        states_j = node_offsets[edge_nodes[e, 1] + 1] - start_j
        highest, at = -np.inf, edge_offsets[e]
        for x in range(states_i):
            for y in range(states_j):
                if node_weights[start_i + x] == -np.inf or node_weights[start_j + y] == -np.inf:
                    weights[at] = -np.inf
                highest = max(highest, weights[at])
                at += 1
        for k in range(edge_offsets[e], edge_offsets[e + 1]):
            weights[k] = (weights[k] - highest) / appearance[e]
        shifts[e] = highest


@kernel
def refresh_fields(graph, n_edges):
    """Recompute log F of all nodes from their weights and messages."""
    fields, messages, offsets = graph.fields, graph.messages, graph.node_offsets
    for x in range(len(fields)):
        fields[x] = graph.node_weights[x]
    at = 0
    for e in range(n_edges):
        rho = graph.appearance[e]
        for side in range(2):
            i = graph.edge_nodes[e, side]
            for x in range(offsets[i], offsets[i + 1]):
                fields[x] += rho * messages[at]
                at += 1


@inner_kernel
def log_sum(values, states):
    """Return log Σ exp over the first `states` values."""
    highest = -np.inf
    for x in range(states):
        highest = max(highest, values[x])
    if highest == -np.inf:
        return -np.inf
    total = 0.0
    for x in range(states):
        total += np.exp(values[x] - highest)
    return highest + np.log(total)


@inner_kernel
def log_product(impossible, count, table, first, step, stride, other, out):
    """Write log Σ_k exp(table[first + x step + k stride] + other[k]) to ``out[x]``, x < `count`."""
    for x in range(count):
        if impossible[x] == -np.inf:
            out[x] = -np.inf
            continue
        highest = -np.inf
        for k in range(len(other)):
            highest = max(highest, table[first + x * step + k * stride] + other[k])
        total = 0.0
        for k in range(len(other)):
            total += np.exp(table[first + x * step + k * stride] + other[k] - highest)
        out[x] = highest + np.log(total)


@kernel(inline="always")
def _compute_message(
    fields,
    messages,
    log_potentials,
    potentials,
    edge_nodes,
    offsets,
    places,
    inboxes,
    e,
    side,
    logs,
    cavity,
    message,
):
    """Compute the message of edge e into its end `side`, from the cavity of the other end.

    Arrays are separate arguments, because taking one out of a tuple changes a reference count per
    edge.

    Parameters
    ----------
    logs, cavity : float64 arrays, shape (largest number of states,)
        Overwritten with the log-cavity of the other end, shifted to a maximum of 0, and its
        exponential.
    message : float64 array, shape (largest number of states,)
        Overwritten with the log of the message, not normalised; −inf at impossible states.

    Returns
    -------
    shift : float
        Number that was subtracted from the log-cavity.
    level : float
        Log of the mean of the message over possible states.
    """
    here, there = edge_nodes[e, side], edge_nodes[e, 1 - side]
    start, other = offsets[here], offsets[there]
    states, others = offsets[here + 1] - start, offsets[there + 1] - other
    at, inbox = places[e], inboxes[e] + (states if side == 0 else 0)
    shift = -np.inf
    for k in range(others):
        logs[k] = fields[other + k] - messages[inbox + k]
        shift = max(shift, logs[k])
    for k in range(others):
        logs[k] -= shift
        cavity[k] = np.exp(logs[k]) if logs[k] < 0.0 else 1.0
    if side == 0:
        for x in range(states):
            total = 0.0
            for k in range(others):
                total += potentials[at + x * others + k] * cavity[k]
            message[x] = total
    else:
        for x in range(states):
            message[x] = 0.0
        for k in range(others):
            weight = cavity[k]
            for x in range(states):
                message[x] += weight * potentials[at + k * states + x]
    total, least, count = 0.0, np.inf, 0
    for x in range(states):
        if fields[start + x] > -np.inf:
            least = min(least, message[x])
            total += message[x]
            count += 1
    if least > _SMALL:
        level = np.log(total / count)
        for x in range(states):
            message[x] = np.log(message[x]) if fields[start + x] > -np.inf else -np.inf
    else:
        step, stride = (others, 1) if side == 0 else (1, states)
        own = fields[start : start + states]
        log_product(own, states, log_potentials, at, step, stride, logs[:others], message)
        level = log_sum(message, states) - np.log(count)
    return shift, level


@kernel(inline="always")
def _store(fields, start, states, messages, inbox, message, level, rho, damping):
    """Store a message with mean one over possible states; return the largest change of its log."""
    largest = 0.0
    for x in range(states):
        if message[x] > -np.inf:
            change = message[x] - level - messages[inbox + x]
            largest = max(largest, abs(change))
            change *= 1.0 - damping
            messages[inbox + x] += change
            fields[start + x] += rho * change
    return largest


@kernel
def pass_messages(graph, n_edges, done, max_sweeps, tolerance, damping, work):
    """Sweep over the edges, forwards and backwards, until messages change by at most `tolerance`.

    The second message of an edge is computed from the new first one: with ρ < 1 each depends on the
    other, and a hub whose neighbours all used its message of the previous sweep would oscillate.

    Parameters
    ----------
    done : int
        Number of previous sweeps, which determines the direction of the next one.
    damping : float
        Weight of the old message, as the exponent of a geometric mean.
    work : float64 array, shape (3, largest number of states)
        Scratch space.

    Returns
    -------
    sweeps : int
        Number of sweeps made by this call.
    residual : float
        Largest relative change of a message in the last sweep, before damping.
    """
    fields, messages, log_potentials = graph.fields, graph.messages, graph.log_potentials
    potentials, edge_nodes, offsets = graph.potentials, graph.edge_nodes, graph.node_offsets
    places, inboxes, appearance = graph.edge_offsets, graph.message_offsets, graph.appearance
    logs, cavity, message = work[0], work[1], work[2]
    sweeps, residual = 0, 0.0
    while sweeps < max_sweeps:
        if sweeps % _REFRESH_EVERY == 0:
            refresh_fields(graph, n_edges)
        largest = 0.0
        forwards = (done + sweeps) % 2 == 0
        for k in range(n_edges):
            e = k if forwards else n_edges - 1 - k
            for turn in range(2):
                side = turn if not forwards else 1 - turn
                _, level = _compute_message(
                    fields,
                    messages,
                    log_potentials,
                    potentials,
                    edge_nodes,
                    offsets,
                    places,
                    inboxes,
                    e,
                    side,
                    logs,
                    cavity,
                    message,
                )
                i, inbox = edge_nodes[e, side], inboxes[e]
                start, states = offsets[i], offsets[i + 1] - offsets[i]
                if side == 1:
                    inbox = inboxes[e + 1] - states
                rho = appearance[e]
                change = _store(
                    fields, start, states, messages, inbox, message, level, rho, damping
                )
                largest = max(largest, change)
        sweeps += 1
        residual = -np.expm1(-largest)
        if residual <= tolerance:
            break
    refresh_fields(graph, n_edges)
    return sweeps, residual


@kernel
def free_energy(graph, n_nodes, n_edges, work):
    """Return C of the current messages, and a bound on the excess of log Z over C.

    C = Σ_i log Z_i + Σ_e ρ_e (log Z_e - log Z_i - log Z_j), with Z_i, Z_e the normalisers of b_i
    and b_e. With ρ ≡ 1 that is the Bethe approximation of log Z.

    In a forest T every factor b_e / b_i, summed over x_j, is the margin of b_e divided by b_i: 1 if
    beliefs are consistent, and at most M_e, the largest such ratio at either end, for any messages.
    So the sum over the forest is at most Π_(e in T) M_e, and for any distribution over forests with
    edge appearance probabilities ρ, by convexity,

        log Z ≤ C + Σ_e ρ_e log M_e.

    Returns
    -------
    value : float
        C.
    excess : float
        Σ_e ρ_e log M_e: at least 0, and 0 where messages have converged.
    """
    fields, messages, log_potentials = graph.fields, graph.messages, graph.log_potentials
    potentials, edge_nodes, offsets = graph.potentials, graph.edge_nodes, graph.node_offsets
    places, inboxes, appearance = graph.edge_offsets, graph.message_offsets, graph.appearance
    logs, cavity, message = work[0], work[1], work[2]
    node_sums = np.empty(n_nodes)
    value, excess = 0.0, 0.0
    for i in range(n_nodes):
        node_sums[i] = log_sum(fields[offsets[i] :], offsets[i + 1] - offsets[i])
        value += node_sums[i]
    for e in range(n_edges):
        largest, edge_sum = 0.0, 0.0
        for side in range(2):
            shift, _ = _compute_message(
                fields,
                messages,
                log_potentials,
                potentials,
                edge_nodes,
                offsets,
                places,
                inboxes,
                e,
                side,
                logs,
                cavity,
                message,
            )
            i = edge_nodes[e, side]
            start, states = offsets[i], offsets[i + 1] - offsets[i]
            inbox = inboxes[e] if side == 0 else inboxes[e + 1] - states
            # log of (Z_e times the margin of b_e at this end)
            for x in range(states):
                logs[x] = fields[start + x] - messages[inbox + x] + message[x] + shift
            if side == 0:
                edge_sum = log_sum(logs, states)
            for x in range(states):
                if message[x] > -np.inf:
                    margin = logs[x] - edge_sum
                    largest = max(largest, margin - (fields[start + x] - node_sums[i]))
        rho = appearance[e]
        ends = node_sums[edge_nodes[e, 0]] + node_sums[edge_nodes[e, 1]]
        value += graph.shifts[e] + rho * (edge_sum - ends)
        excess += rho * largest
    return value, excess


@kernel
def fill_beliefs(graph, n_nodes, n_edges, nodes, edges):
    """Write all b_i and b_e, flat, with the layout of the weights."""
    offsets, places, messages = graph.node_offsets, graph.edge_offsets, graph.messages
    fields, log_potentials = graph.fields, graph.log_potentials
    for i in range(n_nodes):
        total = log_sum(fields[offsets[i] :], offsets[i + 1] - offsets[i])
        for x in range(offsets[i], offsets[i + 1]):
            nodes[x] = np.exp(fields[x] - total)
    for e in range(n_edges):
        i, j = graph.edge_nodes[e, 0], graph.edge_nodes[e, 1]
        states_i, states_j = offsets[i + 1] - offsets[i], offsets[j + 1] - offsets[j]
        at, inbox, highest = places[e], graph.message_offsets[e], -np.inf
        for x in range(states_i):
            cavity = fields[offsets[i] + x] - messages[inbox + x]
            for y in range(states_j):
                other = fields[offsets[j] + y] - messages[inbox + states_i + y]
                edges[at] = log_potentials[at] + cavity + other
                highest = max(highest, edges[at])
                at += 1
        total = 0.0
        for k in range(places[e], at):
            edges[k] = np.exp(edges[k] - highest)
            total += edges[k]
        for k in range(places[e], at):
            edges[k] /= total


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
    nodes, pairs = flat_beliefs(solution.graph)
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
    work = np.empty((3, int(model.cardinalities.max())))
    bounds: list[float] = []

    def record_bound() -> None:
        bounds.append(float(sum(free_energy(graph, n, m, work))))

    passing = pass_log_messages(graph, work, settings, record_bound)
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
    _, pairs = flat_beliefs(solution.graph)
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


def flat_beliefs(graph: LogGraph) -> tuple[np.ndarray, np.ndarray]:
    """Return all node beliefs and all pair beliefs, with the layout of the weights."""
    nodes, pairs = np.empty(len(graph.fields)), np.empty(len(graph.potentials))
    fill_beliefs(graph, len(graph.node_offsets) - 1, len(graph.edge_nodes), nodes, pairs)
    return nodes, pairs


def pass_log_messages(
    graph: LogGraph,
    work: np.ndarray,
    settings: InferenceSettings,
    after_stretch: Callable[[], None] | None = None,
) -> Passing:
    """Pass messages with damping; see :func:`~graftviz.inference.settings.pass_damped`."""
    n_edges = len(graph.edge_nodes)

    def sweep(done: int, most: int, tolerance: float, damping: float) -> tuple[int, float]:
        sweeps, residual = pass_messages(graph, n_edges, done, most, tolerance, damping, work)
        return int(sweeps), float(residual)

    return pass_damped(sweep, settings, after_stretch)


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
