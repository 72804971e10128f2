"""Caches of single sessions and of all sessions.

Values made from an upload live as long as their source. Values of all sessions are cached by
``st.cache_resource`` under :func:`clearable_cache`, and cleared while no session is open.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

from graftviz.ui.logs import logged

log = logging.getLogger(__name__)
_clears: list[Callable[[], None]] = []

T = TypeVar("T")


class SourceCache:
    """Least-recently-used cache of values that are computed on first access.

    It belongs to the source of the values. A cache of the process would hold both after the
    session of an upload has ended, and could show them to other sessions.

    Parameters
    ----------
    most : int
        Number of entries.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.RLock()  # to make one may take another
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of `key`, computed by `make` if needed; errors of `make` propagate."""
        with self._lock:
            value: T = self._values.pop(key) if key in self._values else make()
            self._values[key] = value
            for old in list(self._values)[: -self._most]:
                del self._values[old]
            return value

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._values.clear()


class CacheOwner(Protocol):
    """Source of a computation, such as a data set or a model."""

    @property
    def own(self) -> SourceCache | None:
        """Cache of the source, if it was made from an upload."""


def cached_for(shared: Callable[..., T], about: CacheOwner, *asked: object) -> T:
    """Return a value from the cache of the process or, for an upload, of its session.

    Parameters
    ----------
    shared : callable
        Decorated by ``st.cache_resource``; ``shared(about, *asked)`` is returned, or what the
        function under the decorator returns.
    about : CacheOwner
    *asked
        Arguments; equal ``repr`` means equal value.
    """
    if about.own is None:
        return shared(about, *asked)
    make = inspect.unwrap(shared)
    return about.own.get((make, repr(asked)), lambda: make(about, *asked))


class _Cached(Protocol):
    def clear(self) -> None:
        """Forget all values."""


C = TypeVar("C", bound=_Cached)


def clearable_cache(cached: C) -> C:
    """Mark a cached function as clearable while no session is open.

    Its values are computed again on the next access.
    """
    _clears.append(cached.clear)
    return cached


def clear_caches() -> None:
    """Clear all clearable caches."""
    for clear in _clears:
        with logged(log, "A cache could not be cleared"):
            clear()
