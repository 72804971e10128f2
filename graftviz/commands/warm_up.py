"""``graftviz warm-up``: compile all kernels, so that later runs and servers start at once."""

from __future__ import annotations

import argparse
import sys

from graftviz.commands.progress import progress
from graftviz.errors import InputError
from graftviz.player.warming import Workers, can_store, missing_jobs

NAME = "warm-up"
_LOOK = 0.2  # seconds between two updates of the progress bar


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no arguments: there is one way to compile everything."""


def run(_: argparse.Namespace) -> int:
    """Compile what is missing; return the exit code."""
    if not can_store():
        raise InputError(
            "Compiled kernels cannot be cached on this machine; set NUMBA_CACHE_DIR to a directory "
            "that can be written."
        )
    jobs = missing_jobs()
    if not jobs:
        print("Everything is compiled already.")
        return 0
    workers = Workers(jobs)
    try:
        with progress(round(sum(job.seconds for job in jobs)), "compiling") as bar:
            for job in jobs:
                while not workers.wait(job.name, _LOOK):
                    bar.show(round(workers.seconds_done))
                    bar.refresh()
    finally:
        workers.close()
    if workers.failed:
        print(f"Not compiled: {', '.join(workers.failed)}.", file=sys.stderr)
        return 1
    print("Everything is compiled.")
    return 0
