"""Notice of the first run of an installation, which compiles kernels, and marks of what was run."""

from __future__ import annotations

import hashlib
import logging
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np

from graftviz.utils.compiling import kernel

_TRIALS = 1000  # a run compiles no longer than so many trial kernels
_PACKAGE = Path(__file__).resolve().parent.parent
log = logging.getLogger(__name__)


@contextmanager
def announced(learner: Any) -> Iterator[None]:
    """Log a line if no run of such a learner has ended with these sources on this machine."""
    job = f"{learner.name} {getattr(learner, 'preset', '')}"
    if not is_compiled(job):
        log.warning(notice())
    yield
    mark(job)


def notice() -> str:
    """Return the line about the first run, whose time follows from that of a trial kernel."""
    numba.njit(_any_kernel.py_func)()  # the first kernel of a process also loads the compiler
    started = time.perf_counter()
    numba.njit(_trial)(np.ones(1))
    seconds = max(_TRIALS * (time.perf_counter() - started), 10.0)
    return (
        "Compiling the part of the engine that this run needs, once per installation: at most "
        f"about {round(seconds, -1):.0f} seconds."
    )


def _trial(values: np.ndarray) -> float:
    total = 0.0
    for k in range(len(values)):
        total += math.log(values[k])
    return total


def can_store() -> bool:
    """Return whether compiled kernels are stored for later processes."""
    return _marks() is not None


def is_compiled(job: str) -> bool:
    """Return whether a job was done with these sources, so that its kernels are stored."""
    marks = _marks()
    return job in _done or (marks is not None and (marks / _key(job)).exists())


def mark(job: str) -> None:
    """Note that the kernels of a job are stored."""
    marks = _marks()
    if marks is not None and job not in _done:
        with suppress(OSError):  # it is noted again by a later run
            marks.mkdir(exist_ok=True)
            (marks / _key(job)).touch()
    _done.add(job)


_done: set[str] = set()  # jobs of this process


@lru_cache(maxsize=1)
def _marks() -> Path | None:
    """Return the folder with a file for each job, beside the kernels; None without a store."""
    folder = _any_kernel.stats.cache_path
    if folder is None:
        return None
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        facts = path.stat()
        digest.update(f"{path} {facts.st_size} {facts.st_mtime_ns}".encode())
    machine = (llvmlite.binding.get_host_cpu_name(), numba.__version__, sys.version)
    digest.update(repr(machine).encode())
    return Path(folder) / f"jobs-{digest.hexdigest()[:16]}"


@kernel
def _any_kernel() -> None:
    """Do nothing; kernels are stored where this one would be."""


def _key(job: str) -> str:
    return hashlib.sha256(job.encode()).hexdigest()[:16]
