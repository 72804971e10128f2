"""Delayed messages to a page, which meanwhile acts on older data."""

from __future__ import annotations

from typing import Any

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg


class HeldSocket:
    """Connection between a page and the app that can delay messages of the server.

    Attributes
    ----------
    is_holding : bool
        Whether messages of the server are delayed.
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
        """Hold all messages after the end of the next run of the page."""
        self._holds_after_run = True

    def release(self) -> None:
        """Deliver the held messages and stop holding."""
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
            if self._holds_after_run and _is_end_of_run(message):
                self._holds_after_run, self.is_holding = False, True

        socket.on_message(from_page)
        server.on_message(from_server)


def _is_end_of_run(message: bytes) -> bool:
    parsed = ForwardMsg.FromString(message)
    return (
        parsed.WhichOneof("type") == "session_status_changed"
        and not parsed.session_status_changed.script_is_running
    )
