"""Dense learning of A by one singular value decomposition (thesis, section 2.1.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import svd

from graftviz.data.series.series import TimeSeries, Transitions, standardise
from graftviz.dynamics.base import (
    SECONDS_OF_PRODUCT,
    DynamicsLearner,
    Row,
    Steps,
    Work,
    check_enough,
    transition_count,
)
from graftviz.dynamics.products import Products
from graftviz.dynamics.rows import StepRecorder
from graftviz.utils.options import CodeLine


@dataclass(frozen=True)
class Dense(DynamicsLearner):
    """Least squares by A = X″ V Σ⁻¹ Uᵀ with X′ = U Σ Vᵀ, without negligible singular values.

    The result is not sparse: every series has all series as parents. With fewer transitions than
    series, many matrices fit the data exactly; the one of smallest norm is returned.

    Source: the thesis, chapter 2, algorithm 1.

    Examples
    --------
    >>> learned = dynamics.learn(series, dynamics.Dense())
    >>> learned.system.coefficients.nnz
    64
    """

    name: ClassVar[str] = "dense"
    title: ClassVar[str] = "Dense"
    idea: ClassVar[str] = (
        "Least squares of every series on all series, by one singular value decomposition. Fast "
        "for few series; with hardly more rows than series it overfits, and its cost is cubic in n."
    )
    opening: ClassVar[str] = (
        "Least squares of every series on all series, by one singular value decomposition."
    )
    source: ClassVar[str] = "Thesis, section 2.1.1, algorithm 1"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("svd", 0, "U, Σ, V = SVD(X′)"),
        CodeLine("solve", 0, "A = X″ V Σ⁻¹ Uᵀ"),
    )

    def check(self, data: TimeSeries | Transitions) -> None:
        """Raise :class:`InputError` if there is no transition."""
        check_enough(data, 0)

    def seconds(self, n: int, rows: int) -> float:
        """Return the estimated time, which is that of the decomposition."""
        return super().seconds(n, rows) + 4 * SECONDS_OF_PRODUCT * rows * n * min(rows, n)

    def steps(
        self, data: TimeSeries | Transitions, *, seed: int = 0, jobs: int | None = None
    ) -> Steps:
        """Learn A by one decomposition; `seed` and `jobs` are not used."""
        self.check(data)
        standard = standardise(data, centre=self.centre)
        before, after = standard.before * standard.scale, standard.after * standard.scale
        pairs, n = before.shape
        times = Products()
        times.decomposed(before)
        left, sizes, right = svd(before, full_matrices=False, check_finite=False)
        nonzero = sizes > np.finfo(np.float64).eps * max(pairs, n) * sizes[0]
        loads = times(left[:, nonzero].T, after) / sizes[nonzero, None]
        matrix = times(right[nonzero].T, loads).T
        residuals = np.sqrt(np.mean((after - times(before, matrix.T)) ** 2, axis=0))
        recorder = StepRecorder(standard)
        recorder.spend(Work(0, times.count))
        for node in range(n):
            row = Row(node, np.arange(n), matrix[node].copy(), float(residuals[node]))
            yield recorder.step(row, "dense", ("svd", "solve") if node == 0 else ("solve",))
        return recorder.outcome(notes=_underdetermined_notes(transition_count(data), n))


def _underdetermined_notes(pairs: int, n: int) -> tuple[str, ...]:
    if pairs >= n:
        return ()
    return (
        f"{pairs} transitions cannot determine {n} coefficients per series: of all matrices that "
        "fit them exactly, this is the smallest.",
    )
