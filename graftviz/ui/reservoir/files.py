"""Files of the Reservoir page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from graftviz.datasets import load_dataset
from graftviz.ranks import RankedStep
from graftviz.table.csv_text import csv_text
from graftviz.ui.frame.header import PageFile
from graftviz.ui.reservoir.options import ReservoirOptions


def reservoir_files(options: ReservoirOptions, steps: Sequence[RankedStep]) -> list[PageFile]:
    """Return the files of the run on show."""
    names = load_dataset(options.data).table.names
    build = partial(build_reservoirs, names, steps)
    return [PageFile("reservoir.csv", "Reservoirs of all steps (CSV)", "text/csv", build)]


def build_reservoirs(names: Sequence[str], steps: Sequence[RankedStep]) -> str:
    """Return reservoir.csv: one row per step and candidate, best first."""
    rows: list[list[object]] = [["step", "place", "source", "target", "score"]]
    for step in steps:
        pairs = zip(step.reservoir.edges.tolist(), step.reservoir.scores.tolist(), strict=True)
        for place, ((i, j), score) in enumerate(pairs, start=1):
            rows.append([step.index, place, names[i], names[j], score])
    return csv_text(rows)
