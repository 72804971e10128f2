"""The penalised Bethe likelihood 𝕃(w) and its optimality conditions (BC eq. 2 and 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.fitting.penalty import group_dimension, group_residual
from graftviz.inference.propagation import careful_cavity, quick_cavity


class Evaluation(NamedTuple):
    """𝕃(w) and how far the state is from a fixed point and an optimum.

    Attributes
    ----------
    objective : float
        L(w) + λ Σ_g d_g ‖w_g‖ + λ₂ ‖w‖² over the penalised groups, nats per row.
    kkt_residual : float
        Largest violation over nodes and active edges.
    message_residual : float
        Largest change one more message update would make (messages have mean one).
    """

    objective: float
    kkt_residual: float
    message_residual: float


@njit(cache=True, nogil=True)
def _norm(weights, size):
    total = 0.0
    for k in range(size):
        total += weights[k] ** 2
    return np.sqrt(total)


@njit(cache=True, nogil=True)
def _log_fields(network, n_edges):
    """Return w_i + Σ log(messages into i) for all nodes, flat.

    The products are taken first and the logarithm once, or again whenever a product gets extreme.
    """
    messages, edge_nodes, node_offsets = network.messages, network.edge_nodes, network.node_offsets
    fields = network.node_weights.copy()
    products = np.ones(len(fields))
    at = 0
    for e in range(n_edges):
        for side in range(2):
            i = edge_nodes[e, side]
            for x in range(node_offsets[i], node_offsets[i + 1]):
                product = products[x] * messages[at]
                if product < 1e-150 or product > 1e150:
                    fields[x] += np.log(product)
                    product = 1.0
                products[x] = product
                at += 1
    for x in range(len(fields)):
        fields[x] += np.log(products[x])
    return fields


@njit(cache=True, nogil=True)
def evaluate(network, n_nodes, n_edges, penalty, work):
    """Evaluate objective, KKT residual and message residual at the network's present state.

    The Bethe log-partition function is stationary in the messages, so small message errors
    change the objective only to second order.

    Returns
    -------
    objective, kkt_residual, message_residual : float
    """
    outgoing, gradient, cavity_i, cavity_j = work[0], work[3], work[1], work[2]
    # Taking an array out of a tuple costs a reference count: once here, not once per edge.
    beliefs, messages, potentials = network.node_beliefs, network.messages, network.potentials
    node_offsets, node_weights = network.node_offsets, network.node_weights
    node_targets, edge_targets = network.node_targets, network.edge_targets
    edge_nodes, edge_weights = network.edge_nodes, network.edge_weights
    lam, lam2, square_root = penalty.lam, penalty.lam2, penalty.square_root
    log_partition, fit, price = 0.0, 0.0, 0.0
    worst, message_worst = 0.0, 0.0
    fields = _log_fields(network, n_edges)
    for i in range(n_nodes):
        at = node_offsets[i]
        states = node_offsets[i + 1] - at
        highest = fields[at]
        for x in range(states):
            highest = max(highest, fields[at + x])
        total = 0.0
        for x in range(states):
            gradient[x] = np.exp(fields[at + x] - highest)
            total += gradient[x]
        log_partition += highest + np.log(total)
        for x in range(states):
            gradient[x] = gradient[x] / total - node_targets[at + x]
            fit += node_weights[at + x] * node_targets[at + x]
        weights = node_weights[at : at + states]
        if penalty.nodes:
            threshold = lam * group_dimension(states, square_root)
            norm = _norm(weights, states)
            price += threshold * norm + lam2 * norm * norm
            violation = group_residual(weights, gradient, threshold, lam2, states)
        else:
            violation = group_residual(weights, gradient, 0.0, 0.0, states)
        worst = max(worst, violation)
    at, into_i = 0, 0
    for e in range(n_edges):
        i, j = edge_nodes[e, 0], edge_nodes[e, 1]
        start_i, start_j = node_offsets[i], node_offsets[j]
        states_i, states_j = node_offsets[i + 1] - start_i, node_offsets[j + 1] - start_j
        size = states_i * states_j
        into_j = into_i + states_i
        if not quick_cavity(beliefs, start_i, messages, into_i, states_i, cavity_i):
            careful_cavity(network, e, 0, cavity_i)
        if not quick_cavity(beliefs, start_j, messages, into_j, states_j, cavity_j):
            careful_cavity(network, e, 1, cavity_j)
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
        for x in range(states_i):
            gap = abs(cavity_i[x] * states_i / mass_i - messages[into_i + x])
            message_worst = max(message_worst, gap)
        for y in range(states_j):
            gap = abs(outgoing[y] * states_j / mass_j - messages[into_j + y])
            message_worst = max(message_worst, gap)
        log_partition += np.log(joint / (at_i * at_j))
        for k in range(size):
            fit += edge_weights[at + k] * edge_targets[at + k]
            gradient[k] = gradient[k] / joint - edge_targets[at + k]
        weights = edge_weights[at : at + size]
        threshold = lam * group_dimension(size, square_root)
        norm = _norm(weights, size)
        price += threshold * norm + lam2 * norm * norm
        worst = max(worst, group_residual(weights, gradient, threshold, lam2, size))
        at += size
        into_i = into_j + states_j
    return log_partition - fit + price, worst, message_worst
