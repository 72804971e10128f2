"""Eviction of the runs that a session keeps beside those on show."""

from __future__ import annotations

from collections.abc import Collection

from graftviz.ui.limits import limits
from graftviz.ui.recording import Plan
from graftviz.ui.session_run import SessionRun
from graftviz.ui.url_state import UPLOAD


def let_go(runs: dict[Plan, SessionRun], shown: Collection[SessionRun | None], most: int) -> None:
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
    tables = {_uploaded_table(plan) for plan, run in runs.items() if run in shown} - {""}
    kept, size = 0, 0.0
    for plan, run in list(runs.items())[::-1]:
        kept, size = kept + 1, size + run.kept_bytes / 1e6
        is_replaced = bool(tables) and _uploaded_table(plan) not in tables | {""}
        if run not in shown and (is_replaced or kept > most or size > limits().kept_memory):
            del runs[plan]
            run.forget()


def _uploaded_table(plan: Plan) -> str:
    """Return the identity of the uploaded table of a plan, without the seed; empty for others."""
    is_uploaded = plan.material.startswith(f"{UPLOAD}:")
    return plan.material.rpartition(":")[0] if is_uploaded else ""
