"""Runs of a learner for its outcome; the steps are yielded so that callers can pause."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner, drained
from graftviz.learning.trace import Outcome, Step


def fit_steps(
    learner: Learner, table: DiscreteTable, seed: int, *, max_edges: int | None = None
) -> Generator[Step, None, Outcome | None]:
    """Run `learner`, yielding its steps, and return its outcome.

    The run is stopped, and None returned, as soon as more than `max_edges` edges are active.
    """
    steps = learner.steps(table, seed=seed)
    try:
        while True:
            step = next(steps)
            if max_edges is not None and step.n_edges > max_edges:
                return None
            yield step
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome
    finally:
        steps.close()


def fit(
    learner: Learner, table: DiscreteTable, seed: int, *, max_edges: int | None = None
) -> Outcome | None:
    """Run `learner` to its end and return its outcome; see :func:`fit_steps`."""
    if max_edges is None:
        return learner.outcome(table, seed=seed)
    return drained(fit_steps(learner, table, seed, max_edges=max_edges))


def stream(seed: int, *path: int) -> np.random.Generator:
    """Return the random generator of `seed` for a spawn key; all are independent."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path))


def seed_of(seed: int, *path: int) -> int:
    """Return the seed of a learner for a spawn key; all are independent."""
    return int(np.random.SeedSequence(seed, spawn_key=path).generate_state(1)[0])
