"""Measuring and writing the rows of a benchmark."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from graftviz.cli.arguments import INTERRUPTED, create_folder
from graftviz.cli.progress import progress
from graftviz.evaluation.benchmarks.bench import BenchRow, Lab, Measurement
from graftviz.utils.files import write_results


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
