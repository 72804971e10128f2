"""One run of a learner, drained for its model; steps are passed on so that callers can pause."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from graftviz.learners.base import Learner
from graftviz.table import DiscreteTable
from graftviz.trace import Outcome, Step


def fit_steps(
    learner: Learner, table: DiscreteTable, seed: int, *, most_edges: int | None = None
) -> Generator[Step, None, Outcome | None]:
    """Run `learner`, yielding its steps, and return its outcome.

    None is returned instead as soon as more than `most_edges` edges are active: the run is then
    given up.
    """
    steps = learner.steps(table, seed=seed)
    try:
        while True:
            step = next(steps)
            if most_edges is not None and step.edges > most_edges:
                return None
            yield step
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome
    finally:
        steps.close()


def fit(
    learner: Learner, table: DiscreteTable, seed: int, *, most_edges: int | None = None
) -> Outcome | None:
    """Run `learner` to its end; see :func:`fit_steps`."""
    steps = fit_steps(learner, table, seed, most_edges=most_edges)
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        outcome: Outcome | None = stop.value
        return outcome


def stream(seed: int, *path: int) -> np.random.Generator:
    """Return the random stream of `seed` for one purpose and place; all are independent."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path))


def seed_of(seed: int, *path: int) -> int:
    """Return a seed for a learner, independent of all others made from `seed`."""
    return int(np.random.SeedSequence(seed, spawn_key=path).generate_state(1)[0])
