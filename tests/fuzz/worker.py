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
import struct
import tempfile
import time
import traceback
import unicodedata
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import psutil
import pyarrow as pa

from graftviz.errors import InputError
from tests.fuzz.cases import Case, random_for
from tests.fuzz.kinds import Kind
from tests.fuzz.targets import Complaints

MOST_CHARACTERS = 600  # of a message
ACCEPTED, REFUSED, FOUND = range(3)
# Number of the input that begins, outcome of the one before, and when (seconds, monotonic).
BEGIN = struct.Struct("<qbd")
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
    inputs : int
        Inputs after which a worker is replaced.
    """

    seconds: float = 10.0
    memory: int = 1_500_000_000
    leak: int = 400_000_000
    inputs: int = 20_000


class Block(NamedTuple):
    """Inputs for a worker: `length` numbers from `start` on, or the one case that is given."""

    kind: str
    seed: int
    start: int
    length: int
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


class BlockEnd(NamedTuple):
    """Report at the end of a block.

    Attributes
    ----------
    outcome : int
        Of the last input.
    trouble : Trouble or None
        With the last input, which ends a block early.
    seconds : float
        When it ended, monotonic.
    processor : float
        Seconds of processor time of the block.
    peak : int
        Most resident bytes since the worker started.
    leaked : int
        Bytes above the bound, which remain after the memory has been tidied up.
    """

    outcome: int
    trouble: Trouble | None = None
    seconds: float = 0.0
    processor: float = 0.0
    peak: int = 0
    leaked: int = 0


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
    connection: Connection, module: str, limits: Limits, log: str, environment: Mapping[str, str]
) -> None:
    """Run blocks of inputs until there are no more; the main function of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    os.environ.update(environment)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(output, stream)
    faulthandler.enable(2)
    faulthandler.register(signal.SIGUSR1, 2, all_threads=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kinds: Mapping[str, Kind] = importlib.import_module(module).KINDS
    process = psutil.Process()
    with tempfile.TemporaryDirectory(prefix="graftviz-fuzz-") as folder:
        os.chdir(folder)
        start = process.memory_info().rss
        try:
            while (block := connection.recv()) is not None:
                used = time.process_time()
                end = _run_block(connection, kinds[block.kind], block, limits)
                now = time.monotonic()
                leaked = process.memory_info().rss - start
                if leaked > limits.leak:
                    leaked = _tidied(process) - start
                leaked = leaked if leaked > limits.leak else 0
                end = end._replace(seconds=now, processor=time.process_time() - used)
                connection.send(end._replace(peak=_peak(), leaked=leaked))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            pass  # the parent has ended
        finally:
            os.chdir("/")


def _run_block(connection: Connection, kind: Kind, block: Block, limits: Limits) -> BlockEnd:
    last = ACCEPTED
    for number in range(block.start, block.start + block.length):
        case = block.case
        if case is None:
            case = kind.make(random_for(block.kind, block.seed, number))
        connection.send_bytes(BEGIN.pack(number, last, time.monotonic()))
        outcome = outcome_of(kind, case)
        # The peak only grows, and a worker is replaced after a finding: it belongs to this input.
        if not isinstance(outcome, Trouble) and (peak := _peak()) > limits.memory:
            outcome = Trouble(f"memory: {case.target}", f"peak of {peak / 1e6:,.0f} MB")
        if isinstance(outcome, Trouble):
            return BlockEnd(FOUND, outcome)
        last = outcome
    return BlockEnd(last)


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _tidied(process: psutil.Process) -> int:
    """Return the resident bytes once what is free has been given back."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    return int(process.memory_info().rss)
