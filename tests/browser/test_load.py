"""A short load test and soak of the served app.

No browser is needed: the clients use the server of the other browser tests.
The bounds are for disasters; what a quiet machine does is in docs/load.md.
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

LEFT_BEHIND = 15e6  # bytes that a run may leave behind for as long as its visit is kept
# Two seconds of work and more, one edge a step.
LONG = {"data": "scale-free-200", "alpha": "1", "lam": "0.0005", "max_edges": "2000", "seed": "77"}


@pytest.fixture(autouse=True)
def patient_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients wait longer, because the machine may be busy."""
    monkeypatch.setattr(clients, "PATIENCE_SECONDS", PATIENCE)


def process_of(address: str) -> int:
    return listening_process(urllib.parse.urlsplit(address).port or 0)


def run(test: Callable[[], Awaitable[Any]], seconds: float = 300.0) -> Any:
    """Run a test in a thread, as Playwright keeps an event loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, asyncio.wait_for(test(), seconds)).result()


def test_six_who_play_at_once_are_served_alike(address: str) -> None:
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
    told = report.goal_table(report.goals_of([measured])) + report.phase_table([measured])
    assert "| playing | 6 |" in told


def test_clients_that_come_and_go_leave_little_memory(address: str) -> None:
    process = process_of(address)
    course: list[tuple[float, int]] = []

    async def test() -> Any:
        note = lambda seconds, held: course.append((seconds, held))  # noqa: E731
        await soak(address, process, 3, 2.0, note, look=0.2)  # what is only needed once
        course.clear()
        met: list[Any] = []
        while len(met) <= 3:  # until tabs were closed and others opened
            met += await soak(address, process, 3, 6.0, note, look=0.4)
        return met

    met = run(test)
    assert sum(one.steps for one in met) > 5
    runs = len(met) + sum(one.runs for one in met)
    # Those who have gone are kept for minutes: some 5 MB a run.
    assert course[-1][1] - course[0][1] < min(LEFT_BEHIND * runs, 300_000_000)


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


async def introduced(player: Player) -> dict[str, Any]:
    """Ask for the header of the run on show, and return the message that brings it."""
    while not player.wire.messages.empty():
        player.wire.messages.get_nowait()
    need = {"run": player.run, "from": 1, "count": 0, "header": True}
    await player.wire.trigger("need", need)
    while True:
        message = await asyncio.wait_for(player.wire.messages.get(), PATIENCE)
        if message.get("header"):
            return message


def test_a_lost_connection_stops_the_run_and_does_not_lose_it(address: str) -> None:
    async def test() -> None:
        player = await begun(address, LONG)
        token = player.run
        await player.close()
        await asyncio.sleep(0.3)
        await player.wire.open(again=True)
        await player.wire.finished()
        first = await introduced(player)
        assert first["run"] == token
        assert not first["feed"]["outcome"]
        await asyncio.sleep(0.4)
        second = await introduced(player)
        kept = len(first["feed"]["records"])
        assert len(second["feed"]["records"]) == kept, "computing stopped with the connection"
        player.ready = kept
        await player.wire.trigger("need", {"run": token, "from": kept + 1, "count": 3})
        for _ in range(40):
            grew = player._take(await asyncio.wait_for(player.wire.messages.get(), PATIENCE))
            if grew:
                break
            await player.wire.trigger("need", {"run": token, "from": kept + 1, "count": 3})
        assert player.ready > kept, "it goes on where it was"
        await player.close()

    run(test)


def test_two_tabs_of_one_person_do_not_disturb_each_other(address: str) -> None:
    async def test() -> None:
        first, second = await begun(address, {}), await begun(address, {})
        assert first.wire.session != second.wire.session
        assert first.run != second.run
        own, runs = second.run, second.wire.page_runs
        await first.another_run()
        assert first.run != own
        assert (await introduced(second))["run"] == own
        await first.close()
        assert (await introduced(second))["run"] == own
        assert second.wire.page_runs == runs, "only its own view was asked"
        await second.close()

    run(test)
