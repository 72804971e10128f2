"""What is kept for all sessions only because making it takes time: let go when nobody is here.

Above ``st.cache_resource`` stands :func:`made_again` where a cache holds nothing else: data,
models, finished work. Engine threads, the warm-up and the like are not of that kind.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol, TypeVar

from graftviz.ui.references import logged

log = logging.getLogger(__name__)
_clears: list[Callable[[], None]] = []


class _Cached(Protocol):
    def clear(self) -> None:
        """Forget all values."""


C = TypeVar("C", bound=_Cached)


def made_again(cached: C) -> C:
    """Let the values of a cached function go when nobody is here; who holds one keeps it.

    They are made again when somebody asks for them.
    """
    _clears.append(cached.clear)
    return cached


def let_go() -> None:
    """Drop all that can be made again."""
    for clear in _clears:
        with logged(log, "A cache could not be cleared"):
            clear()
