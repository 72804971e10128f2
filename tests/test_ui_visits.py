"""Visits: a closed tab stops its work at once and releases it after a while."""

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
        self.calls: list[str] = []
        self.forgotten = threading.Event()

    def revoke(self) -> None:
        self.calls.append("revoke")

    def forget(self) -> None:
        self.calls.append("forget")
        self.forgotten.set()


class RevocableOnly:
    """Work that can only be revoked."""

    revoked = False

    def revoke(self) -> None:
        self.revoked = True


def opened(visits: Visits, *works: Work | RevocableOnly) -> Visit:
    visit = Visit(Scheduler(threads=1).share())
    for work in works:
        visit.add(work)
    visits.register(visit)
    return visit


@pytest.fixture
def now() -> list[float]:
    return [100.0]


def test_closed_visit_is_revoked_at_once_and_forgotten_later(now: list[float]) -> None:
    visits = Visits(60.0, clock=lambda: now[0])
    one, other, revocable = Work(), Work(), RevocableOnly()
    leaving, staying = opened(visits, one, revocable), opened(visits, other)
    assert visits.here == 2
    visits.left(leaving)
    assert visits.here == 1
    assert one.calls == ["revoke"]
    assert revocable.revoked
    assert visits.forget() == 0
    now[0] += 61.0
    assert visits.forget() == 1
    assert one.calls == ["revoke", "forget"]
    assert other.calls == [], "work of another visit was affected"
    assert visits.forget() == 0
    assert staying.share is not leaving.share


def test_visit_reopened_in_time_is_not_forgotten(now: list[float]) -> None:
    visits = Visits(60.0, clock=lambda: now[0])
    work = Work()
    visit = opened(visits, work)
    visits.left(visit)
    now[0] += 30.0
    visits.register(visit)
    now[0] += 1000.0
    assert visits.forget(all_of_them=True) == 0
    assert work.calls == ["revoke"]
    assert visits.here == 1


def test_job_started_after_close_waits_for_reopening(now: list[float]) -> None:
    visits = Visits(60.0, clock=lambda: now[0])
    visit = opened(visits)
    job = Job(iter([1]), visit.share)

    class Late(Work):
        """Work that starts another job while it is revoked."""

        def revoke(self) -> None:
            super().revoke()
            job.grant()

    late = Late()
    visit.add(late)
    visits.left(visit)
    assert not job.wait_for_end(0.3)
    visits.register(visit)
    assert job.wait_for_end(60)
    assert job.latest == 1


def test_shared_work_is_released_with_the_last_visit(now: list[float]) -> None:
    emptied: list[float] = []
    visits = Visits(60.0, clock=lambda: now[0], on_empty=lambda: emptied.append(now[0]))
    first, second = opened(visits, Work()), opened(visits, Work())
    visits.left(first)
    now[0] += 61.0
    assert visits.forget() == 1
    visits.left(second)
    assert visits.forget() == 0
    assert emptied == [], "released before the last visit expired"
    now[0] += 61.0
    assert visits.forget() == 1
    assert emptied == [222.0]


def test_every_cache_of_shared_work_can_be_cleared() -> None:
    """Check all cached functions except those of threads, queues, names and visits."""
    permanent = {"scheduler", "_connection"}
    cached = re.compile(r"((?:@\w.*\n)*)@st\.cache_resource\(.*\)\ndef (\w+)")
    found = [
        (name, "@clearable_cache" in above)
        for path in sorted(UI.rglob("*.py"))
        for above, name in cached.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(found) > 5
    for name, is_clearable in found:
        assert is_clearable != (name in permanent or name.endswith("warm_up")), name


class Broken(Work):
    def revoke(self) -> None:
        super().revoke()
        raise RuntimeError("dictionary changed size during iteration")

    def forget(self) -> None:
        super().forget()
        raise RuntimeError("dictionary changed size during iteration")


def test_error_in_work_does_not_affect_visits(
    now: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    visits = Visits(60.0, clock=lambda: now[0])
    works = [Broken(), Work(), Broken(), Work()]
    pages = [opened(visits, *works[:2]), opened(visits, *works[2:])]
    for page in pages:
        visits.left(page)
    assert visits.here == 0
    now[0] += 61.0
    assert visits.forget() == 2
    assert [work.calls for work in works] == [["revoke", "forget"]] * 4
    # Errors at the same place are logged once a minute.
    assert caplog.text.count("could not be stopped or released (reference") == 2


def test_visit_reopened_while_another_is_forgotten_is_kept(now: list[float]) -> None:
    visits = Visits(60.0, clock=lambda: now[0])
    pages: list[Visit] = []

    class Meeting(Work):
        """Work that reopens the page of the other while it is forgotten."""

        def forget(self) -> None:
            super().forget()
            visits.register(pages[1 - works.index(self)])

    works = [Meeting(), Meeting()]
    pages += [opened(visits, work) for work in works]
    for page in pages:
        visits.left(page)
    assert visits.forget(all_of_them=True) == 1
    assert sorted(work.calls for work in works) == [["revoke"], ["revoke", "forget"]]
    assert visits.here == 1


def all_states() -> list[tuple[Any, dict[Any, Any]]]:
    """Return a state of each page that stores runs, and its dictionary of runs."""
    share = Scheduler(threads=1).share()
    grow, race, prune = (kind(material, share) for kind in (GrowState, RaceState, PruneState))
    return [
        (grow, grow._runs._runs),
        (race, race._runs._runs),
        (prune, prune._runs._runs),
    ]


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("stop", ["revoke", "forget"])
def test_runs_may_be_added_while_others_are_revoked_or_forgotten(which: int, stop: str) -> None:
    state, runs = all_states()[which]

    class Run(Work):
        def revoke(self) -> None:
            super().revoke()
            runs[object()] = Work()

    first, second = Run(), Run()
    runs.update({1: first, 2: second})
    getattr(state, stop)()
    assert "revoke" in first.calls
    assert "revoke" in second.calls


@pytest.fixture
def short_switch_interval() -> Iterator[None]:
    """Set the shortest switch interval of threads."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("short_switch_interval")
def test_work_may_be_added_while_a_visit_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    visits = Visits(60.0)
    works = [Work() for _ in range(300)]
    visit = opened(visits, *works)
    is_over = threading.Event()

    def begin() -> None:
        while not is_over.is_set():
            works.append(Work())
            visit.add(works[-1])

    beginning = threading.Thread(target=begin)
    beginning.start()
    try:
        for _ in range(20):
            visits.left(visit)
    finally:
        is_over.set()
        beginning.join()
    assert works[0].calls == ["revoke"] * 20
    assert caplog.text == ""


def test_server_forgets_each_visit_at_its_own_expiry(
    now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    visits = Visits(60.0, clock=lambda: now[0])
    works = [Work(), Work()]
    opened_visits = [opened(visits, work) for work in works]
    monkeypatch.setattr(streamlit_runtime, "visits", lambda: visits)
    monkeypatch.setattr(streamlit_runtime, "end_expired_sessions", lambda: 0)
    monkeypatch.setattr(UnusedFiles, "release", lambda *_: 0)
    forgotten = []

    async def serve() -> None:
        ending = asyncio.create_task(end_closed_sessions(lambda _: False, 0.01))
        visits.left(opened_visits[0])
        now[0] += 50.0
        visits.left(opened_visits[1])
        for later in (0.0, 11.0, 50.0):
            now[0] += later
            await asyncio.sleep(0.3)
            forgotten.append([work.forgotten.is_set() for work in works])
        ending.cancel()

    asyncio.run(serve())
    assert forgotten == [[False, False], [True, False], [True, True]]


def test_ended_session_is_not_referenced() -> None:
    visits = Visits(60.0)
    opened(visits, Work())
    gc.collect()
    assert visits.here == 0
