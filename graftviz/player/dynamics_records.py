"""A linear dynamical system as the Dynamics page's picture is told of it, in plain JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftviz.dynamics import (
    LinearSystem,
    NodeStep,
    TimeSeries,
    prediction_error,
    residual_deviation,
    several_steps,
)
from graftviz.narrative.dynamics import row_words

DIGITS = 5
BAND = 2.0  # residual standard deviations on either side of a prediction
MOST_MOMENTS = 2_000  # of a series that is drawn; of a longer window, the last ones


def influence_graph(
    names: Sequence[str],
    positions: np.ndarray,
    key: str,
    *,
    given: bool,
    sizes: np.ndarray,
    truth: LinearSystem | None = None,
) -> dict[str, Any]:
    """Return the series, their places (0 … 10000, y downwards) and the true A, where it is known.

    With `given`, places are known ones (a map) and keep their shape. `sizes`, shape (n,), are the
    standard deviations of the series: coefficients are drawn in units of them.
    """
    return {
        "id": key,
        "names": list(names),
        "positions": np.rint(positions).astype(int).tolist(),
        "given": given,
        "sizes": numbers(np.where(sizes > 0.0, sizes, 1.0)),
        "truth": None if truth is None else matrix_rows(truth),
    }


def matrix_rows(system: LinearSystem) -> list[list[list[float]]]:
    """Return the rows of A as [[sources], [coefficients]]."""
    matrix = system.coefficients
    rows = []
    for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        sources = matrix.indices[start:end].tolist()
        rows.append([sources, numbers(matrix.data[start:end])])
    return rows


def row_record(
    step: NodeStep, names: Sequence[str], spoken_by: int, unspoken: str
) -> dict[str, Any]:
    """Return one row of A; the last two arguments are those of :func:`row_words`."""
    return {
        "node": step.node,
        "kind": step.kind,
        "parents": step.parents.tolist(),
        "weights": numbers(step.coefficients),
        "residual": number(step.residual),
        "twoHop": None if step.two_hop is None else numbers(step.two_hop),
        "lines": list(step.lines),
        "words": row_words(step, names, spoken_by, unspoken),
    }


def series_record(
    system: LinearSystem, train: TimeSeries, test: TimeSeries, node: int, horizon: int
) -> dict[str, Any]:
    """Return one series over the held-out rows, as it was and as it was predicted.

    The band around a prediction is :data:`BAND` times the root mean square error of predictions as
    far ahead on the training rows; ``error`` is PredError of all series, as far ahead.

    Raises
    ------
    InputError
        When there are no more held-out rows than the horizon.
    """
    residual = float(residual_deviation(system, train.values, horizon)[node])
    predicted = several_steps(system, test.values, horizon)[:, node][-MOST_MOMENTS:]
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
        "error": number(prediction_error(system, test, steps=horizon)),
        "times": list(times),
        "first": train.n_rows + test.n_rows - len(seen) + 1,
    }


def numbers(values: np.ndarray) -> list[float]:
    """Return numbers shortened for the way to the browser."""
    return [number(value) for value in values.tolist()]


def number(value: float) -> float:
    """Return one number, shortened; those beyond all bounds of JSON become the largest there is."""
    return float(f"{np.nan_to_num(value):.{DIGITS}g}")
