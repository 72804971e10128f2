"""Worker process that reads inputs; its parent process detects aborts, hangs and memory growth."""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import importlib
import os
import re
import resource
import signal
import tempfile
import time
import traceback
import unicodedata
from collections.abc import Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import psutil
import pyarrow as pa

from graftviz import InputError
from tests.fuzz.cases import Case, random_for
from tests.fuzz.kinds import Complaints, Kind

MOST_CHARACTERS = 600  # of a message
ACCEPTED, REFUSED = range(2)
_STACK_LINE = "/graftviz/"


class Limits(NamedTuple):
    """Bounds whose crossing is a finding.

    Attributes
    ----------
    seconds : float
        Of an input.
    memory : int
        Peak resident bytes of the worker.
    leak : int
        Bytes by which a worker may have grown after its memory has been tidied up.
    """

    seconds: float = 10.0
    memory: int = 1_500_000_000
    leak: int = 200_000_000


class Work(NamedTuple):
    """Inputs of a process: some numbers for some seconds, or the one case that is given."""

    kind: str
    seed: int
    numbers: range
    seconds: float
    case: Case | None = None


class Trouble(NamedTuple):
    """Failure to read an input.

    Attributes
    ----------
    cause : str
        The same for all inputs that fail in the same way: kind of failure and place in the code.
    detail : str
    """

    cause: str
    detail: str


class Progress(ctypes.Structure):
    """Progress of a process in memory that its parent reads.

    Attributes
    ----------
    number : int
        Of the current input.
    began : float
        When it began, monotonic; 0 before the first.
    begun, inputs, accepted, refused : int
        Inputs begun and read so far.
    slowest, slowest_number : float, int
        Seconds and number of the input that took longest.
    processor : float
        Seconds of processor time.
    peak : int
        Most resident bytes.
    """

    _fields_ = (
        *(("number", ctypes.c_longlong), ("began", ctypes.c_double)),
        *((name, ctypes.c_longlong) for name in ("begun", "inputs", "accepted", "refused")),
        *(("slowest", ctypes.c_double), ("slowest_number", ctypes.c_longlong)),
        *(("processor", ctypes.c_double), ("peak", ctypes.c_longlong)),
    )

    def note(self, outcome: Trouble | int) -> None:
        """Note how the current input ended."""
        self.inputs += 1
        self.accepted += outcome == ACCEPTED
        self.refused += outcome == REFUSED
        seconds = time.monotonic() - self.began
        if seconds > self.slowest:
            self.slowest, self.slowest_number = seconds, self.number
        self.processor = time.process_time()


def outcome_of(kind: Kind, case: Case) -> Trouble | int:
    """Read a case and return how it ended: accepted, refused, or a failure."""
    try:
        value = kind.targets[case.target](case)
    except InputError as refusal:
        return _judged([str(refusal)]) or REFUSED
    except MemoryError as error:
        return Trouble(f"memory: MemoryError at {_place(error)}", str(error)[:300])
    except (Exception, SystemExit, pa.ArrowException) as error:  # noqa: BLE001
        name = type(error).__name__
        detail = "".join(traceback.format_exception(error))[-3000:]
        if isinstance(error, AssertionError):  # mostly of a target, where the place means little
            name += f": {re.sub('[0-9]+', '#', str(error))[:60]}"
        return Trouble(f"exception: {name} at {_place(error)}", detail)
    if isinstance(value, Complaints):
        return _judged(list(value)) or (REFUSED if value else ACCEPTED)
    return ACCEPTED


def _judged(sentences: list[str]) -> Trouble | None:
    for text in sentences:
        start = " ".join(word for word in text.split()[:40] if word.isalpha())[:40]
        if not text.strip():
            return Trouble("message: empty", "")
        if len(text) > MOST_CHARACTERS:
            return Trouble(f"message: too long, {start!r}", f"{len(text)} characters: {text[:400]}")
        odd = [c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
        if odd:
            return Trouble(f"message: control characters, {start!r}", repr(text[:400]))
    return None


def _place(error: BaseException) -> str:
    """Return file and line of the innermost frame of the project, else of the innermost frame."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _STACK_LINE in frame.filename] or list(frames)
    if not own:
        return "unknown place"
    return f"{_short(own[-1].filename)}:{own[-1].lineno} ({own[-1].name})"


def _short(filename: str) -> str:
    return filename.rpartition(_STACK_LINE)[2] if _STACK_LINE in filename else Path(filename).name


def place_in_dump(dump: str) -> str:
    """Return the innermost frame of the project in what faulthandler wrote."""
    for line in dump.splitlines():
        parts = line.strip().split('"')
        if len(parts) > 2 and _STACK_LINE in parts[1] and line.lstrip().startswith("File"):
            number = parts[2].split(" ")[2].rstrip(",")
            return f"{_short(parts[1])}:{number}"
    return "unknown place"


def run_worker(
    connection: Connection,
    progress: Progress,
    module: str,
    limits: Limits,
    log: str,
    environment: Mapping[str, str],
    work: Work,
) -> None:
    """Read inputs and send number and trouble of those that fail; main function of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    os.environ.update(environment)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(output, stream)
    faulthandler.enable(2)
    faulthandler.register(signal.SIGUSR1, 2, all_threads=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kinds: Mapping[str, Kind] = importlib.import_module(module).KINDS
    with tempfile.TemporaryDirectory(prefix="graftviz-fuzz-") as folder:
        os.chdir(folder)
        try:
            for found in _troubles(kinds[work.kind], work, limits, progress):
                connection.send(found)
        except BrokenPipeError:
            pass  # the parent has ended
        finally:
            os.chdir("/")


def _troubles(
    kind: Kind, work: Work, limits: Limits, progress: Progress
) -> Iterator[tuple[int, Trouble]]:
    """Read inputs, and yield number and trouble of those that fail."""
    process = psutil.Process()
    start, until = process.memory_info().rss, time.monotonic() + work.seconds
    for number in work.numbers:
        case = work.case or kind.make(random_for(work.kind, work.seed, number))
        began = time.monotonic()
        if began > until:
            break
        progress.number, progress.began = number, began
        progress.begun += 1
        outcome = outcome_of(kind, case)
        progress.peak = _peak()
        is_too_large = progress.peak > limits.memory
        if is_too_large and not isinstance(outcome, Trouble):
            outcome = Trouble(f"memory: {case.target}", f"peak of {progress.peak / 1e6:,.0f} MB")
        progress.note(outcome)
        if isinstance(outcome, Trouble):
            yield number, outcome
        if is_too_large:  # the peak only grows: another process reads on
            return
    if process.memory_info().rss - start > limits.leak:
        leaked = _tidied(process) - start
        if leaked > limits.leak:
            detail = f"{leaked / 1e6:,.0f} MB more after {progress.inputs} inputs"
            yield progress.number, Trouble("leak", detail)


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _tidied(process: psutil.Process) -> int:
    """Return the resident bytes once what is free has been given back."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    return int(process.memory_info().rss)
