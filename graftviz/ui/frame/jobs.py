"""Jobs of pages: one for equal settings, shared between sessions; and waiting for a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from graftviz.errors import InputError
from graftviz.ui.background import Background
from graftviz.ui.scheduler import Turns
from graftviz.ui.services import scheduler
from graftviz.ui.visits import SourceCache, clearable_cache

BUSY = "The server is too busy to finish this now; try again later."
LONGEST_WAIT = 300.0  # seconds; a first run on a busy machine may have to be compiled
P = ParamSpec("P")
T = TypeVar("T")


class Source(Protocol):
    """Data or model that jobs compute from."""

    @property
    def identity(self) -> str:
        """Equal for sources that give equal results."""

    @property
    def own(self) -> SourceCache | None:
        """Cache of the jobs of an uploaded source; None for sources whose jobs are shared."""


def shared_job(
    values: Callable[Concatenate[Any, P], Iterator[T]],
    most: int,
    turns: Callable[[], Turns] | None = None,
    *,
    begins: bool = False,
) -> Callable[Concatenate[Source, P], Background[T]]:
    """Return a function of source and settings that returns the job of these.

    Equal arguments give the same job. Jobs of an uploaded source belong to its session and live as
    long as the source; all others are shared between sessions.

    Parameters
    ----------
    values : callable
        Called with source and settings; returns the values of the job. Settings with equal
        ``repr`` are equal.
    most : int
        Number of shared jobs that are kept.
    turns : callable, optional
        Returns what the jobs are submitted to; by default the engine threads.
    begins : bool
        Whether a job is started at once, and goes on until its end.
    """
    shared = clearable_cache(SourceCache(most))

    def job(source: Source, /, *settings: P.args, **named: P.kwargs) -> Background[T]:
        token = f"{source.identity}:{settings}{named or ''}"

        def make() -> Background[T]:
            return Background(values(source, *settings, **named), (turns or scheduler)(), token)

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
    job = Background(values, scheduler())
    job.grant()
    if not job.wait_for_end(LONGEST_WAIT):
        job.revoke()
        raise InputError(BUSY)
    if job.failure:
        raise InputError(job.failure)
    return job.latest
