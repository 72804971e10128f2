"""Background jobs of a page: slices, revoking and resuming, and the latest value."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from graftviz import InputError
from graftviz.app.jobs import Executor, Job, Task
from graftviz.app.material import SourceCache
from graftviz.app.session import shared_job


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
    counted = shared_job(lambda source, n: iter(range(n)), 4)
    job = counted(Source("a"), 3)
    assert counted(Source("a"), 3) is job
    assert counted(Source("a"), 4) is not job
    assert counted(Source("b"), 3) is not job
    mine, other = Source("a", SourceCache(4)), Source("a", SourceCache(4))
    assert counted(mine, 3) is counted(mine, 3)
    assert counted(mine, 3) is not counted(other, 3)
