"""``graftviz warm-up``: compile all kernels, so that later runs and servers start at once."""

from __future__ import annotations

import argparse

from graftviz.app.warming import missing_jobs
from graftviz.cli.progress import progress
from graftviz.utils.cold_start import can_store
from graftviz.utils.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no arguments: there is one way to compile everything."""


def run(_: argparse.Namespace) -> int:
    """Compile what is missing; return the exit code."""
    if not can_store():
        raise InputError(
            "Compiled kernels cannot be stored on this machine; set NUMBA_CACHE_DIR to a directory "
            "that can be written."
        )
    jobs = missing_jobs()
    if not jobs:
        print("Everything is compiled already.")
        return 0
    with progress(len(jobs), "compiling") as bar:
        for done, job in enumerate(jobs, start=1):
            job()
            bar.show(done)
    print("Everything is compiled.")
    return 0
