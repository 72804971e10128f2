"""Scalable structure learning: regress a few seeds, infer the rest from them (section 2.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graftviz.dynamics.base import Steps, Work, check_enough
from graftviz.dynamics.enforcing import fitted_rows
from graftviz.dynamics.rows import Ledger, Row, strongest
from graftviz.dynamics.scores import GRAFT_ROUNDS, common_scores, grafted_parents, spoken_scores
from graftviz.dynamics.seeds import CHOICES, chosen_seeds, seed_count
from graftviz.dynamics.series import Standardised, TimeSeries, Transitions, standardised
from graftviz.dynamics.solving import Search, SolverOptions, found_rows
from graftviz.errors import InputError
from graftviz.learners.base import CodeLine, checked_seed
from graftviz.options import option


@dataclass(frozen=True)
class ScalableStructure(SolverOptions):
    """Parents of seeds by regression, those of the others by what reaches the seeds in two steps.

    Each seed i is regressed twice on all series: X(t + 1) gives its parents, as in sparsity
    inducing learning, and X(t + 2) its two-hop row B_i. A series j that is a parent of seeds scores
    u by E_ju = Σ |B_iu| / ‖B_i‖₁ over these seeds, and the k best become its parents. A series that
    is no seed's parent has no scores: no seed speaks for it, and it is learned from its own data,
    as `unspoken` says. Coefficients come from least squares on the parents throughout.

    With a fixed number of seeds and ``unspoken="common"`` the cost is linear in n; with a share of
    the series as seeds, or where the unspoken are learned one by one, it is quadratic.

    Source: the thesis, chapter 2, algorithms 4 and 2.
    """

    name: ClassVar[str] = "scalable"
    title: ClassVar[str] = "Scalable structure"
    idea: ClassVar[str] = (
        "Regresses a few seed series, one and two steps ahead, and infers the parents of the rest "
        "from whom they share. For many series, where regressing every one takes too long."
    )
    source: ClassVar[str] = "Thesis, section 2.2, algorithms 4 and 2"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("seeds", 0, "S = a subset of the series"),
        CodeLine("descend", 0, "for i ∈ S: Ãᵢ from X(t + 1), Bᵢ from X(t + 2), by SGD"),
        CodeLine("select", 1, "Nᵢ = the k largest |Ãᵢ|"),
        CodeLine("score", 1, "for j ∈ Nᵢ: Eⱼ = Eⱼ + |Bᵢ| / ‖Bᵢ‖₁"),
        CodeLine("infer", 0, "for j ∉ S: Nⱼ = the k largest Eⱼ"),
        CodeLine("unspoken", 1, "no score: from its own data"),
        CodeLine("fit", 0, "for every i: Aᵢ,Nᵢ = arg min ‖X″ᵢ − a X′_Nᵢ‖²"),
    )

    seeds: float = option(
        0.2,
        "|S|: below 1 the share of the series that are seeds, from 1 on their number",
        label="|S| (seeds)",
        above=0.0,
    )
    seed_choice: str = option(
        "random",
        "seeds at random, the most active by variance, or spread over what is correlated",
        label="Choice of seeds",
        choices=CHOICES,
    )
    unspoken: str = option(
        "graft",
        "a series no seed speaks for gets the parents of largest gradient (graft), those of a "
        "regression as seeds have (regress), or itself and what drives the seeds in general "
        "(common)",
        label="Unspoken series",
        choices=("graft", "regress", "common"),
    )

    two_hop_tolerance: float = option(
        0.4,
        "tolerance of the two-hop rows; as they are added up over seeds, rough ones do",
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
                f"Seeds look two time steps ahead: at least {k + 1} transitions need a later state "
                f"too, and {len(data.later)} have one."
            )

    def steps(
        self, data: TimeSeries | Transitions, *, seed: int = 0, jobs: int | None = None
    ) -> Steps:
        """Learn A: seeds, then the series they speak for, then the others, each in their order."""
        self.check(data)
        seed = checked_seed(seed)
        known = standardised(data, centre=self.centre)
        seeds = self.chosen(known, seed)
        search = self.search(known, seed)
        ledger = Ledger(known)
        asked = []
        for row in found_rows(search, seeds.tolist(), jobs):
            asked.append(row)
            yield ledger.step(row, "seed", ("seeds", "descend", "select", "score", "fit"))
        ledger.spend(Work(sum(len(row.parents) * len(known.names) for row in asked), 0))
        unspoken = []
        for kind, row in self.other_rows(asked, search._replace(two_hop=None), jobs):
            if kind == "unspoken":
                unspoken.append(row.node)
            lines = ("unspoken", "fit") if kind == "unspoken" else ("infer", "fit")
            yield ledger.step(row, kind, lines)
        return ledger.outcome(seeds=seeds.tolist(), unspoken=unspoken)

    def chosen(self, data: Standardised, seed: int) -> np.ndarray:
        """Return the seeds, ascending."""
        return chosen_seeds(data, seed_count(self.seeds, len(data.names)), self.seed_choice, seed)

    def search(self, data: Standardised, seed: int) -> Search:
        """Return the search for the parents of seeds, with both their regressions."""
        one_hop = self.solver_of(data.before, seed)
        two_hop = self.solver_of(data.before[: len(data.later)], seed, self.two_hop_tolerance)
        return Search(data, one_hop, two_hop, self.parent_count(len(data.names)), self.path)

    def other_rows(
        self, asked: Sequence[Row], search: Search, jobs: int | None = None
    ) -> Iterator[tuple[str, Row]]:
        """Yield the rows of all series that are no seeds, each with the kind of its step.

        Parameters
        ----------
        asked : sequence of Row
            Those of the seeds.
        search : Search
            Without two-hop rows.
        jobs : int, optional
        """
        known, k = search.data, search.k
        n = len(known.names)
        seeds = {row.node for row in asked}
        told = [(row.parents, row.two_hop) for row in asked if row.two_hop is not None]
        scores = spoken_scores(told, n)
        others = [j for j in range(n) if j not in seeds]
        inferred = [(j, strongest(scores[j], k)) for j in others if j in scores]
        for row in fitted_rows(known, inferred, jobs):
            yield "inferred", row
        unspoken = [j for j in others if j not in scores]
        common = common_scores([two for _, two in told], n)
        for row in self._unspoken_rows(known, unspoken, common, search, jobs):
            yield "unspoken", row

    def _unspoken_rows(
        self,
        data: Standardised,
        nodes: list[int],
        common: np.ndarray,
        search: Search,
        jobs: int | None,
    ) -> Iterator[Row]:
        if self.unspoken == "regress":
            yield from found_rows(search, nodes, jobs)
            return
        if self.unspoken == "graft":
            spent = GRAFT_ROUNDS * data.before.size
            parents = grafted_parents(data, nodes, search.k)
        else:
            spent = 0
            parents = {j: _with_itself(common, j, search.k) for j in nodes}
        for row in fitted_rows(data, [(j, parents[j]) for j in nodes], jobs):
            yield row._replace(work=Work(spent, row.work.coefficients))


def _with_itself(scores: np.ndarray, node: int, k: int) -> np.ndarray:
    """Return the node and the k − 1 others of the largest scores, ascending."""
    others = scores.copy()
    others[node] = 0.0
    return np.union1d(strongest(others, k - 1), [node])
