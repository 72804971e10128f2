"""Run of feature grafting and grafting-light: the loop, the active set, steps and outcomes."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.features.network import FeatureNetwork
from graftviz.learning.features.options import FeatureOptions
from graftviz.learning.features.search import FeatureSearch, FoundFeature, best_inside
from graftviz.learning.learner_run import LearnerRun
from graftviz.learning.trace import Certificate, Outcome, Remark, ScoredEdge, ScoredFeature, Step

_STEP_TOLERANCE = 1e-8
_POLISH_TOLERANCE = 1e-10
_POLISHED = 1e-7  # KKT residual at which polishing stops
_POLISH_ROUNDS = 5
_AFTER_POLISH = Remark("notes.polished", {})


def graft_features(
    table: DiscreteTable, options: FeatureOptions
) -> Generator[Step, Learner | None, Outcome]:
    """Activate the feature with the largest gradient until none violates (TH algorithm 5)."""
    run = _FeatureRun(table, options)
    is_polished = True  # there are no edges yet
    if len(run.prior.required):
        run.activate_required()
        is_polished = False
        sent = yield run.step(notes=())
        run.clock.resume()
        if type(sent) is type(options):
            run.switch(sent)
    while True:
        stopped_by = run.exhausted_budget()
        found = None if stopped_by else run.best()
        if found is None or found.score <= run.settings.lam:
            if is_polished:
                return run.finish(stopped_by)
            # Only at polished weights do the scores prove that no feature violates.
            run.polish()
            is_polished = True
            continue
        is_late = is_polished and run.index > 0
        run.activate(found)
        is_polished = False
        sent = yield run.step(notes=(_AFTER_POLISH,) if is_late and options.one_step else ())
        run.clock.resume()
        if type(sent) is type(options):
            run.switch(sent)


class _FeatureRun(LearnerRun):
    """Active features of a run."""

    def __init__(self, table: DiscreteTable, options: FeatureOptions) -> None:
        super().__init__(table, options)
        self.labels = table.labels
        self.prior = options.prior(table.names)
        with self.clock.work("statistics"):
            self._counts = PairCounts(table)
            self._search = FeatureSearch(self._counts)
            self._search.exclude(self.prior.forbidden)
        self.settings = options.settings(self._counts)
        self._tests = 0
        self._activated: tuple[ScoredEdge, ...] = ()
        self._features: tuple[ScoredFeature, ...] = ()
        with self.clock.work("fitting"):
            self._network = FeatureNetwork(self._counts, table.names, table.labels)
            self._evaluation = self._network.evaluate(self.settings.penalty)
        self._previous_objective = self._evaluation.objective
        self.begin(self._network.model(), self._network.node_beliefs)

    @property
    def tables_counted(self) -> int:
        """Number of pair tables counted so far."""
        return self._counts.tables_counted

    @property
    def inactive(self) -> int:
        """Number of inactive features."""
        return self._search.possible - self._network.n_features

    def exhausted_budget(self) -> Remark | None:
        """Return the budget that is used up; None if none limits the run."""
        n_edges, n_features = self._network.n_edges, self._network.n_features
        budget = self.options.edge_budget(len(self.names))
        if budget <= n_edges < self.tables_possible - len(self.prior.forbidden):
            return Remark("reasons.budget", {"budget": n_edges})
        most = self.options.max_features
        if most is not None and n_features >= most and self.inactive:
            return Remark("reasons.feature_budget", {"budget": n_features})
        return None

    def best(self) -> FoundFeature | None:
        """Return the inactive feature with the largest gradient; None if all are active."""
        network, state = self._network, self._network.state
        before = self._search.tests
        if self.options.rescoring == "all":
            self._search.reset_bounds()
        with self.clock.work("scoring"):
            found = self._search.best_outside(state.node_beliefs, state.drift)
            e, cell, score, inside = best_inside(
                state.edge_offsets,
                network.n_edges,
                network.active,
                network.beliefs,
                state.edge_targets,
            )
        self._tests += self._search.tests - before + int(inside)
        if e >= 0 and (found is None or score > found.score):
            i, j = network.edges[e].tolist()
            return FoundFeature(i, j, int(cell), float(score))
        return found

    def activate_required(self) -> None:
        """Activate all features of the required edges."""
        beliefs = np.split(self._network.node_beliefs, np.cumsum(self._counts.cardinalities)[:-1])
        found = []
        with self.clock.work("scoring"):
            for i, j in self.prior.required.tolist():
                shares = self._counts.table(i, j) / self._counts.n_rows
                gaps = np.abs(np.outer(beliefs[i], beliefs[j]) - shares)
                scores = gaps.reshape(-1).tolist()
                found += [FoundFeature(i, j, cell, score) for cell, score in enumerate(scores)]
        self.activate(*found)

    def activate(self, *found: FoundFeature) -> None:
        """Activate features, then fit all weights or take one step."""
        network, penalty = self._network, self.settings.penalty
        new: dict[tuple[int, int], float] = {}  # activated edges, with their largest score
        features = []
        with self.clock.work("fitting"):
            for i, j, cell, score in found:
                before = network.n_edges
                features.append((network.activate(i, j, cell), cell))
                self._search.mark_active(i, j)
                if network.n_edges > before or (i, j) in new:
                    new[i, j] = max(score, new.get((i, j), 0.0))
            self._previous_objective = self._evaluation.objective
            self._evaluation = (
                network.step(penalty, tolerance=_STEP_TOLERANCE, kind=self.options.update)
                if self.options.one_step
                else network.fit(penalty, tolerance=_STEP_TOLERANCE)
            )
            self.history.append(list(new), network.changes(), features=features)
        self._activated = tuple(ScoredEdge(*pair, score) for pair, score in new.items())
        self._features = tuple(
            ScoredFeature(i, j, *divmod(cell, len(self.labels[j])), score)
            for i, j, cell, score in found
        )
        self.index += 1

    def switch(self, options: FeatureOptions) -> None:
        """Continue with other options; refit if the penalty changed (not with one_step)."""
        before, self.settings = self.settings, options.settings(self._counts)
        self.options = options
        if self.settings == before:
            return
        with self.clock.work("fitting"):
            penalty, network = self.settings.penalty, self._network
            self._evaluation = (
                network.evaluate(penalty)
                if self.options.one_step
                else network.polish(penalty, tolerance=_STEP_TOLERANCE)
            )

    def polish(self) -> None:
        """Fit all active weights tightly and reset the bounds of the search."""
        self._search.reset_bounds()
        with self.clock.work("fitting"):
            for _ in range(_POLISH_ROUNDS):
                self._evaluation = self._network.polish(
                    self.settings.penalty, tolerance=_POLISH_TOLERANCE
                )
                if self._evaluation.kkt_residual <= _POLISHED:
                    break

    def step(self, *, notes: tuple[Remark, ...]) -> Step:
        """Return the report of the last step and pause the clock until it is resumed."""
        refit = "step" if self.options.one_step else "refit"
        required = self.index == 1 and len(self.prior.required) > 0
        lines = ("activate", refit) if required else ("loop", "score", "best", "activate", refit)
        tests, self._tests = self._tests, 0
        return self.step_report(
            tests=tests,
            activated=self._activated,
            required=required,
            n_edges=self._network.n_edges,
            objective=self._evaluation.objective,
            previous_objective=self._previous_objective,
            kkt_residual=self._evaluation.kkt_residual,
            lines=lines if self.index > 1 else ("count", *lines),
            notes=notes,
            test=self.settings.test,
            features=self._features,
        )

    def finish(self, stopped_by: Remark | None) -> Outcome:
        """Return the outcome of the run; call `polish` before if there are edges."""
        worst = self.best()
        self.tests += self._tests
        certificate = self._certificate(worst)
        network = self._network
        self.history.append((), network.changes())
        with self.clock.work("other"):
            gap = network.restart_gap() if network.n_edges else 0.0
        return self.outcome(
            certificate,
            stopped_by or self._reason(certificate),
            objective=self._evaluation.objective,
            kkt_residual=self._evaluation.kkt_residual,
            bp_restart_gap=gap,
            automatic=self.options.automatic(self._counts),
            objective_name="Bethe likelihood",
        )

    def _certificate(self, worst: FoundFeature | None) -> Certificate:
        edge = states = None
        if worst is not None:
            edge = worst.i, worst.j
            states = divmod(worst.cell, len(self.labels[worst.j]))
        return Certificate(
            scored=self.inactive,
            possible=self.inactive,
            worst_score=None if worst is None else worst.score,
            worst_edge=edge,
            threshold=self.settings.lam,
            score=self.settings.test.score,
            objective="Bethe likelihood",
            unit="feature",
            worst_states=states,
        )

    def _reason(self, certificate: Certificate) -> Remark:
        if certificate.worst_edge is None or certificate.worst_states is None:
            return Remark("reasons.all_features", {})
        (i, j), (a, b) = certificate.worst_edge, certificate.worst_states
        ends = {"source": self.names[i], "target": self.names[j]}
        states = {"source_state": self.labels[i][a], "target_state": self.labels[j][b]}
        assert certificate.worst_score is not None
        lam = certificate.threshold
        return Remark(
            "reasons.none_remaining" if self._network.n_edges else "reasons.no_edges",
            {
                "kind": Remark("parts.feature", {}),
                "verdict": Remark("parts.above", {"lam": lam}),
                "scored": certificate.scored,
                "edge": Remark("parts.states", {**ends, **states}),
                "reached": Remark("parts.score", {"score": certificate.worst_score, "lam": lam}),
                "limits": "λ",
            },
        )
