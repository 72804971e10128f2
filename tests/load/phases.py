"""Phases of a load test, and their measurements."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tests.load.clients import UPLOADED_BYTES, Learner, Measurements, Player, Uploader, gathered
from tests.load.server import Gauge
from tests.load.tables import table_of_size

PHASES = ("playing", "dragging", "mixed", "uploads")
SETTLE_SECONDS = 20.0  # after the clients have left, besides the time the server keeps their runs
CALM = 0.1  # cores; below, the server is idle
LOOK_SECONDS = 40.0  # soak: time for which a run is played
UPLOADERS = 10  # of thirty clients, in the phase uploads
LARGE_UPLOAD_BYTES = 20_000_000
TABS = 3  # soak: runs after which a client closes the tab and opens another


@dataclass
class PhaseResult:
    """Measurements of a phase.

    Attributes
    ----------
    phase : str
    seconds : float
    players : list of Measurements
        Of clients that played or dragged.
    others : list of Measurements
        Of clients that learned or uploaded.
    memory : int
        Peak memory of the server in bytes.
    cores, own_cores : float
        Mean numbers of busy cores of the server and of this test.
    received : int
        Bytes sent to the clients.
    """

    phase: str
    seconds: float
    players: list[Measurements]
    others: list[Measurements]
    memory: int
    cores: float
    own_cores: float
    received: int


async def calm(process: int, seconds: float = 600.0) -> None:
    """Wait until the server is idle: after its start it compiles its engine."""
    until = time.monotonic() + seconds
    quiet = 0
    while quiet < 5 and time.monotonic() < until:
        gauge = Gauge(process)
        await asyncio.sleep(1.0)
        quiet = quiet + 1 if gauge.load < CALM else 0


async def opened(address: str, clients: int) -> list[Player]:
    """Open the pages of all clients, a few at a time."""
    players = [Player(address, seed) for seed in range(clients)]
    for k in range(0, clients, 5):
        some = players[k : k + 5]
        _raise_first(await gathered([one.wire.open for one in some]))
        _raise_first(await gathered([one.open for one in some]))
    return players


async def closed(clients: list[Player]) -> None:
    """Close the pages."""
    await gathered([one.close for one in clients])


async def run_phase(
    phase: str, clients: list[Player], process: int, seconds: float, large: bytes
) -> PhaseResult:
    """Run a phase for some seconds.

    Parameters
    ----------
    phase : {"playing", "dragging", "mixed", "uploads"}
    clients : list of Player
        With open pages. In the phase mixed the last two are closed and replaced by one client that
        learns from `large` and one that uploads; in the phase uploads a third of them is
        replaced by clients that upload 20 MB.
    process : int
        Process id of the server.
    seconds : float
    large : bytes
        The table of many variables.
    """
    address = f"http://{clients[0].wire.host}:{clients[0].wire.port}/"
    for one in clients:
        one.measured = Measurements()
    others: list[Learner | Uploader] = []
    if phase == "mixed":
        table = table_of_size(UPLOADED_BYTES)
        others = [Learner(address, 1, large), Uploader(address, 2, table)]
    elif phase == "uploads":
        table = table_of_size(LARGE_UPLOAD_BYTES)
        count = max(1, len(clients) * UPLOADERS // 30)
        others = [Uploader(address, 100 + k, table) for k in range(count)]
    players = clients[: max(1, len(clients) - len(others))]
    await closed(clients[len(players) :])
    _raise_first(await gathered([one.wire.open for one in others]))
    _raise_first(await gathered([one.open for one in others]))
    until = time.monotonic() + seconds
    doing = [partial(one.drag if phase == "dragging" else one.play, until) for one in players]
    doing += [partial(one.work, until) for one in others]
    gauge, began, worked = Gauge(process), time.monotonic(), _own_seconds()
    before = sum(one.wire.received for one in [*players, *others])
    watching = asyncio.create_task(_watch(gauge))
    troubles = await gathered(doing)
    watching.cancel()
    gauge.read()
    passed = time.monotonic() - began
    measured = PhaseResult(
        phase,
        passed,
        [one.measured for one in players],
        [one.measured for one in others],
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
) -> list[Measurements]:
    """Play runs in one session after the other for a long time.

    Parameters
    ----------
    address : str
    process : int
    clients : int
        Number of concurrent clients.
    seconds : float
    note : callable
        Called with the seconds so far and the server's memory, about two hundred times.
    look : float
        Seconds for which each run is played.
    """
    until = time.monotonic() + seconds
    found: list[Measurements] = []

    async def watch() -> None:
        gauge = Gauge(process)
        while True:
            held = gauge.read()
            note(gauge.course[-1][0], held)
            await asyncio.sleep(max(1.0, seconds / 200))

    async def one_after_the_other(number: int) -> None:
        tab = 0
        while time.monotonic() < until:
            client = Player(address, number + 100 * tab)
            tab += 1
            found.append(client.measured)
            try:
                await client.wire.open()
                await client.open()
                for _ in range(TABS):
                    await client.play(min(until, time.monotonic() + look))
                    if time.monotonic() < until:
                        await client.another_run()
            except TimeoutError:
                client.measured.trouble.append("the page did not open")
            finally:
                await client.close()

    watching = asyncio.create_task(watch())
    troubles = await gathered([lambda k=k: one_after_the_other(k) for k in range(clients)])
    watching.cancel()
    _raise_first(troubles)
    return found
