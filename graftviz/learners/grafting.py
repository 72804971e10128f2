"""Run of the learners that activate edges: active set, clock, steps and outcomes."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from graftviz.arrays import read_only
from graftviz.counts import PairCounts
from graftviz.errors import InputError
from graftviz.fitting.final_fit import ExactFit, exact_fit
from graftviz.fitting.network import ActiveNetwork
from graftviz.fitting.objective import Evaluation
from graftviz.fitting.pair_test import (
    chance_of,
    level_of,
    lower_significance,
    pair_test,
    significance_of,
)
from graftviz.fitting.pseudo_network import PseudoNetwork
from graftviz.learners.grafting_options import GraftingOptions
from graftviz.learners.marginals import MarginalGaps, exact_deviations, moved_deviations
from graftviz.learners.prior import Prior
from graftviz.learners.run import LearnerRun
from graftviz.learners.screening import SAMPLE
from graftviz.learners.settings import (
    OBJECTIVE_NAMES,
    PSEUDO_LIKELIHOOD,
    Settings,
)
from graftviz.scores.base import Scorer, ScorerInput
from graftviz.scores.kernels import score_slots
from graftviz.scores.registry import all_scores
from graftviz.search.activation import activation
from graftviz.search.screening import screened
from graftviz.table import DiscreteTable
from graftviz.texts import Sentence
from graftviz.trace import (
    NO_NODES,
    NO_PAIRS,
    NO_TESTS,
    Certificate,
    EdgeTests,
    MarginalCheck,
    Outcome,
    ReservoirView,
    ScoredEdge,
    Step,
)
from graftviz.wording import enough_digits

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
_SECOND_LOOK = 0.1  # level of the comparison of marginals over that of the test
_MOST_ROUNDS = 20  # of comparisons of the marginals
_MOST_REMOVALS = 4  # of one edge, if its weights are zero


class Search(NamedTuple):
    """Report of a learner's search for one step; see :class:`graftviz.trace.Step`."""

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
    required: bool = False


class GraftingRun(LearnerRun):
    """Active set of a run; the learner adds the search for edges.

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
        self._notes: list[str] = []
        self._kept: set[tuple[int, int]] = set()  # edges that the marginals require
        self._exact: ExactFit | None = None
        self._comparison: MarginalGaps | None = None
        self._rounds = 0
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
            settings = settings.lowered(lowest, keeps_lam=options.lam is not None)
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

    @property
    def lowers_significance(self) -> bool:
        """Whether κ is lowered where most pairs just below it are edges."""
        # Penalised node weights change the margins, which adds to the scores of all pairs, and the
        # candidates of a screening are a selection by their scores.
        settings = self.settings
        usual = settings.is_by_rows and not settings.penalty.nodes and settings.significance > 0.0
        return usual and self.options.significance is None and self.candidates is None

    def lower_significance(self, pairs: np.ndarray, scores: np.ndarray) -> bool:
        """Lower κ if many pairs just below it are edges; return whether it was.

        Call it if no pair passes the test. Weights are shrunk from then on.

        Parameters
        ----------
        pairs, scores : arrays, shapes (k, 2) and (k,)
            Random inactive pairs, and their effective scores at the polished weights.
        """
        if not self.lowers_significance:
            return False
        settings, test = self.settings, self.scorer.scoring.test
        varies = (test.impurity[pairs] > 0.0).all(axis=1)
        # The effective score of a pair that does not pass is its share of the threshold times λ.
        chances = chance_of(test, pairs[varies], scores[varies] / settings.lam)
        lower = lower_significance(chances, settings.significance)
        if lower == settings.significance:
            return False
        kappas = {"before": f"{settings.significance:g}", "after": f"{lower:g}"}
        self._notes.append(Sentence("ends.notes.lowered", **kappas))
        self._apply(settings.lowered(lower, keeps_lam=self.options.lam is not None))
        return True

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
            scorer = all_scores()[self.settings.score].scorer(fit)
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
                network.remove_edges(superfluous)
                positions = set(superfluous.tolist())
                self._pruned += [self._ids[e] for e in superfluous.tolist()]
                self._ids = [id_ for e, id_ in enumerate(self._ids) if e not in positions]
                network.fit(self.settings.penalty, tolerance=self._tolerance)
        self._removed.update(removed)
        if removed:
            note = "one_removed" if len(removed) == 1 else "removed"
            self._notes.append(Sentence(f"ends.notes.{note}", count=f"{len(removed):,}"))
            self.polish()
        return np.array(removed, dtype=np.int32).reshape(-1, 2)

    def deviating(self, *, stopped: bool, lower: Callable[[], bool]) -> np.ndarray | None:
        """Return pairs to activate because the model's marginals of them are not the data's.

        Call it when the search finds no further edge, at polished weights. Where exact inference is
        cheap, the weights are first fitted to the exact likelihood, and the marginals are compared
        before κ is lowered: what copies of a column leave unexplained looks like weak edges.

        Parameters
        ----------
        stopped : bool
            Whether the run cannot activate more edges; the deviations are reported then.
        lower : callable
            Lowers κ and returns True if many pairs just below it are edges.

        Returns
        -------
        int32 array, shape (k, 2), or None
            None if κ was lowered, so that the search goes on.
        """
        settings, network = self.settings, self.network
        self._exact = self._comparison = None  # of earlier weights, or of other options
        uses_test = settings.is_by_rows and settings.significance > 0.0 and settings.refit
        if not (uses_test and isinstance(network, PseudoNetwork)):
            return None if not stopped and lower() else NO_PAIRS
        with self.clock.work("fitting"):
            cells = int(network.state.edge_offsets[network.n_edges])
            weights = network.state.node_weights, network.state.edge_weights[:cells]
            # Penalised node weights do not give the model the shares of the data.
            if self.options.fit != PSEUDO_LIKELIHOOD and not settings.penalty.nodes:
                self._exact = exact_fit(
                    self._table,
                    self.counts,
                    network.edges,
                    weights,
                    lam2=self.options.lam2,
                    seed=self._seed,
                    at_any_cost=self.options.fit == "likelihood",
                )
        if self._exact is None and not stopped and lower():
            return None
        with self.clock.work("scoring"):
            self._comparison = self._compared()
        if stopped or self._comparison is None or self._rounds == _MOST_ROUNDS:
            return NO_PAIRS
        self._rounds += 1
        found = self._deviating(self._comparison)
        if len(found) == 0:
            return None if self._exact is not None and lower() else NO_PAIRS
        # Of deviating pairs that share a variable, one may explain the others.
        pairs, shares = self._comparison.pairs[found], self._comparison.shares[found]
        return pairs[list(activation(pairs, shares, 0.0, max(self.room, 0)).chosen)]

    def _deviating(self, compared: MarginalGaps) -> np.ndarray:
        """Return the positions of the pairs that deviate by more than noise and λ."""
        root = self.settings.penalty.square_root
        return compared.deviating(self.counts, self.threshold, root=root)

    def _compared(self) -> MarginalGaps | None:
        """Compare the marginals of all inactive pairs that may become edges with the data's."""
        n, packed = self.counts.n_variables, self.counts.packed
        strict = significance_of(_SECOND_LOOK * level_of(self.settings.significance))
        test = pair_test(packed.margins, packed.node_offsets, packed.rows, strict)
        inactive = Prior(self.network.edges.astype(np.int32), self.prior.forbidden)
        pairs = inactive.undecided(self.candidates, n)
        if pairs is None:
            pairs = np.stack(np.triu_indices(n, 1), axis=1).astype(np.int32)
        if self._exact is not None:
            return exact_deviations(self.counts, test, pairs, self._exact.pair_marginals())
        model = self.network.model()
        return moved_deviations(model, self._table, self.counts, test, pairs, self._seed)

    def activate_deviating(self, pairs: np.ndarray) -> Step:
        """Activate pairs whose marginals deviate, refit, and return the report of that step."""
        self._kept.update(map(tuple, pairs.tolist()))
        with self.clock.work("scoring"):
            scores = self._scores_of(pairs)
        self.refit(pairs)
        note = "one_deviates" if len(pairs) == 1 else "deviate"
        self._notes.append(Sentence(f"ends.notes.{note}", count=f"{len(pairs):,}"))
        return self.step(
            Search(scored_edges(pairs, scores.tolist()), tests=0, lines=("activate", "refit"))
        )

    def _scores_of(self, pairs: np.ndarray) -> np.ndarray:
        """Return the current scores of pairs."""
        counts, scores = self.counts, np.empty(len(pairs))
        slots = np.array([counts.slot(i, j) for i, j in pairs.tolist()])
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

    def finish(self, edges: np.ndarray, scores: np.ndarray, *, stopped_by: str = "") -> Outcome:
        """Return the outcome of the run; call `polish` before.

        Parameters
        ----------
        edges, scores : arrays, shapes (k, 2) and (k,)
            Inactive edges and their scores at the polished weights.
        stopped_by : str
            The limit that ended the run, as a sentence; empty if no edge violated any more.
        """
        certificate = self._certificate(edges, scores)
        self._take_exact_weights()
        if self.settings.refit and not self._by_rows and self.n_edges:
            self._refit_by_rows()
        self._record()
        with self.clock.work("other"):
            gap = self.network.restart_gap() if self.n_edges else 0.0
        automatic = self.options.automatic(self.counts, has_rows=self._table.has_rows)
        objective = OBJECTIVE_NAMES[self.settings.objective]
        automatic |= {"significance": self.settings.significance, "lam": self.settings.lam}
        return self.outcome(
            certificate,
            self._with_marginals(self._reason(certificate, stopped_by), certificate.marginals),
            objective=self.evaluation.objective,
            kkt_residual=self.evaluation.kkt_residual,
            bp_restart_gap=gap,
            automatic=automatic,
            objective_name=objective if self._exact is None else "exact likelihood",
        )

    def _certificate(self, edges: np.ndarray, scores: np.ndarray) -> Certificate:
        worst, worst_edge, compared = None, None, self._comparison
        # With κ > 0 an effective score is reported as its share of the threshold of its pair,
        # times κ.
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
            screening=self.screening,
            marginals=compared and compared.check(self.counts, self._deviating(compared)),
        )

    def _take_exact_weights(self) -> None:
        """Replace the weights by those of the exact likelihood, where they were fitted."""
        if self._exact is None or not isinstance(self.network, PseudoNetwork):
            return
        fit, fitted = self._exact
        with self.clock.work("fitting"):
            self.network.follow(fit.node_weights, fit.edges, fit.edge_weights)
        self.evaluation = Evaluation(fitted.objective, fitted.violation, 0.0)

    def _refit_by_rows(self) -> None:
        """Refit the final structure of a Bethe run by pseudo-likelihood and prune it once."""
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

    def _with_marginals(self, reason: str, check: MarginalCheck | None) -> str:
        """Return the reason for the end, and what the comparison of the marginals found."""
        if check is None or check.worst_edge is None or check.states is None:
            return reason
        values = {"reason": reason, "pairs": f"{check.pairs:,}", "rows": f"{check.rows:,}"}
        if check.deviating == 0:
            return Sentence(f"ends.marginals.{'sampled' if check.rows else 'exact'}", **values)
        ends = zip(check.worst_edge, check.states, strict=True)
        return Sentence(
            "ends.marginals.deviating",
            **values,
            count=f"{check.deviating:,}",
            edge=" – ".join(f"{self.names[i]} = {self._table.labels[i][a]}" for i, a in ends),
            observed=f"{100.0 * check.observed:.3g} %",
            expected=f"{100.0 * check.expected:.3g} %",
        )

    def _reason(self, certificate: Certificate, stopped_by: str) -> str:
        if stopped_by:
            return stopped_by
        kind = "pair" if self.candidates is None else "candidate"
        if certificate.worst_edge is None:
            return Sentence(f"ends.reasons.all_{kind}s")
        i, j = certificate.worst_edge
        edge = f"{self.names[i]} – {self.names[j]}"
        if not certificate.proves_optimality:
            was_removed = certificate.worst_edge in self.history.activations
            reason = "ends.reasons.removed" if was_removed else "ends.reasons.violates"
            return Sentence(reason, kind=Sentence(f"ends.parts.{kind}"), edge=edge)
        assert certificate.worst_score is not None
        test, lam = self.settings.test, f"{self.settings.test.lam:g}"
        if test.significance > 0.0:
            share = format_below(100.0 * certificate.worst_score / certificate.threshold, 100.0)
            kappa = f"{test.significance:g}"
            usual = f"{self._resolved(self.options).significance:g}"  # before it was lowered
            part = "passes" if kappa == usual else "passes_lowered"
            verdict = Sentence(f"ends.parts.{part}", kappa=kappa, usual=usual, lam=lam)
            reached: str = Sentence("ends.parts.share", share=share)
            limits: str = Sentence("ends.parts.either")
        else:
            verdict = Sentence("ends.parts.above", lam=lam)
            reached, limits = format_below(certificate.worst_score, test.lam), "λ"
        return none_left(
            self.n_edges,
            kind=Sentence(f"ends.parts.{kind}"),
            verdict=verdict,
            scored=f"{certificate.scored:,}",
            edge=edge,
            reached=reached,
            limits=limits,
        )


def format_below(value: float, limit: float) -> str:
    """Format a number with at least three digits and enough to show that it is below `limit`."""
    return f"{value:.{enough_digits(value, lambda written: written < limit)}g}"


def budget_reason(budget: int) -> str:
    """Return the sentence for a run that the edge budget ended."""
    return Sentence("ends.reasons.budget", budget=f"{budget:,}")


def none_left(edges: int, **values: str) -> str:
    """Return the sentence for a run that ended as nothing passes the test.

    Parameters
    ----------
    edges : int
        Number of edges of the model.
    **values
        Of the template ``none_remaining`` or ``no_edges`` of ``ends.toml``.
    """
    kind = "none_remaining" if edges else "no_edges"
    return Sentence(f"ends.reasons.{kind}", **values)


def scored_edges(edges: np.ndarray, scores: Sequence[float]) -> tuple[ScoredEdge, ...]:
    """Return the edges with their scores as :class:`ScoredEdge`."""
    return tuple(
        ScoredEdge(int(i), int(j), float(score))
        for (i, j), score in zip(edges, scores, strict=True)
    )
