"""What a view of several runs asks for, step by step, and the feeds that answer it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from typing import Any

from graftviz.ui.session_run import EVERYTHING, SessionRun

_AT_ONCE = 0.5  # seconds that new runs may take to arrive in one piece
_MORE_STEPS = 0.25  # seconds to wait for steps that were asked for and are not there yet
_MAX_COUNT = 100_000


class Mailbox:
    """What the browser sent since a view was last shown, and what it was shown then."""

    def __init__(self) -> None:
        self.sent = ""  # token of what it was shown last
        self.need: Mapping[str, Any] | None = None


def everything_so_far(runs: Iterable[SessionRun]) -> str:
    """Return, as JSON, heads and feeds of all steps there are, after a moment of patience."""
    chosen = list(runs)
    _wait([(run, EVERYTHING) for run in chosen if run.has_credit], _AT_ONCE)
    return _json([(run, 1, EVERYTHING) for run in chosen])


def what_was_asked(runs: Iterable[SessionRun], wants: object) -> str:
    """Grant what a browser asks for as ``[[run, from, count], …]``; return what is ready of it."""
    known = {run.token: run for run in runs}
    asked = [
        (known[want[0]], _whole(want[1]), _whole(want[2]))
        for want in (wants if isinstance(wants, list) else [])
        if isinstance(want, list) and len(want) == 3 and want[0] in known
    ]
    for run, first, count in asked:
        run.grant(first - 1 + count)
    _wait([(run, first - 1 + count) for run, first, count in asked], _MORE_STEPS)
    return _json(asked)


def whole_number(value: object, default: int) -> int:
    """Return a number the browser sent as a whole one, kept within reason."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return default
    return int(max(0, min(_MAX_COUNT, value)))


def _whole(value: object) -> int:
    return whole_number(value, 1)


def _json(asked: Iterable[tuple[SessionRun, int, int]]) -> str:
    told = [
        f'{{"head":{run.header_json or "null"},"feed":{run.feed_json(first, count)}}}'
        for run, first, count in asked
    ]
    return f"[{','.join(told)}]"


def _wait(wanted: list[tuple[SessionRun, int]], seconds: float) -> None:
    """Wait for the steps that are wanted, but not longer than `seconds` for all of them."""
    until = time.monotonic() + seconds
    for run, steps in wanted:
        run.wait(steps, max(0.0, until - time.monotonic()))
