"""The scheduler: fairness, ends of tasks, errors and threads."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest
from waiting import wait_until

from graftviz.serving.scheduler import FAIR_TURN, Foreground, Scheduler


class Counter:
    """Task of `total` units of one millisecond each."""

    lane = None
    urgent = False

    def __init__(self, total: int, journal: list[Counter] | None = None) -> None:
        self.total = total
        self.done = 0
        self.workers = 0
        self.most_workers = 0
        self.failures: list[str] = []
        self.finished = threading.Event()
        self.journal = journal if journal is not None else []

    def work(self, until: float) -> bool:
        self.workers += 1
        self.most_workers = max(self.most_workers, self.workers)
        self.journal.append(self)
        while self.done < self.total and time.perf_counter() < until:
            time.sleep(0.001)
            self.done += 1
        self.workers -= 1
        if self.done >= self.total:
            self.finished.set()
        return self.done < self.total

    def fail(self, reference: str) -> None:
        self.failures.append(reference)
        self.finished.set()


class Broken(Counter):
    def work(self, until: float) -> bool:
        raise ArithmeticError("a bug")


class Held(Counter):
    """Task that blocks its thread until it may begin."""

    def __init__(self, total: int) -> None:
        super().__init__(total)
        self.has_turn = threading.Event()
        self.may_begin = threading.Event()

    def work(self, until: float) -> bool:
        self.has_turn.set()
        assert self.may_begin.wait(60)
        return super().work(until)


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    pool = Scheduler(threads=2, slice_seconds=0.005)
    yield pool
    pool.close()


def engine_threads() -> int:
    return sum(thread.name.startswith("graftviz-engine") for thread in threading.enumerate())


def test_all_work_is_done_and_no_task_runs_twice_at_once(scheduler: Scheduler) -> None:
    tasks = [Counter(20) for _ in range(8)]
    for task in tasks:
        share = scheduler.share()
        share.submit(task)
        share.submit(task)
    assert all(task.finished.wait(60) for task in tasks)
    assert [task.done for task in tasks] == [20] * 8
    assert max(task.most_workers for task in tasks) == 1


class Clock:
    """Clock that advances only while a task works, independent of other load."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


class Timed:
    """Task with steps of a given length, independent of slices, until its clock reaches a limit."""

    lane = None
    urgent = False

    def __init__(
        self, clock: Clock, seconds: float, served: dict[int, float], client: int, enough: float
    ) -> None:
        self.clock = clock
        self.seconds = seconds
        self.served = served
        self.client = client
        self.enough = enough
        self.served_times: list[dict[int, float]] = []
        self.finished = threading.Event()

    def work(self, until: float) -> bool:
        self.clock.now += self.seconds
        self.served[self.client] += self.seconds
        self.served_times.append(dict(self.served))
        if self.clock.now > self.enough:
            self.finished.set()
        return not self.finished.is_set()

    def fail(self, reference: str) -> None:
        raise AssertionError(reference)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("graftviz.serving.scheduler.time", clock)
    return clock


class Gate(Timed):
    """Task that blocks the engine thread until all tasks are submitted."""

    def work(self, until: float) -> bool:
        assert self.finished.wait(60)
        return False


def test_clients_with_work_are_never_more_than_a_slice_apart(clock: Clock) -> None:
    pool = Scheduler(threads=1, slice_seconds=0.004)
    # Six runs of one client, two of another with long steps, one of a third.
    plan = {0: [0.003] * 6, 1: [0.012] * 2, 2: [0.005]}
    served = dict.fromkeys(plan, 0.0)
    shares = {client: pool.share() for client in plan}
    gate = Gate(clock, 0.0, {}, 0, 0.0)
    pool.share().submit(gate)
    tasks = [
        Timed(clock, seconds, served, client, 6.0)
        for client, steps in plan.items()
        for seconds in steps
    ]
    for task in tasks:
        shares[task.client].submit(task)
    gate.finished.set()
    assert tasks[-1].finished.wait(60)
    pool.close()
    longest = max(seconds for steps in plan.values() for seconds in steps)
    snapshots = [
        snapshot
        for task in tasks
        for snapshot in task.served_times
        if sum(snapshot.values()) <= 6.0
    ]
    assert len(snapshots) > 500
    for snapshot in snapshots:
        assert max(snapshot.values()) - min(snapshot.values()) < longest + 1e-9
    for client in plan:
        turns = [len(task.served_times) for task in tasks if task.client == client]
        assert max(turns) - min(turns) <= 1, "tasks of a client do not take turns"


def test_idle_client_accumulates_no_credit(clock: Clock) -> None:
    pool = Scheduler(threads=1, slice_seconds=0.002)
    busy, late = pool.share(), pool.share()
    served = {0: 0.0, 1: 0.0}
    second = Timed(clock, 0.002, served, 1, 3.0)

    class First(Timed):
        def work(self, until: float) -> bool:
            if len(self.served_times) == 500:
                late.submit(second)
            return super().work(until)

    first = First(clock, 0.002, served, 0, 3.0)
    busy.submit(first)
    assert first.finished.wait(60)
    assert second.finished.wait(60)
    pool.close()
    assert served[0] - 1.0 == pytest.approx(served[1], abs=0.005)


def test_urgent_tasks_come_first_and_others_continue(clock: Clock) -> None:
    pool = Scheduler(threads=1, slice_seconds=0.002)
    shares = [pool.share() for _ in range(3)]
    served = dict.fromkeys(range(3), 0.0)
    gate = Gate(clock, 0.0, {}, 0, 0.0)
    pool.share().submit(gate)
    tasks = [Timed(clock, 0.002, served, client, 4.0) for client in range(3)]
    tasks[0].urgent = tasks[1].urgent = True
    for task, share in zip(tasks, shares, strict=True):
        share.submit(task)
    gate.finished.set()
    assert tasks[2].finished.wait(60)
    pool.close()
    assert served[0] == pytest.approx(served[1], abs=0.01), "urgent clients have unequal time"
    assert served[2] == pytest.approx(4.0 / FAIR_TURN, rel=0.05), "expected every fourth slice"


def test_urgent_task_of_a_client_comes_first() -> None:
    journal: list[Counter] = []
    pool = Scheduler(threads=1, slice_seconds=0.002)
    share = pool.share()
    others = [Counter(30, journal) for _ in range(3)]
    urgent = Counter(3, journal)
    urgent.urgent = True
    for task in (*others, urgent):
        share.submit(task)
    assert urgent.finished.wait(60)
    assert len(journal) <= 8, "all other tasks had a turn before"
    pool.close()


def test_memory_is_released_after_work(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr("graftviz.serving.scheduler.release_freed_memory", released.set)
    pool = Scheduler(threads=1)
    assert not released.is_set()
    pool.share().submit(Counter(2))
    assert released.wait(60)
    pool.close()


def test_error_of_a_task_does_not_affect_other_tasks(
    scheduler: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    broken, sound = Broken(1), Counter(10)
    scheduler.share().submit(broken)
    scheduler.share().submit(sound)
    assert broken.finished.wait(60)
    assert sound.finished.wait(60)
    assert len(broken.failures) == 1
    assert broken.failures[0] in caplog.text
    assert "ArithmeticError" in caplog.text


class AlwaysBroken(Broken):
    """Task whose methods all raise an error."""

    @property
    def urgent(self) -> bool:
        raise ArithmeticError("urgent")

    def fail(self, reference: str) -> None:
        self.finished.set()
        raise ArithmeticError("fail")


def test_no_error_ends_an_engine_thread(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tidy() -> None:
        raise ArithmeticError("tidy")

    monkeypatch.setattr("graftviz.serving.scheduler.TIDY_SECONDS", 0.0)
    monkeypatch.setattr("graftviz.serving.scheduler.release_freed_memory", tidy)
    pool = Scheduler(threads=1)
    before = engine_threads()
    hopeless, sound = AlwaysBroken(1), Counter(10)
    pool.share().submit(hopeless)
    assert hopeless.finished.wait(60)
    pool.share().submit(sound)
    assert sound.finished.wait(60)
    assert engine_threads() == before + 1
    pool.close()
    for cause in ("a bug", "urgent", "fail", "tidy"):
        assert f"ArithmeticError: {cause}" in caplog.text


def test_sleeping_thread_holds_no_reference_to_task(scheduler: Scheduler) -> None:
    task = Counter(3)
    scheduler.share().submit(task)
    assert task.finished.wait(60)
    reference = weakref.ref(task)
    del task
    wait_until(lambda: gc.collect() >= 0 and reference() is None)


def test_a_withdrawn_task_gets_no_turn() -> None:
    pool = Scheduler(threads=1, slice_seconds=0.02)
    first, second = Held(10), Counter(10)
    pool.share().submit(first)
    assert first.has_turn.wait(60)
    share = pool.share()
    share.submit(second)
    share.withdraw(second)
    first.may_begin.set()
    assert first.finished.wait(60)
    pool.close()
    assert second.done == 0


def test_a_closed_share_has_no_turns_until_it_is_opened(scheduler: Scheduler) -> None:
    share, other = scheduler.share(), scheduler.share()
    endless, waiting, late, dropped = Counter(10**6), Counter(3), Counter(3), Counter(3)
    share.submit(endless)
    wait_until(lambda: endless.done)
    share.close()
    share.close()
    for task in (waiting, late, dropped, late):
        share.submit(task)
    share.withdraw(dropped)
    turn = Counter(50)
    other.submit(turn)
    assert turn.finished.wait(60)
    done = endless.done
    turn = Counter(20)
    other.submit(turn)
    assert turn.finished.wait(60)
    assert endless.done == done, "the running task did not end with its slice"
    assert (waiting.done, late.done) == (0, 0)
    share.open()
    assert waiting.finished.wait(60)
    assert late.finished.wait(60)
    assert (waiting.done, late.done, dropped.done) == (3, 3, 0)
    endless.total = 0
    assert endless.finished.wait(60)


def test_threads_start_late_and_end_with_close() -> None:
    before = engine_threads()
    pool = Scheduler(threads=3)
    assert engine_threads() == before
    task = Counter(3)
    pool.share().submit(task)
    assert task.finished.wait(60)
    assert engine_threads() == before + 3
    pool.close()
    assert engine_threads() == before
    pool.share().submit(Counter(1))
    assert engine_threads() == before


def test_idle_threads_use_no_processor_time(scheduler: Scheduler) -> None:
    task = Counter(3)
    scheduler.share().submit(task)
    assert task.finished.wait(60)
    time.sleep(0.05)
    clocks = [time.pthread_getcpuclockid(thread.ident or 0) for thread in scheduler._threads]
    before = sum(map(time.clock_gettime, clocks))
    time.sleep(0.3)
    assert sum(map(time.clock_gettime, clocks)) - before < 0.1


class Awaited(Counter):
    urgent = True


@pytest.fixture
def pages() -> Iterator[Foreground]:
    """Pages, one of which is running."""
    pages = Foreground()
    with pages.page():
        yield pages


def test_steps_computed_ahead_yield_to_pages(
    pages: Foreground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graftviz.serving.scheduler.MOST_POSTPONED", 10**9)
    pool = Scheduler(threads=1, slice_seconds=0.005, pages=pages)
    ahead = Counter(3)
    pool.share().submit(ahead)
    for _ in range(FAIR_TURN - 2):  # the next turn is by time only
        awaited = Awaited(1)
        pool.share().submit(awaited)
        assert awaited.finished.wait(60)
    assert ahead.done == 0
    with pages.waiting():
        assert ahead.finished.wait(60)
    pool.close()


def test_steps_computed_ahead_finish_despite_pages(pages: Foreground) -> None:
    pool = Scheduler(threads=2, slice_seconds=0.005, pages=pages)
    ahead = [Counter(12) for _ in range(3)]
    for task in ahead:
        pool.share().submit(task)
    assert all(task.finished.wait(60) for task in ahead)
    pool.close()


# Counts of running pages, by thread and without waiting pages.


def test_part_of_a_page_is_not_counted_again() -> None:
    pages = Foreground()
    with pages.page():
        assert pages.at_work == 1
        with pages.part():
            assert pages.at_work == 1
        assert pages.at_work == 1
    assert pages.at_work == 0


def test_waiting_page_is_not_counted() -> None:
    pages = Foreground()
    with pages.waiting():
        assert pages.at_work == 0
    with pages.page(), pages.part():
        with pages.waiting():
            assert pages.at_work == 0
        assert pages.at_work == 1


# Turns of pages: parts, waiting pages and slow pages delay no other page.


@contextmanager
def drawn_elsewhere(draw: Callable[[], AbstractContextManager[None]]) -> Iterator[threading.Event]:
    """Draw on another thread until the end of the block; yield the event of its start."""
    begun, leave = threading.Event(), threading.Event()

    def run() -> None:
        with draw():
            begun.set()
            leave.wait(60)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield begun
    finally:
        leave.set()
        thread.join(60)


def test_page_is_drawn_after_the_previous_page() -> None:
    pages = Foreground(turn_seconds=60.0)
    with ExitStack() as stack:
        with pages.page():
            begun = stack.enter_context(drawn_elsewhere(pages.page))
            wait_until(lambda: pages.at_work == 2, 30)
            assert not begun.wait(0.1)
        assert begun.wait(30)


def test_part_does_not_wait_for_pages() -> None:
    pages = Foreground(turn_seconds=60.0)
    with pages.page(), drawn_elsewhere(pages.part) as begun:
        assert begun.wait(30)


def test_a_waiting_page_gives_its_turn_to_the_next() -> None:
    pages = Foreground(turn_seconds=60.0)
    with ExitStack() as stack:
        with pages.page(), pages.waiting():
            begun = stack.enter_context(drawn_elsewhere(pages.page))
            assert begun.wait(30)
            stack.close()
        assert pages.at_work == 0


@pytest.mark.parametrize("inner", [Foreground.waiting, Foreground.page])
def test_page_keeps_its_turn_after_waiting_or_an_inner_page(
    inner: Callable[[Foreground], AbstractContextManager[None]],
) -> None:
    pages = Foreground(turn_seconds=60.0)
    with ExitStack() as stack:
        with pages.page():
            with inner(pages):
                pass
            begun = stack.enter_context(drawn_elsewhere(pages.page))
            assert not begun.wait(0.1)
        assert begun.wait(30)


def test_pages_do_not_wait_for_a_page_whose_turn_is_over() -> None:
    pages = Foreground(turn_seconds=1.0)
    with pages.page():
        time.sleep(1.1)
        for _ in range(3):
            began = time.monotonic()
            with drawn_elsewhere(pages.page) as begun:
                assert begun.wait(30)
                assert time.monotonic() - began < 0.9


def test_pages_wait_at_most_one_turn() -> None:
    pages = Foreground(turn_seconds=1.0)
    began = time.monotonic()
    with ExitStack() as stack:
        begun = [stack.enter_context(drawn_elsewhere(pages.page)) for _ in range(12)]
        assert all(one.wait(30) for one in begun)
        assert pages.at_work == 12
        assert time.monotonic() - began < 6.0, "pages waited one after the other"


@pytest.mark.parametrize("how", [ValueError, SystemExit])
def test_interrupted_page_ends_its_turn(how: type[BaseException]) -> None:
    pages = Foreground()
    with pytest.raises(how), pages.page(), pages.waiting():
        raise how
    with pytest.raises(how), pages.page():
        raise how
    assert pages.at_work == 0
    with pages.page(), drawn_elsewhere(pages.part) as begun:
        assert begun.wait(30)
        assert pages.at_work == 2


def test_running_pages_are_counted_per_thread() -> None:
    pages = Foreground()
    inside, leave = threading.Barrier(5), threading.Event()

    def draw() -> None:
        with pages.part():
            inside.wait(60)
            leave.wait(60)

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    inside.wait(60)
    assert pages.at_work == 4
    leave.set()
    for thread in threads:
        thread.join(60)
    assert pages.at_work == 0
