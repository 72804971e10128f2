"""Worker process: reads uploads from standard input and writes responses to standard output.

It is started as ``python -m graftviz.sandbox.worker``. If the system can fork, every upload is read
in a separate child process: the child inherits the imports of the worker but no data of earlier
uploads, its limits count from zero, and it ends after one upload. Otherwise the worker itself reads
the upload and ends, and the server starts another worker.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import traceback
from contextlib import suppress
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from graftviz.errors import InputError
from graftviz.sandbox.frames import (
    Block,
    Frame,
    encode_frame,
    packed_frame,
    read_frame,
    write_frame,
)
from graftviz.sandbox.readers import KINDS, UploadedFile, read_table_upload

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MOST_REQUEST_BYTES = 2_000_000_000
CAN_FORK = hasattr(os, "fork") and resource is not None
_NICE = 19  # lowest priority, below the sessions
_MOST_TRACE = 4_000  # maximum characters of a traceback
_OUT_OF_MEMORY = ("malloc of size", "realloc of size", "bad_alloc", "Cannot allocate memory")


class ReadLimits(NamedTuple):
    """Limits of reading one upload.

    Attributes
    ----------
    memory : int
        Bytes in addition to those of an idle worker.
    seconds : float
        Processor time.
    """

    memory: int
    seconds: float


def main() -> None:
    """Process requests until standard input ends."""
    requests, responses = _private_pipes()
    _prepare()
    write_frame(responses, {"status": "ready"})
    while (request := read_frame(requests, MOST_REQUEST_BYTES)) is not None:
        if not CAN_FORK:
            write_frame(responses, {"status": "reading", "process": os.getpid()})
            _respond(request, responses)
            return
        # pid 0 is the child; it ends by os._exit, which skips the clean-up of the parent.
        pid = os.fork()
        if pid == 0:
            _respond_in_child(request, responses)
        del request
        _, status = os.waitpid(pid, 0)
        if status:
            name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""
            write_frame(responses, {"status": "died", "signal": name})


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return standard input and output as binary files; libraries see the null device instead."""
    requests, responses = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    return requests, responses


def _prepare() -> None:
    """Set priority and signals, and trigger the lazy imports of the libraries."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, which ends its workers
    if hasattr(os, "nice"):
        with suppress(OSError):  # some containers and units forbid it
            os.nice(_NICE)
    pa.set_memory_pool(pa.system_memory_pool())
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    if not CAN_FORK:  # reading starts threads of Arrow, which do not survive a fork
        read_table_upload([UploadedFile("table", "a.csv", b"a,b\n0,1\n1,0\n")], {})
    gc.collect()
    gc.freeze()  # otherwise, garbage collection in a child copies all pages of the imports


def _respond_in_child(request: Frame, responses: BinaryIO) -> None:
    """Process one request within its limits and end the process."""
    code = 1
    try:
        _limit(int(request.header["memory"]), float(request.header["seconds"]))
        write_frame(responses, {"status": "reading", "process": os.getpid()})
        _respond(request, responses)
        code = 0
    finally:
        os._exit(code)


def _limit(memory: int, seconds: float) -> None:
    """Set the limits of this process on memory, processor time and written files."""
    _lower(resource.RLIMIT_CPU, int(seconds) + 1, int(seconds) + 2)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_DATA, _data_bytes() + memory)


def _lower(limit: int, value: int, most: int | None = None) -> None:
    """Set a limit of this process; if the system forbids it, only the server enforces limits."""
    with suppress(OSError, ValueError):
        resource.setrlimit(limit, (value, value if most is None else most))


def _data_bytes() -> int:
    """Return the bytes of private memory that count towards RLIMIT_DATA; 0 if unavailable."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[5]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def _respond(request: Frame, responses: BinaryIO) -> None:
    response = _response(request)
    if resource is not None:  # a response must not be interrupted by the time limit
        _lower(resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU)[1])
    responses.writelines(response)
    responses.flush()


def _response(request: Frame) -> list[Block]:
    """Return the encoded response to a request."""
    try:
        kind = KINDS[request.header["kind"]]
        files = [
            UploadedFile(entry["role"], entry["name"], block)
            for entry, block in zip(request.header["files"], request.blocks, strict=True)
        ]
        packed = kind.pack(kind.read(files, request.header["options"]))
        header, blocks = packed_frame(packed)
        # Encoded here, since values that JSON cannot express are an error of the reader.
        return encode_frame({"status": "read", **header}, blocks)
    except Exception as error:  # noqa: BLE001 (reported to the server, which logs it)
        if _is_out_of_memory(error):
            return encode_frame({"status": "memory"})
        if isinstance(error, InputError):
            return encode_frame({"status": "refused", "reason": str(error)})
        return encode_frame({"status": "failed", "trace": _trace(error)})


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error was caused by a failed allocation of memory."""
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
