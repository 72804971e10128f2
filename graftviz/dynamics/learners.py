"""Learners of linear dynamical systems: dense, sparsity enforcing, sparsity inducing, scalable."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeGuard

import numpy as np

from graftviz.data.series.series import StandardisedData, TimeSeries, Transitions, standardise
from graftviz.dynamics.base import (
    SECONDS_OF_PRODUCT,
    DynamicsLearner,
    Products,
    Row,
    StepRecorder,
    Steps,
    Work,
    check_enough,
    fit_rows,
    smallest_solution,
    strongest,
)
from graftviz.dynamics.search import (
    ParentSearch,
    SeedChoice,
    choose_seeds,
    grafted_parents,
    search_rows,
    seed_count,
    two_hop_scores,
)
from graftviz.dynamics.solvers import GradientDescent, Solver, coordinate_descent
from graftviz.utils.errors import InputError
from graftviz.utils.options import CodeLine, checked_seed, option

_USUAL_PARENTS = 15  # as in the experiments of the thesis
_COORDINATE_SWEEPS = 100_000  # maximum number of sweeps of coordinate descent
_SECONDS_OF_TERM = 0.9e-9  # for a coefficient at a row in a pass of gradient descent
_TYPICAL_PASSES = 25  # easy data take half of that, hard ones twice as many
_SECONDS_OF_PAIR = 40e-9  # for a pair of coefficients in coordinate descent
_EXACT = 1e-8  # tolerance of coordinate descent, in standardised units


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
        pairs, n = standard.before.shape
        times, every = Products(), np.arange(n)
        matrix = smallest_solution(standard, every, every, times)
        weights = matrix * standard.scale / standard.scale[:, None]
        gaps = standard.after - times(standard.before, weights.T)
        residuals = np.sqrt(np.mean(gaps**2, axis=0)) * standard.scale
        recorder = StepRecorder(standard)
        recorder.spend(Work(0, times.count))
        for node in range(n):
            row = Row(node, every, matrix[node].copy(), float(residuals[node]))
            yield recorder.step(row, "dense", ("svd", "solve") if node == 0 else ("solve",))
        notes = []
        if pairs < n:
            word = "transition" if pairs == 1 else "transitions"
            notes.append(
                f"{pairs} {word} cannot determine {n} coefficients per series: of all "
                "matrices that fit them exactly, this is the smallest."
            )
        return recorder.outcome(notes=notes)


@dataclass(frozen=True)
class SparsityEnforcing(DynamicsLearner):
    """Least squares of every series on specified parents.

    Attributes
    ----------
    adjacency : sequence of n sequences of int
        `adjacency[i]` holds the parents of series i, which are the series that drive it.

    Source: the thesis, chapter 2, algorithm 2.

    Examples
    --------
    >>> parents = [row.indices for row in system.coefficients]
    >>> learned = dynamics.learn(series, dynamics.SparsityEnforcing(adjacency=parents))
    >>> dynamics.structure_recall(learned.system, system)
    1.0
    """

    name: ClassVar[str] = "enforcing"
    title: ClassVar[str] = "Sparsity enforcing"
    idea: ClassVar[str] = (
        "Least squares of every series on specified parents. For systems with a known structure, "
        "and as the last stage of the learners that find the structure."
    )
    opening: ClassVar[str] = "Least squares of every series on its given parents."
    source: ClassVar[str] = "Thesis, section 2.1.2, algorithm 2"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("parents", 0, "for each i: Nᵢ = its parents in the adjacency"),
        CodeLine("fit", 1, "Aᵢ,Nᵢ = arg min ‖X″ᵢ − a X′_Nᵢ‖²"),
    )

    adjacency: Sequence[Sequence[int]] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.adjacency is not None:
            plain = tuple(tuple(sorted({int(u) for u in row})) for row in self.adjacency)
            object.__setattr__(self, "adjacency", plain)

    def check(self, data: TimeSeries | Transitions) -> None:
        """Raise :class:`InputError` for missing or invalid parents, or too few rows."""
        n = len(data.names)
        if self.adjacency is None:
            raise InputError(
                "Sparsity enforcing learning needs the parents of every series: pass an adjacency."
            )
        if len(self.adjacency) != n:
            raise InputError(
                f"The adjacency has parents for {len(self.adjacency)} series; there are {n}."
            )
        for i, row in enumerate(self.adjacency):
            if row and not 0 <= row[0] <= row[-1] < n:
                wrong = row[0] if row[0] < 0 else row[-1]
                raise InputError(
                    f"Series {data.names[i]!r} has parent {wrong}; series are numbered 0 to "
                    f"{n - 1}."
                )
        check_enough(data, max((len(row) for row in self.adjacency), default=0))

    def steps(
        self, data: TimeSeries | Transitions, *, seed: int = 0, jobs: int | None = None
    ) -> Steps:
        """Learn A; the method is deterministic, and `seed` is not used."""
        self.check(data)
        standard = standardise(data, centre=self.centre)
        recorder = StepRecorder(standard)
        rows = [np.array(row, dtype=np.int64) for row in self.adjacency or ()]
        for row in fit_rows(standard, list(enumerate(rows)), jobs):
            yield recorder.step(row, "given", ("parents", "fit"))
        return recorder.outcome()


@dataclass(frozen=True)
class SolverOptions(DynamicsLearner, ABC):
    """Options of learners that find parents by ℓ₁-penalised regression."""

    parents: int | None = option(
        None,
        "k: maximum number of parents of a series",
        label="k (parents)",
        minimum=1,
        none_means=f"{_USUAL_PARENTS}, or all series if there are fewer",
    )
    lam: float | None = option(
        None,
        "λ: weight of ‖Aᵢ‖₁ against half the mean squared error, for standardised series",
        label="λ",
        minimum=0.0,
        maximum=1.0,
        scale="log",
        none_means="1/√N, the typical coefficient of unrelated series",
    )
    path: int = option(
        1,
        "number of values of λ on the path from 1 to λ; with more than 1, which requires the "
        "coordinate solver, parents are selected by order of entry instead of by coefficient",
        label="Path length",
        minimum=1,
        maximum=1000,
        advanced=True,
    )
    solver: Literal["sgd", "coordinate"] = option(
        "sgd",
        "stochastic gradient descent (sgd), or coordinate descent, which is exact and quadratic "
        "in n",
        label="Solver",
        titles=("stochastic gradient", "coordinate descent"),
    )
    step: float = option(
        0.5,
        "initial step size, times the mean of ‖x‖²",
        label="Step size",
        above=0.0,
        maximum=1.0,
        advanced=True,
    )
    decay: float = option(
        0.3,
        "μ: decrease of the step size, γ₀ / (1 + γ₀ μ t) after t rows",
        label="Decay",
        minimum=0.0,
        maximum=10.0,
        advanced=True,
    )
    penalty: Literal["proximal", "subgradient"] = option(
        "proximal",
        "step of the ℓ₁ penalty in gradient descent: proximal stops at zero, subgradient, the form "
        "of the thesis, subtracts λ sign(w) and may overshoot",
        label="Penalty step",
        advanced=True,
    )
    tolerance: float = option(
        0.05,
        "a regression ends when a pass changes its coefficients by at most this share of their "
        "size",
        label="Tolerance",
        above=0.0,
        maximum=1.0,
        scale="log",
        advanced=True,
    )
    max_passes: int = option(
        50,
        "maximum number of passes of gradient descent over all rows",
        label="Maximum passes",
        minimum=1,
        maximum=100_000,
        advanced=True,
    )

    def seconds(self, n: int, rows: int) -> float:
        """Return the estimated time: regressions on all series, and least squares on parents."""
        k, regressed = self.parent_count(n), self.regression_count(n)
        if self.solver == "coordinate":
            search = SECONDS_OF_PRODUCT * rows * n * (n + regressed)
            search += self.path * regressed * n * k * _SECONDS_OF_PAIR
        else:
            search = _SECONDS_OF_TERM * _TYPICAL_PASSES * rows * n * regressed
        return super().seconds(n, rows) + search + n * rows * k**2 * SECONDS_OF_PRODUCT

    def stored_numbers(self, n: int) -> int:
        """Return the number of values in the steps: parents and their coefficients."""
        return 2 * n * self.parent_count(n)

    def regression_count(self, n: int) -> int:
        """Return the number of regressions for n series."""
        return n

    def parent_count(self, n: int) -> int:
        """Return k for n series.

        Raises
        ------
        InputError
            When the option exceeds the number of series.
        """
        if self.parents is None:
            return min(_USUAL_PARENTS, n)
        if self.parents > n:
            raise InputError(f"Option parents is {self.parents}, but there are only {n} series.")
        return self.parents

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path > 1 and self.solver != "coordinate":
            raise InputError(
                "A path of λ requires exact regressions: use solver=coordinate or path=1."
            )
        if self.penalty == "subgradient" and self.solver == "coordinate":
            raise InputError(
                "A subgradient step is one of gradient descent: use solver=sgd or penalty=proximal."
            )

    def check(self, data: TimeSeries | Transitions) -> None:
        """Raise :class:`InputError` for too few series or rows."""
        check_enough(data, self.parent_count(len(data.names)))

    def solver_of(self, inputs: np.ndarray, seed: int, tolerance: float | None = None) -> Solver:
        """Return the solver for standardised `inputs`, shape (rows, n).

        If passed, `tolerance` replaces the option of that name for gradient descent.
        """
        lam = 1.0 / math.sqrt(len(inputs)) if self.lam is None else self.lam
        if self.solver == "coordinate":
            return coordinate_descent(inputs, lam, _EXACT, _COORDINATE_SWEEPS)
        enough = self.tolerance if tolerance is None else tolerance
        return GradientDescent(
            inputs, lam, self.step, self.decay, enough, self.max_passes, seed, self.penalty
        )


@dataclass(frozen=True)
class SparsityInducing(SolverOptions):
    """Penalised regression of every series on all series, then least squares on the k strongest.

    The regression minimises ½ mean(e²) + λ‖Aᵢ‖₁ on series divided by their root mean square; only
    the order of its coefficients is used, not their values. See
    :class:`~graftviz.dynamics.solvers.GradientDescent` for the step size and the test of
    convergence.

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


LEARNERS: dict[str, type[DynamicsLearner]] = {
    cls.name: cls for cls in (Dense, SparsityEnforcing, SparsityInducing, ScalableStructure)
}


def dynamics_learner(name: str) -> type[DynamicsLearner]:
    """Return the learner with the given name.

    Raises
    ------
    InputError
        For an unknown name; the message lists the learners.

    Examples
    --------
    >>> dynamics.dynamics_learner("dense")
    <class 'graftviz.dynamics.learners.Dense'>
    """
    if name not in LEARNERS:
        raise InputError(f"There is no learner {name!r}; the learners are {', '.join(LEARNERS)}.")
    return LEARNERS[name]


def has_seeds(learner: DynamicsLearner) -> TypeGuard[ScalableStructure]:
    """Return whether a learner regresses seeds only and infers the other rows from these.

    Examples
    --------
    >>> dynamics.has_seeds(dynamics.ScalableStructure())
    True
    """
    return isinstance(learner, ScalableStructure)


def takes_parents(learner: DynamicsLearner) -> TypeGuard[SparsityEnforcing]:
    """Return whether a learner requires the parents of every series.

    Examples
    --------
    >>> dynamics.takes_parents(dynamics.SparsityEnforcing())
    True
    """
    return isinstance(learner, SparsityEnforcing)
