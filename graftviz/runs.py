"""Runs of a learner: a Run collects steps and metrics, and `learn` returns the Result.

This module imports metrics and learners; learners depend on neither.
"""

from __future__ import annotations

import html
import operator
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from graftviz.arrays import read_only
from graftviz.cold_start import announced
from graftviz.discovery import later
from graftviz.errors import InputError
from graftviz.learners.base import Learner, checked_seed
from graftviz.learners.registry import DEFAULT, table_and_learner
from graftviz.metrics import MetricsObserver, StepMetrics, nlpl
from graftviz.model import PairwiseMRF
from graftviz.predictor import Predictor
from graftviz.table import DiscreteTable, Tabular, as_table
from graftviz.trace import Certificate, Outcome, Seconds, Step, Trace
from graftviz.wording import nearest, quoted

# True edges: pairs of variables, each by name or position.
Edges = Iterable[Iterable[int | str]] | np.ndarray | pd.DataFrame


@dataclass(frozen=True)
class Branch:
    """Change of options during a run: `learner` applies after step `at` (0: from the start).

    Examples
    --------
    >>> branch = gv.Branch(at=3, learner=gv.BestChoice(max_edges=6))
    >>> run = gv.Run(survey, gv.BestChoice(), branch=branch)
    >>> while run.advance():
    ...     pass
    >>> run.result().model.n_edges
    6
    """

    at: int
    learner: Learner


class AbsentPair(NamedTuple):
    """Pair of variables that is not an edge although its rows are dependent, and why.

    Attributes
    ----------
    source, target : int
        source < target.
    strength : float
        Distance of the rows of both variables from independence, as a multiple of what independent
        variables exceed at the level of the run, or at the usual one if only λ decides. Up to 1,
        chance may explain it.
    reason : str
        "forbidden" by the options; "violates": the run ended first; "unscored": its score is
        undefined; "third": a third variable explains it; "edges": all edges together explain it;
        "rare": too few rows are in the states that deviate; "rows": too weak for these rows.
    third : int or None
        The third variable.
    words : str
        The reason, in sentences.

    Examples
    --------
    >>> gv.learn(survey, gv.BestChoice(max_edges=10)).not_found[0].reason
    'violates'
    """

    source: int
    target: int
    strength: float
    reason: str
    third: int | None
    words: str


@dataclass(frozen=True, eq=False, repr=False)
class Result(Predictor):
    """Result of a run, completed or interrupted.

    Attributes
    ----------
    learner : Learner
        The learner with its initial options.
    branch : Branch or None
        The change of options, if its step was reached.
    seed : int
    n_variables, n_rows, n_rows_test : int
        Size of the training table, and number of held-out rows (0: none).
    fingerprint : str
        Fingerprint of the training table.
    model : PairwiseMRF
    trace : Trace
    start : StepMetrics
        Metrics of the model without edges.
    metrics : tuple of StepMetrics
        One per step of the trace.
    stop_reason : str
        A sentence.
    converged : bool
        True only if the certificate proves it.
    certificate : Certificate or None
        None if the run was interrupted.
    objective, kkt_residual : float
        Values at `model`.
    bp_restart_gap : float or None
        See :class:`graftviz.trace.Outcome`.
    recall, precision, f1, nlpl_test : float or None
        Metrics of `model`; None if truth or held-out rows are missing, or a ratio is 0 / 0.
    nlpl_train : float
        Negative log pseudo-likelihood of the training rows (nats per row).
    tests : int
        Edge tests of all steps, as in the trace; those after the last step are counted by
        `certificate` (and here if there is no step).
    tables_counted, tables_possible, pairs_screened, n_edges : int
    seconds : Seconds
        Engine time, from counting to final fit and certificate.
    run : Run or None
        The run; None after pickling.

    Examples
    --------
    >>> result
    <Result of best-choice: 11 edges among 11 variables from 2,000 rows in 11 steps>
    >>> result.recall, result.precision, result.converged
    (1.0, 1.0, True)
    >>> result.predict({"home": "city", "exercise": "daily"}, target="commute")
    array(['bicycle'], dtype=object)
    """

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
    stop_reason: str
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
    run: Run | None = None

    def save(self, folder: Path | str, *, title: str = "Learned network") -> Path:
        """Write the files of ``graftviz learn --out``; :func:`graftviz.read_result` reads them.

        Parameters
        ----------
        folder : path
            Created if it does not exist; files of an earlier result are replaced.
        title : str
            Of the replay.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        InputError
            If the result has been pickled, which does not preserve its run.
        """
        found: Path = later("graftviz.formats.run_folder").save_result(self, folder, title)
        return found

    def __getstate__(self) -> dict[str, Any]:
        # A run has a generator and the training rows.
        return {**vars(self), "run": None}

    def _repr_html_(self) -> str:
        return repr_html(self.run, repr(self))

    @property
    def edges(self) -> np.ndarray:
        """Edges of the model, shape (n_edges, 2), read-only."""
        return self.model.edges

    @cached_property
    def not_found(self) -> tuple[AbsentPair, ...] | None:
        """Strongest pairs that are not edges, at most five, and why; computed when first read.

        None if the learner does not score pairs, if the rows are not in memory, for more than
        2,000 variables, and after pickling, unless it was read before.
        """
        if self.run is None:
            return None
        found: tuple[AbsentPair, ...] | None = later(
            "graftviz.narrative.not_found"
        ).strongest_absent(self.run)
        return found

    def _model(self) -> PairwiseMRF:
        return self.model

    def __repr__(self) -> str:
        held_out = "" if self.nlpl_test is None else f", NLPL {self.nlpl_test:.6g} on held-out rows"
        return (
            f"<Result of {self.learner.name}: {self.n_edges:,} edges among {self.n_variables:,} "
            f"variables from {self.n_rows:,} rows in {len(self.trace):,} steps{held_out}>"
        )


class Run:
    """Run of a learner on a table, one activation step at a time.

    Parameters
    ----------
    table : DiscreteTable, DataFrame, array or DataSet
        Training rows.
    learner : Learner or str
        A learner, or the name of one that has its default options.
    seed : int, optional
        The same seed gives the same run, in any process.
    test : DiscreteTable or DataFrame, optional
        Held-out rows with the codes of `table`, used for metrics only.
    truth : array-like of shape (k, 2) or DataFrame, optional
        The true edges as pairs of variables by name or position, used for metrics only.
    branch : Branch, optional
        Change of options during the run.

    Attributes
    ----------
    steps : list of Step
        Append-only, so it may be read while another thread advances the run.
    metrics : list of StepMetrics
        One per step, appended before its step.
    start : StepMetrics or None
        Metrics of the model without edges; None before the first step.
    final : StepMetrics or None
        Metrics of the polished model; None until the run has ended.
    outcome : Outcome or None
        None until the run has ended.

    Raises
    ------
    InputError
        If the table has fewer than two rows or variables, test or truth do not match it, the seed
        is negative, the branch is of another class than the learner, or the edge budget exceeds
        the number of pairs.

    Examples
    --------
    >>> run = gv.Run(survey, gv.BestChoice(max_edges=3))
    >>> while run.advance():
    ...     print(run.steps[-1].n_edges, run.steps[-1].activated[0].source)
    1 0
    2 3
    3 2
    >>> run.result()
    <Result of best-choice: 3 edges among 11 variables from 2,000 rows in 3 steps>
    """

    def __init__(
        self,
        table: Tabular,
        learner: Learner | str = DEFAULT,
        *,
        seed: int = 0,
        test: Tabular | None = None,
        truth: Edges | None = None,
        branch: Branch | None = None,
    ) -> None:
        table, learner = table_and_learner(table, learner)
        learner.check(table)
        if test is not None:
            test = checked_test(table, test)
        if branch is not None:
            _check_branch(learner, branch)
            branch.learner.check(table)
        self.table = table
        self.learner = learner
        self.seed = checked_seed(seed)
        self.test = test
        self.truth = None if truth is None else checked_edges(truth, table.names)
        self.branch = branch
        self.steps: list[Step] = []
        self.metrics: list[StepMetrics] = []
        self.start: StepMetrics | None = None
        self.final: StepMetrics | None = None
        self.outcome: Outcome | None = None
        first = branch.learner if branch is not None and branch.at == 0 else learner
        self._generator: Generator[Step, Learner | None, Outcome] = first.steps(
            table, seed=self.seed
        )
        self._observer: MetricsObserver | None = None
        self._result: Result | None = None

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

    def to_html(self, *, title: str = "Learned network") -> str:
        """Return a web page that replays the steps so far; it needs no server."""
        page: str = later("graftviz.formats.run_folder").run_html(self, title=title)
        return page

    def _repr_html_(self) -> str:
        return repr_html(self, repr(self))

    def __repr__(self) -> str:
        state = "ended" if self.outcome is not None else "not ended"
        return (
            f"<Run of {self.learner.name} on {self.table.n_variables:,} variables: "
            f"{len(self.steps):,} steps, {state}>"
        )

    def result(self) -> Result:
        """Return the result so far, computing the metrics on the training rows.

        Raises
        ------
        ValueError
            If called before the first step.
        """
        if self._result is None or self.outcome is None:
            self._result = _result(self)
        return self._result

    def _next_step(self) -> Step:
        at = len(self.steps)
        if self.branch is not None and at == self.branch.at and at > 0:
            return self._generator.send(self.branch.learner)
        return next(self._generator)

    def _observe_from(self, start_model: PairwiseMRF) -> MetricsObserver:
        self._observer = MetricsObserver(start_model, self.test, self.truth)
        self.start = self._observer.start
        return self._observer

    def _end(self, outcome: Outcome) -> None:
        observer = self._observer
        if observer is None:
            observer = self._observe_from(outcome.history.start)
        self.final = observer.observe_history(outcome.history)
        self.outcome = outcome


def repr_html(run: Run | None, text: str) -> str:
    """Return the replay of a run in a frame, below a line of text, for notebooks."""
    line = f"<p>{html.escape(text)}</p>"
    if run is None or (not run.steps and run.outcome is None):
        return line
    frame: str = later("graftviz.formats.run_folder").notebook_html(run, "Learned network")
    return line + frame


def learn(
    table: Tabular,
    learner: Learner | str = DEFAULT,
    *,
    seed: int = 0,
    test: Tabular | None = None,
    truth: Edges | None = None,
    callback: Callable[[Step], Any] | None = None,
) -> Result:
    """Run `learner` on `table` to its end and return the result.

    The first run of an installation logs that it compiles kernels, and for about how long.

    Parameters are those of :class:`Run`; `callback` is called with every step.

    Raises
    ------
    InputError
        See :class:`Run`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"rain": ["no", "yes"] * 50, "grass": ["dry", "wet"] * 50})
    >>> gv.learn(frame, "chow-liu", truth=[("rain", "grass")]).recall
    1.0
    """
    table, learner = table_and_learner(table, learner)
    with announced(learner.compilation()):
        run = Run(table, learner, seed=seed, test=test, truth=truth)
        while run.advance():
            if callback is not None:
                callback(run.steps[-1])
        return run.result()


def checked_edges(edges: Edges, names: Sequence[str]) -> np.ndarray:
    """Return distinct undirected edges as sorted rows i < j, int64, shape (k, 2), read-only.

    Parameters
    ----------
    edges : array-like of shape (k, 2), or DataFrame
        Pairs of variables, each by name or by position. The edges of a frame are in its first two
        columns.
    names : sequence of str
        Names of the variables.

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
        raise InputError("True edges must be pairs of variables; read a file with read_truth.")
    if isinstance(edges, pd.DataFrame):
        edges = edges.iloc[:, :2].itertuples(index=False, name=None)
    if type(edges) is np.ndarray and edges.dtype.kind in "iu" and edges.shape[1:] == (2,):
        rows: Any = edges
        array = np.clip(edges, -1, len(names)).astype(np.int64)
    else:
        rows = _edge_ends(edges)
        position = {name: i for i, name in enumerate(names)}
        pairs = [tuple(_position(end, position) for end in row) for row in rows]
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
        raise InputError(f"True edge number {k + 1}, ({i}, {j}), {problem}.")
    return read_only(np.unique(np.sort(array, axis=1), axis=0))


def _edge_ends(edges: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return both ends of every edge."""
    try:
        rows = [(edge,) if isinstance(edge, str) else tuple(edge) for edge in edges]
    except TypeError:
        rows = [()]
    if any(len(row) != 2 for row in rows):
        raise InputError("True edges must be pairs of variables.")
    return rows


def _position(variable: Any, position: Mapping[str, int]) -> int:
    """Return the position of a variable that is given by name or by position."""
    if isinstance(variable, str):
        if variable not in position:
            hint = nearest(variable, position)
            tail = f"; {hint}" if hint else "."
            raise InputError(f"True edges name {quoted(variable)}, which is no variable{tail}")
        return position[variable]
    try:
        return min(max(operator.index(variable), -1), len(position))
    except TypeError:
        raise InputError(
            "True edges must be given by the names of variables, or by whole numbers, the "
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


def _check_branch(learner: Learner, branch: Branch) -> None:
    if branch.at < 0:
        raise InputError(f"A run cannot branch at step {branch.at}; steps count from 0.")
    if type(branch.learner) is not type(learner):
        raise InputError(
            f"A run of {learner.title} can only continue as {learner.title} with other options, "
            f"not as {branch.learner.title}."
        )


# Attributes of a result that outcomes and steps have, and those that only outcomes have.
_MEASURED = (
    *("objective", "kkt_residual", "tables_counted", "tables_possible", "pairs_screened"),
    "seconds",
)
_AT_THE_END = ("stop_reason", "converged", "certificate", "bp_restart_gap")


def _result(run: Run) -> Result:
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
        ending["stop_reason"] = f"Interrupted after step {latest.index}."
    else:
        raise ValueError("a run has no result before its first step")
    model = latest.model()
    measured = {name: getattr(latest, name) for name in _MEASURED}
    # Both are set: `start` with the first step, `metrics` with the step or the outcome.
    assert run.start is not None
    assert metrics is not None
    return Result(
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
