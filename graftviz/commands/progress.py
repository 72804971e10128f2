"""Progress bar with rate and remaining time, shown on terminals only."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import TextIO

_REFRESH_SECONDS = 0.1
_BAR_WIDTH = 24
_CLEAR_LINE = "\r\033[K"


class ProgressBar:
    """Progress bar as a context manager that clears its line on exit."""

    def __init__(self, total: int | None, label: str, stream: TextIO) -> None:
        self._total = total
        self._label = label
        self._stream = stream
        self._visible = stream.isatty()
        self._started = time.monotonic()
        self._drawn = -_REFRESH_SECONDS

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._visible:
            self._stream.write(_CLEAR_LINE)
            self._stream.flush()

    def update(self, done: int) -> None:
        """Set the total units done so far; the bar is redrawn at most ten times a second."""
        if not self._visible:
            return
        elapsed = time.monotonic() - self._started
        if elapsed - self._drawn < _REFRESH_SECONDS and done != self._total:
            return
        self._drawn = elapsed
        width = shutil.get_terminal_size().columns - 1
        line = describe(done, self._total, elapsed, self._label)
        self._stream.write(_CLEAR_LINE + line[:width])
        self._stream.flush()


def progress(total: int | None, label: str, stream: TextIO | None = None) -> ProgressBar:
    """Return a progress bar: ``with progress(total, label) as bar: bar.update(done)``.

    Parameters
    ----------
    total : int or None
        Units of work in all; if ``None``, no remaining time is shown.
    label : str
        Name of the work, e.g. ``"learning"``.
    stream : text stream, optional
        Default: standard error. Nothing is written unless it is a terminal.
    """
    return ProgressBar(total, label, sys.stderr if stream is None else stream)


def describe(done: int, total: int | None, seconds: float, label: str) -> str:
    """Return the line that is shown after `seconds` seconds with `done` of `total` units done."""
    rate = done / seconds if seconds > 0 else 0.0
    speed = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
    if total is None:
        return f"{label}  {done:,} done  {speed}  {_clock(seconds)} so far"
    share = min(max(done / total, 0.0), 1.0) if total > 0 else 1.0
    bar = "#" * int(share * _BAR_WIDTH)
    left = f"{_clock((total - done) / rate)} left" if rate > 0 else "starting"
    return f"{label}  [{bar:.<{_BAR_WIDTH}}] {share:4.0%}  {speed}  {left}"


def _clock(seconds: float) -> str:
    whole = max(round(seconds), 0)
    hours, minutes = whole // 3600, whole // 60 % 60
    tail = f"{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
    return f"{hours}:{tail}" if hours else tail
