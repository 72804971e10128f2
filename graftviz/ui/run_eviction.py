"""Eviction of the runs that a session keeps beside those on show."""

from __future__ import annotations

from collections.abc import Collection

from graftviz.ui.limits import limits
from graftviz.ui.material import uploaded_table
from graftviz.ui.recording import Plan
from graftviz.ui.session_run import SessionRun


def evict_runs(
    runs: dict[Plan, SessionRun], shown: Collection[SessionRun | None], most: int
) -> None:
    """Evict runs beyond the limits, and runs of uploaded tables that were replaced by another.

    Runs on show are never evicted.

    Parameters
    ----------
    runs : dict
        The latest last.
    shown : collection of SessionRun or None
    most : int
        How many are kept; fewer when their records are larger than ``kept_memory`` together.
    """
    tables = {uploaded_table(plan.material) for plan, run in runs.items() if run in shown} - {""}
    count, size = 0, 0.0
    for plan, run in list(runs.items())[::-1]:
        count, size = count + 1, size + run.memory_bytes / 1e6
        is_replaced = bool(tables) and uploaded_table(plan.material) not in tables | {""}
        if run not in shown and (is_replaced or count > most or size > limits().kept_memory):
            del runs[plan]
            run.forget()
