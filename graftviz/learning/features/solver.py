"""Fit of single features under the Bethe likelihood, edge block by edge block.

One block is an edge with its two nodes. Given the cavity distributions α, β of its ends, the pair
belief is b(x, y) ∝ α(x) ψ(x, y) β(y), and the block's part of the objective is convex in the node
weights u, v, which are free, and in the weights w of the edge's active features. Node weights
are optimised exactly for given w (:func:`_balance`), so that every block leaves the node beliefs at
the data's margins and blocks do not interact.

The edge is fitted by Newton's method: with u and v eliminated the curvature in w is

    H_kl = b_k δ_kl − b_k b_l (M⁻[x_k, x_l] + M⁻[x_k, y_l] + M⁻[y_k, x_l] + M⁻[y_k, y_l]),

where M = [[diag(rows), b], [bᵀ, diag(columns)]] is the curvature in (u, v), and M⁻ its inverse.
The quadratic model with its ℓ₁ term is minimised by coordinate descent. Rows and columns of w are
not shifted into the node weights: most of their cells may be inactive, and shifts change the ℓ₁
norm.

A step changes no log-potential by more than a quarter. Along the step the curvature grows by a
factor of at most √e < 2, so a step that lowers the quadratic model also lowers the objective, and
no line search is needed.

Penalty Σ λ u_k |w_k| + λ₂ Σ w_k² over single features with units u_k, which are 1 for a λ that was
chosen, and its optimality conditions. A *feature* is one joint state (a, b) of a pair of variables.
Inactive features have weight zero and no condition here; the search tests them.
"""

from __future__ import annotations

import numpy as np

from graftviz.inference.propagation import cavity, pair_belief
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.weights.network import ActiveNetwork, Evaluation, evaluate
from graftviz.learning.weights.noise import FeatureUnits, plain_units, unit_of
from graftviz.learning.weights.penalty import Penalty
from graftviz.learning.weights.solver import commit_block, pair_margins
from graftviz.utils.compiling import inner_kernel, kernel


@kernel
def soft_threshold(pull, threshold):
    """Return the minimiser v of ½ (v − pull)² + threshold |v|."""
    if pull > threshold:
        return pull - threshold
    if pull < -threshold:
        return pull + threshold
    return 0.0


@kernel
def feature_residual(weight, gradient, lam, lam2):
    """Return the violation of the optimality condition of one active feature (thesis, eq. 3.8).

    It is |g + 2 λ₂ w + λ sign(w)| if w ≠ 0, and max(0, |g| − λ) if w = 0.
    """
    if weight > 0.0:
        return abs(gradient + 2.0 * lam2 * weight + lam)
    if weight < 0.0:
        return abs(gradient + 2.0 * lam2 * weight - lam)
    return max(0.0, abs(gradient) - lam)


@inner_kernel
def feature_terms(belief, target, weights, active, lams, lam2):
    """Return the penalty of the active features of an edge and their largest violation.

    Parameters
    ----------
    belief, target, weights : float64 arrays, shape (s_i · s_j,)
        Pair belief, data marginal and weights of the edge.
    active : bool array, same shape
    lams : float64 array, same shape
        λ u_k.
    """
    price, worst = 0.0, 0.0
    for k in range(len(weights)):
        if active[k]:
            weight = weights[k]
            price += lams[k] * abs(weight) + lam2 * weight * weight
            worst = max(worst, feature_residual(weight, belief[k] - target[k], lams[k], lam2))
    return price, worst


_LONGEST_STEP = 0.25  # of a log-potential
FIT, PROXIMAL, ORTHANT_WISE = 0, 1, 2  # kinds of an update of the active weights
_LARGEST_WEIGHT = 40.0  # keeps exp() finite if a cell is empty and penalties are tiny
_MARGIN_TOLERANCE = 1e-13
_BALANCE_ROUNDS = 200
_DESCENT_SWEEPS = 100
_NEWTON_STEPS = 200
_NO_PIVOT = 1e-13  # share of the original diagonal below which a pivot is rounding error


@kernel
def _inverse(belief, row, column):
    """Return M⁻, a symmetric generalised inverse of the curvature in the node weights (u, v).

    M has the null vector (1, −1), and more if the belief decomposes into blocks: rows and columns
    without a pivot are set to zero, which Gauss–Jordan elimination of consistent equations allows.
    """
    states_i, states_j = len(row), len(column)
    size = states_i + states_j
    matrix = np.zeros((size, size))
    for x in range(states_i):
        matrix[x, x] = row[x]
        for y in range(states_j):
            matrix[x, states_i + y] = matrix[states_i + y, x] = belief[x * states_j + y]
    for y in range(states_j):
        matrix[states_i + y, states_i + y] = column[y]
    for k in range(size):
        whole = row[k] if k < states_i else column[k - states_i]
        pivot = matrix[k, k]
        if pivot <= _NO_PIVOT * whole:
            for m in range(size):
                matrix[k, m] = matrix[m, k] = 0.0
            continue
        for m in range(size):
            matrix[k, m] /= pivot
        for q in range(size):
            factor = matrix[q, k]
            if q == k or factor == 0.0:
                continue
            for m in range(size):
                matrix[q, m] -= factor * matrix[k, m]
            matrix[q, k] = -factor / pivot
        matrix[k, k] = 1.0 / pivot
    return matrix


@inner_kernel
def _balance(target_i, target_j, potentials, alpha, beta, belief, row, column):
    """Scale α and β until the pair belief has the data's margins; update `belief` and margins.

    Each round is one round of iterative proportional fitting, followed by one step of Newton's
    method if the margins are not reached.
    """
    states_i, states_j = len(target_i), len(target_j)
    for _ in range(_BALANCE_ROUNDS):
        for x in range(states_i):
            total = 0.0
            for y in range(states_j):
                total += potentials[x * states_j + y] * beta[y]
            alpha[x] = target_i[x] / total
        for y in range(states_j):
            total = 0.0
            for x in range(states_i):
                total += alpha[x] * potentials[x * states_j + y]
            beta[y] = target_j[y] / total
        pair_margins(alpha, potentials, beta, belief, row, column, states_i, states_j)
        gap = 0.0
        for x in range(states_i):
            gap = max(gap, abs(row[x] - target_i[x]))
        for y in range(states_j):
            gap = max(gap, abs(column[y] - target_j[y]))
        if gap <= _MARGIN_TOLERANCE:
            return
        inverse = _inverse(belief, row[:states_i], column[:states_j])
        shift = np.zeros(states_i + states_j)
        for k in range(states_i + states_j):
            for x in range(states_i):
                shift[k] -= inverse[k, x] * (row[x] - target_i[x])
            for y in range(states_j):
                shift[k] -= inverse[k, states_i + y] * (column[y] - target_j[y])
        part = _part_of(shift, np.zeros(0), np.zeros(0, dtype=np.int64), states_i, states_j)
        for x in range(states_i):
            alpha[x] *= np.exp(part * shift[x])
        for y in range(states_j):
            beta[y] *= np.exp(part * shift[states_i + y])
    pair_margins(alpha, potentials, beta, belief, row, column, states_i, states_j)


@inner_kernel
def _part_of(shift, move, cells, states_i, states_j):
    """Return the largest share of a step that changes no log-potential beyond the limit."""
    largest = 0.0
    for x in range(states_i):
        for y in range(states_j):
            largest = max(largest, abs(shift[x] + shift[states_i + y]))
    for k in range(len(cells)):
        x, y = cells[k] // states_j, cells[k] % states_j
        largest = max(largest, abs(shift[x] + shift[states_i + y] + move[k]))
    return min(1.0, _LONGEST_STEP / largest) if largest > 0.0 else 1.0


@inner_kernel
def _newton_move(belief, target, row, column, weights, cells, lams, lam2, goal):
    """Minimise the quadratic model in the active features plus their penalty.

    Parameters
    ----------
    cells : int64 array, shape (k,)
        Active cells of the edge.
    goal : float
        Violation at which coordinate descent stops.

    Returns
    -------
    move : float64 array, shape (k,)
        Change of the weights.
    shift : float64 array, shape (s_i + s_j,)
        Accompanying change of the node weights.
    """
    states_i, states_j, count = len(row), len(column), len(cells)
    inverse = _inverse(belief, row, column)
    curvature = np.empty((count, count))
    for k in range(count):
        x, y = cells[k] // states_j, states_i + cells[k] % states_j
        for m in range(k + 1):
            p, q = cells[m] // states_j, states_i + cells[m] % states_j
            both = inverse[x, p] + inverse[x, q] + inverse[y, p] + inverse[y, q]
            value = -belief[cells[k]] * belief[cells[m]] * both
            if k == m:
                value = max(belief[cells[k]] + value, 0.0)
            curvature[k, m] = curvature[m, k] = value
    slope = np.empty(count)  # gradient of the smooth part of the model at `move`
    move = np.zeros(count)
    for k in range(count):
        slope[k] = belief[cells[k]] - target[cells[k]] + 2.0 * lam2 * weights[cells[k]]
    for _ in range(_DESCENT_SWEEPS):
        worst = 0.0
        for k in range(count):
            steep = curvature[k, k] + 2.0 * lam2
            if steep <= 1e-300:
                continue
            current = weights[cells[k]] + move[k]
            target_weight = soft_threshold(steep * current - slope[k], lams[cells[k]]) / steep
            target_weight = min(max(target_weight, -_LARGEST_WEIGHT), _LARGEST_WEIGHT)
            change = target_weight - current
            if change == 0.0:
                continue
            move[k] += change
            worst = max(worst, abs(change) * steep)
            for m in range(count):
                slope[m] += curvature[m, k] * change
            slope[k] += 2.0 * lam2 * change
        if worst <= goal:
            break
    shift = np.zeros(states_i + states_j)
    for k in range(count):
        x, y = cells[k] // states_j, states_i + cells[k] % states_j
        for m in range(states_i + states_j):
            shift[m] -= belief[cells[k]] * move[k] * (inverse[m, x] + inverse[m, y])
    return move, shift


@inner_kernel
def _proximal_move(belief, target, weights, cells, lams, lam2):
    """Return one proximal step of the weights in the metric diag(b + 2 λ₂), nodes fixed."""
    move = np.empty(len(cells))
    for k in range(len(cells)):
        at = cells[k]
        steep = belief[at] + 2.0 * lam2
        slope = belief[at] - target[at] + 2.0 * lam2 * weights[at]
        target_weight = soft_threshold(steep * weights[at] - slope, lams[at]) / steep
        move[k] = min(max(target_weight, -_LARGEST_WEIGHT), _LARGEST_WEIGHT) - weights[at]
    return move


@inner_kernel
def _orthant_move(belief, target, weights, cells, lams, lam2):
    """Return one orthant-wise step in the same metric: weights do not change their sign.

    The orthant is that of the weights, and of the negative pseudo-gradient where they are zero
    (Andrew and Gao, 2007); a weight that would leave it becomes zero.
    """
    move = np.empty(len(cells))
    for k in range(len(cells)):
        at = cells[k]
        steep = belief[at] + 2.0 * lam2
        slope = belief[at] - target[at] + 2.0 * lam2 * weights[at]
        sign = np.sign(weights[at])
        if sign == 0.0 and abs(slope) > lams[at]:
            sign = -np.sign(slope)
        target_weight = weights[at] - (slope + lams[at] * sign) / steep
        if target_weight * sign <= 0.0:
            target_weight = 0.0
        move[k] = min(max(target_weight, -_LARGEST_WEIGHT), _LARGEST_WEIGHT) - weights[at]
    return move


@inner_kernel
def _lams_of(network, e, units, lam):
    """Return λ u_k of the features of edge e."""
    at_i = network.node_offsets[network.edge_nodes[e, 0]]
    at_j = network.node_offsets[network.edge_nodes[e, 1]]
    states_j = network.node_offsets[network.edge_nodes[e, 1] + 1] - at_j
    lams = np.empty(network.edge_offsets[e + 1] - network.edge_offsets[e])
    for k in range(len(lams)):
        lams[k] = lam * unit_of(units, at_i + k // states_j, at_j + k % states_j)
    return lams


@inner_kernel
def solve_features(network, e, active, units, penalty, tolerance, kind, work):
    """Fit the active features of edge e and the weights of its nodes; send both messages once.

    Parameters
    ----------
    network : Network
    active : bool array, flat
        Mask of the active features among all edge weights.
    units : FeatureUnits
    penalty : Penalty
        λ and λ₂; node weights are free.
    tolerance : float
        Bound on the violation of every active feature's condition.
    kind : int
        FIT, or PROXIMAL or ORTHANT_WISE for a single step of that kind (grafting-light).
    work : float64 array, shape (10, largest number of joint states of a pair)

    Returns
    -------
    moved_i, moved_j : float
        2-norms of the changes of the two node beliefs.
    solved : bool
        Whether the block meets `tolerance`.
    """
    i, j = network.edge_nodes[e, 0], network.edge_nodes[e, 1]
    at_i, at_j = network.node_offsets[i], network.node_offsets[j]
    states_i, states_j = network.node_offsets[i + 1] - at_i, network.node_offsets[j + 1] - at_j
    size = states_i * states_j
    at = network.edge_offsets[e]
    weights = network.edge_weights[at : at + size]
    potentials = network.potentials[at : at + size]
    target = network.edge_targets[at : at + size]
    target_i = network.node_targets[at_i : at_i + states_i]
    target_j = network.node_targets[at_j : at_j + states_j]
    mask = active[at : at + size]
    cells = np.flatnonzero(mask)
    lams, lam2 = _lams_of(network, e, units, penalty.lam), penalty.lam2
    alpha, beta, belief = work[0], work[1], work[2]
    row, column, base_i, base_j = work[5], work[6], work[7], work[8]
    cavity(network, e, np.int64(0), alpha)
    cavity(network, e, np.int64(1), beta)
    for x in range(states_i):
        base_i[x] = alpha[x]
    for y in range(states_j):
        base_j[y] = beta[y]
    _balance(target_i, target_j, potentials, alpha, beta, belief, row, column)
    solved = False
    for _ in range(_NEWTON_STEPS if kind == FIT else 1):
        _, worst = feature_terms(belief, target, weights, mask, lams, lam2)
        if worst <= tolerance:
            solved = True
            break
        if kind != FIT:
            if kind == PROXIMAL:
                move = _proximal_move(belief, target, weights, cells, lams, lam2)
            else:
                move = _orthant_move(belief, target, weights, cells, lams, lam2)
            shift = np.zeros(states_i + states_j)
        else:
            goal = max(0.1 * tolerance, 1e-3 * worst)
            move, shift = _newton_move(
                belief, target, row[:states_i], column[:states_j], weights, cells, lams, lam2, goal
            )
        part = _part_of(shift, move, cells, states_i, states_j)
        for k in range(len(cells)):
            weights[cells[k]] += part * move[k]
            potentials[cells[k]] = np.exp(weights[cells[k]])
        for x in range(states_i):
            alpha[x] *= np.exp(part * shift[x])
        for y in range(states_j):
            beta[y] *= np.exp(part * shift[states_i + y])
        _balance(target_i, target_j, potentials, alpha, beta, belief, row, column)
    moved_i, moved_j = commit_block(network, e, alpha, beta, base_i, base_j, row, column, penalty)
    return moved_i, moved_j, solved


@kernel
def solve_feature_set(network, n_edges, active, units, penalty, tolerance, max_sweeps, kind, work):
    """Visit edges whose features or beliefs changed since their last visit, until none has.

    Unless `kind` is FIT, every edge is visited at most once and takes one step.

    Returns
    -------
    int
        Number of blocks solved.
    """
    visits = 0
    # Extracting an array from a tuple costs a reference count: once here, not once per edge.
    edge_nodes, drift, seen_drift = network.edge_nodes, network.drift, network.seen_drift
    for _ in range(max_sweeps if kind == FIT else 1):
        settled = True
        for k in range(n_edges):
            e = n_edges - 1 - k  # newest first, as they are farthest from their optimum
            i, j = edge_nodes[e, 0], edge_nodes[e, 1]
            if abs(drift[i] + drift[j] - seen_drift[e]) <= tolerance:
                continue
            settled = False
            visits += 1
            moved_i, moved_j, solved = solve_features(
                network, e, active, units, penalty, 0.1 * tolerance, kind, work
            )
            drift[i] += moved_i
            drift[j] += moved_j
            seen_drift[e] = drift[i] + drift[j] if solved else -1.0
            network.touched_edges[e] = True
            network.touched_nodes[i] = network.touched_nodes[j] = True
            network.stale_edges[e] = network.stale_nodes[i] = network.stale_nodes[j] = True
        if settled:
            break
    return visits


_SMOOTH = Penalty(0.0, 0.0, False, False)


class FeatureNetwork(ActiveNetwork):
    """Active features of one run, fitted to the counts of its data.

    An edge is active if one of its features is; the weights of its other features are zero. Node
    weights are free. The :class:`Penalty` applies element by element: Σ λ u_k |w_k| + λ₂ Σ w_k²,
    with u_k = 1 unless `units` are passed.

    Attributes
    ----------
    active : bool array, flat
        Mask of the active features, in the layout of the edge weights.
    beliefs : float64 array, flat
        Pair beliefs at the last evaluation, in the layout of the edge weights.
    """

    def __init__(
        self,
        counts: PairCounts,
        names: tuple[str, ...],
        labels: tuple[tuple[str, ...], ...],
        units: FeatureUnits | None = None,
    ) -> None:
        super().__init__(counts, names, labels)
        self._units = units or plain_units(int(counts.cardinalities.sum()))
        self.active = np.zeros(len(self.state.edge_weights), dtype=np.bool_)
        self.beliefs = np.zeros(len(self.state.edge_weights))
        self.n_features = 0
        self._terms = np.zeros((len(self.state.edge_nodes), 2))
        self._edge_of: dict[tuple[int, int], int] = {}

    def activate(self, i: int, j: int, cell: int) -> int:
        """Activate the feature in `cell` (row-major) of the pair i < j; return its edge."""
        if (i, j) not in self._edge_of:
            self._edge_of[i, j] = self.n_edges
            self.add_edge(i, j)
        e = self._edge_of[i, j]
        self.active[self.state.edge_offsets[e] + cell] = True
        self.state.seen_drift[e] = -1.0
        self.n_features += 1
        return e

    def change_units(self, units: FeatureUnits) -> None:
        """Continue with other units; all edges are to be fitted again."""
        self._units = units
        self.state.seen_drift[: self.n_edges] = -1.0
        self._evaluated = None

    def fit(self, penalty: Penalty, *, tolerance: float, max_sweeps: int = 200) -> Evaluation:
        """Fit all active weights, starting from their current values; see the base class."""
        self._solve(penalty, tolerance, max_sweeps, FIT)
        return self._evaluate_stale(penalty)

    def step(self, penalty: Penalty, *, tolerance: float, kind: int = PROXIMAL) -> Evaluation:
        """Take one step in all active weights that violate by more than `tolerance`.

        The step is PROXIMAL or ORTHANT_WISE (:mod:`graftviz.learning.features.solver`).
        Node weights, which are always free, are then set exactly, and messages are sent once.
        """
        self._solve(penalty, tolerance, 1, kind)
        return self._evaluate_stale(penalty)

    def _solve(self, penalty: Penalty, tolerance: float, max_sweeps: int, kind: int) -> None:
        solve_feature_set(
            self.state,
            self.n_edges,
            self.active,
            self._units,
            penalty,
            tolerance,
            max_sweeps,
            kind,
            self._work,
        )

    def _evaluate_stale(self, penalty: Penalty) -> Evaluation:
        if penalty != self._evaluated:
            self.state.stale_nodes[:] = True
            self._evaluated = penalty
        m = self.n_edges
        _follow(
            self.state,
            m,
            self.active,
            self._units,
            penalty,
            self.beliefs,
            self._terms,
            self._work,
        )
        smooth, _, messages = evaluate(self.state, self.n_nodes, m, _SMOOTH, self._work)
        violation = float(self.state.node_terms[:, 1].max())
        if m:
            violation = max(violation, float(self._terms[:m, 1].max()))
        return Evaluation(float(smooth + self._terms[:m, 0].sum()), violation, float(messages))

    def _reserve(self) -> None:
        super()._reserve()
        cells, edges = len(self.state.edge_weights), len(self.state.edge_nodes)
        if cells > len(self.active):
            self.active = np.concatenate([self.active, np.zeros(cells - len(self.active), bool)])
            self.beliefs = np.concatenate([self.beliefs, np.zeros(cells - len(self.beliefs))])
        if edges > len(self._terms):
            self._terms = np.concatenate([self._terms, np.zeros((edges - len(self._terms), 2))])


@kernel
def _follow(network, n_edges, active, units, penalty, beliefs, terms, work):
    """Update pair belief, penalty and violation of edges that are stale or have a stale node."""
    # Extracting an array from a tuple costs a reference count: once here, not once per edge.
    edge_nodes, stale_edges, stale_nodes = (
        network.edge_nodes,
        network.stale_edges,
        network.stale_nodes,
    )
    for e in range(n_edges):
        if not (stale_edges[e] or stale_nodes[edge_nodes[e, 0]] or stale_nodes[edge_nodes[e, 1]]):
            continue
        start, end = network.edge_offsets[e], network.edge_offsets[e + 1]
        pair_belief(network, e, work, beliefs[start:end])
        terms[e, 0], terms[e, 1] = feature_terms(
            beliefs[start:end],
            network.edge_targets[start:end],
            network.edge_weights[start:end],
            active[start:end],
            _lams_of(network, e, units, penalty.lam),
            penalty.lam2,
        )
