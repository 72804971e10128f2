"""What all edge-activating learners share: options, active set, clock, steps and outcomes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graftviz.counts import PairCounts
from graftviz.errors import InputError
from graftviz.fitting.network import ActiveNetwork
from graftviz.fitting.penalty import Penalty
from graftviz.learners.base import Learner
from graftviz.options import option
from graftviz.search.reservoir import Threshold
from graftviz.table import DiscreteTable
from graftviz.trace import (
    Certificate,
    EdgeTests,
    History,
    Outcome,
    ReservoirView,
    ScoredEdge,
    Seconds,
    Step,
)

# Belief movement that calls for another visit of an edge: within a run, and in the final polish.
# Penalised node weights tie all edges together, so there a step is content with less.
_STEP_TOLERANCE = 1e-8
_COUPLED_STEP_TOLERANCE = 1e-5
_STEP_SWEEPS = 10
_POLISH_TOLERANCE = 1e-10
_POLISHED = 1e-7  # KKT residual at which polishing stops
_POLISH_ROUNDS = 5

NO_EDGES = np.zeros((0, 2), dtype=np.int32)
NO_EDGES.flags.writeable = False
NO_NODES = np.zeros(0, dtype=np.int32)
NO_NODES.flags.writeable = False
_NO_VALUES = np.zeros(0)
_NO_VALUES.flags.writeable = False
_NO_VERDICTS = np.zeros(0, dtype=np.int8)
_NO_VERDICTS.flags.writeable = False
NO_TESTS = EdgeTests(NO_EDGES, _NO_VALUES, _NO_VERDICTS)


@dataclass(frozen=True)
class GraftingOptions(Learner):
    """Options of every learner that activates whole edges under the group-ℓ₁ objective."""

    lam: float = option(
        1e-3,
        "λ: weight of the group penalty, and the score an edge must exceed to be activated",
        label="λ",
        above=0.0,
        maximum=1.0,
        scale="log",
    )
    lam2: float = option(
        0.03,
        "λ₂: weight of the squared norm; larger values shrink the weights",
        label="λ₂",
        minimum=0.0,
        maximum=10.0,
        scale="log",
    )
    max_edges: int | None = option(
        None,
        "edge budget: stop when so many edges are active",
        label="Edge budget",
        minimum=1,
        none_means="until no inactive edge violates",
    )
    group_weight: str = option(
        "count",
        "d_g in penalty and score: the number of joint states (the paper), or its square root",
        label="Group weight d",
        choices=("count", "sqrt"),
        advanced=True,
    )
    penalise_nodes: bool = option(
        False,
        "penalise node weights too (the paper's form; biases beliefs, so weak pairs may pass)",
        label="Penalise nodes",
        advanced=True,
    )

    def check(self, table: DiscreteTable) -> None:
        """Raise :class:`InputError` when `table` is too small, or has too few pairs."""
        super().check(table)
        self.edge_budget(table.n_variables)

    @property
    def penalty(self) -> Penalty:
        """λ, λ₂ and what they apply to."""
        return Penalty(
            float(self.lam), float(self.lam2), self.group_weight == "sqrt", self.penalise_nodes
        )

    @property
    def threshold(self) -> Threshold:
        """The activation test."""
        return Threshold(float(self.lam), self.group_weight == "sqrt")

    def edge_budget(self, n: int) -> int:
        """Return the largest number of edges allowed among n variables.

        Raises
        ------
        InputError
            When more edges are asked than exist.
        """
        possible = n * (n - 1) // 2
        if self.max_edges is None:
            return possible
        if self.max_edges > possible:
            raise InputError(
                f"{self.max_edges:,} edges were asked for, but {n:,} variables have only "
                f"{possible:,} pairs; ask for at most {possible:,}, or give no limit."
            )
        return int(self.max_edges)


class Clock:
    """Engine time by kind of work. Time while an observer holds a step is not counted."""

    def __init__(self) -> None:
        self._spent = {"statistics": 0.0, "scoring": 0.0, "fitting": 0.0, "other": 0.0}
        self._kind = "other"
        self._since: float | None = time.perf_counter()

    @contextmanager
    def work(self, kind: str) -> Iterator[None]:
        """Count what happens inside as `kind`."""
        outer = self._kind
        self._switch(kind)
        try:
            yield
        finally:
            self._switch(outer)

    def pause(self) -> Seconds:
        """Stop until `resume`, and say what was spent so far."""
        self._switch(self._kind)
        self._since = None
        return Seconds(sum(self._spent.values()), **self._spent)

    def resume(self) -> None:
        """Go on."""
        self._since = time.perf_counter()

    def _switch(self, kind: str) -> None:
        now = time.perf_counter()
        if self._since is not None:
            self._spent[self._kind] += now - self._since
        self._since = now
        self._kind = kind


class Search(NamedTuple):
    """What the search part of a learner reports for one step; see :class:`graftviz.trace.Step`."""

    activated: tuple[ScoredEdge, ...]
    tests: int
    test_limit: int | None = None
    reservoir: ReservoirView | None = None
    skipped_adjacent: np.ndarray = NO_EDGES
    replaced: np.ndarray = NO_EDGES
    dropped: np.ndarray = NO_EDGES
    queue: int = 0
    frozen: int = 0
    unseen: int = 0
    hubs: np.ndarray = NO_NODES
    tested: EdgeTests = NO_TESTS
    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class GraftingRun:
    """The active set of one run and its report; the learner adds the search for edges.

    Parameters
    ----------
    table : DiscreteTable
        Training rows.
    options : GraftingOptions

    Raises
    ------
    InputError
        When the table has fewer than two rows or variables.
    """

    def __init__(self, table: DiscreteTable, options: GraftingOptions) -> None:
        options.check(table)
        self.budget = options.edge_budget(table.n_variables)
        self.clock = Clock()
        self.options = options
        self.names = table.names
        with self.clock.work("statistics"):
            self.counts = PairCounts(table)
        self.network = ActiveNetwork(self.counts, table.names, table.labels)
        self.index = 0
        self.tests = 0
        with self.clock.work("fitting"):
            self.network.fit_nodes(options.penalty, tolerance=self._tolerance)
            self.evaluation = self.network.evaluate(options.penalty)
        self._previous_objective = self.evaluation.objective
        start_beliefs = self.beliefs.copy()
        start_beliefs.flags.writeable = False
        self.history = History(self.network.model(), start_beliefs)

    @property
    def _tolerance(self) -> float:
        return _COUPLED_STEP_TOLERANCE if self.options.penalise_nodes else _STEP_TOLERANCE

    @property
    def beliefs(self) -> np.ndarray:
        """Current node beliefs, flat."""
        return self.network.state.node_beliefs

    @property
    def n_edges(self) -> int:
        """Active edges so far."""
        return self.network.n_edges

    @property
    def inactive(self) -> int:
        """Pairs that are not active."""
        return self.counts.tables_possible - self.n_edges

    @property
    def room(self) -> int:
        """Edges left in the budget."""
        return self.budget - self.n_edges

    def switch(self, options: GraftingOptions) -> None:
        """Go on with other options: all weights are fitted anew at the next step."""
        self.budget = options.edge_budget(self.counts.n_variables)
        if options.penalty != self.options.penalty:
            with self.clock.work("fitting"):
                if options.penalise_nodes or self.options.penalise_nodes:
                    self.network.fit_nodes(options.penalty, tolerance=self._tolerance)
                self.evaluation = self.network.polish(options.penalty, tolerance=self._tolerance)
        self.options = options

    def refit(self, pairs: np.ndarray) -> None:
        """Add edges and re-optimise all active weights."""
        with self.clock.work("fitting"):
            for i, j in pairs:
                self.network.add_edge(int(i), int(j))
            self._previous_objective = self.evaluation.objective
            self.evaluation = self.network.fit(
                self.options.penalty, tolerance=self._tolerance, max_sweeps=_STEP_SWEEPS
            )
            self.history.append([(int(i), int(j)) for i, j in pairs], self.network.changes())
        self.index += 1

    def step(self, found: Search) -> Step:
        """Report the step just made; the clock stands still until `resumed`."""
        self.tests += found.tests
        return Step(
            index=self.index,
            edges=self.n_edges,
            objective=self.evaluation.objective,
            previous_objective=self._previous_objective,
            kkt_residual=self.evaluation.kkt_residual,
            tests_total=self.tests,
            tables_counted=self.counts.tables_counted,
            tables_possible=self.counts.tables_possible,
            seconds=self.clock.pause(),
            changes=self.history.changes[-1],
            history=self.history,
            **found._asdict(),
        )

    def polish(self) -> None:
        """Fit tightly; called once the search has ended (or seems to have)."""
        with self.clock.work("fitting"):
            for _ in range(_POLISH_ROUNDS):
                self.evaluation = self.network.polish(
                    self.options.penalty, tolerance=_POLISH_TOLERANCE
                )
                if self.evaluation.kkt_residual <= _POLISHED:
                    break

    def finish(self, edges: np.ndarray, scores: np.ndarray, *, stopped_by: str = "") -> Outcome:
        """Report how the run ended, after `polish`.

        Parameters
        ----------
        edges, scores : arrays, shapes (k, 2) and (k,)
            Inactive edges and their scores at the polished weights.
        stopped_by : str
            The limit that ended the run, as a sentence; empty if nothing violated any more.
        """
        certificate = self._certificate(edges, scores)
        self.history.append((), self.network.changes())
        with self.clock.work("other"):
            gap = self.network.restart_gap() if self.n_edges else 0.0
        converged = certificate.proves_optimality
        return Outcome(
            stop_reason=self._reason(certificate, stopped_by),
            converged=converged,
            certificate=certificate,
            objective=self.evaluation.objective,
            kkt_residual=self.evaluation.kkt_residual,
            bp_restart_gap=gap,
            tests=self.tests,
            tables_counted=self.counts.tables_counted,
            tables_possible=self.counts.tables_possible,
            seconds=self.clock.pause(),
            history=self.history,
        )

    def _certificate(self, edges: np.ndarray, scores: np.ndarray) -> Certificate:
        worst, worst_edge = None, None
        if len(scores):
            at = int(np.argmax(scores))
            worst, worst_edge = float(scores[at]), (int(edges[at, 0]), int(edges[at, 1]))
        return Certificate(
            scored=len(scores),
            possible=self.inactive,
            worst_score=worst,
            worst_edge=worst_edge,
            threshold=float(self.options.lam),
            score="belief",
            objective="Bethe likelihood",
        )

    def _reason(self, certificate: Certificate, stopped_by: str) -> str:
        if stopped_by:
            return stopped_by
        if certificate.worst_edge is None:
            return "Every pair of variables is active."
        i, j = certificate.worst_edge
        worst = f"{certificate.worst_score:.3g} ({self.names[i]} – {self.names[j]})"
        lam = f"λ = {certificate.threshold:g}"
        if self.n_edges == 0:
            return (
                f"No pair violates, so no edge was activated: the largest of the "
                f"{certificate.scored:,} scores is {worst}, not above {lam}. Lower λ to get edges."
            )
        if not certificate.proves_optimality:
            return f"The search found nothing more to test, but {worst} is still above {lam}."
        return (
            f"No inactive edge violates: all {certificate.scored:,} were scored at the final "
            f"weights, and the worst, {worst}, is not above {lam}."
        )


def budget_reason(budget: int) -> str:
    """Say that the edge budget ended the run."""
    return f"The edge budget of {budget:,} edges is used up."


def scored_edges(edges: np.ndarray, scores: Sequence[float]) -> tuple[ScoredEdge, ...]:
    """Pair edges with their scores."""
    return tuple(
        ScoredEdge(int(i), int(j), float(score))
        for (i, j), score in zip(edges, scores, strict=True)
    )
