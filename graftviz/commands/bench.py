"""``graftviz bench``: benchmark of the package against reference implementations."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from graftviz.commands.arguments import path
from graftviz.commands.folder import create_folder
from graftviz.datasets.public_twenty import Twenty
from graftviz.errors import InputError
from graftviz.experiments.bench import Lab, Measurement, Row
from graftviz.experiments.bench_rows import NLTCS, measurements
from graftviz.experiments.bench_table import bench_csv, bench_json, bench_markdown, format_seconds
from graftviz.formats.result_folder import write_results
from graftviz.table import DiscreteTable

NAME = "bench"
INTERRUPTED = 130
FILES = ("bench.csv", "bench.json", "bench.md")
_CLEAR_LINE = "\r\033[K"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``bench`` to `parser`."""
    parser.add_argument(
        "--out",
        type=path,
        default=Path("bench"),
        metavar="DIR",
        help="folder for bench.csv, bench.json and bench.md (default: bench)",
    )
    parser.add_argument(
        "--large",
        action="store_true",
        help="include 10,000 variables, which takes some minutes more",
    )
    parser.add_argument(
        "--nltcs",
        type=path,
        metavar="DIR",
        help="folder of the nltcs data: nltcs.train.data and nltcs.test.data, or nltcs.npz",
    )
    parser.add_argument(
        "--only",
        metavar="TEXT",
        help="run only measurements whose name contains TEXT, e.g. 'BP sweep'",
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure, print and write; return the exit code."""
    data = {} if arguments.nltcs is None else {NLTCS.source: read_nltcs(arguments.nltcs)}
    chosen = measurements(large=arguments.large, nltcs=arguments.nltcs is not None)
    if arguments.only is not None:
        chosen = tuple(item for item in chosen if arguments.only.lower() in item.name.lower())
        if not chosen:
            raise InputError(f"No measurement has {arguments.only!r} in its name.")
    folder = create_folder(arguments.out)
    lab = Lab(data)
    interrupted = _measure(lab, chosen)
    if not lab.rows:
        print("Interrupted before the first row; nothing was measured.", file=sys.stderr)
        return INTERRUPTED
    contents = (bench_csv(lab.rows), bench_json(lab.rows), bench_markdown(lab.rows))
    write_results(folder, NAME, dict(zip(FILES, contents, strict=True)))
    print(f"\n{contents[-1]}")
    print(f"{', '.join(FILES)} are in {folder}.")
    if interrupted:
        print(
            f"Interrupted: {len(lab.rows)} of {len(chosen)} rows were measured and written.",
            file=sys.stderr,
        )
        return INTERRUPTED
    return 0


def read_nltcs(folder: Path) -> tuple[DiscreteTable, DiscreteTable]:
    """Read the training and test rows of nltcs.

    Raises
    ------
    InputError
        If the files are missing or are not tables of zeros and ones.
    """
    data = Twenty().read(folder / NLTCS.source)
    assert data.test is not None  # Twenty refuses data without test rows
    return data.table, data.test


def _measure(lab: Lab, chosen: tuple[Measurement, ...]) -> bool:
    """Measure all rows until Ctrl-C; return whether it was interrupted."""
    on_terminal = sys.stderr.isatty()
    try:
        for k, measurement in enumerate(chosen, start=1):
            if on_terminal:
                line = f"{_CLEAR_LINE}{k} of {len(chosen)}: {_title(measurement)} …"
                print(line, end="", file=sys.stderr, flush=True)
            row = lab.measure(measurement)
            if on_terminal:
                print(_CLEAR_LINE, end="", file=sys.stderr, flush=True)
            print(_row_line(row), flush=True)
    except KeyboardInterrupt:
        if on_terminal:
            print(file=sys.stderr)
        return True
    return False


def _title(measurement: Measurement) -> str:
    return f"{measurement.name}, n = {measurement.size.nodes:,}"


def _row_line(row: Row) -> str:
    """Return one row as a line of text."""
    title = _title(row.measurement)
    if "seconds" not in row.values:
        return f"{title}: not measured, {row.missing}"
    parts = [format_seconds(row.values["seconds"])]
    yardstick = row.measurement.yardstick
    if row.missing:
        parts.append(row.missing)
    elif yardstick is not None and "ratio" in row.values:
        theirs = format_seconds(row.yardstick_values["seconds"])
        parts.append(f"{yardstick.name} {theirs} ({row.values['ratio']:.3g} times as long)")
    parts += [f"{name} {row.values[name]:.3f}" for name in ("F1", "NLPL") if name in row.values]
    return f"{title}: {', '.join(parts)}"
