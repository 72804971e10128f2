"""Parts of ``learn`` that run the learner repeatedly: selection of λ and stability."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

from graftviz.cli.arguments import integer
from graftviz.cli.progress import progress
from graftviz.evaluation.selection.fits import METHODS, VALUES
from graftviz.evaluation.selection.path import TEST_FRACTION, LamPath, lam_path, lam_path_steps
from graftviz.evaluation.selection.stability import (
    STABLE,
    EdgeStability,
    edge_stability,
    stability_steps,
)
from graftviz.learning.base import Learner
from graftviz.reports.figures.selection import intervals_figure, path_figure, stability_figure
from graftviz.reports.figures.style import figure_html
from graftviz.reports.files.tables import path_csv, stability_csv, weight_intervals_csv
from graftviz.reports.results import Result, Run
from graftviz.reports.words.phrases import plural
from graftviz.utils.errors import InputError

CRITERIA = {"nlpl": "held-out NLPL", "ebic": "EBIC"}


class Selection(NamedTuple):
    """Path over λ and edge stability; None if not requested."""

    path: LamPath | None = None
    stability: EdgeStability | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that run the learner more than once."""
    group = parser.add_argument_group("choosing λ and stability")
    group.add_argument(
        "--choose-lam",
        choices=tuple(CRITERIA),
        help="learn at decreasing λ first and choose λ by the lowest held-out NLPL (for "
        "prediction) or EBIC (for structure); writes path.csv and path.html",
    )
    group.add_argument(
        "--lam-values",
        type=integer,
        metavar="N",
        help=f"maximum number of λ values (default: {VALUES})",
    )
    group.add_argument(
        "--folds",
        type=integer,
        metavar="K",
        help="choose λ by K-fold cross-validation on the training rows, instead of holding out a "
        f"share of {TEST_FRACTION:g}",
    )
    group.add_argument(
        "--stability",
        type=integer,
        metavar="N",
        help="also learn from N subsamples and report how often each edge is found, and intervals "
        "of strengths and weights: columns of edges.csv, stability.csv, weight_intervals.csv, "
        "stability.html and intervals.html",
    )
    group.add_argument(
        "--stability-method",
        choices=METHODS,
        help="subsamples of half the rows, smaller ones as in StARS, or all rows drawn with "
        f"replacement (default: {METHODS[0]})",
    )
    group.add_argument(
        "--jobs",
        type=integer,
        metavar="N",
        help="number of these runs in parallel; -1: one per core (default: 1)",
    )


def check(arguments: argparse.Namespace, learning: Run) -> None:
    """Check the arguments of the repeated runs before the work begins.

    Raises
    ------
    InputError
        See :func:`graftviz.evaluation.selection.lam_path` and
        :func:`graftviz.evaluation.selection.edge_stability`; and for a λ that is both set and to be
        chosen.
    """
    _check_company(arguments)
    if arguments.choose_lam is not None:
        if any(text.partition("=")[0].strip() == "lam" for text in arguments.set):
            raise InputError("--set lam=… and --choose-lam exclude each other.")
        lam_path_steps(learning.table, learning.learner, **_path_settings(arguments, learning))
    if arguments.stability is not None:
        settings = _stability_settings(arguments, learning)
        stability_steps(learning.table, learning.learner, **settings)


def _check_company(arguments: argparse.Namespace) -> None:
    """Refuse options that would have no effect; set the defaults of the others."""
    path, stability = arguments.choose_lam is not None, arguments.stability is not None
    needed = (
        ("lam_values", VALUES, path, "--choose-lam"),
        ("folds", None, path, "--choose-lam"),
        ("stability_method", METHODS[0], stability, "--stability"),
        ("jobs", 1, path or stability, "--choose-lam or --stability"),
    )
    for name, default, has_company, company in needed:
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)
        elif not has_company:
            raise InputError(f"--{name.replace('_', '-')} has no effect without {company}.")


def runs(arguments: argparse.Namespace) -> int:
    """Return the maximum number of runs of the learner."""
    path = arguments.lam_values * (arguments.folds or 1) if arguments.choose_lam else 0
    return 1 + path + (arguments.stability or 0)


def choose_lam(arguments: argparse.Namespace, learning: Run) -> LamPath | None:
    """Return the path over λ, or None if not requested."""
    if arguments.choose_lam is None:
        return None
    table, learner = learning.table, learning.learner
    settings = _path_settings(arguments, learning)
    with progress(arguments.lam_values, "choosing λ") as bar:
        if arguments.jobs != 1:
            settings |= {"jobs": arguments.jobs, "callback": lambda done, _: bar.show(done)}
            return lam_path(table, learner, **settings)
        path = None
        for path in lam_path_steps(table, learner, **settings):
            bar.show(len(path.points))
    return path


def with_best_lam(arguments: argparse.Namespace, path: LamPath) -> Learner:
    """Return the learner with the best λ by the chosen criterion."""
    best = path.best_by_ebic if arguments.choose_lam == "ebic" else path.best_by_nlpl
    if best is None:
        raise InputError(f"No λ could be chosen. {path.stop_reason}")
    return path.at(best)


def stability(arguments: argparse.Namespace, learning: Run) -> EdgeStability | None:
    """Return the stability of the edges if requested; after Ctrl-C, from the subsamples so far."""
    if arguments.stability is None or learning.outcome is None:
        return None
    table, learner = learning.table, learning.learner
    settings = _stability_settings(arguments, learning)
    found = None
    with progress(arguments.stability, "learning from subsamples") as bar:
        try:
            if arguments.jobs != 1:
                settings |= {"jobs": arguments.jobs, "callback": lambda done, _: bar.show(done)}
                return edge_stability(table, learner, **settings)
            for found in stability_steps(table, learner, **settings):
                bar.show(found.done)
        except KeyboardInterrupt:
            pass
    return found


def was_cut_short(arguments: argparse.Namespace, found: EdgeStability | None) -> bool:
    """Return whether Ctrl-C interrupted before the last subsample."""
    return arguments.stability is not None and (found is None or found.done < found.planned)


def contents(selection: Selection, result: Result, learning: Run) -> dict[str, str]:
    """Return the files of a selection, by name."""
    files = {}
    if selection.path is not None:
        files["path.csv"] = path_csv(selection.path)
        files["path.html"] = figure_html(path_figure(selection.path))
    if selection.stability is not None:
        found = selection.stability
        figure = stability_figure(
            found, result.model.names, edges=result.model.edges, truth=learning.truth
        )
        files["stability.csv"] = stability_csv(result, found)
        files["stability.html"] = figure_html(figure)
        intervals = found.intervals(result.model)
        files["weight_intervals.csv"] = weight_intervals_csv(intervals)
        files["intervals.html"] = figure_html(intervals_figure(intervals))
    return files


def summary(arguments: argparse.Namespace, selection: Selection, result: Result) -> Iterator[str]:
    """Yield the lines of the summary about a selection."""
    path, found = selection
    if path is not None:
        for key, best in (("nlpl", path.best_by_nlpl), ("ebic", path.best_by_ebic)):
            if best is not None:
                taken = ", chosen" if key == arguments.choose_lam else ""
                yield (
                    f"lowest {CRITERIA[key]}: λ = {best.lam:g} with {plural(best.n_edges, 'edge')} "
                    f"on {path.n_rows:,} rows{taken}"
                )
        yield path.stop_reason
        if path.best_by_nlpl is path.points[-1]:
            yield "Held-out NLPL still decreased at the last λ: a smaller λ may predict better."
    if found is not None and found.done:
        share = found.frequency_of(result.model.edges)
        yield (
            f"stability   {int((share >= STABLE).sum()):,} of {plural(result.n_edges, 'edge')} "
            f"found in at least {STABLE:.0%} of {found.done} subsamples of "
            f"{found.n_subsample_rows:,} rows; instability {found.instability:.2g}"
        )
        if found.done < found.planned:
            yield f"            (interrupted: {found.planned} subsamples were requested)"


def _path_settings(arguments: argparse.Namespace, learning: Run) -> dict[str, Any]:
    """Return the arguments of :func:`graftviz.evaluation.selection.lam_path`."""
    return {
        "lams": arguments.lam_values,
        "folds": arguments.folds,
        "truth": learning.truth,
        "seed": learning.seed,
    }


def _stability_settings(arguments: argparse.Namespace, learning: Run) -> dict[str, Any]:
    """Return the arguments of :func:`graftviz.evaluation.selection.edge_stability`."""
    return {
        "subsamples": arguments.stability,
        "method": arguments.stability_method,
        "seed": learning.seed,
    }
