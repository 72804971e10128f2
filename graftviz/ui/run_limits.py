"""What a run may take before somebody is asked, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from graftviz.forecasting import duration_text, forecast
from graftviz.learners.base import Learner
from graftviz.memory import free_bytes, resident_bytes, size_text
from graftviz.table import DiscreteTable

# The budget of a run on the page. Its memory is on top of what the server holds already.
ASK_SECONDS = 20.0
ASK_BYTES = 2_000_000_000


class Verdict(NamedTuple):
    """What is to be said before a run.

    Attributes
    ----------
    question : str
        The numbers of a run that is beyond the budget; empty if it is not.
    refusal : str
        The numbers of a run for which there is no memory; empty if there is.
    """

    question: str = ""
    refusal: str = ""


def judge(table: DiscreteTable, learner: Learner) -> Verdict:
    """Say whether a run of `learner` on `table` may begin, with the numbers if not.

    Raises
    ------
    InputError
        When table and learner do not go together.
    """
    known = forecast(table, learner)
    told = " ".join([known.sentence, *known.assumptions])
    return _verdict(told, known.seconds, known.added_bytes, known.peak_bytes)


def judge_all(table: DiscreteTable, learners: Iterable[Learner]) -> Verdict:
    """Say the same of several runs at once, whose records all stay in memory.

    Raises
    ------
    InputError
        When table and learners do not go together.
    """
    known = [forecast(table, learner) for learner in learners]
    seconds, added = sum(each.seconds for each in known), sum(each.added_bytes for each in known)
    told = (
        f"These {len(known)} runs will take about {size_text(added)} of memory together and "
        f"{duration_text(seconds)} of engine time."
    )
    return _verdict(told, seconds, added, added + (resident_bytes() or 0))


def _verdict(told: str, seconds: float, added_bytes: int, peak_bytes: int) -> Verdict:
    free, held = free_bytes(), resident_bytes() or 0
    if free is not None and peak_bytes > held + free:
        return Verdict(
            refusal=f"{told} There are {size_text(held + free)} on this machine, so it was not "
            "started. Set an edge budget, take fewer variables, or a learner that counts only the "
            "pairs it tests, such as best-choice."
        )
    beyond = []
    if seconds > ASK_SECONDS:
        beyond.append(f"{ASK_SECONDS:g} s")
    if added_bytes > ASK_BYTES:
        beyond.append(f"{size_text(ASK_BYTES)} more than now")
    if not beyond:
        return Verdict()
    return Verdict(question=f"{told} That is beyond {' and '.join(beyond)}, so it has not begun.")
