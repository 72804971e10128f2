"""Worker process with additional readers, each with a fault, to test the limits of the pool."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from typing import Any, cast

import numpy as np

from graftviz import InputError
from graftviz.sandbox import worker
from graftviz.sandbox.frames import Packed
from graftviz.sandbox.readers import KINDS, UploadKind


def _abort(*_: object) -> None:
    os.abort()


def _kill_worker(*_: object) -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    os.abort()


def _kill_reader(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


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


def _write(*_: object) -> dict[str, Any]:
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
            file.flush()
    except OSError:
        return {"written": False}
    return {"written": True}


def _process(*_: object) -> dict[str, Any]:
    return {"pid": os.getpid()}


def _pack(value: Any) -> Packed:
    return Packed(dict(value), {})


FAULTY = {
    "abort": _abort,
    "kill": _kill_worker,
    "kill reader": _kill_reader,
    "spin": _spin,
    "sleep": _sleep,
    "allocate": _allocate,
    "raise": _raise,
    "refuse": _refuse,
    "print": _print,
    "write": _write,
    "process": _process,
}


def register() -> None:
    """Add the faulty readers to those of uploads."""
    kinds = cast(dict[str, UploadKind], KINDS)
    for name, read in FAULTY.items():
        kinds[name] = UploadKind(read, _pack, lambda packed: packed.plain)
    # Packed as a table of codes without labels, which the server must refuse.
    kinds["lie"] = UploadKind(
        lambda *_: None,
        lambda _: Packed(
            {"names": ["a", "b"], "labels": [["0"], ["0"]], "warnings": []},
            {"codes": np.full((2, 3), 7, dtype=np.uint8)},
        ),
        KINDS["table"].unpack,
    )


if __name__ == "__main__":
    register()
    worker.main()
