"""``graftviz dynamics``: learn a linear dynamical system from time series."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from graftviz import dynamics
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
from graftviz.data.series.reading import SeriesOptions
from graftviz.dynamics.learners import SolverOptions
from graftviz.reports.files.dynamics_files import dynamics_json, matrix_csv
from graftviz.reports.words.phrases import plural
from graftviz.utils.errors import InputError
from graftviz.utils.files import write_results
from graftviz.utils.options import checked_seed, option_specs, parse_options

RESULT, MATRIX = "result.json", "matrix.csv"
_TEST_FRACTION = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``dynamics`` to `parser`."""
    add_learner(parser, dynamics.LEARNERS, "scalable", _options_help())
    parser.add_argument(
        "series",
        type=path,
        metavar="SERIES",
        help="a CSV or parquet file: one row per time and one column per series, or the columns "
        "time, series, value",
    )
    parser.add_argument(
        "--parents",
        type=path,
        metavar="FILE",
        help="for the learner enforcing: a CSV of lines source,target (source drives target), or a "
        "matrix like matrix.csv",
    )
    add_seed(parser, "the learner")
    parser.add_argument(
        "--jobs", type=integer, metavar="N", help="processes that share the rows; -1: one per core"
    )
    add_held_out(
        parser,
        f"share of the rows to hold out, from the end; 0: none (default: {_TEST_FRACTION})",
        _TEST_FRACTION,
    )
    reading = parser.add_argument_group("reading")
    add_options(reading, SeriesOptions)
    reading.add_argument(
        "--time",
        metavar="COLUMN",
        help="the column of times, or none (default: the first, if it looks like times)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Learn, write and summarise; return the exit code."""
    cls = dynamics.dynamics_learner(arguments.learner)
    options = parse_options(cls, settings(arguments.set, "--set", "parents=15"))
    learner = _learner(cls(**options), arguments, names=None)
    checked_seed(arguments.seed)
    series = _read(arguments, arguments.series)
    train, test = _divided(arguments, series)
    learner = _learner(learner, arguments, names=train.names)
    learner.check(train)
    for note in series.notes:
        print(f"Note: {note}", file=sys.stderr)
    folder = create_folder(arguments.out)
    try:
        _load_engine(learner)
        with progress(train.n_series, "learning rows") as bar:

            def show_step(step: dynamics.NodeStep) -> None:
                bar.show(step.index + 1)

            result = dynamics.learn(
                train,
                learner,
                seed=arguments.seed,
                test=test,
                jobs=arguments.jobs,
                callback=show_step,
            )
    except KeyboardInterrupt:
        print("Interrupted before the first row; nothing was learned.", file=sys.stderr)
        return INTERRUPTED
    _write(result, train, test, folder)
    for note in result.notes:
        print(f"Note: {note}", file=sys.stderr)
    print(_summary(result, train, test))
    print(f"files       {RESULT}, {MATRIX} in {folder}")
    return 0 if result.complete else INTERRUPTED


def _learner(
    learner: dynamics.DynamicsLearner, arguments: argparse.Namespace, names: tuple[str, ...] | None
) -> dynamics.DynamicsLearner:
    """Return the learner with the parents of the file, which need the names of the series."""
    if not dynamics.takes_parents(learner):
        if arguments.parents is not None:
            raise InputError(
                f"--parents is for --learner enforcing; {learner.name} finds the parents itself."
            )
        return learner
    if arguments.parents is None:
        raise InputError(
            "--learner enforcing needs the parents of every series; set --parents FILE."
        )
    if names is None:
        return learner
    return dynamics.SparsityEnforcing(
        centre=learner.centre, adjacency=dynamics.read_parents(arguments.parents, names)
    )


def _read(arguments: argparse.Namespace, path: Path, **changed: str) -> dynamics.TimeSeries:
    reading = {**chosen_options(arguments, SeriesOptions), **changed}
    return dynamics.read_series(path, time=arguments.time, **reading)


def _divided(
    arguments: argparse.Namespace, series: dynamics.TimeSeries
) -> tuple[dynamics.TimeSeries, dynamics.TimeSeries | None]:
    if arguments.test is not None:
        # Only the training rows decide which series are constant: a short test may not vary.
        return series, _read(arguments, arguments.test, constant="keep").selected(series.names)
    if arguments.test_fraction == 0.0:
        return series, None
    return series.split(arguments.test_fraction)


def _load_engine(learner: dynamics.DynamicsLearner) -> None:
    """Learn a tiny system first, so that compilation is not counted in the reported time."""
    if isinstance(learner, SolverOptions):
        with progress(1, "loading the engine"):
            tiny = dynamics.simulate(dynamics.random_system(4, density=0.5), 40)
            dynamics.learn(tiny, type(learner)(solver=learner.solver, parents=2))


def _write(
    result: dynamics.DynamicsResult,
    train: dynamics.TimeSeries,
    test: dynamics.TimeSeries | None,
    folder: Path,
) -> None:
    rows_test = None if test is None else test.n_rows
    contents = {
        MATRIX: matrix_csv(result.system),
        RESULT: dynamics_json(result, rows=train.n_rows, rows_test=rows_test),
    }
    write_results(folder, contents)


def _summary(
    result: dynamics.DynamicsResult, train: dynamics.TimeSeries, test: dynamics.TimeSeries | None
) -> str:
    system = result.system
    held_out = ""
    if test is not None and result.pred_error_test is not None:
        held_out = f", {result.pred_error_test:.4g} on {test.n_rows:,} held-out rows"
    lines = [
        f"{result.learner.title}: {train.n_series:,} series, {train.n_rows:,} rows, "
        f"{plural(int(system.coefficients.nnz), 'coefficient')} in {result.seconds:.2f} s.",
        f"PredError   {result.pred_error_train:.4g} on the training rows{held_out}",
        f"stability   spectral radius {system.spectral_radius:.4g}",
    ]
    if len(result.seeds):
        names = [system.names[i] for i in result.uncovered]
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        uncovered = f"; {len(names)} series not covered by a seed: {shown}" if names else ""
        lines.append(f"seeds       {len(result.seeds):,}{uncovered}")
    return "\n".join(lines)


def _options_help() -> list[str]:
    """Return the options of all learners as lines for the end of the help."""
    lines = []
    for name, cls in dynamics.LEARNERS.items():
        lines.append(f"options of {name} (--set OPTION=VALUE, shown with defaults):")
        lines += [option_line(spec) for spec in option_specs(cls)]
    return lines
