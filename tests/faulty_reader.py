"""Process that reads uploads, with additional readers that each have a fault."""

from __future__ import annotations

import os
import time
from typing import Any, cast

import numpy as np

from graftviz import InputError
from graftviz.app import reader_process
from graftviz.app.reader_process import KINDS


def _abort(*_: object) -> None:
    os.abort()


def _kill(*_: object) -> None:
    os.kill(os.getpid(), 9)


def _spin(*_: object) -> None:
    while True:
        pass


def _sleep(*_: object) -> None:
    time.sleep(3600.0)


def _allocate(*_: object) -> None:
    held = []
    while True:
        held.append(np.empty(10_000_000))  # touching it would take longer than allowed


def _raise(*_: object) -> None:
    raise KeyError("a fault of the reader")


def _refuse(*_: object) -> None:
    raise InputError("Line 3 is wrong; mend it.")


def _print(*_: object) -> dict[str, Any]:
    os.write(1, b"printed by a library\n")
    return {"printed": True}


def _process(*_: object) -> dict[str, Any]:
    return {"pid": os.getpid()}


FAULTY = {
    "abort": _abort,
    "kill": _kill,
    "spin": _spin,
    "sleep": _sleep,
    "allocate": _allocate,
    "raise": _raise,
    "refuse": _refuse,
    "print": _print,
    "process": _process,
}


def register() -> None:
    """Add the faulty readers to those of uploads."""
    cast(dict[str, object], KINDS).update(FAULTY)


if __name__ == "__main__":
    register()
    reader_process.main()
