"""JSON records of runs for the view of the Race page (docs/player.md), a subset of the player's.

All functions return dicts, lists, texts, integers and finite floats of six significant digits; NaN
and infinities become None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graftviz.player.records import DIGITS
from graftviz.racing import Course, Moment, step_moment
from graftviz.runs import Run


def race_header(
    *,
    race: str,
    title: str,
    names: Sequence[str],
    places: np.ndarray,
    truth: np.ndarray | None,
    racers: Sequence[dict[str, Any]],
    has_natural_positions: bool = False,
    facts: Sequence[str] = (),
    note: str = "",
) -> dict[str, Any]:
    """Return the header of a race: data common to all graphs, and the racers.

    Parameters
    ----------
    race : str
        Token of the race; records belong to runs, which several races may share.
    title : str
        Title of the data set.
    names : sequence of str
        Names of the variables.
    places : array, shape (n, 2)
        Positions of the variables, 0 … 10000.
    truth : int array, shape (k, 2), or None
    racers : sequence of dict
        ``{run, name, problem}``: a racer that could not start has a sentence and no run.
    has_natural_positions : bool
        Whether the positions are natural ones, such as those of a map, whose aspect ratio must be
        preserved.
    facts : sequence of str
        Common properties, e.g. "seed 0".
    note : str
        Sentence shown below the title.
    """
    return {
        "race": race,
        "title": title,
        "names": list(names),
        "positions": [[_plain(x), _plain(y)] for x, y in np.asarray(places).tolist()],
        "given": has_natural_positions,
        "truth": None if truth is None else truth.tolist(),
        "racers": [dict(racer) for racer in racers],
        "facts": list(facts),
        "note": note,
    }


def racer_header(course: Course, *, run: str, objective: str, has_test: bool) -> dict[str, Any]:
    """Return the header of a racer after its first step.

    `objective` is the name of its objective; objectives can be compared only if the yardsticks of
    the racers are equal.
    """
    return {
        "run": run,
        "objective": objective,
        "yardstick": course.yardstick,
        "tested": has_test,
        "start": _moment(course.moments[0]),
    }


def racer_record(run: Run, t: int) -> dict[str, Any]:
    """Return the record of step `t`: changed edges, and the measures after the step."""
    step = run.steps[t - 1]
    return {
        "t": t,
        "activated": [[edge.source, edge.target] for edge in step.activated],
        "removed": step.removed.tolist(),
        **_moment(step_moment(step, run.metrics[t - 1])),
    }


def racer_outcome(run: Run, course: Course) -> dict[str, Any]:
    """Return the record of the end of a racer."""
    outcome = run.outcome
    assert outcome is not None  # called only after the end of the run
    return {
        "steps": len(run.steps),
        "stop_reason": outcome.stop_reason,
        "objective_name": outcome.objective_name,
        "yardstick": course.yardstick,
        "dropped": outcome.dropped_at_the_end.tolist(),
        **_moment(course.moments[-1]),
    }


def _moment(moment: Moment) -> dict[str, Any]:
    values = moment._asdict()
    del values["step"]
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: int | float | None) -> int | float | None:
    if value is None or isinstance(value, int):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
