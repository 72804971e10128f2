"""Requests for steps by a view of several runs, and the feeds that answer them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

from graftviz.ui.background import EVERYTHING
from graftviz.ui.session_run import SessionRun

_AT_ONCE = 0.5  # seconds that new runs may take to arrive in one piece
_MORE_STEPS = 0.25  # seconds to wait for steps that were asked for and are not there yet
_MAX_COUNT = 100_000


def everything_so_far(runs: Iterable[SessionRun]) -> str:
    """Return, as JSON, headers and feeds of all computed steps, after a short wait."""
    chosen = list(runs)
    _wait([(run, EVERYTHING) for run in chosen if run.has_credit], _AT_ONCE)
    return _json([(run, 1, EVERYTHING) for run in chosen])


def requested_feeds(runs: Iterable[SessionRun], wants: object) -> str:
    """Request the steps ``[[run, from, count], …]`` of a browser; return those that are ready."""
    by_token = {run.token: run for run in runs}
    requests = [
        (by_token[want[0]], _whole(want[1]), _whole(want[2]))
        for want in (wants if isinstance(wants, list) else [])
        if isinstance(want, list) and len(want) == 3 and want[0] in by_token
    ]
    for run, first, count in requests:
        run.grant(first - 1 + count)
    _wait([(run, first - 1 + count) for run, first, count in requests], _MORE_STEPS)
    return _json(requests)


def whole_number(value: object, default: int) -> int:
    """Return a number the browser sent as a whole one, kept within reason."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return default
    return int(max(0, min(_MAX_COUNT, value)))


def _whole(value: object) -> int:
    return whole_number(value, 1)


def _json(requests: Iterable[tuple[SessionRun, int, int]]) -> str:
    parts = [
        f'{{"head":{run.header_json or "null"},"feed":{run.feed_json(first, count)}}}'
        for run, first, count in requests
    ]
    return f"[{','.join(parts)}]"


def _wait(targets: list[tuple[SessionRun, int]], seconds: float) -> None:
    """Wait for the steps that are wanted, but not longer than `seconds` for all of them."""
    until = time.monotonic() + seconds
    for run, steps in targets:
        run.wait(steps, max(0.0, until - time.monotonic()))
