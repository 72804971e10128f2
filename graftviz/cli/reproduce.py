"""``graftviz reproduce``: reproduce a figure or table of the papers and check their claims."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from graftviz.cli.arguments import INTERRUPTED, add_seed, create_folder, path
from graftviz.cli.progress import progress
from graftviz.reports.reproduction.data import Data, assigned, missing_data_sentence
from graftviz.reports.reproduction.experiment import (
    PAPER,
    SCALES,
    SMALL,
    TINY,
    Experiment,
    PartCache,
    Reproduction,
)
from graftviz.reports.reproduction.papers import experiment, experiments
from graftviz.reports.reproduction.report import (
    data_csv,
    describe_verdict,
    measured_json,
    report_page,
)
from graftviz.utils.errors import InputError
from graftviz.utils.files import write_results
from graftviz.utils.options import checked_seed

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
        help=f"{SMALL}: a minute or two; {PAPER}: the paper's sizes; {TINY}: tiny data, "
        f"to check that it runs (default: {SMALL})",
    )
    parser.add_argument(
        "--out",
        type=path,
        metavar="DIR",
        help=f"folder for the figure, its data and {MEASURED} (default: {DEFAULT_FOLDER}/NAME); "
        "finished parts are cached in its folder cache and not measured again",
    )
    parser.add_argument(
        "--data",
        nargs="+",
        action="extend",
        default=[],
        metavar="PATH",
        help="real data that the experiment needs or accepts: a table, packed arrays (.npz) or a "
        "folder with one; NAME=PATH sets which data set it is",
    )
    add_seed(parser, "generated data and learners")
    parser.add_argument(
        "--fresh", action="store_true", help="measure all parts again, ignoring the cache"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure, write and print the findings; return the exit code."""
    if arguments.name == LIST:
        print(list_experiments())
        return 0
    chosen = experiment(arguments.name)
    needs = chosen.needs
    paths = assigned(arguments.data, (*needs, *chosen.accepts))
    data = Data(paths)
    reproduction = Reproduction(chosen, arguments.scale, checked_seed(arguments.seed))
    missing = missing_data_sentence([name for name in needs if name not in paths])
    folder = create_folder(arguments.out or Path(DEFAULT_FOLDER) / arguments.name)
    # Without --out, experiments share their parts.
    cache_folder = (arguments.out or Path(DEFAULT_FOLDER)) / CACHE
    interrupted = False
    if not needs or paths:
        cache = PartCache(cache_folder, fresh=arguments.fresh)
        interrupted = _measure(reproduction, data, cache)
    files, not_drawn = _write(
        reproduction, folder, _command(arguments), missing, interrupted=interrupted
    )
    if not reproduction.measured and not interrupted:
        raise InputError(f"{chosen.name} was not run. {missing}")
    print(_findings(reproduction, missing))
    print(f"\n{', '.join(files)} in {folder}")
    if interrupted:
        print(
            f"Interrupted: {len(reproduction.measured)} of {len(reproduction.parts)} parts were "
            "measured and cached; run the same command to continue.",
            file=sys.stderr,
        )
        return INTERRUPTED
    if not_drawn:
        raise not_drawn
    return 0


def list_experiments() -> str:
    """Return a list of all experiments with their titles, data and durations."""
    lines = []
    for item in experiments().values():
        needs = f"needs --data: {', '.join(item.needs)}" if item.needs else "needs no data"
        if item.accepts:
            needs += f", accepts --data: {', '.join(item.accepts)}"
        cost = f"{SMALL} about {item.cost[0]}, {PAPER} about {item.cost[1]}"
        lines.append(f"{item.name}\n    {item.title} ({item.place})\n    {needs}; {cost}")
    lines.append("The first run on a machine compiles the engine, which takes about a minute more.")
    return "\n".join(lines)


def _measure(reproduction: Reproduction, data: Data, cache: PartCache) -> bool:
    """Measure all parts whose data are present; return whether Ctrl-C interrupted."""
    parts = [part for part in reproduction.parts if data.has(part.source)]
    name = reproduction.experiment.name
    try:
        with progress(sum(part.work for part in parts), name) as bar:
            reproduction.measure(data, cache, parts=parts, callback=bar.show)
    except KeyboardInterrupt:
        return True
    return False


def _write(
    reproduction: Reproduction, folder: Path, command: str, missing: str, *, interrupted: bool
) -> tuple[list[str], InputError | None]:
    """Write the figure, its data and the findings; return their names and the figure's error."""
    chosen = reproduction.experiment
    contents, not_drawn = {}, None
    if reproduction.measured:
        title = f"{chosen.title} ({chosen.place})"
        try:
            figure = chosen.draw(title, reproduction.rows)
            contents[f"{chosen.name}.html"] = report_page(reproduction, figure, command=command)
        except InputError as error:
            not_drawn = error
        contents[f"{chosen.name}.csv"] = data_csv(reproduction)
    contents[MEASURED] = measured_json(
        reproduction,
        command=command,
        missing=missing,
        interrupted=interrupted,
        files=[*contents, MEASURED],
    )
    write_results(folder, contents)
    return list(contents), not_drawn


def _command(arguments: argparse.Namespace) -> str:
    """Return the command line that repeats this run."""
    words: Sequence[str] = (
        *("python -m graftviz reproduce", arguments.name),
        *("--scale", arguments.scale, "--seed", str(arguments.seed)),
        *(("--data", *arguments.data) if arguments.data else ()),
    )
    return " ".join(words)


def _findings(reproduction: Reproduction, missing: str) -> str:
    """Return the findings as text for the terminal."""
    chosen: Experiment = reproduction.experiment
    lines = [f"{chosen.title} ({chosen.place}), scale {reproduction.scale}"]
    if reproduction.caution:
        lines.append(f"\n{reproduction.caution}")
    for claim, verdict in reproduction.verdicts():
        lines.append(f"\n{describe_verdict(verdict)}: {claim.words}\n  {verdict.sentence}")
    if missing:
        lines.append(f"\n{missing}")
    if reproduction.reused:
        lines.append(f"\n{len(reproduction.reused)} parts were taken from the cache.")
    return "\n".join(lines)
