"""The learner at one λ after the other, and which of them is best.

The two criteria answer two questions. The held-out NLPL asks which model predicts best, and a few
edges too many hardly hurt a prediction; the EBIC asks which graph is right, and charges for every
edge.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from graftviz.errors import InputError
from graftviz.learners.base import Learner, checked_seed
from graftviz.metrics import EdgeMetrics, negative_log_pseudo_likelihood, recall_precision_f1
from graftviz.model import PairwiseMRF
from graftviz.parallel import parallel_map
from graftviz.runs import check_test, checked_edges
from graftviz.selection.fits import fit_steps, stream
from graftviz.selection.grid import VALUES, lam_option, lam_values, with_lam
from graftviz.selection.information import GAMMA, check_gamma, extended_bic, free_weights
from graftviz.table import DiscreteTable
from graftviz.trace import Step

HELD_OUT = 0.2
RISING = 3  # values of λ for which a criterion has to rise before it is given up
EDGES_A_VARIABLE = 10  # default limit on the edges of a run

_FOLDS = 0  # the stream of random numbers that divides the rows


class PathPoint(NamedTuple):
    """What came of one λ.

    Attributes
    ----------
    lam : float
    edges : int
    weights : int
        Free weights of the edges, Σ (s_i − 1)(s_j − 1).
    objective : float
        What the learner minimised (nats per row).
    nlpl_train, nlpl_held_out : float
        Negative log pseudo-likelihood of the rows that were learned from, and of those that were
        not (nats per row).
    ebic : float
        See :func:`graftviz.selection.information.extended_bic`; over 2 N it is on NLPL's scale.
    recall, precision, f1 : float or None
        Against the true edges, where these are known.
    stop_reason : str
        Of the learner; a sentence.
    model : PairwiseMRF
    """

    lam: float
    edges: int
    weights: int
    objective: float
    nlpl_train: float
    nlpl_held_out: float
    ebic: float
    recall: float | None
    precision: float | None
    f1: float | None
    stop_reason: str
    model: PairwiseMRF


@dataclass(frozen=True, eq=False)
class LamPath:
    """A learner at decreasing values of λ, so far or as a whole.

    Attributes
    ----------
    learner : Learner
        As it was given; its λ plays no part.
    seed : int
    rows, rows_held_out : int
        Learned from and held out, for each λ; with folds every row is both.
    folds : int or None
    gamma : float
        γ of the EBIC.
    most_edges : int
        A run with more edges is given up, and the path ends before it.
    planned : tuple of float
        All values of λ, largest first; the path may end before the last.
    points : tuple of PathPoint
        One per λ visited, in that order.
    stop_reason : str
        A sentence; empty while the path goes on.
    """

    learner: Learner
    seed: int
    rows: int
    rows_held_out: int
    folds: int | None
    gamma: float
    most_edges: int
    planned: tuple[float, ...]
    points: tuple[PathPoint, ...]
    stop_reason: str

    @property
    def best_by_nlpl(self) -> PathPoint | None:
        """The point of the smallest held-out NLPL (of equals, the larger λ); None without one."""
        return min(self.points, key=lambda point: point.nlpl_held_out, default=None)

    @property
    def best_by_ebic(self) -> PathPoint | None:
        """The point of the smallest EBIC (of equals, the larger λ); None without one."""
        return min(self.points, key=lambda point: point.ebic, default=None)

    def at(self, point: PathPoint) -> Learner:
        """Return the learner with the λ of `point`."""
        return with_lam(self.learner, point.lam)

    def summary(self) -> dict[str, Any]:
        """Return the facts for a record: plain numbers, texts and None."""

        def facts(point: PathPoint | None) -> dict[str, Any] | None:
            return None if point is None else {"lam": point.lam, "edges": point.edges}

        return {
            "values": len(self.points),
            "planned": len(self.planned),
            "largest": self.planned[0],
            "smallest": self.points[-1].lam if self.points else None,
            "rows": self.rows,
            "rows_held_out": self.rows_held_out,
            "folds": self.folds,
            "gamma": self.gamma,
            "best_by_nlpl": facts(self.best_by_nlpl),
            "best_by_ebic": facts(self.best_by_ebic),
            "stop_reason": self.stop_reason,
        }


class _Task(NamedTuple):
    """Everything that decides what a path gives."""

    learner: Learner
    train: DiscreteTable
    parts: tuple[tuple[DiscreteTable, DiscreteTable], ...]  # learned from and held out
    folds: int | None
    truth: np.ndarray | None
    seed: int
    gamma: float
    most_edges: int


def lam_path(
    table: DiscreteTable,
    learner: Learner,
    *,
    lams: int | Iterable[float] = VALUES,
    test: DiscreteTable | None = None,
    held_out: float = HELD_OUT,
    folds: int | None = None,
    truth: Iterable[Iterable[int]] | np.ndarray | None = None,
    seed: int = 0,
    gamma: float = GAMMA,
    most_edges: int | None = None,
    jobs: int | None = 1,
    on_done: Callable[[int, int], Any] | None = None,
) -> LamPath:
    """Run `learner` at decreasing values of λ and measure each.

    The path ends before the last value when both criteria have been rising for :data:`RISING`
    values on end, or when a run wants more than `most_edges` edges: what would follow is slower
    and worse.

    Parameters
    ----------
    table : DiscreteTable
    learner : Learner
        Any with an option ``lam``, whose value plays no part. An edge budget of its own holds at
        every λ, so better leave it out.
    lams : int or iterable of float
        Values of λ, or how many: see :func:`graftviz.selection.grid.lam_values`.
    test : DiscreteTable, optional
        Rows to hold out. A choice of λ has then seen them: a test of the final model needs others.
    held_out : float
        Without `test`: the share of the rows to hold out.
    folds : int, optional
        Instead: so many parts, each held out once; nothing but the held-out NLPL comes from the
        runs without it, all else from a run on the whole table.
    truth : int array-like, shape (k, 2), optional
        The true edges; they are measured against and decide nothing.
    seed : int
        Decides held-out rows and learners' draws; the same for any number of jobs.
    gamma : float
        γ of the EBIC.
    most_edges : int, optional
        Default: ten a variable.
    jobs : int, optional
        1: one value after the other. Else see :func:`graftviz.parallel.parallel_map`: all values
        are run side by side, those behind the end of the path in vain; what is returned is the
        same.
    on_done : callable, optional
        Called as ``on_done(done, of)`` after each value.

    Raises
    ------
    InputError
        When the learner has no option ``lam``, learner and table do not go together, or a value is
        out of range.
    """
    task = _task(table, learner, test, held_out, folds, truth, seed, gamma, most_edges)
    if jobs == 1:
        for path in _steps(task, lams, every_step=False):
            if on_done is not None and path.points:
                on_done(len(path.points), len(path.planned))
        return path
    path = _started(task, lams)
    points = parallel_map(_point, path.planned, shared=task, jobs=jobs, on_done=on_done)
    for point in points:
        if not path.stop_reason:
            path = _extended(path, point)
    return path


def lam_path_steps(
    table: DiscreteTable,
    learner: Learner,
    *,
    lams: int | Iterable[float] = VALUES,
    test: DiscreteTable | None = None,
    held_out: float = HELD_OUT,
    folds: int | None = None,
    truth: Iterable[Iterable[int]] | np.ndarray | None = None,
    seed: int = 0,
    gamma: float = GAMMA,
    most_edges: int | None = None,
    every_step: bool = False,
) -> Iterator[LamPath]:
    """Do what :func:`lam_path` does one λ at a time, yielding the path so far.

    The last value is that of :func:`lam_path`; closing the generator earlier is allowed. With
    `every_step` the latest value is yielded again after each activation step of the learner, for
    callers that share their thread with others. The first value has no points: it comes when the
    values of λ have been found. Parameters are checked when it is called, except for `lams`.
    """
    task = _task(table, learner, test, held_out, folds, truth, seed, gamma, most_edges)
    return _steps(task, lams, every_step)


def _task(
    table: DiscreteTable,
    learner: Learner,
    test: DiscreteTable | None,
    held_out: float,
    folds: int | None,
    truth: Iterable[Iterable[int]] | np.ndarray | None,
    seed: int,
    gamma: float,
    most_edges: int | None,
) -> _Task:
    lam_option(learner)
    learner.check(table)
    seed = checked_seed(seed)
    check_gamma(gamma)
    n = table.n_variables
    if most_edges is not None and most_edges < 1:
        raise InputError(f"A path needs room for at least one edge; most_edges is {most_edges}.")
    if test is not None and folds is not None:
        raise InputError("A path holds out either given test rows or folds, not both.")
    train = table
    if folds is not None:
        parts = _folds(table, folds, seed)
    elif test is not None:
        check_test(table, test)
        parts = ((table, test),)
    else:
        train, held = table.split(held_out, seed=seed)
        learner.check(train)
        parts = ((train, held),)
    return _Task(
        learner=learner,
        train=train,
        parts=parts,
        folds=folds,
        truth=None if truth is None else checked_edges(truth, n),
        seed=seed,
        gamma=float(gamma),
        most_edges=EDGES_A_VARIABLE * n if most_edges is None else int(most_edges),
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
        rows=task.train.n_rows,
        rows_held_out=sum(held.n_rows for _, held in task.parts),
        folds=task.folds,
        gamma=task.gamma,
        most_edges=task.most_edges,
        planned=lam_values(task.learner, task.train, lams, task.seed),
        points=(),
        stop_reason="",
    )


def _extended(path: LamPath, point: PathPoint | None) -> LamPath:
    """Return `path` with the next point, or ended where there is none."""
    lam = path.planned[len(path.points)]
    if point is None:
        return replace(
            path,
            stop_reason=f"The path ends before λ = {lam:g}, which gives more than "
            f"{path.most_edges:,} edges.",
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
        after.nlpl_held_out > before.nlpl_held_out and after.ebic > before.ebic
        for before, after in pairwise(last)
    )


def _point(task: _Task, lam: float) -> PathPoint | None:
    steps = _point_steps(task, lam)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            point: PathPoint | None = stop.value
            return point


def _point_steps(task: _Task, lam: float) -> Generator[Step, None, PathPoint | None]:
    """Run the learner at one λ, yielding its steps; None when a run has too many edges."""
    learner = with_lam(task.learner, lam)
    outcome = yield from fit_steps(learner, task.train, task.seed, most_edges=task.most_edges)
    if outcome is None:
        return None
    model = outcome.model()
    losses = []
    for part, held in task.parts:
        its_model = model
        if part is not task.train:
            ended = yield from fit_steps(learner, part, task.seed, most_edges=task.most_edges)
            if ended is None:
                return None
            its_model = ended.model()
        losses.append(negative_log_pseudo_likelihood(its_model, held) * held.n_rows)
    nlpl_train = negative_log_pseudo_likelihood(model, task.train)
    found = EdgeMetrics(None, None, None)
    if task.truth is not None:
        found = recall_precision_f1(model.edges.tolist(), task.truth.tolist())
    return PathPoint(
        lam=lam,
        edges=model.n_edges,
        weights=free_weights(model),
        objective=outcome.objective,
        nlpl_train=nlpl_train,
        nlpl_held_out=sum(losses) / sum(held.n_rows for _, held in task.parts),
        ebic=extended_bic(model, nlpl_train, task.train.n_rows, gamma=task.gamma),
        **found._asdict(),
        stop_reason=outcome.stop_reason,
        model=model,
    )
