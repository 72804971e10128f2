"""Stability of edges: the frequency with which a learner finds them on subsamples of the rows.

Stability distinguishes edges that the data determine from edges due to chance. It does not detect
false edges that the score selects consistently, such as pairs connected only through others.

Resamples with replacement (bootstrap) repeat rows, which looks like evidence: more edges are found
than on other rows, so the frequencies of halves are the better ones. Intervals of weights are in
:mod:`graftviz.evaluation.selection.intervals`.

On a subsample a fixed λ of the learner is used unchanged, as in both papers below; an automatic λ
is derived from the subsample, whose scores have more noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graftviz.data.reading.reading import Tabular
from graftviz.data.table import DiscreteTable
from graftviz.evaluation.selection.fits import (
    Method,
    check_subsamples,
    fit,
    fit_steps,
    learner_seed,
    subsample_rows,
    subsample_size,
)
from graftviz.evaluation.selection.intervals import (
    LEVEL,
    EdgeIntervals,
    FoundEdges,
    checked_level,
    edge_intervals,
    found_edges,
    wilson_interval,
)
from graftviz.learning.base import Learner
from graftviz.learning.registry import DEFAULT, table_and_learner
from graftviz.model.pairwise import HasModel, PairwiseModel, model_of
from graftviz.utils.arrays import freeze
from graftviz.utils.errors import InputError
from graftviz.utils.parallel import parallel_map

SUBSAMPLES = 50
STABLE = 0.9  # frequency from which an edge counts as stable


@dataclass(frozen=True)
class _Plan:
    """Inputs that determine the results of all subsamples."""

    table: DiscreteTable
    learner: Learner
    subsamples: int
    method: Method
    size: int
    seed: int

    def part(self, index: int) -> DiscreteTable:
        """Return the rows of one subsample."""
        rows = subsample_rows(
            self.table.n_rows, index, method=self.method, size=self.size, seed=self.seed
        )
        return self.table.rows(rows)


@dataclass(frozen=True, eq=False, repr=False)
class EdgeStability:
    """Frequencies of edges over subsamples of the rows.

    An edge is found if it is in the final model with a non-zero weight.

    Attributes
    ----------
    method : {"complementary-pairs", "stars", "bootstrap"}
    learner : Learner
    seed : int
    n_variables, n_rows : int
        Size of the whole table.
    n_subsample_rows : int
        Rows of each subsample.
    planned : int
        Number of requested subsamples, of which `done` are complete.
    edges : int64 array, shape (k, 2), read-only
        Edges i < j found at least once, sorted by decreasing frequency, then by pair.
    counts : int64 array, shape (k,), read-only
        Number of subsamples in which each edge was found.
    edge_counts : int64 array, shape (done,), read-only
        Number of edges found in each subsample.
    found : tuple of FoundEdges
        Edges and weights of each subsample.

    Examples
    --------
    >>> stability = gv.edge_stability(survey, gv.ChowLiu(), subsamples=10)
    >>> stability.frequency_of([(0, 1), (0, 2)]), len(stability.stable_edges(0.9))
    (array([1., 0.]), 10)
    """

    method: Method
    learner: Learner
    seed: int
    n_variables: int
    n_rows: int
    n_subsample_rows: int
    planned: int
    edges: np.ndarray
    counts: np.ndarray
    edge_counts: np.ndarray
    found: tuple[FoundEdges, ...]
    _place: dict[tuple[int, int], int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        place = {(i, j): k for k, (i, j) in enumerate(self.edges.tolist())}
        object.__setattr__(self, "_place", place)
        freeze(self.edges, self.counts, self.edge_counts)

    @property
    def done(self) -> int:
        """Number of completed subsamples."""
        return len(self.edge_counts)

    @property
    def frequencies(self) -> np.ndarray:
        """Share of subsamples in which each of `edges` was found, shape (k,), in (0, 1]."""
        return self.counts / max(self.done, 1)

    @property
    def mean_edges(self) -> float:
        """Mean number of edges per subsample; 0 before the first."""
        return float(self.edge_counts.mean()) if self.done else 0.0

    @property
    def instability(self) -> float:
        """D̂ of StARS: the mean over all pairs of 2 θ (1 − θ), θ being a pair's frequency.

        It is the probability that two subsamples disagree about a pair. H. Liu, K. Roeder and
        L. Wasserman, Stability approach to regularization selection, NeurIPS 2010.
        """
        theta = self.frequencies
        return float(np.sum(2.0 * theta * (1.0 - theta))) / self._pairs

    def frequency_of(self, edges: Iterable[Iterable[int]] | np.ndarray) -> np.ndarray:
        """Return the frequency of each edge of `edges`, given in either direction."""
        counts = [0, *self.counts.tolist()]
        ends = [(int(i), int(j)) for i, j in edges]
        found = [counts[self._place.get((min(pair), max(pair)), -1) + 1] for pair in ends]
        return np.array(found, dtype=np.float64) / max(self.done, 1)

    def frequency_intervals(
        self, edges: Iterable[Iterable[int]] | np.ndarray, level: float = LEVEL
    ) -> np.ndarray:
        """Return the Wilson interval of the frequency of each edge, shape (k, 2)."""
        counts = self.frequency_of(edges) * self.done
        return wilson_interval(counts, self.done, checked_level(level))

    def intervals(self, model: HasModel, level: float = LEVEL) -> EdgeIntervals:
        """Return the intervals of the edges of `model`, which was learned from all rows.

        Raises
        ------
        InputError
            If the model has another number of variables, or the level is not between 0 and 1.

        Examples
        --------
        >>> stability = gv.edge_stability(survey, gv.ChowLiu(), subsamples=20)
        >>> found = stability.intervals(gv.learn(survey, gv.ChowLiu()).model, level=0.9)
        >>> found.strength_intervals.shape
        (10, 2)
        """
        own: PairwiseModel = model_of(model)
        if own.n_variables != self.n_variables:
            raise InputError(
                f"The model has {own.n_variables:,} variables, and the table of the subsamples "
                f"{self.n_variables:,}; intervals need the model learned from all rows."
            )
        level = checked_level(level)
        strengths, weights = edge_intervals(own, self.found, self.method, level)
        return EdgeIntervals(
            model=own,
            method=self.method,
            resamples=self.done,
            level=level,
            frequencies=self.frequency_of(own.edges),
            frequency_intervals=self.frequency_intervals(own.edges, level),
            strength_intervals=strengths,
            weight_intervals=weights,
        )

    def stable_edges(self, threshold: float = STABLE) -> np.ndarray:
        """Return the edges with a frequency of at least `threshold`, shape (m, 2)."""
        return self.edges[self.frequencies >= threshold]

    def expected_rare_edges(self, threshold: float = STABLE) -> float | None:
        """Return an upper bound of the expected number of *rare* edges in :meth:`stable_edges`.

        An edge is rare if its probability in one subsample is at most q / p, where q is the
        expected number of edges (estimated by `mean_edges`) and p the number of all pairs. The
        bound is q² / ((2 τ − 1) p), for any learner and any data. It holds only for complementary
        pairs and τ > ½; otherwise the result is None.

        R. D. Shah and R. J. Samworth, Variable selection with error control: another look at
        stability selection, JRSS B 75, 2013, theorem 1 with θ = q / p.
        """
        if self.method != "complementary-pairs" or not 0.5 < threshold <= 1 or not self.done:
            return None
        return self.mean_edges**2 / ((2.0 * threshold - 1.0) * self._pairs)

    def summary(self, threshold: float = STABLE) -> dict[str, Any]:
        """Return a summary as a dict of numbers, strings and None."""
        return {
            "method": self.method,
            "subsamples": self.done,
            "subsample_rows": self.n_subsample_rows,
            "seed": self.seed,
            "mean_edges": self.mean_edges,
            "instability": self.instability,
            "threshold": threshold,
            "stable_edges": len(self.stable_edges(threshold)),
            "expected_rare_edges": self.expected_rare_edges(threshold),
        }

    def __repr__(self) -> str:
        return (
            f"<EdgeStability of {self.learner.name}: {len(self.stable_edges()):,} of "
            f"{len(self.edges):,} edges in at least {STABLE:.0%} of {self.done:,} subsamples "
            f"({self.method}) of {self.n_subsample_rows:,} rows>"
        )

    @property
    def _pairs(self) -> int:
        return self.n_variables * (self.n_variables - 1) // 2


def edge_stability(
    table: Tabular,
    learner: Learner | str = DEFAULT,
    *,
    subsamples: int = SUBSAMPLES,
    method: Method = "complementary-pairs",
    size: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    callback: Callable[[int, int], Any] | None = None,
) -> EdgeStability:
    """Run `learner` on subsamples of the rows and return the frequencies of edges.

    :meth:`EdgeStability.intervals` gives the intervals of the edges of the full model.

    Parameters
    ----------
    table : DiscreteTable, DataFrame, array or DataSet
    learner : Learner or str
        The learner, used unchanged: a λ that is set is that of all subsamples, an automatic one is
        derived from each.
    subsamples : int
        Number of runs of the learner; even for complementary pairs.
    method : {"complementary-pairs", "stars", "bootstrap"}
        Both halves of random divisions of the rows; smaller samples of ⌊10 √N⌋ rows; or as many
        rows as the table has, drawn with replacement. Rows keep their case weights.
    size : int, optional
        Rows of a subsample, for StARS only.
    seed : int
        Seed of the subsamples and of the learner; results do not depend on `jobs`.
    jobs : int, optional
        Number of processes; default: all cores. The result does not depend on it.
    callback : callable, optional
        Called as ``callback(done, of)`` after each subsample.

    Raises
    ------
    InputError
        If learner and table are incompatible, the table has too few rows for the method, or
        number, size or seed are out of range.

    Examples
    --------
    >>> stability = gv.edge_stability(survey, "chow-liu", subsamples=10)
    >>> [survey.names[k] for k in stability.edges[0]], float(stability.frequencies[0])
    (['home', 'commute'], 1.0)
    """
    plan = _plan(table, learner, subsamples, method, size, seed)
    found = parallel_map(
        _found_edges, range(plan.subsamples), shared=plan, jobs=jobs, callback=callback
    )
    return _collected(plan, found)


def stability_steps(
    table: Tabular,
    learner: Learner | str = DEFAULT,
    *,
    subsamples: int = SUBSAMPLES,
    method: Method = "complementary-pairs",
    size: int | None = None,
    seed: int = 0,
    every_step: bool = False,
) -> Iterator[EdgeStability]:
    """Yield the result of :func:`edge_stability` after each subsample.

    The last value equals that of :func:`edge_stability`; the generator may be closed earlier. With
    `every_step` the latest value is yielded again after each activation step of the learner, so
    that a scheduler can interleave other work. Parameters are checked at the call.

    Examples
    --------
    >>> from graftviz.evaluation.selection import stability_steps
    >>> [found.done for found in stability_steps(survey, gv.ChowLiu(), subsamples=4)]
    [1, 2, 3, 4]
    """
    plan = _plan(table, learner, subsamples, method, size, seed)
    return _steps(plan, every_step)


def _steps(plan: _Plan, every_step: bool) -> Iterator[EdgeStability]:
    found: list[FoundEdges] = []
    latest = _collected(plan, found)
    for index in range(plan.subsamples):
        steps = fit_steps(plan.learner, plan.part(index), learner_seed(index, seed=plan.seed))
        while True:
            try:
                next(steps)
            except StopIteration as stop:
                found.append(found_edges(stop.value.model()))
                break
            if every_step:
                yield latest
        latest = _collected(plan, found)
        yield latest


def _plan(
    table: Tabular,
    learner: Learner | str,
    subsamples: int,
    method: Method,
    size: int | None,
    seed: int,
) -> _Plan:
    table, learner = table_and_learner(table, learner)
    learner.check(table)
    size = subsample_size(table.n_rows, method, size)
    check_subsamples(subsamples, method, seed)
    return _Plan(table, learner, int(subsamples), method, size, int(seed))


def _found_edges(plan: _Plan, index: int) -> FoundEdges:
    outcome = fit(plan.learner, plan.part(index), learner_seed(index, seed=plan.seed))
    assert outcome is not None  # the number of edges is not limited
    return found_edges(outcome.model())


def _collected(plan: _Plan, found: list[FoundEdges]) -> EdgeStability:
    tally = Counter(tuple(edge) for sample in found for edge in sample.edges.tolist())
    ranked = sorted(tally.items(), key=lambda item: (-item[1], item[0]))
    return EdgeStability(
        method=plan.method,
        learner=plan.learner,
        seed=plan.seed,
        n_variables=plan.table.n_variables,
        n_rows=plan.table.n_rows,
        n_subsample_rows=plan.size,
        planned=plan.subsamples,
        edges=np.array([edge for edge, _ in ranked], dtype=np.int64).reshape(-1, 2),
        counts=np.array([count for _, count in ranked], dtype=np.int64),
        edge_counts=np.array([len(sample.edges) for sample in found], dtype=np.int64),
        found=tuple(found),
    )
