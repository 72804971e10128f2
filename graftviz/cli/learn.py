"""``graftviz learn``: learn a Markov network from a table and write all results."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graftviz.cli import resources, selection
from graftviz.cli.arguments import (
    INTERRUPTED,
    add_held_out,
    add_learner,
    add_options,
    add_seed,
    chosen_options,
    create_folder,
    integer,
    option_line,
    path,
    settings,
)
from graftviz.cli.progress import progress
from graftviz.cli.selection import Selection
from graftviz.data.coding import TableOptions
from graftviz.data.sets.dataset import DataSet, positions_from_names
from graftviz.data.sets.files import read_positions, read_truth
from graftviz.data.sets.generated import is_generated
from graftviz.data.sets.public import PUBLIC
from graftviz.data.sets.registry import dataset_keys, load_dataset
from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.counts.pair_counts import cache_limit
from graftviz.learning.grafting.grafting_options import GraftingOptions
from graftviz.learning.registry import DEFAULT, learner_class, learner_names
from graftviz.learning.settings import methods, rows_fit
from graftviz.reports.files.run_folder import run_files
from graftviz.reports.results import Result, Run
from graftviz.reports.texts import catalogue
from graftviz.reports.words.answers import absent_words
from graftviz.reports.words.outcomes import quality_words
from graftviz.reports.words.phrases import plural
from graftviz.reports.words.steps import outcome_words
from graftviz.utils.cold_start import announced
from graftviz.utils.errors import InputError
from graftviz.utils.files import write_results
from graftviz.utils.options import OptionSpec, option_specs, parse_options
from graftviz.utils.wording import nearest

_FOR_TABLES = tuple(spec.name for spec in option_specs(TableOptions))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``learn`` to `parser`."""
    add_learner(parser, learner_names(), DEFAULT, _options_help())
    parser.add_argument(
        "table",
        metavar="TABLE",
        help=f"a CSV or parquet file, one of {', '.join(dataset_keys())}, generated data such as "
        "generated:graph=grid,noise=0.1, or a downloaded public "
        "data set such as plants:PATH, see below",
    )
    parser.add_argument(
        "--max-edges",
        metavar="N",
        help="edge budget; short for --set max_edges=N",
    )
    add_seed(parser, "learner and split")
    add_held_out(parser, "hold out this share of the rows")
    parser.add_argument(
        "--rows",
        type=integer,
        metavar="N",
        help="learn from N of the rows that are not held out, drawn by the seed: fewer rows are a "
        "subset of more",
    )
    parser.add_argument(
        "--truth", type=path, metavar="EDGES.csv", help="the true edges: columns source, target"
    )
    parser.add_argument(
        "--positions",
        type=path,
        metavar="FILE.csv",
        help="positions of the variables in graphs: columns name and x,y or lon,lat",
    )
    selection.add_arguments(parser)
    resources.add_arguments(parser)
    add_options(parser.add_argument_group("reading"), TableOptions)
    _add_public_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Learn, write and summarise; return the exit code."""
    learner = _learner(arguments)
    data = _read(arguments)
    for warning in data.table.warnings:
        print(f"Note: {warning}", file=sys.stderr)
    measures = {"seed": arguments.seed, "test": data.test, "truth": data.truth}
    _print_changed_methods(learner, data.table)
    learning = Run(data.table, learner, **measures)
    selection.check(arguments, learning)
    cache = resources.confirm(arguments, learning, runs=selection.runs(arguments))
    folder = create_folder(arguments.out)
    if arguments.choose_lam is not None:
        _load_engine(learning)
    path = selection.choose_lam(arguments, learning)
    if path is not None:
        learning = Run(data.table, selection.with_best_lam(arguments, path), **measures)
    with cache_limit(cache):
        interrupted = _drain(learning)
    if interrupted and not learning.steps:
        print("Interrupted before the first step; nothing was learned.", file=sys.stderr)
        return INTERRUPTED
    chosen = Selection(path, selection.stability(arguments, learning))
    with _no_interrupt():
        result = learning.result()
        names = _write(learning, result, data, folder, chosen)
    print(_summary(result))
    for line in selection.summary(arguments, chosen, result):
        print(line)
    print(f"files       {', '.join(names)} in {folder}")
    if interrupted:
        print(f"{result.stop_reason} The model learned so far is in {folder}.", file=sys.stderr)
        return INTERRUPTED
    if selection.was_cut_short(arguments, chosen.stability):
        print(
            "Interrupted before the last subsample; the other results are complete.",
            file=sys.stderr,
        )
        return INTERRUPTED
    return 0


def _print_changed_methods(learner: Learner, table: DiscreteTable) -> None:
    """Print a note if the size of the table changes the automatic values of options."""
    if not isinstance(learner, GraftingOptions):
        return
    fits = rows_fit(table.cardinalities, table.n_rows)
    here, usual = methods(learner, fits=fits), methods(learner)
    if here != usual:
        refit = "" if here.refit == usual.refit else ", and no refit"
        print(
            "Note: the conditionals of the rows need more than 8 GB, so preset "
            f"{learner.preset} uses score {here.score} and objective {here.objective}{refit}; "
            f"otherwise it uses {usual.score} and {usual.objective}. Indirect pairs pass then; "
            "fewer rows give a better graph.",
            file=sys.stderr,
        )


def _learner(arguments: argparse.Namespace) -> Learner:
    cls = learner_class(arguments.learner)
    texts = settings(arguments.set, "--set", "lam=0.001")
    if arguments.max_edges is not None:
        if "max_edges" in texts:
            raise InputError("The edge budget is set twice: by --max-edges and by --set.")
        texts["max_edges"] = arguments.max_edges
    return cls(**parse_options(cls, texts))


def _read(arguments: argparse.Namespace) -> DataSet:
    """Return the training table, with test rows, true structure and positions if there are any."""
    reading = TableOptions(**chosen_options(arguments, TableOptions)).arguments()
    data = _read_public(arguments)
    is_built_in = arguments.table in dataset_keys() or is_generated(arguments.table)
    if is_built_in and not Path(arguments.table).exists():
        data = load_dataset(arguments.table)
    if data is None:
        _check_name(arguments.table)
        table = resources.read(arguments, arguments.table, reading)
        size = f"{table.n_variables:,} variables, {table.n_rows:,} rows"
        title = f"{Path(arguments.table).name} · {size}"
        data = DataSet("", title, table, positions=positions_from_names(table.names))
    changes: dict[str, Any] = {}
    if arguments.truth is not None:
        changes["truth"] = read_truth(arguments.truth, data.table.names)
    if arguments.positions is not None:
        changes["positions"] = read_positions(arguments.positions, data.table.names)
    if arguments.test is not None:
        like = {**reading, "like": data.table}
        changes["test"] = resources.read(arguments, arguments.test, like)
    elif arguments.test_fraction is not None:
        parts = data.table.split(arguments.test_fraction, seed=arguments.seed)
        changes["table"], changes["test"] = parts
    if arguments.rows is not None:
        table = changes.get("table", data.table)
        changes["table"] = table.sample(arguments.rows, seed=arguments.seed)
    return replace(data, **changes)


def _check_name(text: str) -> None:
    """Refuse a name that is neither a file nor a data set, and suggest a similar data set."""
    if not Path(text).suffix and not Path(text).exists():
        keys = dataset_keys()
        hint = nearest(text, keys, f"data sets are {', '.join(keys)}.", shown=str)
        raise InputError(f"There is no file and no data set {text!r}; {hint}")


def _load_engine(learning: Run) -> None:
    """Learn from a few rows, so that compilation is not counted in the engine time.

    This takes about a second, or a minute if the kernels have never been compiled on this machine.
    """
    with progress(1, "loading the engine"):
        chain = np.cumsum(np.random.default_rng(0).random((64, 6)) < 0.2, axis=1) % 3
        # Codes of more than one byte, for variables of many states, need kernels of their own.
        wide = bool(learning.table.cardinalities.max() > 256)
        small = DiscreteTable.from_codes(chain, cardinalities=[300 if wide else 3, 3, 3, 3, 3, 3])
        warm_up = Run(small, learning.learner.for_warm_up(), test=small)
        with announced(learning.learner):
            while warm_up.advance():
                pass


def _drain(learning: Run) -> bool:
    """Run the learner to its end or until Ctrl-C; return whether it was interrupted."""
    try:
        _load_engine(learning)
        most = getattr(learning.learner, "max_edges", None)
        with progress(most, "learning edges") as bar:
            while learning.advance():
                bar.show(learning.steps[-1].n_edges)
    except KeyboardInterrupt:
        pass
    return learning.outcome is None


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Ignore Ctrl-C while the results are written."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _write(
    learning: Run, result: Result, data: DataSet, folder: Path, chosen: Selection
) -> list[str]:
    """Write all files of a run, and return their names."""
    about = {"title": data.title, "positions": data.positions, **chosen._asdict()}
    contents = run_files(learning, result, **about) | selection.contents(chosen, result, learning)
    write_results(folder, contents)
    return list(contents)


def _summary(result: Result) -> str:
    outcome = result.trace.outcome
    certificate = result.certificate
    method = []
    if certificate:
        method = [f"method      score {certificate.score}, objective {certificate.objective}"]
        if outcome is not None and outcome.objective_name != certificate.objective:
            method[0] += f", final fit by {outcome.objective_name}"
    lines = [
        f"{result.learner.title}: {plural(result.n_edges, 'edge')} among {result.n_variables:,} "
        f"variables, from {result.n_rows:,} rows in {plural(len(result.trace), 'step')} and "
        f"{result.seconds.total:.2f} s.",
        result.stop_reason if outcome is None else outcome_words(outcome),
        *_not_found(result),
        *method,
        f"objective   {result.objective:.6g} nats per row, KKT residual {result.kkt_residual:.1g}",
    ]
    shown = {"recall": result.recall, "precision": result.precision, "F1": result.f1}
    ratios = [f"{name} {value:.3f}" for name, value in shown.items() if value is not None]
    if ratios:
        lines.append(f"true edges  {', '.join(ratios)}")
    if result.quality is not None:
        lines.append(f"prediction  {quality_words(result.quality)}")
    unit = certificate.unit if certificate else "edge"
    share = 100.0 * result.tables_counted / result.tables_possible
    screened = result.pairs_screened
    compared = f", {screened:,} pairs compared on sampled rows" if screened else ""
    lines.append(
        f"work        {plural(result.tests, f'{unit} test')}, "
        f"{plural(result.tables_counted, 'pair table')} counted ({share:.3g} % of all){compared}"
    )
    return "\n".join(lines)


def _not_found(result: Result) -> list[str]:
    """Return the lines about the strongest pairs that are not edges."""
    run, found = result.run, result.not_found
    if run is None or found is None:
        return []
    words = [absent_words(run, each) for each in found]
    words = words or [catalogue("answers")["not_found"]["none"]]
    return [f"{'' if k else 'not found':11} {text}" for k, text in enumerate(words)]


def _options_help() -> list[str]:
    """Return the options of all learners as lines for the end of the help."""
    owners: dict[OptionSpec, list[str]] = {}
    for name in learner_names():
        for spec in option_specs(learner_class(name)):
            owners.setdefault(spec, []).append(name)
    lines = []
    for group in dict.fromkeys(map(tuple, owners.values())):
        lines.append(f"options of {', '.join(group)} (--set OPTION=VALUE, shown with defaults):")
        lines += [option_line(spec) for spec, names in owners.items() if tuple(names) == group]
    return lines + _public_help()


# --- public data sets as NAME:PATH in place of a table --------------------------------------------


def _add_public_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of public data sets; those of tables must be added before."""
    parser.add_argument(
        "--read",
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="an option of a public data set, see below; may be repeated",
    )
    parser.set_defaults(table_defaults={flag: parser.get_default(flag) for flag in _FOR_TABLES})


def _read_public(arguments: argparse.Namespace) -> DataSet | None:
    """Read the public data set that TABLE names, or return None if it names none.

    Raises
    ------
    InputError
        If its files cannot be read, or a flag is set that applies to other data only.
    """
    name, colon, path = arguments.table.partition(":")
    if not colon or name not in PUBLIC or Path(arguments.table).exists():
        is_other = not colon or is_generated(arguments.table) or Path(arguments.table).exists()
        hint = nearest(name, PUBLIC, shown=lambda near: f"{near}:{path}")
        if hint and not is_other:
            raise InputError(f"There is no file and no public data set {name!r}; {hint}")
        if arguments.read:
            prefixes = ", ".join(f"{name}:PATH" for name in PUBLIC)
            raise InputError(
                f"--read is for public data sets, {prefixes}, not for {arguments.table}."
            )
        return None
    if not path:
        raise InputError(f"{name}: needs a path; {name}:PATH takes {PUBLIC[name].files}.")
    for flag, default in arguments.table_defaults.items():
        if getattr(arguments, flag) != default:
            raise InputError(
                f"--{flag.replace('_', '-')} is for tables; {name} has its own options, set by "
                "--read, see --help."
            )
    reader = PUBLIC[name]
    texts = settings(arguments.read, "--read", f"{option_specs(reader)[0].name}=VALUE")
    return reader(**parse_options(reader, texts)).read(path)


def _public_help() -> list[str]:
    """Return the public data sets and their options as lines for the end of the help."""
    lines = ["public data sets (download them, then use NAME:PATH as TABLE):"]
    lines += [f"  {name}:PATH  {PUBLIC[name].files}" for name in PUBLIC]
    for name in PUBLIC:
        lines.append(f"options of {name}:PATH (--read OPTION=VALUE, shown with defaults):")
        lines += [option_line(spec) for spec in option_specs(PUBLIC[name])]
    return lines
