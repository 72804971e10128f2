"""Runs of a learner at decreasing values of λ, and the choice of the best.

There are two criteria. The held-out NLPL measures prediction, which a few superfluous edges hardly
affect. The EBIC aims at the correct graph and penalises every edge.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from graftviz.data.reading.reading import Tabular
from graftviz.data.table import DiscreteTable
from graftviz.evaluation.selection.fits import (
    GAMMA,
    VALUES,
    check_gamma,
    extended_bic,
    fit_steps,
    free_weights,
    lam_option,
    lam_values,
    stream,
    with_lam,
)
from graftviz.inference.likelihood import nlpl
from graftviz.learning.base import Learner, drained
from graftviz.learning.observer import EdgeMetrics, recall_precision_f1
from graftviz.learning.registry import DEFAULT, table_and_learner
from graftviz.learning.run import Edges, checked_edges, checked_test
from graftviz.learning.trace import Remark, Step
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError
from graftviz.utils.options import checked_seed
from graftviz.utils.parallel import parallel_map

TEST_FRACTION = 0.2
RISING = 3  # number of values of λ over which both criteria must rise to end the path
EDGES_A_VARIABLE = 10  # default limit on the edges of a run

_FOLDS = 0  # spawn key of the generator that divides the rows


class PathPoint(NamedTuple):
    """Result at one λ.

    Attributes
    ----------
    lam : float
    n_edges : int
    weights : int
        Free weights of the edges, Σ (s_i − 1)(s_j − 1).
    objective : float
        Objective of the learner (nats per row).
    nlpl_train, nlpl_test : float
        Negative log pseudo-likelihood of the training rows and of the held-out rows (nats per
        row).
    ebic : float
        See :func:`graftviz.evaluation.selection.fits.extended_bic`; over 2 N it is on NLPL's
        scale.
    recall, precision, f1 : float or None
        Comparison with the true edges, if these are available.
    stop_reason : Remark
        Stop reason of the learner, a sentence.
    model : PairwiseMRF

    Examples
    --------
    >>> point = gv.lam_path(survey, gv.BestChoice(), lams=[0.02]).points[0]
    >>> point.n_edges, round(point.nlpl_test, 1), point.model
    (10, 9.2, <PairwiseMRF: 11 variables of 2 to 4 states, 10 edges>)
    """

    lam: float
    n_edges: int
    weights: int
    objective: float
    nlpl_train: float
    nlpl_test: float
    ebic: float
    recall: float | None
    precision: float | None
    f1: float | None
    stop_reason: Remark
    model: PairwiseModel


@dataclass(frozen=True, eq=False, repr=False)
class LamPath:
    """Results of a learner at decreasing values of λ, complete or in progress.

    Attributes
    ----------
    learner : Learner
        The learner; its own λ is not used.
    seed : int
    n_rows, n_rows_test : int
        Numbers of training and held-out rows at each λ; with folds every row is both.
    folds : int or None
    gamma : float
        γ of the EBIC.
    max_edges : int
        A run with more edges is stopped, and the path ends before it.
    planned : tuple of float
        All values of λ, largest first; the path may end before the last.
    points : tuple of PathPoint
        One per visited λ, in that order.
    stop_reason : str
        A sentence; empty while the path is in progress.

    Examples
    --------
    >>> path = gv.lam_path(survey, gv.BestChoice(), lams=[0.05, 0.02])
    >>> [(point.lam, point.n_edges) for point in path.points]
    [(0.05, 2), (0.02, 10)]
    >>> path.at(path.best_by_ebic).lam
    0.02
    """

    learner: Learner
    seed: int
    n_rows: int
    n_rows_test: int
    folds: int | None
    gamma: float
    max_edges: int
    planned: tuple[float, ...]
    points: tuple[PathPoint, ...]
    stop_reason: str

    def __repr__(self) -> str:
        best = self.best_by_ebic
        lowest = (
            "" if best is None else f", lowest EBIC at λ = {best.lam:g} ({best.n_edges:,} edges)"
        )
        return (
            f"<LamPath of {self.learner.name}: {len(self.points):,} of {len(self.planned):,} "
            f"values of λ{lowest}>"
        )

    @property
    def best_by_nlpl(self) -> PathPoint | None:
        """Point with the smallest held-out NLPL (ties: the larger λ); None without points."""
        return min(self.points, key=lambda point: point.nlpl_test, default=None)

    @property
    def best_by_ebic(self) -> PathPoint | None:
        """Point with the smallest EBIC (ties: the larger λ); None without points."""
        return min(self.points, key=lambda point: point.ebic, default=None)

    def ends_at(self, point: PathPoint) -> bool:
        """Return whether `point` is the last of a path that has not visited all planned values.

        The minimum of a criterion at such a point is not known to be one.
        """
        return len(self.points) < len(self.planned) and point is self.points[-1]

    def at(self, point: PathPoint) -> Learner:
        """Return the learner with the λ of `point`."""
        return with_lam(self.learner, point.lam)

    def summary(self) -> dict[str, Any]:
        """Return a summary as a dict of numbers, strings and None."""

        def facts(point: PathPoint | None) -> dict[str, Any] | None:
            return None if point is None else {"lam": point.lam, "edges": point.n_edges}

        return {
            "values": len(self.points),
            "planned": len(self.planned),
            "largest": self.planned[0],
            "smallest": self.points[-1].lam if self.points else None,
            "rows": self.n_rows,
            "rows_held_out": self.n_rows_test,
            "folds": self.folds,
            "gamma": self.gamma,
            "best_by_nlpl": facts(self.best_by_nlpl),
            "best_by_ebic": facts(self.best_by_ebic),
            "stop_reason": self.stop_reason,
        }


class _Task(NamedTuple):
    """Inputs that determine the points of a path."""

    learner: Learner
    train: DiscreteTable
    parts: tuple[tuple[DiscreteTable, DiscreteTable], ...]  # training and held-out rows
    folds: int | None
    truth: np.ndarray | None
    seed: int
    gamma: float
    max_edges: int


def lam_path(
    table: Tabular,
    learner: Learner | str = DEFAULT,
    *,
    lams: int | Iterable[float] = VALUES,
    test: Tabular | None = None,
    test_fraction: float = TEST_FRACTION,
    folds: int | None = None,
    truth: Edges | None = None,
    seed: int = 0,
    gamma: float = GAMMA,
    max_edges: int | None = None,
    jobs: int | None = 1,
    callback: Callable[[int, int], Any] | None = None,
) -> LamPath:
    """Run `learner` at decreasing values of λ and measure each.

    The path ends early when both criteria have risen over three consecutive values, or
    when a run activates more than `max_edges` edges: smaller λ would be slower and worse.

    Parameters
    ----------
    table : DiscreteTable, DataFrame, array or DataSet
    learner : Learner or str
        A learner with an option ``lam``, whose value is not used. An edge budget of the learner
        applies at every λ, so it should not be set.
    lams : int or iterable of float
        Values of λ or their number: see :func:`graftviz.evaluation.selection.fits.lam_values`.
    test : DiscreteTable, optional
        Held-out rows. As they are used to choose λ, a test of the final model needs other rows.
    test_fraction : float
        Share of the rows to hold out if `test` is not given.
    folds : int, optional
        Number of folds for cross-validation instead. Only the held-out NLPL comes from the runs
        on folds, all other results from a run on the whole table.
    truth : array-like of shape (k, 2) or DataFrame, optional
        The true edges by name or position, used for metrics only.
    seed : int
        Seed of the held-out rows and of the learner; results do not depend on `jobs`.
    gamma : float
        γ of the EBIC.
    max_edges : int, optional
        Default: 10 times the number of variables.
    jobs : int, optional
        1: sequentially. Otherwise see :func:`graftviz.utils.parallel.parallel_map`: all values are
        run in parallel, and those past the end of the path are discarded; the result is the same.
    callback : callable, optional
        Called as ``callback(done, of)`` after each value.

    Raises
    ------
    InputError
        If the learner has no option ``lam``, learner and table are incompatible, or a value is
        out of range.

    Examples
    --------
    >>> path = gv.lam_path(survey, gv.BestChoice(), lams=[0.05, 0.02])
    >>> path.best_by_nlpl.lam, path.best_by_nlpl.n_edges
    (0.02, 10)
    """
    task = _task(table, learner, test, test_fraction, folds, truth, seed, gamma, max_edges)
    if jobs == 1:
        for path in _steps(task, lams, every_step=False):
            if callback is not None and path.points:
                callback(len(path.points), len(path.planned))
        return path
    path = _started(task, lams)
    points = parallel_map(_point, path.planned, shared=task, jobs=jobs, callback=callback)
    for point in points:
        if not path.stop_reason:
            path = _extended(path, point)
    return path


def lam_path_steps(
    table: Tabular,
    learner: Learner | str = DEFAULT,
    *,
    lams: int | Iterable[float] = VALUES,
    test: Tabular | None = None,
    test_fraction: float = TEST_FRACTION,
    folds: int | None = None,
    truth: Edges | None = None,
    seed: int = 0,
    gamma: float = GAMMA,
    max_edges: int | None = None,
    every_step: bool = False,
) -> Iterator[LamPath]:
    """Yield the path of :func:`lam_path` after each λ.

    The last value equals that of :func:`lam_path`; the generator may be closed earlier. With
    `every_step` the latest value is yielded again after each activation step of the learner, so
    that a scheduler can interleave other work. The first value has no points; it is yielded when
    the values of λ are computed. Parameters except `lams` are checked at the call.

    Examples
    --------
    >>> from graftviz.evaluation.selection import lam_path_steps
    >>> [len(path.points) for path in lam_path_steps(survey, gv.BestChoice(), lams=[0.05, 0.02])]
    [0, 1, 2]
    """
    task = _task(table, learner, test, test_fraction, folds, truth, seed, gamma, max_edges)
    return _steps(task, lams, every_step)


def _task(
    table: Tabular,
    learner: Learner | str,
    test: Tabular | None,
    test_fraction: float,
    folds: int | None,
    truth: Edges | None,
    seed: int,
    gamma: float,
    max_edges: int | None,
) -> _Task:
    table, learner = table_and_learner(table, learner)
    lam_option(learner)
    learner.check(table)
    seed = checked_seed(seed)
    check_gamma(gamma)
    n = table.n_variables
    if max_edges is not None and max_edges < 1:
        raise InputError(f"A path needs room for at least one edge; max_edges is {max_edges}.")
    if test is not None and folds is not None:
        raise InputError("A path holds out either given test rows or folds, not both.")
    train = table
    if folds is not None:
        parts = _folds(table, folds, seed)
    elif test is not None:
        test = checked_test(table, test)
        parts = ((table, test),)
    else:
        train, held = table.split(test_fraction, seed=seed)
        learner.check(train)
        parts = ((train, held),)
    return _Task(
        learner=learner,
        train=train,
        parts=parts,
        folds=folds,
        truth=None if truth is None else checked_edges(truth, table.names),
        seed=seed,
        gamma=float(gamma),
        max_edges=EDGES_A_VARIABLE * n if max_edges is None else int(max_edges),
    )


def _folds(
    table: DiscreteTable, folds: int, seed: int
) -> tuple[tuple[DiscreteTable, DiscreteTable], ...]:
    if isinstance(folds, bool) or not 2 <= folds <= table.n_rows // 2:
        raise InputError(
            f"{table.n_rows:,} rows can be divided into 2 to {table.n_rows // 2:,} folds; "
            f"got {folds}."
        )
    fold = stream(seed, _FOLDS).permutation(table.n_rows) % folds
    return tuple((table.rows(fold != k), table.rows(fold == k)) for k in range(folds))


def _steps(task: _Task, lams: int | Iterable[float], every_step: bool) -> Iterator[LamPath]:
    path = _started(task, lams)
    yield path
    for lam in path.planned:
        steps = _point_steps(task, lam)
        while True:
            try:
                next(steps)
            except StopIteration as stop:
                path = _extended(path, stop.value)
                break
            if every_step:
                yield path
        yield path
        if path.stop_reason:
            return


def _started(task: _Task, lams: int | Iterable[float]) -> LamPath:
    return LamPath(
        learner=task.learner,
        seed=task.seed,
        n_rows=task.train.n_rows,
        n_rows_test=sum(held.n_rows for _, held in task.parts),
        folds=task.folds,
        gamma=task.gamma,
        max_edges=task.max_edges,
        planned=lam_values(task.learner, task.train, lams, task.seed),
        points=(),
        stop_reason="",
    )


def _extended(path: LamPath, point: PathPoint | None) -> LamPath:
    """Return `path` with the next point, or part_outcome if `point` is None."""
    lam = path.planned[len(path.points)]
    if point is None:
        return replace(
            path,
            stop_reason=f"The path ends before λ = {lam:g}, which gives more than "
            f"{path.max_edges:,} edges.",
        )
    points = (*path.points, point)
    reason = ""
    if len(points) == len(path.planned):
        reason = f"All {len(points)} values of λ were visited."
    elif _is_rising(points):
        reason = (
            f"The path ends at λ = {lam:g}: held-out NLPL and EBIC have both been rising for "
            f"{RISING} values."
        )
    return replace(path, points=points, stop_reason=reason)


def _is_rising(points: tuple[PathPoint, ...]) -> bool:
    last = points[-RISING - 1 :]
    return len(last) > RISING and all(
        after.nlpl_test > before.nlpl_test and after.ebic > before.ebic
        for before, after in pairwise(last)
    )


def _point(task: _Task, lam: float) -> PathPoint | None:
    return drained(_point_steps(task, lam))


def _point_steps(task: _Task, lam: float) -> Generator[Step, None, PathPoint | None]:
    """Run the learner at one λ, yielding its steps; return None if a run has too many edges."""
    learner = with_lam(task.learner, lam)
    outcome = yield from fit_steps(learner, task.train, task.seed, max_edges=task.max_edges)
    if outcome is None:
        return None
    model = outcome.model()
    losses = []
    for part, held in task.parts:
        part_model = model
        if part is not task.train:
            part_outcome = yield from fit_steps(learner, part, task.seed, max_edges=task.max_edges)
            if part_outcome is None:
                return None
            part_model = part_outcome.model()
        losses.append(nlpl(part_model, held) * held.total_weight)
    nlpl_train = nlpl(model, task.train)
    found = EdgeMetrics(None, None, None)
    if task.truth is not None:
        found = recall_precision_f1(model.edges.tolist(), task.truth.tolist())
    return PathPoint(
        lam=lam,
        n_edges=model.n_edges,
        weights=free_weights(model),
        objective=outcome.objective,
        nlpl_train=nlpl_train,
        nlpl_test=sum(losses) / sum(held.total_weight for _, held in task.parts),
        ebic=extended_bic(model, nlpl_train, task.train.total_weight, gamma=task.gamma),
        **found._asdict(),
        stop_reason=outcome.stop_reason,
        model=model,
    )
