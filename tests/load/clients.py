"""Clients of a load test that play runs, drag α, learn a large model or upload files.

Clients share the machine with the server they measure, so they use little processor time.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from tests.load.wire import Wire

DATA = "scale-free-200"
SPEED = 12.0  # steps per second, three times the default of the player
# The requests of the player, see graftviz/player/assets/player/player.js and shared/requests.js.
AHEAD_SECONDS = 1.5
FETCH_STEPS = 36
FETCH_SPREAD = 0.25
PAUSE_SECONDS = 0.2  # before missing steps are requested again
PATIENCE_SECONDS = 4.0
TICK = 0.08
DRAG_PAUSE = 1.0  # seconds between the first step of a run and the next change of α
UPLOADED_BYTES = 5_000_000
OPENING_ALPHA = 0.75  # default of the page
ALPHAS = tuple(round(0.05 * k, 2) for k in range(4, 20))


@dataclass
class Measurements:
    """Measurements of one client.

    Attributes
    ----------
    steps : int
        Number of steps played.
    seconds : float
        Time spent playing.
    round_trips, drags, uploads : list of float
        Seconds from a request of steps to their arrival, from a change of α to the first step of
        the new run, and from the choice of a file until the page has read it.
    stalls : int
        Number of interruptions of playback before the end of a run.
    stalled_seconds : float
    learned : int
        Number of received steps of the large run.
    runs : int
        Number of runs begun.
    trouble : list of str
        One sentence per failure.
    """

    steps: int = 0
    seconds: float = 0.0
    round_trips: list[float] = field(default_factory=list)
    drags: list[float] = field(default_factory=list)
    uploads: list[float] = field(default_factory=list)
    stalls: int = 0
    stalled_seconds: float = 0.0
    learned: int = 0
    runs: int = 0
    trouble: list[str] = field(default_factory=list)

    @property
    def pace(self) -> float:
        """Steps per second while playing."""
        return self.steps / self.seconds if self.seconds else 0.0


class Player:
    """Client of the Grow page.

    Parameters
    ----------
    address : str
    seed : int
        Seed of the run and of changes of α; clients have different ones.
    data : str
    """

    def __init__(self, address: str, seed: int, data: str = DATA) -> None:
        self.wire = Wire(address, {"data": data, "seed": str(seed)})
        self.measured = Measurements()
        self.run = ""
        self.ready = 0
        self._seed = seed
        self._chance = random.Random(seed)
        self._spread = random.Random(seed)
        self._alpha = OPENING_ALPHA
        self._p = 0.0
        self._ended = False
        self._is_dry = False
        self._lacks_header = ""  # token of a run whose header is missing

    async def open(self) -> None:
        """Open the page, wait for its first run, and request steps as a paused player does."""
        self._take(await self.wire.first_message())
        while not self.run or (self.ready < AHEAD_SECONDS * SPEED and not self._ended):
            await self._ask()
            self._take(await asyncio.wait_for(self.wire.messages.get(), PATIENCE_SECONDS))
            await asyncio.sleep(PAUSE_SECONDS)

    async def close(self) -> None:
        """Close the tab."""
        await self.wire.close()

    async def play(self, until: float) -> None:
        """Play runs, one after the other, until a time of ``time.monotonic``."""
        request_time, due = 0.0, 0.0  # 0: no request is pending
        before = time.monotonic()
        while (now := time.monotonic()) < until:
            self._advance(now - before)
            before = now
            if self._ended and self._p >= self.ready:
                await self._begin_again()
                request_time, before = 0.0, time.monotonic()
                continue
            while not self.wire.messages.empty():
                grew = self._take(self.wire.messages.get_nowait())
                if request_time and grew is not None:
                    self.measured.round_trips.append(time.monotonic() - request_time)
                    request_time, due = 0.0, now + PAUSE_SECONDS
            if request_time and now - request_time > PATIENCE_SECONDS:
                self.measured.trouble.append(f"no answer within {PATIENCE_SECONDS:g} s")
                request_time = 0.0
            needs_steps = self.ready - self._p < AHEAD_SECONDS * SPEED and not self._ended
            if needs_steps and not request_time and now >= due:
                request_time = time.monotonic()
                await self._ask()
            await self._rest(TICK)

    async def drag(self, until: float) -> None:
        """Change α, wait for the first step of the new run and a pause, and repeat."""
        while time.monotonic() < until:
            began = time.monotonic()
            await self.another_run()
            self.measured.drags.append(time.monotonic() - began)
            await asyncio.sleep(DRAG_PAUSE)

    async def another_run(self) -> None:
        """Change α and wait for the first step of the new run."""
        self._alpha = self._chance.choice([alpha for alpha in ALPHAS if alpha != self._alpha])
        await self._begin(self.wire.slide("option.alpha", self._alpha))

    async def _begin_again(self) -> None:
        self._seed += 1000
        await self._begin(self.wire.set("option.seed", double_value=self._seed))

    async def _begin(self, change: Awaitable[None]) -> None:
        before = self.run
        self._empty()
        await change
        while self.run == before or (self.ready == 0 and not self._ended):
            try:
                message = await asyncio.wait_for(self.wire.messages.get(), PATIENCE_SECONDS)
            except TimeoutError:
                self.measured.trouble.append(f"no new run within {PATIENCE_SECONDS:g} s")
                return
            self._take(message)
            if self._lacks_header or (self.run != before and self.ready == 0 and not self._ended):
                await self._ask()
        self.measured.runs += 1

    def _empty(self) -> None:
        while not self.wire.messages.empty():
            self._take(self.wire.messages.get_nowait())

    async def _ask(self) -> None:
        count = round(FETCH_STEPS * (1.0 + FETCH_SPREAD * (2.0 * self._spread.random() - 1.0)))
        need = {"run": self.run, "from": self.ready + 1, "count": count}
        if self._lacks_header:
            need = {"run": self._lacks_header, "from": 1, "count": 0, "header": True}
        await self.wire.trigger("need", need)

    async def _rest(self, seconds: float) -> None:
        """Wait until a message arrives, at most for `seconds`."""
        if not self.wire.messages.empty():
            return
        self.wire.news.clear()
        try:
            await asyncio.wait_for(self.wire.news.wait(), seconds)
        except TimeoutError:
            return

    def _advance(self, seconds: float) -> None:
        """Advance the playhead."""
        before = self._p
        self._p = min(float(self.ready), before + SPEED * seconds)
        self.measured.seconds += seconds
        self.measured.steps += int(self._p) - int(before)
        is_dry = self._p >= self.ready and not self._ended
        if is_dry:
            self.measured.stalled_seconds += seconds
            self.measured.stalls += not self._is_dry
        self._is_dry = is_dry

    def _take(self, message: dict[str, Any]) -> int | None:
        """Apply a message; return the number of its new steps, None for a message without steps."""
        if message.get("header"):
            self._lacks_header = ""
            self.run = message["run"]
            self.ready, self._p, self._ended, self._is_dry = 0, 0.0, False, False
        elif message["run"] != self.run:
            # The page sent this run without its header, after waiting for the first step.
            self._lacks_header = message["run"]
        feed = message.get("feed")
        if not feed or feed["run"] != self.run:
            return None
        before = self.ready
        if feed["from"] <= self.ready + 1:
            self.ready = max(self.ready, feed["from"] - 1 + len(feed["records"]))
        self._ended = self._ended or feed["outcome"] is not None
        return self.ready - before


class Learner(Player):
    """Client that uploads a large table and learns from it until the end."""

    def __init__(self, address: str, seed: int, table: bytes) -> None:
        super().__init__(address, seed)
        self._table = table

    async def work(self, until: float) -> None:
        """Upload the table, confirm the run, and receive its steps."""
        began = time.monotonic()
        await self.wire.set("choose.data", string_value="Your own data…")
        await self.wire.finished()
        await self.wire.upload("upload.table", "large.csv", self._table)
        await self.wire.finished()
        self.measured.uploads.append(time.monotonic() - began)
        if "run_anyway" in self.wire.widgets:
            await self.wire.press("run_anyway")
        while time.monotonic() < until:
            while not self.wire.messages.empty():
                self._take(self.wire.messages.get_nowait())
            self.measured.learned = self.ready
            if not self._ended:
                await self._ask()
            await asyncio.sleep(1.0)


class Uploader(Player):
    """Client that uploads a table repeatedly, with one row less each time."""

    def __init__(self, address: str, seed: int, table: bytes) -> None:
        super().__init__(address, seed)
        self._table = table

    async def work(self, until: float) -> None:
        """Upload the file, wait until the page has read it and a pause, and repeat."""
        await self.wire.set("choose.data", string_value="Your own data…")
        await self.wire.finished()
        table = self._table
        while time.monotonic() < until:
            began = time.monotonic()
            await self.wire.upload("upload.table", "five.csv", table)
            table = table[: table.rindex(b"\n", 0, -1) + 1]
            await self.wire.finished()
            self.measured.uploads.append(time.monotonic() - began)
            await asyncio.sleep(5.0)


async def gathered(doing: list[Callable[[], Awaitable[None]]]) -> list[BaseException]:
    """Run coroutine functions concurrently; return their exceptions."""
    ended = await asyncio.gather(*(do() for do in doing), return_exceptions=True)
    return [error for error in ended if isinstance(error, BaseException)]
