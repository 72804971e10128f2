"""``graftviz arena``: comparison of all learners on the same data."""

from __future__ import annotations

import argparse
from pathlib import Path

from graftviz.commands.arguments import add_seed, integer, number, path
from graftviz.commands.sweep import run_sweep
from graftviz.datasets import dataset_keys, load_dataset
from graftviz.errors import InputError
from graftviz.experiments.arena import Contest, contest_of, lab_of, measurements
from graftviz.experiments.reproduction.data import SOURCES, read_data, read_source
from graftviz.experiments.sweep_files import arena_files, arena_line, arena_markdown
from graftviz.learners.base import checked_seed
from graftviz.learners.registry import learner_names

NAME = "arena"
DEFAULT_DATA = "survey"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``arena`` to `parser`."""
    parser.add_argument(
        "--data",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=PATH",
        help="data sets: a table, packed arrays (.npz: X, or train and test) or a folder with one "
        f"as NAME=PATH; or a built-in data set: {', '.join(dataset_keys())} "
        f"(default: {DEFAULT_DATA})",
    )
    parser.add_argument(
        "--learners",
        metavar="NAME,NAME",
        help=f"learners to compare, of {', '.join(learner_names())} (default: all)",
    )
    parser.add_argument(
        "--out",
        type=path,
        default=Path(NAME),
        metavar="DIR",
        help=f"folder for arena.csv, arena.html, measured.json (default: {NAME})",
    )
    parser.add_argument(
        "--max-edges",
        type=integer,
        metavar="N",
        help="edge budget of all learners that have one (default: twice the number of variables)",
    )
    parser.add_argument(
        "--test-fraction",
        type=number,
        default=0.2,
        metavar="F",
        help="share of the rows to hold out if the data have no test rows (default: 0.2)",
    )
    parser.add_argument(
        "--repeats",
        type=integer,
        default=3,
        metavar="N",
        help="runs per learner, of which the median time is reported (default: 3)",
    )
    parser.add_argument(
        "--limit",
        type=number,
        default=120.0,
        metavar="SECONDS",
        help="time limit of one run, checked after every step (default: 120)",
    )
    add_seed(parser, "learners and splits")


def run(arguments: argparse.Namespace) -> int:
    """Measure, print and write; return the exit code."""
    seed = checked_seed(arguments.seed)
    contests = [
        _contest(text, arguments.test_fraction, seed)
        for text in dict.fromkeys(arguments.data or [DEFAULT_DATA])
    ]
    return run_sweep(
        NAME,
        arguments.out,
        lab_of(contests, repeats=arguments.repeats),
        measurements(
            contests,
            None if arguments.learners is None else arguments.learners.split(","),
            max_edges=arguments.max_edges,
            seed=seed,
            limit=arguments.limit,
        ),
        line=arena_line,
        files=lambda rows: arena_files(rows, contests, _command(arguments)),
        markdown=lambda rows: arena_markdown(rows, contests),
    )


def _contest(text: str, fraction: float, seed: int) -> Contest:
    """Read the data set of one ``--data`` argument.

    Raises
    ------
    InputError
        If there are no data of that name, or they cannot be read.
    """
    if text in dataset_keys():
        data = load_dataset(text)
        return contest_of(text, data.table, data.test, fraction=fraction, seed=seed)
    name, equals, rest = text.partition("=")
    path = Path(rest if equals else text)
    if not path.exists():
        raise InputError(
            f"There is no file or folder {path} and no data set of that name; use NAME=PATH or one "
            f"of {', '.join(dataset_keys())}."
        )
    title = name if equals else path.resolve().stem
    source = SOURCES.get(title)
    if source is not None and source.reader:
        table, test = read_source(source, path)
    else:
        table, test = read_data(path)
    return contest_of(title, table, test, fraction=fraction, seed=seed)


def _command(arguments: argparse.Namespace) -> str:
    """Return the command line that repeats this run, without the paths."""
    words = ["python -m graftviz arena"]
    if arguments.data:
        named = [
            f"{text.partition('=')[0]}=PATH" if "=" in text else text for text in arguments.data
        ]
        words += ["--data", *named]
    if arguments.learners is not None:
        words += ["--learners", arguments.learners]
    if arguments.max_edges is not None:
        words += ["--max-edges", str(arguments.max_edges)]
    words += ["--test-fraction", f"{arguments.test_fraction:g}", "--seed", str(arguments.seed)]
    words += ["--repeats", str(arguments.repeats), "--limit", f"{arguments.limit:g}"]
    return " ".join(words)
