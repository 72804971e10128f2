"""Campaigns: inputs read in worker processes, with counts of aborts, hangs and memory growth."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.fuzz.cases import Case, random_for
from tests.fuzz.kinds import Kind
from tests.fuzz.worker import (
    ACCEPTED,
    REFUSED,
    Limits,
    Progress,
    Trouble,
    Work,
    place_in_dump,
    run_worker,
)

MODULE = "tests.fuzz.kinds"
USUAL = Limits()
_CONTEXT = multiprocessing.get_context("forkserver")
_POLL_SECONDS = 0.05
_DUMP_SECONDS = 0.3  # for a stack to be written before its process is killed
_WORK_SECONDS = 5.0  # of a process, before another kind has its turn
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
    processor : float
        Processor time of workers.
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
    processor: float = 0.0
    slowest: tuple[float, int] = (0.0, 0)
    peak: int = 0

    def add(self, progress: Progress) -> None:
        """Count the inputs of a process."""
        self.inputs += progress.inputs
        self.accepted += progress.accepted
        self.refused += progress.refused
        self.processor += progress.processor
        self.slowest = max(self.slowest, (progress.slowest, progress.slowest_number))
        self.peak = max(self.peak, progress.peak)

    def add_finding(self, finding: Finding) -> None:
        """Count a finding, and remember the first of its cause."""
        cause = finding.trouble.cause
        self.causes[cause] = self.causes.get(cause, 0) + 1
        if self.causes[cause] <= _FINDINGS_OF_A_CAUSE:
            self.findings.append(finding)


class Worker:
    """Process that reads inputs, and what is known of it.

    Attributes
    ----------
    progress : Progress
        Written by the process.
    began : float
        When it was started, monotonic.
    """

    def __init__(
        self,
        work: Work,
        module: str,
        limits: Limits,
        environment: Mapping[str, str],
        folder: str,
    ) -> None:
        self._limits = limits
        handle, name = tempfile.mkstemp(".log", dir=folder)
        os.close(handle)
        self._log = Path(name)
        self.progress = _CONTEXT.RawValue(Progress)
        self.progress.number = work.numbers.start
        self.connection, other = _CONTEXT.Pipe(duplex=False)
        arguments = (other, self.progress, module, limits, name, dict(environment), work)
        self.process = _CONTEXT.Process(target=run_worker, args=arguments)
        self.process.start()
        other.close()
        self.began = time.monotonic()
        self._watched: psutil.Process | None = None
        with contextlib.suppress(psutil.NoSuchProcess):  # `findings` tells that it has ended
            self._watched = psutil.Process(self.process.pid)
        self._seen = (0.0, 0.0)  # start of the input seen last, and processor seconds by then

    def findings(self) -> tuple[list[tuple[int, Trouble]], bool]:
        """Return numbers and troubles since the last call, and whether the process has ended."""
        has_ended = not self.process.is_alive()
        trouble = self._death() if has_ended else self._trouble()
        found: list[tuple[int, Trouble]] = []
        with contextlib.suppress(EOFError, OSError):  # it has ended
            while self.connection.poll():
                found.append(self.connection.recv())
        if trouble is not None and self.progress.number not in dict(found):
            # The process may have counted the input after its memory was measured.
            self.progress.inputs = max(self.progress.begun, 1)
            found.append((self.progress.number, trouble))
        return found, has_ended or trouble is not None

    def _trouble(self) -> Trouble | None:
        """Return the failure of the running process, which is then killed, or None."""
        if self._watched is None:
            return None
        try:
            used = sum(self._watched.cpu_times()[:2])
            held = self._watched.memory_info().rss
        except psutil.NoSuchProcess:
            return None
        began = self.progress.began
        if self._seen[0] != began:
            self._seen = (began, used)
        if held > self._limits.memory:
            return self._killed("memory", f"{held / 1e6:,.0f} MB")
        most = self._limits.seconds if began else _START_SECONDS
        seconds = time.monotonic() - (began or self.began)
        # On a busy machine a process may have had little of the processor.
        if seconds > most and (used - self._seen[1] > most / 2 or seconds > _PATIENCE * most):
            return self._killed("hang", f"no answer after {seconds:.1f} s")
        return None

    def _death(self) -> Trouble | None:
        """Return how the process ended, None if it was done."""
        self.process.join()
        code = self.process.exitcode
        if not code:
            return None
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        dump = self._dump()
        return Trouble(f"abort: {how} at {place_in_dump(dump)}", dump)

    def _killed(self, what: str, detail: str) -> Trouble:
        with contextlib.suppress(psutil.NoSuchProcess):
            self._watched.send_signal(signal.SIGUSR1)  # faulthandler writes the stack
        time.sleep(_DUMP_SECONDS)
        self.process.kill()
        self.process.join()
        dump = self._dump()
        return Trouble(f"{what}: at {place_in_dump(dump)}", f"{detail}\n{dump}")

    def _dump(self) -> str:
        """Return the end of what the process printed, without the list of extension modules."""
        text = self._log.read_text(errors="replace")
        return text.partition("\nExtension modules:")[0][-6000:]

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()


@dataclasses.dataclass
class _Lane:
    """Numbers of a kind that one worker at a time reads."""

    kind: str
    next: int
    seconds: float = 0.0
    worker: Worker | None = None


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
        self._stride = -(-workers // len(kinds))  # lanes of a kind
        self._lanes = [_Lane(name, k) for name in kinds for k in range(self._stride)]

    def run(self, seconds: float, most: int | None = None) -> None:
        """Run for some time, or until `most` inputs of every kind are done.

        An interrupt by the user ends it as the end of time does.
        """
        started = time.monotonic()
        most = 10**15 if most is None else most
        with tempfile.TemporaryDirectory(prefix="graftviz-fuzz-log-") as folder:
            try:
                while time.monotonic() < started + seconds:
                    self._look_after_lanes()
                    self._start_lanes(most, folder)
                    busy = [lane.worker for lane in self._lanes if lane.worker is not None]
                    if not busy:
                        break
                    wait([worker.process.sentinel for worker in busy], _POLL_SECONDS)
            except KeyboardInterrupt:
                pass
            finally:
                for lane in self._lanes:
                    if lane.worker is not None:
                        lane.worker.end()
                self._look_after_lanes()
        self.seconds += time.monotonic() - started

    def outcome(self, case: Case, kind: str) -> Trouble | int:
        """Return the outcome of one case, read by a worker of its own."""
        with tempfile.TemporaryDirectory(prefix="graftviz-fuzz-log-") as folder:
            worker = self._worker(Work(kind, self.seed, range(1), _WORK_SECONDS, case), folder)
            try:
                while True:
                    wait([worker.process.sentinel], _POLL_SECONDS)
                    found, has_ended = worker.findings()
                    if found:
                        return found[0][1]
                    if has_ended:
                        return ACCEPTED if worker.progress.accepted else REFUSED
            finally:
                worker.end()

    def _worker(self, work: Work, folder: str) -> Worker:
        return Worker(work, self._module, self._limits, self._environment, folder)

    def _start_lanes(self, most: int, folder: str) -> None:
        """Start missing workers in the lanes that have had the least time."""
        busy = sum(lane.worker is not None for lane in self._lanes)
        free = [lane for lane in self._lanes if lane.worker is None and lane.next < most]
        for lane in sorted(free, key=lambda lane: lane.seconds)[: self._count - busy]:
            numbers = range(lane.next, most, self._stride)
            lane.worker = self._worker(Work(lane.kind, self.seed, numbers, _WORK_SECONDS), folder)

    def _look_after_lanes(self) -> None:
        """Take the findings of workers, and the counts of those that have ended."""
        for lane in self._lanes:
            worker, record = lane.worker, self.records[lane.kind]
            if worker is None:
                continue
            found, has_ended = ([], True) if worker.connection.closed else worker.findings()
            for number, trouble in found:
                record.add_finding(Finding(lane.kind, self.seed, number, trouble))
            if has_ended:
                worker.end()
                record.add(worker.progress)
                lane.seconds += time.monotonic() - worker.began
                lane.next = worker.progress.number + self._stride
                lane.worker = None

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
