"""Visits: a closed tab stops computing at once and lets go after a while; others go on."""

from __future__ import annotations

import asyncio
import gc
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graftviz.serving.jobs import Job
from graftviz.serving.scheduler import Scheduler
from graftviz.ui import streamlit_runtime, visits as visits_module
from graftviz.ui.built_in import material
from graftviz.ui.grow.state import GrowState
from graftviz.ui.prune.state import PruneState
from graftviz.ui.race.state import RaceState
from graftviz.ui.streamlit_runtime import UnusedFiles, end_closed_sessions
from graftviz.ui.visits import Visit, Visits

UI = Path(visits_module.__file__).parent


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
    visits.register(visit)
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
    visits.register(visit)
    now[0] += 1000.0
    assert visits.forget(all_of_them=True) == 0
    assert work.told == ["revoke"]
    assert visits.here == 1


def test_what_begins_after_somebody_has_left_waits_for_them(now: list[float]) -> None:
    visits = Visits(60.0, clock=lambda: now[0])
    visit = opened(visits)
    begun = Job(iter([1]), visit.share)

    class Late(Work):
        """Something else is begun while it is stopped."""

        def revoke(self) -> None:
            super().revoke()
            begun.grant()

    late = Late()
    visit.add(late)
    visits.left(visit)
    assert not begun.wait_for_end(0.3)
    visits.register(visit)
    assert begun.wait_for_end(60)
    assert begun.latest == 1


def test_what_all_share_goes_with_the_last_of_them(now: list[float]) -> None:
    emptied: list[float] = []
    visits = Visits(60.0, clock=lambda: now[0], on_empty=lambda: emptied.append(now[0]))
    first, second = opened(visits, Work()), opened(visits, Work())
    visits.left(first)
    now[0] += 61.0
    assert visits.forget() == 1
    visits.left(second)
    assert visits.forget() == 0
    assert emptied == [], "one is here, or may be back"
    now[0] += 61.0
    assert visits.forget() == 1
    assert emptied == [222.0]


def test_every_cache_of_shared_work_can_be_let_go() -> None:
    """But for those whose value is no value: threads, queues, names, and who is here."""
    kept = {"scheduler", "_connection"}
    cached = re.compile(r"((?:@\w.*\n)*)@st\.cache_resource\(.*\)\ndef (\w+)")
    found = [
        (name, "@clearable_cache" in above)
        for path in sorted(UI.rglob("*.py"))
        for above, name in cached.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(found) > 5
    for name, can_go in found:
        assert can_go != (name in kept or name.endswith("warm_up")), name


class Broken(Work):
    def revoke(self) -> None:
        super().revoke()
        raise RuntimeError("dictionary changed size during iteration")

    def forget(self) -> None:
        super().forget()
        raise RuntimeError("dictionary changed size during iteration")


def test_an_error_loses_no_visit(now: list[float], caplog: pytest.LogCaptureFixture) -> None:
    visits = Visits(60.0, clock=lambda: now[0])
    works = [Broken(), Work(), Broken(), Work()]
    pages = [opened(visits, *works[:2]), opened(visits, *works[2:])]
    for page in pages:
        visits.left(page)
    assert visits.here == 0
    now[0] += 61.0
    assert visits.forget() == 2
    assert [work.told for work in works] == [["revoke", "forget"]] * 4
    assert caplog.text.count("could not be stopped or released (reference") == 4


def test_who_is_back_while_others_are_put_away_has_lost_nothing(now: list[float]) -> None:
    visits = Visits(60.0, clock=lambda: now[0])
    pages: list[Visit] = []

    class Meeting(Work):
        """While this is put away, the page of the other is back."""

        def forget(self) -> None:
            super().forget()
            visits.register(pages[1 - works.index(self)])

    works = [Meeting(), Meeting()]
    pages += [opened(visits, work) for work in works]
    for page in pages:
        visits.left(page)
    assert visits.forget(all_of_them=True) == 1
    assert sorted(work.told for work in works) == [["revoke"], ["revoke", "forget"]]
    assert visits.here == 1


def all_states() -> list[tuple[Any, dict[Any, Any]]]:
    """Return a state of each page that keeps runs, and what it keeps them in."""
    share = Scheduler(threads=1).share()
    grow, race, prune = (kind(material, share) for kind in (GrowState, RaceState, PruneState))
    return [
        (grow, grow._runs._runs),
        (race, race._runs._runs),
        (prune, prune._runs._runs),
    ]


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("stop", ["revoke", "forget"])
def test_runs_may_begin_while_they_are_stopped(which: int, stop: str) -> None:
    state, runs = all_states()[which]

    class Run(Work):
        def revoke(self) -> None:
            super().revoke()
            runs[object()] = Work()

    first, second = Run(), Run()
    runs.update({1: first, 2: second})
    getattr(state, stop)()
    assert "revoke" in first.told
    assert "revoke" in second.told


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads that interrupt each other at every turn."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty")
def test_works_may_begin_while_a_visit_ends(caplog: pytest.LogCaptureFixture) -> None:
    visits = Visits(60.0)
    kept = [Work() for _ in range(300)]
    visit = opened(visits, *kept)
    is_over = threading.Event()

    def begin() -> None:
        while not is_over.is_set():
            kept.append(Work())
            visit.add(kept[-1])

    beginning = threading.Thread(target=begin)
    beginning.start()
    try:
        for _ in range(20):
            visits.left(visit)
    finally:
        is_over.set()
        beginning.join()
    assert kept[0].told == ["revoke"] * 20
    assert caplog.text == ""


def test_the_server_forgets_each_visit_in_its_own_time(
    now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    visits = Visits(60.0, clock=lambda: now[0])
    works = [Work(), Work()]
    kept = [opened(visits, work) for work in works]
    monkeypatch.setattr(streamlit_runtime, "visits", lambda: visits)
    monkeypatch.setattr(streamlit_runtime, "end_expired_sessions", lambda: 0)
    monkeypatch.setattr(UnusedFiles, "release", lambda *_: 0)
    told = []

    async def serve() -> None:
        ending = asyncio.create_task(end_closed_sessions(lambda _: False, 0.01))
        visits.left(kept[0])
        now[0] += 50.0
        visits.left(kept[1])
        for later in (0.0, 11.0, 50.0):
            now[0] += later
            await asyncio.sleep(0.3)
            told.append([work.forgotten.is_set() for work in works])
        ending.cancel()

    asyncio.run(serve())
    assert told == [[False, False], [True, False], [True, True]]


def test_a_session_that_has_ended_is_not_kept_alive() -> None:
    visits = Visits(60.0)
    opened(visits, Work())
    gc.collect()
    assert visits.here == 0
