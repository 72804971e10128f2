"""Readers with deliberate faults, each of which the fuzzer must find."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from random import Random

from graftviz.errors import InputError
from tests.fuzz.cases import Case
from tests.fuzz.kinds import Kind

_leaked: list[bytes] = []


def _case(rng: Random) -> Case:
    return Case("reader", (("file.txt", rng.randbytes(64)),), {})


def _case_with_mark(rng: Random) -> Case:
    """Return an input that now and then has a byte which the reader cannot take."""
    mark = b"!" if rng.random() < 0.1 else b"?"
    return Case("reader", (("file.txt", b"a" * rng.randrange(200) + mark + b"b" * 100),), {})


def _is_marked(case: Case) -> bool:
    return b"!" in case.files[0][1]


def _aborts(case: Case) -> int:
    if _is_marked(case):
        os.abort()
    return 0


def _hangs(case: Case) -> int:
    if _is_marked(case):
        time.sleep(3600)
    return 0


def _raises(case: Case) -> int:
    if _is_marked(case):
        raise KeyError("mark")
    return 0


def _takes_memory(case: Case) -> int:
    """Take 600 MB for a moment."""
    return len(b"x" * 600_000_000) if _is_marked(case) else 0


def _leaks(case: Case) -> int:
    _leaked.append(b"x" * 2_000_000)
    return len(_leaked)


def _has_long_message(case: Case) -> int:
    if _is_marked(case):
        error = InputError("x")
        error.args = ("A long sentence. " * 100,)
        raise error
    return 0


def _has_two_line_message(case: Case) -> int:
    if _is_marked(case):
        error = InputError("x")
        error.args = ("One line.\nAnother \x1b[31mline.",)
        raise error
    return 0


def _exits(case: Case) -> int:
    if _is_marked(case):
        raise SystemExit(1)
    return 0


def _is_good(case: Case) -> int:
    if _is_marked(case):
        raise InputError("This cannot be used.")
    return 0


KINDS: Mapping[str, Kind] = {
    "abort": Kind(_case_with_mark, {"reader": _aborts}),
    "hang": Kind(_case_with_mark, {"reader": _hangs}),
    "exception": Kind(_case_with_mark, {"reader": _raises}),
    "memory": Kind(_case_with_mark, {"reader": _takes_memory}),
    "leak": Kind(_case, {"reader": _leaks}),
    "message": Kind(_case_with_mark, {"reader": _has_long_message}),
    "control characters": Kind(_case_with_mark, {"reader": _has_two_line_message}),
    "exit": Kind(_case_with_mark, {"reader": _exits}),
    "good": Kind(_case_with_mark, {"reader": _is_good}),
}
