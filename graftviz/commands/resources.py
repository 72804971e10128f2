"""Memory and time limits of ``learn``, and the confirmation of runs above them."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any, NamedTuple

from graftviz.commands.arguments import number
from graftviz.counts import DEFAULT_CACHE_BYTES, counting_plan
from graftviz.errors import InputError
from graftviz.forecasting import (
    PROGRAM_BYTES,
    TEXT_BYTE,
    Forecast,
    chunk_bytes,
    forecast,
    loading_bytes,
)
from graftviz.learners.base import Learner
from graftviz.memory import free_bytes, parse_size, resident_bytes, size_text
from graftviz.runs import Run
from graftviz.table import ChunkedTable, DiscreteTable, file_extent, open_table, read_table
from graftviz.table.gzipped import is_gzipped

_SHARE = 0.8  # of the free memory that a run may take without confirmation
_SECONDS = 60.0
# Local files are limited by the memory they need, not by their size.
_MOST_BYTES = 2**62
_LEAST_CACHE = 16_000_000
_HELD_OUT_SHARE = 0.25  # of the remaining memory that held-out rows may take
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
    group.add_argument(
        "--chunked",
        action="store_true",
        help="leave the rows in their file and read them in chunks (the default for files that "
        "are larger than memory)",
    )


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
    """Read a table, in chunks if its rows do not fit into memory."""
    left = limits(arguments).left
    if is_gzipped(Path(path).name) and not arguments.chunked:
        return read_table(path, **reading, max_bytes=left // TEXT_BYTE)
    extent = file_extent(Path(path))
    needed = loading_bytes(extent)
    like = reading.get("like")
    in_chunks = chunk_bytes(extent.columns or (len(like.names) if like is not None else 1))
    # Reading in chunks needs memory too, and a small table needs less as a whole.
    if not arguments.chunked and needed <= max(left, in_chunks):
        return read_table(path, **reading, max_bytes=_MOST_BYTES)
    for name in ("min_count", "weights"):
        if reading.get(name):
            raise InputError(
                f"--{name.replace('_', '-')} needs all rows in memory, but they are read in "
                "chunks; use fewer rows."
            )
    for_counts = max(left - in_chunks, left // 2)
    rules = {
        key: reading[key] for key in ("missing", "max_states", "header", "like") if key in reading
    }
    table = open_table(path, **rules, max_memory=for_counts)
    if like is None:
        print(_chunked_note(table, needed), file=sys.stderr)
    elif _fits_in_memory(table, left):
        return table.load()
    return table


def load_held_out(arguments: argparse.Namespace, test: DiscreteTable) -> DiscreteTable:
    """Load held-out rows into memory if they fit, so that every step can be evaluated on them."""
    if isinstance(test, ChunkedTable) and _fits_in_memory(test, limits(arguments).left):
        return test.load()
    return test


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
    needs = dataclasses.replace(needs, seconds=needs.seconds * runs)
    most = min(allowed.memory, allowed.total) if allowed.is_user_set else allowed.total
    sentence = " ".join([needs.sentence, *needs.assumptions])
    if needs.peak_bytes > most:
        bound = (
            "--max-memory allows" if allowed.is_user_set and most == allowed.memory else "available"
        )
        raise InputError(
            f"{sentence} That is more than the {size_text(most)} {bound}; "
            f"{_suggestion(learning, most)}."
        )
    reasons = []
    if needs.peak_bytes > allowed.memory:
        reasons.append(f"more than {size_text(allowed.memory)}, {_SHARE:.0%} of the free memory")
    if needs.seconds > allowed.seconds:
        reasons.append(f"more than --max-seconds {allowed.seconds:g}")
    if not reasons or arguments.yes:
        return cache
    question = f"{sentence} That is {' and '.join(reasons)}."
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            f"{question} To continue, pass --yes or raise the limit (--max-seconds, --max-memory); "
            f"or {_suggestion(learning, most)}."
        )
    print(f"{question}\nContinue? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("Nothing was learned.")
    return cache


def _fit_cache(table: DiscreteTable, learner: Learner, most: int) -> tuple[int, Forecast]:
    """Return the limit of the pair cache with which a run fits into `most`, and its forecast."""
    cache = DEFAULT_CACHE_BYTES
    needs = forecast(table, learner, cache_bytes=cache)
    if needs.peak_bytes > most:
        pairs = sum(part.bytes for part in needs.parts if part.name == "pair counts")
        room = min(cache, int(pairs)) - (needs.peak_bytes - most)
        cache = max(room, _LEAST_CACHE)
        needs = forecast(table, learner, cache_bytes=cache)
    return cache, needs


def _fits_in_memory(table: ChunkedTable, left: int) -> bool:
    codes = table.n_rows * table.n_variables
    return codes <= _HELD_OUT_SHARE * left


def _chunked_note(table: ChunkedTable, needed: int) -> str:
    plan = counting_plan(table)
    counting = (
        f"its bit planes take {size_text(plan.bytes)}"
        if plan.by_planes
        else f"all its pairs are counted in one pass, into {size_text(plan.bytes)}"
    )
    return (
        f"Note: {table.title} would take about {size_text(needed)} to read; its {table.n_rows:,} "
        f"rows of {table.n_variables:,} variables stay in the file and are read in chunks of "
        f"{min(table.chunk_rows, table.n_rows):,}; {counting}."
    )


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
    if learning.table.has_rows:
        offers.append("read the rows in chunks with --chunked")
    return " or ".join(offers)
