"""Methods of chapter 2 of the thesis, and their measures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from graftviz import dynamics
from graftviz.experiments.reproduction.rows import Row, Table
from graftviz.figures.reproduction import Look, scale_look
from graftviz.figures.style import BLACK, GREY, VERMILION
from graftviz.formats.json_values import json_value
from graftviz.options import option_values

Series: TypeAlias = dynamics.TimeSeries | dynamics.Transitions
PARENTS = 15  # of the synthetic experiments
FRACTIONS = (0.1, 0.2, 0.5)
DENSE, INDUCING, ENFORCING = "dense", "sparsity inducing", "sparsity enforcing, parents given"
STRUCTURE, PRECISION, COEFFICIENTS = "structure_recall", "structure_precision", "coefficient_error"
PREDICTION, TWO_STEPS = "prediction_error", "prediction_error_2_steps"
MEASURES: Mapping[str, str] = {
    STRUCTURE: "StructRec",
    PRECISION: "precision of the parents",
    COEFFICIENTS: "CoeffRecError",
    PREDICTION: "PredError",
    TWO_STEPS: "PredError two steps ahead",
}
UNCOVERED = (
    "The thesis does not state the treatment of series that are not a parent of any seed. Here "
    "they get the parents with the largest gradient of their own error (grafted) or common parents "
    "of the seeds (common), without using their data, as in the thesis."
)


def scalable(share: float, *, common: bool = False) -> str:
    """Return the name of scalable learning with a share of the series as seeds.

    With `common`, series not covered by a seed get common parents of the seeds, as in the thesis.
    Otherwise they are learned from their own data.
    """
    return f"scalable, {share:.0%} seeds{', common' if common else ''}"


SCALABLE = {
    scalable(share, common=common): (share, common)
    for common in (False, True)
    for share in FRACTIONS
}
LOOKS: dict[str, Look] = {
    DENSE: Look(VERMILION, "dot", "star"),
    INDUCING: Look(BLACK, "solid", "x"),
    ENFORCING: Look(GREY, "dash", "triangle-up"),
    **{
        name: scale_look(2 * FRACTIONS.index(share), faint=common)
        for name, (share, common) in SCALABLE.items()
    },
}


def learners(parents: int) -> dict[str, dynamics.DynamicsLearner]:
    """Return all methods by name; the measurement gives the true parents to enforcing."""
    found: dict[str, dynamics.DynamicsLearner] = {
        DENSE: dynamics.Dense(),
        INDUCING: dynamics.SparsityInducing(parents=parents),
        ENFORCING: dynamics.SparsityEnforcing(),
    }
    for name, (share, common) in SCALABLE.items():
        unspoken = "common" if common else "graft"
        found[name] = dynamics.ScalableStructure(parents=parents, seeds=share, unspoken=unspoken)
    return found


def options_of(learner: dynamics.DynamicsLearner) -> Row:
    """Return name and options of a learner as JSON values."""
    return {"learner": learner.name, **option_values(learner)}


def learn_single_threaded(
    data: Series, learner: dynamics.DynamicsLearner, seed: int
) -> dynamics.DynamicsResult:
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


def rehearse_all(_: object) -> None:
    """Learn tiny systems by all learners, so that compilation is not timed."""
    tiny = dynamics.simulate(dynamics.random_system(6, density=0.5), 60)
    for learner in (
        dynamics.Dense(),
        dynamics.SparsityInducing(parents=2),
        dynamics.ScalableStructure(parents=2),
    ):
        learn_single_threaded(tiny, learner, 0)


def all_measures(
    system: dynamics.LinearSystem, truth: dynamics.LinearSystem, test: Series
) -> dict[str, float]:
    """Return all measures of a learned system against the true one."""
    return {
        STRUCTURE: dynamics.structure_recall(system, truth),
        PRECISION: dynamics.structure_precision(system, truth),
        COEFFICIENTS: dynamics.coefficient_error(system, truth),
        PREDICTION: dynamics.prediction_error(system, test),
        TWO_STEPS: dynamics.prediction_error(system, test, steps=2),
    }


def spread_table(rows: Table, count: str, *by: str) -> Iterator[Row]:
    """Yield number, means and standard deviations of the rows by columns; None without a value.

    Parameters
    ----------
    count : str
        Column of the number of rows.
    """
    for place, here in rows.group(*by).items():
        columns = dict(zip(by, place, strict=True)) | {count: len(here)}
        for key in MEASURES:
            values = [row.get(key, math.nan) for row in here]
            columns |= {f"{key}_mean": np.mean(values), f"{key}_sd": np.std(values)}
        yield json_value(columns)
