"""Memory and time limits of ``learn``, and the confirmation of runs above them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

from graftviz.cli.arguments import number
from graftviz.data.reading.files import is_gzipped, loading_bytes
from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.completion import read_table
from graftviz.learning.counts.pair_counts import DEFAULT_CACHE_BYTES
from graftviz.learning.workload import PROGRAM_BYTES, Workload, of_learner
from graftviz.reports.results import Run
from graftviz.utils.errors import InputError
from graftviz.utils.memory import free_bytes, parse_size, resident_bytes, size_text

_SHARE = 0.8  # of the free memory that a run may take without confirmation
_SECONDS = 60.0
# Local files are limited by the memory they need, not by their size.
_MOST_BYTES = 2**62
_LEAST_CACHE = 16_000_000
_SMALL = 100_000_000  # bytes for reading that are never refused
_GZIPPED = 12  # bytes of memory per byte of unpacked text
_ENGINE = 200_000_000  # bytes added by loading the engine


class RunLimits(NamedTuple):
    """Memory and time limits of a run.

    Attributes
    ----------
    memory : int
        Largest memory of the process.
    is_user_set : bool
        Whether the user set `memory`.
    total : int
        Memory available to this process in total.
    seconds : float
    """

    memory: int
    is_user_set: bool
    total: int
    seconds: float

    @property
    def left(self) -> int:
        """Memory the run may still allocate after the engine is loaded."""
        return max(self.memory - resident_bytes() - _ENGINE, 0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that limit memory and time."""
    group = parser.add_argument_group("memory and time")
    group.add_argument(
        "--max-memory",
        metavar="SIZE",
        help="memory limit of this process, for example 4G; runs that need more are refused "
        f"(default: confirm above {100 * _SHARE:g} %% of the free memory)",
    )
    group.add_argument(
        "--max-seconds",
        type=number,
        default=_SECONDS,
        metavar="S",
        help=f"ask for confirmation above this time (default: {_SECONDS:g})",
    )
    group.add_argument("--yes", action="store_true", help="skip the confirmation prompt")


def limits(arguments: argparse.Namespace) -> RunLimits:
    """Return the memory and time limits of the run.

    Raises
    ------
    InputError
        If the size or the time is invalid.
    """
    if not arguments.max_seconds > 0:
        raise InputError(f"--max-seconds must be above 0, not {arguments.max_seconds:g}.")
    held, free = resident_bytes(), free_bytes()
    total = held + free
    if arguments.max_memory is not None:
        limit = parse_size(arguments.max_memory, "--max-memory")
        return RunLimits(limit, True, total, arguments.max_seconds)
    return RunLimits(held + int(_SHARE * free), False, total, arguments.max_seconds)


def read(arguments: argparse.Namespace, path: str, reading: dict[str, Any]) -> DiscreteTable:
    """Read a table.

    Raises
    ------
    InputError
        Also if its file needs more memory than is allowed.
    """
    left = max(limits(arguments).left, _SMALL)
    if is_gzipped(Path(path).name):
        return read_table(path, **reading, max_bytes=left // _GZIPPED)
    file = Path(path)
    needed = loading_bytes(file)
    if needed > left:
        raise InputError(
            f"Reading {file.name} would take about {size_text(needed)} of memory, more than the "
            f"{size_text(left)} that are left; use fewer rows or columns, or allow more memory "
            "(--max-memory)."
        )
    return read_table(path, **reading, max_bytes=_MOST_BYTES)


def confirm(arguments: argparse.Namespace, learning: Run, *, runs: int = 1) -> int:
    """Ask for confirmation of a run above the limits; return the limit of the pair cache.

    Parameters
    ----------
    runs : int
        Number of runs of the learner.

    Raises
    ------
    InputError
        If memory is insufficient or the user declines.
    """
    allowed = limits(arguments)
    cache, needs = _fit_cache(learning.table, learning.learner, allowed.memory)
    needs = needs._replace(seconds=needs.seconds * runs)
    most = min(allowed.memory, allowed.total) if allowed.is_user_set else allowed.total
    if needs.peak_bytes > most:
        bound = (
            "--max-memory allows" if allowed.is_user_set and most == allowed.memory else "available"
        )
        raise InputError(
            f"{needs.sentence} That is more than the {size_text(most)} {bound}; "
            f"{_suggestion(learning, most)}."
        )
    reasons = []
    if needs.peak_bytes > allowed.memory:
        reasons.append(f"more than {size_text(allowed.memory)}, {_SHARE:.0%} of the free memory")
    if needs.seconds > allowed.seconds:
        reasons.append(f"more than --max-seconds {allowed.seconds:g}")
    if not reasons or arguments.yes:
        return cache
    question = f"{needs.sentence} That is {' and '.join(reasons)}."
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            f"{question} To continue, pass --yes or raise the limit (--max-seconds, --max-memory); "
            f"or {_suggestion(learning, most)}."
        )
    print(f"{question}\nContinue? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("Nothing was learned.")
    return cache


def _fit_cache(table: DiscreteTable, learner: Learner, most: int) -> tuple[int, Workload]:
    """Return the limit of the pair cache with which a run fits into `most`, and its estimate."""
    needs = of_learner(table, learner, DEFAULT_CACHE_BYTES)
    if needs.peak_bytes <= most:
        return DEFAULT_CACHE_BYTES, needs
    room = int(most - of_learner(table, learner, _LEAST_CACHE).peak_bytes)
    cache = min(_LEAST_CACHE + max(room, 0), DEFAULT_CACHE_BYTES)
    return cache, of_learner(table, learner, cache)


def _suggestion(learning: Run, most: int) -> str:
    """Suggest how to reduce the needs of a run; `most` is the available memory in bytes."""
    learner = learning.learner
    if most < PROGRAM_BYTES:
        return f"allow more than the {size_text(PROGRAM_BYTES)} of the program alone"
    offers = []
    if learner.smaller:
        offers.append(f"use --learner {learner.smaller}")
    if getattr(learner, "max_edges", None) is None:
        offers.append("set an edge budget with --max-edges")
    else:
        offers.append("lower --max-edges")
    return " or ".join(offers)
