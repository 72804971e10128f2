"""Delay of messages to a page, which meanwhile acts on older data."""

from __future__ import annotations

from typing import Any

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg


class HeldSocket:
    """The connection between a page and the app, in the way of which one may stand.

    Attributes
    ----------
    is_holding : bool
        Whether messages of the server are kept back.
    sent : int
        Number of messages of the page so far.
    """

    def __init__(self, page: Any) -> None:
        self.is_holding = False
        self.sent = 0
        self._holds_after_run = False
        self._held: list[Any] = []
        self._socket: Any = None
        page.route_web_socket("**/_stcore/stream", self._connect)

    def hold_after_run(self) -> None:
        """Hold everything that comes after the end of the run which is about to begin."""
        self._holds_after_run = True

    def let_go(self) -> None:
        """Deliver what was held, and hold nothing any more."""
        self.is_holding = False
        for message in self._held:
            self._socket.send(message)
        self._held.clear()

    def _connect(self, socket: Any) -> None:
        server = socket.connect_to_server()
        self._socket = socket

        def from_page(message: Any) -> None:
            self.sent += 1
            server.send(message)

        def from_server(message: Any) -> None:
            if self.is_holding:
                self._held.append(message)
                return
            socket.send(message)
            if self._holds_after_run and _says_that_nothing_runs(message):
                self._holds_after_run, self.is_holding = False, True

        socket.on_message(from_page)
        server.on_message(from_server)


def _says_that_nothing_runs(message: bytes) -> bool:
    told = ForwardMsg.FromString(message)
    return (
        told.WhichOneof("type") == "session_status_changed"
        and not told.session_status_changed.script_is_running
    )
