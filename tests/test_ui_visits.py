"""Visits: a closed tab stops computing at once and lets go after a while; others go on."""

from __future__ import annotations

import gc
import threading
import time

import pytest

from graftviz.ui.scheduler import Scheduler
from graftviz.ui.visits import Visit, Visits


class Work:
    def __init__(self) -> None:
        self.told: list[str] = []
        self.forgotten = threading.Event()

    def revoke(self) -> None:
        self.told.append("revoke")

    def forget(self) -> None:
        self.told.append("forget")
        self.forgotten.set()


class Stubborn:
    """Work that can only be stopped."""

    revoked = False

    def revoke(self) -> None:
        self.revoked = True


def opened(visits: Visits, *works: Work | Stubborn) -> Visit:
    visit = Visit(Scheduler(threads=1).share())
    for work in works:
        visit.add(work)
    visits.came(visit)
    return visit


@pytest.fixture
def now() -> list[float]:
    return [100.0]


def test_who_leaves_stops_at_once_and_is_forgotten_later(now: list[float]) -> None:
    visits = Visits(60.0, clock=lambda: now[0])
    one, other, stubborn = Work(), Work(), Stubborn()
    leaving, staying = opened(visits, one, stubborn), opened(visits, other)
    assert visits.here == 2
    visits.left(leaving)
    assert visits.here == 1
    assert one.told == ["revoke"]
    assert stubborn.revoked
    assert visits.forget() == 0
    now[0] += 61.0
    assert visits.forget() == 1
    assert one.told == ["revoke", "forget"]
    assert other.told == [], "nobody else is disturbed"
    assert visits.forget() == 0
    assert staying.share is not leaving.share


def test_who_is_back_in_time_has_lost_nothing(now: list[float]) -> None:
    visits = Visits(60.0, clock=lambda: now[0])
    work = Work()
    visit = opened(visits, work)
    visits.left(visit)
    now[0] += 30.0
    visits.came(visit)
    now[0] += 1000.0
    assert visits.forget(all_of_them=True) == 0
    assert work.told == ["revoke"]
    assert visits.here == 1


def test_the_gone_make_room_before_their_time(now: list[float]) -> None:
    visits = Visits(60.0, clock=lambda: now[0])
    work = Work()
    visit = opened(visits, work)
    visits.left(visit)
    assert visits.forget(all_of_them=True) == 1
    assert work.forgotten.is_set()


def test_forgetting_needs_nobody_to_ask() -> None:
    visits = Visits(0.6)
    works = [Work(), Work()]
    kept = [opened(visits, work) for work in works]
    visits.left(kept[0])
    time.sleep(1.2)
    visits.left(kept[1])
    left = time.monotonic()
    assert all(work.forgotten.wait(10) for work in works)
    assert time.monotonic() - left < 0.6 + 1.0 + 1.5, "the second has a time of its own"


def test_a_session_that_has_ended_is_not_kept_alive() -> None:
    visits = Visits(60.0)
    opened(visits, Work())
    gc.collect()
    assert visits.here == 0
