"""Runs of a learner, which collect steps and metrics; learners depend on neither."""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from graftviz.data.reading.reading import Tabular, as_table
from graftviz.data.table import DiscreteTable
from graftviz.inference.likelihood import nlpl
from graftviz.inference.prediction import PairwiseMRF, Predictor
from graftviz.learning.base import Learner
from graftviz.learning.observer import MetricsObserver, Quality, StepMetrics, quality_of
from graftviz.learning.registry import DEFAULT, table_and_learner
from graftviz.learning.trace import Certificate, Outcome, Seconds, Step, Trace
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.arrays import read_only
from graftviz.utils.cold_start import announced
from graftviz.utils.errors import InputError
from graftviz.utils.options import checked_seed
from graftviz.utils.wording import nearest, quoted

# True edges: pairs of variables, each by name or position.
Edges = Iterable[Iterable[int | str]] | np.ndarray | pd.DataFrame


class Branch(NamedTuple):
    """Change of options during a run: `learner` applies after step `at` (0: from the start)."""

    at: int
    learner: Learner


R = TypeVar("R", bound="LearningResult")


@dataclass(frozen=True, eq=False, repr=False)
class LearningResult(Predictor):
    """Result of a run, completed or interrupted; see :class:`graftviz.Result`."""

    learner: Learner
    branch: Branch | None
    seed: int
    n_variables: int
    n_rows: int
    n_rows_test: int
    fingerprint: str
    model: PairwiseMRF
    trace: Trace
    start: StepMetrics
    metrics: tuple[StepMetrics, ...]
    converged: bool
    certificate: Certificate | None
    objective: float
    kkt_residual: float
    bp_restart_gap: float | None
    recall: float | None
    precision: float | None
    f1: float | None
    nlpl_train: float
    nlpl_test: float | None
    tests: int
    tables_counted: int
    tables_possible: int
    pairs_screened: int
    n_edges: int
    seconds: Seconds
    run: LearningRun | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A run has a generator and the training rows.
        return {**vars(self), "run": None}

    @property
    def edges(self) -> np.ndarray:
        """Edges of the model, shape (n_edges, 2), read-only."""
        return self.model.edges

    @cached_property
    def quality(self) -> Quality | None:
        """How well the model predicts rows; computed when first read.

        None after pickling, unless it was read before.
        """
        if self.run is None:
            return None
        outcome = self.trace.outcome
        held_out = None if outcome is None else outcome.held_out
        may_be_shrunk = outcome is None or outcome.objective_name != "exact likelihood"
        loss = self.nlpl_train if self.nlpl_test is None else self.nlpl_test
        rows = self.run.table, self.run.test
        return quality_of(self.model, *rows, held_out, loss=loss, fits_again=may_be_shrunk)

    def _model(self) -> PairwiseMRF:
        return self.model

    def __repr__(self) -> str:
        held_out = "" if self.nlpl_test is None else f", NLPL {self.nlpl_test:.6g} on held-out rows"
        return (
            f"<Result of {self.learner.name}: {self.n_edges:,} edges among {self.n_variables:,} "
            f"variables from {self.n_rows:,} rows in {len(self.trace):,} steps{held_out}>"
        )


class LearningRun:
    """Run of a learner on a table, one activation step at a time; see :class:`graftviz.Run`."""

    def __init__(
        self,
        table: Tabular,
        learner: Learner | str = DEFAULT,
        *,
        seed: int = 0,
        test: Tabular | None = None,
        truth: Edges | None = None,
        branch: tuple[int, Learner] | None = None,
    ) -> None:
        table, learner = table_and_learner(table, learner)
        learner.check(table)
        if test is not None:
            test = checked_test(table, test)
        change = None if branch is None else _checked_branch(learner, branch)
        if change is not None:
            change.learner.check(table)
        self.table = table
        self.learner = learner
        self.seed = checked_seed(seed)
        self.test = test
        self.truth = None if truth is None else checked_edges(truth, table.names)
        self.branch = change
        self.steps: list[Step] = []
        self.metrics: list[StepMetrics] = []
        self.start: StepMetrics | None = None
        self.final: StepMetrics | None = None
        self.outcome: Outcome | None = None
        first = change.learner if change is not None and change.at == 0 else learner
        self._generator: Generator[Step, Learner | None, Outcome] = first.steps(
            table, seed=self.seed
        )
        self._observer: MetricsObserver | None = None
        self._result: LearningResult | None = None

    @property
    def tests(self) -> int:
        """Number of edge tests of all steps, or of the whole run if it has no step.

        The tests after the last step prove its end; they are the certificate's.
        """
        if self.steps:
            return self.steps[-1].tests_total
        return 0 if self.outcome is None else self.outcome.tests

    @property
    def branched(self) -> bool:
        """Whether the options of the branch apply at the next step."""
        return self.branch is not None and len(self.steps) >= self.branch.at

    def advance(self) -> bool:
        """Make one activation step; return False, changing nothing, if the run has ended."""
        if self.outcome is not None:
            return False
        try:
            step = self._next_step()
        except StopIteration as stop:
            # After an exception the generator ends without an outcome.
            if stop.value is not None:
                self._end(stop.value)
            return False
        observer = self._observer
        if observer is None:
            observer = self._observe_from(step.history.start)
        self.metrics.append(observer.observe(step))
        self.steps.append(step)
        return True

    def __repr__(self) -> str:
        state = "ended" if self.outcome is not None else "not ended"
        return (
            f"<Run of {self.learner.name} on {self.table.n_variables:,} variables: "
            f"{len(self.steps):,} steps, {state}>"
        )

    def result(self) -> LearningResult:
        """Return the result so far; see :meth:`graftviz.Run.result`."""
        return self._made(LearningResult)

    def _made(self, kind: type[R]) -> R:
        """Return the result so far, computing the metrics on the training rows."""
        if not isinstance(self._result, kind) or self.outcome is None:
            self._result = _result(self, kind)
        return self._result

    def _next_step(self) -> Step:
        at = len(self.steps)
        if self.branch is not None and at == self.branch.at and at > 0:
            return self._generator.send(self.branch.learner)
        return next(self._generator)

    def _observe_from(self, start_model: PairwiseModel) -> MetricsObserver:
        self._observer = MetricsObserver(start_model, self.test, self.truth)
        self.start = self._observer.start
        return self._observer

    def _end(self, outcome: Outcome) -> None:
        observer = self._observer
        if observer is None:
            observer = self._observe_from(outcome.history.start)
        self.final = observer.observe_history(outcome.history)
        self.outcome = outcome


def finish(run: LearningRun, callback: Callable[[Step], Any] | None = None) -> None:
    """Advance a run to its end; the first run of an installation logs that it compiles kernels."""
    with announced(run.learner):
        while run.advance():
            if callback is not None:
                callback(run.steps[-1])


def learn_network(
    table: Tabular, learner: Learner | str = DEFAULT, **options: Any
) -> LearningResult:
    """Run `learner` on `table` to its end; the options are those of :class:`graftviz.Run`."""
    run = LearningRun(table, learner, **options)
    finish(run)
    return run.result()


def checked_edges(edges: Edges, names: Sequence[str], what: str = "True edges") -> np.ndarray:
    """Return distinct undirected edges as sorted rows i < j, int64, shape (k, 2), read-only.

    Parameters
    ----------
    edges : array-like of shape (k, 2), or DataFrame
        Pairs of variables, each by name or by position. The edges of a frame are in its first two
        columns.
    names : sequence of str
        Names of the variables.
    what : str
        What error messages call them.

    Raises
    ------
    InputError
        If an edge is no pair of two different variables.

    Examples
    --------
    >>> checked_edges([("c", "a"), (0, 2)], ["a", "b", "c"]).tolist()
    [[0, 2]]
    """
    if isinstance(edges, str):
        raise InputError(f"{what} must be pairs of variables; read a file with read_truth.")
    if isinstance(edges, pd.DataFrame):
        edges = edges.iloc[:, :2].itertuples(index=False, name=None)
    if type(edges) is np.ndarray and edges.dtype.kind in "iu" and edges.shape[1:] == (2,):
        rows: Any = edges
        array = np.clip(edges, -1, len(names)).astype(np.int64)
    else:
        rows = _edge_ends(edges, what)
        position = {name: i for i, name in enumerate(names)}
        pairs = [tuple(_position(end, position, what) for end in row) for row in rows]
        array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    bad = (array < 0).any(axis=1) | (array >= len(names)).any(axis=1) | (array[:, 0] == array[:, 1])
    if bad.any():
        k = int(np.argmax(bad))
        i, j = rows[k]
        problem = (
            "joins a variable with itself"
            if array[k, 0] == array[k, 1]
            else f"is no pair of variables 0 … {len(names) - 1}"
        )
        raise InputError(f"{what}: number {k + 1}, ({i}, {j}), {problem}.")
    return read_only(np.unique(np.sort(array, axis=1), axis=0))


def _edge_ends(edges: Iterable[Any], what: str) -> list[tuple[Any, ...]]:
    """Return both ends of every edge."""
    try:
        rows = [(edge,) if isinstance(edge, str) else tuple(edge) for edge in edges]
    except TypeError:
        rows = [()]
    if any(len(row) != 2 for row in rows):
        raise InputError(f"{what} must be pairs of variables.")
    return rows


def _position(variable: Any, position: Mapping[str, int], what: str) -> int:
    """Return the position of a variable that is given by name or by position."""
    if isinstance(variable, str):
        if variable not in position:
            hint = nearest(variable, position)
            tail = f"; {hint}" if hint else "."
            raise InputError(f"{what} name {quoted(variable)}, which is no variable{tail}")
        return position[variable]
    try:
        return min(max(operator.index(variable), -1), len(position))
    except TypeError:
        raise InputError(
            f"{what} must be given by the names of variables, or by whole numbers, the "
            f"positions of columns, not by {variable!r}."
        ) from None


def checked_test(table: DiscreteTable, test: Tabular) -> DiscreteTable:
    """Return held-out rows as a table with the columns and the codes of `table`.

    Raises
    ------
    InputError
        If they have others.
    """
    test = as_table(test, table, name="test")
    if test.names != table.names:
        raise InputError(
            "The test rows have other columns than the training rows: "
            f"{_first_difference(table.names, test.names)}."
        )
    for name, expected, got in zip(table.names, table.labels, test.labels, strict=True):
        if expected != got:
            raise InputError(
                f"Column {name!r} of the test rows is coded differently from the training rows: "
                f"{_first_difference(expected, got)}."
            )
    return test


def _first_difference(expected: tuple[str, ...], got: tuple[str, ...]) -> str:
    for k, (a, b) in enumerate(zip(expected, got, strict=False)):
        if a != b:
            return f"number {k + 1} is {b!r} instead of {a!r}"
    return f"there are {len(got)} instead of {len(expected)}"


def _checked_branch(learner: Learner, branch: tuple[int, Learner]) -> Branch:
    if not isinstance(branch, tuple) or len(branch) != 2:
        raise InputError("A branch is a pair: a step, and the learner whose options follow it.")
    at, changed = branch
    if at < 0:
        raise InputError(f"A run cannot branch at step {at}; steps count from 0.")
    if type(changed) is not type(learner):
        title = getattr(changed, "title", type(changed).__name__)
        raise InputError(
            f"A run of {learner.title} can only continue as {learner.title} with other options, "
            f"not as {title}."
        )
    return Branch(at, changed)


# Attributes of a result that outcomes and steps have, and those that only outcomes have.
_MEASURED = (
    *("objective", "kkt_residual", "tables_counted", "tables_possible", "pairs_screened"),
    "seconds",
)
_AT_THE_END = ("converged", "certificate", "bp_restart_gap")


def _result(run: LearningRun, kind: type[R]) -> R:
    # Counted first, as an interrupt may have occurred between a step's metrics and the step.
    count = len(run.steps)
    trace = Trace(tuple(run.steps[:count]), run.outcome)
    latest: Outcome | Step
    if run.outcome is not None:
        latest, metrics = run.outcome, run.final
        ending = {name: getattr(run.outcome, name) for name in _AT_THE_END}
    elif count:
        latest, metrics = run.steps[count - 1], run.metrics[count - 1]
        ending = {**dict.fromkeys(_AT_THE_END), "converged": False}
    else:
        raise ValueError("a run has no result before its first step")
    model = latest.model()
    measured = {name: getattr(latest, name) for name in _MEASURED}
    # Both are set: `start` with the first step, `metrics` with the step or the outcome.
    assert run.start is not None
    assert metrics is not None
    return kind(
        learner=run.learner,
        branch=run.branch if run.branched else None,
        seed=run.seed,
        n_variables=run.table.n_variables,
        n_rows=run.table.n_rows,
        n_rows_test=0 if run.test is None else run.test.n_rows,
        fingerprint=run.table.fingerprint,
        model=model,
        trace=trace,
        start=run.start,
        metrics=tuple(run.metrics[:count]),
        **metrics._asdict(),
        nlpl_train=nlpl(model, run.table),
        tests=run.tests,
        n_edges=model.n_edges,
        run=run,
        **measured,
        **ending,
    )
