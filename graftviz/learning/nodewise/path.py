"""Run along a decreasing path of λ: nodewise regressions, the graph and its reports."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.inference.prediction import PairwiseMRF
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.learner_run import LearnerRun
from graftviz.learning.nodewise.independence import distances
from graftviz.learning.nodewise.neighbourhoods import Neighbourhoods
from graftviz.learning.scores.pair_test import pair_test, smallest_norms, usual_significance
from graftviz.learning.trace import (
    ADMITTED,
    NO_PAIRS,
    NO_TESTS,
    PASSED,
    ActivationTest,
    Certificate,
    Changes,
    EdgeTests,
    Outcome,
    Remark,
    ScoredEdge,
    Step,
)
from graftviz.learning.weights.network import frozen_changes
from graftviz.utils.arrays import freeze, read_only

_SCORE = "pseudo-likelihood gradient"
_OBJECTIVE = "nodewise pseudo-likelihood"
_PATH_TOLERANCE = 1e-3  # of λ d: tolerance of the regressions before the last λ
_POLISHED = (1e-8, 1e-9, 1e-10)  # tolerances tried at the last λ until every zero group is certain
_MOST_LOGGED = 250_000  # pairs up to which steps store all scores
_NODE_PATH_TOLERANCE = 1e-6  # difference between predicted and observed shares
_NODE_POLISHED = 1e-9
_FALLBACK_LAM = 1e-3  # if fewer than two variables vary


class PathRun(LearnerRun):
    """Regressions along the path of a run.

    Parameters
    ----------
    table : DiscreteTable
    options : NodewiseL1
    """

    def __init__(self, table: DiscreteTable, options: Any) -> None:
        super().__init__(table, options)
        self._table = table
        self._prior = options.prior(table.names)
        with self.clock.work("statistics"):
            self._counts = PairCounts(table)
            self._distances = distances(self._counts)
        self._fit = Neighbourhoods(table, self._distances)
        self._ids: dict[tuple[int, int], int] = {}  # ids of the current edges in the history
        self._recorded: dict[int, np.ndarray] = {}  # weights of each edge in the history
        with self.clock.work("fitting"):
            nodes = [
                self._fit.node_weights(i, [], [], _NODE_POLISHED) for i in range(table.n_variables)
            ]
        weights, beliefs = (np.concatenate(parts) for parts in zip(*nodes, strict=True))
        start = PairwiseMRF(
            table.cardinalities, np.zeros((0, 2)), weights, table.names, table.labels
        )
        self.begin(start, beliefs)
        self._objective = self._previous_objective = self._fit.objective
        self._activated: tuple[ScoredEdge, ...] = ()
        self._removed = NO_PAIRS
        self._budget_spent = False
        self._lam = math.inf
        self._path: list[float] = []
        self._plan()

    @property
    def has_more(self) -> bool:
        """Whether the path has another λ."""
        return bool(self._path) and not self._budget_spent

    def switch(self, options: Any) -> None:
        """Continue with other options from the current weights."""
        if options.group_weight != self.options.group_weight:
            self._lam = math.inf
        self.options = options
        self._plan()

    def begin_required(self) -> bool:
        """Activate the required edges before the first λ; return whether there are any."""
        if self.index or not len(self._prior.required):
            return False
        self._lam = max(self._top, self._last)
        found, entries = self._graph()
        return self._record(found, entries)

    def lower(self) -> bool:
        """Fit at the next λ; return whether the graph changed."""
        self._lam = self._path.pop(0)
        thresholds = self._lam * self._dimensions
        if self._path:
            with self.clock.work("fitting"):
                tolerance = _PATH_TOLERANCE * float(thresholds.min())
                self._fit.fit(thresholds, self.options.lam2, tolerance)
        found, entries = self._graph()
        self._budget_spent = len(found) > self.options.edge_budget(self._table.n_variables)
        if not self._path or self._budget_spent:
            self._polish(thresholds)
            found, entries = self._graph()
        return self._record(found, entries)

    def step(self) -> Step:
        """Return the report of the current λ and pause the clock until it is resumed."""
        required = self.index == 1 and len(self._prior.required) > 0
        tested = NO_TESTS if required else self._tested()
        lines = ("average",) if required else ("lower", "fit", "check", "rule", "average")
        possible = self.tables_possible - len(self._prior.decided)
        return self.step_report(
            tests=0 if required else len(tested.scores) or possible,
            activated=self._activated,
            required=required,
            n_edges=len(self._ids),
            removed=self._removed,
            objective=self._objective,
            previous_objective=self._previous_objective,
            kkt_residual=self._fit.violation(self._lam * self._dimensions),
            tested=tested,
            lines=lines if self.index > 1 else ("count", *lines),
            test=ActivationTest(_SCORE, self._lam),
        )

    def finish(self) -> Outcome:
        """Return the outcome of the run; the last fit is already polished."""
        certificate = self._certificate()
        self.history.append((), self._changes([]))
        self.tests = max(self.tests, self._fit.tests // 2)
        return self.outcome(
            certificate,
            self._reason(certificate),
            objective=self._objective,
            kkt_residual=self._fit.violation(self._lam * self._dimensions),
            bp_restart_gap=None,
            automatic={"lam": self._last},
            objective_name=_OBJECTIVE,
        )

    def _tested(self) -> EdgeTests:
        """Return the tests of activated pairs and of pairs that are zero as the rule requires."""
        if self.tables_possible > _MOST_LOGGED:
            return NO_TESTS
        is_zero = self._fit.norms == 0.0
        scores = np.where(is_zero, self._fit.slopes / self._dimensions, 0.0)
        scores = np.maximum(scores, scores.T)
        decided = is_zero | is_zero.T if self.options.rule == "and" else is_zero & is_zero.T
        decided[tuple(self._prior.decided.T)] = False
        first, second = np.nonzero(np.triu(decided, 1))
        new = np.array([edge[:2] for edge in self._activated], dtype=np.int32).reshape(-1, 2)
        entered = np.array([edge.score for edge in self._activated])
        edges = np.concatenate([new, np.stack([first, second], axis=1).astype(np.int32)])
        # Before the last λ the score of a zero group may exceed λ within the fit's tolerance.
        passed = np.minimum(scores[first, second], self._lam)
        verdicts = np.full(len(edges), PASSED, dtype=np.int8)
        verdicts[: len(new)] = ADMITTED
        tests = EdgeTests(edges, np.concatenate([entered, passed]), verdicts)
        freeze(tests.edges, tests.scores, tests.verdicts)
        return tests

    def _plan(self) -> None:
        """Compute the remaining path under the current options."""
        options, sizes = self.options, self._table.cardinalities.astype(np.float64)
        joint = np.outer(sizes, sizes)
        self._dimensions = np.sqrt(joint) if options.group_weight == "sqrt" else joint
        last = self._use_thresholds() if options.lam is None else options.lam
        # An infinite penalty, so that forbidden pairs enter no regression and have the score 0.
        i, j = self._prior.forbidden.T
        self._dimensions[i, j] = self._dimensions[j, i] = np.inf
        self._top = top = float((self._distances / self._dimensions).max())
        steps = options.path
        ratio = min(1.0, last / top) if top > 0.0 else 1.0
        path = [top * ratio ** (k / steps) for k in range(1, steps)] if ratio < 1.0 else []
        self._path = [*(lam for lam in path if lam < self._lam), last]
        self._last = float(last)

    def _use_thresholds(self) -> float:
        """Return the mean λ of threshold / d, and scale d such that λ d is each threshold."""
        packed = self._counts.packed
        margins, offsets = packed.margins, packed.node_offsets
        significance = usual_significance(margins, offsets)
        thresholds = smallest_norms(pair_test(margins, offsets, packed.rows, significance))
        varies = thresholds > 0.0
        np.fill_diagonal(varies, False)
        if not varies.any():
            return _FALLBACK_LAM
        lam = float((thresholds[varies] / self._dimensions[varies]).mean())
        self._dimensions[varies] = thresholds[varies] / lam
        return lam

    def _polish(self, thresholds: np.ndarray) -> None:
        """Fit tightly, until no zero group violates its threshold."""
        with self.clock.work("fitting"):
            for tolerance in _POLISHED:
                self._fit.fit(thresholds, self.options.lam2, tolerance)
                if not ((self._fit.slopes > thresholds) & (self._fit.norms == 0.0)).any():
                    break

    def _graph(self) -> tuple[list[tuple[int, int]], dict[tuple[int, int], float]]:
        """Return the edges under the rule, strongest first, and their scores at entry."""
        rule, norms = self.options.rule, self._fit.norms
        scores = np.where(norms > 0.0, self._fit.entered / self._dimensions, np.nan)
        if rule == "and":
            strength, entered = np.minimum(norms, norms.T), np.fmin(scores, scores.T)
        elif rule == "or":
            strength, entered = np.maximum(norms, norms.T), np.fmax(scores, scores.T)
        else:
            strength = 0.5 * (norms + norms.T)
            both = np.where(np.isnan(scores.T), scores, 0.5 * (scores + scores.T))
            entered = np.where(np.isnan(scores), scores.T, both)
        i, j = self._prior.required.T
        strength[i, j] = np.inf
        entered[i, j] = np.fmax(entered[i, j], self._distances[i, j] / self._dimensions[i, j])
        first, second = np.nonzero(np.triu(strength > self.options.min_norm, 1))
        order = np.argsort(-strength[first, second], kind="stable")
        pairs = list(zip(first[order].tolist(), second[order].tolist(), strict=True))
        return pairs, {pair: float(entered[pair]) for pair in pairs}

    def _record(self, found: list[tuple[int, int]], entries: dict[tuple[int, int], float]) -> bool:
        """Make `found` the edges of the model; return whether the edges changed."""
        chosen = set(found[: self.options.edge_budget(self._table.n_variables)])
        removed = sorted(set(self._ids) - chosen)
        new = [ScoredEdge(i, j, entries[i, j]) for i, j in sorted(chosen - set(self._ids))]
        objective = self._fit.objective
        if not new and not removed:
            self._objective = objective
            return False
        self._previous_objective, self._objective = self._objective, objective
        removed_ids = [self._ids.pop(pair) for pair in removed]
        self._removed = read_only(np.array(removed, dtype=np.int32).reshape(-1, 2))
        self._activated = tuple(sorted(new, key=lambda edge: (-edge.score, edge)))
        activated = [(edge.source, edge.target) for edge in self._activated]
        first = len(self.history.activations)
        self._ids.update({pair: first + k for k, pair in enumerate(activated)})
        with self.clock.work("fitting"):
            changes = self._changes(removed)
        self.history.append(activated, changes, removed=removed_ids)
        self.index += 1
        return True

    def _changes(self, removed: list[tuple[int, int]]) -> Changes:
        """Return the changes since the last recorded model.

        Node weights are refitted at the ends of edges whose weights changed.
        """
        n = self._table.n_variables
        partners: list[list[int]] = [[] for _ in range(n)]
        incoming: list[list[np.ndarray]] = [[] for _ in range(n)]
        changed: list[tuple[int, np.ndarray]] = []
        touched = {node for pair in removed for node in pair}
        for (i, j), e in sorted(self._ids.items(), key=lambda item: item[1]):
            weights = self._fit.edge_weights(i, j)
            for node, other, table in ((i, j, weights.T), (j, i, weights)):
                partners[node].append(other)
                incoming[node].append(table)
            if e not in self._recorded or not np.array_equal(self._recorded[e], weights):
                self._recorded[e] = weights
                changed.append((e, weights.reshape(-1)))
                touched.update((i, j))
        nodes = sorted(touched)
        tolerance = _NODE_PATH_TOLERANCE if self.has_more else _NODE_POLISHED
        fitted = [self._fit.node_weights(i, partners[i], incoming[i], tolerance) for i in nodes]
        return frozen_changes(
            nodes=np.array(nodes, dtype=np.int64),
            edges=np.array([e for e, _ in changed], dtype=np.int64),
            node_weights=np.concatenate([np.zeros(0), *(weights for weights, _ in fitted)]),
            node_beliefs=np.concatenate([np.zeros(0), *(belief for _, belief in fitted)]),
            edge_weights=np.concatenate([np.zeros(0), *(weights for _, weights in changed)]),
        )

    def _certificate(self) -> Certificate:
        """Score every inactive pair in the directions in which its weights are zero.

        A pair that the edge budget excludes counts with its score at entry; for a pair that the
        rule excludes, the KKT residual is the proof.
        """
        fit = self._fit
        scores = np.where(fit.norms == 0.0, fit.slopes / self._dimensions, 0.0)
        scores = np.maximum(scores, scores.T)
        found, entries = self._graph()
        for pair in found:
            scores[pair] = entries[pair]
        for pair in self._ids:
            scores[pair] = -1.0
        first, second = np.triu_indices(len(scores), 1)
        inactive = self.tables_possible - len(self._prior.forbidden) - len(self._ids)
        i, j = self._prior.forbidden.T
        scores[i, j] = scores[j, i] = -1.0
        at = int(np.argmax(scores[first, second]))
        pair = (int(first[at]), int(second[at]))
        return Certificate(
            scored=inactive,
            possible=inactive,
            worst_score=float(scores[pair]) if inactive else None,
            worst_edge=pair if inactive else None,
            threshold=self._lam,
            score=_SCORE,
            objective=_OBJECTIVE,
        )

    def _reason(self, certificate: Certificate) -> Remark:
        if certificate.worst_edge is None or certificate.worst_score is None:
            return Remark("reasons.all_pairs", {})
        if self._budget_spent:
            return Remark("path.budget", {"budget": len(self._ids), "lam": self._lam})
        if not certificate.proves_optimality:
            kind = "path.violates"
        else:
            kind = "path.ended" if self._ids else "path.empty"
        return Remark(
            kind,
            {
                "lam": self._lam,
                "edge": self.edge(*certificate.worst_edge),
                "score": certificate.worst_score,
                "scored": certificate.scored,
            },
        )
