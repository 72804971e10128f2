"""Measure many clients of one app: ``python -m tests.load``.

The clients connect as browsers do, over Streamlit's websocket, from the machine of the server.
First all of them play runs of 200 variables, then all of them change α once a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.browser.served_app import served_app

Waits = dict[str, list[float]]  # what the clients did → sorted seconds of all answers
GOALS = {"playing": 0.3, "α": 1.5}  # seconds, 95 of 100 answers arrive within
SPEED = 12.0  # steps per second, three times the default of the player
# The requests of the player, see graftviz/reports/replay/assets/shared/requests.js.
AHEAD_SECONDS, FETCH_STEPS, FETCH_SPREAD, AGAIN_SECONDS = 1.5, 36, 0.25, 0.2
PATIENCE, COMPILING = 10.0, 600.0  # seconds; without an answer the client has failed
_TRIGGER = "$$STREAMLIT_INTERNAL_KEY_{}__events"
_VIEW = re.compile(r"graftviz_(?!guide$|.*_library$)")  # component of a view; not that of the guide
_EARLY = ForwardMsg.FINISHED_EARLY_FOR_RERUN  # another run follows


class Wire:
    """Page that is open: its controls, and the messages to its view, parsed, in order."""

    def __init__(self, address: str, query: Mapping[str, str]) -> None:
        self.host = urlsplit(address).netloc
        self.messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._query = urlencode(query)
        self._widgets: dict[str, str] = {}  # key of a control → its identifier
        self._values: dict[str, WidgetState] = {}  # of the controls that were changed
        self._view = self._fragment = self._page = ""
        self._known: dict[str, ForwardMsg] = {}
        self._finished = asyncio.Event()
        self._socket: ClientConnection

    async def open(self) -> None:
        """Open the page."""
        url, protocol = f"ws://{self.host}/_stcore/stream", Subprotocol("streamlit")
        self._socket = await connect(url, subprotocols=[protocol], max_size=1 << 26)
        self._reader = asyncio.create_task(self._read(self._socket))
        await self._send()

    async def close(self) -> None:
        """Close the page as a tab is closed."""
        await self._socket.close()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def first_message(self) -> dict[str, Any]:
        """Return the first message to the view; request it again while the engine is compiled."""
        async with asyncio.timeout(COMPILING):
            while await self._finished.wait() and self.messages.empty():
                await asyncio.sleep(1.0)
                await self._send()
            return self.messages.get_nowait()

    async def set(self, key: str, value: float) -> None:
        """Set a number, or move a slider to it, and run the page."""
        self._values[key] = state = WidgetState(id=self._widgets[key])
        if key == "option.seed":
            state.double_value = value
        else:
            state.double_array_value.data.append(value)
        await self._send()

    async def trigger(self, name: str, value: Mapping[str, Any]) -> None:
        """Send an event of the view; only the view's fragment runs."""
        events = json.dumps([{"event": name, "value": value}])
        await self._send(WidgetState(id=_TRIGGER.format(self._view), json_trigger_value=events))

    async def _send(self, event: WidgetState | None = None) -> None:
        self._finished.clear()
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash = self._query, self._page
        state.fragment_id = "" if event is None else self._fragment
        state.context_info.url = f"http://{self.host}/"
        for value in [*self._values.values(), *([] if event is None else [event])]:
            state.widget_states.widgets.add().CopyFrom(value)
        state.cached_message_hashes.extend(self._known)
        await self._socket.send(message.SerializeToString())

    async def _read(self, socket: ClientConnection) -> None:
        async for data in socket:
            message = ForwardMsg.FromString(data)
            # A message that was sent before is named by its hash.
            self._take(self._known.get(message.ref_hash, message))

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "delta":
            self._take_delta(message)
        elif kind == "new_session":
            self._page = message.new_session.page_script_hash
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "script_finished" and message.script_finished != _EARLY:
            self._finished.set()
        if message.metadata.cacheable:
            self._known[message.hash] = message
            for old in list(self._known)[:-12]:  # a browser forgets them, too
                del self._known[old]

    def _take_delta(self, message: ForwardMsg) -> None:
        if message.delta.WhichOneof("type") != "new_element":
            return
        element = message.delta.new_element
        part = getattr(element, element.WhichOneof("type"))
        if element.HasField("bidi_component") and _VIEW.search(part.component_name):
            self._view, self._fragment = part.id, message.delta.fragment_id
            self._values["view"] = WidgetState(id=part.id, json_value="{}")
            if part.bytes:
                self.messages.put_nowait(json.loads(part.bytes))
        elif key := getattr(part, "id", "").rpartition("-")[2]:
            self._widgets[key] = part.id


class Player:
    """Client that plays runs on the Grow page, as the player in a browser does."""

    def __init__(self, address: str, seed: int) -> None:
        self.wire = Wire(address, {"data": "scale-free-200", "seed": str(seed)})
        self.waits: list[float] = []  # seconds from a request, or a change of α, to its steps
        self.run = ""
        self.ready, self.has_ended = 0, False  # steps that arrived, and whether no more will follow
        self._lacks_header = ""  # token of a run whose header is missing
        self._seed, self._alpha, self._chance = seed, 0.75, random.Random(seed)

    async def open(self) -> None:
        """Open the page and wait for its first steps."""
        await self.wire.open()
        self.take(await self.wire.first_message())
        await self._first_steps("", COMPILING)

    async def play(self, until: float) -> None:
        """Play runs, one after the other, until a time of ``time.monotonic``."""
        shown, before = 0.0, time.monotonic()
        while time.monotonic() < until:
            if self.ready - shown < AHEAD_SECONDS * SPEED and not self.has_ended:
                self.waits.append(await self._request_steps())
            await asyncio.sleep(AGAIN_SECONDS)
            shown += SPEED * (time.monotonic() - before)
            shown, before = min(self.ready, shown), time.monotonic()
            if self.has_ended and shown >= self.ready:
                self._seed += 1000
                await self._begin("option.seed", self._seed)
                shown, before = 0.0, time.monotonic()

    async def drag(self, until: float) -> None:
        """Change α, wait for the first step of the new run and one more second, and repeat."""
        while time.monotonic() < until:
            self._alpha = round(self._alpha + 0.05, 2) if self._alpha < 0.95 else 0.2
            self.waits.append(await self._begin("option.alpha", self._alpha))
            await asyncio.sleep(1.0)

    async def _begin(self, key: str, value: float) -> float:
        """Change an option; return the seconds until the first step of the new run."""
        began, before = time.monotonic(), self.run
        await self.wire.set(key, value)
        await self._first_steps(before)
        return time.monotonic() - began

    async def _first_steps(self, before: str, patience: float = PATIENCE) -> None:
        while self.run == before or not (self.ready or self.has_ended):
            if self._lacks_header or self.run != before:
                await self._ask()
            self.take(await asyncio.wait_for(self.wire.messages.get(), patience))

    async def _request_steps(self) -> float:
        """Request steps; return the seconds until a message with steps arrived."""
        began = time.monotonic()
        await self._ask()
        async with asyncio.timeout(PATIENCE):
            while not self.take(await self.wire.messages.get()):
                pass
        return time.monotonic() - began

    async def _ask(self) -> None:
        count = round(FETCH_STEPS * (1 + FETCH_SPREAD * self._chance.uniform(-1, 1)))
        need = {"run": self.run, "from": self.ready + 1, "count": count}
        if self._lacks_header:
            need |= {"run": self._lacks_header, "header": True}
        await self.wire.trigger("need", need)

    def take(self, message: dict[str, Any]) -> bool:
        """Apply a message; return whether it has steps of the run."""
        if message.get("header"):
            self.run, self._lacks_header = message["run"], ""
            self.ready, self.has_ended = 0, False
        elif message["run"] != self.run:  # sent without its header, as a page waits for a step
            self._lacks_header = message["run"]
        feed = message.get("feed")
        if not feed or feed["run"] != self.run:
            return False
        if feed["from"] <= self.ready + 1:
            self.ready = max(self.ready, feed["from"] - 1 + len(feed["records"]))
        self.has_ended = self.has_ended or feed["outcome"] is not None
        return True


async def measured(address: str, clients: int, seconds: float, pause: float = 45.0) -> Waits:
    """Measure after a pause, in which the server loads the other kernels."""
    found = {}
    players = [Player(address, seed) for seed in range(clients)]
    for player in players:
        await player.open()
    await asyncio.sleep(pause)
    for name, act in (("playing", Player.play), ("α", Player.drag)):
        until = time.monotonic() + seconds
        await asyncio.gather(*(act(player, until) for player in players))
        found[name] = sorted(player.waits.pop() for player in players for _ in list(player.waits))
    await asyncio.gather(*(player.wire.close() for player in players))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measure; return 0 if all goals are met."""
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--clients", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, served_app(Path(folder) / "log") as address:
        found = asyncio.run(measured(address, options.clients, options.seconds))
    p95 = {name: waits[int(0.95 * len(waits))] for name, waits in found.items()}
    for name, waits in found.items():
        half = waits[len(waits) // 2]
        print(f"{name}: median {half:.3f} s, p95 {p95[name]:.3f} s (goal {GOALS[name]} s)")
    return int(any(p95[name] > goal for name, goal in GOALS.items()))


if __name__ == "__main__":
    sys.exit(main())
