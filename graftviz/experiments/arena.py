"""The arena: every learner on the same rows, measured alike.

Each learner gets the same edge budget and is left alone otherwise. What it learned is judged by
held-out rows, and by what inference on it costs.
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
MOST_OPERATIONS = 3_000_000_000  # of all marginals by exact inference: about a quarter of a minute
_MOST_ENTRIES = 1_000_000_000  # of the cliques, for log Z alone
_MOST_BYTES = 2_000_000_000
_INSTEAD = "bp"
_MOST_EDGES = 10**12
_MOST_REPEATS = 1000
_ENOUGH_SECONDS = 10.0  # of learning, after which a run is not repeated
_REHEARSAL = (8, 120)  # variables and rows on which everything is compiled first
# What may go wrong with one learner without being the end of all.
_FAILURES = (InputError, ArithmeticError, ValueError, MemoryError)


@dataclass(frozen=True, eq=False)
class Contest:
    """The data of one contest.

    Attributes
    ----------
    name : str
    train, test : DiscreteTable
    split : str
        How the two came about, for people.
    """

    name: str
    train: DiscreteTable
    test: DiscreteTable
    split: str


@dataclass(frozen=True)
class Entry:
    """What one learner came to in one contest; None where it was not measured.

    Attributes
    ----------
    data, learner : str
    options : mapping
        Those that differ from the learner's defaults.
    nlpl, nll : float or None
        Of the held-out rows, nats per row; `nll` with the exact log Z.
    edges : int or None
    width : int or None
        Of the best elimination order found: an upper bound on the treewidth; where
        `width_is_least`, one that every order that was tried reaches.
    width_is_least : bool
    inference : str
        Where the time of inference comes from: "exact", or "bp" where that is out of reach.
    inference_seconds : float or None
        All marginals of one and of two variables; median.
    inference_operations : int or None
    learning_seconds : float or None
        Engine time, median of `runs`.
    runs : int
    stop_reason : str
    notes : tuple of str
        Why something was not measured.
    failure : str
        Why nothing was; empty otherwise.
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
    """Puts learners on contests, one after the other.

    Parameters
    ----------
    max_edges : int, optional
        The edge budget of all; default: twice as many as there are variables.
    seed : int
        Of the learners.
    repeats : int
        Times that learning is measured, of which the median counts; fewer where it takes long.
    limit : float
        Seconds after which a learner is stopped between two steps.
    learners : sequence of str, optional
        Their names; default: all there are.

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
        for what, value, most in (
            ("max-edges", max_edges, _MOST_EDGES),
            ("repeats", repeats, _MOST_REPEATS),
        ):
            if value is not None and not 1 <= value <= most:
                raise InputError(f"The arena needs {what} from 1 to {most:,}; got {value:,}.")
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
        asked = EDGES_PER_VARIABLE * variables if self.max_edges is None else self.max_edges
        return min(asked, possible)

    def enter(self, contest: Contest, name: str) -> Entry:
        """Let one learner learn, and measure what came of it; a failure is told in the entry."""
        cls = learner_class(name)
        takes_budget = any(spec.name == "max_edges" for spec in option_specs(cls))
        budget = self.budget(contest.train.n_variables)
        options = {"max_edges": budget} if takes_budget else {}
        entry = Entry(contest.name, name, options)
        try:
            learner = cls(**options)
            _rehearse(learner, contest.train, self.seed)
            result, seconds = self._learned(learner, contest)
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
        return _judged(entry, result.model, contest.test)

    def _learned(self, learner: Learner, contest: Contest) -> tuple[Result, list[float]]:
        """Learn as often as is worth it; return the result and the seconds of each time."""
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
    """Return a contest on rows that come with held-out ones, or of which a share is held out."""
    if test is not None:
        return Contest(name, table, test, "training and test rows as given")
    train, held_out = table.split(fraction, seed=seed)
    return Contest(name, train, held_out, f"{fraction:.0%} of the rows held out by seed {seed}")


def _rehearse(learner: Learner, table: DiscreteTable, seed: int) -> None:
    """Learn from a corner of the table, so that nothing is compiled while time counts.

    What such a corner does not allow, the whole table will tell.
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


def _judged(entry: Entry, model: PairwiseMRF, test: DiscreteTable) -> Entry:
    """Add what held-out rows and inference say about a model."""
    plan = plan_elimination(model, max_memory=_MOST_BYTES)
    notes = list(entry.notes)
    likelihood = None
    if plan.is_affordable and plan.total_entries <= _MOST_ENTRIES:
        try:
            likelihood = nll(model, test, max_memory=_MOST_BYTES)
        except _FAILURES as problem:
            notes.append(f"NLL: {problem}")
    else:
        notes.append("NLL: an exact log Z is out of reach at this width.")
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
