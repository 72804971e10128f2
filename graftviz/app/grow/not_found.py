"""Panel of the menu Analyse of the Grow page: the strongest pairs that are not edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import streamlit as st

from graftviz.app.controls import show_until
from graftviz.app.frame import Tool
from graftviz.app.grow.analysis import grow_texts, set_open, show_while_open
from graftviz.app.grow.state import GrowState
from graftviz.app.jobs import Job
from graftviz.app.material import SourceCache
from graftviz.app.runs import SessionRun
from graftviz.app.session import shared_job
from graftviz.learning.registry import learner_class
from graftviz.reports.results import Run
from graftviz.reports.texts import catalogue
from graftviz.reports.words.answers import AbsentPair, strongest_absent
from graftviz.reports.words.phrases import pair
from graftviz.utils.wording import plain

_WAIT = 1.0  # seconds before the panel shows a notice instead


class EndedRun(NamedTuple):
    """Run that has ended, as the source of its strongest pairs."""

    identity: str
    own: SourceCache | None
    run: Run


def _found(source: EndedRun) -> Iterator[tuple[AbsentPair, ...] | None]:
    yield strongest_absent(source.run)


_pairs = shared_job(_found, 20, begins=True)


def not_found_tool(state: GrowState) -> Tool | None:
    """Return the menu entry that opens the panel, for learners that score pairs."""
    cls = learner_class(state.values["learner"])
    if not cls.by_score or cls.by_feature:
        return None
    return Tool("not_found", lambda: set_open("not_found", True))


def show_not_found(state: GrowState) -> None:
    """Show the panel while it is open."""
    show_while_open(
        "not_found", state, _panel, lambda: None if not_found_tool(state) is None else state.run
    )


def _panel(_state: GrowState, run: SessionRun) -> None:
    st.markdown(grow_texts("not_found")["lead"])
    run.grant()
    show_until(lambda: _has_ended(run), lambda: _show_pairs(run))


def pairs_of(run: SessionRun) -> Job[tuple[AbsentPair, ...] | None]:
    """Return the strongest pairs of a run that has ended."""
    source = EndedRun(run.token, run.recorder.material.own, run.recorder.learned())
    return _pairs(source)


def _has_ended(run: SessionRun) -> bool:
    return run.ended and (bool(run.failure) or pairs_of(run).wait_for_end(_WAIT))


def _show_pairs(run: SessionRun) -> None:
    texts = grow_texts("not_found")
    if not run.ended:
        st.progress(0.0, texts["learning"].format(step=run.computed))
        return
    if run.failure:
        return  # shown with the run
    work = pairs_of(run)
    names, found = run.recorder.material.train.names, work.latest
    if work.failure:
        st.warning(plain(work.failure))
    elif not work.ended:
        st.progress(1.0)
    elif found is None:
        st.markdown(texts["unknown"])
    elif not found:
        st.markdown(catalogue("answers")["not_found"]["none"])
    else:
        lines = (
            f"- **{plain(pair(names, each.source, each.target))}** – {plain(each.words)}"
            for each in found
        )
        st.markdown("\n".join(lines))
