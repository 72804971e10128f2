"""Dense learning: all of A at once, by singular values (thesis, section 2.1.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import svd

from graftviz.dynamics.base import DynamicsLearner, Steps, Work, check_enough, transition_count
from graftviz.dynamics.rows import Ledger, Row
from graftviz.dynamics.series import TimeSeries, Transitions, standardised
from graftviz.learners.base import CodeLine


@dataclass(frozen=True)
class Dense(DynamicsLearner):
    """A = X″ V Σ⁻¹ Uᵀ from X′ = U Σ Vᵀ; singular values below rounding error are taken for zero.

    Nothing is sparse: every series drives every other. With fewer transitions than series many
    matrices explain the data without error, and the smallest of them is taken.

    Source: the thesis, chapter 2, algorithm 1.
    """

    name: ClassVar[str] = "dense"
    title: ClassVar[str] = "Dense"
    idea: ClassVar[str] = (
        "Least squares of every series on all series, by one singular value decomposition. Quick "
        "for few series; with many it overfits, and its cost grows with their cube."
    )
    source: ClassVar[str] = "Thesis, section 2.1.1, algorithm 1"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("svd", 0, "U, Σ, V = SVD(X′)"),
        CodeLine("solve", 0, "A = X″ V Σ⁻¹ Uᵀ"),
    )

    def check(self, data: TimeSeries | Transitions) -> None:
        """Raise :class:`InputError` for less than one transition."""
        check_enough(data, 0)

    def steps(
        self, data: TimeSeries | Transitions, *, seed: int = 0, jobs: int | None = None
    ) -> Steps:
        """Learn A; neither `seed` nor `jobs` is used, as it is one decomposition."""
        self.check(data)
        known = standardised(data, centre=self.centre)
        before, after = known.before * known.scale, known.after * known.scale
        pairs, n = before.shape
        left, sizes, right = svd(before, full_matrices=False, check_finite=False)
        kept = sizes > np.finfo(np.float64).eps * max(pairs, n) * sizes[0]
        loads = left[:, kept].T @ after / sizes[kept, None]
        matrix = (right[kept].T @ loads).T
        residuals = np.sqrt(np.mean((after - before @ matrix.T) ** 2, axis=0))
        ledger = Ledger(known)
        ledger.spend(Work(0, pairs * n * min(pairs, n)))
        for node in range(n):
            row = Row(node, np.arange(n), matrix[node].copy(), float(residuals[node]))
            yield ledger.step(row, "dense", ("svd", "solve") if node == 0 else ("solve",))
        return ledger.outcome(notes=_too_few(transition_count(data), n))


def _too_few(pairs: int, n: int) -> tuple[str, ...]:
    if pairs >= n:
        return ()
    return (
        f"{pairs} transitions cannot determine {n} coefficients a series: of all matrices that "
        "explain them without error, this is the smallest.",
    )
