"""Campaigns: inputs read in worker processes, with counts of aborts, hangs and memory growth."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import multiprocessing
import os
import pickle
import signal
import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.fuzz.cases import Case, random_for
from tests.fuzz.kinds import Kind
from tests.fuzz.worker import (
    ACCEPTED,
    BEGIN,
    REFUSED,
    Block,
    BlockEnd,
    Limits,
    Trouble,
    place_in_dump,
    run_worker,
)

MODULE = "tests.fuzz.kinds"
USUAL = Limits()
_CONTEXT = multiprocessing.get_context("forkserver")
_POLL_SECONDS = 0.05
_DUMP_SECONDS = 0.3  # for a stack to be written before its process is killed
_BLOCK_SECONDS = 0.3
_LARGEST_BLOCK = 1000
_START_SECONDS = 120.0
_PATIENCE = 3  # times the limit that an input may take which uses little of the processor
_FINDINGS_OF_A_CAUSE = 3  # that are remembered; further ones are counted


class Finding(NamedTuple):
    """An input that is neither accepted nor refused in a sentence."""

    kind: str
    seed: int
    number: int
    trouble: Trouble

    @property
    def replay(self) -> str:
        """Argument of ``--replay``."""
        return f"{self.kind}:{self.seed}:{self.number}"


@dataclasses.dataclass
class Record:
    """Outcomes of a kind.

    Attributes
    ----------
    inputs, accepted, refused : int
    causes : dict
        Cause of findings → their number.
    findings : list of Finding
        At most three of a cause.
    next : int
        First number that has not been given out.
    seconds : float
        Time of workers.
    processor : float
        Processor time of workers, as far as they have reported it.
    slowest : (float, int)
        Seconds and number of the input that took longest.
    peak : int
        Most resident bytes of a worker.
    """

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    causes: dict[str, int] = dataclasses.field(default_factory=dict)
    findings: list[Finding] = dataclasses.field(default_factory=list)
    next: int = 0
    seconds: float = 0.0
    processor: float = 0.0
    slowest: tuple[float, int] = (0.0, 0)
    peak: int = 0

    def add_time(self, number: int, seconds: float) -> None:
        """Note how long an input took."""
        self.inputs += 1
        self.seconds += seconds
        self.slowest = max(self.slowest, (seconds, number))

    def add_outcome(self, outcome: int) -> None:
        """Count an input that was accepted or refused."""
        self.accepted += outcome == ACCEPTED
        self.refused += outcome == REFUSED

    def add_finding(self, finding: Finding) -> None:
        """Count a finding, and remember the first of its cause."""
        cause = finding.trouble.cause
        self.causes[cause] = self.causes.get(cause, 0) + 1
        if self.causes[cause] <= _FINDINGS_OF_A_CAUSE:
            self.findings.append(finding)


class Worker:
    """Worker process, its block and its progress.

    Attributes
    ----------
    block : Block or None
        Current work; None when idle.
    number : int
        Current input.
    began : float
        Start of the current input, monotonic.
    """

    def __init__(self, module: str, limits: Limits, folder: Path, environment: Mapping[str, str]):
        self.limits = limits
        handle, name = tempfile.mkstemp(".log", dir=folder)
        os.close(handle)
        self.log = Path(name)
        self.connection, other = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(
            target=run_worker,
            args=(other, module, limits, str(self.log), dict(environment)),
            daemon=False,
        )
        self.process.start()
        other.close()
        self._watched: psutil.Process | None = None
        with contextlib.suppress(psutil.NoSuchProcess):  # `trouble` reports it
            self._watched = psutil.Process(self.process.pid)
        self.block: Block | None = None
        self.number = 0
        self.began = time.monotonic()
        self.has_begun = False
        self.inputs = 0
        self._seen: tuple[Block | None, int] = (None, 0)
        self._used = 0.0  # processor seconds when the current input was seen first

    def give(self, block: Block) -> None:
        """Give it work."""
        self.block, self.number, self.has_begun = block, block.start, False
        self.began = time.monotonic()
        self.connection.send(block)

    def messages(self) -> list[tuple[int, int, float] | BlockEnd]:
        """Return its reports since the last call."""
        found: list[tuple[int, int, float] | BlockEnd] = []
        try:
            while self.connection.poll():
                data = self.connection.recv_bytes()
                found.append(BEGIN.unpack(data) if len(data) == BEGIN.size else pickle.loads(data))
        except (EOFError, OSError):
            pass  # it has ended, which `trouble` reports
        return found

    def trouble(self) -> Trouble | None:
        """Return the failure of the process itself, which is then killed, or None."""
        if self._watched is None or not self.process.is_alive():
            return self._death()
        try:
            used = sum(self._watched.cpu_times()[:2])
            held = self._watched.memory_info().rss
        except psutil.NoSuchProcess:
            return self._death()
        if self._seen != (self.block, self.number):
            self._seen, self._used = (self.block, self.number), used
        if held > self.limits.memory:
            return self._killed("memory", f"{held / 1e6:,.0f} MB")
        seconds = time.monotonic() - self.began
        most = self.limits.seconds if self.has_begun else _START_SECONDS
        # On a busy machine a process may have had little of the processor.
        if seconds > most and (used - self._used > most / 2 or seconds > _PATIENCE * most):
            return self._killed("hang", f"no answer after {seconds:.1f} s")
        return None

    def _death(self) -> Trouble:
        self.process.join()
        code = self.process.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        dump = self.dump()
        return Trouble(f"abort: {how} at {place_in_dump(dump)}", dump)

    def _killed(self, what: str, detail: str) -> Trouble:
        with contextlib.suppress(psutil.NoSuchProcess):
            assert self._watched is not None
            self._watched.send_signal(signal.SIGUSR1)  # faulthandler writes the stack
        time.sleep(_DUMP_SECONDS)
        dump = self.dump()
        self.end()
        return Trouble(f"{what}: at {place_in_dump(dump)}", f"{detail}\n{dump}")

    def dump(self) -> str:
        """Return the end of what the process printed, without the list of extension modules."""
        text = self.log.read_text(errors="replace")
        return text.partition("\nExtension modules:")[0][-6000:]

    def end(self) -> None:
        """End the process."""
        self.connection.close()
        self.process.kill()
        self.process.join()


class Campaign:
    """Inputs of some kinds, read by workers for some time or up to a number.

    Parameters
    ----------
    kinds : sequence of str
    seed : int
    workers : int
    limits : Limits
    module : str
        Module with the mapping ``KINDS``.
    environment : mapping
        Further environment variables of workers.
    """

    def __init__(
        self,
        kinds: Sequence[str],
        seed: int,
        *,
        workers: int = 2,
        limits: Limits = USUAL,
        module: str = MODULE,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        # Workers are forked from a process that has imported everything, which takes no time.
        _CONTEXT.set_forkserver_preload([module, "tests.fuzz.worker"])
        self.records = {name: Record() for name in kinds}
        self.seed = seed
        self.seconds = 0.0
        self._count = workers
        self._limits = limits
        self._module = module
        self._environment = environment or {}
        self._rests: deque[Block] = deque()  # of blocks that ended early
        self._most: int | None = None

    def run(self, seconds: float, most: int | None = None) -> None:
        """Run for some time, or until `most` inputs of every kind are done.

        An interrupt by the user ends it as the end of time does.
        """
        started = time.monotonic()
        self._most = most
        workers: list[Worker] = []
        with tempfile.TemporaryDirectory(prefix="graftviz-fuzz-log-") as folder:
            try:
                while time.monotonic() < started + seconds:
                    workers = [worker for worker in workers if self._looked_after(worker)]
                    if not self._supply(workers, Path(folder)) and not workers:
                        break
                    wait([worker.connection for worker in workers], _POLL_SECONDS)
            except KeyboardInterrupt:
                pass
            finally:
                for worker in workers:
                    self._drain(worker)
                    worker.end()
        self.seconds += time.monotonic() - started

    def outcome(self, case: Case, kind: str) -> Trouble | int:
        """Return the outcome of one case, read by a worker of its own."""
        self.records.setdefault(kind, Record())
        with tempfile.TemporaryDirectory(prefix="graftviz-fuzz-log-") as folder:
            worker = Worker(self._module, self._limits, Path(folder), self._environment)
            try:
                worker.give(Block(kind, self.seed, 0, 1, case))
                while True:
                    wait([worker.connection], _POLL_SECONDS)
                    for message in worker.messages():
                        if isinstance(message, BlockEnd):
                            return message.trouble or message.outcome
                        worker.has_begun, worker.began = True, message[2]
                    if trouble := worker.trouble():
                        return trouble
            finally:
                worker.end()

    def _supply(self, workers: list[Worker], folder: Path) -> bool:
        """Give every idle worker a block, and start missing workers; False if nothing is left."""
        for worker in workers:
            if worker.block is None and (block := self._next_block()):
                worker.give(block)
        while len(workers) < self._count:
            block = self._next_block()
            if block is None:
                break
            workers.append(Worker(self._module, self._limits, folder, self._environment))
            workers[-1].give(block)
        for worker in [worker for worker in workers if worker.block is None]:
            workers.remove(worker)
            worker.end()
        return bool(workers)

    def _next_block(self) -> Block | None:
        """Return a block of the kind that has had the least time."""
        if self._rests:
            return self._rests.popleft()
        open_kinds = [
            (record.seconds, record.next, name)
            for name, record in self.records.items()
            if self._most is None or record.next < self._most
        ]
        if not open_kinds:
            return None
        name = min(open_kinds)[2]
        record = self.records[name]
        rate = record.inputs / record.seconds if record.seconds else 0.0
        count = int(min(max(1.0, rate * _BLOCK_SECONDS), _LARGEST_BLOCK))
        if self._most is not None:
            count = min(count, self._most - record.next)
        start, record.next = record.next, record.next + count
        return Block(name, self.seed, start, count)

    def _looked_after(self, worker: Worker) -> bool:
        """Take the reports of a worker; False if it has ended and has to be replaced."""
        self._drain(worker)
        if worker.process.exitcode is None and worker.block is None:
            if worker.inputs < self._limits.inputs:
                return True
            worker.end()
            return False
        if worker.connection.closed:
            return False
        trouble = worker.trouble()
        if trouble is None:
            return True
        self._drain(worker)  # reports sent before the end
        if worker.block is not None:
            self._note(worker, trouble)
        worker.end()
        return False

    def _drain(self, worker: Worker) -> None:
        if worker.connection.closed:
            return
        for message in worker.messages():
            block = worker.block
            assert block is not None
            record = self.records[block.kind]
            if isinstance(message, BlockEnd):
                self._take_end(worker, block, record, message)
                continue
            number, last, began = message
            if worker.has_begun:
                record.add_time(worker.number, began - worker.began)
                record.add_outcome(last)
            worker.number, worker.began, worker.has_begun = number, began, True
            worker.inputs += 1

    def _take_end(self, worker: Worker, block: Block, record: Record, end: BlockEnd) -> None:
        record.peak = max(record.peak, end.peak)
        record.processor += end.processor
        trouble = end.trouble
        if trouble is None:
            record.add_time(worker.number, end.seconds - worker.began)
            record.add_outcome(end.outcome)
            worker.block = None
        if end.leaked and trouble is None:
            detail = f"{end.leaked / 1e6:,.0f} MB more after {worker.inputs} inputs"
            finding = Finding(block.kind, self.seed, worker.number, Trouble("leak", detail))
            record.add_finding(finding)
        if trouble is not None:
            self._note(worker, trouble)
        if trouble is not None or end.leaked:
            worker.end()

    def _note(self, worker: Worker, trouble: Trouble) -> None:
        """Count the finding of a worker, and put the rest of its block back."""
        block = worker.block
        assert block is not None
        worker.block = None
        record = self.records[block.kind]
        if worker.has_begun:
            record.add_time(worker.number, time.monotonic() - worker.began)
        record.add_finding(Finding(block.kind, block.seed, worker.number, trouble))
        rest = block.start + block.length - worker.number - 1
        if rest > 0:
            self._rests.append(block._replace(start=worker.number + 1, length=rest))

    @property
    def findings(self) -> list[Finding]:
        """All stored findings: the first of each cause, then the others."""
        every = [finding for record in self.records.values() for finding in record.findings]
        seen: set[tuple[str, str]] = set()
        first: list[Finding] = []
        others: list[Finding] = []
        for finding in every:
            key = (finding.kind, finding.trouble.cause)
            (others if key in seen else first).append(finding)
            seen.add(key)
        return first + others


def case_of(kind: str, seed: int, number: int, module: str = MODULE) -> Case:
    """Return the input of a kind, a seed and a number."""
    kinds: Mapping[str, Kind] = importlib.import_module(module).KINDS
    return kinds[kind].make(random_for(kind, seed, number))
