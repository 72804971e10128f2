"""Methods of chapter 2 of the thesis, and their measures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from graftviz import dynamics
from graftviz.dynamics import (
    Dense,
    DynamicsLearner,
    DynamicsResult,
    LinearSystem,
    ScalableStructure,
    SparsityEnforcing,
    SparsityInducing,
    TimeSeries,
    Transitions,
    takes_parents,
)
from graftviz.figures.reproduction import Look, scale_look
from graftviz.figures.reproduction_dynamics import SpreadLine
from graftviz.figures.style import BLACK, GREY, VERMILION
from graftviz.options import option_specs

PARENTS = 15  # of the synthetic experiments
FRACTIONS = (0.1, 0.2, 0.5)
_COMMON = ", common"


class DynamicsMethod(NamedTuple):
    """Learner with its name and line style in figures."""

    name: str
    learner: DynamicsLearner
    look: Look


DENSE, INDUCING, ENFORCING = "dense", "sparsity inducing", "sparsity enforcing, parents given"
DENSE_LOOK = Look(VERMILION, "dot", "star")
INDUCING_LOOK = Look(BLACK, "solid", "x")
_ENFORCING_LOOK = Look(GREY, "dash", "triangle-up")


def dense() -> DynamicsMethod:
    """Return dense learning."""
    return DynamicsMethod(DENSE, Dense(), DENSE_LOOK)


def inducing(parents: int) -> DynamicsMethod:
    """Return sparsity inducing learning, the baseline of scalable learning."""
    return DynamicsMethod(INDUCING, SparsityInducing(parents=parents), INDUCING_LOOK)


def enforcing() -> DynamicsMethod:
    """Return sparsity enforcing learning; the parts set the true parents."""
    return DynamicsMethod(ENFORCING, SparsityEnforcing(), _ENFORCING_LOOK)


@cache
def scalable(parents: int, share: float, *, common: bool = False) -> DynamicsMethod:
    """Return scalable structure learning with a share of the series as seeds.

    With `common`, series not covered by a seed get common parents of the seeds, as in the thesis.
    Otherwise they are learned from their own data.
    """
    learner = ScalableStructure(parents=parents, seeds=share)
    if common:
        learner = replace(learner, unspoken="common")
    k = FRACTIONS.index(share) * 2 if share in FRACTIONS else 1
    name = f"scalable, {share:.0%} seeds{_COMMON if common else ''}"
    return DynamicsMethod(name, learner, scale_look(k, faint=common))


def options_of(learner: DynamicsLearner) -> dict[str, Any]:
    """Return name and options of a learner as JSON values."""
    options = {spec.name: getattr(learner, spec.name) for spec in option_specs(learner)}
    return {"learner": learner.name, **options}


def with_true_parents(learner: DynamicsLearner, truth: LinearSystem) -> DynamicsLearner:
    """Return the learner, with the parents of `truth` if it is sparsity enforcing."""
    if not takes_parents(learner):
        return learner
    parents = tuple(tuple(truth.parents(i).tolist()) for i in range(truth.n_series))
    return replace(learner, adjacency=parents)


def learn_single_threaded(
    data: TimeSeries | Transitions, learner: DynamicsLearner, seed: int
) -> DynamicsResult:
    """Learn with one thread for linear algebra.

    All methods then use one core, and the thousands of small least-squares problems of a system do
    not wait for threads.

    Raises
    ------
    KeyboardInterrupt
        If learning was interrupted: an incomplete system must not be measured.
    """
    with threadpool_limits(limits=1):
        result = dynamics.learn(data, learner, seed=seed)
    if not result.complete:
        raise KeyboardInterrupt
    return result


def rehearse_all() -> None:
    """Learn tiny systems by all learners, so that compilation is not timed."""
    tiny = dynamics.simulate(dynamics.random_system(6, density=0.5), 60)
    for learner in (Dense(), SparsityInducing(parents=2), ScalableStructure(parents=2)):
        learn_single_threaded(tiny, learner, 0)


STRUCTURE, PRECISION, COEFFICIENTS = "structure_recall", "structure_precision", "coefficient_error"
PREDICTION, TWO_STEPS = "prediction_error", "prediction_error_2_steps"
MEASURES: Mapping[str, str] = {
    STRUCTURE: "StructRec",
    PRECISION: "precision of the parents",
    COEFFICIENTS: "CoeffRecError",
    PREDICTION: "PredError",
    TWO_STEPS: "PredError two steps ahead",
}


def all_measures(
    system: LinearSystem, truth: LinearSystem, test: TimeSeries | Transitions
) -> dict[str, float]:
    """Return all measures of a learned system against the true one."""
    return {
        STRUCTURE: dynamics.structure_recall(system, truth),
        PRECISION: dynamics.structure_precision(system, truth),
        COEFFICIENTS: dynamics.coefficient_error(system, truth),
        PREDICTION: dynamics.prediction_error(system, test),
        TWO_STEPS: dynamics.prediction_error(system, test, steps=2),
    }


def finite(value: float) -> float | None:
    """Return the value, or None if it is not finite, as in forecasts of unstable systems."""
    return float(value) if math.isfinite(value) else None


def mean_line(name: str, runs: Mapping[float, Sequence[float]], look: Look) -> SpreadLine:
    """Return a line with means and standard deviations of the runs at each x.

    Points with a non-finite value are omitted.
    """
    means, spread = [], []
    for values in runs.values():
        is_finite = bool(np.isfinite(values).all())
        means.append(float(np.mean(values)) if is_finite else None)
        spread.append(float(np.std(values)) if is_finite else 0.0)
    several = any(len(values) > 1 for values in runs.values())
    return SpreadLine(name, list(runs), means, spread if several else (), look)


def power(sizes: Sequence[float], counts: Sequence[float]) -> float:
    """Return the exponent of a power law fitted by least squares on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(counts), 1)[0])
