"""The penalised Bethe likelihood 𝕃(w) and its optimality conditions (BC eq. 2 and 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.fitting.penalty import group_dimension, group_residual
from graftviz.inference.propagation import cavity, log_field


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
def evaluate(network, n_nodes, n_edges, penalty, work):
    """Evaluate objective, KKT residual and message residual at the network's present state.

    The Bethe log-partition function is stationary in the messages, so small message errors
    change the objective only to second order.

    Returns
    -------
    objective, kkt_residual, message_residual : float
    """
    field, gradient, cavity_i, cavity_j = work[0], work[3], work[1], work[2]
    log_partition, fit, price = 0.0, 0.0, 0.0
    worst, message_worst = 0.0, 0.0
    for i in range(n_nodes):
        at = network.node_offsets[i]
        states = network.node_offsets[i + 1] - at
        log_field(network, i, -1, field)
        highest = field[0]
        for x in range(states):
            highest = max(highest, field[x])
        total = 0.0
        for x in range(states):
            total += np.exp(field[x] - highest)
        log_partition += highest + np.log(total)
        for x in range(states):
            gradient[x] = np.exp(field[x] - highest) / total - network.node_targets[at + x]
            fit += network.node_weights[at + x] * network.node_targets[at + x]
        weights = network.node_weights[at : at + states]
        if penalty.nodes:
            threshold = penalty.lam * group_dimension(states, penalty.square_root)
            norm = _norm(weights, states)
            price += threshold * norm + penalty.lam2 * norm * norm
            violation = group_residual(weights, gradient, threshold, penalty.lam2, states)
        else:
            violation = group_residual(weights, gradient, 0.0, 0.0, states)
        worst = max(worst, violation)
    for e in range(n_edges):
        i, j = network.edge_nodes[e, 0], network.edge_nodes[e, 1]
        states_i = network.node_offsets[i + 1] - network.node_offsets[i]
        states_j = network.node_offsets[j + 1] - network.node_offsets[j]
        size = states_i * states_j
        at, into = network.edge_offsets[e], network.message_offsets[e]
        cavity(network, e, 0, cavity_i)
        cavity(network, e, 1, cavity_j)
        joint, at_i, at_j, mass_j = 0.0, 0.0, 0.0, 0.0
        for y in range(states_j):
            field[y] = 0.0
        for x in range(states_i):
            incoming = 0.0
            for y in range(states_j):
                potential = network.potentials[at + x * states_j + y]
                incoming += potential * cavity_j[y]
                field[y] += cavity_i[x] * potential
                gradient[x * states_j + y] = cavity_i[x] * potential * cavity_j[y]
            joint += cavity_i[x] * incoming
            at_i += cavity_i[x] * network.messages[into + x]
            mass_j += incoming
        for x in range(states_i):
            incoming = 0.0
            for y in range(states_j):
                incoming += network.potentials[at + x * states_j + y] * cavity_j[y]
            gap = abs(incoming * states_i / mass_j - network.messages[into + x])
            message_worst = max(message_worst, gap)
        mass_i = 0.0
        for y in range(states_j):
            mass_i += field[y]
        for y in range(states_j):
            message = network.messages[into + states_i + y]
            at_j += cavity_j[y] * message
            message_worst = max(message_worst, abs(field[y] * states_j / mass_i - message))
        log_partition += np.log(joint) - np.log(at_i) - np.log(at_j)
        for k in range(size):
            target = network.edge_targets[at + k]
            fit += network.edge_weights[at + k] * target
            gradient[k] = gradient[k] / joint - target
        weights = network.edge_weights[at : at + size]
        threshold = penalty.lam * group_dimension(size, penalty.square_root)
        norm = _norm(weights, size)
        price += threshold * norm + penalty.lam2 * norm * norm
        worst = max(worst, group_residual(weights, gradient, threshold, penalty.lam2, size))
    return log_partition - fit + price, worst, message_worst
