"""Text of clients in logs: escaped, cut, and limited in lines."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

from graftviz.sandbox import pool
from graftviz.serving import guard, logs
from graftviz.serving.logs import (
    LINES,
    MOST_CHARACTERS,
    MOST_IN_A_LINE,
    MOST_TRACEBACK_LINES,
    OTHER_CLIENTS,
    SECONDS,
    UNKNOWN,
    ForeignText,
    LineLimit,
    client_of,
    filter_foreign_text,
    log_exception,
    printable,
    warn,
)

SESSION = "0f8fad5b-d9cb-469f-a165-70867728950e"
HOSTILE = "a\r\nb\x1b[31mc\u202ed\ud800e\u2028f\x00g\u200bh"


class Clock:
    """Clock with a manual time."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(logs, "_limit", LineLimit(clock=clock))
    return clock


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """Output of the loggers of these tests and of the module under test."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    loggers = [logging.getLogger(n) for n in ("foreign.test", "uvicorn.test", logs.__name__)]
    before = [(log.propagate, log.level) for log in loggers]
    for log in loggers:
        log.addHandler(handler)
        log.propagate = False
        log.setLevel(logging.INFO)
    yield stream
    for log, (propagate, level) in zip(loggers, before, strict=True):
        log.removeHandler(handler)
        log.propagate = propagate
        log.setLevel(level)


@given(st.text(st.characters(), max_size=600))
def test_any_text_is_one_printable_line_of_bounded_length(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown) <= MOST_CHARACTERS
    if text.isprintable() and len(text) <= MOST_CHARACTERS:
        assert shown == text


@pytest.mark.parametrize("before", [0, 1, MOST_CHARACTERS - 40, MOST_CHARACTERS - 1])
def test_no_session_id_is_shown(before: int) -> None:
    for session in (SESSION, SESSION.upper()):
        for filling in ".x0":
            assert session[9:17] not in printable(filling * before + session)


@pytest.mark.parametrize(
    ("client", "shown"),
    [
        (("192.0.2.7", 1), "192.0.2.7"),
        (("2001:db8::1", 1), "2001:db8::/64"),
        (("2001:db8::ffff:1", 1), "2001:db8::/64"),
        (("x" * 60_000, 1), UNKNOWN),
        (("192.0.2.7\nforged", 1), UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_a_client_is_an_address_or_unknown(client: tuple[str, int] | None, shown: str) -> None:
    assert client_of({"client": client}) == shown


def test_lines_are_limited_per_minute_client_and_cause(clock: Clock) -> None:
    limit = LineLimit(clock=clock)
    assert limit.take_left_out() == []
    for client in ("one", "other"):
        for cause in ("host", "origin"):
            admitted = [limit.admit(client, cause) for _ in range(1000)]
            assert admitted == [True] * LINES + [False] * (1000 - LINES)
    assert limit.take_left_out() == []
    clock.now = SECONDS
    assert set(limit.take_left_out()) == {
        (client, cause, 1000 - LINES) for client in ("one", "other") for cause in ("host", "origin")
    }
    assert limit.take_left_out() == []
    assert limit.admit("one", "host")


def test_any_number_of_clients_takes_bounded_memory_and_lines(clock: Clock) -> None:
    limit = LineLimit(most=50, clock=clock)
    admitted = sum(limit.admit(f"client {k}", "host") for k in range(10_000))
    assert admitted == 50 + LINES
    assert len(limit._lines) == 51
    clock.now = SECONDS
    assert limit.take_left_out() == [(OTHER_CLIENTS, "host", 10_000 - 50 - LINES)]
    assert not limit._lines


def test_many_lines_are_reduced_to_ten_and_a_count(clock: Clock, written: io.StringIO) -> None:
    log = logging.getLogger("foreign.test")
    for _ in range(4598):
        warn(log, "192.0.2.7", "Refused the host '%s'.", "h" * 60_000)
    lines = written.getvalue().splitlines()
    assert len(lines) == LINES
    assert all(len(line) < MOST_CHARACTERS + 60 for line in lines)
    assert "(192.0.2.7)" in lines[0]
    clock.now = SECONDS
    logs.report_left_out()
    last = written.getvalue().splitlines()[LINES:]
    assert len(last) == 1
    assert f"Left out {4598 - LINES} lines" in last[0]
    assert "192.0.2.7" in last[0]


@pytest.fixture
def filtered(clock: Clock, written: io.StringIO) -> logging.Logger:
    """A logger of another package, with the filter."""
    log = logging.getLogger("uvicorn.test")
    log.filters = [ForeignText()]
    return log


def test_lines_of_other_packages_are_limited_escaped_and_cut(
    filtered: logging.Logger, clock: Clock, written: io.StringIO
) -> None:
    for _ in range(1000):
        filtered.warning("Session %s of %s; %d bytes", SESSION, HOSTILE, 7)
    filtered.warning("x" * 60_000 + HOSTILE)
    lines = written.getvalue().splitlines()
    assert len(lines) == LINES + 1
    assert lines[0] == f"Session (id) of {printable(HOSTILE)}; 7 bytes"
    assert len(lines[-1]) == MOST_IN_A_LINE
    clock.now = SECONDS
    filtered.warning("later")
    assert "Left out 990 lines" in written.getvalue().splitlines()[LINES + 1]


@pytest.mark.parametrize("arguments", [("a",), ("a", "b", "c"), (object(), "\n")])
def test_mismatched_log_arguments_raise_no_error(
    filtered: logging.Logger,
    written: io.StringIO,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[object, ...],
) -> None:
    filtered.warning("%s and %d", *arguments)
    assert written.getvalue() == "%s and %d\n"
    assert capsys.readouterr().err == ""


def reference_of_error(log: logging.Logger, kind: type[Exception]) -> str:
    try:
        raise kind("of a visitor")
    except kind:
        return log_exception(log, "A page stopped")


def test_error_at_the_same_place_is_logged_once_a_minute(
    filtered: logging.Logger, written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(logs.time, "monotonic", lambda: now)
    first = [reference_of_error(filtered, ValueError) for _ in range(20)]
    assert len(set(first)) == 1
    assert written.getvalue().count("A page stopped") == 1
    other = reference_of_error(filtered, KeyError)
    now += SECONDS
    later = reference_of_error(filtered, ValueError)
    assert len({first[0], other, later}) == 3
    assert all(f"reference {one}" in written.getvalue() for one in (first[0], other, later))


def test_warnings_of_libraries_are_limited(
    clock: Clock, written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    filter_foreign_text()
    log, handler = logging.getLogger("py.warnings"), logging.StreamHandler(written)
    monkeypatch.setattr(log, "handlers", [handler])
    monkeypatch.setattr(log, "propagate", False)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        for _ in range(50):
            warnings.warn(HOSTILE, RuntimeWarning, stacklevel=1)
        logging.captureWarnings(False)
    assert len(written.getvalue().splitlines()) == LINES


def test_lines_of_traceback_are_not_mistaken_for_log_lines(
    filtered: logging.Logger, written: io.StringIO
) -> None:
    try:
        raise ValueError(HOSTILE + SESSION + "\nWARNING forged\n" * 10_000 + "y" * 60_000)
    except ValueError:
        filtered.exception("It failed")
    first, *lines = written.getvalue().splitlines()
    assert first == "It failed"
    assert len(lines) <= MOST_TRACEBACK_LINES + 1
    assert all(line.startswith("| ") and line.isprintable() for line in lines)
    assert all(len(line) <= MOST_CHARACTERS + 2 for line in lines)
    assert SESSION not in written.getvalue()


def test_every_logger_below_the_app_has_the_filter() -> None:
    filter_foreign_text()
    names = [name for name in logging.root.manager.loggerDict if name.startswith("streamlit.")]
    assert len(names) > 10
    for name in (
        *names,
        "uvicorn.error",
        "uvicorn.access",
        "asyncio",
        guard.log.name,
        pool.log.name,
    ):
        filters = logging.getLogger(name).filters
        assert sum(isinstance(one, ForeignText) for one in filters) == 1, name
    assert WebsocketSessionManager.__module__ in names, "this logger writes ids of sessions"
