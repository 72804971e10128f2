"""What all edge-activating learners share: options, active set, clock, steps and outcomes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graftviz.counts import PairCounts
from graftviz.errors import InputError
from graftviz.fitting.pseudo_network import PseudoNetwork
from graftviz.history import History
from graftviz.learners.clock import Clock
from graftviz.learners.grafting_options import GraftingOptions
from graftviz.learners.scorers import Scorer, make_network, make_scorer
from graftviz.learners.settings import (
    OBJECTIVE_NAMES,
    PSEUDO_LIKELIHOOD,
)
from graftviz.table import DiscreteTable
from graftviz.trace import (
    NO_NODES,
    NO_PAIRS,
    NO_TESTS,
    Certificate,
    EdgeTests,
    Outcome,
    ReservoirView,
    ScoredEdge,
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
# The pseudo-likelihood is fitted in single precision: within a run as tightly as N rows can tell
# (a share of 1 / √N), at the end to what single precision can hold.
_ROWS_STEP_SHARE = 0.1
_ROWS_STEP_SWEEPS = 4
_ROWS_POLISH_TOLERANCE = 1e-5
PRUNE_ROUNDS = 4  # how often a run goes on after edges were taken out again


class Search(NamedTuple):
    """What the search part of a learner reports for one step; see :class:`graftviz.trace.Step`."""

    activated: tuple[ScoredEdge, ...]
    tests: int
    removed: np.ndarray = NO_PAIRS
    test_limit: int | None = None
    reservoir: ReservoirView | None = None
    skipped_adjacent: np.ndarray = NO_PAIRS
    replaced: np.ndarray = NO_PAIRS
    dropped: np.ndarray = NO_PAIRS
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
    every_pair : bool
        Whether the search scores all inactive pairs at every step.

    Raises
    ------
    InputError
        When the table has fewer than two rows or variables.
    """

    def __init__(
        self, table: DiscreteTable, options: GraftingOptions, *, every_pair: bool = False
    ) -> None:
        options.check(table)
        self.budget = options.edge_budget(table.n_variables)
        self.clock = Clock()
        self.options = options
        self.names = table.names
        with self.clock.work("statistics"):
            self.counts = PairCounts(table)
        self.settings = options.settings(self.counts, has_rows=table.has_rows)
        self._table = table
        self._every_pair = every_pair
        self.index = 0
        self.tests = 0
        self._ids: list[int] = []  # of the network's edges, see History
        self._pruned: list[int] = []  # taken out since the last recorded step
        self._notes: list[str] = []
        with self.clock.work("fitting"):
            self.network = make_network(self.settings, table, self.counts)
            self.network.fit_nodes(self.settings.penalty, tolerance=self._tolerance)
            self.evaluation = self.network.evaluate(self.settings.penalty)
        self.scorer = self._new_scorer()
        self._previous_objective = self.evaluation.objective
        start_beliefs = self.network.node_beliefs.copy()
        start_beliefs.flags.writeable = False
        self.history = History(self.network.model(), start_beliefs)

    @property
    def _by_rows(self) -> bool:
        return self.settings.objective == PSEUDO_LIKELIHOOD

    @property
    def _tolerance(self) -> float:
        if self._by_rows:
            return float(_ROWS_STEP_SHARE / np.sqrt(self.counts.n_rows))
        return _COUPLED_STEP_TOLERANCE if self.options.penalise_nodes else _STEP_TOLERANCE

    @property
    def threshold(self) -> float:
        """What an effective score must exceed: λ."""
        return self.settings.lam

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
        """Go on with other options: all weights are fitted anew at the next step.

        Raises
        ------
        InputError
            When the options ask for another objective: a run cannot change what it fits.
        """
        settings = options.settings(self.counts, has_rows=self._table.has_rows)
        if settings.objective != self.settings.objective:
            raise InputError(
                "A run cannot change its objective on the way: start a new run with "
                f"objective={settings.objective}."
            )
        self.budget = options.edge_budget(self.counts.n_variables)
        before, self.settings = self.settings, settings
        nodes_matter = options.penalise_nodes or self.options.penalise_nodes
        self.options = options
        if settings.penalty != before.penalty:
            with self.clock.work("fitting"):
                if nodes_matter:
                    self.network.fit_nodes(settings.penalty, tolerance=self._tolerance)
                self.evaluation = self.network.polish(settings.penalty, tolerance=self._tolerance)
        self.scorer = self._new_scorer()

    def refresh_scores(self) -> None:
        """Let scores follow the weights."""
        with self.clock.work("scoring"):
            self.scorer.refresh()

    def _new_scorer(self) -> Scorer:
        with self.clock.work("scoring"):
            scorer = make_scorer(
                self.settings, self.network, self._table, self.counts, every_pair=self._every_pair
            )
            scorer.refresh()
        return scorer

    def refit(self, pairs: np.ndarray) -> None:
        """Add edges and re-optimise all active weights."""
        with self.clock.work("fitting"):
            for k, (i, j) in enumerate(pairs):
                self._ids.append(len(self.history.activations) + k)
                self.network.add_edge(int(i), int(j))
            self._previous_objective = self.evaluation.objective
            sweeps = _ROWS_STEP_SWEEPS if self._by_rows else _STEP_SWEEPS
            self.evaluation = self.network.fit(
                self.settings.penalty, tolerance=self._tolerance, max_sweeps=sweeps
            )
            self._record([(int(i), int(j)) for i, j in pairs])
        self.index += 1
        self.refresh_scores()

    def step(self, found: Search) -> Step:
        """Report the step just made; the clock stands still until `resumed`."""
        self.tests += found.tests
        facts = found._asdict()
        facts["notes"] = (*self._notes, *found.notes)
        facts["removed"] = self._removed_pairs(self.history.removals[-1])
        self._notes = []
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
            test=self.settings.test,
            **facts,
        )

    def polish(self) -> None:
        """Fit tightly; called once the search has ended (or seems to have)."""
        penalty = self.settings.penalty
        with self.clock.work("fitting"):
            if self._by_rows:
                self.evaluation = self.network.polish(penalty, tolerance=_ROWS_POLISH_TOLERANCE)
            else:
                for _ in range(_POLISH_ROUNDS):
                    self.evaluation = self.network.polish(penalty, tolerance=_POLISH_TOLERANCE)
                    if self.evaluation.kkt_residual <= _POLISHED:
                        break
        self.refresh_scores()

    def prune(self) -> np.ndarray:
        """Take out edges that are not needed, at polished weights, and fit the rest tightly.

        Returns
        -------
        int array, shape (k, 2)
            The pairs taken out.
        """
        network = self.network
        if not (self.settings.refit and isinstance(network, PseudoNetwork) and self.n_edges):
            return NO_PAIRS
        taken: list[tuple[int, int]] = []
        with self.clock.work("fitting"):
            while len(gone := self._superfluous(network)):
                taken += [(int(i), int(j)) for i, j in network.edges[gone]]
                network.remove_edges(gone)
                positions = set(gone.tolist())
                self._pruned += [self._ids[e] for e in gone.tolist()]
                self._ids = [id_ for e, id_ in enumerate(self._ids) if e not in positions]
                network.fit(self.settings.penalty, tolerance=self._tolerance)
        if taken:
            what = "One edge was" if len(taken) == 1 else f"{len(taken):,} edges were"
            self._notes.append(f"{what} taken out again, not passing the test if left out.")
            self.polish()
        return np.array(taken, dtype=np.int32).reshape(-1, 2)

    def _superfluous(self, network: PseudoNetwork) -> np.ndarray:
        """Return positions of edges that are not needed: weakest first, none touching another.

        Those with zero weights, and those that would not pass the test if they were left out. Of
        two that share a variable only the weaker goes, as the other may be needed without it.
        """
        state, settings = network.state, self.settings
        offsets = state.edge_offsets[: network.n_edges + 1]
        squares = np.add.reduceat(state.edge_weights[: offsets[-1]] ** 2, offsets[:-1])
        share = np.where(squares > 0.0, np.inf, 0.0)  # of what the test asks for
        if settings.significance > 0.0:
            norms, noise = network.leave_one_out(tolerance=self._tolerance)
            joint = np.diff(offsets)
            units = np.sqrt(joint) if settings.penalty.square_root else joint
            needed = np.maximum(settings.significance * noise, settings.lam * units)
            share = np.minimum(share, norms / np.maximum(needed, 1e-300))
        gone: list[int] = []
        touched: set[int] = set()
        for e in np.argsort(share, kind="stable").tolist():
            if share[e] > 1.0:
                break
            ends = set(network.edges[e].tolist())
            if not ends & touched:
                touched |= ends
                gone.append(e)
        return np.array(sorted(gone), dtype=np.int64)

    def _record(self, activated: list[tuple[int, int]]) -> None:
        """Append to the history, with the network's positions translated to ids."""
        changes = self.network.changes()
        ids = np.array(self._ids, dtype=np.int64)[changes.edges]
        ids.flags.writeable = False
        self.history.append(activated, dataclasses.replace(changes, edges=ids), self._pruned)
        self._pruned = []

    def _removed_pairs(self, ids: Sequence[int]) -> np.ndarray:
        if not ids:
            return NO_PAIRS
        pairs = np.array([self.history.activations[e] for e in ids], dtype=np.int32)
        pairs.flags.writeable = False
        return pairs

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
        if self.settings.refit and not self._by_rows and self.n_edges:
            self._refit_by_rows()
        self._record([])
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
            objective_name=OBJECTIVE_NAMES[self.settings.objective],
        )

    def _certificate(self, edges: np.ndarray, scores: np.ndarray) -> Certificate:
        worst, worst_edge = None, None
        # Where κ decides, an effective score is told as what it is of the threshold, times κ: for
        # all but tiny scores, the multiple of its noise.
        unit = self.settings.significance / self.threshold if self.settings.significance else 1.0
        if len(scores):
            at = int(np.argmax(scores))
            worst, worst_edge = unit * float(scores[at]), (int(edges[at, 0]), int(edges[at, 1]))
        return Certificate(
            scored=len(scores),
            possible=self.inactive,
            worst_score=worst,
            worst_edge=worst_edge,
            threshold=self.settings.significance or self.threshold,
            score=self.settings.score,
            objective=OBJECTIVE_NAMES[self.settings.objective],
            symbol=self.settings.test.symbol,
        )

    def _refit_by_rows(self) -> None:
        """Fit the final structure of a Bethe run by pseudo-likelihood, and prune it once."""
        old = self.network
        weights = old.model().weights
        cells = int(old.state.node_offsets[-1])
        network = PseudoNetwork(self._table, self.counts)
        with self.clock.work("fitting"):
            network.follow(weights[:cells], old.edges, weights[cells:])
        self.network = network
        lam2 = self.options.lam2
        self.settings = self.settings._replace(objective=PSEUDO_LIKELIHOOD)
        if lam2 is None:
            by_rows = dataclasses.replace(self.options, objective=PSEUDO_LIKELIHOOD, score=None)
            penalty = by_rows.settings(self.counts).penalty._replace(lam=self.settings.penalty.lam)
            self.settings = self.settings._replace(penalty=penalty)
        self.polish()
        self.prune()

    def _reason(self, certificate: Certificate, stopped_by: str) -> str:
        if stopped_by:
            return stopped_by
        if certificate.worst_edge is None:
            return "Every pair of variables is active."
        i, j = certificate.worst_edge
        edge = f"{self.names[i]} – {self.names[j]}"
        if not certificate.proves_optimality:
            return (
                f"The search found nothing more to test, but {edge} still violates: it was taken "
                "out before, as the fit does not need it."
                if certificate.worst_edge in self.history.activations
                else f"The search found nothing more to test, but {edge} still violates."
            )
        assert certificate.worst_score is not None
        test = self.settings.test
        if test.significance > 0.0:
            share = 100.0 * certificate.worst_score / certificate.threshold
            asked = f"what κ = {test.significance:g} and λ = {test.lam:g} ask for"
            limits = "κ or λ"
            reached = f"{edge}, has {told_below(share, 100.0)} % of {asked}"
            worst = f"the worst, {reached}"
            none_passes = f"the best of {certificate.scored:,} pairs, {reached}"
        else:
            limits = "λ"
            asked = f"not above λ = {test.lam:g}"
            own = f"{told_below(certificate.worst_score, test.lam)} ({edge})"
            worst = f"the worst, {own}, is {asked}"
            none_passes = f"the largest of the {certificate.scored:,} scores is {own}, {asked}"
        if self.n_edges == 0:
            return (
                f"No pair violates, so no edge was activated: {none_passes}. Lower {limits} to get "
                "edges."
            )
        return (
            f"No inactive edge violates: all {certificate.scored:,} were scored at the final "
            f"weights, and {worst}."
        )


def told_below(value: float, limit: float) -> str:
    """Return a number with three digits, or as many as tell it from the limit it is below."""
    texts = [f"{value:.{digits}g}" for digits in range(3, 17)]
    return next((text for text in texts if float(text) < limit), texts[0])


def budget_reason(budget: int) -> str:
    """Say that the edge budget ended the run."""
    return f"The edge budget of {budget:,} edges is used up."


def scored_edges(edges: np.ndarray, scores: Sequence[float]) -> tuple[ScoredEdge, ...]:
    """Pair edges with their scores."""
    return tuple(
        ScoredEdge(int(i), int(j), float(score))
        for (i, j), score in zip(edges, scores, strict=True)
    )
