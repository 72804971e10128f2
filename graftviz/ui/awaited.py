"""Work in the background that one picture shows as it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graftviz.ui.background import Background

_AT_ONCE = 0.3  # seconds in which the end is awaited before the page goes on without it
_LONGEST_WAIT = 60.0  # seconds for the first word: without it there is nothing to show


class Mailbox:
    """Messages between the browser and a view since the run was last shown."""

    def __init__(self) -> None:
        self.picture = ""  # the graph it has
        self.need: Mapping[str, Any] = {}


def await_first(work: Background[Any]) -> None:
    """Wait until there is something to show, and a moment for the rest of it."""
    work.wait(_AT_ONCE)
    work.wait_for_first(_LONGEST_WAIT)
