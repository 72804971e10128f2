"""``graftviz bench``: benchmark of the package against reference implementations."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from graftviz.cli.arguments import INTERRUPTED, create_folder, path
from graftviz.cli.progress import progress
from graftviz.data.sets.public import read_public
from graftviz.data.table import DiscreteTable
from graftviz.evaluation.benchmarks import calibration, prediction
from graftviz.evaluation.benchmarks.bench import BenchRow, Lab, Measurement
from graftviz.evaluation.benchmarks.bench_rows import NLTCS, measurements
from graftviz.evaluation.benchmarks.sweep_files import bench_files, bench_line, bench_markdown
from graftviz.utils.errors import InputError
from graftviz.utils.files import write_results

NAME = "bench"


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
        help="include 400 to 30,000 variables, which takes some minutes more",
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
        help="run only measurements whose name contains TEXT, e.g. 'BP sweep'; 'calibration' "
        "counts false edges and 'prediction' compares held-out rows with logistic regressions, "
        "which runs without this option do not",
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure, print and write; return the exit code."""
    data = {} if arguments.nltcs is None else {NLTCS.source: read_nltcs(arguments.nltcs)}
    chosen = measurements(large=arguments.large, nltcs=arguments.nltcs is not None)
    if arguments.only is not None:
        chosen = tuple(item for item in chosen if arguments.only.lower() in item.name.lower())
        for own in () if chosen else (calibration, prediction):
            if found := own.measurements(arguments.only):
                return run_sweep(
                    own.NAME,
                    arguments.out,
                    Lab(),
                    found,
                    line=own.line,
                    files=own.files,
                    markdown=own.markdown,
                )
        if not chosen:
            raise InputError(f"No measurement has {arguments.only!r} in its name.")
    return run_sweep(
        NAME,
        arguments.out,
        Lab(data),
        chosen,
        line=bench_line,
        files=bench_files,
        markdown=bench_markdown,
    )


def read_nltcs(folder: Path) -> tuple[DiscreteTable, DiscreteTable]:
    """Read the training and test rows of nltcs.

    Raises
    ------
    InputError
        If the files are missing or are not tables of zeros and ones.
    """
    data = read_public("twenty", folder / NLTCS.source)
    assert data.test is not None  # the reader refuses data without test rows
    return data.table, data.test


def run_sweep(
    name: str,
    out: Path,
    lab: Lab,
    measurements: Sequence[Measurement],
    *,
    line: Callable[[BenchRow], str],
    files: Callable[[Sequence[BenchRow]], Mapping[str, str]],
    markdown: Callable[[Sequence[BenchRow]], str],
) -> int:
    """Measure all rows until Ctrl-C, print and write them, and return the exit code.

    Parameters
    ----------
    name : str
        Name of the command.
    out : Path
        Folder of the files.
    line, files, markdown : callables
        Return a row as a line of text, and rows as files by name and as Markdown.
    """
    folder = create_folder(out)
    interrupted = False
    try:
        with progress(len(measurements), name) as bar:
            for k, measurement in enumerate(measurements, start=1):
                bar.set_description(measurement.title)
                text = line(lab.measure(measurement))
                bar.clear()
                print(text, flush=True)
                bar.show(k)
    except KeyboardInterrupt:
        interrupted = True
    if not lab.rows:
        print("Interrupted before the first row; nothing was measured.", file=sys.stderr)
        return INTERRUPTED
    contents = files(lab.rows)
    write_results(folder, contents)
    print(f"\n{markdown(lab.rows)}")
    print(f"{', '.join(contents)} are in {folder}.")
    if interrupted:
        print(
            f"Interrupted: {len(lab.rows)} of {len(measurements)} rows were measured and written.",
            file=sys.stderr,
        )
        return INTERRUPTED
    return 0
