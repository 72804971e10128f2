"""Least-recently-used cache whose entries live as long as their source."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

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
