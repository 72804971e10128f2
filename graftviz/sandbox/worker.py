"""Worker process: reads uploads that arrive on standard input, answers on standard output.

Started as ``python -m graftviz.sandbox.worker``. Where the system can fork, every upload is read in
a child of its own: the child has the imports of the worker but no memory of earlier uploads, its
limits begin at zero, and it ends after one upload. Elsewhere the worker reads the upload itself and
ends, and the server starts another one.
"""

from __future__ import annotations

import gc
import io
import json
import os
import signal
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from graftviz.errors import InputError
from graftviz.sandbox.frames import Frame, packed_frame, read_frame, write_frame
from graftviz.sandbox.readers import KINDS, UploadedFile, read_table_upload

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MOST_REQUEST_BYTES = 2_000_000_000
CAN_FORK = hasattr(os, "fork") and resource is not None
_NICE = 19  # the sessions that play come first
_MOST_TRACE = 4_000  # characters
_OUT_OF_MEMORY = ("malloc of size", "realloc of size", "bad_alloc", "Cannot allocate memory")


class Limits(NamedTuple):
    """Limits of reading one upload.

    Attributes
    ----------
    memory : int
        Bytes beyond those an idle worker holds.
    seconds : float
        Of processor time.
    """

    memory: int
    seconds: float


def main() -> None:
    """Answer requests until standard input ends."""
    requests, answers = _private_pipes()
    _prepare()
    write_frame(answers, {"status": "ready"})
    while (request := read_frame(requests, MOST_REQUEST_BYTES)) is not None:
        if not CAN_FORK:
            write_frame(answers, {"status": "reading", "process": os.getpid()})
            _answer(request, answers)
            return
        # pid 0 is the child; it leaves through os._exit, so that it runs no clean-up of the parent.
        pid = os.fork()
        if pid == 0:
            _answer_in_child(request, answers)
        del request
        _, status = os.waitpid(pid, 0)
        if status:
            died = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""
            write_frame(answers, {"status": "died", "signal": died})


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return standard input and output as binary files that no library can write to by accident."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    return requests, answers


def _prepare() -> None:
    """Set priority and signals, and load whatever the libraries load with their first file."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, which ends its workers
    if hasattr(os, "nice"):
        with suppress(OSError):  # some containers and units forbid it
            os.nice(_NICE)
    pa.set_memory_pool(pa.system_memory_pool())
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    if not CAN_FORK:  # reading starts threads of Arrow, which a fork would leave behind
        read_table_upload([UploadedFile("table", "a.csv", b"a,b\n0,1\n1,0\n")], {})
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page of the imports


def _answer_in_child(request: Frame, answers: BinaryIO) -> None:
    """Answer one request within its limits and end the process."""
    code = 1
    try:
        _limit(_limits(request.header))
        write_frame(answers, {"status": "reading", "process": os.getpid()})
        _answer(request, answers)
        code = 0
    finally:
        os._exit(code)


def _limits(header: Mapping[str, Any]) -> Limits:
    return Limits(int(header["memory"]), float(header["seconds"]))


def _limit(limits: Limits) -> None:
    """Let the system refuse memory and writing of files, and end the process after its time."""
    seconds = int(limits.seconds) + 1
    _lower(resource.RLIMIT_CPU, seconds, seconds + 1)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_DATA, _data_bytes() + limits.memory)


def _lower(limit: int, value: int, most: int | None = None) -> None:
    """Set a limit of this process; where the system forbids that, the server watches alone."""
    with suppress(OSError, ValueError):
        resource.setrlimit(limit, (value, value if most is None else most))


def _data_bytes() -> int:
    """Return the bytes of private memory that count against RLIMIT_DATA; 0 where unknown."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[5]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def _answer(request: Frame, answers: BinaryIO) -> None:
    header, blocks = _answer_of(request)
    if resource is not None:  # an answer that has begun must not be cut off
        _lower(resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU)[1])
    write_frame(answers, header, blocks)


def _answer_of(request: Frame) -> tuple[dict[str, Any], list[memoryview]]:
    """Return header and blocks of the answer to a request."""
    try:
        kind = KINDS[request.header["kind"]]
        files = [
            UploadedFile(entry["role"], entry["name"], block)
            for entry, block in zip(request.header["files"], request.blocks, strict=True)
        ]
        packed = kind.pack(kind.read(files, request.header["options"]))
        header, blocks = packed_frame(packed)
        json.dumps(header)  # text that cannot be sent is an error of the reader
    except MemoryError:
        return {"status": "memory"}, []
    except InputError as error:
        if _is_out_of_memory(error):
            return {"status": "memory"}, []
        return {"status": "refused", "reason": str(error)}, []
    except Exception as error:  # noqa: BLE001 (reported to the server, which logs it)
        if _is_out_of_memory(error):
            return {"status": "memory"}, []
        return {"status": "failed", "trace": _trace(error)}, []
    return {"status": "read", **header}, blocks


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error was caused by memory that could not be had."""
    while error is not None:
        if isinstance(error, MemoryError) or any(word in str(error) for word in _OUT_OF_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def _trace(error: BaseException) -> str:
    text = io.StringIO()
    traceback.print_exception(error, file=text)
    return text.getvalue()[-_MOST_TRACE:]


if __name__ == "__main__":
    main()
