"""Work that several visitors may be watching: it stops once the last of them has gone."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from graftviz.ui.background import Background

_lock = threading.Lock()
_watchers: WeakKeyDictionary[Background[Any], WeakSet[Watching]] = WeakKeyDictionary()


class Watching:
    """Jobs watched by one session; holds weak references only."""

    def __init__(self) -> None:
        self._works: WeakSet[Background[Any]] = WeakSet()

    def begin(self, work: Background[Any]) -> None:
        """Watch `work` and start or resume it."""
        with _lock:
            _watchers.setdefault(work, WeakSet()).add(self)
            self._works.add(work)
            work.start()

    def turn_to(self, work: Background[Any]) -> None:
        """Watch `work` only."""
        if work not in self._works:
            self.leave()
        self.begin(work)

    def leave(self) -> None:
        """Watch no job; jobs without another watcher are paused."""
        with _lock:
            for work in list(self._works):
                others = _watchers[work]
                others.discard(self)
                if not others:
                    work.revoke()
            self._works.clear()
