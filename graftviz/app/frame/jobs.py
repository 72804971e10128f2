"""Jobs of pages, on the engine threads of the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from graftviz.app.executor import Queue
from graftviz.app.jobs import Job
from graftviz.app.material import SourceCache
from graftviz.app.session import executor
from graftviz.utils.errors import InputError

BUSY = "The server is too busy to finish this now; try again later."
LONGEST_WAIT = 300.0  # seconds; a first run on a busy machine may have to be compiled
_AT_ONCE = 0.3  # seconds to wait for the end before the page continues
_FIRST_VALUE = 20.0  # seconds that a page waits for the first value before it shows a notice
P = ParamSpec("P")
T = TypeVar("T")


def await_first(job: Job[Any]) -> None:
    """Wait briefly for the end of a job, then longer for its first value."""
    job.wait_for_end(_AT_ONCE)
    job.wait(1, _FIRST_VALUE)


class JobSource(Protocol):
    """Data or model that jobs compute from."""

    @property
    def identity(self) -> str:
        """Equal for sources that give equal results."""

    @property
    def own(self) -> SourceCache | None:
        """Cache of the jobs of a source of one session; None if its jobs are shared."""


def shared_job(
    values: Callable[Concatenate[Any, P], Iterator[T]],
    most: int,
    *,
    in_turn: bool = False,
    begins: bool = False,
) -> Callable[Concatenate[JobSource, P], Job[T]]:
    """Return a function of source and settings that returns the job of these.

    Equal arguments give the same job. Jobs of a source with a cache of its own, such as an upload,
    live as long as it; all others are shared between sessions. Each has a queue of its own.

    Parameters
    ----------
    values : callable
        Called with source and settings; returns the values of the job. Settings with equal
        ``repr`` are equal.
    most : int
        Maximum number of cached shared jobs.
    in_turn : bool
        Whether these jobs are never advanced at the same time: they have one queue.
    begins : bool
        Whether a job is started at once, and continues until its end.
    """
    shared = SourceCache(most)

    @cache
    def common_queue() -> Queue:
        return executor().queue()

    def job(source: JobSource, /, *settings: P.args, **named: P.kwargs) -> Job[T]:
        token = f"{source.identity}:{settings}{named or ''}"

        def make() -> Job[T]:
            queue = common_queue() if in_turn else executor().queue()
            return Job(values(source, *settings, **named), queue, token)

        cache = shared if source.own is None else source.own
        found = cache.get((values, token), make)
        if begins:
            found.grant()
        return found

    return job


def last_value(values: Iterator[T]) -> T | None:
    """Compute values on the engine threads and return the last.

    Raises
    ------
    InputError
        When the computation fails, or takes too long on a busy server.
    """
    job = Job(values, executor().queue())
    job.grant()
    if not job.wait_for_end(LONGEST_WAIT):
        job.revoke()
        raise InputError(BUSY)
    if job.failure:
        raise InputError(job.failure)
    return job.latest
