"""Clock of engine time: its sum is processor time, divided by kinds of work."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from graftviz.learners import clock as module
from graftviz.learners.clock import Clock


class Times:
    """Wall-clock and processor time that are advanced by hand; reads of the latter are counted."""

    def __init__(self) -> None:
        self.wall = self.processor = 0.0
        self.reads = 0

    def perf_counter(self) -> float:
        return self.wall

    def thread_time(self) -> float:
        self.reads += 1
        return self.processor

    def advance(self, wall: float, processor: float) -> None:
        self.wall += wall
        self.processor += processor


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    times = Times()
    namespace = SimpleNamespace(perf_counter=times.perf_counter, thread_time=times.thread_time)
    monkeypatch.setattr(module, "time", namespace)
    return times


def test_processor_time_is_divided_by_the_time_of_each_kind(times: Times) -> None:
    clock = Clock()
    times.advance(1.0, 0.5)
    with clock.work("scoring"):
        times.advance(2.0, 1.0)
        with clock.work("fitting"):
            times.advance(4.0, 2.0)
        times.advance(1.0, 0.5)
    seconds = clock.pause()
    assert seconds == (4.0, 0.0, 1.5, 2.0, 0.5)


def test_time_while_paused_does_not_count(times: Times) -> None:
    clock = Clock()
    times.advance(1.0, 1.0)
    assert clock.pause().total == 1.0
    times.advance(5.0, 3.0)
    clock.resume()
    times.advance(2.0, 1.0)
    assert clock.pause().total == 2.0
    times.advance(5.0, 3.0)
    with clock.work("fitting"):
        times.advance(1.0, 1.0)
    assert clock.pause() == (3.0, 0.0, 0.0, 1.0, 2.0)


def test_processor_time_is_read_twice_a_step(times: Times) -> None:
    clock = Clock()
    for _ in range(20):
        with clock.work("scoring"), clock.work("fitting"):
            times.advance(1.0, 1.0)
    clock.pause()
    assert times.reads == 2


def test_waiting_does_not_count() -> None:
    clock = Clock()
    with clock.work("scoring"):
        time.sleep(0.2)
    assert clock.pause().total < 0.1
