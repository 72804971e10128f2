"""The part of ``learn`` that asks first: what fits into memory, and what takes how long."""

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
    Forecast,
    chunk_bytes,
    forecast,
    loading_bytes,
)
from graftviz.learners.base import Learner
from graftviz.memory import free_bytes, parse_size, resident_bytes, size_text
from graftviz.runs import Run
from graftviz.table import ChunkedTable, DiscreteTable, file_extent, open_table, read_table

_SHARE = 0.8  # of the free memory that a run may take without being asked for
_SECONDS = 60.0
# A file of the user's own is judged by the memory it will take, not by its size.
_MOST_BYTES = 2**62
_LEAST_CACHE = 16_000_000
_HELD_OUT_SHARE = 0.25  # of what is left that held-out rows may take in memory
_ENGINE = 200_000_000  # what loading the engine will add


class Limits(NamedTuple):
    """What a run may take.

    Attributes
    ----------
    memory : int or None
        Largest memory of the process; None where neither the user nor the system tells.
    given : bool
        Whether the user set it.
    total : int or None
        The memory there is for this process.
    seconds : float
    """

    memory: int | None
    given: bool
    total: int | None
    seconds: float

    @property
    def left(self) -> int | None:
        """What may be taken from here on, the engine aside."""
        if self.memory is None:
            return None
        return max(self.memory - (resident_bytes() or 0) - _ENGINE, 0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that bound memory and time."""
    group = parser.add_argument_group("memory and time")
    group.add_argument(
        "--max-memory",
        metavar="SIZE",
        help="largest memory of this process, for example 4G; what needs more is refused "
        f"(default: ask above {100 * _SHARE:g} %% of what is free)",
    )
    group.add_argument(
        "--max-seconds",
        type=number,
        default=_SECONDS,
        metavar="S",
        help=f"ask before a run that will take longer (default: {_SECONDS:g})",
    )
    group.add_argument("--yes", action="store_true", help="go on without asking")
    group.add_argument(
        "--chunked",
        action="store_true",
        help="leave the rows in their file and read them in chunks, as is done by itself for "
        "files that are larger than memory",
    )


def limits(arguments: argparse.Namespace) -> Limits:
    """Return what the run may take.

    Raises
    ------
    InputError
        For a size or a time that means nothing.
    """
    if not arguments.max_seconds > 0:
        raise InputError(f"--max-seconds must be above 0, not {arguments.max_seconds:g}.")
    held, free = resident_bytes() or 0, free_bytes()
    total = None if free is None else held + free
    if arguments.max_memory is not None:
        wanted = parse_size(arguments.max_memory, "--max-memory")
        return Limits(wanted, True, total, arguments.max_seconds)
    usual = None if free is None else held + int(_SHARE * free)
    return Limits(usual, False, total, arguments.max_seconds)


def read(arguments: argparse.Namespace, path: str, reading: dict[str, Any]) -> DiscreteTable:
    """Read a table, or leave its rows in their file if there is no memory for them."""
    allowed = limits(arguments)
    extent = file_extent(Path(path))
    needed, left = loading_bytes(extent), allowed.left
    like = reading.get("like")
    in_chunks = chunk_bytes(extent.columns or (len(like.names) if like is not None else 1))
    # Chunks have a price too: a small table takes less as a whole.
    if not arguments.chunked and (left is None or needed <= max(left, in_chunks)):
        return read_table(path, **reading, max_bytes=_MOST_BYTES)
    for_counts = None if left is None else max(left - in_chunks, left // 2)
    rules = {
        key: reading[key] for key in ("missing", "max_states", "header", "like") if key in reading
    }
    table = open_table(path, **rules, max_memory=for_counts)
    if like is None:
        print(_how_it_is_read(table, needed), file=sys.stderr)
    elif _loads(table, left):
        return table.load()
    return table


def held_out(arguments: argparse.Namespace, test: DiscreteTable) -> DiscreteTable:
    """Take held-out rows into memory if they fit, so that every step can be measured by them."""
    if isinstance(test, ChunkedTable) and _loads(test, limits(arguments).left):
        return test.load()
    return test


def agree(arguments: argparse.Namespace, learning: Run, *, runs: int = 1) -> int:
    """Say what the run will take if that is much, and ask; return the bound of the pair cache.

    Parameters
    ----------
    runs : int
        How often the learner is going to run.

    Raises
    ------
    InputError
        When there is not enough memory, or nobody agrees.
    """
    allowed = limits(arguments)
    cache, known = _within(learning.table, learning.learner, allowed.memory)
    known = dataclasses.replace(known, seconds=known.seconds * runs)
    most = allowed.total if not allowed.given else min(allowed.memory or 0, allowed.total or 2**62)
    told = " ".join([known.sentence, *known.assumptions])
    if most is not None and known.peak_bytes > most:
        bound = "--max-memory allows" if allowed.given and most == allowed.memory else "there is"
        raise InputError(
            f"{told} That is more than the {size_text(most)} {bound}; {_offer(learning, most)}."
        )
    reasons = []
    if allowed.memory is not None and known.peak_bytes > allowed.memory:
        reasons.append(f"more than {size_text(allowed.memory)}, {_SHARE:.0%} of what is free")
    if known.seconds > allowed.seconds:
        reasons.append(f"more than --max-seconds {allowed.seconds:g}")
    if not reasons or arguments.yes:
        return cache
    question = f"{told} That is {' and '.join(reasons)}."
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            f"{question} To go on, say --yes or raise the limit (--max-seconds, --max-memory); or "
            f"{_offer(learning, most)}."
        )
    print(f"{question}\nGo on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("Nothing was learned.")
    return cache


def _within(table: DiscreteTable, learner: Learner, most: int | None) -> tuple[int, Forecast]:
    """Return the bound of the pair cache with which a run fits into `most`, and its forecast."""
    cache = DEFAULT_CACHE_BYTES
    known = forecast(table, learner, cache_bytes=cache)
    if most is not None and known.peak_bytes > most:
        pairs = sum(part.bytes for part in known.parts if part.name == "pair counts")
        room = min(cache, int(pairs)) - (known.peak_bytes - most)
        cache = max(room, _LEAST_CACHE)
        known = forecast(table, learner, cache_bytes=cache)
    return cache, known


def _loads(table: ChunkedTable, left: int | None) -> bool:
    codes = table.n_rows * table.n_variables
    return left is None or codes <= _HELD_OUT_SHARE * left


def _how_it_is_read(table: ChunkedTable, needed: int) -> str:
    plan = counting_plan(table)
    way = (
        f"its bit planes take {size_text(plan.bytes)}"
        if plan.by_planes
        else f"all its pairs are counted in one pass, into {size_text(plan.bytes)}"
    )
    return (
        f"Note: {table.title} would take about {size_text(needed)} to read; its {table.n_rows:,} "
        f"rows of {table.n_variables:,} variables stay in the file and are read in chunks of "
        f"{min(table.chunk_rows, table.n_rows):,}; {way}."
    )


def _offer(learning: Run, most: int | None) -> str:
    """Say what would take less; `most` is the memory there is, in bytes."""
    learner = learning.learner
    if most is not None and most < PROGRAM_BYTES:
        return f"allow more than the {size_text(PROGRAM_BYTES)} of the program alone"
    offers = []
    if learner.name == "edge-grafting":
        offers.append("take --learner best-choice, which counts only the pairs it tests")
    if getattr(learner, "max_edges", None) is None:
        offers.append("give an edge budget with --max-edges")
    else:
        offers.append("ask for fewer edges")
    if learning.table.has_rows:
        offers.append("leave the rows in their file with --chunked")
    return " or ".join(offers)
