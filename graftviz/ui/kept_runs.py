"""Which runs of a visitor are kept beside those on show, for who comes back to them."""

from __future__ import annotations

from collections.abc import Collection

from graftviz.ui.limits import limits
from graftviz.ui.recording import Plan
from graftviz.ui.session_run import SessionRun


def let_go(runs: dict[Plan, SessionRun], shown: Collection[SessionRun | None], most: int) -> None:
    """Put away what is beyond the limits, and take it out of `runs`; never what is on show.

    Parameters
    ----------
    runs : dict
        The latest last.
    shown : collection of SessionRun or None
    most : int
        How many are kept; fewer when their records are larger than ``kept_memory`` together.
    """
    kept, size = 0, 0.0
    for plan, run in list(runs.items())[::-1]:
        kept, size = kept + 1, size + run.kept_bytes / 1e6
        if run not in shown and (kept > most or size > limits().kept_memory):
            del runs[plan]
            run.forget()
