"""Active set of the learners that activate edges: fits, pruning and steps."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.grafting_options import GraftingOptions
from graftviz.learning.grafting.screening import SAMPLE, screened
from graftviz.learning.learner_run import LearnerRun
from graftviz.learning.scores.base import Scorer, ScorerInput
from graftviz.learning.scores.kernels import score_slots
from graftviz.learning.scores.registry import SCORES
from graftviz.learning.settings import PSEUDO_LIKELIHOOD, Settings
from graftviz.learning.trace import (
    NO_NODES,
    NO_PAIRS,
    NO_TESTS,
    EdgeTests,
    Remark,
    ReservoirView,
    ScoredEdge,
    Step,
)
from graftviz.learning.weights.network import ActiveNetwork
from graftviz.learning.weights.pseudo_network import PseudoNetwork
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError

# Belief change that makes the fit visit an edge again: within a run, and in the final polish.
# Penalised node weights couple all edges, so a step uses a larger tolerance then.
_STEP_TOLERANCE = 1e-8
_COUPLED_STEP_TOLERANCE = 1e-5
_STEP_SWEEPS = 10
_POLISH_TOLERANCE = 1e-10
_POLISHED = 1e-7  # KKT residual at which polishing stops
_POLISH_ROUNDS = 5
# The pseudo-likelihood is fitted in single precision: within a run to a share of the statistical
# error 1 / √N, at the end to the limit of single precision.
_ROWS_STEP_SHARE = 0.3
_ROWS_STEP_SWEEPS = 4
_ROWS_POLISH_TOLERANCE = 1e-5
_MOST_REMOVALS = 4  # of one edge, if its weights are zero


class Search(NamedTuple):
    """Report of a learner's search for one step; see :class:`graftviz.learning.trace.Step`."""

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
    notes: tuple[Remark, ...] = ()
    required: bool = False


class ActiveSet(LearnerRun):
    """Active set of a run: its edges, their weights, the scores of the others, and the clock.

    Parameters
    ----------
    table : DiscreteTable
        Training rows.
    options : GraftingOptions
    seed : int
        Seed of the rows that a screening samples.
    reports : bool
        Whether steps are reported; otherwise a fit to counts records all of them as one.

    Raises
    ------
    InputError
        If the table has fewer than two rows or variables.
    """

    def __init__(
        self,
        table: DiscreteTable,
        options: GraftingOptions,
        *,
        seed: int = 0,
        reports: bool = True,
    ) -> None:
        super().__init__(table, options)
        self.reports = reports
        self.budget = options.edge_budget(table.n_variables)
        self.prior = options.prior(table.names)
        self.candidates: np.ndarray | None = None  # pairs; None: all
        with self.clock.work("statistics"):
            self.counts = PairCounts(table)
            if options.screening_of(table.n_variables) == SAMPLE:
                self.candidates, self.screening = screened(table, seed=seed)
                self.candidates = self.prior.applied(self.candidates, table.n_variables)
        self._table, self._seed = table, seed
        self.settings = self._resolved(options)
        self._ids: list[int] = []  # ids of the network's edges, see History
        self._removed: Counter[tuple[int, int]] = Counter()  # how often pairs were pruned
        self._pruned: list[int] = []  # ids removed since the last recorded step
        self._unrecorded: list[tuple[int, int]] = []  # activated since then
        self._notes: list[Remark] = []
        self._kept: set[tuple[int, int]] = set()  # edges that the marginals require
        with self.clock.work("fitting"):
            self.network: ActiveNetwork | PseudoNetwork = (
                PseudoNetwork(table, self.counts)
                if self._by_rows
                else ActiveNetwork(self.counts, table.names, table.labels)
            )
            self.network.fit_nodes(self.settings.penalty, tolerance=self._tolerance)
            self.evaluation = self.network.evaluate(self.settings.penalty)
        self.scorer = self._new_scorer()
        self._previous_objective = self.evaluation.objective
        self.begin(self.network.model(), self.network.node_beliefs)

    @property
    def tables_counted(self) -> int:
        """Number of pair tables counted so far."""
        return self.counts.tables_counted

    @property
    def _by_rows(self) -> bool:
        return self.settings.objective == PSEUDO_LIKELIHOOD

    @property
    def _tolerance(self) -> float:
        if self._by_rows:
            return float(_ROWS_STEP_SHARE / np.sqrt(self.counts.n_rows))
        return _COUPLED_STEP_TOLERANCE if self.settings.penalty.nodes else _STEP_TOLERANCE

    @property
    def threshold(self) -> float:
        """Threshold λ of effective scores."""
        return self.settings.lam

    @property
    def n_edges(self) -> int:
        """Number of active edges."""
        return self.network.n_edges

    @property
    def inactive(self) -> int:
        """Number of inactive pairs that are tested."""
        if self.candidates is None:
            return self.tables_possible - len(self.prior.forbidden) - self.n_edges
        return len(self.candidates) - self.n_edges

    @property
    def room(self) -> int:
        """Number of edges left in the budget."""
        return self.budget - self.n_edges

    def switch(self, options: GraftingOptions) -> None:
        """Continue with other options; all weights are refitted if the penalty changed.

        Raises
        ------
        InputError
            If the options change the objective, which is fixed for a run.
        """
        settings = self._resolved(options)
        if settings.objective != self.settings.objective:
            raise InputError(
                "A run cannot change its objective on the way: start a new run with "
                f"objective={settings.objective}."
            )
        self.budget = options.edge_budget(self.counts.n_variables)
        was_lowered = self.settings.significance < self._resolved(self.options).significance
        self.options = options
        if was_lowered and options.significance is None:
            lowest = min(self.settings.significance, settings.significance)
            usual = self.settings.usual
            settings = settings.lowered(lowest, usual, keeps_lam=options.lam is not None)
        self._apply(settings)

    def _resolved(self, options: GraftingOptions) -> Settings:
        return options.settings(self.counts, has_rows=self._table.has_rows)

    def _apply(self, settings: Settings) -> None:
        """Change the settings; all weights are refitted if the penalty changes."""
        before, self.settings = self.settings, settings
        nodes_matter = settings.penalty.nodes or before.penalty.nodes
        if settings.penalty != before.penalty:
            with self.clock.work("fitting"):
                if nodes_matter:
                    self.network.fit_nodes(settings.penalty, tolerance=self._tolerance)
                self.evaluation = self.network.polish(settings.penalty, tolerance=self._tolerance)
        self.scorer = self._new_scorer()

    def refresh_scores(self) -> None:
        """Update the scorer to the current weights."""
        with self.clock.work("scoring"):
            self.scorer.refresh()

    def begin_required(self, *, queue: int = 0, frozen: int = 0, unseen: int = 0) -> Step:
        """Activate the required edges, refit, and return the report of that step.

        The arguments are those of :class:`Search`.
        """
        edges = self.prior.required
        with self.clock.work("scoring"):
            scores = self._scores_of(edges)
        self.refit(edges)
        found = Search(
            scored_edges(edges, scores.tolist()),
            tests=0,
            queue=queue,
            frozen=frozen,
            unseen=unseen,
            lines=("activate", "refit"),
            required=True,
        )
        return self.step(found)

    def _new_scorer(self) -> Scorer:
        with self.clock.work("scoring"):
            measure = self.settings.measure
            fit = ScorerInput(self.network, self._table, self.counts, measure)
            scorer = SCORES[self.settings.score].scorer(fit)
            scorer.refresh()
        return scorer

    def refit(self, pairs: np.ndarray) -> None:
        """Add edges and refit all active weights."""
        with self.clock.work("fitting"):
            for i, j in pairs.tolist():
                self._ids.append(len(self.history.activations) + len(self._unrecorded))
                self._unrecorded.append((i, j))
                self.network.add_edge(i, j)
            self._previous_objective = self.evaluation.objective
            sweeps = _ROWS_STEP_SWEEPS if self._by_rows else _STEP_SWEEPS
            penalty, tolerance = self.settings.penalty, self._tolerance
            if self.reports or isinstance(self.network, PseudoNetwork):
                self.evaluation = self.network.fit(penalty, tolerance=tolerance, max_sweeps=sweeps)
                self._record()
            else:
                self.network.solve(penalty, tolerance=tolerance, max_sweeps=sweeps)
        self.index += 1
        self.refresh_scores()

    def step(self, found: Search) -> Step:
        """Return the report of the last step and pause the clock until it is resumed."""
        facts = found._asdict()
        facts["notes"] = (*self._notes, *found.notes)
        facts["removed"] = self._removed_pairs(self.history.removals[-1])
        self._notes = []
        return self.step_report(
            n_edges=self.n_edges,
            objective=self.evaluation.objective,
            previous_objective=self._previous_objective,
            kkt_residual=self.evaluation.kkt_residual,
            test=self.settings.test,
            **facts,
        )

    def polish(self, *, coarse: bool = False) -> None:
        """Fit tightly; called when the search finds no further edge.

        Parameters
        ----------
        coarse : bool
            Whether a tenth of the accuracy suffices, as more edges are likely to be found.
        """
        penalty = self.settings.penalty
        with self.clock.work("fitting"):
            if self._by_rows:
                tolerance = _ROWS_POLISH_TOLERANCE * (10.0 if coarse else 1.0)
                self.evaluation = self.network.polish(penalty, tolerance=tolerance)
            else:
                for _ in range(_POLISH_ROUNDS):
                    self.evaluation = self.network.polish(penalty, tolerance=_POLISH_TOLERANCE)
                    if self.evaluation.kkt_residual <= _POLISHED:
                        break
        self.refresh_scores()

    def prune(self) -> np.ndarray:
        """Remove superfluous edges, at polished weights, and fit the remaining ones tightly.

        Returns
        -------
        int array, shape (k, 2)
            The removed pairs.
        """
        network = self.network
        if not (self.settings.refit and isinstance(network, PseudoNetwork) and self.n_edges):
            return NO_PAIRS
        removed: list[tuple[int, int]] = []
        with self.clock.work("fitting"):
            while len(superfluous := self._superfluous(network)):
                removed += [(min(pair), max(pair)) for pair in network.edges[superfluous].tolist()]
                self._remove(network, superfluous)
                network.fit(self.settings.penalty, tolerance=self._tolerance)
        self._removed.update(removed)
        if removed:
            self._notes.append(Remark("notes.removed", {"count": len(removed)}))
            self.polish()
        return np.array(removed, dtype=np.int32).reshape(-1, 2)

    def _scores_of(self, pairs: np.ndarray) -> np.ndarray:
        """Return the current scores of pairs."""
        counts, scores = self.counts, np.empty(len(pairs))
        slots = counts.slots(pairs)  # before the store, which may be replaced
        packed, store = counts.packed, counts.store
        score_slots(slots, packed, store, self.scorer.scoring, counts.scratch, scores)
        return scores

    def _superfluous(self, network: PseudoNetwork) -> np.ndarray:
        """Return the positions of superfluous edges of which no two share a variable, ascending.

        An edge is superfluous if its weights are zero or if it would not pass the test were it left
        out. Of two that share a variable only the weaker is returned, as the other may be needed
        without it.
        """
        state, settings = network.state, self.settings
        offsets = state.edge_offsets[: network.n_edges + 1]
        required = {*map(tuple, self.prior.required.tolist()), *self._kept}
        squares = np.add.reduceat(state.edge_weights[: offsets[-1]] ** 2, offsets[:-1])
        share = np.where(squares > 0.0, np.inf, 0.0)  # of the threshold of the test
        if settings.significance > 0.0:
            joint = np.diff(offsets)
            least = settings.lam * (np.sqrt(joint) if settings.penalty.square_root else joint)
            reached = network.leave_one_out(
                tolerance=self._tolerance, least=least, test=self.scorer.scoring.test
            )
            share = np.minimum(share, reached)
        superfluous: list[int] = []
        touched: set[int] = set()
        for e in np.argsort(share, kind="stable").tolist():
            if share[e] > 1.0:
                break
            ends = set(network.edges[e].tolist())
            pair = min(ends), max(ends)
            # If an edge was removed and violates again, the refitted model needs it.
            is_final = self._removed[pair] >= (1 if share[e] > 0.0 else _MOST_REMOVALS)
            if not ends & touched and pair not in required and not is_final:
                touched |= ends
                superfluous.append(e)
        return np.array(sorted(superfluous), dtype=np.int64)

    def _remove(self, network: PseudoNetwork, positions: np.ndarray) -> None:
        """Remove the edges at some positions, with their ids."""
        network.remove_edges(positions)
        gone = set(positions.tolist())
        self._pruned += [self._ids[e] for e in positions.tolist()]
        self._ids = [id_ for e, id_ in enumerate(self._ids) if e not in gone]

    def _record(self) -> None:
        """Append the changes to the history, with edge positions translated to ids."""
        changes = self.network.changes()
        ids = read_only(np.array(self._ids, dtype=np.int64)[changes.edges])
        changes = dataclasses.replace(changes, edges=ids)
        self.history.append(self._unrecorded, changes, self._pruned)
        self._pruned, self._unrecorded = [], []

    def _removed_pairs(self, ids: Sequence[int]) -> np.ndarray:
        if not ids:
            return NO_PAIRS
        return read_only(np.array([self.history.activations[e] for e in ids], dtype=np.int32))


def scored_edges(edges: np.ndarray, scores: Sequence[float]) -> tuple[ScoredEdge, ...]:
    """Return the edges with their scores as :class:`ScoredEdge`."""
    return tuple(
        ScoredEdge(int(i), int(j), float(score))
        for (i, j), score in zip(edges, scores, strict=True)
    )
