"""Small random tables, and a learner of random pairs: for tests of what watches a run."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from graftviz import DiscreteTable, FirstHit, Run
from graftviz.app.material import SourceCache
from graftviz.learning.base import Learner


def random_table(seed: int, n: int, rows: int, most_states: int = 4) -> DiscreteTable:
    """Return a table of `n` independent variables with 1 to `most_states` states each."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most_states + 1, size=n)
    codes = np.stack([rng.integers(0, size, size=rows) for size in sizes], axis=1)
    return DiscreteTable.from_codes(codes, cardinalities=sizes)


def random_pairs(**options: Any) -> FirstHit:
    """Return a learner that activates pairs in random order, one a step, twelve if not told."""
    return FirstHit(**({"preset": "paper", "lam": 1e-9, "max_edges": 12} | options))


def finished_run(table: DiscreteTable, learner: Learner, **settings: Any) -> Run:
    """Return a run that has ended."""
    run = Run(table, learner, **settings)
    while run.advance():
        pass
    return run


class Idle:
    """Takes tasks and does nothing, so that a test can work them by hand."""

    def __init__(self) -> None:
        self._tasks: list[Any] = []

    def queue(self) -> Idle:
        return self

    def withdraw(self, task: Any) -> None:
        if task in self._tasks:
            self._tasks.remove(task)

    def submit(self, task: Any) -> None:
        if task not in self._tasks:
            self._tasks.append(task)

    @property
    def waiting(self) -> list[Any]:
        return list(self._tasks)

    def work_all(self) -> None:
        while self._tasks:
            task = self._tasks[0]
            if not task.work(float("inf")):
                self.withdraw(task)


def clear_jobs() -> None:
    """Forget the jobs that sessions share, which the functions of `shared_job` refer to."""
    pages = [module for name, module in sys.modules.items() if name.startswith("graftviz.app.")]
    for function in [value for module in pages for value in vars(module).values()]:
        for cell in getattr(function, "__closure__", None) or ():
            if isinstance(cell.cell_contents, SourceCache):
                cell.cell_contents.clear()
