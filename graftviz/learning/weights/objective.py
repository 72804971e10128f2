"""Penalised Bethe likelihood 𝕃(w) and its optimality conditions (BC eq. 2 and 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.inference.bethe.propagation import careful_cavity, quick_cavity
from graftviz.learning.weights.penalty import group_dimension, group_residual
from graftviz.utils.compiling import inner_kernel, kernel


class Evaluation(NamedTuple):
    """Objective 𝕃(w) and residuals of the optimality and fixed-point conditions.

    Attributes
    ----------
    objective : float
        L(w) + λ Σ_g d_g ‖w_g‖ + λ₂ ‖w‖² over the penalised groups, nats per row.
    kkt_residual : float
        Largest violation over nodes and active edges.
    message_residual : float
        Largest change by one more message update (messages have mean one).
    """

    objective: float
    kkt_residual: float
    message_residual: float


@inner_kernel
def _norm(weights, size):
    total = 0.0
    for k in range(size):
        total += weights[k] ** 2
    return np.sqrt(total)


@inner_kernel
def _log_field(network, i, out):
    """Write w_i + Σ log(messages into i) to `out`.

    Messages are multiplied first; the logarithm is taken once, or when a product becomes extreme.
    """
    messages, node_offsets = network.messages, network.node_offsets
    message_offsets, following = network.message_offsets, network.following
    start = node_offsets[i]
    states = node_offsets[i + 1] - start
    products = np.ones(states)
    for x in range(states):
        out[x] = network.node_weights[start + x]
    incidence = network.first[i]
    while incidence >= 0:
        e = incidence >> 1
        at = message_offsets[e]
        if incidence & 1 == 1:
            at = message_offsets[e + 1] - states
        for x in range(states):
            product = products[x] * messages[at + x]
            if product < 1e-150 or product > 1e150:
                out[x] += np.log(product)
                product = 1.0
            products[x] = product
        incidence = following[incidence]
    for x in range(states):
        out[x] += np.log(products[x])


@inner_kernel
def _evaluate_node(network, i, penalty, field, gradient):
    """Return the contribution of node i to the objective, and its violation."""
    at = network.node_offsets[i]
    states = network.node_offsets[i + 1] - at
    node_weights, node_targets = network.node_weights, network.node_targets
    _log_field(network, i, field)
    highest = field[0]
    for x in range(states):
        highest = max(highest, field[x])
    total = 0.0
    for x in range(states):
        gradient[x] = np.exp(field[x] - highest)
        total += gradient[x]
    value = highest + np.log(total)
    for x in range(states):
        gradient[x] = gradient[x] / total - node_targets[at + x]
        value -= node_weights[at + x] * node_targets[at + x]
    weights = node_weights[at : at + states]
    if not penalty.nodes:
        return value, group_residual(weights, gradient, 0.0, 0.0, states)
    threshold = penalty.lam * group_dimension(states, penalty.square_root)
    norm = _norm(weights, states)
    value += threshold * norm + penalty.lam2 * norm * norm
    return value, group_residual(weights, gradient, threshold, penalty.lam2, states)


@inner_kernel
def _evaluate_edges(network, n_edges, penalty, work):
    """Write the terms of all edges that are stale or have a stale node."""
    outgoing, gradient, cavity_i, cavity_j = work[0], work[3], work[1], work[2]
    # Extracting an array from a tuple costs a reference count: once here, not once per edge.
    beliefs, messages, potentials = network.node_beliefs, network.messages, network.potentials
    node_offsets, edge_targets = network.node_offsets, network.edge_targets
    edge_nodes, edge_weights = network.edge_nodes, network.edge_weights
    edge_offsets, message_offsets = network.edge_offsets, network.message_offsets
    stale_nodes, stale_edges, terms = network.stale_nodes, network.stale_edges, network.edge_terms
    lam, lam2, square_root = penalty.lam, penalty.lam2, penalty.square_root
    for e in range(n_edges):
        i, j = edge_nodes[e, 0], edge_nodes[e, 1]
        if not (stale_edges[e] or stale_nodes[i] or stale_nodes[j]):
            continue
        stale_edges[e] = False
        start_i, start_j = node_offsets[i], node_offsets[j]
        states_i, states_j = node_offsets[i + 1] - start_i, node_offsets[j + 1] - start_j
        size = states_i * states_j
        at, into_i = edge_offsets[e], message_offsets[e]
        into_j = into_i + states_i
        if not quick_cavity(beliefs, start_i, messages, into_i, states_i, cavity_i):
            careful_cavity(network, e, np.int64(0), cavity_i)
        if not quick_cavity(beliefs, start_j, messages, into_j, states_j, cavity_j):
            careful_cavity(network, e, np.int64(1), cavity_j)
        joint, at_i, at_j, mass_i, mass_j = 0.0, 0.0, 0.0, 0.0, 0.0
        for y in range(states_j):
            outgoing[y] = 0.0
        for x in range(states_i):
            weight, incoming = cavity_i[x], 0.0
            for y in range(states_j):
                potential = potentials[at + x * states_j + y]
                incoming += potential * cavity_j[y]
                outgoing[y] += weight * potential
                gradient[x * states_j + y] = weight * potential * cavity_j[y]
            joint += weight * incoming
            at_i += weight * messages[into_i + x]
            mass_i += incoming
            cavity_i[x] = incoming
        for y in range(states_j):
            at_j += cavity_j[y] * messages[into_j + y]
            mass_j += outgoing[y]
        message_worst = 0.0
        for x in range(states_i):
            gap = abs(cavity_i[x] * states_i / mass_i - messages[into_i + x])
            message_worst = max(message_worst, gap)
        for y in range(states_j):
            gap = abs(outgoing[y] * states_j / mass_j - messages[into_j + y])
            message_worst = max(message_worst, gap)
        value = np.log(joint / (at_i * at_j))
        for k in range(size):
            value -= edge_weights[at + k] * edge_targets[at + k]
            gradient[k] = gradient[k] / joint - edge_targets[at + k]
        weights = edge_weights[at : at + size]
        threshold = lam * group_dimension(size, square_root)
        norm = _norm(weights, size)
        terms[e, 0] = value + threshold * norm + lam2 * norm * norm
        terms[e, 1] = group_residual(weights, gradient, threshold, lam2, size)
        terms[e, 2] = message_worst


@kernel
def evaluate(network, n_nodes, n_edges, penalty, work):
    """Evaluate objective, KKT residual and message residual at the current state.

    Only the terms of stale nodes and edges, and of edges at stale nodes, are recomputed. The
    Bethe log-partition function is stationary in the messages, so small message errors change the
    objective only to second order.

    Returns
    -------
    objective, kkt_residual, message_residual : float
    """
    _evaluate_edges(network, n_edges, penalty, work)
    stale_nodes, node_terms, edge_terms = (
        network.stale_nodes,
        network.node_terms,
        network.edge_terms,
    )
    objective, worst, message_worst = 0.0, 0.0, 0.0
    for i in range(n_nodes):
        if stale_nodes[i]:
            stale_nodes[i] = False
            value, violation = _evaluate_node(network, i, penalty, work[0], work[3])
            node_terms[i, 0], node_terms[i, 1] = value, violation
        objective += node_terms[i, 0]
        worst = max(worst, node_terms[i, 1])
    for e in range(n_edges):
        objective += edge_terms[e, 0]
        worst = max(worst, edge_terms[e, 1])
        message_worst = max(message_worst, edge_terms[e, 2])
    return objective, worst, message_worst
