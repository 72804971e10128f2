"""A short load test of the served app, without a browser."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from waiting import PATIENCE

from tests.load import GOALS, measured


def test_every_client_gets_steps_and_new_runs(address: str) -> None:
    # In a thread, as Playwright keeps an event loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(asyncio.run, measured(address, 4, 8.0, pause=0.0)).result()
    assert found.keys() == GOALS.keys()
    for waits in found.values():
        assert len(waits) >= 4
        assert waits[-1] < PATIENCE
