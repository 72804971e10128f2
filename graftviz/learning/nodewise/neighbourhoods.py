"""Regressions of all variables on one another: fits of active neighbours, checks of all others.

The regression of a variable (:mod:`graftviz.learning.nodewise.solver`) includes only its active
neighbours. The optimality conditions of all other neighbours are checked with the gradient of the
loss, which is one matrix product: predictions minus observations of some variables, times
indicators of the states of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.nodewise.solver import fit_intercept, solve_regression
from graftviz.learning.weights.softmax import residuals
from graftviz.utils.compiling import kernel

_ROWS = 1024  # rows of one matrix product
_NODES = 128  # regressions checked together
# Probability of a state that never occurs, instead of zero.
_SMALLEST_SHARE = 1e-12


@dataclass(slots=True)
class _Regression:
    """Regression of one variable: active neighbours in ascending order, and weights per cell."""

    neighbours: np.ndarray
    starts: np.ndarray
    weights: np.ndarray
    objective: float = 0.0
    violation: float = 0.0


class Neighbourhoods:
    """Penalised regressions of all variables, fitted for a sequence of λ.

    Parameters
    ----------
    table : DiscreteTable
    slopes : float64 array, shape (n, n)
        ‖p_i p_jᵀ − p_D(i, j)‖ of every pair: the gradient norms without active neighbours.

    Attributes
    ----------
    norms : float64 array, shape (n, n)
        ``norms[i, j]`` is ‖W_ij‖, j's group in the regression of variable i.
    slopes : float64 array, shape (n, n)
        ``slopes[i, j]`` is the gradient norm of that group at the last check.
    entered : float64 array, shape (n, n)
        Gradient norm of the group when it was activated last.
    tests : int
        Number of group gradients computed so far.
    """

    def __init__(self, table: DiscreteTable, slopes: np.ndarray) -> None:
        self.slopes = slopes.copy()
        n = table.n_variables
        self.norms = np.zeros((n, n))
        self.entered = np.zeros((n, n))
        self.tests = n * (n - 1)
        self._rows = table.n_rows
        self._sizes = table.cardinalities
        self._codes = np.array(table.codes)
        counts = [
            np.bincount(own, minlength=s) for own, s in zip(self._codes, self._sizes, strict=True)
        ]
        # States that occur, and codes among these: the intercept of a state that never occurs
        # would diverge to minus infinity.
        self._seen = [np.flatnonzero(count) for count in counts]
        self._own = self._codes
        if any(len(seen) < s for seen, s in zip(self._seen, self._sizes, strict=True)):
            self._own = self._codes.copy()
            for i, seen in enumerate(self._seen):
                self._own[i] = np.searchsorted(seen, self._codes[i])
        self._columns = np.concatenate([[0], np.cumsum(self._sizes - 1)])
        self._varying = np.array([i for i in range(n) if len(self._seen[i]) > 1], dtype=np.int64)
        self._regressions = []
        for seen, count in zip(self._seen, counts, strict=True):
            intercept = np.log(count[seen] / self._rows)
            intercept -= intercept.mean()
            none = np.zeros(0, dtype=np.int64)
            self._regressions.append(_Regression(none, np.ones(1, np.int64), intercept[None, :]))
            shares = count[seen] / self._rows
            self._regressions[-1].objective = float(-(shares * np.log(shares)).sum())

    @property
    def objective(self) -> float:
        """Sum over variables of the penalised loss per row."""
        return float(np.sum([regression.objective for regression in self._regressions]))

    def violation(self, thresholds: np.ndarray) -> float:
        """Return the largest violation of an optimality condition, over all neighbours."""
        active = [regression.violation for regression in self._regressions]
        excess = self.slopes - thresholds
        return float(max(np.max(active), np.max(excess, where=self.norms == 0.0, initial=0.0)))

    def fit(self, thresholds: np.ndarray, lam2: float, tolerance: float) -> None:
        """Minimise all penalised losses, from the current weights, until no condition is violated.

        Parameters
        ----------
        thresholds : float64 array, shape (n, n)
            λ d of every pair.
        lam2 : float
        tolerance : float
            Bound on every violation, of active neighbours and of all others, in gradient units.
        """
        pending = self._varying
        while len(pending):
            for i in pending.tolist():
                inside = (self.norms[i] > 0.0) | (self.slopes[i] > thresholds[i])
                inside[i] = False
                new = inside & (self.norms[i] == 0.0)
                self.entered[i, new] = self.slopes[i, new]
                self._set_neighbours(i, np.flatnonzero(inside))
                self._solve(i, thresholds[i], lam2, tolerance)
            self._check(pending)
            excess = self.slopes[pending] - thresholds[pending]
            violates = ((excess > tolerance) & (self.norms[pending] == 0.0)).any(axis=1)
            pending = pending[violates]

    def edge_weights(self, i: int, j: int) -> np.ndarray:
        """Return the mean of the two estimates of w_ij, shape (s_i, s_j)."""
        return 0.5 * (self._estimate(i, j) + self._estimate(j, i).T)

    def node_weights(
        self, i: int, partners: list[int], weights: list[np.ndarray], tolerance: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit the weights of node i by pseudo-likelihood, with fixed edge weights.

        Parameters
        ----------
        partners : list of int
        weights : list of float64 arrays, shapes (s_partner, s_i)
        tolerance : float
            Bound on the difference between mean prediction and share of the rows, as a 2-norm.

        Returns
        -------
        weights, belief : float64 arrays, shape (s_i,)
            Centred node weights, and the mean over rows of p(x_i | the others).
        """
        seen, regression = self._seen[i], self._regressions[i]
        counts = np.bincount(self._codes[i], minlength=self._sizes[i])
        belief = np.maximum(counts / self._rows, _SMALLEST_SHARE)
        fitted = np.full(self._sizes[i], np.log(_SMALLEST_SHARE))
        if len(seen) > 1:
            cells = [regression.weights[:1], *(table[:, seen] for table in weights)]
            table = np.ascontiguousarray(np.concatenate(cells))
            cells_of_rows = self._cells(np.array(partners, dtype=np.int64), 0, self._rows)
            belief[seen] += fit_intercept(self._own[i], cells_of_rows, table, tolerance)
            fitted[seen] = table[0] - table[0].max()
        else:
            fitted[seen] = 0.0
        return fitted - fitted.mean(), belief / belief.sum()

    def _estimate(self, i: int, j: int) -> np.ndarray:
        """Return W_j of variable i's regression with the states of i as rows, shape (s_i, s_j)."""
        estimate = np.zeros((self._sizes[i], self._sizes[j]))
        regression = self._regressions[i]
        at = int(np.searchsorted(regression.neighbours, j))
        if at < len(regression.neighbours) and regression.neighbours[at] == j:
            cells = slice(regression.starts[at], regression.starts[at + 1])
            estimate[self._seen[i]] = regression.weights[cells].T
        return estimate

    def _set_neighbours(self, i: int, neighbours: np.ndarray) -> None:
        """Set the active neighbours of variable i; those that stay active keep their weights."""
        old = self._regressions[i]
        if np.array_equal(old.neighbours, neighbours):
            return
        starts = np.concatenate([[1], 1 + np.cumsum(self._sizes[neighbours])]).astype(np.int64)
        weights = np.zeros((int(starts[-1]), old.weights.shape[1]))
        weights[0] = old.weights[0]
        places = np.searchsorted(neighbours, old.neighbours)
        for k, j in enumerate(old.neighbours.tolist()):
            at = int(places[k])
            if at < len(neighbours) and neighbours[at] == j:
                weights[starts[at] : starts[at + 1]] = old.weights[
                    old.starts[k] : old.starts[k + 1]
                ]
        self._regressions[i] = _Regression(neighbours, starts, weights)

    def _solve(self, i: int, thresholds: np.ndarray, lam2: float, tolerance: float) -> None:
        regression = self._regressions[i]
        neighbours = regression.neighbours
        solution = solve_regression(
            self._own[i],
            self._cells(neighbours, 0, self._rows),
            regression.starts,
            thresholds[neighbours],
            lam2,
            tolerance,
            regression.weights,
        )
        regression.objective, regression.violation = solution.objective, solution.violation
        self.norms[i] = 0.0
        if len(neighbours):
            squares = (regression.weights[1:] ** 2).sum(axis=1)
            self.norms[i, neighbours] = np.sqrt(
                np.add.reduceat(squares, regression.starts[:-1] - 1)
            )

    def _cells(self, neighbours: np.ndarray, start: int, count: int) -> np.ndarray:
        """Return the cells of rows ``start`` … ``start + count``, int32, shape (count, A)."""
        cells = np.empty((count, len(neighbours)), dtype=np.int32)
        first = np.concatenate([[1], 1 + np.cumsum(self._sizes[neighbours])])
        _fill_cells(self._codes, neighbours, first, start, cells)
        return cells

    def _check(self, nodes: np.ndarray) -> None:
        """Compute the gradient of every neighbour of `nodes` at the current weights."""
        for at in range(0, len(nodes), _NODES):
            self._check_some(nodes[at : at + _NODES])
        self.tests += len(nodes) * (len(self._sizes) - 1)

    def _check_some(self, nodes: np.ndarray) -> None:
        states = np.array([len(self._seen[i]) for i in nodes])
        ends = np.concatenate([[0], np.cumsum(states - 1)])
        indicators = np.empty((_ROWS, int(self._columns[-1])))
        differences = np.empty((_ROWS, int(ends[-1])))
        sums = np.zeros((int(ends[-1]), int(self._columns[-1])))
        totals = np.zeros(int(ends[-1]))
        for start in range(0, self._rows, _ROWS):
            count = min(_ROWS, self._rows - start)
            _indicate(self._codes, self._columns, start, indicators[:count])
            for k, i in enumerate(nodes.tolist()):
                regression = self._regressions[i]
                cells = self._cells(regression.neighbours, start, count)
                residuals(
                    self._own[i, start : start + count],
                    cells,
                    regression.weights,
                    int(ends[k]),
                    differences,
                )
            sums += differences[:count].T @ indicators[:count]
            totals += differences[:count].sum(axis=0)
        for k, i in enumerate(nodes.tolist()):
            own = slice(ends[k], ends[k + 1])
            _group_norms(sums[own], totals[own], self._columns, self.slopes[i])
            self.slopes[i] /= self._rows
            self.slopes[i, i] = 0.0


@kernel
def _fill_cells(codes, neighbours, first, start, cells):
    """Write the cell of each neighbour for the rows from `start`."""
    for k in range(len(neighbours)):
        own = codes[neighbours[k]]
        for m in range(cells.shape[0]):
            cells[m, k] = first[k] + own[start + m]


@kernel
def _indicate(codes, columns, start, out):
    """Write the indicators of the states of rows, without state 0 of each variable."""
    out[:] = 0.0
    for j in range(codes.shape[0]):
        for m in range(out.shape[0]):
            code = codes[j, start + m]
            if code > 0:
                out[m, columns[j] + code - 1] = 1.0


@kernel
def _group_norms(sums, totals, columns, out):
    """Write the gradient norm of every neighbour; entries of states 0 follow from sums."""
    states = len(sums)
    for j in range(len(out)):
        square, corner = 0.0, 0.0
        for a in range(states):
            first = totals[a]
            for c in range(columns[j], columns[j + 1]):
                square += sums[a, c] ** 2
                first -= sums[a, c]
            square += first * first
            corner -= first
        for c in range(columns[j], columns[j + 1]):
            below = 0.0
            for a in range(states):
                below -= sums[a, c]
            square += below * below
        out[j] = np.sqrt(square + corner * corner)
