"""Sparsity inducing learning: parents by penalised regression (thesis, section 2.1.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graftviz.data.series.series import TimeSeries, Transitions, standardise
from graftviz.dynamics.base import Steps
from graftviz.dynamics.rows import StepRecorder
from graftviz.dynamics.solving import ParentSearch, SolverOptions, search_rows
from graftviz.utils.options import CodeLine, checked_seed


@dataclass(frozen=True)
class SparsityInducing(SolverOptions):
    """Penalised regression of every series on all series, then least squares on the k strongest.

    The regression minimises ½ mean(e²) + λ‖Aᵢ‖₁ on series divided by their root mean square; only
    the order of its coefficients is used, not their values. See :mod:`graftviz.dynamics.sgd` for
    the step size and the test of convergence.

    Source: the thesis, chapter 2, algorithms 3 and 2.

    Examples
    --------
    >>> learned = dynamics.learn(series, dynamics.SparsityInducing(parents=3))
    >>> dynamics.structure_recall(learned.system, system)
    1.0
    """

    name: ClassVar[str] = "inducing"
    title: ClassVar[str] = "Sparsity inducing"
    idea: ClassVar[str] = (
        "Regresses every series on all others with an ℓ₁ penalty and selects the k strongest as "
        "its parents. The most accurate of the sparse learners; its cost is quadratic in n."
    )
    opening: ClassVar[str] = (
        "Every series is regressed on all series with an ℓ₁ penalty; the {k} strongest become its "
        "parents."
    )
    source: ClassVar[str] = "Thesis, section 2.1.3, algorithms 3 and 2"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("descend", 0, "for each i: minimise ½ mean (X″ᵢ − Ãᵢ X′)² + λ‖Ãᵢ‖₁ by SGD"),
        CodeLine("select", 1, "Nᵢ = the k largest |Ãᵢ|"),
        CodeLine("fit", 1, "Aᵢ,Nᵢ = arg min ‖X″ᵢ − a X′_Nᵢ‖²"),
    )

    def steps(
        self, data: TimeSeries | Transitions, *, seed: int = 0, jobs: int | None = None
    ) -> Steps:
        """Learn A; `seed` determines the order of the rows in gradient descent."""
        self.check(data)
        seed = checked_seed(seed)
        standard = standardise(data, centre=self.centre)
        n = len(standard.names)
        solver = self.solver_of(standard.before, seed)
        search = ParentSearch(standard, solver, None, self.parent_count(n), self.path)
        recorder = StepRecorder(standard)
        for row in search_rows(search, range(n), jobs):
            yield recorder.step(row, "induced", ("descend", "select", "fit"))
        return recorder.outcome()
