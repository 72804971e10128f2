"""Loopy belief propagation (sum-product) on flat arrays.

Messages are stored in the linear domain with mean one, so that a node belief can be updated by
multiplication and division alone; where a product is close to underflow, or a potential is zero,
the affected node is recomputed in the log domain instead. Updates run edge by edge, both directions
at once, which needs about half the sweeps of synchronous updates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.inference.appearance import is_forest
from graftviz.inference.beliefs import Beliefs, flat_edges, flat_nodes
from graftviz.inference.reweighted import (
    flat_beliefs,
    free_energy,
    log_graph,
    log_sum,
    pass_log_messages,
)
from graftviz.inference.settings import InferenceSettings, Passing, pass_damped, passing_notes
from graftviz.inference.support import impossible_beliefs, support
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import inner_kernel, kernel

# Below these a quotient b / m is inaccurate, and the product is computed in the log domain.
_SMALL_MESSAGE = 1e-60
_SMALL_BELIEF = 1e-150
_NO_MESSAGE = 1e-290  # messages below this are equal: digits are lost so close to underflow
_LEAST_SUM, _MOST_SUM = 1e-140, 1e140  # outside, quotients lose digits
_REFRESH_EVERY = 16  # sweeps between recomputations of all beliefs, against rounding drift
_WIDEST_TABLE = 600.0  # exp(±600) times a few factors is still a normal float


class MessageGraph(NamedTuple):
    """Arrays of message passing. Kernels accept any NamedTuple with these fields.

    Attributes
    ----------
    node_offsets : int64 array, shape (n + 1,)
        Node i owns ``[node_offsets[i], node_offsets[i + 1])`` of weights and beliefs.
    node_weights, node_beliefs : float64 arrays, flat
    edge_nodes : int64 array, shape (m, 2)
    edge_offsets : int64 array, shape (m + 1,)
    potentials : float64 array, flat
        exp(w_ij), row-major, edge after edge.
    message_offsets : int64 array, shape (m + 1,)
    messages : float64 array, flat
        Per edge (i, j): the message into i (s_i numbers), then the message into j.
    first, following : int64 arrays, shapes (n,) and (2 m,)
        Incidence lists: ``first[i]`` is 2 e + side of the latest edge at i (side 0: i is the edge's
        first node), ``following[2 e + side]`` the next one; -1 ends the list.
    """

    node_offsets: np.ndarray
    node_weights: np.ndarray
    node_beliefs: np.ndarray
    edge_nodes: np.ndarray
    edge_offsets: np.ndarray
    potentials: np.ndarray
    message_offsets: np.ndarray
    messages: np.ndarray
    first: np.ndarray
    following: np.ndarray


def message_graph(model: PairwiseModel) -> MessageGraph:
    """Return a message graph of `model` with all messages uniform."""
    n, m = model.n_variables, model.n_edges
    offsets = model.edge_offsets
    sizes = model.cardinalities[model.edges]
    messages = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))]).astype(np.int64)
    first = np.full(n, -1, dtype=np.int64)
    following = np.full(2 * m, -1, dtype=np.int64)
    for e, pair in enumerate(model.edges):
        for side in (0, 1):
            following[2 * e + side] = first[pair[side]]
            first[pair[side]] = 2 * e + side
    edge_weights = model.weights[offsets[0] :]
    return MessageGraph(
        node_offsets=model.node_offsets.copy(),
        node_weights=model.weights[: offsets[0]].copy(),
        node_beliefs=np.ones(int(offsets[0])),
        edge_nodes=model.edges.copy(),
        edge_offsets=offsets - offsets[0],
        potentials=np.exp(scaled_weights(edge_weights, offsets - offsets[0])),
        message_offsets=messages,
        messages=np.ones(int(messages[-1])),
        first=first,
        following=following,
    )


def scaled_weights(weights: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return weights shifted so that each group's maximum is 0: no potential overflows."""
    if len(offsets) < 2:
        return weights
    highest = np.maximum.reduceat(weights, offsets[:-1])
    highest = np.where(np.isfinite(highest), highest, 0.0)
    shifted: np.ndarray = weights - np.repeat(highest, np.diff(offsets))
    return shifted


@inner_kernel
def log_field(graph, i, without, out):
    """Write w_i + Σ log(messages into i) to `out`, leaving out the incidence `without` (or -1)."""
    start = graph.node_offsets[i]
    states = graph.node_offsets[i + 1] - start
    for x in range(states):
        out[x] = graph.node_weights[start + x]
    incidence = graph.first[i]
    while incidence >= 0:
        if incidence != without:
            e, side = incidence >> 1, incidence & 1
            at = graph.message_offsets[e]
            if side == 1:
                other = graph.edge_nodes[e, 0]
                at += graph.node_offsets[other + 1] - graph.node_offsets[other]
            for x in range(states):
                out[x] += np.log(graph.messages[at + x])
        incidence = graph.following[incidence]


@inner_kernel
def normalised_exponential(values, states):
    """Replace `values` by their softmax; all -inf gives the uniform distribution."""
    highest = values[0]
    for x in range(1, states):
        highest = max(highest, values[x])
    total = 0.0
    for x in range(states):
        values[x] = np.exp(values[x] - highest) if highest > -np.inf else 1.0
        total += values[x]
    for x in range(states):
        values[x] /= total


@kernel
def refresh_belief(graph, i, work):
    """Recompute the belief of node i from its weights and messages."""
    start = graph.node_offsets[i]
    states = graph.node_offsets[i + 1] - start
    log_field(graph, i, np.int64(-1), work)
    normalised_exponential(work, states)
    for x in range(states):
        graph.node_beliefs[start + x] = work[x]


@inner_kernel
def _refresh_all(graph, n_nodes, n_edges, work):
    """Recompute the beliefs of all nodes, by products where these stay in range."""
    beliefs, weights, messages = graph.node_beliefs, graph.node_weights, graph.messages
    edge_nodes, offsets = graph.edge_nodes, graph.node_offsets
    for i in range(n_nodes):
        start, end = offsets[i], offsets[i + 1]
        highest = weights[start]
        for x in range(start + 1, end):
            highest = max(highest, weights[x])
        for x in range(start, end):
            beliefs[x] = np.exp(weights[x] - highest) if highest > -np.inf else 0.0
    at = 0
    for e in range(n_edges):
        for side in range(2):
            i = edge_nodes[e, side]
            for x in range(offsets[i], offsets[i + 1]):
                product = beliefs[x] * messages[at]
                # A product that was out of range once stays zero: digits may have been lost.
                beliefs[x] = product if _SMALL_BELIEF < product < 1.0 / _SMALL_BELIEF else 0.0
                at += 1
    for i in range(n_nodes):
        start, end = offsets[i], offsets[i + 1]
        total = 0.0
        for x in range(start, end):
            total += beliefs[x]
            if beliefs[x] == 0.0:
                total = np.inf
        if total < np.inf:
            for x in range(start, end):
                beliefs[x] /= total
        else:
            refresh_belief(graph, i, work)


@kernel(inline="always")
def quick_cavity(beliefs, start, messages, at, states, out):
    """Write belief / message, normalised, to `out`; return False if a number was too small.

    Takes plain arrays and is inlined, because it is in the innermost loop of every sweep.
    """
    total = 0.0
    safe = True
    for x in range(states):
        message, belief = messages[at + x], beliefs[start + x]
        if message < _SMALL_MESSAGE or belief < _SMALL_BELIEF:
            safe = False
            break
        out[x] = belief / message
        total += out[x]
    if safe:
        for x in range(states):
            out[x] /= total
    return safe


@inner_kernel
def careful_cavity(graph, e, side, out):
    """Write the cavity distribution as a product over the other messages, in logs."""
    i = graph.edge_nodes[e, side]
    log_field(graph, i, 2 * e + side, out)
    normalised_exponential(out, graph.node_offsets[i + 1] - graph.node_offsets[i])


@inner_kernel
def cavity(graph, e, side, out):
    """Write the normalised cavity distribution of edge e's node `side`: its belief without e."""
    i = graph.edge_nodes[e, side]
    start = graph.node_offsets[i]
    states = graph.node_offsets[i + 1] - start
    at = graph.message_offsets[e + 1] - states if side == 1 else graph.message_offsets[e]
    if not quick_cavity(graph.node_beliefs, start, graph.messages, at, states, out):
        careful_cavity(graph, e, side, out)


@kernel(inline="always")
def _store(beliefs, start, messages, at, states, message, damping):
    """Store a new message and multiply it into the belief of its target.

    Returns
    -------
    change : float
        Largest relative change of the message, at most 1.
    safe : bool
        False: the belief must be recomputed from scratch.
    """
    total = 0.0
    for x in range(states):
        total += message[x]
    scale = states / total if total > 0.0 else 0.0
    change = 0.0
    mass = 0.0
    safe = True
    for x in range(states):
        old = messages[at + x]
        new = message[x] * scale if scale > 0.0 else 1.0
        new = (1.0 - damping) * new + damping * old
        # Relative, because a tiny message entry can determine the belief if the others are larger.
        change = max(change, abs(new - old) / max(new, old, _NO_MESSAGE))
        messages[at + x] = new
        if old < _SMALL_MESSAGE or new < _SMALL_MESSAGE:
            safe = False
        else:
            belief = beliefs[start + x] * (new / old)
            beliefs[start + x] = belief
            mass += belief
    if safe and _SMALL_BELIEF < mass < 1.0 / _SMALL_BELIEF:
        for x in range(states):
            beliefs[start + x] /= mass
            if beliefs[start + x] < _SMALL_BELIEF:
                safe = False
    else:
        safe = False
    return change, safe


@kernel
def propagate(graph, n_nodes, n_edges, max_sweeps, tolerance, damping, work):
    """Pass messages until none changes by more than `tolerance`.

    Parameters
    ----------
    work : float64 array, shape (6, largest number of states)

    Returns
    -------
    sweeps : int
    residual : float
        Largest relative change of a message in the last sweep.
    """
    residual = 0.0
    sweeps = 0
    while sweeps < max_sweeps:
        if sweeps % _REFRESH_EVERY == 0:
            _refresh_all(graph, n_nodes, n_edges, work[4])
        residual = 0.0
        # Forwards and backwards in turn: on chains this halves the sweeps.
        e, end, step = (0, n_edges, 1) if sweeps % 2 == 0 else (n_edges - 1, -1, -1)
        while e != end:
            if damping == 0.0:
                e, residual = pass_quickly(graph, e, end, step, residual, work)
            if e != end:
                residual = max(residual, _update_carefully(graph, e, damping, work))
                e += step
        sweeps += 1
        if residual <= tolerance:
            break
    _refresh_all(graph, n_nodes, n_edges, work[4])
    return sweeps, residual


# Quotients follow IEEE 754: results are checked afterwards instead of guarding each division.
@kernel(error_model="numpy", fastmath={"contract"})
def pass_quickly(graph, first, end, step, residual, work):
    """Update the edges `first`, `first` + `step`, … by products and quotients alone.

    It stops before an edge where a message or belief is too small, or a sum is out of range.

    Parameters
    ----------
    end : int
        The position after the last one, counted in steps.
    step : int
        1 or -1.
    residual : float
        Largest relative change of a message so far.
    work : float64 array
        See :func:`propagate`.

    Returns
    -------
    stopped : int
        The first edge that was not updated; `end` if all were.
    residual : float
    """
    # Taking an array out of a tuple changes a reference count: once here, not once per edge.
    beliefs, messages, potentials = graph.node_beliefs, graph.messages, graph.potentials
    cavity_i, cavity_j, new_i, new_j = work[0], work[1], work[2], work[3]
    inverse_i, inverse_j = work[4], work[5]
    # Unsigned, because signed indices are checked for being negative.
    nodes, starts = graph.edge_nodes.view(np.uint64), graph.node_offsets.view(np.uint64)
    cells, inboxes = graph.edge_offsets.view(np.uint64), graph.message_offsets.view(np.uint64)
    one = np.uint64(1)
    k = first
    while k != end:
        e = np.uint64(k)
        i, j = nodes[e, 0], nodes[e, 1]
        at_i, at_j = starts[i], starts[j]
        states_i, states_j = starts[i + one] - at_i, starts[j + one] - at_j
        at, into_i = cells[e], inboxes[e]
        into_j = into_i + states_i
        least = 1.0
        for x in range(states_i):
            belief, message = beliefs[at_i + x], messages[into_i + x]
            least = min(least, belief, message)
            inverse_i[x] = 1.0 / message
            cavity_i[x] = belief * inverse_i[x]
        for y in range(states_j):
            belief, message = beliefs[at_j + y], messages[into_j + y]
            least = min(least, belief, message)
            inverse_j[y] = 1.0 / message
            cavity_j[y] = belief * inverse_j[y]
            new_j[y] = 0.0
        if not least >= _SMALL_MESSAGE:
            break
        joint = mass_i = mass_j = 0.0  # joint: of both ends
        for x in range(states_i):
            weight, total = cavity_i[x], 0.0
            for y in range(states_j):
                potential = potentials[at + x * states_j + y]
                total += potential * cavity_j[y]
                new_j[y] += potential * weight
            new_i[x] = total
            mass_i += total
            joint += weight * total
        for y in range(states_j):
            mass_j += new_j[y]
        if not (
            _LEAST_SUM < joint < _MOST_SUM
            and _LEAST_SUM < mass_i < _MOST_SUM
            and _LEAST_SUM < mass_j < _MOST_SUM
        ):
            break
        scale = 1.0 / joint
        scale_i, scale_j = np.float64(states_i) / mass_i, np.float64(states_j) / mass_j
        low = high = 1.0  # ratios of new and old messages
        for x in range(states_i):
            new = new_i[x] * scale_i
            ratio = new * inverse_i[x]
            low, high = min(low, ratio), max(high, ratio)
            messages[into_i + x] = new
            beliefs[at_i + x] = cavity_i[x] * new_i[x] * scale
        for y in range(states_j):
            new = new_j[y] * scale_j
            ratio = new * inverse_j[y]
            low, high = min(low, ratio), max(high, ratio)
            messages[into_j + y] = new
            beliefs[at_j + y] = cavity_j[y] * new_j[y] * scale
        residual = max(residual, 1.0 - low, 1.0 - 1.0 / high)
        k += step
    return k, residual


@inner_kernel
def _update_carefully(graph, e, damping, work):
    """Update one edge, with damping and in logarithms where necessary; return the change."""
    incoming, outgoing = work[0], work[1]
    cavity_i, cavity_j, spare = work[2], work[3], work[4]
    beliefs, messages, potentials = graph.node_beliefs, graph.messages, graph.potentials
    i, j = graph.edge_nodes[e, 0], graph.edge_nodes[e, 1]
    start_i, start_j = graph.node_offsets[i], graph.node_offsets[j]
    states_i, states_j = graph.node_offsets[i + 1] - start_i, graph.node_offsets[j + 1] - start_j
    at, into_i = graph.edge_offsets[e], graph.message_offsets[e]
    cavity(graph, e, np.int64(0), cavity_i)
    cavity(graph, e, np.int64(1), cavity_j)
    outgoing[:states_j] = 0.0
    for x in range(states_i):
        total = 0.0
        for y in range(states_j):
            total += potentials[at] * cavity_j[y]
            outgoing[y] += cavity_i[x] * potentials[at]
            at += 1
        incoming[x] = total
    into_j = into_i + states_i
    change_i, safe = _store(beliefs, start_i, messages, into_i, states_i, incoming, damping)
    if not safe:
        refresh_belief(graph, i, spare)
    change_j, safe = _store(beliefs, start_j, messages, into_j, states_j, outgoing, damping)
    if not safe:
        refresh_belief(graph, j, spare)
    return max(change_i, change_j)


@inner_kernel
def pair_belief(graph, e, work, out):
    """Write the pair belief of edge e to `out` (row-major); return the log of its normaliser.

    The normaliser is Σ cavity_i(x) ψ(x, y) cavity_j(y) with both cavities summing to one. If it is
    0, no joint state has a positive probability, and the pair belief is uniform.
    """
    i, j = graph.edge_nodes[e, 0], graph.edge_nodes[e, 1]
    states_i = graph.node_offsets[i + 1] - graph.node_offsets[i]
    states_j = graph.node_offsets[j + 1] - graph.node_offsets[j]
    cavity(graph, e, np.int64(0), work[2])
    cavity(graph, e, np.int64(1), work[3])
    at = graph.edge_offsets[e]
    total = 0.0
    for x in range(states_i):
        for y in range(states_j):
            value = work[2][x] * graph.potentials[at + x * states_j + y] * work[3][y]
            out[x * states_j + y] = value
            total += value
    size = states_i * states_j
    for k in range(size):
        out[k] = out[k] / total if total > 0.0 else 1.0 / size
    return np.log(total) if total > 0.0 else -np.inf


@kernel
def fill_pair_beliefs(graph, n_edges, work, out):
    """Write the pair beliefs of all edges to `out`, with the layout of the potentials.

    Parameters
    ----------
    graph : MessageGraph or Network
        At (or near) a fixed point.
    work : float64 array, shape (4 or more, largest number of states or more)
    """
    edge_offsets = graph.edge_offsets
    for e in range(n_edges):
        pair_belief(graph, e, work, out[edge_offsets[e] : edge_offsets[e + 1]])


@kernel
def bethe_log_partition(graph, n_nodes, n_edges, work):
    """Return the Bethe approximation of log Z at the current messages (stationary in them).

    log Z = Σ_i log Z_i + Σ_e log Z_e - Σ_(e, i) log Z_(e, i), with potentials as stored: shifts of
    log-potentials must be added by the caller. It is -inf if messages contradict each other, which
    implies that no joint state has a positive probability.
    """
    total = 0.0
    for i in range(n_nodes):
        states = graph.node_offsets[i + 1] - graph.node_offsets[i]
        log_field(graph, i, np.int64(-1), work[0])
        total += log_sum(work[0], states)
    for e in range(n_edges):
        i, j = graph.edge_nodes[e, 0], graph.edge_nodes[e, 1]
        states_i = graph.node_offsets[i + 1] - graph.node_offsets[i]
        states_j = graph.node_offsets[j + 1] - graph.node_offsets[j]
        cavity(graph, e, np.int64(0), work[2])
        cavity(graph, e, np.int64(1), work[3])
        at, into = graph.edge_offsets[e], graph.message_offsets[e]
        joint, at_i, at_j = 0.0, 0.0, 0.0
        for x in range(states_i):
            at_i += work[2][x] * graph.messages[into + x]
            row = 0.0
            for y in range(states_j):
                row += graph.potentials[at + x * states_j + y] * work[3][y]
            joint += work[2][x] * row
        for y in range(states_j):
            at_j += work[3][y] * graph.messages[into + states_i + y]
        if not (joint > 0.0 and at_i > 0.0 and at_j > 0.0):
            return -np.inf
        total += np.log(joint) - np.log(at_i) - np.log(at_j)
    return total


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
    work = np.empty((3, int(model.cardinalities.max())))
    passing = pass_log_messages(graph, work, settings)
    nodes, pairs = flat_beliefs(graph)
    log_partition, _ = free_energy(graph, model.n_variables, model.n_edges, work)
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
