"""Runs in parts, and measures of the learned systems for comparisons.

Learners that need given parents may take them from another learner, which is run first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, NamedTuple

from graftviz.dynamics.all_regressions import AllRegressions
from graftviz.dynamics.base import DynamicsLearner, NodeStep
from graftviz.dynamics.enforcing import SparsityEnforcing
from graftviz.dynamics.learning import DynamicsResult, learning_steps
from graftviz.dynamics.metrics import (
    coefficient_error,
    prediction_deviation,
    prediction_error,
    structure_precision,
    structure_recall,
)
from graftviz.dynamics.prepared import PreparedSeries
from graftviz.dynamics.scalable import ScalableStructure
from graftviz.dynamics.system import LinearSystem

_REPEATS = 3
_QUICK = 0.5  # seconds
_PARENTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  # of the series that are seeds


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
    """Yield every step, None while something else is learned first, and the result at the end."""
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
