"""Arena: comparison of all learners on the same rows.

Each learner gets the same edge budget and otherwise runs with its defaults. The learned models are
compared by their likelihood on held-out rows and by the cost of inference.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graftviz.errors import InputError
from graftviz.inference.cost import exact_operations, inference_cost
from graftviz.inference.exact import plan_elimination
from graftviz.learners.base import Learner
from graftviz.learners.registry import learner_class, learner_names
from graftviz.metrics import nll
from graftviz.model import PairwiseMRF
from graftviz.options import option_specs
from graftviz.runs import Result, Run
from graftviz.table import DiscreteTable

EDGES_PER_VARIABLE = 2
MOST_OPERATIONS = 3_000_000_000  # for all marginals by exact inference: about 15 s
_MOST_ENTRIES = 1_000_000_000  # of the cliques, for log Z alone
_MOST_BYTES = 2_000_000_000
_INSTEAD = "bp"
_MOST_EDGES = 10**12
_MOST_REPEATS = 1000
_ENOUGH_SECONDS = 10.0  # of learning, after which a run is not repeated
_REHEARSAL = (8, 120)  # variables and rows of a run that compiles all kernels first
# Errors of one learner that do not stop the arena.
_FAILURES = (InputError, ArithmeticError, ValueError, MemoryError)


@dataclass(frozen=True, eq=False)
class Contest:
    """The data of one contest.

    Attributes
    ----------
    name : str
    train, test : DiscreteTable
    split : str
        Description of how the rows were split.
    """

    name: str
    train: DiscreteTable
    test: DiscreteTable
    split: str


@dataclass(frozen=True)
class Entry:
    """Results of one learner in one contest; None where not measured.

    Attributes
    ----------
    data, learner : str
    options : mapping
        Options that differ from the defaults of the learner.
    nlpl, nll : float or None
        Values on the held-out rows in nats per row; `nll` uses the exact log Z.
    edges : int or None
    width : int or None
        Width of the best elimination order found, an upper bound on the treewidth. With
        `width_is_least`, the search was stopped and all orders tried are at least as wide.
    width_is_least : bool
    inference : str
        Method of which the time is measured: "exact", or "bp" if exact inference is infeasible.
    inference_seconds : float or None
        Median time for the marginals of all variables and all edges.
    inference_operations : int or None
    learning_seconds : float or None
        Median engine time of `runs` runs.
    runs : int
    stop_reason : str
    notes : tuple of str
        Reasons why single values were not measured.
    failure : str
        Reason why nothing was measured; empty otherwise.
    """

    data: str
    learner: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    nlpl: float | None = None
    nll: float | None = None
    edges: int | None = None
    width: int | None = None
    width_is_least: bool = False
    inference: str = ""
    inference_seconds: float | None = None
    inference_operations: int | None = None
    learning_seconds: float | None = None
    runs: int = 0
    stop_reason: str = ""
    notes: tuple[str, ...] = ()
    failure: str = ""


class Arena:
    """Comparison of learners on contests.

    Parameters
    ----------
    max_edges : int, optional
        Edge budget of all learners; default: twice the number of variables.
    seed : int
        Seed of the learners.
    repeats : int
        Number of timed runs, of which the median is reported; fewer if they take long.
    limit : float
        Time limit of a run in seconds, checked after every step.
    learners : sequence of str, optional
        Names of the learners; default: all.

    Raises
    ------
    InputError
        For an unknown learner, and settings out of range.
    """

    def __init__(
        self,
        *,
        max_edges: int | None = None,
        seed: int = 0,
        repeats: int = 3,
        limit: float = 120.0,
        learners: Sequence[str] | None = None,
    ) -> None:
        for setting, value, most in (
            ("max-edges", max_edges, _MOST_EDGES),
            ("repeats", repeats, _MOST_REPEATS),
        ):
            if value is not None and not 1 <= value <= most:
                raise InputError(f"The arena needs {setting} from 1 to {most:,}; got {value:,}.")
        if not limit > 0.0:
            raise InputError(f"The limit must be more than 0 seconds; got {limit:g}.")
        self.max_edges, self.seed = max_edges, seed
        self.repeats, self.limit = repeats, limit
        self.learners = tuple(learner_names() if learners is None else learners)
        for name in self.learners:
            learner_class(name)

    def budget(self, variables: int) -> int:
        """Return the edge budget among so many variables."""
        possible = variables * (variables - 1) // 2
        requested = EDGES_PER_VARIABLE * variables if self.max_edges is None else self.max_edges
        return min(requested, possible)

    def enter(self, contest: Contest, name: str) -> Entry:
        """Run one learner and evaluate its model; an error is recorded in the entry."""
        cls = learner_class(name)
        takes_budget = any(spec.name == "max_edges" for spec in option_specs(cls))
        budget = self.budget(contest.train.n_variables)
        options = {"max_edges": budget} if takes_budget else {}
        entry = Entry(contest.name, name, options)
        try:
            learner = cls(**options)
            _rehearse(learner, contest.train, self.seed)
            result, seconds = self._learn_repeatedly(learner, contest)
        except _FAILURES as problem:
            return dataclasses.replace(entry, failure=str(problem) or type(problem).__name__)
        entry = dataclasses.replace(
            entry,
            edges=result.edges,
            nlpl=result.nlpl_test,
            learning_seconds=statistics.median(seconds),
            runs=len(seconds),
            stop_reason=result.stop_reason,
        )
        return _with_evaluation(entry, result.model, contest.test)

    def _learn_repeatedly(self, learner: Learner, contest: Contest) -> tuple[Result, list[float]]:
        """Learn until enough runs are timed; return the last result and the seconds of each run."""
        seconds: list[float] = []
        while True:
            run = Run(contest.train, learner, seed=self.seed, test=contest.test)
            while run.advance():
                if run.steps[-1].seconds.total > self.limit:
                    break
            result = run.result()
            seconds.append(result.seconds.total)
            if len(seconds) >= self.repeats or sum(seconds) >= _ENOUGH_SECONDS:
                return result, seconds


def contest_of(
    name: str, table: DiscreteTable, test: DiscreteTable | None, *, fraction: float, seed: int
) -> Contest:
    """Return a contest on given training and test rows, or on a random split of `table`."""
    if test is not None:
        return Contest(name, table, test, "training and test rows as given")
    train, held_out = table.split(fraction, seed=seed)
    return Contest(name, train, held_out, f"{fraction:.0%} of the rows held out by seed {seed}")


def _rehearse(learner: Learner, table: DiscreteTable, seed: int) -> None:
    """Learn from a corner of the table, so that compilation is not counted in measured times.

    Errors are ignored here; if they concern the whole table, they occur again there.
    """
    variables, rows = _REHEARSAL
    codes = np.ascontiguousarray(table.codes[:variables, :rows])
    codes.flags.writeable = False
    corner = DiscreteTable(codes, table.names[:variables], table.labels[:variables])
    try:
        run = Run(corner, learner.for_rehearsal(), seed=seed)
        while run.advance():
            pass
    except _FAILURES:
        return


def _with_evaluation(entry: Entry, model: PairwiseMRF, test: DiscreteTable) -> Entry:
    """Return the entry with the likelihood on held-out rows and the cost of inference added."""
    plan = plan_elimination(model, max_memory=_MOST_BYTES)
    notes = list(entry.notes)
    likelihood = None
    if plan.is_affordable and plan.total_entries <= _MOST_ENTRIES:
        try:
            likelihood = nll(model, test, max_memory=_MOST_BYTES)
        except _FAILURES as problem:
            notes.append(f"NLL: {problem}")
    else:
        notes.append("NLL: an exact log Z is infeasible at this width.")
    is_affordable = plan.is_affordable and exact_operations(model, plan) <= MOST_OPERATIONS
    method = "exact" if is_affordable else _INSTEAD
    seconds = counted = None
    try:
        cost = inference_cost(model, method)
        seconds, counted = cost.seconds, cost.operations
        if not cost.converged:
            notes.append(f"{method} did not converge in all runs.")
    except _FAILURES as problem:
        notes.append(f"Inference: {problem}")
    return dataclasses.replace(
        entry,
        nll=likelihood,
        width=plan.width,
        width_is_least=not plan.is_affordable,
        inference=method,
        inference_seconds=seconds,
        inference_operations=counted,
        notes=tuple(notes),
    )
