"""Phases of a load test, and their measurements."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from tests.load.server import Gauge
from tests.load.tables import table_of_size
from tests.load.visitors import (
    UPLOADED_BYTES,
    Experience,
    Learner,
    Player,
    Uploader,
    gathered,
)

PHASES = ("playing", "dragging", "mixed", "uploads")
REST_SECONDS = 2.0  # between two phases, so that one does not pay for the other
SETTLE_SECONDS = 20.0  # after the visitors have left, on top of what the server keeps their runs
CALM = 0.1  # cores; below, the server is done with whatever it did on its own
LOOK_SECONDS = 40.0  # soak: how long a run is played
UPLOADERS = 10  # of thirty clients, in the phase uploads
LARGE_UPLOAD_BYTES = 20_000_000
TABS = 3  # soak: runs after which a visitor closes the tab and opens another


@dataclass
class Measured:
    """What a phase came to.

    Attributes
    ----------
    phase : str
    seconds : float
    met : list of Experience
        Of those who played or dragged.
    others : list of Experience
        Of those who learned or uploaded.
    memory : int
        Most bytes the server held.
    cores, own_cores : float
        How busy the server and this test were.
    received : int
        Bytes that the visitors were sent.
    """

    phase: str
    seconds: float
    met: list[Experience]
    others: list[Experience]
    memory: int
    cores: float
    own_cores: float
    received: int


async def calm(process: int, seconds: float = 600.0) -> None:
    """Wait until the server has nothing to do: after its start it gets its engine ready."""
    until = time.monotonic() + seconds
    quiet = 0
    while quiet < 5 and time.monotonic() < until:
        gauge = Gauge(process)
        await asyncio.sleep(1.0)
        quiet = quiet + 1 if gauge.load < CALM else 0


async def opened(address: str, clients: int) -> list[Player]:
    """Open a page for each of the visitors, a few at a time as people do."""
    visitors = [Player(address, seed) for seed in range(clients)]
    for k in range(0, clients, 5):
        some = visitors[k : k + 5]
        _raise_first(await gathered([one.wire.open for one in some]))
        _raise_first(await gathered([one.open for one in some]))
    return visitors


async def closed(visitors: list[Player]) -> None:
    """Close the pages."""
    await gathered([one.close for one in visitors])


async def run_phase(
    phase: str, visitors: list[Player], process: int, seconds: float, large: bytes
) -> Measured:
    """Let visitors do for some seconds what a phase is about.

    Parameters
    ----------
    phase : {"playing", "dragging", "mixed", "uploads"}
    visitors : list of Player
        With their pages open. In the mixed phase the last two close theirs, and are replaced by
        one who learns `large` and one who uploads; in the phase uploads a third of them close
        theirs, and are replaced by clients that upload 20 MB.
    process : int
        Number of the server's process.
    seconds : float
    large : bytes
        The table of many variables.
    """
    address = f"http://{visitors[0].wire.host}:{visitors[0].wire.port}/"
    for one in visitors:
        one.met = Experience()
    until = time.monotonic() + seconds
    others: list[Player] = []
    doing: list[Callable[[], Awaitable[None]]]
    if phase == "mixed":
        learner = Learner(address, 1, large)
        uploader = Uploader(address, 2, table_of_size(UPLOADED_BYTES))
        others = [learner, uploader]
        players = visitors[: max(1, len(visitors) - 2)]
        await closed(visitors[len(players) :])
        _raise_first(await gathered([one.wire.open for one in others]))
        _raise_first(await gathered([one.open for one in others]))
        until = time.monotonic() + seconds
        doing = [
            *(partial(one.play, until) for one in players),
            lambda: learner.learn(until),
            lambda: uploader.bring(until),
        ]
    elif phase == "uploads":
        uploaders = max(1, len(visitors) * UPLOADERS // 30)
        players = visitors[: max(1, len(visitors) - uploaders)]
        await closed(visitors[len(players) :])
        table = table_of_size(LARGE_UPLOAD_BYTES)
        sources = [Uploader(address, 100 + k, table) for k in range(uploaders)]
        others = [*sources]
        _raise_first(await gathered([one.wire.open for one in others]))
        _raise_first(await gathered([one.open for one in others]))
        until = time.monotonic() + seconds
        doing = [
            *(partial(one.play, until) for one in players),
            *(partial(one.bring, until) for one in sources),
        ]
    elif phase == "dragging":
        players = visitors
        doing = [lambda one=one: one.drag(until) for one in players]
    else:
        players = visitors
        doing = [lambda one=one: one.play(until) for one in players]
    gauge, began, worked = Gauge(process), time.monotonic(), _own_seconds()
    before = sum(one.wire.received for one in [*players, *others])
    watching = asyncio.create_task(_watch(gauge))
    troubles = await gathered(doing)
    watching.cancel()
    gauge.read()
    passed = time.monotonic() - began
    measured = Measured(
        phase,
        passed,
        [one.met for one in players],
        [one.met for one in others],
        gauge.most,
        gauge.load,
        (_own_seconds() - worked) / passed,
        sum(one.wire.received for one in [*players, *others]) - before,
    )
    await closed(others)
    _raise_first(troubles)
    return measured


async def _watch(gauge: Gauge) -> None:
    while True:
        gauge.read()
        await asyncio.sleep(0.5)


def _own_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _raise_first(troubles: list[BaseException]) -> None:
    for trouble in troubles:
        raise trouble


async def soak(
    address: str,
    process: int,
    clients: int,
    seconds: float,
    note: Callable[[float, int], None],
    look: float = LOOK_SECONDS,
) -> list[Experience]:
    """Let visitors come, play runs and go, one after the other, for a long time.

    Parameters
    ----------
    address : str
    process : int
    clients : int
        How many are there at any time.
    seconds : float
    note : callable
        Told the seconds so far and the server's memory, some two hundred times in all.
    look : float
        How long each run is played.
    """
    until = time.monotonic() + seconds
    met: list[Experience] = []

    async def watch() -> None:
        gauge = Gauge(process)
        while True:
            held = gauge.read()
            note(gauge.course[-1][0], held)
            await asyncio.sleep(max(1.0, seconds / 200))

    async def one_after_the_other(number: int) -> None:
        tab = 0
        while time.monotonic() < until:
            visitor = Player(address, number + 100 * tab)
            tab += 1
            met.append(visitor.met)
            try:
                await visitor.wire.open()
                await visitor.open()
                for _ in range(TABS):
                    await visitor.play(min(until, time.monotonic() + look))
                    if time.monotonic() < until:
                        await visitor.another_run()
            except TimeoutError:
                visitor.met.trouble.append("the page did not open")
            finally:
                await visitor.close()

    watching = asyncio.create_task(watch())
    troubles = await gathered([lambda k=k: one_after_the_other(k) for k in range(clients)])
    watching.cancel()
    _raise_first(troubles)
    return met
