"""Caches of costly values shared by all sessions, cleared while no session is open.

Above ``st.cache_resource`` stands :func:`clearable_cache` where a cache holds nothing else: data,
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
