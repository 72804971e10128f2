"""Run of feature grafting and grafting-light: the loop, the active set, steps and outcomes.

Exhaustive scan of feature grafting: the best of all inactive features, at every step. A feature is
one joint state (a, b) of a pair (i, j); its score is |b_i(a) b_j(b) − p_D(a, b)| while the pair has
no active feature, and |b_ij(a, b) − p_D(a, b)| with the pair belief afterwards. Of a pair without
active features only the best feature matters. Since it was scored last, its score can change by at
most drift_i + drift_j, the lengths of the paths of both node beliefs, as no entry changes by more
than the belief. Pairs that cannot be the maximum are therefore not scored again.

Options of the learners that activate single features, and their default values. Without `lam`, one
level holds for all features and each has its own threshold λ u_k, which follows from its noise
(:func:`graftviz.learning.weights.noise.feature_thresholds`): the penalty of its weight is
λ u_k |w_k| and its score is divided by u_k. The level is 1 / (10 F) with the number of features
that differ, F = Σ (s_i − 1)(s_j − 1), so that about one in ten runs on independent variables
activates a feature. A λ that was chosen holds for all features, as in the thesis. Default λ₂:
4 / √N, as for whole edges under the Bethe likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.counts.pair_counts import PairCounts, table_cells
from graftviz.learning.features.solver import FIT, FeatureNetwork
from graftviz.learning.learner_run import LearnerRun
from graftviz.learning.prior import PriorOptions
from graftviz.learning.scores.pair_test import significance_of
from graftviz.learning.settings import Rescoring, rescoring_option
from graftviz.learning.trace import (
    FEATURE_TOLERANCE,
    ActivationTest,
    Certificate,
    Outcome,
    Remark,
    ScoredEdge,
    ScoredFeature,
    Step,
)
from graftviz.learning.weights.noise import (
    FeatureUnits,
    feature_thresholds,
    plain_units,
    unit_of,
)
from graftviz.learning.weights.penalty import Penalty
from graftviz.utils.compiling import inner_kernel, kernel
from graftviz.utils.errors import InputError
from graftviz.utils.options import option

_SCORE = "feature"  # |∂L/∂w_k| of the Bethe likelihood
_FALLBACK_LAM = 1e-3  # if no variable varies, so that there is no noise
_FALSE_RUNS = 0.1  # share of runs on independent variables that activate a feature


class FeatureSettings(NamedTuple):
    """Resolved options of one run: the penalty, whose λ is also the threshold of scores.

    `by_noise`: whether λ was not chosen, so that each feature has its own threshold.
    """

    penalty: Penalty
    by_noise: bool

    @property
    def lam(self) -> float:
        """Threshold λ of scores."""
        return self.penalty.lam

    @property
    def test(self) -> ActivationTest:
        """The activation test C₁ (TH 3.9)."""
        return ActivationTest(_SCORE, self.penalty.lam, by_noise=self.by_noise)


@dataclass(frozen=True)
class FeatureOptions(PriorOptions):
    """Options of every learner that activates single features under the ℓ₁ objective.

    All features of the required edges are activated first; the penalty may make their weights zero.

    Attributes
    ----------
    one_step : bool
        Whether the active weights take one step after an activation instead of a full fit.
    """

    sentences: ClassVar[str] = "feature"
    by_score: ClassVar[bool] = True
    by_feature: ClassVar[bool] = True
    one_step: ClassVar[bool] = False

    lam: float | None = option(
        None,
        "λ: the gradient that a feature must exceed, and the penalty of its absolute weight",
        label="λ",
        above=0.0,
        maximum=1.0,
        scale="log",
        none_means="each feature has its own threshold, by its noise; λ is that of a typical one",
    )
    lam2: float | None = option(
        None,
        "λ₂: weight of the squared weights; larger values shrink them",
        label="λ₂",
        minimum=0.0,
        maximum=10.0,
        scale="log",
        none_means="4 / √N",
    )
    max_edges: int | None = option(
        None,
        "edge budget: stop when so many edges have an active feature",
        label="Edge budget",
        minimum=1,
        none_means="until no remaining feature passes the test",
    )
    max_features: int | None = option(
        None,
        "feature budget: stop when so many features are active",
        label="Feature budget",
        minimum=1,
        none_means="until no remaining feature passes the test",
    )
    rescoring: Rescoring = rescoring_option("features")

    @property
    def update(self) -> int:
        """Kind of the update of active weights, see :mod:`graftviz.learning.features.solver`."""
        return FIT

    def check(self, table: DiscreteTable) -> None:
        """Raise :class:`InputError` if `table` is too small or does not fit the options."""
        super().check(table)
        required = self.prior(table.names).required
        features = int(table.cardinalities[required].astype(np.int64).prod(axis=1).sum())
        if self.max_features is not None and features > self.max_features:
            raise InputError(
                f"The required edges have {features:,} features, more than the feature budget of "
                f"{self.max_features:,}; raise the budget."
            )

    def activation_test(self, counts: PairCounts) -> ActivationTest:
        """Return the test that activates features."""
        return self.settings(counts).test

    def settings(self, counts: PairCounts) -> FeatureSettings:
        """Return the options with automatic values resolved for the counted data."""
        lam, lam2 = self.lam, self.lam2
        if lam is None:
            lam = feature_rule(counts)[0] or _FALLBACK_LAM
        if lam2 is None:
            lam2 = float(f"{4.0 / math.sqrt(counts.n_rows):.2g}")
        penalty = Penalty(float(lam), float(lam2), False, False)
        return FeatureSettings(penalty, by_noise=self.lam is None)

    def automatic(self, counts: PairCounts, *, has_rows: bool = True) -> dict[str, Any]:
        """Return the values that rules give to λ and λ₂."""
        settings = self.settings(counts)
        return {"lam": settings.lam, "lam2": settings.penalty.lam2}


def feature_rule(counts: PairCounts) -> tuple[float, FeatureUnits]:
    """Return the threshold of a typical feature and the units of all, at the level of the runs."""
    packed = counts.packed
    sizes = np.asarray(counts.cardinalities, dtype=np.float64)
    free = sizes - 1.0
    different = (free.sum() ** 2 - (free**2).sum()) / 2.0
    significance = significance_of(_FALSE_RUNS / max(different, 1.0))
    return feature_thresholds(packed.margins, packed.node_offsets, packed.rows, significance)


def feature_units(counts: PairCounts, *, by_noise: bool) -> FeatureUnits:
    """Return the units of the scores of features, all 1 unless they follow from noise."""
    return feature_rule(counts)[1] if by_noise else plain_units(int(counts.cardinalities.sum()))


_ROWS_AT_ONCE = 64


class FoundFeature(NamedTuple):
    """Inactive feature: its pair i < j, its cell (row-major) and its score."""

    i: int
    j: int
    cell: int
    score: float


@inner_kernel
def best_feature(cells, start, scale, beliefs, units, at_i, states_i, at_j, states_j):
    """Return (cell, score) of the best feature of a pair without active features.

    Parameters
    ----------
    cells : float64 array
        ``cells[start:]`` holds the counts, row-major; times `scale` they are p_D.
    beliefs : float64 array, flat
        b_i begins at `at_i`, b_j at `at_j`.
    units : FeatureUnits
    """
    best, score, at = 0, -1.0, start
    for a in range(states_i):
        weight = beliefs[at_i + a]
        for b in range(states_j):
            gap = abs(weight * beliefs[at_j + b] - scale * cells[at])
            gap /= unit_of(units, at_i + a, at_j + b)
            if gap > score:
                best, score = at - start, gap
            at += 1
    return best, score


@kernel
def _scan(packed, store, beliefs, units, drift, scores, cells, seen_drift, active, scratch):
    """Return the slot of the best feature of pairs without active ones, and the number of tests.

    A test is the score of one feature. The slot is -1 without such pairs. Slots are in
    lexicographic order of pairs; ties go to the first.
    """
    first, second, offsets = store.pairs.first, store.pairs.second, packed.node_offsets
    scale = 1.0 / packed.rows
    best, highest, tests = -1, -1.0, 0
    for slot in range(store.pairs.size[0]):
        i, j = first[slot], second[slot]
        reach = (drift[i] + drift[j] - seen_drift[slot]) / units.constant  # no unit is smaller
        if active[slot] or scores[slot] + reach <= highest:
            continue
        if reach > 0.0:
            counts, start = table_cells(packed, store, slot, scratch)
            at_i, at_j = offsets[i], offsets[j]
            cells[slot], scores[slot] = best_feature(
                counts,
                start,
                scale,
                beliefs,
                units,
                at_i,
                offsets[i + 1] - at_i,
                at_j,
                offsets[j + 1] - at_j,
            )
            seen_drift[slot] = drift[i] + drift[j]
            tests += (offsets[i + 1] - at_i) * (offsets[j + 1] - at_j)
        if scores[slot] > highest:
            best, highest = slot, scores[slot]
    return best, tests


@kernel
def best_inside(network, n_edges, active, beliefs, units):
    """Return edge, cell and score of the best inactive feature of the active edges.

    The fourth number is that of tests, scores of one feature. `active` and `beliefs` are flat over
    the cells of the edges. Edge -1: none is inactive.
    """
    edge, cell, score, tests = -1, 0, -1.0, 0
    nodes, offsets, targets = network.edge_nodes, network.node_offsets, network.edge_targets
    for e in range(n_edges):
        at_i, at_j = offsets[nodes[e, 0]], offsets[nodes[e, 1]]
        states_j = offsets[nodes[e, 1] + 1] - at_j
        start = network.edge_offsets[e]
        for k in range(start, network.edge_offsets[e + 1]):
            if active[k]:
                continue
            tests += 1
            at = k - start
            gap = abs(beliefs[k] - targets[k])
            gap /= unit_of(units, at_i + at // states_j, at_j + at % states_j)
            if gap > score:
                edge, cell, score = e, at, gap
    return edge, cell, score, tests


class FeatureSearch:
    """Search over the features of all pairs, which are counted at the start.

    Parameters
    ----------
    counts : PairCounts
        Must be new: slots are then in lexicographic order of pairs.
    units : FeatureUnits
        Divisors of scores.

    Attributes
    ----------
    tests : int
        Number of scores of features that :meth:`best_outside` has computed.
    """

    def __init__(self, counts: PairCounts, units: FeatureUnits) -> None:
        self.counts, self.units = counts, units
        self.tests = 0
        possible = counts.tables_possible
        counts.reserve(possible)
        for row in range(0, counts.n_variables - 1, _ROWS_AT_ONCE):
            counts.count_rows(row, row + _ROWS_AT_ONCE)
        sizes = counts.cardinalities.astype(np.int64)
        self.possible = int((sizes.sum() ** 2 - (sizes**2).sum()) // 2)
        self._scores = np.full(possible, np.inf)
        self._cells = np.zeros(possible, dtype=np.int64)
        self._seen_drift = np.full(possible, -np.inf)
        self._active = np.zeros(possible, dtype=np.bool_)

    def best_outside(self, beliefs: np.ndarray, drift: np.ndarray) -> FoundFeature | None:
        """Return the best feature of the pairs without active ones; None if there is no such pair.

        Parameters
        ----------
        beliefs : float64 array, flat
            Node beliefs.
        drift : float64 array, shape (n,)
            Accumulated change of each belief since the run began.
        """
        counts = self.counts
        slot, tests = _scan(
            counts.packed,
            counts.store,
            beliefs,
            self.units,
            drift,
            self._scores,
            self._cells,
            self._seen_drift,
            self._active,
            counts.scratch,
        )
        self.tests += int(tests)
        if slot < 0:
            return None
        pairs = counts.store.pairs
        return FoundFeature(
            int(pairs.first[slot]),
            int(pairs.second[slot]),
            int(self._cells[slot]),
            float(self._scores[slot]),
        )

    def reset_bounds(self) -> None:
        """Score every pair again at the next scan, which then relies on no bound."""
        self._seen_drift[:] = -np.inf
        self._scores[:] = np.inf

    def exclude(self, pairs: np.ndarray) -> None:
        """Leave pairs, shape (k, 2), out of the search."""
        sizes = self.counts.cardinalities.astype(np.int64)
        self.possible -= int(sizes[pairs].prod(axis=1).sum())
        for i, j in pairs.tolist():
            self.mark_active(i, j)

    def mark_active(self, i: int, j: int) -> None:
        """Exclude a pair with an active feature from the scan; :func:`best_inside` covers it."""
        self._active[self.counts.slot(i, j)] = True


_STEP_TOLERANCE = FEATURE_TOLERANCE
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
        # A fit is no more exact than its tolerance: equal scores are common with counts.
        if found is None or found.score <= run.settings.lam + FEATURE_TOLERANCE:
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
        self.labels, self._varying = table.labels, int(table.varying.sum())
        self.prior = options.prior(table.names)
        with self.clock.work("statistics"):
            self._counts = PairCounts(table)
            self.settings = options.settings(self._counts)
            units = feature_units(self._counts, by_noise=self.settings.by_noise)
            self._search = FeatureSearch(self._counts, units)
            self._search.exclude(self.prior.forbidden)
        self._tests = 0
        self._activated: tuple[ScoredEdge, ...] = ()
        self._features: tuple[ScoredFeature, ...] = ()
        with self.clock.work("fitting"):
            self._network = FeatureNetwork(self._counts, table.names, table.labels, units)
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
                state, network.n_edges, network.active, network.beliefs, self._search.units
            )
        self._tests += self._search.tests - before + int(inside)
        if e >= 0 and (found is None or score > found.score):
            i, j = network.edges[e].tolist()
            return FoundFeature(i, j, int(cell), float(score))
        return found

    def activate_required(self) -> None:
        """Activate all features of the required edges."""
        offsets, units = self._counts.packed.node_offsets, self._search.units
        beliefs = np.split(self._network.node_beliefs, offsets[1:-1])
        found = []
        with self.clock.work("scoring"):
            for i, j in self.prior.required.tolist():
                shares = self._counts.table(i, j) / self._counts.n_rows
                gaps = np.abs(np.outer(beliefs[i], beliefs[j]) - shares)
                gaps /= units.of_pair(offsets, i, j)
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
            if self.settings.by_noise != before.by_noise:
                units = feature_units(self._counts, by_noise=self.settings.by_noise)
                self._search.units = units
                self._search.reset_bounds()
                network.change_units(units)
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
            return self.nothing_left(by_feature=True)
        if not self._network.n_edges and self._varying < 2:
            return Remark("reasons.constant", {})
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
