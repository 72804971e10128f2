"""JSON records of runs for the view of the Race page (docs/player.md), a subset of the player's.

All functions return dicts, lists, texts, integers and finite floats of six significant digits; NaN
and infinities become None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graftviz.app.material import Material
from graftviz.evaluation.race import Course, Moment, step_moment
from graftviz.reports.replay.plain import number
from graftviz.reports.results import Run
from graftviz.reports.words.outcomes import remark_words


def race_header(
    material: Material, seed: int, budget: int, race: str, racers: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the header of a race: data common to all graphs, and the racers.

    Parameters
    ----------
    material : Material
    seed : int
    budget : int
        Largest number of edges of each racer.
    race : str
        Token of the race; records belong to runs, which several races may share.
    racers : sequence of mapping
        ``{run, name, problem}``: a racer that could not start has a sentence and no run.
    """
    test = material.test
    return {
        "race": race,
        "title": material.title,
        "names": list(material.train.names),
        "positions": [[_plain(x), _plain(y)] for x, y in np.asarray(material.places).tolist()],
        "given": material.positions is not None,
        "truth": None if material.truth is None else material.truth.tolist(),
        "racers": [dict(racer) for racer in racers],
        "facts": [
            f"{material.train.n_rows:,} rows to learn from",
            *([f"{test.n_rows:,} held out"] if test is not None else []),
            f"at most {budget:,} edges each",
            f"seed {seed}",
        ],
        "note": " ".join(material.warnings),
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
        "activated": [[edge.source, edge.target, number(edge.score)] for edge in step.activated],
        "removed": step.removed.tolist(),
        **_moment(step_moment(step, run.metrics[t - 1])),
    }


def racer_outcome(run: Run, course: Course) -> dict[str, Any]:
    """Return the record of the end of a racer."""
    outcome = run.outcome
    assert outcome is not None  # called only after the end of the run
    return {
        "steps": len(run.steps),
        "stop_reason": remark_words(outcome.stop_reason),
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
    return number(value)
