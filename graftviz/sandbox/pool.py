"""Pool of worker processes that read uploads."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from graftviz.errors import InputError
from graftviz.sandbox.frames import Frame, FrameError, read_frame, unpacked_frame, write_frame
from graftviz.sandbox.readers import KINDS, UploadedFile
from graftviz.sandbox.worker import CAN_FORK, ReadLimits
from graftviz.wording import shortened

log = logging.getLogger(__name__)
WORKER_MODULE = "graftviz.sandbox.worker"
START_SECONDS = 60.0  # time limit for the imports of a worker
_IDLE_SECONDS = 60.0  # after which an additional idle worker is ended
_LOOK_SECONDS = 0.05  # interval of the checks of memory and time of a worker
# The wall time may exceed the processor time, as other processes use the cores too.
_WALL_FACTOR, _WALL_SLACK = 4.0, 10.0
_MOST_RESPONSE = 3_000_000_000
_SHOWN = 60  # maximum characters of a file name in a message
_DAMAGED = "the file is damaged and stopped the process that reads it; save it again"
_KILLED = "the process that reads it was ended, perhaps as memory ran out; try a smaller file"
_ROOT = Path(__file__).resolve().parents[2]


class BusyError(InputError):
    """Error while all workers are reading other uploads; a later attempt may succeed."""


class _Ended(Exception):
    """Error for a worker that does not respond and must be ended; the message is the reason."""


class ReaderError(Exception):
    """Unexpected error in a worker; the message is its traceback."""


class _Worker:
    """Worker process.

    Parameters
    ----------
    limits : ReadLimits
    module : str
        Main module of the process.
    """

    def __init__(self, limits: ReadLimits, module: str) -> None:
        self._limits = limits
        paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # libraries print parts of the file to it
            env={**os.environ, **single, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=os.name == "posix",
        )
        self._idle_bytes = 0

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def wait_until_ready(self) -> None:
        """Wait until the worker has imported its libraries.

        Raises
        ------
        _Ended
            When the worker ends or takes too long.
        """
        exchange = _Exchange(self._process)
        if not exchange.done.wait(START_SECONDS):
            raise _Ended("it did not start in time")
        if exchange.response is None:
            raise _Ended("it could not be started")
        self._idle_bytes = _use_of(self._process.pid).bytes

    def response_to(self, header: Mapping[str, Any], files: Sequence[UploadedFile]) -> Frame:
        """Send a request and return the response.

        Raises
        ------
        _Ended
            When the worker has ended, or exceeds a limit.
        """
        listed = [{"role": file.role, "name": file.name} for file in files]
        request = {**header, "files": listed, **self._limits._asdict()}
        exchange = _Exchange(self._process, request, [file.data for file in files])
        began = time.monotonic()
        while not exchange.done.wait(_LOOK_SECONDS):
            use = _use_of(exchange.reader)
            if use.bytes - self._idle_bytes > self._limits.memory:
                raise _Ended(_memory_reason(self._limits))
            most = _WALL_FACTOR * self._limits.seconds + _WALL_SLACK
            if use.seconds > self._limits.seconds or time.monotonic() - began > most:
                raise _Ended(_time_reason(self._limits))
        if exchange.response is None:
            raise _Ended(_DAMAGED)
        return exchange.response

    def end(self) -> None:
        """End the process and its children; call this once, since process ids are reused."""
        with suppress(OSError):
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ValueError):
                pipe.close()  # type: ignore[union-attr]


class _Use(NamedTuple):
    """Memory and processor time of a process."""

    bytes: int
    seconds: float


def _use_of(process: int | None) -> _Use:
    """Return memory and processor time of a process; zero if it has ended."""
    with suppress(psutil.Error):
        if process is not None:
            found = psutil.Process(process)
            times = found.cpu_times()
            return _Use(found.memory_info().rss, times.user + times.system)
    return _Use(0, 0.0)


class _Exchange:
    """Request and its response, in a separate thread so that the caller can monitor the reader.

    Attributes
    ----------
    done : threading.Event
    reader : int or None
        Process that reads the upload, once it has started.
    response : Frame or None
        None if the worker ended without a response.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        request: Mapping[str, Any] | None = None,
        blocks: Sequence[bytes] = (),
    ) -> None:
        self.done = threading.Event()
        self.reader: int | None = None
        self.response: Frame | None = None
        threading.Thread(target=self._run, args=(process, request, blocks), daemon=True).start()

    def _run(
        self,
        process: subprocess.Popen[bytes],
        request: Mapping[str, Any] | None,
        blocks: Sequence[bytes],
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if request is not None:
                write_frame(process.stdin, request, blocks)
            response = read_frame(process.stdout, _MOST_RESPONSE)
            if response is not None and response.header.get("status") == "reading":
                self.reader = int(response.header["process"])
                response = read_frame(process.stdout, _MOST_RESPONSE)
            self.response = response
        except (OSError, ValueError, KeyError, TypeError, FrameError, MemoryError):
            pass  # the worker has ended, or its response is invalid: there is no response
        finally:
            self.done.set()


class WorkerPool:
    """Pool of worker processes that read uploads.

    One idle worker is always available; more are started on demand, and ended when they have been
    idle for a minute.

    Parameters
    ----------
    limits : ReadLimits
        Limits per upload.
    most : int
        Maximum number of concurrent uploads.
    patience : float
        Maximum waiting time of an upload in seconds.
    module : str
        Main module of the worker processes.
    """

    def __init__(
        self, limits: ReadLimits, most: int = 2, patience: float = 60.0, module: str = WORKER_MODULE
    ) -> None:
        self._limits = limits
        self._module = module
        self._patience = patience
        self._turns = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._is_closed = False
        self._timer: threading.Timer | None = None

    def start(self) -> None:
        """Start a worker in the background, so that the first upload does not wait for it."""
        threading.Thread(target=self._start_idle, name="graftviz-sandbox", daemon=True).start()

    def close(self) -> None:
        """End all idle workers; busy ones end after their upload."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def read(
        self, kind: str, files: Sequence[UploadedFile], options: Mapping[str, Any] | None = None
    ) -> Any:
        """Read an upload in a worker process.

        Parameters
        ----------
        kind : str
            Key of :data:`graftviz.sandbox.readers.KINDS`.
        files : sequence of UploadedFile
        options : mapping, optional
            Arguments of the reader.

        Raises
        ------
        InputError
            When the upload is invalid, crashes the worker or exceeds a limit.
        """
        title = _title(files)
        if not self._turns.acquire(timeout=self._patience):
            raise BusyError(
                f"{title} was not read because the server is reading other files; try again in "
                "a minute."
            )
        try:
            response = self._respond(kind, files, options or {})
        except _Ended as ended:
            raise InputError(f"{title} cannot be read: {ended}.") from None
        finally:
            self._turns.release()
        return _value(kind, title, response, self._limits)

    def _respond(
        self, kind: str, files: Sequence[UploadedFile], options: Mapping[str, Any]
    ) -> Frame:
        worker = self._acquire()
        try:
            response = worker.response_to({"kind": kind, "options": dict(options)}, files)
        except BaseException:
            worker.end()
            self.start()
            raise
        if CAN_FORK:
            self._release(worker)
        else:  # the worker ends after one upload
            worker.end()
            self.start()
        return response

    def _acquire(self) -> _Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.is_alive:
                    return worker
                worker.end()
        return self._start_worker()

    def _start_worker(self) -> _Worker:
        worker = _Worker(self._limits, self._module)
        try:
            worker.wait_until_ready()
        except _Ended as ended:
            worker.end()
            log.error("The process that reads uploads failed: %s.", ended)
            raise _Ended("the server could not start the process that reads files") from None
        return worker

    def _start_idle(self) -> None:
        with self._lock:
            if self._idle or self._is_closed:
                return
        with suppress(_Ended, OSError):
            self._release(self._start_worker())

    def _release(self, worker: _Worker) -> None:
        """Return a worker to the idle ones."""
        with self._lock:
            if not self._is_closed:
                self._idle.append(worker)
                self._end_spare_later()
                return
        worker.end()

    def _end_spare_later(self) -> None:
        if len(self._idle) > 1 and self._timer is None:
            self._timer = threading.Timer(_IDLE_SECONDS, self._end_spare)
            self._timer.daemon = True
            self._timer.start()

    def _end_spare(self) -> None:
        """End the worker that has been idle longest, unless it is the only one."""
        with self._lock:
            self._timer = None
            spare = self._idle.pop(0) if len(self._idle) > 1 else None
            self._end_spare_later()
        if spare is not None:
            spare.end()


def _value(kind: str, title: str, response: Frame, limits: ReadLimits) -> Any:
    """Return the value in a response; raise :class:`InputError` if there is none."""
    header = response.header
    reason = _DAMAGED
    match header.get("status"):
        case "read":
            try:
                return KINDS[kind].unpack(unpacked_frame(response))
            except Exception:
                log.exception("A response of the process that reads uploads is invalid.")
        case "refused":
            raise InputError(str(header.get("reason", "")))
        case "memory":
            reason = _memory_reason(limits)
        case "died" if header.get("signal") == "SIGXCPU":
            reason = _time_reason(limits)
        case "died" if header.get("signal") == "SIGKILL":
            reason = _KILLED
        case "failed":
            log.error("Reading an upload failed.", exc_info=ReaderError(header.get("trace")))
            reason = "reading it failed with an unexpected error; see the server's log"
    raise InputError(f"{title} cannot be read: {reason}.")


def _memory_reason(limits: ReadLimits) -> str:
    return (
        f"this needs more than {limits.memory / 1e6:,.0f} MB of memory; use fewer rows or columns, "
        "or read it with graftviz on your own machine"
    )


def _time_reason(limits: ReadLimits) -> str:
    return (
        f"this takes more than {limits.seconds:g} seconds; use fewer rows or columns, or "
        "read it with graftviz on your own machine"
    )


def _title(files: Sequence[UploadedFile]) -> str:
    return shortened((files[0].name if files else "") or "The file", _SHOWN)
