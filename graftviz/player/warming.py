"""Compilation of kernels by several processes before they are needed.

Worker processes run the jobs of :mod:`graftviz.player.rehearsal` and store the kernels in the
cache, where the process that needs them only loads them. Workers run at low priority, so that the
server stays responsive, and end with the process that started them: its end closes their input.
"""

from __future__ import annotations

import gc
import hashlib
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue

import joblib
import llvmlite.binding
import numba

from graftviz import _kernel_files
from graftviz.cold_start import new_worker
from graftviz.player.rehearsal import Rehearsal, every_job, parts_of_runs
from graftviz.search.testing import run_tests

MOST_WORKERS = 4  # each needs some hundred MB
_NICENESS = 10  # of workers
_FEW_COLLECTIONS = (100_000, 20, 100)
_DONE, _FAILED = "done", "failed"
_SECONDS_PER_BYTE = 5.5e-6  # processor time of the compiler, per byte of stored kernels
_PACKAGE = Path(__file__).resolve().parents[1]


class Workers:
    """Processes that compile kernels, each taking the next job from one queue.

    Parameters
    ----------
    jobs : iterable of Rehearsal
        The most urgent first.

    Attributes
    ----------
    count : int
        Number of processes.
    failed : list of str
        Names of jobs that failed, or whose process has ended.
    """

    def __init__(self, jobs: Iterable[Rehearsal]) -> None:
        self._jobs = tuple(jobs)
        self._queue = deque(job.name for job in self._jobs)
        self._ended = {job.name: threading.Event() for job in self._jobs}
        self._stored = dict.fromkeys(self._ended, 0)  # bytes
        self._lock = threading.Lock()
        self.count = min(joblib.cpu_count(), len(self._jobs), MOST_WORKERS)
        self.failed: list[str] = []
        self._processes = [new_worker(_NICENESS) for _ in range(self.count)]
        self._active = self.count
        for process in self._processes:
            threading.Thread(target=self._feed, args=(process,), daemon=True).start()

    def wait(self, name: str, timeout: float | None = None) -> bool:
        """Wait for a job, which becomes the next one; return whether it has ended.

        A job has also ended if it failed, or if no process is left to run it.
        """
        with self._lock:
            if name in self._queue:
                self._queue.remove(name)
                self._queue.appendleft(name)
        return name not in self._ended or self._ended[name].wait(timeout)

    @property
    def seconds_done(self) -> float:
        """Sum of the expected seconds of what is compiled, including parts of current jobs."""
        return sum(
            job.seconds
            if self._ended[job.name].is_set()
            else min(job.seconds, _SECONDS_PER_BYTE * self._stored[job.name])
            for job in self._jobs
        )

    def seconds_stored(self, job: Rehearsal) -> float:
        """Return the processor time of the kernels of a job that are compiled, from their size."""
        names = (job.name, *job.parts)
        return _SECONDS_PER_BYTE * sum(self._stored.get(name, 0) for name in names)

    @property
    def is_finished(self) -> bool:
        """Whether all jobs have ended."""
        return all(event.is_set() for event in self._ended.values())

    def close(self) -> None:
        """End all processes; the jobs that are left count as ended."""
        with self._lock:
            self._queue.clear()
        for process in self._processes:
            process.kill()

    def _feed(self, process: subprocess.Popen[str]) -> None:
        """Give one job after the other to a process."""
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError), process:
            while name := self._next():
                answer = ""
                with suppress(OSError):
                    process.stdin.write(f"{name}\n")
                    process.stdin.flush()
                    while (answer := process.stdout.readline().strip()).isdigit():
                        self._stored[name] += int(answer)
                if answer != _DONE:
                    self.failed.append(name)
                self._ended[name].set()
                if not answer:
                    break
        with self._lock:
            self._active -= 1
            left = [] if self._active else list(self._queue)
            self.failed += left
        for name in left:
            self._ended[name].set()

    def _next(self) -> str:
        with self._lock:
            return self._queue.popleft() if self._queue else ""


def can_store() -> bool:
    """Return whether compiled kernels are stored in a cache; without it workers are of no use."""
    marks = _marks()
    return marks is not None and os.access(marks.parent, os.W_OK)


def missing_jobs() -> list[Rehearsal]:
    """Return the jobs whose kernels are not in the cache, in the order in which they are run."""
    default, *others = every_job()
    ordered = [default, *parts_of_runs(), *others]
    marks = _marks()
    missing = [job for job in ordered if marks is None or not (marks / _key(job)).exists()]
    return missing if any(job in missing for job in every_job()) else []


def mark(job: Rehearsal) -> None:
    """Note that the kernels of a job are in the cache."""
    marks = _marks()
    if marks is not None:
        with suppress(OSError):
            marks.mkdir(parents=True, exist_ok=True)
            (marks / _key(job)).touch()


@lru_cache(maxsize=1)
def _marks() -> Path | None:
    """Return the folder with a file per job that was run with these sources; None without a cache.

    It is in a folder of kernels, and disappears with it.
    """
    folder = run_tests.stats.cache_path
    if folder is None:
        return None
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.read_bytes())
    machine = (llvmlite.binding.get_host_cpu_name(), numba.__version__, sys.version)
    digest.update(repr(machine).encode())
    return Path(folder) / f"jobs-{digest.hexdigest()[:16]}"


def _key(job: Rehearsal) -> str:
    return hashlib.sha256(job.name.encode()).hexdigest()[:16]


def _work() -> None:
    """Run the jobs that standard input names, until it is closed."""
    if hasattr(os, "nice"):
        os.nice(int(sys.argv[1]))
    names: SimpleQueue[str] = SimpleQueue()

    def receive() -> None:
        for line in sys.stdin:
            names.put(line.strip())
        os._exit(0)  # also in the middle of a job

    threading.Thread(target=receive, daemon=True).start()
    _kernel_files.stored_actions.append(_send)
    jobs = {job.name: job for job in (*parts_of_runs(), *every_job())}
    # Few collections save 6 % of the time; without any, memory doubles and the time falls by 11 %.
    gc.freeze()
    gc.set_threshold(*_FEW_COLLECTIONS)
    while True:
        job = jobs[names.get()]
        try:
            job()
        except Exception:  # noqa: BLE001 (the process that needs the kernel reports it)
            answer = _FAILED
        else:
            mark(job)
            answer = _DONE
        _send(answer)


def _send(line: object) -> None:
    """Write a line for the process that started this worker: bytes of a kernel, or the result."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _work()
