"""Nodewise group-ℓ₁ pseudo-likelihood: one penalised regression per variable, along a path of λ.

Every variable is regressed on all others (multinomial logistic regression), with a group penalty
per neighbour. The neighbours with non-zero weights are its neighbourhood, and a rule combines the
two neighbourhoods of a pair into the decision on its edge. This is the most common method for
structure learning.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.inference.prediction import PairwiseMRF
from graftviz.learning.base import Learner
from graftviz.learning.counts.packed import count_pair
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.history import Changes
from graftviz.learning.learner_run import LearnerRun
from graftviz.learning.nodewise.neighbourhoods import Neighbourhoods
from graftviz.learning.prior import PriorOptions
from graftviz.learning.scores.base import GroupWeight
from graftviz.learning.scores.pair_test import pair_test, smallest_norms, usual_significance
from graftviz.learning.trace import (
    ADMITTED,
    NO_PAIRS,
    NO_TESTS,
    PASSED,
    ActivationTest,
    Certificate,
    EdgeTests,
    Outcome,
    Remark,
    ScoredEdge,
    Step,
)
from graftviz.learning.weights.network import frozen_changes
from graftviz.utils.arrays import freeze, read_only
from graftviz.utils.compiling import kernel
from graftviz.utils.errors import InputError
from graftviz.utils.options import CodeLine, option


def distances(counts: PairCounts) -> np.ndarray:
    """Return ‖p_i p_jᵀ − p_D(i, j)‖₂ of every pair, float64, shape (n, n), 0 on the diagonal."""
    n = counts.n_variables
    out = np.zeros((n, n))
    for i in range(n - 1):
        _distances_of_row(counts.packed, i, counts.scratch, out[i])
    return out + out.T


@kernel
def _distances_of_row(packed, i, table, out):
    """Write the distances of the pairs (i, j), j > i, to ``out[j]``."""
    offsets, margins, rows = packed.node_offsets, packed.margins, packed.rows
    states_i = offsets[i + 1] - offsets[i]
    for j in range(i + 1, len(offsets) - 1):
        states_j = offsets[j + 1] - offsets[j]
        count_pair(packed, i, j, table)
        total = 0.0
        for x in range(states_i):
            share = margins[offsets[i] + x] / rows
            for y in range(states_j):
                deviation = share * margins[offsets[j] + y] / rows - table[x * states_j + y] / rows
                total += deviation * deviation
        out[j] = math.sqrt(total)


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
            return self.nothing_left()
        if not self._ids and self._table.varying.sum() < 2:
            return Remark("reasons.constant", {})
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


@dataclass(frozen=True)
class NodewiseL1(PriorOptions):
    """Group-ℓ₁ penalised nodewise pseudo-likelihood.

    λ decreases along a path, evenly spaced in its logarithm, from the largest score of any pair
    (above which there is no edge) to `lam`. At each λ the sum over variables i of

        −(1/N) Σ_m log p(x_i | x_others) + λ Σ_j d_ij ‖W_ij‖₂ + λ₂ Σ_j ‖W_ij‖₂²

    is minimised, starting from the previous weights; intercepts are free. This sum is the
    objective; it falls along the path because λ does. Each edge is estimated twice, by W_ij and by
    W_ji, and `rule` defines how the two norms decide. One step is one λ at which the graph changes;
    edges may also be removed. The score of an activated edge is the gradient norm of its group
    divided by d_ij at the time the group entered; the rule combines the two directions.

    The model has w_ij = (W_ij + W_jiᵀ) / 2, and node weights that are fitted again by
    pseudo-likelihood with fixed edges: the mean of p(x_i | x_others) over the rows equals the
    observed shares. The KKT residual is that of the regressions, over all variables and neighbours.
    The certificate scores each inactive pair in every direction in which its weights are zero.

    Required edges are in the graph at every λ; they are penalised like others, so at a large λ
    their weights are zero. Forbidden pairs are in no regression.

    Without `lam`, each pair has its own threshold, and one level holds for all: about one edge per
    50 variables is added by chance. λ is the mean of threshold / d over pairs, with d of
    `group_weight`, and d_ij is scaled such that λ d_ij at the last λ of the path is the threshold

        σ_ij √(q_ij / k_ij),   σ_ij² = (1 − ‖p_i‖²)(1 − ‖p_j‖²) / N,

    of ‖p_i p_jᵀ − p_D‖, with the quantile q_ij of the gamma distribution of shape k_ij, which
    follows from the numbers of states and their shares
    (:func:`graftviz.learning.scores.pair_test.pair_test`). A number for `lam` is the last λ of all
    pairs, and d_ij is that of `group_weight`, so that noise is above λ in pairs of few states
    first.

    Source: Ravikumar, Wainwright and Lafferty, "High-dimensional Ising model selection using
    ℓ₁-regularized logistic regression" (2010); with groups: Jalali et al. (2011).

    Examples
    --------
    >>> gv.learn(survey, gv.NodewiseL1(max_edges=10)).model.n_edges
    10
    """

    name: ClassVar[str] = "nodewise-l1"
    title: ClassVar[str] = "Nodewise group-ℓ₁"
    idea: ClassVar[str] = (
        "Regresses every variable on all others with a penalty per neighbour, and lowers λ step by "
        "step. The usual way to learn a graph: accounts for indirect dependence, at the cost of "
        "using every pair at every λ."
    )
    source: ClassVar[str] = "Ravikumar, Wainwright and Lafferty (2010); Jalali et al. (2011)"
    sentences: ClassVar[str] = "path"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("count", 0, "s = ‖pᵢpⱼᵀ − p_D‖ / d of all pairs; λ starts at the largest"),
        CodeLine("lower", 0, "for each λ of the path, downwards"),
        CodeLine("fit", 1, "for each i: fit log p(xᵢ | x_active) with penalty λ d ‖Wᵢⱼ‖"),
        CodeLine("check", 1, "score all pairs: where ‖gradient‖ / d > λ, let j in and fit again"),
        CodeLine("rule", 1, "edges: where both (either, the mean) of ‖Wᵢⱼ‖, ‖Wⱼᵢ‖ are above 0"),
        CodeLine("average", 1, "w = mean of the two estimates; fit the node weights again"),
    )

    lam: float | None = option(
        None,
        "λ: the last one of the path; weight of the group penalty per neighbour",
        label="λ",
        above=0.0,
        maximum=1.0,
        scale="log",
        none_means="a threshold for each pair, such that chance adds one edge per 50 variables",
    )
    path: int = option(
        12,
        "number of values of λ from the largest useful one down to the last",
        label="Path length",
        minimum=1,
        maximum=1000,
    )
    rule: Literal["and", "or", "mean"] = option(
        "or",
        "combination of the two estimates of an edge: the smaller norm (and), the larger (or), or "
        "their mean",
        label="Rule",
    )
    min_norm: float = option(
        0.0,
        "norm of the weights, as the rule takes it, that an edge must exceed",
        label="Least norm",
        minimum=0.0,
        advanced=True,
    )
    lam2: float = option(
        0.0,
        "λ₂: weight of the squared norm; larger values shrink the weights",
        label="λ₂",
        minimum=0.0,
        maximum=10.0,
        scale="log",
    )
    max_edges: int | None = option(
        None,
        "edge budget: the path ends where it would be exceeded, with the strongest edges",
        label="Edge budget",
        minimum=1,
        none_means="until λ is reached",
    )
    group_weight: GroupWeight = option(
        "count",
        "d in penalty and score: the number of joint states, or its square root; without a number "
        "for λ, only the unit of λ and of scores",
        label="Group weight d",
        advanced=True,
    )

    def check(self, table: DiscreteTable) -> None:
        """Raise :class:`InputError` if `table` is too small or has no rows."""
        super().check(table)
        if not table.has_rows:
            raise InputError(
                "The regressions need the rows in memory, not only the counts of pairs; use a "
                "learner such as chow-liu."
            )

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; the seed is unused, as the algorithm is deterministic."""
        self.check(table)
        run = PathRun(table.repeated(), self)
        while run.has_more:
            if run.begin_required() or run.lower():
                sent = yield run.step()
                run.clock.resume()
                if isinstance(sent, NodewiseL1):
                    run.switch(sent)
        return run.finish()
