"""Pseudo-likelihood fit of a fixed structure by Newton's method, free or with tied parameters.

All weights change at once, so a step costs a pass over the distinct rows and one linear system. The
Hessian is a sum over nodes; the term of node i involves only its parameters and those of its edges.

Solution of a symmetric positive definite system on one thread. Libraries use all cores for a matrix
of some hundred rows; on busy cores this takes many times as long as the serial computation.

Parameter tying: assignment of parameters to K shared values by exact 1-D k-means. In one dimension
the clusters of an optimal k-means are intervals of the sorted numbers, so dynamic programming finds
them: the best cost of the first j numbers in q clusters is the best cost of the first l in q − 1
clusters plus the spread of the rest. The best l does not decrease with j, so divide and conquer
takes O(K n log n) instead of O(K n²).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.weights.conditionals import conditional_sums
from graftviz.learning.weights.deviations import Deviations, deviations_of
from graftviz.learning.weights.merged_rows import merged_rows
from graftviz.utils.compiling import kernel


class Tying(NamedTuple):
    """Map from parameters to shared values.

    Attributes
    ----------
    assignment : int64 array, shape (p,)
        a_j, the cluster of every parameter.
    centres : float64 array, shape (K,)
        μ, ascending.
    """

    assignment: np.ndarray
    centres: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """Shared value μ_{a_j} of every parameter, shape (p,)."""
        tied: np.ndarray = self.centres[self.assignment]
        return tied

    def cost(self, values: np.ndarray) -> float:
        """Return Σ_j (θ_j − μ_{a_j})²."""
        return float(((values - self.values) ** 2).sum())


def untied(values: np.ndarray) -> Tying:
    """Return the trivial tying with K = p, in which every parameter has its own value."""
    order = np.argsort(values, kind="stable")
    assignment = np.empty(len(values), dtype=np.int64)
    assignment[order] = np.arange(len(values))
    return Tying(assignment, values[order])


def tie(values: np.ndarray, clusters: int) -> Tying:
    """Return the tying into at most `clusters` values with the least Σ_j (θ_j − μ_{a_j})².

    Parameters
    ----------
    values : float64 array, shape (p,)
        θ.
    clusters : int
        K, at least 1; if it is p or more, nothing is tied.

    References
    ----------
    Chou, Sahoo, Sarkhel, Ruozzi and Gogate, "Automatic parameter tying" (AAAI 2018), eq. 2; the
    dynamic programme is that of Wang and Song, "Ckmeans.1d.dp" (2011).
    """
    if clusters >= len(values):
        return untied(values)
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    ends = interval_ends(ascending, clusters)
    starts = np.concatenate([[0], ends[:-1]])
    assignment = np.empty(len(values), dtype=np.int64)
    assignment[order] = np.repeat(np.arange(clusters), ends - starts)
    centres = np.add.reduceat(ascending, starts) / (ends - starts)
    return Tying(assignment, centres)


@kernel(inline="always")
def _spread(sums, squares, first, last):
    """Return the sum of squared deviations from the mean of the numbers first … last − 1."""
    total = sums[last] - sums[first]
    return max(squares[last] - squares[first] - total * total / (last - first), 0.0)


@kernel
def interval_ends(ascending, clusters):
    """Return the ends of the K intervals of an optimal partition.

    Parameters
    ----------
    ascending : float64 array, shape (n,)
        Sorted.
    clusters : int
        K, from 1 to n.

    Returns
    -------
    int64 array, shape (K,)
        Interval q holds numbers ``ends[q - 1]`` … ``ends[q] - 1``; none is empty.
    """
    n = len(ascending)
    middle = ascending[n // 2]  # sums of squares around it lose fewer digits
    sums, squares = np.zeros(n + 1), np.zeros(n + 1)
    for j in range(n):
        value = ascending[j] - middle
        sums[j + 1] = sums[j] + value
        squares[j + 1] = squares[j] + value * value
    costs = np.empty((2, n + 1))
    splits = np.zeros((clusters, n + 1), dtype=np.int32)
    for j in range(1, n + 1):
        costs[0, j] = _spread(sums, squares, 0, j)
    stack = np.empty((2 * n + 2, 4), dtype=np.int64)
    for q in range(1, clusters):
        previous, current = costs[(q - 1) % 2], costs[q % 2]
        # Of the first j numbers, at least q are in the previous clusters and one is in this one.
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = q + 1, n, q, n - 1
        stack_size = 1
        while stack_size:
            stack_size -= 1
            first, last = stack[stack_size, 0], stack[stack_size, 1]
            low, high = stack[stack_size, 2], stack[stack_size, 3]
            j = (first + last) // 2
            best, best_split = np.inf, low
            for split in range(low, min(high, j - 1) + 1):
                cost = previous[split] + _spread(sums, squares, split, j)
                if cost < best:
                    best, best_split = cost, split
            current[j], splits[q, j] = best, best_split
            if first < j:
                stack[stack_size, 0], stack[stack_size, 1] = first, j - 1
                stack[stack_size, 2], stack[stack_size, 3] = low, best_split
                stack_size += 1
            if j < last:
                stack[stack_size, 0], stack[stack_size, 1] = j + 1, last
                stack[stack_size, 2], stack[stack_size, 3] = best_split, high
                stack_size += 1
    ends = np.empty(clusters, dtype=np.int64)
    end = n
    for q in range(clusters - 1, -1, -1):
        ends[q] = end
        end = splits[q, end]
    return ends


@kernel
def solve_positive_definite(matrix, right):
    """Return the solution x of A x = b by Cholesky's factorisation A = L Lᵀ.

    Parameters
    ----------
    matrix : float64 array, shape (p, p)
        A, symmetric; its lower triangle is overwritten with L. A pivot that is not positive,
        which only rounding can cause, is replaced by a tiny one.
    right : float64 array, shape (p,)
        b.
    """
    size = len(right)
    for k in range(size):
        row = matrix[k]
        for i in range(k):
            above = matrix[i]
            total = 0.0
            for j in range(i):
                total += row[j] * above[j]
            row[i] = (row[i] - total) / above[i]
        total = row[k]
        for j in range(k):
            total -= row[j] * row[j]
        row[k] = np.sqrt(max(total, 1e-14))
    solution = right.copy()
    for k in range(size):
        total = solution[k]
        for j in range(k):
            total -= matrix[k, j] * solution[j]
        solution[k] = total / matrix[k, k]
    for k in range(size - 1, -1, -1):
        solution[k] /= matrix[k, k]
        for j in range(k):
            solution[j] -= matrix[k, j] * solution[k]
    return solution


_DENSE = 600  # parameters up to which the Hessian is one matrix
_HESSIAN_WORK = 3e9  # multiplications; beyond it the Hessian uses every k-th row
_TILE = 1024  # rows processed together
_HALVINGS = 30
_ROUNDING = 1e-15  # relative rounding error of the objective
_SUFFICIENT = 1e-4  # share of the decrease predicted by the slope that a step must reach
_RIDGE = 1e-9  # added curvature, so that a step is defined
_LONGEST_STEP = 4.0  # change of one parameter
_CONJUGATE_STEPS = 200
_FORCING = 1e-2  # tolerance of a step relative to the gradient


class Rows(NamedTuple):
    """Distinct rows of a table, their multiplicities, and the shares of all states.

    Attributes
    ----------
    codes : unsigned array, shape (n, R)
    multiplicity : float64 array, shape (R,)
    total : float
        N.
    cardinalities : int64 array, shape (n,)
    shares : float64 array, flat
    """

    codes: np.ndarray
    multiplicity: np.ndarray
    total: float
    cardinalities: np.ndarray
    shares: np.ndarray


def rows_of(table: DiscreteTable) -> Rows:
    """Return the distinct rows of a table."""
    codes, multiplicity = merged_rows(table.codes, table.weights)
    sizes = table.cardinalities
    total = table.total_weight
    shares = [table.state_counts(i) / total for i in range(table.n_variables)]
    weights = multiplicity.astype(np.float64)
    return Rows(codes, weights, float(total), sizes, np.concatenate(shares))


class Point(NamedTuple):
    """Value and gradient of the pseudo-likelihood at some parameters.

    Attributes
    ----------
    parameters : float64 array, shape (p,)
    loss : float
        −Σ_i log p(x_i | rest), mean over rows, in nats.
    slopes : float64 array, shape (p,)
        Gradient of the loss.
    beliefs : float64 array, flat
        Mean of p(x_i = a | rest) over rows.
    """

    parameters: np.ndarray
    loss: float
    slopes: np.ndarray
    beliefs: np.ndarray


class Solved(NamedTuple):
    """Result of a fit.

    Attributes
    ----------
    point : Point
    objective : float
        Loss plus penalties.
    violation : float
        2-norm of the gradient of the objective in the free values.
    objectives : tuple of float
        Objectives at the start and after every step, non-increasing.
    """

    point: Point
    objective: float
    violation: float
    objectives: tuple[float, ...]


class Penalties(NamedTuple):
    """Penalty λ₂ Σ θ_j² + β Σ (θ_j − target_j)².

    Attributes
    ----------
    lam2 : float
    beta : float
        0: no targets.
    targets : float64 array, shape (p,), or None
    """

    lam2: float
    beta: float = 0.0
    targets: np.ndarray | None = None

    def price(self, parameters: np.ndarray) -> float:
        """Return the penalty."""
        price = self.lam2 * float(parameters @ parameters)
        if self.targets is not None:
            gap = parameters - self.targets
            price += self.beta * float(gap @ gap)
        return price

    def slopes(self, parameters: np.ndarray) -> np.ndarray:
        """Return the gradient of the penalty."""
        slopes: np.ndarray = 2.0 * self.lam2 * parameters
        if self.targets is not None:
            slopes = slopes + 2.0 * self.beta * (parameters - self.targets)
        return slopes

    @property
    def curvature(self) -> float:
        """Second derivative of the penalty in each parameter."""
        return 2.0 * (self.lam2 + (self.beta if self.targets is not None else 0.0))


class StructureFit:
    """Pseudo-likelihood of one structure as a function of its parameters.

    Parameters
    ----------
    rows : Rows
    edges : int array, shape (m, 2)
        Pairs i < j.
    buffer : float32 array, flat, optional
        Array for `probabilities`, which several structures may share in turn.

    Attributes
    ----------
    layout : Deviations
    probabilities : float32 array, flat
        p(x_i = a | rest) of all distinct rows at the last evaluation; see
        :func:`graftviz.learning.weights.conditionals.conditional_sums`.
    node_losses : float64 array, shape (n,)
        −Σ log p(x_i | rest) over all rows at the last evaluation.
    """

    def __init__(self, rows: Rows, edges: np.ndarray, buffer: np.ndarray | None = None) -> None:
        self.rows = rows
        self.layout: Deviations = deviations_of(rows.cardinalities, rows.shares, edges)
        states = int(rows.cardinalities.sum())
        size = states * rows.codes.shape[1]
        self.probabilities = np.empty(size, dtype=np.float32) if buffer is None else buffer
        self.node_losses = np.empty(len(rows.cardinalities))

    def evaluate(self, parameters: np.ndarray) -> Point:
        """Return the pseudo-likelihood at `parameters` by a pass over all rows."""
        structure, rows = self.layout.structure, self.rows
        nodes, tables = self.layout.weights(parameters)
        node_sums, edge_sums = np.empty_like(nodes), np.empty_like(tables)
        conditional_sums(
            rows.codes,
            rows.multiplicity,
            structure,
            nodes,
            tables,
            self.node_losses,
            node_sums,
            edge_sums,
            self.probabilities,
            True,
        )
        slopes = self.layout.pulled_back(node_sums, edge_sums) / rows.total
        loss = float(self.node_losses.sum()) / rows.total
        return Point(parameters, loss, slopes, rows.shares + node_sums / rows.total)

    def hessian(self) -> _Hessian:
        """Return the Hessian of the loss at the last evaluation."""
        return _Hessian(self)


class _Hessian:
    """Hessian as a sum of blocks, one per node, with the indices of their parameters."""

    def __init__(self, fit: StructureFit) -> None:
        layout, rows = fit.layout, fit.rows
        self.size = layout.size
        sizes = rows.cardinalities
        contrasts = [layout.contrasts(i).astype(np.float32) for i in range(len(sizes))]
        free = sizes - 1
        widths = 1 + np.array([free[self._others(fit, i)[1]].sum() for i in range(len(sizes))])
        work = len(rows.multiplicity) * float((widths**2 * free * (free + 1) / 2).sum())
        stride = max(1, int(np.ceil(work / _HESSIAN_WORK)))
        chosen = slice(0, None, stride)
        weights = rows.multiplicity[chosen]
        scale = weights.sum()
        distinct = rows.codes.shape[1]
        offsets = layout.structure.node_offsets
        probabilities = fit.probabilities.reshape(-1, distinct)[:, chosen]
        self.blocks: list[tuple[np.ndarray, np.ndarray]] = []
        for i in range(len(sizes)):
            if free[i] == 0:
                continue
            edges, others = self._others(fit, i)
            columns = [np.ones((1, len(weights)), dtype=np.float32)]
            columns += [contrasts[j].T[:, rows.codes[j, chosen]] for j in others]
            features = np.concatenate(columns)
            own = np.delete(np.arange(sizes[i]), layout.references[i])
            block = np.empty((free[i], len(features), free[i], len(features)))
            for a in range(free[i]):
                first = probabilities[offsets[i] + own[a]]
                for b in range(a + 1):
                    second = probabilities[offsets[i] + own[b]]
                    spread = weights * first * ((1.0 if a == b else 0.0) - second) / scale
                    product = np.empty((len(features), len(features)))
                    weighted_products(features, spread.astype(np.float32), product)
                    block[a, :, b, :] = block[b, :, a, :] = product
            places = self._places(layout, i, edges, others, free)
            size = places.size
            self.blocks.append((places.reshape(-1), block.reshape(size, size)))

    @staticmethod
    def _others(fit: StructureFit, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges of a node and its neighbours."""
        structure = fit.layout.structure
        edges = structure.incident[structure.starts[i] : structure.starts[i + 1]]
        return edges, structure.edges[edges].sum(axis=1) - i

    @staticmethod
    def _places(
        layout: Deviations, i: int, edges: np.ndarray, others: np.ndarray, free: np.ndarray
    ) -> np.ndarray:
        """Return the indices of the parameters of a block, shape (s_i − 1, features)."""
        own = np.arange(free[i])[:, None]
        places = [layout.node_starts[i] + own]
        for e, j in zip(edges, others, strict=True):
            other = np.arange(free[j])[None, :]
            within = own * free[j] + other if i < j else other * free[i] + own
            places.append(layout.edge_starts[e] + within)
        return np.concatenate(places, axis=1)

    def tied(self, assignment: np.ndarray, clusters: int) -> np.ndarray:
        """Return the Hessian in K shared values, shape (K, K)."""
        total = np.zeros((clusters, clusters))
        for places, block in self.blocks:
            chosen = np.zeros((len(places), clusters))
            chosen[np.arange(len(places)), assignment[places]] = 1.0
            total += chosen.T @ (block @ chosen)
        return total

    def solve(self, curvature: float, right: np.ndarray) -> np.ndarray:
        """Return the solution of (H + curvature) x = right."""
        if self.size <= _DENSE:
            full = np.zeros((self.size, self.size))
            for places, block in self.blocks:
                full[places[:, None], places] += block
            full[np.diag_indices(self.size)] += curvature + _RIDGE
            solution: np.ndarray = solve_positive_definite(full, right)
            return solution
        diagonal = np.full(self.size, curvature + _RIDGE)
        for places, block in self.blocks:
            diagonal[places] += np.diag(block)
        return self._conjugate_gradients(curvature + _RIDGE, diagonal, right)

    def _conjugate_gradients(
        self, curvature: float, diagonal: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        solution, residual = np.zeros_like(right), right.copy()
        scaled = residual / diagonal
        direction, product = scaled.copy(), float(residual @ scaled)
        tolerance = _FORCING * float(np.linalg.norm(right))
        for _ in range(_CONJUGATE_STEPS):
            if float(np.linalg.norm(residual)) <= tolerance:
                break
            image = curvature * direction
            for places, block in self.blocks:
                image[places] += block @ direction[places]
            step = product / float(direction @ image)
            solution += step * direction
            residual -= step * image
            scaled = residual / diagonal
            before, product = product, float(residual @ scaled)
            direction = scaled + product / before * direction
        return solution


def fit_free(
    fit: StructureFit,
    start: np.ndarray,
    penalties: Penalties,
    *,
    tolerance: float,
    max_steps: int = 50,
) -> Solved:
    """Minimise loss plus penalties over all parameters.

    Parameters
    ----------
    start : float64 array, shape (p,)
    penalties : Penalties
    tolerance : float
        2-norm of the gradient at which to stop.
    """

    def slopes_of(point: Point) -> np.ndarray:
        return point.slopes + penalties.slopes(point.parameters)

    def direction_of(_point: Point, slopes: np.ndarray) -> np.ndarray:
        return -fit.hessian().solve(penalties.curvature, slopes)

    return _descend(fit, start, penalties, slopes_of, direction_of, tolerance, max_steps)


def fit_tied(
    fit: StructureFit, tying: Tying, lam2: float, *, tolerance: float, max_steps: int = 50
) -> Solved:
    """Minimise loss plus λ₂ Σ θ_j² over the K shared values, with θ_j = μ_{a_j}.

    Parameters
    ----------
    tying : Tying
        Fixed assignment, and the initial values of the centres.
    """
    assignment, clusters = tying.assignment, len(tying.centres)
    penalties = Penalties(lam2)
    curvatures = penalties.curvature * np.bincount(assignment, minlength=clusters) + _RIDGE

    def slopes_of(point: Point) -> np.ndarray:
        slopes = point.slopes + penalties.slopes(point.parameters)
        return np.bincount(assignment, weights=slopes, minlength=clusters)

    def direction_of(_point: Point, slopes: np.ndarray) -> np.ndarray:
        if clusters == len(assignment):
            # K = p: the free fit with its parameters in another order.
            move: np.ndarray = fit.hessian().solve(penalties.curvature, slopes[assignment])
            return -move
        matrix = fit.hessian().tied(assignment, clusters)
        matrix[np.diag_indices(clusters)] += curvatures
        move = -solve_positive_definite(matrix, slopes)
        spread: np.ndarray = move[assignment]
        return spread

    start = tying.values
    return _descend(fit, start, penalties, slopes_of, direction_of, tolerance, max_steps)


def _descend(
    fit: StructureFit,
    start: np.ndarray,
    penalties: Penalties,
    slopes_of: Callable[[Point], np.ndarray],
    direction_of: Callable[[Point, np.ndarray], np.ndarray],
    tolerance: float,
    max_steps: int,
) -> Solved:
    """Take Newton steps with a line search until the gradient meets the tolerance."""
    point = fit.evaluate(start)
    objective = point.loss + penalties.price(start)
    objectives = [objective]
    slopes = slopes_of(point)
    for _ in range(max_steps):
        if np.linalg.norm(slopes) <= tolerance:
            break
        direction = direction_of(point, slopes)
        full = point.slopes + penalties.slopes(point.parameters)
        expected = float(full @ direction)
        if -expected <= _ROUNDING * objective:
            # The predicted decrease is below rounding: take the step if it lowers the gradient.
            last = fit.evaluate(point.parameters + direction)
            if np.linalg.norm(slopes_of(last)) < np.linalg.norm(slopes):
                point, objective = last, last.loss + penalties.price(last.parameters)
                objectives.append(objective)
                slopes = slopes_of(point)
            else:
                fit.evaluate(point.parameters)
            break
        length = min(1.0, _LONGEST_STEP / max(float(np.abs(direction).max()), 1e-300))
        trial, value = point, objective
        for _ in range(_HALVINGS):
            trial = fit.evaluate(point.parameters + length * direction)
            value = trial.loss + penalties.price(trial.parameters)
            if value <= objective + _SUFFICIENT * length * expected + _ROUNDING * objective:
                break
            length *= 0.5
        else:
            # No progress beyond rounding: stop at the previous point.
            fit.evaluate(point.parameters)
            break
        point, objective = trial, value
        objectives.append(objective)
        slopes = slopes_of(point)
    violation = float(np.linalg.norm(slopes))
    return Solved(point, objective, violation, tuple(objectives))


@kernel
def weighted_products(features, spread, products):
    """Write Σ_m u_m f_m g_m for all pairs of features.

    Parameters
    ----------
    features : float32 array, shape (D, R)
    spread : float32 array, shape (R,)
        u.
    products : float64 array, shape (D, D)
    """
    count, rows = features.shape
    scaled = np.empty(_TILE, dtype=np.float32)
    products[:] = 0.0
    for first in range(0, rows, _TILE):
        size = min(_TILE, rows - first)
        for f in range(count):
            for m in range(size):
                scaled[m] = features[f, first + m] * spread[first + m]
            for g in range(f + 1):
                other = features[g, first : first + size]
                # Four independent sums avoid a chain of dependent additions.
                sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
                for m in range(0, size - 3, 4):
                    sum_0 += scaled[m] * other[m]
                    sum_1 += scaled[m + 1] * other[m + 1]
                    sum_2 += scaled[m + 2] * other[m + 2]
                    sum_3 += scaled[m + 3] * other[m + 3]
                for m in range(size - size % 4, size):
                    sum_0 += scaled[m] * other[m]
                products[f, g] += (sum_0 + sum_1) + (sum_2 + sum_3)
    for f in range(count):
        for g in range(f):
            products[g, f] = products[f, g]
