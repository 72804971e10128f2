"""Run of the learners that activate edges, and its end: final weights, certificate, outcome."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.grafting.active_set import ActiveSet, Search, scored_edges
from graftviz.learning.grafting.grafting_options import GraftingOptions
from graftviz.learning.grafting.marginals import (
    MarginalGaps,
    MatchedNodes,
    exact_deviations,
    matched_nodes,
    moved_deviations,
)
from graftviz.learning.grafting.reservoir import activation
from graftviz.learning.prior import Prior
from graftviz.learning.scores.pair_test import (
    UsualLevel,
    chance_of,
    level_of,
    pair_test,
    separating_significance,
    significance_of,
)
from graftviz.learning.settings import OBJECTIVE_NAMES, PSEUDO_LIKELIHOOD
from graftviz.learning.trace import (
    NO_PAIRS,
    Certificate,
    HeldOut,
    MarginalCheck,
    Outcome,
    Remark,
    Step,
)
from graftviz.learning.weights.final_fit import (
    FEWEST_ROWS,
    STRENGTHS,
    USUAL_STRENGTH,
    Chosen,
    ExactFit,
    Folds,
    best_penalty,
    exact_fit,
    exact_marginals,
)
from graftviz.learning.weights.network import Evaluation
from graftviz.learning.weights.penalty import Penalty
from graftviz.learning.weights.pseudo_network import PseudoNetwork

_STRENGTH_BY_ROWS = 2.0  # λ₂ N of the pseudo-likelihood that is tried first
_LEAST_DEGREE = 3  # of variables for which κ may be lowered; chance rarely gives so many edges
_SAME_SHARE = 1e-4  # difference of a share below which it is that of the data
_SECOND_LOOK = 0.1  # level of the comparison of marginals over that of the test
_MOST_ROUNDS = 20  # of comparisons of the marginals


class GraftingRun(ActiveSet):
    """Run of a learner that adds the search for edges.

    At its end the marginals of the model are compared with the data's, κ may be lowered, and
    penalties are chosen by rows that are left out. The arguments are those of :class:`ActiveSet`.
    """

    def __init__(
        self,
        table: DiscreteTable,
        options: GraftingOptions,
        *,
        seed: int = 0,
        reports: bool = True,
    ) -> None:
        super().__init__(table, options, seed=seed, reports=reports)
        self._exact: ExactFit | None = None
        self._comparison: MarginalGaps | None = None
        self._rounds = 0
        self._lam2: float | None = None  # of the exact fit, once chosen
        self._before_lowering: set[int] | None = None  # ids of edges before κ was lowered
        self._is_settled = False
        self._withdrawn: dict[str, int | float] = {}  # number of edges, and κ
        self._held_out: HeldOut | None = None
        self._nodes: MatchedNodes | None = None

    @property
    def stopped_by(self) -> Remark | None:
        """The limit that ends the run now; None if there is room for another edge, or no pair."""
        if self.room > 0 or not self.inactive:
            return None
        if self.options.is_given(self.names):
            return Remark("reasons.given", {})
        return Remark("reasons.budget", {"budget": self.budget})

    def switch(self, options: GraftingOptions) -> None:
        """Continue with other options; see :meth:`ActiveSet.switch`."""
        super().switch(options)
        self._is_settled, self._withdrawn = False, {}

    @property
    def lowers_significance(self) -> bool:
        """Whether κ is lowered where most pairs just below it are edges."""
        # Penalised node weights change the margins, which adds to the scores of all pairs, and the
        # candidates of a screening are a selection by their scores.
        settings = self.settings
        usual = settings.is_by_rows and not settings.penalty.nodes and settings.significance > 0.0
        usual = usual and not self._withdrawn
        return usual and self.options.significance is None and self.candidates is None

    def lower_significance(self, pairs: np.ndarray, scores: np.ndarray) -> bool:
        """Lower κ if many pairs just below it are edges; return whether it was.

        Only pairs of variables with several edges count, and only theirs is lowered: independent
        columns beside dependent ones have no weak edges. Call it if no pair passes the test.
        Weights are shrunk from then on.

        Parameters
        ----------
        pairs, scores : arrays, shapes (k, 2) and (k,)
            Random inactive pairs, and their effective scores at the polished weights.
        """
        if not self.lowers_significance:
            return False
        settings, test = self.settings, self.scorer.scoring.test
        degrees = np.bincount(self.network.edges.reshape(-1), minlength=len(self.names))
        is_joined = degrees >= _LEAST_DEGREE
        counts = is_joined & ~test.is_usual & (test.impurity > 0.0)
        varies = counts[pairs].all(axis=1)
        # The effective score of a pair that does not pass is its share of the threshold times λ.
        chances = chance_of(test, pairs[varies], scores[varies] / settings.lam)
        lower = separating_significance(chances, settings.significance)
        if lower == settings.significance:
            return False
        kappas = {"before": settings.significance, "after": lower}
        self._notes.append(Remark("notes.lowered", kappas))
        if self._before_lowering is None:
            self._before_lowering = set(self._ids)
        usual = self._resolved(self.options).significance
        others = UsualLevel(usual, frozenset(np.flatnonzero(~is_joined).tolist()))
        self._apply(settings.lowered(lower, others, keeps_lam=self.options.lam is not None))
        return True

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
        network = self.network
        self._exact = self._comparison = None  # of earlier weights, or of other options
        if not (self._uses_test and isinstance(network, PseudoNetwork)):
            return None if not stopped and lower() else NO_PAIRS
        self._exact = self._fitted_exactly(network, np.arange(self.n_edges))
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

    @property
    def _uses_test(self) -> bool:
        """Whether κ decides and the structure is fitted at the end, as under preset best."""
        settings = self.settings
        return settings.is_by_rows and settings.significance > 0.0 and settings.refit

    def _fitted_exactly(self, network: PseudoNetwork, positions: np.ndarray) -> ExactFit | None:
        """Return the rough fit of the likelihood with some edges; None if it costs too much."""
        # Penalised node weights do not give the model the shares of the data.
        if self.options.fit == PSEUDO_LIKELIHOOD or self.settings.penalty.nodes:
            return None
        with self.clock.work("fitting"):
            return exact_fit(
                self.counts,
                network.edges[positions],
                network.weights_of(positions),
                lam2=self._exact_lam2,
                distinct=network.n_distinct,
                at_any_cost=self.options.fit == "likelihood",
            )

    @property
    def _exact_lam2(self) -> float:
        if self.options.lam2 is not None:
            return self.options.lam2
        return self._lam2 or self._lam2_of(USUAL_STRENGTH)

    def _lam2_of(self, strength: float) -> float:
        """Return λ₂ of a strength, λ₂ N, with the two digits that are reported."""
        return float(f"{strength / self.counts.n_rows:.2g}")

    def settle(self) -> np.ndarray | None:
        """Choose penalties, and remove the edges of a lowered κ, by rows that are left out.

        Call it when nothing deviates any more.

        Returns
        -------
        int array, shape (k, 2), or None
            The pairs removed, maybe none, if the weights changed so that the search must go on;
            None if it ends.
        """
        network, options = self.network, self.options
        if self._is_settled or self.n_edges == 0 or not isinstance(network, PseudoNetwork):
            return None
        if not self._uses_test:
            return None
        folds = Folds(self._table, network.n_distinct, self._seed)
        added = self._edges_of_lowered()
        if not folds.can_choose or (options.lam2 is not None and len(added) == 0):
            return None
        with self.clock.work("fitting"):
            every = np.arange(self.n_edges)
            chosen = self._chosen(network, folds, every, self._exact)
            if len(added):
                others = np.setdiff1d(every, added)
                exact = self._exact and self._fitted_exactly(network, others)
                if self._chosen(network, folds, others, exact).loss <= chosen.loss:
                    return self._withdraw(network, added)
            self._held_out = chosen.nlpl()
        self._is_settled = True
        if self._exact is not None:
            return self._use_lam2(self._exact, chosen.penalty.lam2)
        if chosen.penalty == self.settings.penalty:
            return None
        self._apply(self.settings._replace(penalty=chosen.penalty))
        return NO_PAIRS

    def _use_lam2(self, exact: ExactFit, lam2: float) -> np.ndarray | None:
        """Fit the likelihood with λ₂; return no pairs if others deviate then, else None."""
        if lam2 == self._exact_lam2:
            return None
        self._lam2 = lam2
        with self.clock.work("fitting"):
            self._exact = exact.refined(lam2)
        with self.clock.work("scoring"):
            self._comparison = self._compared()
        deviate = self._comparison is not None and len(self._deviating(self._comparison)) > 0
        return NO_PAIRS if deviate and self._rounds < _MOST_ROUNDS else None

    def _edges_of_lowered(self) -> np.ndarray:
        """Return the positions of the edges that only a lowered κ activated."""
        before = self._before_lowering
        if before is None:
            return np.zeros(0, dtype=np.int64)
        pairs = map(tuple, self.network.edges.tolist())
        is_added = [
            id_ not in before and pair not in self._kept
            for id_, pair in zip(self._ids, pairs, strict=True)
        ]
        return np.flatnonzero(is_added)

    def _chosen(
        self, network: PseudoNetwork, folds: Folds, edges: np.ndarray, exact: ExactFit | None
    ) -> Chosen:
        """Return the best penalty of a structure, and its loss."""
        own, usual = self.settings.penalty, self._lam2_of(USUAL_STRENGTH)
        tried = [self._lam2_of(strength) for strength in STRENGTHS]
        if self.options.lam2 is not None:
            tried = [self.options.lam2]
        free = [Penalty(0.0, lam2, own.square_root, own.nodes) for lam2 in tried]
        if exact is not None and exact.is_cheap:
            first = min(STRENGTHS.index(USUAL_STRENGTH), len(free) - 1)
            return best_penalty(folds.exact(exact.fit), free, first)
        nodes, weights = network.weights_of(edges)
        parts = folds.by_rows(nodes, network.edges[edges], weights)
        if exact is not None:
            # The pseudo-likelihood loses little by a penalty that parts copies of a column.
            free = [one for one in free if one.lam2 <= usual] or free
        first = min(STRENGTHS.index(_STRENGTH_BY_ROWS), len(free) - 1)
        chosen = best_penalty(parts, free, first if exact is None else 0)
        if own.lam > 0.0 and exact is None:
            shrunk = best_penalty(parts, [own], 0)
            chosen = min(chosen, shrunk, key=lambda found: found.loss)
        return chosen

    def _withdraw(self, network: PseudoNetwork, positions: np.ndarray) -> np.ndarray:
        """Remove the edges of a lowered κ, which is as before from then on."""
        pairs = network.edges[positions]
        self._remove(network, positions)
        self._before_lowering = None
        usual, lowered = self._resolved(self.options), self.settings.significance
        self._withdrawn = {
            "count": len(pairs),
            "before": lowered,
            "after": usual.significance,
        }
        self._apply(usual)
        return np.asarray(np.sort(pairs, axis=1), dtype=np.int32)

    def _deviating(self, compared: MarginalGaps) -> np.ndarray:
        """Return the positions of the pairs that deviate by more than noise and λ."""
        root = self.settings.penalty.square_root
        return compared.deviating(self.counts, self.threshold, root=root)

    def _compared(self) -> MarginalGaps | None:
        """Compare the marginals of all inactive pairs that may become edges with the data's."""
        n, packed = self.counts.n_variables, self.counts.packed
        # The usual κ, as a lowered one holds for some variables only, and finds weak pairs.
        usual = self._resolved(self.options).significance
        strict = significance_of(_SECOND_LOOK * level_of(usual))
        test = pair_test(packed.margins, packed.node_offsets, packed.rows, strict)
        inactive = Prior(self.network.edges.astype(np.int32), self.prior.forbidden)
        pairs = inactive.undecided(self.candidates, n)
        if pairs is None:
            pairs = np.stack(np.triu_indices(n, 1), axis=1).astype(np.int32)
        if self._exact is not None:
            return exact_deviations(self.counts, test, pairs, self._exact.fit.pair_marginals())
        model = self.network.model()
        return moved_deviations(model, self._table, self.counts, test, pairs, self._seed)

    def activate_deviating(self, pairs: np.ndarray) -> Step:
        """Activate pairs whose marginals deviate, refit, and return the report of that step."""
        self._kept.update(map(tuple, pairs.tolist()))
        with self.clock.work("scoring"):
            scores = self._scores_of(pairs)
        self.refit(pairs)
        self._notes.append(Remark("notes.deviate", {"count": len(pairs)}))
        return self.step(
            Search(scored_edges(pairs, scores.tolist()), tests=0, lines=("activate", "refit"))
        )

    def finish(
        self, edges: np.ndarray, scores: np.ndarray, *, stopped_by: Remark | None = None
    ) -> Outcome:
        """Return the outcome of the run; call `polish` before.

        Parameters
        ----------
        edges, scores : arrays, shapes (k, 2) and (k,)
            Inactive edges and their scores at the polished weights.
        stopped_by : Remark or None
            The limit that ended the run; None if no edge violated any more.
        """
        self._take_exact_weights()
        self._match_nodes()
        certificate = self._certificate(edges, scores)
        if self.settings.refit and not self._by_rows and self.n_edges:
            self._refit_by_rows()
        self._record()
        gap: float | None = 0.0 if self.n_edges == 0 else None
        if self.n_edges and self._exact is None:
            with self.clock.work("other"):
                gap = self.network.restart_gap()
        automatic = self.options.automatic(self.counts, has_rows=self._table.has_rows)
        objective = OBJECTIVE_NAMES[self.settings.objective]
        automatic |= {"significance": self.settings.significance, "lam": self.settings.lam}
        automatic["lam2"] = self.settings.penalty.lam2 if self._exact is None else self._exact_lam2
        return self.outcome(
            certificate,
            self._with_marginals(self._reason(certificate, stopped_by), certificate.marginals),
            objective=self.evaluation.objective,
            kkt_residual=self.evaluation.kkt_residual,
            bp_restart_gap=gap,
            automatic=automatic,
            objective_name=objective if self._exact is None else "exact likelihood",
            held_out=self._held_out if self._is_settled else None,
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
            marginals=compared
            and compared.check(self.counts, self._deviating(compared))._replace(
                node_gap=self._nodes and self._nodes.gap
            ),
        )

    def _take_exact_weights(self) -> None:
        """Replace the weights by those of the exact likelihood, where they were fitted."""
        if self._exact is None or not isinstance(self.network, PseudoNetwork):
            return
        with self.clock.work("fitting"):
            self._exact = self._exact.refined(self._exact_lam2)
            fit, fitted, _ = self._exact
            self.network.follow(fit.node_weights, fit.edges, fit.edge_weights)
        self.evaluation = Evaluation(fitted.objective, fitted.violation, 0.0)

    def _match_nodes(self) -> None:
        """Correct the node weights, where the likelihood was not fitted."""
        network, compared = self.network, self._comparison
        if not isinstance(network, PseudoNetwork) or compared is None or self.options.fit:
            return
        if self.settings.penalty.nodes:  # shrunk node weights are not meant to match
            return
        if self._exact is not None:
            fit = self._exact.fit
            gap = float(np.abs(fit.beliefs() - fit.targets.shares).max())
            self._nodes = MatchedNodes(fit.node_weights, gap, True)
            return
        with self.clock.work("fitting"):
            nodes, weights = network.weights_of(np.arange(self.n_edges))
            exact = exact_marginals(self.counts, network.edges, (nodes, weights))
            found = matched_nodes(network.model(), self._table, self._seed, exact)
            if found is None:
                return
            self._nodes = found
            network.follow(found.weights, network.edges, weights)
            objective = network.evaluate(self.settings.penalty).objective
        self.evaluation = self.evaluation._replace(objective=objective)

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

    def _with_marginals(self, reason: Remark, check: MarginalCheck | None) -> Remark:
        """Return the reason for the end, and what the comparison of the marginals found."""
        if self._withdrawn:
            reason = Remark("marginals.withdrawn", {"reason": reason, **self._withdrawn})
        is_automatic = self._uses_test and self.n_edges and self.options.lam2 is None
        if is_automatic and self.counts.n_rows < FEWEST_ROWS:
            reason = Remark("marginals.few", {"reason": reason})
        if check is None or check.worst_edge is None or check.states is None:
            return reason
        nodes = self._nodes
        if nodes is not None and (nodes.gap > _SAME_SHARE or not nodes.is_exact):
            kind = "marginals.exact_nodes" if nodes.is_exact else "marginals.nodes"
            reason = Remark(kind, {"reason": reason, "gap": 100.0 * nodes.gap})
        if check.deviating == 0:
            kind = "marginals.sampled" if check.rows else "marginals.exact"
            return Remark(kind, {"reason": reason, "pairs": check.pairs})
        (i, j), (a, b), labels = check.worst_edge, check.states, self._table.labels
        states = {"source_state": labels[i][a], "target_state": labels[j][b]}
        return Remark(
            "marginals.deviating",
            {
                "reason": reason,
                "pairs": check.pairs,
                "count": check.deviating,
                "source": self.names[i],
                "target": self.names[j],
                **states,
                "observed": 100.0 * check.observed,
                "expected": 100.0 * check.expected,
            },
        )

    def _reason(self, certificate: Certificate, stopped_by: Remark | None) -> Remark:
        if stopped_by is not None:
            return stopped_by
        has_all = self.candidates is None
        if certificate.worst_edge is None and self.options.is_given(self.names):
            return Remark("reasons.given", {})
        if certificate.worst_edge is None:
            return Remark("reasons.all_pairs" if has_all else "reasons.all_candidates", {})
        if not self.n_edges and self._table.varying.sum() < 2:
            return Remark("reasons.constant", {})
        kind = Remark("parts.pair" if has_all else "parts.candidate", {})
        edge = self.edge(*certificate.worst_edge)
        if not certificate.none_violates:
            was_removed = certificate.worst_edge in self.history.activations
            reason = "reasons.removed" if was_removed else "reasons.violates"
            return Remark(reason, {"kind": kind, "edge": edge})
        assert certificate.worst_score is not None
        test = self.settings.test
        if test.significance > 0.0:
            usual = self._resolved(self.options).significance  # before it was lowered
            passes = "parts.passes" if test.significance == usual else "parts.passes_lowered"
            kappas = {"kappa": test.significance, "usual": usual}
            verdict = Remark(passes, {**kappas, "lam": test.lam})
            share = 100.0 * certificate.worst_score / certificate.threshold
            reached = Remark("parts.share", {"share": share})
        else:
            verdict = Remark("parts.above", {"lam": test.lam})
            reached = Remark("parts.score", {"score": certificate.worst_score, "lam": test.lam})
        return Remark(
            "reasons.none_remaining" if self.n_edges else "reasons.no_edges",
            {
                "kind": kind,
                "verdict": verdict,
                "scored": certificate.scored,
                "edge": edge,
                "reached": reached,
                "limits": Remark("parts.either", {}) if test.significance > 0.0 else "λ",
            },
        )
