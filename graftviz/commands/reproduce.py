"""``graftviz reproduce``: measure a figure or table of the papers again, beside what they state."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from graftviz.commands.arguments import integer, path
from graftviz.commands.folder import create_folder
from graftviz.commands.progress import progress
from graftviz.errors import InputError
from graftviz.experiments.reproduction.catalogue import EXPERIMENTS, experiment
from graftviz.experiments.reproduction.data import Data, assigned, missing_words
from graftviz.experiments.reproduction.experiment import (
    PAPER,
    REHEARSAL,
    SCALES,
    SMALL,
    Experiment,
    KeptParts,
    Reproduction,
)
from graftviz.experiments.reproduction.page import report_page
from graftviz.experiments.reproduction.report import data_csv, held_in_words, measured_json
from graftviz.formats.result_folder import write_results
from graftviz.learners.base import checked_seed

NAME = "reproduce"
REFUSED, INTERRUPTED = 2, 130
LIST = "list"
DEFAULT_FOLDER = "reproduced"
MEASURED = "measured.json"
CACHE = "cache"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``reproduce`` to `parser`."""
    parser.add_argument(
        "name", metavar="NAME", help=f"an experiment, such as best-choice-fig2, or {LIST!r}"
    )
    parser.add_argument(
        "--scale",
        choices=SCALES,
        default=SMALL,
        help=f"{SMALL}: a minute or two; {PAPER}: the paper's sizes; {REHEARSAL}: tiny data, "
        f"only to see that it works (default: {SMALL})",
    )
    parser.add_argument(
        "--out",
        type=path,
        metavar="DIR",
        help=f"folder for the figure, its data and {MEASURED} (default: {DEFAULT_FOLDER}/NAME); "
        "finished parts are kept in its folder cache and not measured again",
    )
    parser.add_argument(
        "--data",
        nargs="+",
        action="extend",
        default=[],
        metavar="PATH",
        help="real data, where the experiment needs or takes some: a table, packed arrays (.npz) "
        "or a folder with one; NAME=PATH says which data set it is",
    )
    parser.add_argument(
        "--seed", type=integer, default=0, help="of generated data and learners (default: 0)"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="measure all parts again, also those that are kept"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure, write and tell; return the exit code."""
    if arguments.name == LIST:
        print(listed())
        return 0
    chosen = experiment(arguments.name)
    needs = chosen.study.needs()
    given = assigned(arguments.data, (*needs, *chosen.study.accepts()))
    data = Data(given)
    reproduction = Reproduction(chosen, arguments.scale, checked_seed(arguments.seed))
    missing = missing_words([name for name in needs if name not in given])
    folder, cache = _folders(arguments)
    interrupted = False
    if not needs or given:
        kept = KeptParts(cache, fresh=arguments.fresh)
        interrupted = _measure(reproduction, data, kept)
    _write(reproduction, folder, _command(arguments), missing, interrupted=interrupted)
    if not reproduction.results and not interrupted:
        raise InputError(f"{chosen.name} was not run. {missing}")
    print(_told(reproduction, folder, missing))
    if interrupted:
        print(
            f"Interrupted: {len(reproduction.results)} of {len(reproduction.parts)} parts were "
            "measured and are kept; the same command goes on from there.",
            file=sys.stderr,
        )
        return INTERRUPTED
    return 0


def listed() -> str:
    """Return all experiments with what they show, need and cost, one in a few lines."""
    lines = []
    for item in EXPERIMENTS:
        needs = item.study.needs()
        may_have = item.study.accepts()
        wanted = f"needs --data: {', '.join(needs)}" if needs else "needs nothing"
        if may_have:
            wanted += f", takes --data: {', '.join(may_have)}"
        cost = ", ".join(f"{scale} about {item.cost[scale]}" for scale in (SMALL, PAPER))
        lines.append(f"{item.name}\n    {item.title} ({item.place})\n    {wanted}; {cost}")
    lines.append("The first run on a machine compiles the engine, which takes a minute more.")
    return "\n".join(lines)


def _folders(arguments: argparse.Namespace) -> tuple[Path, Path]:
    """Return the folder of the results, and that of the parts that are kept."""
    if arguments.out is not None:
        return create_folder(arguments.out), arguments.out / CACHE
    # Without a folder of their own, experiments share their parts.
    return create_folder(Path(DEFAULT_FOLDER) / arguments.name), Path(DEFAULT_FOLDER) / CACHE


def _measure(reproduction: Reproduction, data: Data, kept: KeptParts) -> bool:
    """Measure all parts whose data are there; return whether Ctrl-C came before the end."""
    parts = [part for part in reproduction.parts if data.has(part.source)]
    name = reproduction.experiment.name
    try:
        with progress(sum(part.work for part in parts), name) as bar:
            bar.update(0)
            reproduction.measure(data, kept, parts=parts, tell=lambda done, _: bar.update(done))
    except KeyboardInterrupt:
        return True
    return False


def _write(
    reproduction: Reproduction, folder: Path, command: str, missing: str, *, interrupted: bool
) -> None:
    """Write the figure, its data and what was found."""
    chosen = reproduction.experiment
    contents = {}
    if reproduction.results:
        title = f"{chosen.title} ({chosen.place})"
        figure = chosen.study.figure(title, reproduction.results)
        contents[f"{chosen.name}.html"] = report_page(reproduction, figure, command=command)
        contents[f"{chosen.name}.csv"] = data_csv(reproduction)
    contents[MEASURED] = measured_json(
        reproduction,
        command=command,
        missing=missing,
        interrupted=interrupted,
        files=[*contents, MEASURED],
    )
    write_results(folder, NAME, contents)


def _command(arguments: argparse.Namespace) -> str:
    """Return the command as it would be typed again."""
    words: Sequence[str] = (
        *("python -m graftviz reproduce", arguments.name),
        *("--scale", arguments.scale, "--seed", str(arguments.seed)),
        *(("--data", *arguments.data) if arguments.data else ()),
    )
    return " ".join(words)


def _told(reproduction: Reproduction, folder: Path, missing: str) -> str:
    """Return what was found, for the terminal."""
    chosen: Experiment = reproduction.experiment
    lines = [f"{chosen.title} ({chosen.place}), scale {reproduction.scale}"]
    for claim, verdict, why in reproduction.verdicts():
        held = None if verdict is None else verdict.held
        lines.append(f"\n{held_in_words(held)}: {claim.words}")
        lines.append(f"  {why if verdict is None else verdict.sentence}")
    if missing:
        lines.append(f"\n{missing}")
    if reproduction.reused:
        lines.append(f"\n{len(reproduction.reused)} parts were kept from before.")
    shown = ", ".join((f"{chosen.name}.html", f"{chosen.name}.csv", MEASURED))
    lines.append(f"\n{shown if reproduction.results else MEASURED} in {folder}")
    return "\n".join(lines)
