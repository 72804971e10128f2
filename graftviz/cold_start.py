"""First run of an installation, which compiles kernels: its notice, and a second process."""

from __future__ import annotations

import logging
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import joblib

from graftviz import _kernel_files

_ROOT = Path(__file__).resolve().parents[1]
_WORKER = "graftviz.player.warming"
NOTICE = "Compiling the part of the engine that this run needs, once per installation:"
log = logging.getLogger(__name__)


class Compilation(NamedTuple):
    """Compilation of the kernels of a learner.

    Attributes
    ----------
    seconds : float
        Processor time with nothing compiled.
    parts : tuple of str
        Names of jobs of :func:`graftviz.player.rehearsal.parts_of_runs` that another process
        can do while the run begins; the run needs the first of them first.
    """

    seconds: float
    parts: tuple[str, ...] = ()


@contextmanager
def announced(
    compilation: Compilation, notify: Callable[[str], None] = log.warning
) -> Iterator[None]:
    """Log a line if a kernel has to be compiled inside; another process then compiles the parts.

    With `notify`, that is called with the line instead.

    If all kernels are in the cache, this costs nothing. The process ends with the context.
    """
    if multiprocessing.current_process().name != "MainProcess":
        yield  # one of many that have been started together
        return
    helpers: list[subprocess.Popen[str]] = []

    def begin() -> None:
        helpers.extend(_helpers(compilation.parts))
        seconds = compilation.seconds / (1 + len(helpers))
        notify(f"{NOTICE} about {seconds:.0f} seconds.")

    with _kernel_files.at_first_compilation(begin):
        try:
            yield
        finally:
            for process in helpers:
                process.kill()
                with suppress(OSError), process:
                    pass  # closes its pipes and waits for its end


def _helpers(parts: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Start a process that compiles parts, if a core is free for it."""
    if not parts or joblib.cpu_count() == 1:
        return
    with suppress(OSError):  # no program, no memory: this process compiles them itself
        process = new_worker()
        assert process.stdin is not None
        process.stdin.write("".join(f"{name}\n" for name in parts))
        process.stdin.flush()
        yield process


def new_worker(niceness: int = 0) -> subprocess.Popen[str]:
    """Start a process that runs the jobs whose names it reads, until its input is closed."""
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", _WORKER, str(niceness)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # the process that needs the kernel reports its errors
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        text=True,
        start_new_session=os.name == "posix",  # Ctrl-C reaches the main process only
    )
