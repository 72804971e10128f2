"""JSON records of a linear dynamical system for the view of the Dynamics page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graftviz.data.series.series import TimeSeries
from graftviz.dynamics.base import NodeStep
from graftviz.dynamics.learners import SolverOptions, has_seeds
from graftviz.dynamics.learning import DynamicsResult
from graftviz.dynamics.measuring import DynamicsPlan, PreparedSeries, learning
from graftviz.dynamics.system import LinearSystem, predict, prediction_error, residual_deviation
from graftviz.reports.layout import static_layout
from graftviz.reports.replay.plain import placed_nodes
from graftviz.reports.words.dynamics import end_words, row_words, start_words, wiring_words
from graftviz.utils.errors import InputError

DIGITS = 5
BAND = 2.0  # residual standard deviations on either side of a prediction
MOST_MOMENTS = 2_000  # maximum number of points of a drawn series, the last of the window


@dataclass(frozen=True)
class RunProgress:
    """Run so far.

    Attributes
    ----------
    opening : str
        Sentence shown before the first step.
    steps : tuple of dict
        The records of the rows.
    closing : str
        Sentence shown at the end; empty before.
    result : DynamicsResult or None
        Once it has ended.
    """

    opening: str = ""
    steps: tuple[dict[str, Any], ...] = ()
    closing: str = ""
    result: DynamicsResult | None = None


def run_progress(material: PreparedSeries, plan: DynamicsPlan) -> Iterator[RunProgress]:
    """Learn row by row, and yield the steps as they come."""
    names, learner = material.series.names, plan.learner
    k = learner.parent_count(material.n) if isinstance(learner, SolverOptions) else 0
    seeds, uncovered = int(getattr(learner, "seeds", 0)), str(getattr(learner, "uncovered", ""))
    progress = RunProgress(start_words(learner, k, seeds, wiring_words(plan.wiring)))
    yield progress
    voters: Counter[int] = Counter()  # number of seeds by each of their parents
    for step in learning(material, plan):
        if isinstance(step, NodeStep):
            if step.kind == "seed":
                voters.update(step.parents.tolist())
            record = row_record(step, names, voters[step.node], uncovered)
            progress = replace(progress, steps=(*progress.steps, record))
        elif step is not None:
            left_out = [names[i] for i in step.uncovered]
            closing = end_words(step.pred_error_test, left_out)
            progress = replace(progress, closing=closing, result=step)
        yield progress


def influence_graph(material: PreparedSeries) -> dict[str, Any]:
    """Return the series, their positions (0 … 10000, y downwards) and the true A, if available.

    Known positions (a map) keep their aspect ratio. The standard deviations of the series are the
    units of the drawn coefficients.
    """
    positions, sizes = material.positions, material.train.values.std(axis=0)
    is_known = positions is not None
    if positions is None:
        positions = static_layout(material.n, material.neighbours)
    return {
        "id": material.identity,
        **placed_nodes(material.series.names, positions, has_natural_positions=is_known),
        "sizes": numbers(np.where(sizes > 0.0, sizes, 1.0)),
        "truth": None if material.truth is None else matrix_rows(material.truth),
    }


def matrix_rows(system: LinearSystem) -> list[list[list[float]]]:
    """Return the rows of A as [[sources], [coefficients]]."""
    matrix = system.coefficients
    rows = []
    for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        sources = matrix.indices[start:end].tolist()
        rows.append([sources, numbers(matrix.data[start:end])])
    return rows


def row_record(step: NodeStep, names: Sequence[str], voters: int, uncovered: str) -> dict[str, Any]:
    """Return the record of a row of A; the last two arguments are those of :func:`row_words`."""
    return {
        "node": step.node,
        "kind": step.kind,
        "parents": step.parents.tolist(),
        "weights": numbers(step.coefficients),
        "residual": number(step.residual),
        "twoHop": None if step.two_hop is None else numbers(step.two_hop),
        "lines": list(step.lines),
        "words": row_words(step, names, voters, uncovered),
    }


def series_record(
    system: LinearSystem, train: TimeSeries, test: TimeSeries, node: int, horizon: int
) -> dict[str, Any]:
    """Return the observed and predicted values of one series on the held-out rows.

    The band around a prediction is :data:`BAND` times the root mean square error of predictions
    with the same horizon on the training rows; ``error`` is PredError of all series.

    Raises
    ------
    InputError
        When the number of held-out rows does not exceed the horizon.
    """
    residual = float(residual_deviation(system, train.values, horizon)[node])
    predicted = predict(system, test.values, horizon)[:, node][-MOST_MOMENTS:]
    seen = test.values[horizon:, node][-MOST_MOMENTS:]
    times = test.times[horizon:][-MOST_MOMENTS:]
    inside = float(np.mean(np.abs(seen - predicted) <= BAND * residual))
    return {
        "node": node,
        "horizon": horizon,
        "seen": numbers(seen),
        "predicted": numbers(predicted),
        "band": number(BAND * residual),
        "inside": number(inside),
        "error": number(prediction_error(system, test, horizon=horizon)),
        "times": list(times),
        "first": train.n_rows + test.n_rows - len(seen) + 1,
    }


def learning_record(
    material: PreparedSeries,
    plan: DynamicsPlan,
    found: RunProgress,
    *,
    node: int | None,
    failure: str = "",
) -> dict[str, Any]:
    """Return a run without its steps.

    Parameters
    ----------
    material : PreparedSeries
    plan : DynamicsPlan
    found : RunProgress
    node : int or None
        Selected series.
    failure : str
        Reason if the run stopped before its end.
    """
    learner = plan.learner
    return {
        "title": f"{material.title}: {learner.title.lower()}",
        "seeded": has_seeds(learner),
        "code": [line._asdict() for line in learner.pseudocode],
        "opening": found.opening,
        "closing": failure or found.closing,
        "notes": [] if found.result is None else list(found.result.notes),
        "done": bool(found.closing or failure),
        "node": node,
    }


def prediction_record(
    material: PreparedSeries, found: RunProgress, node: int | None, horizon: int
) -> dict[str, Any] | None:
    """Return the record of a predicted series; None until the system is learned.

    By default, it is the series with the largest variance.
    """
    if found.result is None:
        return None
    train = material.train
    if node is None:
        node = int(train.values.std(axis=0).argmax())
    try:
        return series_record(found.result.system, train, material.test, node, horizon)
    except InputError as error:
        return {"node": node, "problem": str(error)}


def numbers(values: np.ndarray) -> list[float]:
    """Return numbers rounded to :data:`DIGITS` significant digits."""
    return [number(value) for value in values.tolist()]


def number(value: float) -> float:
    """Return a number rounded to :data:`DIGITS` significant digits; infinities become finite."""
    return float(f"{np.nan_to_num(value):.{DIGITS}g}")
