"""Limits of a run: confirmation, refusal, and alternatives."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.workload import of_learner
from graftviz.utils.memory import free_bytes, resident_bytes, size_text
from graftviz.utils.wording import duration_text

ASK_SECONDS, ASK_BYTES = 20.0, 2e9  # above which a run requires confirmation
MOST_SECONDS, MOST_BYTES = 7200.0, 8e9  # above which a run is refused
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
    estimates = [of_learner(table, learner) for learner in learners]
    seconds = sum(each.seconds for each in estimates)
    added = sum(each.bytes for each in estimates)
    peak = estimates[0].peak_bytes - estimates[0].bytes + added
    text = (
        f"Estimated for {len(estimates)} runs: {duration_text(seconds)} and {size_text(added)} of "
        "memory."
    )
    if len(estimates) == 1:
        text = estimates[0].sentence
    if seconds > MOST_SECONDS or added > MOST_BYTES:
        return RunCheck(
            refusal=f"{text} Limits: {duration_text(MOST_SECONDS)} and {size_text(MOST_BYTES)} per "
            "run. Not started."
        )
    if refusal := _no_room(text, peak):
        return RunCheck(refusal=refusal)
    beyond = []
    if seconds > ASK_SECONDS:
        beyond.append(f"{ASK_SECONDS:g} s")
    if added > ASK_BYTES:
        beyond.append(size_text(ASK_BYTES))
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


def _no_room(text: str, peak_bytes: float) -> str:
    """Explain that memory is insufficient for a run; empty if it suffices."""
    free, held = free_bytes(), resident_bytes()
    if peak_bytes > held + free:
        return (
            f"{text} Only {size_text(held + free)} are available. Not started. Set an edge budget, "
            "use fewer variables, or a learner that counts only the pairs it tests, such as "
            "best-choice."
        )
    return ""
