"""Scalable structure learning: regress a few seeds, infer the rest (thesis, section 2.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from graftviz.data.series.series import StandardisedData, TimeSeries, Transitions, standardise
from graftviz.dynamics.base import Row, Steps, Work, check_enough
from graftviz.dynamics.enforcing import fit_rows
from graftviz.dynamics.products import Products
from graftviz.dynamics.rows import StepRecorder, strongest
from graftviz.dynamics.scores import grafted_parents, two_hop_scores
from graftviz.dynamics.seeds import SeedChoice, choose_seeds, seed_count
from graftviz.dynamics.solving import ParentSearch, SolverOptions, search_rows
from graftviz.utils.errors import InputError
from graftviz.utils.options import CodeLine, checked_seed, option


@dataclass(frozen=True)
class ScalableStructure(SolverOptions):
    """Parents of seeds by regression, parents of other series from two-hop regressions of seeds.

    Each seed i is regressed twice on all series: X(t + 1) gives its parents, as in sparsity
    inducing learning, and X(t + 2) its two-hop row B_i. For a series j that is a parent of seeds,
    candidate u has the score E_ju = Σ |B_iu| / ‖B_i‖₁ over these seeds, and the k best candidates
    become the parents of j. A series that is not a parent of any seed has no scores; it is learned
    from its own data, according to the option `uncovered`. All coefficients are least squares on
    the parents.

    With a fixed number of seeds and ``uncovered="common"``, the cost is linear in n; if the number
    of seeds is a share of n, or series without scores are learned individually, it is quadratic.

    Source: the thesis, chapter 2, algorithms 4 and 2.

    Examples
    --------
    >>> learned = dynamics.learn(series, dynamics.ScalableStructure(parents=3, seeds=0.5))
    >>> len(learned.seeds)
    4
    """

    name: ClassVar[str] = "scalable"
    title: ClassVar[str] = "Scalable structure"
    idea: ClassVar[str] = (
        "Regresses a few seed series, one and two steps ahead, and infers the parents of the other "
        "series from the seeds they drive. For many series, where regressing all takes too long."
    )
    opening: ClassVar[str] = (
        "First, {seeds} (squares) are regressed one and two steps ahead. Then the parents of the "
        "other series are inferred from these."
    )
    source: ClassVar[str] = "Thesis, section 2.2, algorithms 4 and 2"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("seeds", 0, "S = a subset of the series"),
        CodeLine("descend", 0, "for i ∈ S: Ãᵢ from X(t + 1), Bᵢ from X(t + 2), by SGD"),
        CodeLine("select", 1, "Nᵢ = the k largest |Ãᵢ|"),
        CodeLine("score", 1, "for j ∈ Nᵢ: Eⱼ = Eⱼ + |Bᵢ| / ‖Bᵢ‖₁"),
        CodeLine("infer", 0, "for j ∉ S: Nⱼ = the k largest Eⱼ"),
        CodeLine("uncovered", 1, "no score: from its own data"),
        CodeLine("fit", 0, "for every i: Aᵢ,Nᵢ = arg min ‖X″ᵢ − a X′_Nᵢ‖²"),
    )

    seeds: float = option(
        0.2,
        "|S|: number of seeds; a value below 1 is a share of the series",
        label="|S| (seeds)",
        above=0.0,
    )
    seed_choice: SeedChoice = option(
        "random",
        "random seeds, the most active by variance, or seeds with low mutual correlation",
        label="Choice of seeds",
    )
    uncovered: Literal["graft", "regress", "common"] = option(
        "graft",
        "parents of a series that is not a parent of any seed: those of largest gradient (graft), "
        "those of a regression as for seeds (regress), or itself and the series that drive most "
        "seeds (common)",
        label="Series without a seed",
    )

    two_hop_tolerance: float = option(
        0.4,
        "tolerance of the two-hop rows, which can be inexact because they are summed over seeds",
        label="Two-hop tolerance",
        above=0.0,
        maximum=1.0,
        scale="log",
        advanced=True,
    )

    def check(self, data: TimeSeries | Transitions) -> None:
        """Raise :class:`InputError` for too few series or rows, or too many seeds."""
        n = len(data.names)
        seed_count(self.seeds, n)
        k = self.parent_count(n)
        check_enough(data, k, steps=2)
        if isinstance(data, Transitions) and len(data.later) <= k:
            raise InputError(
                f"Seeds are regressed two time steps ahead: at least {k + 1} transitions need a "
                f"second later state, but {len(data.later)} have one."
            )

    def regression_count(self, n: int) -> int:
        """Return the number of regressions: two per seed, and those of series without a seed."""
        regressed = n if self.uncovered == "regress" else 0
        return 2 * seed_count(self.seeds, n) + regressed

    def stored_numbers(self, n: int) -> int:
        """Return the number of values in the steps, with the two-hop rows of the seeds."""
        return super().stored_numbers(n) + n * seed_count(self.seeds, n)

    def steps(
        self, data: TimeSeries | Transitions, *, seed: int = 0, jobs: int | None = None
    ) -> Steps:
        """Learn A: first seeds, then their parents, then the other series, each in order."""
        self.check(data)
        seed = checked_seed(seed)
        standard = standardise(data, centre=self.centre)
        seeds = self.choose_seeds(standard, seed)
        search = self.search(standard, seed)
        recorder = StepRecorder(standard)
        seed_rows = []
        for row in search_rows(search, seeds.tolist(), jobs):
            seed_rows.append(row)
            yield recorder.step(row, "seed", ("seeds", "descend", "select", "score", "fit"))
        uncovered = []
        search = search._replace(two_hop=None)
        for kind, row in self.other_rows(seed_rows, search, jobs, spend=recorder.spend):
            if kind == "uncovered":
                uncovered.append(row.node)
            lines = ("uncovered", "fit") if kind == "uncovered" else ("infer", "fit")
            yield recorder.step(row, kind, lines)
        return recorder.outcome(seeds=seeds.tolist(), uncovered=uncovered)

    def choose_seeds(self, data: StandardisedData, seed: int) -> np.ndarray:
        """Return the seeds, ascending."""
        return choose_seeds(data, seed_count(self.seeds, len(data.names)), self.seed_choice, seed)

    def search(self, data: StandardisedData, seed: int) -> ParentSearch:
        """Return the search for the parents of seeds, with one-hop and two-hop solvers."""
        one_hop = self.solver_of(data.before, seed)
        two_hop = self.solver_of(data.before[: len(data.later)], seed, self.two_hop_tolerance)
        return ParentSearch(data, one_hop, two_hop, self.parent_count(len(data.names)), self.path)

    def other_rows(
        self,
        seed_rows: Sequence[Row],
        search: ParentSearch,
        jobs: int | None = None,
        *,
        spend: Callable[[Work], None] = lambda _: None,
    ) -> Iterator[tuple[str, Row]]:
        """Yield the rows of all series that are not seeds, each with the kind of its step.

        Parameters
        ----------
        seed_rows : sequence of Row
            Rows of the seeds.
        search : ParentSearch
            Search without two-hop rows.
        jobs : int, optional
        spend : callable
            Called with the work of the scores.
        """
        data, k = search.data, search.k
        n = len(data.names)
        seeds = {row.node for row in seed_rows}
        evidence = [(row.parents, row.two_hop) for row in seed_rows if row.two_hop is not None]
        scores, additions = two_hop_scores(evidence, n)
        spend(Work(additions, 0))
        others = [j for j in range(n) if j not in seeds]
        inferred = [(j, strongest(scores[j], k)) for j in others if j in scores]
        for row in fit_rows(data, inferred, jobs):
            yield "inferred", row
        uncovered = [j for j in others if j not in scores]
        common = np.sum([two_hop for _, two_hop in evidence], axis=0) if evidence else np.zeros(n)
        for row in self._uncovered_rows(data, uncovered, common, search, jobs, spend):
            yield "uncovered", row

    def _uncovered_rows(
        self,
        data: StandardisedData,
        nodes: list[int],
        common: np.ndarray,
        search: ParentSearch,
        jobs: int | None,
        spend: Callable[[Work], None],
    ) -> Iterator[Row]:
        if self.uncovered == "regress":
            yield from search_rows(search, nodes, jobs)
            return
        if self.uncovered == "graft":
            times = Products()
            parents = grafted_parents(data, nodes, search.k, times)
            spend(Work(times.count, 0))
        else:
            parents = {}
            for j in nodes:
                others = np.where(np.arange(len(common)) == j, 0.0, common)
                parents[j] = np.union1d(strongest(others, search.k - 1), [j])
        yield from fit_rows(data, [(j, parents[j]) for j in nodes], jobs)
