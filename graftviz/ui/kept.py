"""The latest things that were made of something: they last as long as what they were made of."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Kept:
    """Some values, made when they are first asked for; the one asked for longest ago goes first.

    It belongs to what the values are made of. A cache of the whole process would keep both after
    the visitor who brought them has gone, and could show them to somebody else.

    Parameters
    ----------
    most : int
        How many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.RLock()  # to make one may take another
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of `key`, made now or before; what `make` raises goes through."""
        with self._lock:
            value: T = self._values.pop(key) if key in self._values else make()
            self._values[key] = value
            for old in list(self._values)[: -self._most]:
                del self._values[old]
            return value

    def clear(self) -> None:
        """Let go of all values."""
        with self._lock:
            self._values.clear()


class Asked(Protocol):
    """What pages have something computed about."""

    @property
    def own(self) -> Kept | None:
        """Where that is kept, if it was made of what somebody brought."""


def own_or_shared(shared: Callable[..., T], about: Asked, *asked: object) -> T:
    """Return what a cache of the whole process has for all, unless it is about somebody's own.

    Parameters
    ----------
    shared : callable
        Decorated by ``st.cache_resource``; ``shared(about, *asked)`` is returned, or what the
        function under the decorator returns.
    about : Asked
    *asked
        Things of one ``repr`` are the same.
    """
    if about.own is None:
        return shared(about, *asked)
    make = inspect.unwrap(shared)
    return about.own.get((make, repr(asked)), lambda: make(about, *asked))
