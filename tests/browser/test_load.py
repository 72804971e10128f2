"""A short load test and soak of the served app.

No browser is needed: the clients use the server of the other browser tests.
The bounds are loose; measurements on an idle machine are in docs/load.md.
"""

from __future__ import annotations

import asyncio
import statistics
import urllib.parse
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from waiting import PATIENCE

from tests.load import clients, mixed_use, report
from tests.load.clients import Player
from tests.load.mixed_use import PAGES, PageClient
from tests.load.phases import closed, opened, run_phase, soak
from tests.load.server import listening_process

LEFT_BEHIND = 15e6  # bytes of memory that a run may hold until its visit expires
# More than two seconds of work, one edge a step.
LONG = {"data": "scale-free-200", "alpha": "1", "lam": "0.0005", "max_edges": "2000", "seed": "77"}


@pytest.fixture(autouse=True)
def patient_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Increase the patience of clients, because the machine may be busy."""
    monkeypatch.setattr(clients, "PATIENCE_SECONDS", PATIENCE)


def process_of(address: str) -> int:
    return listening_process(urllib.parse.urlsplit(address).port or 0)


def run(test: Callable[[], Awaitable[Any]], seconds: float = 300.0) -> Any:
    """Run a test in a thread, as Playwright keeps an event loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, asyncio.wait_for(test(), seconds)).result()


def test_six_concurrent_players_have_similar_pace(address: str) -> None:
    process = process_of(address)

    async def test() -> Any:
        players = await opened(address, 6)
        try:
            return await run_phase("playing", players, process, 4.0, b"")
        finally:
            await closed(players)

    measured = run(test)
    paces = [client.pace for client in measured.players]
    assert min(paces) > 0.3 * statistics.median(paces) > 0.3
    assert not [trouble for client in measured.players for trouble in client.trouble]
    trips = [trip for client in measured.players for trip in client.round_trips]
    assert report.share_of(trips, 0.5) < 10.0
    text = report.goal_table(report.goals_of([measured])) + report.phase_table([measured])
    assert "| playing | 6 |" in text


def test_memory_of_closed_clients_is_bounded(address: str) -> None:
    process = process_of(address)
    readings: list[tuple[float, int]] = []

    async def test() -> Any:
        note = lambda seconds, held: readings.append((seconds, held))  # noqa: E731
        await soak(address, process, 3, 2.0, note, look=0.2)  # memory that is needed only once
        readings.clear()
        clients: list[Any] = []
        while len(clients) <= 3:  # until tabs were closed and opened
            clients += await soak(address, process, 3, 6.0, note, look=0.4)
        return clients

    clients = run(test)
    assert sum(client.steps for client in clients) > 5
    runs = len(clients) + sum(client.runs for client in clients)
    # Closed visits are stored for minutes: some 5 MB a run.
    assert readings[-1][1] - readings[0][1] < min(LEFT_BEHIND * runs, 300_000_000)


def test_one_session_can_use_every_page(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixed_use, "PAUSE_SECONDS", (0.05, 0.1))
    client = PageClient(address, 3)
    run(partial(client.see_every_page, uploads=False))
    assert client.usage.trouble == []
    assert client.usage.pages == client.usage.changes == len(PAGES)
    assert client.usage.messages > len(PAGES)


async def begun(address: str, query: dict[str, str]) -> Player:
    player = Player(address, 1)
    player.wire.query = urllib.parse.urlencode(query)
    await player.wire.open()
    await player.open()
    return player


async def header_of(player: Player) -> dict[str, Any]:
    """Request the header of the shown run and return its message."""
    while not player.wire.messages.empty():
        player.wire.messages.get_nowait()
    need = {"run": player.run, "from": 1, "count": 0, "header": True}
    await player.wire.trigger("need", need)
    while True:
        message = await asyncio.wait_for(player.wire.messages.get(), PATIENCE)
        if message.get("header"):
            return message


def test_lost_connection_stops_run_until_it_is_reopened(address: str) -> None:
    async def test() -> None:
        player = await begun(address, LONG)
        token = player.run
        await player.close()
        await asyncio.sleep(0.3)
        await player.wire.open(again=True)
        await player.wire.finished()
        first = await header_of(player)
        assert first["run"] == token
        assert not first["feed"]["outcome"]
        await asyncio.sleep(0.4)
        second = await header_of(player)
        count = len(first["feed"]["records"])
        assert len(second["feed"]["records"]) == count, "the run did not stop with the connection"
        player.ready = count
        await player.wire.trigger("need", {"run": token, "from": count + 1, "count": 3})
        for _ in range(40):
            grew = player._take(await asyncio.wait_for(player.wire.messages.get(), PATIENCE))
            if grew:
                break
            await player.wire.trigger("need", {"run": token, "from": count + 1, "count": 3})
        assert player.ready > count, "the run did not resume"
        await player.close()

    run(test)


def test_two_tabs_have_independent_runs(address: str) -> None:
    async def test() -> None:
        first, second = await begun(address, {}), await begun(address, {})
        assert first.wire.session != second.wire.session
        assert first.run != second.run
        own, runs = second.run, second.wire.page_runs
        await first.another_run()
        assert first.run != own
        assert (await header_of(second))["run"] == own
        await first.close()
        assert (await header_of(second))["run"] == own
        assert second.wire.page_runs == runs, "the page of the second tab ran"
        await second.close()

    run(test)
