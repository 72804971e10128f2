"""JavaScript views inside Streamlit: a script that is sent once, and messages in both directions.

Streamlit sends the script of a component again with every message. A view has a hundred kilobytes
of it, so they are sent once, by a component without data. The component that shows the view
contains only its host.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import streamlit as st

from graftviz.app.boundary import bounded, guarded
from graftviz.app.runs import everything_so_far, requested_feeds, to_json
from graftviz.app.session import await_first
from graftviz.app.state import RunPage, SideBySidePage
from graftviz.reports.replay.bundle import host_script, view_name, view_script, view_style
from graftviz.reports.replay.plain import json_object, whole_number

Trigger = Callable[[Mapping[str, Any]], object]


@dataclass
class Inbox:
    """Messages from a view since it was last shown, and the contents that the browser has.

    Attributes
    ----------
    need, question, ghost_need : mapping
        The latest messages of these names; empty if there was none.
    sent, picture, map : str
        Identities of the run, of the graph and of the map that were sent last.
    answer : str or None
        Answer in the last message.
    stability : pair of str or None
        Stability in the last two messages.
    repeats : int
        Number of messages without a header that was requested.
    wants_page : bool
        Whether the controls of the page must follow a message.
    """

    need: Mapping[str, Any] = field(default_factory=dict)
    question: Mapping[str, Any] = field(default_factory=dict)
    ghost_need: Mapping[str, Any] = field(default_factory=dict)
    sent: str = ""
    picture: str = ""
    map: str = ""
    answer: str | None = None
    stability: tuple[str | None, ...] = (None, None)
    repeats: int = 0
    wants_page: bool = False


class MountedView:
    """View of of a script, with a component that loads it and one that shows it.

    Parameters
    ----------
    name : str
        Folder of the view in ``graftviz/reports/replay/assets``; also in the keys of the
        components.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def _components(self) -> tuple[Any, Any]:
        return _components(self.name)

    @property
    def key(self) -> str:
        """The key of the component that shows the view."""
        return f"{self.name}_view"

    def load(self) -> None:
        """Send the view to the browser; call once per page, outside the fragment that shows it."""
        self._components[0](key=f"{self.name}_library", height=1)

    @property
    def inbox(self) -> Inbox:
        """Messages of this session."""
        inbox: Inbox = st.session_state.setdefault(f"{self.name}.inbox", Inbox())
        return inbox

    def show(
        self,
        write: Callable[[], str],
        callbacks: Mapping[str, Trigger],
        check_place: Callable[[], bool] = lambda: False,
    ) -> None:
        """Show the view with a message; call in a fragment, which runs again with its messages.

        Parameters
        ----------
        write : callable
            Return the message as JSON, for the host of the view (``shared/mount.js``).
        callbacks : mapping
            Name of a message from the view → function called with it before the fragment runs
            again. It returns true if the controls of the page must follow. A message "need" is
            stored in :attr:`inbox` until the next call of :meth:`show`.
        check_place : callable
            Return whether a place of a link does not exist and was replaced, so that the page must
            show a sentence about it.
        """
        inbox = self.inbox
        if inbox.wants_page:
            inbox.wants_page = False
            st.rerun()
        message = write()
        if check_place():
            inbox.sent = inbox.picture = inbox.map = ""  # the message is not sent
            st.rerun()
        inbox.need, inbox.question, inbox.ghost_need = {}, {}, {}
        triggers = {"need": lambda need: setattr(inbox, "need", need), **callbacks}
        self._components[1](
            key=self.key,
            # Bytes are passed through; other data would be parsed and serialised again.
            data=message.encode("utf-8", "replace"),
            **{
                f"on_{name}_change": guarded(self._passed_on(name, callback))
                for name, callback in triggers.items()
            },
        )

    def _passed_on(self, name: str, callback: Trigger) -> Callable[[], None]:
        def call() -> None:
            # Nothing is left of the component when its message comes after the page was left.
            value = (st.session_state.get(self.key) or {}).get(name)
            if isinstance(value, Mapping):
                self.inbox.wants_page |= callback(value) is True

        return call


@cache
def _components(name: str) -> tuple[Any, Any]:
    """Register both components of a view, once per process."""
    library = (
        f"{view_script(name)}\n"
        f"globalThis.{view_name(name)}.style = {json.dumps(view_style(name))};\n"
        "export default () => {};\n"
    )
    return (
        st.components.v2.component(f"graftviz_{name}_library", js=library),
        st.components.v2.component(f"graftviz_{name}", js=host_script(name)),
    )


PLAYER = MountedView("player")
RACE = MountedView("race")
PRUNE = MountedView("prune")
BUDGET = MountedView("budget")
REGION = MountedView("region")
DYNAMICS = MountedView("dynamics")
INSPECT = MountedView("inspect")


# ----------------------------------------------------------------------------------- one job


@st.fragment
@bounded
def live_run(state: RunPage, view: MountedView) -> None:
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
        view.inbox.need = place  # which steps the browser has
        state.move(place)

    view.show(
        lambda: run_message(state, view.inbox),
        {"moved": move},
        lambda: job.ended and state.check_step(state.last_step(job.latest)),
    )


def run_message(state: RunPage, inbox: Inbox) -> str:
    """Return, as JSON, the steps that the browser lacks, and the graph if it has another one."""
    job, shown = state.run, state.shown
    assert shown is not None
    assert job is not None
    assert job.latest is not None  # it has been awaited
    found, picture = job.latest, shown.source.identity
    since = whole_number(inbox.need.get("from"), 0) if inbox.need.get("token") == job.token else 0
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
    if inbox.picture != picture or inbox.need.get("graph"):
        message["graph"] = state.graph(shown)
        inbox.picture = picture
    return to_json(message)


# --------------------------------------------------------------------------- runs side by side


@st.fragment
@bounded
def show_runs(
    state: SideBySidePage, view: MountedView, name: str, chosen: Mapping[str, Trigger]
) -> None:
    """Show the runs of `state`; messages run this again, and nothing else of the page.

    Parameters
    ----------
    state : SideBySidePage
    view : MountedView
    name : str
        Name of the token in messages.
    chosen : mapping
        Name of another message from the view → function called with it.
    """
    if not state.entries:
        return

    def moved(message: Mapping[str, Any]) -> None:
        if message.get(name) == state.token:
            state.move(message)

    view.show(
        lambda: runs_message(state, view.inbox, name),
        {"moved": moved, **chosen},
        state.check_place,
    )


def runs_message(state: SideBySidePage, inbox: Inbox, name: str) -> str:
    """Return, as JSON, the next message to the view; see docs/player.md.

    It has the header and all records for new runs, and otherwise the records that the view has
    requested.
    """
    need = inbox.need if inbox.need.get(name) == state.token else None
    runs = list(state.runs.values())
    failures = {run.token: run.failure for run in runs if run.failure}
    message: dict[str, str | None] = {
        name: json.dumps(state.token),
        "failures": to_json(failures),
        "replies": json.dumps(need is not None),
        **{key: to_json(value) for key, value in state.place().items()},
    }
    if inbox.sent != state.token or (need is not None and need.get("header")):
        message |= {"header": state.header_json, "feeds": everything_so_far(runs)}
    else:
        wants = None if need is None else need.get("wants")
        message["feeds"] = requested_feeds(runs, wants)
    inbox.sent = state.token
    return json_object(message)
