"""Pool of worker processes that read uploads, a few at a time."""

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
from graftviz.sandbox.worker import CAN_FORK, Limits
from graftviz.wording import shortened

log = logging.getLogger(__name__)
WORKER_MODULE = "graftviz.sandbox.worker"
START_SECONDS = 60.0  # until a worker must have imported its libraries
_IDLE_SECONDS = 60.0  # after which a further idle worker is ended
_LOOK_SECONDS = 0.05  # between two looks at memory and time of a worker
# A worker may take longer than its processor seconds, as other work uses the cores too.
_WALL_FACTOR, _WALL_SLACK = 4.0, 10.0
_MOST_ANSWER = 3_000_000_000
_SHOWN = 60  # characters of a file name in a sentence
_DAMAGED = "the file is damaged and stopped the process that reads it; save it again"
_TIME_SIGNALS = ("SIGXCPU", "SIGKILL")
_ROOT = Path(__file__).resolve().parents[2]


class BusyError(InputError):
    """All workers are reading other uploads; the same upload may succeed later."""


class _Ended(Exception):
    """A worker gives no answer and has to be ended; the reason is the end of a sentence."""


class ReaderError(Exception):
    """An unexpected error in a worker; the message is its traceback."""


class _Worker:
    """One worker process.

    Parameters
    ----------
    limits : Limits
    module : str
        The main module of the process.
    """

    def __init__(self, limits: Limits, module: str) -> None:
        self._limits = limits
        paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # libraries print parts of the file there
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
            When it ends or takes too long.
        """
        exchange = _Exchange(self._process)
        if not exchange.done.wait(START_SECONDS):
            raise _Ended("it did not start in time")
        if exchange.answer is None:
            raise _Ended("it could not be started")
        self._idle_bytes = _use_of(self._process.pid).bytes

    def answer_to(self, header: Mapping[str, Any], files: Sequence[UploadedFile]) -> Frame:
        """Send a request and return the answer.

        Raises
        ------
        _Ended
            When the worker has ended, or must be ended because it exceeded a limit.
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
        if exchange.answer is None:
            raise _Ended(_DAMAGED)
        return exchange.answer

    def end(self) -> None:
        """End the process and its children; to be called once, as its number is free afterwards."""
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
    """Return what a process uses; nothing when it has ended."""
    with suppress(psutil.Error):
        if process is not None:
            found = psutil.Process(process)
            times = found.cpu_times()
            return _Use(found.memory_info().rss, times.user + times.system)
    return _Use(0, 0.0)


class _Exchange:
    """One request and its answer, on a thread of its own so that the caller can watch the reader.

    Attributes
    ----------
    done : threading.Event
    reader : int or None
        The process that reads the upload, once it has begun.
    answer : Frame or None
        None when the worker ended before it answered.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        request: Mapping[str, Any] | None = None,
        blocks: Sequence[bytes] = (),
    ) -> None:
        self.done = threading.Event()
        self.reader: int | None = None
        self.answer: Frame | None = None
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
            answer = read_frame(process.stdout, _MOST_ANSWER)
            if answer is not None and answer.header.get("status") == "reading":
                self.reader = int(answer.header["process"])
                answer = read_frame(process.stdout, _MOST_ANSWER)
            self.answer = answer
        except (OSError, ValueError, KeyError, TypeError, FrameError, MemoryError):
            pass  # the worker has ended, or its answer cannot be used: there is no answer
        finally:
            self.done.set()


class WorkerPool:
    """Reads uploads in worker processes.

    One idle worker is held ready; further ones are started when they are needed, and ended when
    they have been idle for a minute.

    Parameters
    ----------
    limits : Limits
        Of one upload.
    most : int
        Uploads read at the same time.
    patience : float
        Seconds an upload waits for its turn.
    module : str
        The main module of the worker processes.
    """

    def __init__(
        self, limits: Limits, most: int = 2, patience: float = 60.0, module: str = WORKER_MODULE
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
        """Start a worker in the background, so that the first upload need not wait for it."""
        threading.Thread(target=self._start_idle, name="graftviz-sandbox", daemon=True).start()

    def close(self) -> None:
        """End all idle workers; those at work end with their upload."""
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
            When the upload is refused by its reader, damages the worker or exceeds a limit.
        """
        title = _title(files)
        if not self._turns.acquire(timeout=self._patience):
            raise BusyError(
                f"{title} was not read, because the server is reading other files; try again in a "
                "minute."
            )
        try:
            answer = self._answer(kind, files, options or {})
        except _Ended as ended:
            raise InputError(f"{title} cannot be read: {ended}.") from None
        finally:
            self._turns.release()
        return _value(kind, title, answer, self._limits)

    def _answer(
        self, kind: str, files: Sequence[UploadedFile], options: Mapping[str, Any]
    ) -> Frame:
        worker = self._taken()
        try:
            answer = worker.answer_to({"kind": kind, "options": dict(options)}, files)
        except BaseException:
            worker.end()
            self.start()
            raise
        if CAN_FORK:
            self._hold(worker)
        else:  # the worker ends after one upload
            worker.end()
            self.start()
        return answer

    def _taken(self) -> _Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.is_alive:
                    return worker
                worker.end()
        return self._started()

    def _started(self) -> _Worker:
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
            self._hold(self._started())

    def _hold(self, worker: _Worker) -> None:
        """Hold a worker ready for the next upload."""
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


def _value(kind: str, title: str, answer: Frame, limits: Limits) -> Any:
    """Return the value of an answer, or raise the reason why there is none."""
    header = answer.header
    reason = _DAMAGED
    match header.get("status"):
        case "read":
            try:
                return KINDS[kind].unpack(unpacked_frame(answer))
            except Exception:
                log.exception("An answer of the process that reads uploads is invalid.")
        case "refused":
            raise InputError(str(header.get("reason", "")))
        case "memory":
            reason = _memory_reason(limits)
        case "died" if header.get("signal") in _TIME_SIGNALS:
            reason = _time_reason(limits)
        case "failed":
            log.error("Reading an upload failed.", exc_info=ReaderError(header.get("trace")))
            reason = "reading it stopped with an unexpected error; the server's log has it"
    raise InputError(f"{title} cannot be read: {reason}.")


def _memory_reason(limits: Limits) -> str:
    return (
        f"that needs more than {limits.memory / 1e6:,.0f} MB of memory; use fewer rows or columns, "
        "or read it with graftviz on your own machine"
    )


def _time_reason(limits: Limits) -> str:
    return (
        f"that takes more than {limits.seconds:g} seconds; use fewer rows or columns, or "
        "read it with graftviz on your own machine"
    )


def _title(files: Sequence[UploadedFile]) -> str:
    return shortened((files[0].name if files else "") or "The file", _SHOWN)
