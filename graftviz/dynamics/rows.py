"""Rows of A: least squares on specified parents, and conversion of rows to steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from graftviz.data.series.series import StandardisedData
from graftviz.dynamics.base import NO_WORK, DynamicsOutcome, NodeStep, Row, Work
from graftviz.dynamics.products import Products
from graftviz.dynamics.system import LinearSystem, system_of_rows
from graftviz.utils.arrays import freeze, read_only

# Ratio of the diagonal of the Cholesky factor below which singular values are used instead: with
# one step of refinement, seminormal equations are accurate as long as cond(X)² is below 1/ε.
_LEAST_PIVOT = 1e-6


def strongest(sizes: np.ndarray, k: int) -> np.ndarray:
    """Return the indices of the k largest positive entries, ascending; ties to the lower index."""
    order = np.argsort(-sizes, kind="stable")[:k]
    return np.sort(order[sizes[order] > 0.0])


def fit_row(data: StandardisedData, node: int, parents: np.ndarray) -> Row:
    """Return the row of least squares on `parents` (thesis, algorithm 2).

    The method is Cholesky factorisation of the moments of the parents with one step of refinement.
    For nearly dependent parents, singular values give the solution of smallest norm.
    """
    target = data.targets[node]
    inputs = data.columns[parents]
    times = Products()
    units = data.scale[node] / data.scale[parents]
    try:
        factor = cho_factor(times(inputs, inputs.T), lower=True, check_finite=False)
        pivots = np.diagonal(factor[0])
        if len(parents) and pivots.min() < _LEAST_PIVOT * pivots.max():
            raise LinAlgError
        weights = cho_solve(factor, times(inputs, target), check_finite=False)
        gap = target - times(weights, inputs)
        weights += cho_solve(factor, times(inputs, gap), check_finite=False)
        coefficients = weights * units
    except LinAlgError:
        # In the units of the series, on which the solution of smallest norm depends.
        own = inputs.T * data.scale[parents]
        times.decomposed(own)
        coefficients = np.linalg.lstsq(own, target * data.scale[node], rcond=None)[0]
    gap = target - times(coefficients / units, inputs)
    residual = float(np.sqrt(np.mean(gap**2)) * data.scale[node])
    return Row(node, parents, coefficients, residual, work=Work(0, times.count))


def system_of_steps(names: tuple[str, ...], steps: Sequence[NodeStep]) -> LinearSystem:
    """Return the system with the rows of `steps`; other rows are zero."""
    n = len(names)
    parents = [np.zeros(0, dtype=np.int64) for _ in names]
    coefficients, intercept = [np.zeros(0) for _ in names], np.zeros(n)
    for step in steps:
        parents[step.node], coefficients[step.node] = step.parents, step.coefficients
        intercept[step.node] = step.intercept
    return system_of_rows(names, parents, coefficients, intercept)


class StepRecorder:
    """Recorder of learned rows, which returns a step for each and finally the outcome."""

    def __init__(self, data: StandardisedData) -> None:
        self._data = data
        self._steps: list[NodeStep] = []
        self._work = NO_WORK
        self._unsettled = 0

    def step(self, row: Row, kind: str, lines: tuple[str, ...]) -> NodeStep:
        """Record a row and return its step."""
        self.spend(row.work)
        self._unsettled += not row.converged
        shift = self._data.shift
        freeze(row.parents, row.coefficients)
        facts = {**vars(row), "work": self._work}
        intercept = float(shift[row.node] - row.coefficients @ shift[row.parents])
        index = len(self._steps)
        step = NodeStep(**facts, index=index, kind=kind, intercept=intercept, lines=lines)
        self._steps.append(step)
        return step

    def spend(self, work: Work) -> None:
        """Add work that does not belong to a single row."""
        self._work = Work(
            self._work.structure + work.structure, self._work.coefficients + work.coefficients
        )

    def outcome(
        self, *, seeds: Sequence[int] = (), uncovered: Sequence[int] = (), notes: Sequence[str] = ()
    ) -> DynamicsOutcome:
        """Return the outcome after all rows."""
        sentences, n = list(notes), len(self._data.names)
        barren = sum(len(step.parents) == 0 for step in self._steps)
        if barren:
            sentences.append(
                f"{barren} of {n} series have no parents: they are always zero, no coefficient "
                "outweighed λ, or no parents were specified; predictions for them are constant."
            )
        if self._unsettled:
            sentences.append(
                f"{self._unsettled} of {n} regressions reached the maximum number of passes before "
                "their tolerance; their parents may be less reliable."
            )
        return DynamicsOutcome(
            system_of_steps(self._data.names, self._steps),
            read_only(np.array(sorted(seeds), dtype=np.int64)),
            read_only(np.array(sorted(uncovered), dtype=np.int64)),
            self._work,
            tuple(sentences),
        )
