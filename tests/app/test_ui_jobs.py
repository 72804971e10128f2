"""Executor and jobs: turns, credit, failures, and what ends with a session."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from app_pages import open_page, sentences
from streamlit.runtime.caching import clear_session_resource_cache
from waiting import wait_until

from graftviz import InputError
from graftviz.app.jobs import Executor, Job, Task
from graftviz.app.material import SourceCache
from graftviz.app.session import Session, shared_job


class Counter:
    """Task of `total` units of one millisecond each."""

    def __init__(self, total: int, journal: list[Counter] | None = None) -> None:
        self.total = total
        self.done = 0
        self.failures: list[str] = []
        self.finished = threading.Event()
        self.journal = journal if journal is not None else []

    def work(self, until: float) -> bool:
        self.journal.append(self)
        while self.done < self.total and time.perf_counter() < until:
            time.sleep(0.001)
            self.done += 1
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

    def __init__(self, total: int, journal: list[Counter] | None = None) -> None:
        super().__init__(total, journal)
        self.has_turn = threading.Event()
        self.may_begin = threading.Event()

    def work(self, until: float) -> bool:
        self.has_turn.set()
        assert self.may_begin.wait(60)
        return super().work(until)


@pytest.fixture
def executor() -> Iterator[Executor]:
    pool = Executor(threads=2, slice_seconds=0.005)
    yield pool
    pool.close()


def engine_threads() -> int:
    return sum(thread.name.startswith("graftviz-engine") for thread in threading.enumerate())


def test_all_work_is_done(executor: Executor) -> None:
    tasks = [Counter(20) for _ in range(8)]
    for task in tasks:
        queue = executor.queue()
        queue.submit(task)
        queue.submit(task)
    assert all(task.finished.wait(60) for task in tasks)
    assert [task.done for task in tasks] == [20] * 8


def test_queues_have_turns_however_many_tasks_they_have() -> None:
    pool = Executor(threads=1, slice_seconds=0.002)
    journal: list[Counter] = []
    first = Held(1)
    pool.queue().submit(first)
    assert first.has_turn.wait(60)
    many, one = [Counter(20, journal) for _ in range(4)], Counter(20, journal)
    busy, other = pool.queue(), pool.queue()
    for task in many:
        busy.submit(task)
    other.submit(one)
    first.may_begin.set()
    assert one.finished.wait(60)
    turns = [task is one for task in journal]
    assert turns[::2].count(True) in (0, len(turns[::2])), "the queues did not take turns"
    assert all(task in journal[:8] for task in many), "tasks of a queue did not take turns"
    assert all(task.finished.wait(60) for task in many)
    pool.close()


def test_tasks_of_a_queue_never_work_at_the_same_time(executor: Executor) -> None:
    working: list[int] = []
    most: list[int] = []

    class Alone(Counter):
        def work(self, until: float) -> bool:
            working.append(1)
            most.append(len(working))
            has_more = super().work(until)
            working.pop()
            return has_more

    queue, tasks = executor.queue(), [Alone(20) for _ in range(4)]
    for task in tasks:
        queue.submit(task)
    assert all(task.finished.wait(60) for task in tasks)
    assert set(most) == {1}


def test_error_of_a_task_does_not_affect_other_tasks(
    executor: Executor, caplog: pytest.LogCaptureFixture
) -> None:
    queue = executor.queue()
    broken, sound = Broken(1), Counter(10)
    queue.submit(broken)
    queue.submit(sound)
    assert broken.finished.wait(60)
    assert sound.finished.wait(60)
    (reference,) = broken.failures
    assert reference in caplog.text
    assert "ArithmeticError" in caplog.text


def test_sleeping_thread_holds_no_reference_to_task(executor: Executor) -> None:
    task = Counter(3)
    executor.queue().submit(task)
    assert task.finished.wait(60)
    reference = weakref.ref(task)
    del task
    wait_until(lambda: gc.collect() >= 0 and reference() is None)


def test_withdrawn_task_gets_no_turn() -> None:
    pool = Executor(threads=1)
    first, second = Held(10), Counter(10)
    pool.queue().submit(first)
    assert first.has_turn.wait(60)
    queue = pool.queue()
    queue.submit(second)
    queue.withdraw(second)
    first.may_begin.set()
    assert first.finished.wait(60)
    pool.close()
    assert second.done == 0


def test_task_submitted_during_its_slice_gets_another_one(executor: Executor) -> None:
    queue, task = executor.queue(), Held(1)
    queue.submit(task)
    assert task.has_turn.wait(60)
    queue.submit(task)
    task.may_begin.set()
    wait_until(lambda: len(task.journal) == 2)


def test_closed_queue_drops_its_tasks_and_refuses_others(executor: Executor) -> None:
    queue, other = executor.queue(), executor.queue()
    endless, waiting, late = Counter(10**6), Counter(3), Counter(3)
    queue.submit(endless)
    queue.submit(waiting)
    wait_until(lambda: endless.done)
    queue.close()
    queue.submit(late)
    turn = Counter(50)
    other.submit(turn)
    assert turn.finished.wait(60)
    done = endless.done, waiting.done
    turn = Counter(20)
    other.submit(turn)
    assert turn.finished.wait(60)
    assert (endless.done, waiting.done) == done, "the tasks did not end with their slices"
    assert late.done == 0
    queue.closed = False
    queue.submit(late)
    assert late.finished.wait(60)


def test_threads_start_late_and_end_with_close() -> None:
    before = engine_threads()
    pool = Executor(threads=3)
    assert engine_threads() == before
    task = Counter(3)
    pool.queue().submit(task)
    assert task.finished.wait(60)
    assert engine_threads() == before + 3
    pool.close()
    assert engine_threads() == before
    pool.queue().submit(Counter(1))
    assert engine_threads() == before


def test_idle_threads_use_no_processor_time(executor: Executor) -> None:
    task = Counter(3)
    executor.queue().submit(task)
    assert task.finished.wait(60)
    time.sleep(0.05)
    clocks = [time.pthread_getcpuclockid(thread.ident or 0) for thread in executor._threads]
    before = sum(map(time.clock_gettime, clocks))
    time.sleep(0.3)
    assert sum(map(time.clock_gettime, clocks)) - before < 0.1


@pytest.fixture
def pool() -> Iterator[Executor]:
    scheduler = Executor(threads=1)
    yield scheduler
    scheduler.close()


def test_revoked_job_pauses_until_granted_again(pool: Executor) -> None:
    gate = threading.Event()
    drawn: list[int] = []

    def values() -> Iterator[int]:
        for k in range(50):
            drawn.append(k)
            gate.set()
            time.sleep(0.002)
            yield k

    work = Job(values(), pool.queue())
    work.grant()
    assert gate.wait(60)
    work.revoke()
    time.sleep(0.1)
    count = len(drawn)
    time.sleep(0.1)
    assert len(drawn) == count < 50
    assert not work.ended
    work.grant()
    assert work.wait_for_end(60)
    assert drawn == list(range(50))


def test_refused_input_becomes_a_sentence_and_errors_a_reference(pool: Executor) -> None:
    def refusing() -> Iterator[int]:
        yield 1
        raise InputError("Too few rows.")

    def broken() -> Iterator[int]:
        yield 2
        raise ArithmeticError("a bug")

    first, second = Job(refusing(), pool.queue()), Job(broken(), pool.queue())
    for work in (first, second):
        work.grant()
        assert work.wait_for_end(60)
        assert not work.finished
    assert (first.latest, first.failure) == (1, "Too few rows.")
    assert second.latest == 2
    assert "reference" in second.failure


def test_wait_for_first_value_returns_before_end(pool: Executor) -> None:
    first, rest = threading.Event(), threading.Event()

    def values() -> Iterator[int]:
        first.wait(60)
        yield 1
        rest.wait(60)
        yield 2

    work = Job(values(), pool.queue())
    work.grant()
    assert not work.wait(1, 0.05)
    first.set()
    assert work.wait(1, 60)
    assert work.latest == 1
    assert not work.wait_for_end(0.05)
    rest.set()
    assert work.wait_for_end(60)
    assert work.wait(1, 0)
    empty: Job[int] = Job(iter([]), pool.queue())
    empty.grant()
    assert empty.wait(1, 60)
    assert empty.latest is None


class SlowQueue:
    """Queue that is slow to withdraw tasks."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.is_withdrawing = threading.Event()

    def submit(self, task: Task) -> None:
        if task not in self.tasks:
            self.tasks.append(task)

    def withdraw(self, task: Task) -> None:
        self.is_withdrawing.set()
        time.sleep(0.1)
        self.tasks.remove(task)


def test_grant_during_concurrent_revoke_keeps_job_queued() -> None:
    queue = SlowQueue()
    work = Job(iter([1]), queue)
    work.grant()
    revoking = threading.Thread(target=work.revoke)
    revoking.start()
    assert queue.is_withdrawing.wait(60)
    work.grant()
    revoking.join()
    assert queue.tasks == [work]
    assert work.work(time.perf_counter() + 1.0) is False
    assert work.latest == 1


@dataclass(frozen=True)
class Source:
    """Data of a job, shared unless they have their own cache."""

    identity: str
    own: SourceCache | None = None


def test_equal_settings_share_a_job_and_uploads_share_none() -> None:
    counted = shared_job(4)(lambda source, n: iter(range(n)))
    job = counted(Source("a"), 3)
    assert counted(Source("a"), 3) is job
    assert counted(Source("a"), 4) is not job
    assert counted(Source("b"), 3) is not job
    mine, other = Source("a", SourceCache(4)), Source("a", SourceCache(4))
    assert counted(mine, 3) is counted(mine, 3)
    assert counted(mine, 3) is not counted(other, 3)


APP_TEST_SESSION = "test session id"  # all pages of these tests are one session


class Work:
    is_forgotten = False

    def forget(self) -> None:
        self.is_forgotten = True


@pytest.fixture
def newcomer() -> Iterator[None]:
    clear_session_resource_cache(APP_TEST_SESSION)
    yield
    clear_session_resource_cache(APP_TEST_SESSION)


def test_end_of_session_drops_its_work_and_starts_none() -> None:
    pool = Executor(threads=1)
    one, other = Session(pool.queue()), Session(pool.queue())
    one.works["grow"], other.works["grow"] = Work(), Work()
    one.end()
    assert one.works["grow"].is_forgotten
    assert not other.works["grow"].is_forgotten
    late, theirs = Job(iter([1]), one.queue), Job(iter([1]), other.queue)
    late.grant()
    theirs.grant()
    assert theirs.wait_for_end(60)
    assert not late.wait_for_end(0.1)
    one.queue.closed = False
    late.grant()
    assert late.wait_for_end(60)
    pool.close()


@pytest.mark.usefixtures("newcomer")
def test_disconnected_page_drops_its_runs_and_computes_them_again() -> None:
    app = open_page("grow", data="karate", seed="3")
    before = app.session_state["grow"].run
    assert before.wait(1, 60)
    clear_session_resource_cache(APP_TEST_SESSION)  # as Streamlit does when a page disconnects
    assert before.memory_bytes == 0
    assert not before.has_credit
    app.run()
    assert sentences(app) == ""
    run = app.session_state["grow"].run
    assert run is not before
    assert run.wait_for_end(60)
    assert run.outcome_json is not None
