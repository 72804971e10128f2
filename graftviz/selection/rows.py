"""Runs of a learner on more and more of the rows: how much data a graph needs."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from graftviz.counts import PairCounts
from graftviz.errors import InputError
from graftviz.learners.base import Learner, checked_seed
from graftviz.learners.registry import DEFAULT, table_and_learner
from graftviz.metrics import nlpl
from graftviz.model import PairwiseMRF
from graftviz.runs import Edges, checked_edges, checked_test
from graftviz.selection.fits import fit_steps, seed_of
from graftviz.table import DiscreteTable, Tabular

SIZES = 8
SUBSETS = 3
FEWEST_ROWS = 50  # below, most pairs of states have no row


class RowsRun(NamedTuple):
    """Result of one run.

    Attributes
    ----------
    n_edges : int
    missing, false : int
        Edges of the reference that are not in the model, and edges of the model that are not in
        the reference.
    nlpl_test : float or None
        Negative log pseudo-likelihood of the held-out rows, if there are any (nats per row).
    lam : float or None
        The λ that was used; None for a learner without λ.
    """

    n_edges: int
    missing: int
    false: int
    nlpl_test: float | None
    lam: float | None

    @property
    def error(self) -> int:
        """Structure error: missing plus false edges."""
        return self.missing + self.false


class RowsPoint(NamedTuple):
    """Results at one number of rows; all rows are learned from once, as there is one such set."""

    n_rows: int
    runs: tuple[RowsRun, ...]

    def values(self, name: str) -> list[float]:
        """Return an attribute of all runs, without those that do not have it."""
        found = (getattr(run, name) for run in self.runs)
        return [float(value) for value in found if value is not None]

    def mean(self, name: str) -> float | None:
        """Return the mean of an attribute over the runs; None if they do not have it."""
        values = self.values(name)
        return float(np.mean(values)) if values else None


@dataclass(frozen=True, eq=False)
class RowsCurve:
    """Results of a learner at increasing numbers of rows, complete or in progress.

    Attributes
    ----------
    learner : Learner
    seed : int
    subsets : int
        Number of random sets of rows at each number but the last.
    has_truth : bool
        Whether the reference are the true edges; otherwise it is the graph learned from all rows.
    planned : tuple of int
        Numbers of rows, ascending; the last are all rows.
    points : tuple of RowsPoint
        One for each number of rows so far, in that order.
    """

    learner: Learner
    seed: int
    subsets: int
    has_truth: bool
    planned: tuple[int, ...]
    points: tuple[RowsPoint, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all numbers of rows were visited."""
        return len(self.points) == len(self.planned)


def row_sizes(rows: int, sizes: int = SIZES, fewest: int = FEWEST_ROWS) -> tuple[int, ...]:
    """Return about `sizes` numbers of rows from `fewest` to `rows`, evenly spaced on a log scale.

    Raises
    ------
    InputError
        If there are not more than `fewest` rows, or fewer than two sizes.
    """
    if sizes < 2:
        raise InputError(f"A curve over the rows needs at least 2 sizes; got {sizes}.")
    if not 0 < fewest < rows:
        raise InputError(f"A curve over the rows needs more than {fewest:,} rows; got {rows:,}.")
    return tuple(sorted({round(size) for size in np.geomspace(fewest, rows, sizes)}))


def rows_curve_steps(
    table: Tabular,
    learner: Learner | str = DEFAULT,
    *,
    sizes: int = SIZES,
    subsets: int = SUBSETS,
    test: Tabular | None = None,
    truth: Edges | None = None,
    seed: int = 0,
    every_step: bool = False,
) -> Iterator[RowsCurve]:
    """Run `learner` on samples of the rows and yield the curve after each number of rows.

    A sample of fewer rows is a subset of the next one; see :meth:`DiscreteTable.sample`, which
    draws the first of the `subsets` with `seed`. A λ that is set is used for all numbers of rows;
    an automatic one depends on the rows.

    Parameters
    ----------
    table : DiscreteTable, DataFrame, array or DataSet
    learner : Learner or str
    sizes, subsets : int
        Numbers of rows, and of samples at each.
    test : DiscreteTable, optional
        Held-out rows.
    truth : array-like of shape (k, 2) or DataFrame, optional
        The true edges by name or position, used for metrics only.
    seed : int
        Seed of the samples and of the learner.
    every_step : bool
        Whether the latest value is yielded again after each step of the learner, so that a
        scheduler can interleave other work.

    Raises
    ------
    InputError
        If there are too few rows, or learner and table are incompatible; at the call.
    """
    table, learner = table_and_learner(table, learner)
    learner.check(table)
    if subsets < 1:
        raise InputError(f"A curve over the rows needs at least 1 subset; got {subsets}.")
    if test is not None:
        test = checked_test(table, test)
    reference = None if truth is None else checked_edges(truth, table.names)
    curve = RowsCurve(
        learner=learner,
        seed=checked_seed(seed),
        subsets=subsets,
        has_truth=reference is not None,
        planned=row_sizes(table.n_rows, sizes),
        points=(),
    )
    return _steps(curve, table, test, reference, every_step)


def _steps(
    curve: RowsCurve,
    table: DiscreteTable,
    test: DiscreteTable | None,
    reference: np.ndarray | None,
    every_step: bool,
) -> Iterator[RowsCurve]:
    yield curve
    whole = yield from _learned(curve, table, every_step)
    true = _pairs(whole.edges if reference is None else reference)

    def measured(model: PairwiseMRF, rows: DiscreteTable) -> RowsRun:
        found = _pairs(model.edges)
        loss = None if test is None else nlpl(model, test)
        lam = _used_lam(curve.learner, rows)
        return RowsRun(len(found), len(true - found), len(found - true), loss, lam)

    for size in curve.planned[:-1]:
        runs: list[RowsRun] = []
        for k in range(curve.subsets):
            sample = table.sample(size, curve.seed if k == 0 else seed_of(curve.seed, k))
            model = yield from _learned(curve, sample, every_step)
            runs.append(measured(model, sample))
        curve = replace(curve, points=(*curve.points, RowsPoint(size, tuple(runs))))
        yield curve
    last = RowsPoint(table.n_rows, (measured(whole, table),))
    yield replace(curve, points=(*curve.points, last))


def _learned(
    curve: RowsCurve, table: DiscreteTable, every_step: bool
) -> Generator[RowsCurve, None, PairwiseMRF]:
    """Run the learner and return its model, yielding the curve after each step if required."""
    steps = fit_steps(curve.learner, table, curve.seed)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            model: PairwiseMRF = stop.value.model()
            return model
        if every_step:
            yield curve


def _pairs(edges: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(sorted(edge)) for edge in np.asarray(edges).tolist()}


def _used_lam(learner: Learner, table: DiscreteTable) -> float | None:
    """Return the λ of a run on a table: the one that is set, or else the automatic one."""
    lam = getattr(learner, "lam", None)
    return learner.automatic(PairCounts(table)).get("lam") if lam is None else lam
