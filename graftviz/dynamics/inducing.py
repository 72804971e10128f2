"""Sparsity inducing learning: the k strongest of a penalised regression (section 2.1.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graftviz.dynamics.base import Steps
from graftviz.dynamics.rows import Ledger
from graftviz.dynamics.series import TimeSeries, Transitions, standardised
from graftviz.dynamics.solving import Search, SolverOptions, found_rows
from graftviz.learners.base import CodeLine, checked_seed


@dataclass(frozen=True)
class SparsityInducing(SolverOptions):
    """For every series: penalised regression on all series, then least squares on the k strongest.

    The regression minimises ½ mean(e²) + λ‖Aᵢ‖₁ on series divided by their root mean square; what
    it is for is the order of the coefficients, not their values. See
    :mod:`graftviz.dynamics.sgd` for the step size and the test of convergence.

    Source: the thesis, chapter 2, algorithms 3 and 2.
    """

    name: ClassVar[str] = "inducing"
    title: ClassVar[str] = "Sparsity inducing"
    idea: ClassVar[str] = (
        "Regresses every series on all others with an ℓ₁ penalty and keeps the k strongest as its "
        "parents. The most careful of the sparse learners; its cost grows with the square of n."
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
        """Learn A; the seed decides in which order gradient descent sees the rows."""
        self.check(data)
        seed = checked_seed(seed)
        known = standardised(data, centre=self.centre)
        n = len(known.names)
        solver = self.solver_of(known.before, seed)
        search = Search(known, solver, None, self.parent_count(n), self.path)
        ledger = Ledger(known)
        for row in found_rows(search, range(n), jobs):
            yield ledger.step(row, "induced", ("descend", "select", "fit"))
        return ledger.outcome()
