"""Contributions of edges to the pseudo-likelihood, and gains of inactive pairs.

The *contribution* of an edge is the decrease of the pseudo-likelihood when its weights are set to
zero; the *gain* of an inactive pair is the increase when only the weights of that pair are fitted.
All other weights are fixed. Both change the conditionals of two variables only, row by row by a
factor from a small table, so no logits are needed.

Choice of the k edges to remove from a model: the least contributing ones or a random subset. A
random subset S is drawn from the distribution ∝ exp(mean pseudo-likelihood per row of the model
without S). Rejection sampling draws subsets uniformly and accepts with that probability, whose
envelope is 1; a Markov chain on subsets swaps one edge at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graftviz.learning.pruning.structure_fit import Rows, StructureFit, solve_positive_definite
from graftviz.learning.weights.deviations import parameters_of
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import kernel

_ROWS_AT_ONCE = 2048  # bounds the memory of terms
_NEWTON_STEPS = 12
# Share of the k-th largest estimate below which the gain of a pair is not computed. Estimates are
# good for two states and coarse for more. At most 4k + 16 gains are computed (coarse: three times
# as many).
_LEAST_SHARE = (0.4, 0.2)
_EXTRA_GAINS = 16
_GAIN_TOLERANCE = 1e-10  # change of a gain per row at which Newton's method stops


class Contributions(NamedTuple):
    """Contribution of each edge of a model, in nats per row.

    Attributes
    ----------
    total : float64 array, shape (m,)
    sides : float64 array, shape (m, 2)
        Contributions of edge (i, j) to log p(x_i | rest) and to log p(x_j | rest).
    """

    total: np.ndarray
    sides: np.ndarray


class Gains(NamedTuple):
    """Gains of inactive pairs, best first.

    Attributes
    ----------
    edges : int64 array, shape (k, 2)
    gains : float64 array, shape (k,)
        Nats per row.
    parameters : tuple of float64 arrays
        The fitted parameters of each pair.
    """

    edges: np.ndarray
    gains: np.ndarray
    parameters: tuple[np.ndarray, ...]


def contributions(fit: StructureFit, tables: np.ndarray) -> Contributions:
    """Return the contribution of each edge at the point where `fit` was last evaluated.

    Parameters
    ----------
    fit : StructureFit
    tables : float64 array, flat
        Tables of all edges at that point.
    """
    rows, structure = fit.rows, fit.layout.structure
    sides = np.zeros((len(structure.edges), 2))
    every = np.arange(len(structure.edges))
    for side in range(2):
        for e in every:
            sides[e, side] = loss_without(
                fit, tables, int(structure.edges[e, side]), every[e : e + 1]
            )
    return Contributions(sides.sum(axis=1) / rows.total, sides / rows.total)


def contributions_of(model: PairwiseModel, rows: Rows) -> tuple[StructureFit, Contributions]:
    """Return the fit of a model evaluated on rows, and the contribution of each edge.

    Parameters
    ----------
    model : PairwiseMRF
    rows : Rows
    """
    fit = StructureFit(rows, model.edges)
    nodes = int(model.node_offsets[-1])
    parameters = parameters_of(fit.layout, model.weights[:nodes], model.weights[nodes:])
    fit.evaluate(parameters)
    return fit, contributions(fit, fit.layout.weights(parameters)[1])


def loss_without(fit: StructureFit, tables: np.ndarray, i: int, edges: np.ndarray) -> float:
    """Return the decrease of Σ log p(x_i | rest) over all rows when edges of i are removed.

    Parameters
    ----------
    fit : StructureFit
        Evaluated at the model last.
    tables : float64 array, flat
    i : int
    edges : int64 array, shape (k,)
        Positions of edges of variable i.
    """
    rows, structure = fit.rows, fit.layout.structure
    return float(
        _loss_without(rows.codes, rows.multiplicity, structure, tables, fit.probabilities, i, edges)
    )


def estimated_gains(fit: StructureFit, lam2: float) -> np.ndarray:
    """Return a second-order estimate of the gain of every pair, shape (n, n), symmetric.

    With g the gradient and h the diagonal of the Hessian in the pair's parameters t, the estimate
    is ½ Σ g² / (h + 2λ₂): exact to second order for two states, a ranking for more. Entries of
    active edges and on the diagonal are meaningless.

    Parameters
    ----------
    fit : StructureFit
        Evaluated at the model last.
    lam2 : float
    """
    rows, layout = fit.rows, fit.layout
    sizes, offsets = rows.cardinalities, layout.structure.node_offsets
    different = rows.codes.shape[1]
    probabilities = fit.probabilities.reshape(-1, different)
    free_states = np.concatenate(
        [
            np.delete(np.arange(s), r) + at
            for s, r, at in zip(sizes, layout.references, offsets[:-1], strict=True)
        ]
    ).astype(np.int64)
    owners = np.repeat(np.arange(len(sizes)), sizes - 1)
    states = free_states - offsets[owners]
    shares = layout.shares[free_states]
    sums = np.zeros((2, len(free_states), len(free_states)))
    totals = np.zeros((2, len(free_states), 1))
    for start in range(0, different, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        hits = (rows.codes[owners, part] == states[:, None]).astype(np.float64)
        chances, weights = probabilities[free_states, part], rows.multiplicity[part]
        terms = np.stack([weights * (chances - hits), weights * (chances * (1.0 - chances))])
        sums += terms @ hits.T
        totals += terms.sum(axis=2, keepdims=True)
    # Of deviations d = 1{x = b} − q: Σ r d, and Σ v d² with d² = 1{x = b} (1 − 2q) + q².
    slopes = sums[0] - totals[0] * shares
    curvatures = sums[1] * (1.0 - 2.0 * shares) + totals[1] * shares**2
    slopes += slopes.T
    curvatures += curvatures.T
    worth = 0.5 * (slopes / rows.total) ** 2 / (curvatures / rows.total + 2.0 * lam2 + 1e-12)
    free = np.flatnonzero(sizes > 1)
    starts = np.concatenate([[0], np.cumsum(sizes - 1)[:-1]])[free].astype(np.int64)
    found = np.zeros((len(sizes), len(sizes)))
    if len(free):
        by_pair = np.add.reduceat(np.add.reduceat(worth, starts, axis=0), starts, axis=1)
        found[np.ix_(free, free)] = by_pair
    return found


def best_gains(
    fit: StructureFit, lam2: float, estimates: np.ndarray, edges: np.ndarray, count: int
) -> Gains:
    """Return the `count` pairs with the largest gains among `edges`.

    Gains are computed by Newton's method for pairs whose estimate is not far below the `count`-th
    largest one; other pairs are assumed to gain less.

    Parameters
    ----------
    fit : StructureFit
        Evaluated at the model last.
    lam2 : float
    estimates : float64 array, shape (n, n)
        See :func:`estimated_gains`.
    edges : int64 array, shape (k, 2)
        Inactive pairs i < j.
    count : int
    """
    pair_estimates = estimates[edges[:, 0], edges[:, 1]]
    order = np.argsort(-pair_estimates, kind="stable")
    count = min(count, len(edges))
    coarse = int(fit.rows.cardinalities.max() > 2)
    floor = _LEAST_SHARE[coarse] * pair_estimates[order[count - 1]] if count else 0.0
    close = int(np.count_nonzero(pair_estimates >= floor))
    candidates = order[: max(count, min(close, (1 + 2 * coarse) * (4 * count + _EXTRA_GAINS)))]
    found = [gain_of(fit, lam2, int(edges[e, 0]), int(edges[e, 1])) for e in candidates]
    gains = np.array([gain for gain, _ in found])
    best = np.argsort(-gains, kind="stable")[:count]
    return Gains(edges[candidates[best]], gains[best], tuple(found[k][1] for k in best))


def gain_of(fit: StructureFit, lam2: float, i: int, j: int) -> tuple[float, np.ndarray]:
    """Return the gain of a pair in nats per row and its fitted parameters.

    The fit maximises the pseudo-likelihood minus λ₂ Σ t²; the gain is the increase of the
    pseudo-likelihood alone.

    Parameters
    ----------
    fit : StructureFit
        Evaluated last at the model, in which the pair is inactive.
    lam2 : float
    i, j : int
        With i < j.
    """
    rows, layout = fit.rows, fit.layout
    contrasts_i, contrasts_j = layout.contrasts(i), layout.contrasts(j)
    cells = contrasts_i.shape[1] * contrasts_j.shape[1]
    parameters = np.zeros(cells)
    offsets = layout.structure.node_offsets
    different = rows.codes.shape[1]
    blocks = fit.probabilities.reshape(-1, different)
    point = np.zeros(cells)
    value, slopes, matrix = _pair_terms(
        rows, blocks, offsets, i, j, contrasts_i, contrasts_j, point
    )
    gain = 0.0
    for _ in range(_NEWTON_STEPS):
        right = slopes / rows.total - 2.0 * lam2 * parameters
        matrix = matrix / rows.total
        matrix[np.diag_indices(cells)] += 2.0 * lam2 + 1e-12
        direction = solve_positive_definite(matrix, right)
        objective = value / rows.total - lam2 * float(parameters @ parameters)
        length = 1.0
        improved = False
        for _ in range(20):
            point = parameters + length * direction
            terms = _pair_terms(rows, blocks, offsets, i, j, contrasts_i, contrasts_j, point)
            if terms[0] / rows.total - lam2 * float(point @ point) > objective:
                improved = True
                break
            length *= 0.5
        if not improved:
            break
        parameters, (value, slopes, matrix) = point, terms
        before, gain = gain, value / rows.total
        if abs(gain - before) <= _GAIN_TOLERANCE:
            break
    return gain, parameters


def _pair_terms(
    rows: Rows,
    blocks: np.ndarray,
    offsets: np.ndarray,
    i: int,
    j: int,
    contrasts_i: np.ndarray,
    contrasts_j: np.ndarray,
    parameters: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return log-likelihood, gradient and negative Hessian at `parameters`, summed over rows."""
    shape = (contrasts_i.shape[1], contrasts_j.shape[1])
    table = contrasts_i @ parameters.reshape(shape) @ contrasts_j.T
    own = blocks[offsets[i] : offsets[i + 1]]
    other = blocks[offsets[j] : offsets[j + 1]]
    value_i, gap_i, spread_i = _tilted(own, rows.codes[i], rows.codes[j], rows.multiplicity, table)
    value_j, gap_j, spread_j = _tilted(
        other, rows.codes[j], rows.codes[i], rows.multiplicity, np.ascontiguousarray(table.T)
    )
    slopes = contrasts_i.T @ (gap_i + gap_j.T) @ contrasts_j
    along_i = np.einsum("yxz,xa,zb->yab", spread_i, contrasts_i, contrasts_i)
    along_j = np.einsum("xyz,yc,zd->xcd", spread_j, contrasts_j, contrasts_j)
    matrix = np.einsum("yab,yc,yd->acbd", along_i, contrasts_j, contrasts_j)
    matrix += np.einsum("xcd,xa,xb->acbd", along_j, contrasts_i, contrasts_i)
    cells = shape[0] * shape[1]
    return value_i + value_j, slopes.reshape(-1), matrix.reshape(cells, cells)


@kernel
def _tilted(block, own, other, multiplicity, table):
    """Sum the changes when the conditional of every row is multiplied by exp(table[:, x_j]).

    Parameters
    ----------
    block : float32 array, shape (s_i, R)
    own, other : unsigned arrays, shape (R,)
    multiplicity : float64 array, shape (R,)
    table : float64 array, shape (s_i, s_j)

    Returns
    -------
    value : float
        Change of Σ u log p(x_i | rest).
    gap : float64 array, shape (s_i, s_j)
        Σ u (1{x_i = a} − p'(a)) over rows with x_j = b.
    spread : float64 array, shape (s_j, s_i, s_i)
        Σ u (p'(a) 1{a = c} − p'(a) p'(c)) over rows with x_j = b.
    """
    states, others = table.shape
    factors = np.empty((others, states))
    for a in range(states):
        for b in range(others):
            factors[b, a] = np.exp(table[a, b])
    gap = np.zeros((states, others))
    spread = np.zeros((others, states, states))
    tilted = np.empty(states)
    value = 0.0
    for m in range(len(multiplicity)):
        u, x, b = multiplicity[m], own[m], other[m]
        total = 0.0
        for a in range(states):
            tilted[a] = block[a, m] * factors[b, a]
            total += tilted[a]
        value += u * (table[x, b] - np.log(total))
        gap[x, b] += u
        for a in range(1, states):
            tilted[a] /= total
            gap[a, b] -= u * tilted[a]
            spread[b, a, a] += u * tilted[a] * (1.0 - tilted[a])
            for c in range(1, a):
                spread[b, a, c] -= u * tilted[a] * tilted[c]
        gap[0, b] -= u * tilted[0] / total
    # Rows and columns of a covariance sum to 0, which gives those of state 0.
    for b in range(others):
        for a in range(1, states):
            for c in range(1, a):
                spread[b, c, a] = spread[b, a, c]
        for a in range(1, states):
            for c in range(1, states):
                spread[b, a, 0] -= spread[b, a, c]
            spread[b, 0, a] = spread[b, a, 0]
            spread[b, 0, 0] -= spread[b, a, 0]
    return value, gap, spread


@kernel
def _loss_without(codes, multiplicity, structure, tables, probabilities, i, chosen):
    """Return the decrease of Σ u log p(x_i | rest) without the tables of some edges."""
    rows = codes.shape[1]
    offsets, edges = structure.node_offsets, structure.edges
    at = offsets[i]
    states = offsets[i + 1] - at
    most = 1
    for e in chosen:
        j = edges[e, 0] + edges[e, 1] - i
        most = max(most, offsets[j + 1] - offsets[j])
    removed = np.zeros((len(chosen), most, states))
    others = np.empty(len(chosen), dtype=np.int64)
    for k in range(len(chosen)):
        e = chosen[k]
        j = edges[e, 0] + edges[e, 1] - i
        others[k] = j
        states_j = offsets[j + 1] - offsets[j]
        start = structure.edge_offsets[e]
        for a in range(states):
            for b in range(states_j):
                place = a * states_j + b if edges[e, 0] == i else b * states + a
                removed[k, b, a] = tables[start + place]
    lost = 0.0
    if len(chosen) == 1:
        factors = np.exp(-removed[0])
        seen = codes[others[0]]
        for m in range(rows):
            b = seen[m]
            total = 0.0
            for a in range(states):
                total += probabilities[(at + a) * rows + m] * factors[b, a]
            lost += multiplicity[m] * (removed[0, b, codes[i, m]] + np.log(total))
        return lost
    moves = np.empty(states)
    for m in range(rows):
        for a in range(states):
            moves[a] = 0.0
        for k in range(len(chosen)):
            b = codes[others[k], m]
            for a in range(states):
                moves[a] += removed[k, b, a]
        total = 0.0
        for a in range(states):
            total += probabilities[(at + a) * rows + m] * np.exp(-moves[a])
        lost += multiplicity[m] * (moves[codes[i, m]] + np.log(total))
    return lost


_FIRST_BATCH = 256  # subsets per batch; doubled until a subset is accepted
_LARGEST_BATCH = 4096
_FALLBACK_SUBSETS = 4096  # latest subsets that the fallback chooses from


class Deletion(NamedTuple):
    """Edges chosen for removal.

    Attributes
    ----------
    edges : int64 array, shape (k,)
        Positions among the model's edges, smallest contribution first.
    tries, accepted : int
        Numbers of subsets drawn and accepted; 0 for the greedy choice.
    fallback : bool
        Whether no subset was accepted within the allowed tries; the result is then one of the drawn
        subsets, chosen with probability ∝ exp(mean pseudo-likelihood without it).
    """

    edges: np.ndarray
    tries: int = 0
    accepted: int = 0
    fallback: bool = False


class SubsetLosses:
    """Pseudo-likelihood without a set of edges, all other weights fixed.

    A conditional changes only if its variable has an edge in the set. With one such edge, the loss
    is that side of the edge's contribution; with several, it is computed by a pass over the rows
    and cached for each combination.

    Parameters
    ----------
    fit : StructureFit
        Evaluated at the model last.
    tables : float64 array, flat
        Tables of the model's edges.
    contributions : Contributions
    node_losses : float64 array, shape (n,)
        −mean log p(x_i | rest) of every variable.
    positions : int64 array, optional
        Positions of the edges of `contributions` among those of the model. Default: all.
    """

    def __init__(
        self,
        fit: StructureFit,
        tables: np.ndarray,
        contributions: Contributions,
        node_losses: np.ndarray,
        positions: np.ndarray | None = None,
    ) -> None:
        self._fit, self._tables, self._sides = fit, tables, contributions.sides
        edges = fit.layout.structure.edges
        self._positions = np.arange(len(edges)) if positions is None else positions
        self._edges = edges[self._positions]
        self._node_losses = node_losses
        self._losses: dict[tuple[int, tuple[int, ...]], float] = {}

    @property
    def count(self) -> int:
        """Number of edges that a set may have."""
        return len(self._edges)

    @property
    def value(self) -> float:
        """Mean pseudo-likelihood per row of the whole model."""
        return -float(self._node_losses.sum())

    def without(self, subset: np.ndarray) -> float:
        """Return the mean pseudo-likelihood per row without these edges."""
        at_node: dict[int, list[int]] = {}
        for e in sorted(int(e) for e in subset):
            for node in self._edges[e].tolist():
                at_node.setdefault(node, []).append(e)
        return self.value - math.fsum(self._loss(node, tuple(es)) for node, es in at_node.items())

    def bounds(self, subsets: np.ndarray) -> np.ndarray:
        """Return upper bounds of :meth:`without` for many sets at once, shape (B,).

        The bound assumes that a variable with several edges in the set is predicted perfectly.

        Parameters
        ----------
        subsets : int64 array, shape (B, k)
        """
        nodes = self._edges[subsets].reshape(len(subsets), -1)
        sides = self._sides[subsets].reshape(len(subsets), -1)
        occurrences = (nodes[:, :, None] == nodes[:, None, :]).sum(axis=2)
        most = np.where(occurrences == 1, -sides, self._node_losses[nodes] / occurrences)
        bounds: np.ndarray = self.value + most.sum(axis=1)
        return bounds

    def _loss(self, node: int, edges: tuple[int, ...]) -> float:
        if len(edges) == 1:
            return float(self._sides[edges[0], int(self._edges[edges[0], 1] == node)])
        if (node, edges) not in self._losses:
            chosen = self._positions[list(edges)]
            lost = loss_without(self._fit, self._tables, node, chosen)
            self._losses[node, edges] = lost / self._fit.rows.total
        return self._losses[node, edges]


def least_contributing(contributions: Contributions, count: int) -> Deletion:
    """Return the `count` edges with the smallest contributions."""
    return Deletion(np.argsort(contributions.total, kind="stable")[:count])


def by_rejection(
    losses: SubsetLosses,
    contributions: Contributions,
    count: int,
    tries: int,
    generator: np.random.Generator,
) -> Deletion:
    """Draw subsets until one is accepted, at most `tries`.

    Most draws are rejected by an upper bound of their probability, without a pass over the rows.
    """
    drawn, batch = 0, _FIRST_BATCH
    latest: list[np.ndarray] = []
    while drawn < tries:
        size = min(batch, tries - drawn)
        batch = min(2 * batch, _LARGEST_BATCH)
        heights = np.log(1.0 - generator.random(size))
        keys = generator.random((size, losses.count))
        subsets = np.argsort(keys, axis=1)[:, :count]
        bounds = losses.bounds(subsets)
        for k in np.flatnonzero(heights <= bounds + 1e-12):
            if heights[k] <= losses.without(subsets[k]):
                chosen = _sorted(subsets[k], contributions)
                return Deletion(chosen, drawn + int(k) + 1, 1)
        drawn += size
        latest = [*latest, *subsets][-_FALLBACK_SUBSETS:]
    weights = np.array([losses.without(subset) for subset in latest])
    weights = np.exp(weights - weights.max())
    chosen = latest[int(generator.choice(len(latest), p=weights / weights.sum()))]
    return Deletion(_sorted(chosen, contributions), drawn, 0, fallback=True)


def by_metropolis(
    losses: SubsetLosses,
    contributions: Contributions,
    count: int,
    swaps: int,
    generator: np.random.Generator,
) -> Deletion:
    """Return the last state of a Metropolis chain on subsets, started from a uniform one.

    A proposal swaps one edge of the set for one outside it, both drawn uniformly, so it is as
    likely as its reverse. It is accepted with probability min(1, exp(change of the mean
    pseudo-likelihood without the set)).
    """
    order = generator.permutation(losses.count)
    inside, outside = order[:count].copy(), order[count:].copy()
    if len(outside) == 0:
        return Deletion(_sorted(inside, contributions))
    value, accepted = losses.without(inside), 0
    for _ in range(swaps):
        a, b = int(generator.integers(len(inside))), int(generator.integers(len(outside)))
        inside[a], outside[b] = outside[b], inside[a]
        proposed = losses.without(inside)
        if math.log(1.0 - generator.random()) <= proposed - value:
            value, accepted = proposed, accepted + 1
        else:
            inside[a], outside[b] = outside[b], inside[a]
    return Deletion(_sorted(inside, contributions), swaps, accepted)


def _sorted(subset: np.ndarray, contributions: Contributions) -> np.ndarray:
    """Return the edges of a set, smallest contribution first."""
    ordered: np.ndarray = subset[np.argsort(contributions.total[subset], kind="stable")]
    return ordered
