"""Runs as the race on a page reads them (docs/player.md): less a step than the player wants.

Everything returned is plain: dicts, lists, text, ints and finite floats of six significant digits;
what is not a number becomes None.
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
    given: bool = False,
    facts: Sequence[str] = (),
    note: str = "",
) -> dict[str, Any]:
    """Return the header of a race: what all its pictures share, and who takes part.

    Parameters
    ----------
    race : str
        Token; feeds belong to runs, which several races may share.
    title : str
        The data set in words.
    names : sequence of str
        Of the variables.
    places : array, shape (n, 2)
        One place for every variable, 0 … 10000.
    truth : int array, shape (k, 2), or None
    racers : sequence of dict
        ``{run, name, problem}``: a racer that could not start has a sentence and no run.
    given : bool
        Whether the places are known ones, whose shape means something, such as a map's.
    facts : sequence of str
        What holds for all, e.g. "seed 0".
    note : str
        A sentence to show under the title.
    """
    return {
        "race": race,
        "title": title,
        "names": list(names),
        "positions": [[_plain(x), _plain(y)] for x, y in np.asarray(places).tolist()],
        "given": given,
        "truth": None if truth is None else truth.tolist(),
        "racers": [dict(racer) for racer in racers],
        "facts": list(facts),
        "note": note,
    }


def racer_header(course: Course, *, run: str, objective: str, has_test: bool) -> dict[str, Any]:
    """Return what is known of a racer after its first step.

    `objective` is what its objective is called; yardsticks that differ forbid to compare them.
    """
    return {
        "run": run,
        "objective": objective,
        "yardstick": course.yardstick,
        "tested": has_test,
        "start": _moment(course.moments[0]),
    }


def racer_record(run: Run, t: int) -> dict[str, Any]:
    """Return the record of step `t`: what it changed, and how the racer stands after it."""
    step = run.steps[t - 1]
    return {
        "t": t,
        "activated": [[edge.source, edge.target] for edge in step.activated],
        "removed": step.removed.tolist(),
        **_moment(step_moment(step, run.metrics[t - 1])),
    }


def racer_outcome(run: Run, course: Course) -> dict[str, Any]:
    """Return how a racer ended."""
    outcome = run.outcome
    assert outcome is not None  # a course that has ended is that of a run with an outcome
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
