"""Warm-started fit of the active set under the Bethe likelihood, edge block by edge block.

One block is an edge with its two nodes. Given the cavity distributions α, β of its ends, the
pair belief is b(x, y) ∝ α(x) ψ(x, y) β(y), and the block's part of the objective is convex in
(w_i, w_ij, w_j). A block is solved by repeating

1. nodes: unpenalised node weights are set exactly, by scaling α and β until the belief has the
   data's margins (iterative proportional fitting); penalised ones take a proximal step;
2. edge: a proximal step on w_ij in the diagonal metric b + 2 λ₂, damped if the violation grows;
3. gauge: row and column means of w_ij are shifted to or from the node weights to minimise the
   penalty; the distribution does not change.

Both messages of the edge are sent together. With unpenalised node weights every block leaves the
node beliefs at the data's margins, so blocks do not interact and only new edges need work; in
general an edge is visited again if the beliefs at its ends have changed.
"""

from __future__ import annotations

import numpy as np

from graftviz.inference.propagation import cavity, refresh_belief
from graftviz.learning.weights.penalty import group_dimension, group_residual, proximal_step
from graftviz.utils.compiling import inner_kernel, kernel

_LARGEST_WEIGHT = 40.0  # keeps exp() finite if a cell is empty and penalties are tiny
_INNER_ITERATIONS = 400
_INEXACT = 0.1


@kernel
def solve_block(network, e, penalty, tolerance, work):
    """Fit the block of edge e from its current weights and cavities; update the network.

    Parameters
    ----------
    network : Network
    tolerance : float
        Bound on the violation of each of the block's optimality conditions.
    work : float64 array, shape (10, largest number of joint states of a pair)

    Returns
    -------
    moved_i, moved_j : float
        2-norms of the changes of the two node beliefs.
    solved : bool
        Whether the block meets `tolerance`; with penalised node weights it may take more than one
        visit.
    """
    i, j = network.edge_nodes[e, 0], network.edge_nodes[e, 1]
    at_i, at_j = network.node_offsets[i], network.node_offsets[j]
    states_i, states_j = network.node_offsets[i + 1] - at_i, network.node_offsets[j + 1] - at_j
    size = states_i * states_j
    at = network.edge_offsets[e]
    weights = network.edge_weights[at : at + size]
    potentials = network.potentials[at : at + size]
    target = network.edge_targets[at : at + size]
    alpha, beta, belief, gradient, curvature = work[0], work[1], work[2], work[3], work[4]
    row, column, base_i, base_j, previous_weights = work[5], work[6], work[7], work[8], work[9]
    threshold = penalty.lam * group_dimension(size, penalty.square_root)
    cavity(network, e, np.int64(0), alpha)
    cavity(network, e, np.int64(1), beta)
    for x in range(states_i):
        base_i[x] = alpha[x]
    for y in range(states_j):
        base_j[y] = beta[y]

    caution = 1.0
    previous = np.inf
    goal = tolerance
    worst = np.inf
    for _ in range(_INNER_ITERATIONS):
        if penalty.nodes:
            _penalised_nodes(network, i, j, potentials, alpha, beta, penalty, work)
        else:
            _match_margins(network, at_i, at_j, states_i, states_j, potentials, alpha, beta)
        worst = pair_margins(alpha, potentials, beta, belief, row, column, states_i, states_j)
        worst = _node_residual(network, i, row, penalty, gradient)
        worst = max(worst, _node_residual(network, j, column, penalty, gradient))
        for k in range(size):
            gradient[k] = belief[k] - target[k]
        edge_violation = group_residual(weights, gradient, threshold, penalty.lam2, size)
        worst = max(worst, edge_violation)
        if worst <= goal:
            break
        if penalty.nodes and previous == np.inf:
            # Neighbouring blocks will change these beliefs again, so an inexact solution is enough.
            goal = max(tolerance, _INEXACT * worst)
        # A growing violation means that steps in the diagonal metric were too long: shorten them.
        caution = min(64.0, caution * 2.0) if worst > 1.05 * previous else max(1.0, 0.8 * caution)
        previous = worst
        for k in range(size):
            curvature[k] = caution * (belief[k] + 1e-9) + 2.0 * penalty.lam2
            gradient[k] += 2.0 * penalty.lam2 * weights[k]
            previous_weights[k] = weights[k]
        proximal_step(weights, gradient, curvature, threshold, size)
        for k in range(size):
            step = min(max(weights[k] - previous_weights[k], -2.0), 2.0)
            weights[k] = min(max(previous_weights[k] + step, -_LARGEST_WEIGHT), _LARGEST_WEIGHT)
        if penalty.nodes:
            _remove_mean(weights, size)
            _shift_gauge(network, i, j, weights, alpha, beta, penalty, size, row)
        else:
            _centre(weights, states_i, states_j, row, column)
        for k in range(size):
            potentials[k] = np.exp(weights[k])
    if worst > goal:
        # The iteration limit was reached after an update: compute the margins of the new weights.
        pair_margins(alpha, potentials, beta, belief, row, column, states_i, states_j)
    moved_i, moved_j = commit_block(network, e, alpha, beta, base_i, base_j, row, column, penalty)
    return moved_i, moved_j, worst <= tolerance


@inner_kernel
def pair_margins(alpha, potentials, beta, belief, row, column, states_i, states_j):
    """Write the normalised pair belief and its margins; return the normaliser."""
    total = 0.0
    for x in range(states_i):
        for y in range(states_j):
            value = alpha[x] * potentials[x * states_j + y] * beta[y]
            belief[x * states_j + y] = value
            total += value
    for y in range(states_j):
        column[y] = 0.0
    for x in range(states_i):
        row[x] = 0.0
        for y in range(states_j):
            value = belief[x * states_j + y] / total
            belief[x * states_j + y] = value
            row[x] += value
            column[y] += value
    return total


@inner_kernel
def _match_margins(network, at_i, at_j, states_i, states_j, potentials, alpha, beta):
    """Do one round of iterative proportional fitting: rows, then columns."""
    for x in range(states_i):
        total = 0.0
        for y in range(states_j):
            total += potentials[x * states_j + y] * beta[y]
        alpha[x] = network.node_targets[at_i + x] / total
    for y in range(states_j):
        total = 0.0
        for x in range(states_i):
            total += alpha[x] * potentials[x * states_j + y]
        beta[y] = network.node_targets[at_j + y] / total


@inner_kernel
def _node_residual(network, i, margin, penalty, scratch):
    """Return the violation of node i's optimality condition when its belief is `margin`."""
    at = network.node_offsets[i]
    states = network.node_offsets[i + 1] - at
    for x in range(states):
        scratch[x] = margin[x] - network.node_targets[at + x]
    if not penalty.nodes:
        return group_residual(network.node_weights[at:], scratch, 0.0, 0.0, states)
    threshold = penalty.lam * group_dimension(states, penalty.square_root)
    return group_residual(network.node_weights[at:], scratch, threshold, penalty.lam2, states)


@inner_kernel
def _penalised_nodes(network, i, j, potentials, alpha, beta, penalty, work):
    """Take one proximal step on w_i, then one on w_j, each from an updated belief."""
    belief, gradient, curvature, row, column = work[2], work[3], work[4], work[5], work[6]
    states_i = network.node_offsets[i + 1] - network.node_offsets[i]
    states_j = network.node_offsets[j + 1] - network.node_offsets[j]
    for side in range(2):
        node = i if side == 0 else j
        at = network.node_offsets[node]
        states = states_i if side == 0 else states_j
        margin = row if side == 0 else column
        factor = alpha if side == 0 else beta
        pair_margins(alpha, potentials, beta, belief, row, column, states_i, states_j)
        threshold = penalty.lam * group_dimension(states, penalty.square_root)
        for x in range(states):
            weight = network.node_weights[at + x]
            gradient[x] = margin[x] - network.node_targets[at + x] + 2.0 * penalty.lam2 * weight
            curvature[x] = margin[x] + 1e-9 + 2.0 * penalty.lam2
            factor[x] *= np.exp(-weight)
        proximal_step(network.node_weights[at:], gradient, curvature, threshold, states)
        _remove_mean(network.node_weights[at:], states)
        for x in range(states):
            factor[x] *= np.exp(network.node_weights[at + x])


@inner_kernel
def _remove_mean(values, size):
    """Remove the mean of a group: the constant does not affect p but increases the norm."""
    mean = 0.0
    for k in range(size):
        mean += values[k] / size
    for k in range(size):
        values[k] -= mean


@inner_kernel
def _centre(weights, states_i, states_j, row, column):
    """Remove the row and column means of w_ij; the node weights compensate exactly."""
    for y in range(states_j):
        column[y] = 0.0
    for x in range(states_i):
        row[x] = 0.0
        for y in range(states_j):
            row[x] += weights[x * states_j + y] / states_j
            column[y] += weights[x * states_j + y] / states_i
    mean = 0.0
    for x in range(states_i):
        mean += row[x] / states_i
    for x in range(states_i):
        for y in range(states_j):
            weights[x * states_j + y] -= row[x] + column[y] - mean


@inner_kernel
def _shift_gauge(network, i, j, weights, alpha, beta, penalty, size, shift):
    """Shift u(x) between w_i(x) and the rows of w_ij (then the columns) to lower the penalty.

    The group norms are majorised by quadratics at the current weights, which gives
    u = (ω_e Σ_y w_ij(x, y) - ω_i w_i(x)) / (ω_i + s_j ω_e) with ω = λ₂ + λ d / (2 ‖w‖).
    """
    for side in range(2):
        node = i if side == 0 else j
        at = network.node_offsets[node]
        states = network.node_offsets[node + 1] - at
        others = size // states
        node_norm, edge_norm = 0.0, 0.0
        for x in range(states):
            node_norm += network.node_weights[at + x] ** 2
        for k in range(size):
            edge_norm += weights[k] ** 2
        if node_norm == 0.0 or edge_norm == 0.0:
            continue
        node_pull = group_dimension(states, penalty.square_root) / (2.0 * np.sqrt(node_norm))
        edge_pull = group_dimension(size, penalty.square_root) / (2.0 * np.sqrt(edge_norm))
        node_pull = penalty.lam2 + penalty.lam * node_pull
        edge_pull = penalty.lam2 + penalty.lam * edge_pull
        if node_pull + edge_pull == 0.0:
            continue
        for x in range(states):
            total = 0.0
            for y in range(others):
                total += weights[x * others + y] if side == 0 else weights[y * states + x]
            shift[x] = edge_pull * total - node_pull * network.node_weights[at + x]
            shift[x] /= node_pull + others * edge_pull
        factor = alpha if side == 0 else beta
        for x in range(states):
            network.node_weights[at + x] += shift[x]
            factor[x] *= np.exp(shift[x])
            for y in range(others):
                weights[x * others + y if side == 0 else y * states + x] -= shift[x]


@inner_kernel
def commit_block(network, e, alpha, beta, base_i, base_j, row, column, penalty):
    """Send both messages of edge e; set beliefs and (unpenalised) node weights of its ends."""
    i, j = network.edge_nodes[e, 0], network.edge_nodes[e, 1]
    at_i, at_j = network.node_offsets[i], network.node_offsets[j]
    states_i, states_j = network.node_offsets[i + 1] - at_i, network.node_offsets[j + 1] - at_j
    at, into = network.edge_offsets[e], network.message_offsets[e]
    total_i, total_j = 0.0, 0.0
    for y in range(states_j):
        network.messages[into + states_i + y] = 0.0
    for x in range(states_i):
        incoming = 0.0
        for y in range(states_j):
            potential = network.potentials[at + x * states_j + y]
            incoming += potential * beta[y]
            network.messages[into + states_i + y] += alpha[x] * potential
        network.messages[into + x] = incoming
        total_i += incoming
    for y in range(states_j):
        total_j += network.messages[into + states_i + y]
    for x in range(states_i):
        network.messages[into + x] *= states_i / total_i
    for y in range(states_j):
        network.messages[into + states_i + y] *= states_j / total_j
    if not penalty.nodes:
        _absorb(network.node_weights[at_i : at_i + states_i], alpha, base_i)
        _absorb(network.node_weights[at_j : at_j + states_j], beta, base_j)
    moved_i = _set_belief(network.node_beliefs[at_i : at_i + states_i], row)
    moved_j = _set_belief(network.node_beliefs[at_j : at_j + states_j], column)
    return moved_i, moved_j


@inner_kernel
def _absorb(node_weights, factor, base):
    """Add log(factor / base) to the node weights and centre them."""
    mean = 0.0
    for x in range(len(node_weights)):
        node_weights[x] += np.log(factor[x] / base[x])
        mean += node_weights[x] / len(node_weights)
    for x in range(len(node_weights)):
        node_weights[x] -= mean


@inner_kernel
def _set_belief(belief, margin):
    moved = 0.0
    for x in range(len(belief)):
        moved += (margin[x] - belief[x]) ** 2
        belief[x] = margin[x]
    return np.sqrt(moved)


@kernel
def solve_nodes(network, nodes, penalty, tolerance, work):
    """Fit weights of nodes for fixed messages; add the change of each belief to ``drift``."""
    for i in nodes:
        at = network.node_offsets[i]
        states = network.node_offsets[i + 1] - at
        margin, gradient, curvature, before = work[0], work[3], work[4], work[5]
        for x in range(states):
            before[x] = network.node_beliefs[at + x]
        for _ in range(_INNER_ITERATIONS):
            refresh_belief(network, i, margin)
            if _node_residual(network, i, margin, penalty, gradient) <= tolerance:
                break
            if penalty.nodes:
                threshold = penalty.lam * group_dimension(states, penalty.square_root)
                for x in range(states):
                    gradient[x] += 2.0 * penalty.lam2 * network.node_weights[at + x]
                    curvature[x] = margin[x] + 1e-9 + 2.0 * penalty.lam2
                proximal_step(network.node_weights[at:], gradient, curvature, threshold, states)
                _remove_mean(network.node_weights[at:], states)
            else:
                for x in range(states):
                    ratio = network.node_targets[at + x] / max(margin[x], 1e-300)
                    network.node_weights[at + x] += np.log(ratio)
        else:
            refresh_belief(network, i, margin)
        moved = 0.0
        for x in range(states):
            moved += (network.node_beliefs[at + x] - before[x]) ** 2
        network.drift[i] += np.sqrt(moved)


@kernel
def solve_active_set(network, n_edges, penalty, tolerance, max_sweeps, work):
    """Visit edges until no belief at the ends of an edge has changed since its last visit.

    Returns
    -------
    int
        Number of blocks solved.
    """
    visits = 0
    for _ in range(max_sweeps):
        settled = True
        for k in range(n_edges):
            e = n_edges - 1 - k  # newest first, as they are farthest from their optimum
            i, j = network.edge_nodes[e, 0], network.edge_nodes[e, 1]
            total_drift = network.drift[i] + network.drift[j]
            if abs(total_drift - network.seen_drift[e]) <= tolerance:
                continue
            settled = False
            visits += 1
            moved_i, moved_j, solved = solve_block(network, e, penalty, 0.1 * tolerance, work)
            network.drift[i] += moved_i
            network.drift[j] += moved_j
            network.seen_drift[e] = network.drift[i] + network.drift[j] if solved else -1.0
            network.touched_edges[e] = True
            network.touched_nodes[i] = True
            network.touched_nodes[j] = True
            network.stale_edges[e] = network.stale_nodes[i] = network.stale_nodes[j] = True
        if settled:
            break
    return visits
