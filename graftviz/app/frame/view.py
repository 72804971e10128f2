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

from graftviz.app.boundary import guarded
from graftviz.reports.replay.bundle import host_script, view_name, view_script, view_style

Trigger = Callable[[Mapping[str, Any]], object]


@dataclass
class Mailbox:
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
    """View of ``graftviz/app/player``, with a component that loads it and one that shows it.

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
    def mail(self) -> Mailbox:
        """Messages of this session."""
        mail: Mailbox = st.session_state.setdefault(f"{self.name}.mail", Mailbox())
        return mail

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
            stored in :attr:`mail` until the next call of :meth:`show`.
        check_place : callable
            Return whether a place of a link does not exist and was replaced, so that the page must
            show a sentence about it.
        """
        mail = self.mail
        if mail.wants_page:
            mail.wants_page = False
            st.rerun()
        message = write()
        if check_place():
            mail.sent = mail.picture = mail.map = ""  # the message is not sent
            st.rerun()
        mail.need, mail.question, mail.ghost_need = {}, {}, {}
        triggers = {"need": lambda need: setattr(mail, "need", need), **callbacks}
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
                self.mail.wants_page |= callback(value) is True

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
