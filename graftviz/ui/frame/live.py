"""Pages whose view shows the steps of one job, and the fragment that sends them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import streamlit as st

from graftviz.errors import InputError
from graftviz.player.recorders import to_json
from graftviz.ui.boundary import bounded
from graftviz.ui.frame.jobs import Job, await_first
from graftviz.ui.frame.state import OptionsPage
from graftviz.ui.frame.view import Mailbox, MountedView, whole_number

P = TypeVar("P")  # values of a job, with records of the steps so far as `steps`
S = TypeVar("S")  # settings and data of a run, the data as `source`
T = TypeVar("T")


class RunPage(OptionsPage[T], Generic[T, S, P]):
    """State of a page that shows one job, which follows the settings.

    If a job fails before its first value, the previous job is shown again.
    """

    shown: S | None
    before: S | None

    def job_of(self, shown: S) -> Job[P]:
        """Return the job of the settings; equal settings have the same job."""
        raise NotImplementedError

    def graph(self, shown: S) -> dict[str, Any]:
        """Return the graph for the browser."""
        raise NotImplementedError

    def message_parts(self, shown: S, found: P, failure: str) -> dict[str, Any]:
        """Return the parts of a message other than the steps; "run" is that of the run."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Update the shown run to the settings; if they are invalid, it is unchanged."""
        if self.shown is not None and _has_failed(self.job_of(self.shown)):
            self.shown, self.before = self.before, None
        super().refresh()

    @property
    def run(self) -> Job[P] | None:
        """The shown job, started unless it has ended; None before there is one."""
        if self.shown is None:
            return None
        job = self.job_of(self.shown)
        self.jobs.begin(job)
        return job

    def is_on_show(self, found: S) -> bool:
        """Return whether the job of `found` is shown."""
        return self.shown is not None and self.job_of(self.shown) is self.job_of(found)

    def _show(self, found: S) -> None:
        job = self.job_of(found)
        if _has_failed(job):
            raise InputError(job.failure)
        if not self.is_on_show(found):
            self.before = self.shown
            self.jobs.leave()
        super()._show(found)


def _has_failed(job: Job[Any]) -> bool:
    return bool(job.failure) and job.latest is None


@st.fragment
@bounded
def live_run(state: RunPage[Any, Any, Any], view: MountedView) -> None:
    """Show the run of a page; messages of the view run this again, and nothing else of the page."""
    job = state.run
    if job is None:
        return
    await_first(job)
    if job.latest is None:
        if not job.failure:
            st.info("Computing the first step…")  # stays on the screen while the page waits again
        st.rerun()

    def move(place: Mapping[str, Any]) -> None:
        view.mail.need = place  # which steps the browser has
        state.move(place)

    view.show(lambda: run_message(state, view.mail), {"moved": move})


def run_message(state: RunPage[Any, Any, Any], mail: Mailbox) -> str:
    """Return, as JSON, the steps that the browser lacks, and the graph if it has another one."""
    job, shown = state.run, state.shown
    assert shown is not None
    assert job is not None
    assert job.latest is not None  # it has been awaited
    found, picture = job.latest, shown.source.identity
    since = whole_number(mail.need.get("from"), 0) if mail.need.get("token") == job.token else 0
    message = {
        "visit": state.visit,
        "graphId": picture,
        **state.message_parts(shown, found, job.failure),
    }
    message["run"] |= {
        "token": job.token,
        "from": since,
        "steps": found.steps[since:],
        "at": state.values["step"],
    }
    if mail.picture != picture or mail.need.get("graph"):
        message["graph"] = state.graph(shown)
        mail.picture = picture
    return to_json(message)
