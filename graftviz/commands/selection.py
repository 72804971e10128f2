"""The part of ``learn`` that runs the learner more than once: choosing λ, and stability."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from graftviz.commands.arguments import integer
from graftviz.commands.progress import progress
from graftviz.errors import InputError
from graftviz.figures import figure_html, path_figure, stability_figure
from graftviz.formats.tables import path_csv, stability_csv
from graftviz.learners.base import Learner
from graftviz.narrative.phrases import plural
from graftviz.runs import Result, Run
from graftviz.selection import (
    EdgeStability,
    LamPath,
    edge_stability,
    lam_path,
    lam_path_steps,
    stability_steps,
)
from graftviz.selection.grid import VALUES
from graftviz.selection.path import HELD_OUT
from graftviz.selection.stability import STABLE
from graftviz.selection.subsamples import METHODS

CRITERIA = {"nlpl": "held-out NLPL", "ebic": "EBIC"}


class Selection(NamedTuple):
    """What is known besides the result; None where it was not asked for."""

    path: LamPath | None = None
    stability: EdgeStability | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that run the learner more than once."""
    group = parser.add_argument_group("choosing λ and stability")
    group.add_argument(
        "--choose-lam",
        choices=tuple(CRITERIA),
        help="learn at decreasing λ first, and take the one of the least held-out NLPL (to "
        "predict) or EBIC (for the right graph); writes path.csv and path.html",
    )
    group.add_argument(
        "--lam-values",
        type=integer,
        metavar="N",
        help=f"how many λ at most (default: {VALUES})",
    )
    group.add_argument(
        "--folds",
        type=integer,
        metavar="K",
        help="hold out each of K parts of the training rows once, instead of a share of "
        f"{HELD_OUT:g}, when λ is chosen",
    )
    group.add_argument(
        "--stability",
        type=integer,
        metavar="N",
        help="learn from N subsamples too, and say how often each edge is found: a column of "
        "edges.csv, stability.csv and stability.html",
    )
    group.add_argument(
        "--stability-method",
        choices=METHODS,
        help=f"halves of the rows, or StARS's smaller parts (default: {METHODS[0]})",
    )
    group.add_argument(
        "--jobs",
        type=integer,
        metavar="N",
        help="how many of these runs at a time, -1 for one a core (default: 1)",
    )


def check(arguments: argparse.Namespace, learning: Run) -> None:
    """Refuse before the work what cannot be done after it.

    Raises
    ------
    InputError
        See :func:`graftviz.selection.lam_path` and :func:`graftviz.selection.edge_stability`; and
        for a λ that is both given and to be chosen.
    """
    _check_company(arguments)
    if arguments.choose_lam is not None:
        if any(text.partition("=")[0].strip() == "lam" for text in arguments.set):
            raise InputError(
                "λ is given by --set lam=… and to be chosen by --choose-lam; not both."
            )
        _path_so_far(arguments, learning)
    if arguments.stability is not None:
        _stability_so_far(arguments, learning)


def _check_company(arguments: argparse.Namespace) -> None:
    """Refuse options that would change nothing; fill in the defaults of those left out."""
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
            raise InputError(f"--{name.replace('_', '-')} changes nothing without {company}.")


def runs(arguments: argparse.Namespace) -> int:
    """Return how often the learner will run, at most."""
    path = arguments.lam_values * (arguments.folds or 1) if arguments.choose_lam else 0
    return 1 + path + (arguments.stability or 0)


def choose_lam(arguments: argparse.Namespace, learning: Run) -> LamPath | None:
    """Return the path over λ, if one is asked for."""
    if arguments.choose_lam is None:
        return None
    with progress(arguments.lam_values, "choosing λ") as bar:
        bar.update(0)
        if arguments.jobs != 1:
            return lam_path(
                learning.table,
                learning.learner,
                lams=arguments.lam_values,
                folds=arguments.folds,
                truth=learning.truth,
                seed=learning.seed,
                jobs=arguments.jobs,
                on_done=lambda done, _: bar.update(done),
            )
        path = None
        for path in _path_so_far(arguments, learning):
            bar.update(len(path.points))
    return path


def with_best_lam(arguments: argparse.Namespace, path: LamPath) -> Learner:
    """Return the learner with the λ that the chosen criterion finds best."""
    best = path.best_by_ebic if arguments.choose_lam == "ebic" else path.best_by_nlpl
    if best is None:
        raise InputError(f"No λ could be chosen. {path.stop_reason}")
    return path.at(best)


def stability(arguments: argparse.Namespace, learning: Run) -> EdgeStability | None:
    """Return the stability of the edges, if asked for; Ctrl-C keeps the subsamples done so far."""
    if arguments.stability is None or learning.outcome is None:
        return None
    known = None
    with progress(arguments.stability, "learning from subsamples") as bar:
        bar.update(0)
        try:
            if arguments.jobs != 1:
                return edge_stability(
                    learning.table,
                    learning.learner,
                    subsamples=arguments.stability,
                    method=arguments.stability_method,
                    seed=learning.seed,
                    jobs=arguments.jobs,
                    on_done=lambda done, _: bar.update(done),
                )
            for known in _stability_so_far(arguments, learning):
                bar.update(known.done)
        except KeyboardInterrupt:
            pass
    return known


def was_cut_short(arguments: argparse.Namespace, known: EdgeStability | None) -> bool:
    """Return whether Ctrl-C came before the last subsample."""
    return arguments.stability is not None and (known is None or known.done < known.planned)


def contents(selection: Selection, result: Result, learning: Run) -> dict[str, str]:
    """Return the files of a selection, by name."""
    files = {}
    if selection.path is not None:
        files["path.csv"] = path_csv(selection.path)
        files["path.html"] = figure_html(path_figure(selection.path))
    if selection.stability is not None:
        known = selection.stability
        figure = stability_figure(
            known, result.model.names, edges=result.model.edges, truth=learning.truth
        )
        files["stability.csv"] = stability_csv(result, known)
        files["stability.html"] = figure_html(figure)
    return files


def summary(arguments: argparse.Namespace, selection: Selection, result: Result) -> Iterator[str]:
    """Yield the lines of the summary about a selection."""
    path, known = selection
    if path is not None:
        for key, best in (("nlpl", path.best_by_nlpl), ("ebic", path.best_by_ebic)):
            if best is not None:
                taken = ", taken" if key == arguments.choose_lam else ""
                yield (
                    f"least {CRITERIA[key]}: λ = {best.lam:g} with {plural(best.edges, 'edge')} on "
                    f"{path.rows:,} rows{taken}"
                )
        yield path.stop_reason
        if path.best_by_nlpl is path.points[-1]:
            yield "Held-out NLPL was still falling there: a smaller λ may predict better."
    if known is not None and known.done:
        share = known.frequency_of(result.model.edges)
        yield (
            f"stability   {int((share >= STABLE).sum()):,} of {plural(result.edges, 'edge')} found "
            f"in at least {STABLE:.0%} of {known.done} subsamples of {known.subsample_rows:,} "
            f"rows; instability {known.instability:.2g}"
        )
        if known.done < known.planned:
            yield f"            (interrupted: {known.planned} subsamples were asked for)"


def _path_so_far(arguments: argparse.Namespace, learning: Run) -> Iterator[LamPath]:
    return lam_path_steps(
        learning.table,
        learning.learner,
        lams=arguments.lam_values,
        folds=arguments.folds,
        truth=learning.truth,
        seed=learning.seed,
    )


def _stability_so_far(arguments: argparse.Namespace, learning: Run) -> Iterator[EdgeStability]:
    return stability_steps(
        learning.table,
        learning.learner,
        subsamples=arguments.stability,
        method=arguments.stability_method,
        seed=learning.seed,
    )
