"""Prepared series, runs on them, and measures of the learned systems for comparisons.

A curve over the number of parents or of seeds needs the regression of every series once: it does
not depend on either. Each point of the curve only selects parents and fits least squares on them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graftviz.data.series.reading import read_series
from graftviz.data.series.series import TimeSeries, Transitions, centred, standardise
from graftviz.data.sets.files import read_positions
from graftviz.data.sets.registry import ROOT
from graftviz.dynamics.base import DynamicsLearner, NodeStep, Row
from graftviz.dynamics.learners import ScalableStructure, SparsityEnforcing
from graftviz.dynamics.learning import DynamicsResult, learning_steps
from graftviz.dynamics.search import (
    ParentSearch,
    SeriesRegression,
    fit_best_parents,
    regress_block,
    split_blocks,
)
from graftviz.dynamics.simulation import random_system, simulate
from graftviz.dynamics.system import (
    LinearSystem,
    coefficient_error,
    prediction_deviation,
    prediction_error,
    structure_precision,
    structure_recall,
    system_of_rows,
)
from graftviz.utils.errors import InputError
from graftviz.utils.options import checked_seed

SERIES, POSITIONS = "series.csv", "positions.csv"
_NEIGHBOURS = 2  # of the series that follow a series most closely, for its place
_REPEATS = 3
_QUICK = 0.5  # seconds
_PARENTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  # of the series that are seeds


class SampleSeries(NamedTuple):
    """Sample of time series.

    Attributes
    ----------
    title : str
    series : TimeSeries
    positions : float array, shape (n, 2), or None
        As :func:`graftviz.data.sets.files.read_positions` returns them.
    """

    title: str
    series: TimeSeries
    positions: np.ndarray | None


def sample_keys(root: Path = ROOT) -> tuple[str, ...]:
    """Return the names of the folders with series, sorted."""
    return tuple(sorted(path.parent.name for path in root.glob(f"*/{SERIES}")))


def load_sample(key: str, root: Path = ROOT) -> SampleSeries:
    """Read a sample: a folder of ``sample_data`` with a ``series.csv``, whose name is the key.

    Optional files are ``positions.csv``, the positions of the series, and ``about.json`` with a
    ``title``.

    Raises
    ------
    InputError
        When there is no sample with that key, or one of its files cannot be used.
    """
    folder = root / key
    if key not in sample_keys(root):
        raise InputError(f"There is no sample of series {key!r} in {root.name}.")
    series = read_series(folder / SERIES)
    places = folder / POSITIONS
    about = folder / "about.json"
    metadata = json.loads(about.read_text(encoding="utf-8")) if about.exists() else {}
    return SampleSeries(
        str(metadata.get("title", key)),
        series,
        read_positions(places, series.names) if places.exists() else None,
    )


@dataclass(frozen=True, eq=False)
class PreparedSeries:
    """Series with a division of their rows.

    Attributes
    ----------
    identity : str
        Equal for equal series with an equal division.
    title : str
    series, train, test : TimeSeries
        All rows, the first of them, and the last.
    positions : int array, shape (n, 2), or None
        Known positions in a picture, 0 … 10000, y downwards.
    truth : LinearSystem or None
    parents : tuple of n tuples of int, or None
        From a file.
    own : object
        Cache of results for uploaded series; None if their results are shared.
    """

    identity: str
    title: str
    series: TimeSeries
    train: TimeSeries
    test: TimeSeries
    positions: np.ndarray | None
    truth: LinearSystem | None = None
    parents: tuple[tuple[int, ...], ...] | None = None
    own: Any = None

    @property
    def n(self) -> int:
        """The number of series."""
        return self.series.n_series

    @property
    def neighbours(self) -> np.ndarray:
        """Pairs that a picture shows beside each other, shape (k, 2).

        They are the series that drive a series, or else those that it follows most closely.
        """
        if self.truth is None:
            pairs = _followers(self.train)
        else:
            pairs = np.argwhere(self.truth.matrix != 0.0)
        return pairs[pairs[:, 0] != pairs[:, 1]]


def prepare_series(
    identity: str,
    title: str,
    series: TimeSeries,
    test_fraction: float,
    positions: np.ndarray | None = None,
    **more: Any,
) -> PreparedSeries:
    """Hold out rows; `more` are further attributes.

    Raises
    ------
    InputError
        If too few rows are left to learn from.
    """
    train, test = series.split(test_fraction)
    places = None if positions is None else np.rint(positions).astype(np.int64)
    identity = f"{identity}:{test_fraction}"
    return PreparedSeries(identity, title, series, train, test, places, **more)


def generated_series(
    size: int, density: float, rows: int, noise: float, *, seed: int, test_fraction: float
) -> PreparedSeries:
    """Return a simulation of a stable random sparse system, prepared.

    Parameters
    ----------
    size : int
        Number of series.
    density : float
        Share of non-zero coefficients.
    rows : int
    noise : float
        Standard deviation of the observation noise.
    seed : int
    test_fraction : float
        Share of the rows to hold out.
    """
    truth = random_system(size, density=density, seed=seed)
    series = simulate(truth, rows, observation_noise=noise, seed=seed)
    title = f"Random system · {size} series, {rows:,} rows"
    identity = f"random:{(size, density, rows, noise, seed)}"
    return prepare_series(identity, title, series, test_fraction, truth=truth)


def sampled_series(key: str, test_fraction: float) -> PreparedSeries:
    """Return a sample of ``sample_data``, prepared."""
    sample = load_sample(key)
    return prepare_series(key, sample.title, sample.series, test_fraction, sample.positions)


def _followers(train: TimeSeries) -> np.ndarray:
    """Return pairs of each series and those that correlate most with it one step later."""
    values = centred(train.values)
    sizes = np.linalg.norm(values, axis=0)
    values = values / np.where(sizes > 0.0, sizes, 1.0)
    strength = np.abs(values[1:].T @ values[:-1])
    np.fill_diagonal(strength, 0.0)
    n = len(strength)
    nearest = np.argsort(-strength, axis=1, kind="stable")[:, : min(_NEIGHBOURS, n - 1)]
    return np.column_stack([np.repeat(np.arange(n), nearest.shape[1]), nearest.ravel()])


class AllRegressions(NamedTuple):
    """Regressions of all series, one and two steps ahead.

    Attributes
    ----------
    search : ParentSearch
        Data and solvers of the regressions.
    regressions : tuple of n SeriesRegression
    seed : int
    """

    search: ParentSearch
    regressions: tuple[SeriesRegression, ...]
    seed: int

    def inducing(self, k: int) -> LinearSystem:
        """Return the system of sparsity inducing learning with k parents."""
        return self._system(
            [fit_best_parents(self.search.data, one, k) for one in self.regressions]
        )

    def scalable(self, learner: ScalableStructure) -> LinearSystem:
        """Return the system of scalable structure learning with the seeds and the k of `learner`.

        Its solver options must be those of the regressions.
        """
        data = self.search.data
        search = self.search._replace(two_hop=None, k=learner.parent_count(len(data.names)))
        seeds = learner.choose_seeds(data, self.seed).tolist()
        seed_rows = [fit_best_parents(data, self.regressions[i], search.k) for i in seeds]
        others = [row for _, row in learner.other_rows(seed_rows, search)]
        return self._system(sorted([*seed_rows, *others], key=lambda row: row.node))

    def _system(self, rows: list[Row]) -> LinearSystem:
        """Return the system with the given rows, which are those of all series in order."""
        shift = self.search.data.shift
        intercept = [shift[row.node] - row.coefficients @ shift[row.parents] for row in rows]
        return system_of_rows(
            self.search.data.names,
            [row.parents for row in rows],
            [row.coefficients for row in rows],
            np.array(intercept),
        )


def regress_all(
    data: TimeSeries | Transitions, learner: ScalableStructure, *, seed: int = 0
) -> Iterator[AllRegressions | None]:
    """Regress all series with the options of `learner`; yield None per block, then the result.

    Raises
    ------
    InputError
        When there are too few rows for the options.
    """
    learner.check(data)
    standard = standardise(data, centre=learner.centre)
    search = learner.search(standard, checked_seed(seed))
    regressions: list[SeriesRegression] = []
    for block in split_blocks(range(len(standard.names))):
        regressions += regress_block(search, block)
        yield None
    yield AllRegressions(search, tuple(regressions), seed)


class DynamicsPlan(NamedTuple):
    """Settings of a run on given series.

    Attributes
    ----------
    learner : DynamicsLearner
    seed : int
    wiring : str
        Source of the parents, for learners that need given parents: "truth", "file" or the name of
        a learner; empty for all others.
    source : DynamicsLearner or None
        The learner whose parents these are, where it is one.
    """

    learner: DynamicsLearner
    seed: int
    wiring: str = ""
    source: DynamicsLearner | None = None

    @property
    def costly(self) -> DynamicsLearner:
        """The learner that most of the time is spent on."""
        return self.source or self.learner


def learning(
    material: PreparedSeries, plan: DynamicsPlan
) -> Iterator[NodeStep | DynamicsResult | None]:
    """Yield every step, None while something else is learned first, and the result at the end.

    A learner that needs given parents may take them from another learner, which is run first.
    """
    learner = plan.learner
    if isinstance(learner, SparsityEnforcing):
        truth, adjacency = material.truth, material.parents
        if plan.source is not None:
            for found in learning(material, DynamicsPlan(plan.source, plan.seed)):
                truth = found.system if isinstance(found, DynamicsResult) else None
                yield None
        if plan.wiring != "file":
            assert truth is not None  # the plan has made sure
            adjacency = tuple(tuple(truth.parents(i).tolist()) for i in range(truth.n_series))
        learner = replace(learner, adjacency=adjacency)
    yield from learning_steps(material.train, learner, seed=plan.seed, test=material.test)


@dataclass(frozen=True)
class Measured:
    """Quality of a learned system.

    `standard_error` is that of `pred_error_test`, None for points of curves. `parents` and `seeds`
    are those of the points of curves; `recall`, `precision` and `coefficient_error` are available
    only if the truth is known.
    """

    learner: str
    pred_error_train: float
    pred_error_test: float
    entries: int
    parents: int = 0
    seeds: int = 0
    wiring: str = ""
    seconds: float = 0.0
    recall: float | None = None
    precision: float | None = None
    coefficient_error: float | None = None
    standard_error: float | None = None


def measuring(material: PreparedSeries, plan: DynamicsPlan) -> Iterator[Measured | None]:
    """Learn to the end and yield its measures as the last value; until then None.

    A quick run is repeated, and the shortest time is reported: the first may include other work
    of the machine.
    """
    seconds: list[float] = []
    while not seconds or (len(seconds) < _REPEATS and sum(seconds) < _QUICK):
        for step in learning(material, plan):
            if isinstance(step, DynamicsResult):
                system = step.system
                seconds.append(step.seconds)
            yield None
    facts: dict[str, Any] = {"wiring": plan.wiring, "seconds": min(seconds)}
    facts["standard_error"] = prediction_deviation(system, material.test)
    yield _measured(material, system, learner=plan.learner.name, **facts)


def _measured(material: PreparedSeries, system: LinearSystem, **facts: Any) -> Measured:
    """Return the measures of a system."""
    if (truth := material.truth) is not None:
        facts["recall"] = structure_recall(system, truth)
        facts["precision"] = structure_precision(system, truth)
        facts["coefficient_error"] = coefficient_error(system, truth)
    return Measured(
        pred_error_train=prediction_error(system, material.train),
        pred_error_test=prediction_error(system, material.test),
        entries=int(system.coefficients.nnz),
        **facts,
    )


@dataclass(frozen=True)
class Curves:
    """Results for other k and |S| so far.

    Attributes
    ----------
    by_parents : tuple of Measured
        Of scalable and of inducing learning, for several k.
    by_seeds : tuple of Measured
        Of scalable learning, for several |S|.
    """

    by_parents: tuple[Measured, ...] = ()
    by_seeds: tuple[Measured, ...] = ()


class Counts(NamedTuple):
    """Numbers of parents and of seeds that are compared with those of a learner."""

    learner: ScalableStructure
    parents: tuple[int, ...]
    seeds: tuple[int, ...]


def counts_near(learner: ScalableStructure, material: PreparedSeries) -> Counts:
    """Return numbers of parents and of seeds to compare with those of `learner`, theirs included.

    Its option `seeds` must be a number of series.
    """
    n, k = material.n, learner.parent_count(material.n)
    most = min(n, material.train.n_rows - 4, max(3 * k, 20))
    parents = {one for one in _PARENTS if one <= most} | {k}
    seeds = {max(1, round(share * n)) for share in _SHARES} | {int(learner.seeds)}
    return Counts(learner, tuple(sorted(parents)), tuple(sorted(seeds)))


def measuring_curves(
    material: PreparedSeries, regressions: AllRegressions, counts: Counts
) -> Iterator[Curves]:
    """Measure the systems that follow from the regressions, seeds and parents in turn."""
    learner, curves = counts.learner, Curves()
    for k, seeds in zip_longest(counts.parents, counts.seeds):
        if k is not None:
            one = _measured(material, regressions.inducing(k), learner="inducing", parents=k)
            curves = replace(curves, by_parents=(*curves.by_parents, one))
            yield curves
            system = regressions.scalable(replace(learner, parents=k))
            one = _measured(material, system, learner="scalable", parents=k)
            curves = replace(curves, by_parents=(*curves.by_parents, one))
            yield curves
        if seeds is not None:
            system = regressions.scalable(replace(learner, seeds=float(seeds)))
            one = _measured(material, system, learner="scalable", seeds=seeds)
            curves = replace(curves, by_seeds=(*curves.by_seeds, one))
            yield curves
