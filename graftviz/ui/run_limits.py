"""Limits of a run: confirmation, refusal, and alternatives."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from graftviz.forecasting import duration_text, forecast
from graftviz.learners.base import Learner
from graftviz.memory import free_bytes, resident_bytes, size_text
from graftviz.serving.limits import limits
from graftviz.table import DiscreteTable
from graftviz.ui.visits import visits

_MEGABYTE = 1e6
_BUDGETS = (3.0, 2.0, 1.0, 0.5, 0.2, 0.05)  # edges a variable that are offered, most first


class RunCheck(NamedTuple):
    """Question or refusal before a run.

    Attributes
    ----------
    question : str
        Estimate of a run that needs confirmation; empty otherwise.
    refusal : str
        Estimate of a run beyond the limits or the available memory; empty otherwise.
    """

    question: str = ""
    refusal: str = ""


def judge(table: DiscreteTable, *learners: Learner) -> RunCheck:
    """Return whether runs of `learners` on `table` may begin, with the estimate if not.

    Raises
    ------
    InputError
        When table and learners do not go together.
    """
    estimates = [forecast(table, learner) for learner in learners]
    seconds = sum(each.seconds for each in estimates)
    added = sum(each.added_bytes for each in estimates)
    peak = estimates[0].peak_bytes - estimates[0].added_bytes + added
    text = (
        f"Estimated for {len(estimates)} runs: {duration_text(seconds)} and {size_text(added)} of "
        "memory."
    )
    if len(estimates) == 1:
        text = " ".join([estimates[0].sentence, *estimates[0].assumptions])
    granted = limits()
    if seconds > granted.run_seconds or added > granted.run_memory * _MEGABYTE:
        return RunCheck(
            refusal=f"{text} Limits of this server: {duration_text(granted.run_seconds)} and "
            f"{size_text(granted.run_memory * _MEGABYTE)} per run. Not started."
        )
    if (refusal := _no_room(text, peak)) and visits().forget(all_of_them=True):
        # Runs of disconnected clients are evicted first.
        refusal = _no_room(text, added + resident_bytes())
    if refusal:
        return RunCheck(refusal=refusal)
    beyond = []
    if seconds > granted.ask_seconds:
        beyond.append(f"{granted.ask_seconds:g} s")
    if added > granted.ask_memory * _MEGABYTE:
        beyond.append(f"{size_text(granted.ask_memory * _MEGABYTE)}")
    if not beyond:
        return RunCheck()
    return RunCheck(question=f"{text} Limit: {' and '.join(beyond)}. Not started.")


def fewer_edges(table: DiscreteTable, learner: Learner) -> int | None:
    """Return the largest round edge budget with which a run would begin unasked; None if none."""
    now = getattr(learner, "max_edges", None)
    if not hasattr(learner, "max_edges"):
        return None
    n = table.n_variables
    for share in _BUDGETS:
        budget = max(1, min(round(share * n), n * (n - 1) // 2))
        if now is None or budget < now:
            smaller = dataclasses.replace(learner, max_edges=budget)  # type: ignore[call-arg]
            if judge(table, smaller) == RunCheck():
                return budget
    return None


def _no_room(text: str, peak_bytes: int) -> str:
    """Explain that memory is insufficient for a run; empty if it suffices."""
    free, held = free_bytes(), resident_bytes()
    total = limits().total_memory * _MEGABYTE
    if total and peak_bytes > total:
        return (
            f"{text} The server uses {size_text(held)}; its limit is {size_text(total)}. Not "
            "started. Try again later, or reduce the run."
        )
    if peak_bytes > held + free:
        return (
            f"{text} Only {size_text(held + free)} are available. Not started. Set an edge budget, "
            "use fewer variables, or a learner that counts only the pairs it tests, such as "
            "best-choice."
        )
    return ""
