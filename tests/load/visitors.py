"""Actions of visitors: play a run, drag α, learn a large model, upload a file; and their results.

A visitor measures what somebody would notice, as cheaply as it can: they share the machine with the
server they measure.
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
SPEED = 12.0  # steps a second, the player's own pace
# The requests of the player, see graftviz/player/assets/player/player.js and shared/requests.js.
AHEAD_SECONDS = 1.5
FETCH_STEPS = 36
PAUSE_SECONDS = 0.2  # before what did not come is asked for again
PATIENCE_SECONDS = 4.0
TICK = 0.08
DRAG_PAUSE = 1.0  # seconds somebody looks at a new run before the slider moves again
UPLOADED_BYTES = 5_000_000
OPENING_ALPHA = 0.75  # what the page opens with
ALPHAS = tuple(round(0.05 * k, 2) for k in range(4, 20))


@dataclass
class Experience:
    """What one visitor met.

    Attributes
    ----------
    steps : int
        Steps that were played.
    seconds : float
        Time spent playing.
    round_trips, drags, uploads : list of float
        Seconds from asking for steps until they came, from moving α until the new run's first
        step came, and from choosing a file until the page had read it.
    stalls : int
        How often there was nothing to play before the end of the run.
    stalled_seconds : float
    learned : int
        Steps of the large run that came.
    runs : int
        Runs that were begun.
    trouble : list of str
        What went wrong.
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
        """Steps a second while playing."""
        return self.steps / self.seconds if self.seconds else 0.0


class Player:
    """Somebody at the Grow page.

    Parameters
    ----------
    address : str
    seed : int
        Decides which runs they look at; different visitors have different ones.
    data : str
    """

    def __init__(self, address: str, seed: int, data: str = DATA) -> None:
        self.wire = Wire(address, {"data": data, "seed": str(seed)})
        self.met = Experience()
        self.run = ""
        self.ready = 0
        self._seed = seed
        self._chance = random.Random(seed)
        self._alpha = OPENING_ALPHA
        self._p = 0.0
        self._ended = False
        self._is_dry = False
        self._lacks_header = ""  # token of a run that the view has not been introduced to

    async def open(self) -> None:
        """Open the page and wait for its first run."""
        self._take(await self.wire.first_message())
        while not self.run:
            await self._ask()
            self._take(await asyncio.wait_for(self.wire.messages.get(), PATIENCE_SECONDS))

    async def close(self) -> None:
        """Close the tab."""
        await self.wire.close()

    async def play(self, until: float) -> None:
        """Play runs, one after the other, until then (of ``time.monotonic``)."""
        request_time, due = 0.0, 0.0  # 0: nothing is request_time for
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
                    self.met.round_trips.append(time.monotonic() - request_time)
                    request_time, due = 0.0, now + (0.0 if grew >= FETCH_STEPS else PAUSE_SECONDS)
            if request_time and now - request_time > PATIENCE_SECONDS:
                self.met.trouble.append(f"no answer within {PATIENCE_SECONDS:g} s")
                request_time = 0.0
            needs_steps = self.ready - self._p < AHEAD_SECONDS * SPEED and not self._ended
            if needs_steps and not request_time and now >= due:
                request_time = time.monotonic()
                await self._ask()
            await self._rest(TICK)

    async def drag(self, until: float) -> None:
        """Move α, wait for the new run's first step, look at it for a moment, and again."""
        while time.monotonic() < until:
            began = time.monotonic()
            await self.another_run()
            self.met.drags.append(time.monotonic() - began)
            await asyncio.sleep(DRAG_PAUSE)

    async def another_run(self) -> None:
        """Move α and wait for the first step of the run that follows."""
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
                self.met.trouble.append(f"no new run within {PATIENCE_SECONDS:g} s")
                return
            self._take(message)
            if self._lacks_header or (self.run != before and self.ready == 0 and not self._ended):
                await self._ask()
        self.met.runs += 1

    def _empty(self) -> None:
        while not self.wire.messages.empty():
            self._take(self.wire.messages.get_nowait())

    async def _ask(self) -> None:
        need = {"run": self.run, "from": self.ready + 1, "count": FETCH_STEPS}
        if self._lacks_header:
            need = {"run": self._lacks_header, "from": 1, "count": 0, "header": True}
        await self.wire.trigger("need", need)

    async def _rest(self, seconds: float) -> None:
        """Wait, but no longer than until a message comes."""
        if not self.wire.messages.empty():
            return
        self.wire.news.clear()
        try:
            await asyncio.wait_for(self.wire.news.wait(), seconds)
        except TimeoutError:
            return

    def _advance(self, seconds: float) -> None:
        """Let the picture move on."""
        before = self._p
        self._p = min(float(self.ready), before + SPEED * seconds)
        self.met.seconds += seconds
        self.met.steps += int(self._p) - int(before)
        is_dry = self._p >= self.ready and not self._ended
        if is_dry:
            self.met.stalled_seconds += seconds
            self.met.stalls += not self._is_dry
        self._is_dry = is_dry

    def _take(self, message: dict[str, Any]) -> int | None:
        """Take a message over; return how many steps it brought, None if it is about none."""
        if message.get("header"):
            self._lacks_header = ""
            self.run = message["run"]
            self.ready, self._p, self._ended, self._is_dry = 0, 0.0, False, False
        elif message["run"] != self.run:
            # The page was patient in vain with the first step, and believes us to know the run.
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
    """Somebody who brings a large table and lets all of it be learned."""

    def __init__(self, address: str, seed: int, table: bytes) -> None:
        super().__init__(address, seed)
        self._table = table

    async def learn(self, until: float) -> None:
        """Bring the table, agree to what it takes, and take what comes."""
        began = time.monotonic()
        await self.wire.set("choose.data", string_value="Your own data…")
        await self.wire.finished()
        await self.wire.upload("upload.table", "large.csv", self._table)
        await self.wire.finished()
        self.met.uploads.append(time.monotonic() - began)
        if "run_anyway" in self.wire.widgets:
            await self.wire.press("run_anyway")
        while time.monotonic() < until:
            while not self.wire.messages.empty():
                self._take(self.wire.messages.get_nowait())
            self.met.learned = self.ready
            if not self._ended:
                await self._ask()
            await asyncio.sleep(1.0)


class Uploader(Player):
    """Somebody who brings a file of five megabytes, and then another."""

    def __init__(self, address: str, seed: int, table: bytes) -> None:
        super().__init__(address, seed)
        self._table = table

    async def bring(self, until: float) -> None:
        """Bring the file, wait until the page has read it, rest, and again."""
        await self.wire.set("choose.data", string_value="Your own data…")
        await self.wire.finished()
        while time.monotonic() < until:
            began = time.monotonic()
            await self.wire.upload("upload.table", "five.csv", self._table)
            await self.wire.finished()
            self.met.uploads.append(time.monotonic() - began)
            await asyncio.sleep(5.0)


async def gathered(doing: list[Callable[[], Awaitable[None]]]) -> list[BaseException]:
    """Let all do something at the same time; return what stopped some of them."""
    ended = await asyncio.gather(*(do() for do in doing), return_exceptions=True)
    return [error for error in ended if isinstance(error, BaseException)]
