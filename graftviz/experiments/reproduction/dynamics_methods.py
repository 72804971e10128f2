"""Methods of the thesis's chapter 2 as its figures compare them, and what is measured of each."""

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
)
from graftviz.figures.reproduction import Look, scale_look
from graftviz.figures.reproduction_dynamics import SpreadLine
from graftviz.figures.style import BLACK, GREY, VERMILION
from graftviz.options import option_specs

PARENTS = 15  # of the synthetic experiments
FRACTIONS = (0.1, 0.2, 0.5)
_NOT_SPOKEN = ", common"


class DynamicsMethod(NamedTuple):
    """A learner, how it is called in figures, and how it is drawn."""

    name: str
    learner: DynamicsLearner
    look: Look


DENSE, INDUCING, ENFORCING = "dense", "sparsity inducing", "sparsity enforcing, parents told"
DENSE_LOOK = Look(VERMILION, "dot", "star")
INDUCING_LOOK = Look(BLACK, "solid", "x")
_ENFORCING_LOOK = Look(GREY, "dash", "triangle-up")


def dense() -> DynamicsMethod:
    """Return dense learning."""
    return DynamicsMethod(DENSE, Dense(), DENSE_LOOK)


def inducing(parents: int) -> DynamicsMethod:
    """Return sparsity inducing learning, what scalable learning is compared with."""
    return DynamicsMethod(INDUCING, SparsityInducing(parents=parents), INDUCING_LOOK)


def enforcing() -> DynamicsMethod:
    """Return sparsity enforcing learning; it is told the true parents where it is measured."""
    return DynamicsMethod(ENFORCING, SparsityEnforcing(), _ENFORCING_LOOK)


@cache
def scalable(parents: int, share: float, *, common: bool = False) -> DynamicsMethod:
    """Return scalable structure learning with a share of the series as seeds.

    With `common`, series that no seed speaks for get what drives the seeds in general: they are
    not looked at, as in the thesis. Otherwise they are learned from their own data.
    """
    learner = ScalableStructure(parents=parents, seeds=share)
    if common:
        learner = replace(learner, unspoken="common")
    k = FRACTIONS.index(share) * 2 if share in FRACTIONS else 1
    name = f"scalable, {share:.0%} seeds{_NOT_SPOKEN if common else ''}"
    return DynamicsMethod(name, learner, scale_look(k, faint=common))


def options_of(learner: DynamicsLearner) -> dict[str, Any]:
    """Return name and options of a learner, as JSON has them."""
    options = {spec.name: getattr(learner, spec.name) for spec in option_specs(learner)}
    return {"learner": learner.name, **options}


def told_truth(learner: DynamicsLearner, truth: LinearSystem) -> DynamicsLearner:
    """Return the learner; sparsity enforcing with the parents of `truth`."""
    if not isinstance(learner, SparsityEnforcing):
        return learner
    parents = tuple(tuple(truth.parents(i).tolist()) for i in range(truth.n_series))
    return replace(learner, adjacency=parents)


def learned(data: TimeSeries | Transitions, learner: DynamicsLearner, seed: int) -> DynamicsResult:
    """Learn with one thread for linear algebra.

    All methods then have the same core, and least squares on a few parents, of which a system needs
    thousands, do not wait for threads whose core is taken.

    Raises
    ------
    KeyboardInterrupt
        When learning was interrupted: a system of some of its rows must not be measured.
    """
    with threadpool_limits(limits=1):
        result = dynamics.learn(data, learner, seed=seed)
    if not result.complete:
        raise KeyboardInterrupt
    return result


def rehearse_all() -> None:
    """Learn tiny systems by all learners, so that nothing is compiled while time counts."""
    tiny = dynamics.simulate(dynamics.random_system(6, density=0.5), 60)
    for learner in (Dense(), SparsityInducing(parents=2), ScalableStructure(parents=2)):
        learned(tiny, learner, 0)


STRUCTURE, PRECISION, COEFFICIENTS = "structure_recall", "structure_precision", "coefficient_error"
PREDICTION, TWO_STEPS = "prediction_error", "prediction_error_2_steps"
MEASURES: Mapping[str, str] = {
    STRUCTURE: "StructRec",
    PRECISION: "precision of the parents",
    COEFFICIENTS: "CoeffRecError",
    PREDICTION: "PredError",
    TWO_STEPS: "PredError two steps ahead",
}


def measured(
    system: LinearSystem, truth: LinearSystem, test: TimeSeries | Transitions
) -> dict[str, float]:
    """Return all measures of a learned system whose truth is known."""
    return {
        STRUCTURE: dynamics.structure_recall(system, truth),
        PRECISION: dynamics.structure_precision(system, truth),
        COEFFICIENTS: dynamics.coefficient_error(system, truth),
        PREDICTION: dynamics.prediction_error(system, test),
        TWO_STEPS: dynamics.prediction_error(system, test, steps=2),
    }


def finite(value: float) -> float | None:
    """Return the value, or None for one that JSON cannot hold: an unstable system's forecast."""
    return float(value) if math.isfinite(value) else None


def mean_line(name: str, runs: Mapping[float, Sequence[float]], look: Look) -> SpreadLine:
    """Return the line of means and standard deviations of the runs at each place.

    Where a run has no finite value there is no point.
    """
    means, spread = [], []
    for values in runs.values():
        known = bool(np.isfinite(values).all())
        means.append(float(np.mean(values)) if known else None)
        spread.append(float(np.std(values)) if known else 0.0)
    several = any(len(values) > 1 for values in runs.values())
    return SpreadLine(name, list(runs), means, spread if several else (), look)


def power(sizes: Sequence[float], counts: Sequence[float]) -> float:
    """Return the exponent of the power law that fits best, by least squares on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(counts), 1)[0])
