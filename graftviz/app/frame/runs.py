"""Runs of the pages that learn from a table: records as a browser sees them, and their store."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from graftviz.app.jobs import EVERYTHING
from graftviz.app.material import Material, uploaded_table
from graftviz.app.session_run import SessionRun
from graftviz.learning.base import Learner
from graftviz.learning.run import Branch
from graftviz.reports.replay.plain import whole_number
from graftviz.reports.results import Run

_AT_ONCE = 0.5  # seconds to wait for a complete new run
_MORE_STEPS = 0.25  # seconds to wait for requested steps
MOST_MEGABYTES = 60.0  # of the records that a page keeps, besides those of the shown runs


@dataclass(frozen=True)
class RunPlan:
    """Data, learner and seed of a run; equal plans give equal runs.

    `ghost` is the run that it is shown with: the one it branched from, or is compared with.
    """

    material: str
    learner: Learner
    seed: int
    branch: Branch | None = None
    ghost: RunPlan | None = None


def new_run(plan: RunPlan, material: Material) -> Run:
    """Return a run that has not begun.

    Raises
    ------
    InputError
        When plan and material do not fit together.
    """
    return Run(
        material.train,
        plan.learner,
        seed=plan.seed,
        test=material.test,
        truth=material.truth,
        branch=plan.branch,
    )


def everything_so_far(runs: Iterable[SessionRun]) -> str:
    """Return, as JSON, headers and feeds of all computed steps, after a short wait."""
    chosen = list(runs)
    _wait([(run, EVERYTHING) for run in chosen if run.has_credit], _AT_ONCE)
    return _json([(run, 1, EVERYTHING) for run in chosen])


def requested_feeds(runs: Iterable[SessionRun], wants: object) -> str:
    """Request the steps ``[[run, from, count], …]`` of a browser; return those that are ready."""
    by_token = {run.token: run for run in runs}
    requests = [
        (by_token[want[0]], whole_number(want[1], 1), whole_number(want[2], 1))
        for want in (wants if isinstance(wants, list) else [])
        if isinstance(want, list) and len(want) == 3 and want[0] in by_token
    ]
    for run, first, count in requests:
        run.grant(first - 1 + count)
    _wait([(run, first - 1 + count) for run, first, count in requests], _MORE_STEPS)
    return _json(requests)


def _json(requests: Iterable[tuple[SessionRun, int, int]]) -> str:
    parts = [
        f'{{"head":{run.header_json or "null"},"feed":{run.feed_json(first, count)}}}'
        for run, first, count in requests
    ]
    return f"[{','.join(parts)}]"


def _wait(targets: list[tuple[SessionRun, int]], seconds: float) -> None:
    """Wait for the requested steps, but not longer than `seconds` for all of them."""
    until = time.monotonic() + seconds
    for run, steps in targets:
        run.wait(steps, max(0.0, until - time.monotonic()))


class RunStore:
    """Runs of one session, by plan, the latest last."""

    def __init__(self) -> None:
        self._runs: dict[RunPlan, SessionRun] = {}

    def __contains__(self, plan: object) -> bool:
        return plan in self._runs

    def __iter__(self) -> Iterator[SessionRun]:
        return iter(list(self._runs.values()))

    def get(self, plan: RunPlan, start: Callable[[], SessionRun]) -> SessionRun:
        """Return the run of a plan, started if there is none or if it has failed."""
        run = self._runs.pop(plan, None)
        if run is None or run.failure:
            run = start()
        self._runs[plan] = run
        return run

    def plan_of(self, run: SessionRun) -> RunPlan | None:
        """Return the plan of a run; None if the run was removed."""
        return next((plan for plan, other in self._runs.items() if other is run), None)

    def keep_active(self, shown: Collection[SessionRun | None], most: int) -> None:
        """Pause all runs that are not shown, and evict those beyond the limits.

        Also evicted are runs of uploaded tables that were replaced by another.

        Parameters
        ----------
        shown : collection of SessionRun or None
        most : int
            Maximum number of runs; fewer if their records exceed `MOST_MEGABYTES` together.
        """
        on_show = {uploaded_table(p.material) for p, run in self._runs.items() if run in shown}
        tables = on_show - {""}
        count, size = 0, 0.0
        for plan, run in list(self._runs.items())[::-1]:
            count, size = count + 1, size + run.memory_bytes / 1e6
            if run in shown:
                continue
            run.revoke()
            is_replaced = bool(tables) and uploaded_table(plan.material) not in tables | {""}
            if is_replaced or count > most or size > MOST_MEGABYTES:
                del self._runs[plan]
                run.forget()

    def revoke(self) -> None:
        """Pause all runs."""
        for run in self:
            run.revoke()

    def clear(self) -> None:
        """Pause and remove all runs; their records remain valid."""
        self.revoke()
        self._runs.clear()

    def forget(self) -> None:
        """Release the memory of all runs."""
        for run in self:
            run.forget()
        self._runs.clear()
