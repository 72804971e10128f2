"""Readers with deliberate faults, each of which the fuzzer must find."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from random import Random

from graftviz import InputError
from tests.fuzz.cases import Case
from tests.fuzz.kinds import Kind

_leaked: list[bytes] = []


def _case(rng: Random) -> Case:
    """Return an input that now and then has a byte which the reader cannot take."""
    mark = b"!" if rng.random() < 0.1 else b"?"
    return Case("reader", (("file.txt", b"a" * rng.randrange(200) + mark + b"b" * 100),), {})


def _leaks(case: Case) -> None:
    _leaked.append(b"x" * 2_000_000)


def _faulty(fault: Callable[[], object]) -> Kind:
    """Return a kind whose reader has a fault, which inputs with the mark meet."""

    def read(case: Case) -> None:
        if b"!" in case.files[0][1]:
            fault()

    return Kind(_case, {"reader": read})


def _refuse(sentence: str) -> None:
    error = InputError("x")
    error.args = (sentence,)
    raise error


KINDS: Mapping[str, Kind] = {
    "abort": _faulty(os.abort),
    "hang": _faulty(lambda: time.sleep(3600)),
    "exception": _faulty(lambda: {}["mark"]),
    "memory": _faulty(lambda: len(b"x" * 600_000_000)),
    "leak": Kind(_case, {"reader": _leaks}),
    "message": _faulty(lambda: _refuse("A long sentence. " * 100)),
    "control characters": _faulty(lambda: _refuse("One line.\nAnother \x1b[31mline.")),
    "exit": _faulty(lambda: sys.exit(1)),
}
