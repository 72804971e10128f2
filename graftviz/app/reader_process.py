"""Process that reads an upload: ``python -m graftviz.app.reader_process``.

A file that needs too much memory or time, or that stops its reader, ends this process and costs its
session one sentence. Request and answer are single npz files over standard input and output;
nothing is unpickled. Streamlit is not imported here.
"""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from graftviz.app.upload_readers import KINDS, UploadedFile
from graftviz.utils.errors import InputError
from graftviz.utils.wording import shortened

try:
    import resource
except ImportError:  # Windows, where only the time on the clock is limited
    resource = None  # type: ignore[assignment]

MODULE = "graftviz.app.reader_process"
_SHOWN = 60  # characters of a file name in a sentence
_DAMAGED = "the file is damaged and stopped the process that reads it; save it again"
_KILLED = "the process that reads it was ended, perhaps as memory ran out; try a smaller file"
_ADVICE = "use fewer rows or columns, or read it with graftviz in Python"
log = logging.getLogger(__name__)


class BusyError(InputError):
    """Error while other uploads are read; a later attempt may succeed."""


class Reader:
    """Processes that read one upload each, one after the other; the next one waits in advance.

    Parameters
    ----------
    memory : int
        Bytes that reading may need.
    seconds : float
        Processor time that it may need; it may take four times as long on a busy machine.
    patience : float
        Seconds that an upload waits for others.
    module : str
        Main module of the processes.
    """

    def __init__(
        self,
        memory: int = 10**9,
        seconds: float = 30.0,
        patience: float = 60.0,
        module: str = MODULE,
    ) -> None:
        self._limits = {"memory": memory, "seconds": seconds}
        self._too_large = f"this needs more than {memory / 1e6:,.0f} MB of memory; {_ADVICE}"
        self._too_slow = f"this takes more than {seconds:g} seconds; {_ADVICE}"
        self._patience = patience
        self._module = module
        self._turn = threading.Lock()
        self._next = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        # The session of its own keeps Ctrl-C away; it ends when its standard input is closed. What
        # libraries write to the error stream may contain parts of the file.
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        command = [sys.executable, "-m", self._module]
        return subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=null, start_new_session=True
        )

    def read(self, kind: str, files: Sequence[UploadedFile], options: Mapping[str, Any]) -> Any:
        """Return the value in uploaded files; `kind` is a key of `KINDS`.

        Raises
        ------
        InputError
            When the files are refused, stop the process or exceed a limit.
        """
        title = shortened((files[0].name if files else "") or "The file", _SHOWN)
        named = [(file.role, file.name) for file in files]
        plain = {"kind": kind, "files": named, "options": dict(options), **self._limits}
        contents = {str(k): np.frombuffer(file.data, np.uint8) for k, file in enumerate(files)}
        if not self._turn.acquire(timeout=self._patience):
            raise BusyError(f"{title} was not read, as other files are; try again in a minute.")
        try:
            answer, arrays = self._answer(_packed(plain, contents))
        finally:
            self._turn.release()
        match answer:
            case {"value": value}:
                return KINDS[kind].unpack(value, arrays)
            case {"refused": sentence}:
                raise InputError(sentence)
            case {"failed": trace}:
                log.error("Reading an upload failed.\n%s", trace)
                answer = {"reason": "reading it failed unexpectedly; see the log of the server"}
        raise InputError(f"{title} cannot be read: {answer['reason']}.")

    def _answer(self, request: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the answer of the waiting process, and start another one."""
        process = self._next
        try:
            written, _ = process.communicate(request, 4 * self._limits["seconds"] + 10)
        except subprocess.TimeoutExpired:
            return {"reason": self._too_slow}, {}
        finally:
            process.kill()
            process.wait()
            self._next = self._start()
        if process.returncode == 0:
            answer, arrays = _unpacked(written)
            return ({"reason": self._too_large} if "memory" in answer else answer), arrays
        ends = {"SIGXCPU": self._too_slow, "SIGKILL": _KILLED}
        signals = {-getattr(signal, name, 0): reason for name, reason in ends.items()}
        return {"reason": signals.get(process.returncode, _DAMAGED)}, {}


def _packed(plain: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    text = np.frombuffer(json.dumps(plain).encode(), np.uint8)
    np.savez(file, allow_pickle=False, plain=text, **arrays)
    return file.getvalue()


def _unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = dict(file)
    for array in arrays.values():
        array.setflags(write=False)
    return json.loads(arrays.pop("plain").tobytes()), arrays


# ------------------------------------------------------------------------------------ the process


def main() -> None:
    """Read the upload that arrives at standard input, within its limits."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries may print
    pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own does not heed the limit
    if not (request := sys.stdin.buffer.read()):
        return  # the server has ended
    plain, arrays = _unpacked(request)
    if resource is not None:
        os.nice(10)
        _limit(plain["memory"], int(plain["seconds"]) + 1)
    files = [
        UploadedFile(role, name, arrays[str(k)].tobytes())
        for k, (role, name) in enumerate(plain["files"])
    ]
    answers.write(_read(plain, files))
    answers.close()


def _limit(memory: int, seconds: int) -> None:
    """Limit the memory and the processor time of this process, where the system allows it."""
    used = 0
    with suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[5]) * resource.getpagesize()
    limits = {resource.RLIMIT_DATA: used + memory, resource.RLIMIT_CPU: seconds}
    for limit, most in {**limits, resource.RLIMIT_CORE: 0}.items():
        with suppress(OSError, ValueError):
            resource.setrlimit(limit, (most, most + (limit == resource.RLIMIT_CPU)))


def _read(plain: Mapping[str, Any], files: Sequence[UploadedFile]) -> bytes:
    kind = KINDS[plain["kind"]]
    try:
        value, arrays = kind.pack(kind.read(files, plain["options"]))
        return _packed({"value": value}, arrays)
    except Exception as error:  # noqa: BLE001 (the server logs it)
        if isinstance(error, MemoryError) or isinstance(error.__context__, MemoryError):
            return _packed({"memory": True}, {})
        if isinstance(error, InputError):
            return _packed({"refused": str(error)}, {})
        return _packed({"failed": traceback.format_exc()[-4000:]}, {})


if __name__ == "__main__":
    main()
