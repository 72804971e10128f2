"""Nodewise group-ℓ₁: kernels against plain twins, optima against conditions and scikit-learn."""

from __future__ import annotations

import dataclasses
import itertools

import naive
import numpy as np
import pytest
from fakes import finished_run
from learner_cases import branched, drain, mixed_table, picks, scale_free_table
from scipy.stats import gamma

from graftviz import DiscreteTable, NodewiseL1
from graftviz.evaluation.benchmarks.calibration import chain, edge_set, even, independent
from graftviz.inference.likelihood import nlpl
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.nodewise.neighbourhoods import Neighbourhoods
from graftviz.learning.nodewise.nodewise_l1 import distances
from graftviz.learning.nodewise.solver import _model, fit_intercept, solve_regression
from graftviz.learning.trace import Remark
from graftviz.learning.weights.softmax import loss_and_gradient, residuals
from graftviz.reports.words.answers import why_not


class Problem:
    """A regression of variable 0 on the others, with random weights."""

    def __init__(self, seed, sizes, rows):
        rng = np.random.default_rng(seed)
        hidden = rng.integers(0, 60, size=rows)
        self.codes = np.stack(
            [np.where(rng.random(rows) < 0.5, rng.integers(0, s, rows), hidden % s) for s in sizes]
        ).astype(np.uint8)
        self.sizes = sizes
        self.own = self.codes[0]
        self.starts = np.concatenate([[1], 1 + np.cumsum(sizes[1:])]).astype(np.int64)
        self.cells = np.ascontiguousarray(
            (self.codes[1:].astype(np.int32) + self.starts[:-1, None]).T, dtype=np.int32
        )
        self.weights = rng.normal(size=(int(self.starts[-1]), sizes[0]))
        self.weights -= self.weights.mean(axis=1, keepdims=True)

    def groups(self, weights):
        return {
            k + 1: weights[self.starts[k] : self.starts[k + 1]] for k in range(len(self.sizes) - 1)
        }

    def loss(self, weights):
        return naive.regression_loss(self.own, weights[0], self.groups(weights), self.codes)

    def gradient(self, weights):
        groups = self.groups(weights)
        parts = [
            naive.regression_gradient(self.own, weights[0], groups, self.codes, j, self.sizes[j])
            for j in groups
        ]
        return np.concatenate([parts[0].sum(axis=0, keepdims=True), *parts])

    def violations(self, weights, thresholds, lam2):
        """Return the violations of the intercept and of every group by the plain gradient."""
        gradient = self.gradient(weights)
        found = [np.linalg.norm(gradient[0])]
        slopes = self.groups(gradient)
        for k, group in self.groups(weights).items():
            norm, threshold = np.linalg.norm(group), thresholds[k - 1]
            if norm > 0:
                pull = slopes[k] + 2 * lam2 * group + threshold * group / norm
                found.append(np.linalg.norm(pull))
            else:
                found.append(max(0.0, np.linalg.norm(slopes[k]) - threshold))
        return found


PROBLEMS = [
    Problem(0, [2, 2, 3], 50),
    Problem(1, [5, 5, 2, 5], 513),  # more than a block of rows
    Problem(2, [3, 4, 1, 6], 256),
    Problem(3, [7, 3, 9], 300),  # more than four lanes
]
every_problem = pytest.mark.parametrize("problem", PROBLEMS)


@every_problem
@pytest.mark.parametrize("scale", [0.0, 1.0, 40.0])
def test_loss_and_gradient_are_those_of_the_plain_twin(problem, scale):
    weights = scale * problem.weights
    gradient = np.empty_like(weights)
    loss = loss_and_gradient(problem.own, problem.cells, weights, gradient)
    assert loss == pytest.approx(problem.loss(weights), rel=1e-12)
    assert np.allclose(gradient, problem.gradient(weights), atol=1e-13)


@every_problem
def test_residuals_are_predictions_minus_observations(problem):
    weights = problem.weights
    out = np.full((len(problem.own), problem.sizes[0] + 1), 7.0)
    residuals(problem.own, problem.cells, weights, 2, out)
    wanted = naive.regression_probabilities(weights[0], problem.groups(weights), problem.codes)
    wanted[np.arange(len(problem.own)), problem.own] -= 1.0
    assert np.allclose(out[:, 2:], wanted[:, 1:], atol=1e-13)
    assert (out[:, :2] == 7.0).all()


@every_problem
def test_the_hessian_is_the_derivative_of_the_gradient(problem):
    weights = problem.weights
    model = _model(problem.own, problem.cells, problem.starts, weights)
    components = problem.sizes[0] - 1
    assert np.allclose(model.basis.T @ model.basis, np.eye(components), atol=1e-12)
    assert np.allclose(model.basis.sum(axis=0), 0, atol=1e-12)
    for c, e in itertools.product(range(len(weights)), range(components)):
        step = np.zeros_like(weights)
        step[c] = 1e-5 * model.basis[:, e]
        change = problem.gradient(weights + step) - problem.gradient(weights - step)
        wanted = change @ model.basis / 2e-5
        assert np.allclose(model.hessian[c, e], wanted, atol=1e-8)
    for k in range(-1, len(problem.sizes) - 1):
        own = slice(problem.starts[k], problem.starts[k + 1]) if k >= 0 else slice(0, 1)
        block = model.hessian[own, :, own].reshape(model.bounds[own].size, -1)
        gap = np.diag(model.bounds[own].reshape(-1)) - block
        assert np.linalg.eigvalsh(gap).min() > -1e-12


@every_problem
@pytest.mark.parametrize("lam2", [0.0, 0.02])
@pytest.mark.parametrize("lam", [1e-3, 2e-2])
def test_a_fit_meets_the_conditions_of_its_optimum(problem, lam, lam2):
    weights = np.zeros_like(problem.weights)
    thresholds = lam * problem.sizes[0] * np.array(problem.sizes[1:], dtype=float)
    solution = solve_regression(
        problem.own, problem.cells, problem.starts, thresholds, lam2, 1e-9, weights
    )
    violations = problem.violations(weights, thresholds, lam2)
    assert max(violations) <= 1.01e-9
    assert solution.violation == pytest.approx(max(violations), abs=1e-12)

    def objective(at):
        price = sum(
            c * np.linalg.norm(group) + lam2 * np.sum(group**2)
            for c, group in zip(thresholds, problem.groups(at).values(), strict=True)
        )
        return problem.loss(at) + price

    assert solution.objective == pytest.approx(objective(weights), rel=1e-12)
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        moved = weights + size * rng.normal(size=weights.shape)
        assert objective(moved) > solution.objective - 1e-12
    assert np.allclose(weights.sum(axis=1), 0, atol=1e-9)


@every_problem
def test_intercept_reproduces_the_shares_of_the_rows(problem):
    weights = problem.weights.copy()
    gap = fit_intercept(problem.own, problem.cells, weights, 1e-10)
    chances = naive.regression_probabilities(weights[0], problem.groups(weights), problem.codes)
    shares = np.bincount(problem.own, minlength=problem.sizes[0]) / len(problem.own)
    assert np.allclose(chances.mean(axis=0) - shares, gap, atol=1e-14)
    assert np.linalg.norm(gap) <= 1e-10
    assert np.array_equal(weights[1:], problem.weights[1:])


def regression_of(fit, i):
    regression = fit._regressions[i]
    return regression.weights[0], {
        int(j): regression.weights[regression.starts[k] : regression.starts[k + 1]]
        for k, j in enumerate(regression.neighbours)
    }


@pytest.mark.parametrize("lam2", [0.0, 0.01])
def test_no_variable_violates_its_regression(lam2):
    """Check the conditions of active and inactive groups in every regression."""
    table = scale_free_table(12, 3, 600)
    n = 12
    fit = Neighbourhoods(table, distances(PairCounts(table)))
    thresholds = np.full((n, n), 6e-3 * 9)
    fit.fit(thresholds, lam2, 1e-8)
    worst, objective = 0.0, 0.0
    for i in range(n):
        intercept, groups = regression_of(fit, i)
        objective += naive.regression_loss(table.codes[i], intercept, groups, table.codes)
        for j in set(range(n)) - {i}:
            gradient = naive.regression_gradient(
                table.codes[i], intercept, groups, table.codes, j, 3
            )
            assert fit.slopes[i, j] == pytest.approx(np.linalg.norm(gradient), abs=1e-13)
            weights = groups.get(j, np.zeros((3, 3)))
            norm = np.linalg.norm(weights)
            assert fit.norms[i, j] == pytest.approx(norm)
            if norm > 0:
                pull = gradient + 2 * lam2 * weights + thresholds[i, j] * weights / norm
                worst = max(worst, np.linalg.norm(pull))
                objective += thresholds[i, j] * norm + lam2 * norm**2
            else:
                worst = max(worst, np.linalg.norm(gradient) - thresholds[i, j])
    assert worst <= 1e-8
    assert fit.violation(thresholds) >= worst - 1e-12
    assert fit.objective == pytest.approx(objective, rel=1e-12)
    assert 0 < np.count_nonzero(fit.norms) < n * (n - 1)


def test_distances_are_belief_scores_at_the_margins():
    table = mixed_table()
    found = distances(PairCounts(table))
    sizes = table.cardinalities
    shares = [np.bincount(c, minlength=s) / 500 for c, s in zip(table.codes, sizes, strict=True)]
    for i, j in itertools.combinations(range(10), 2):
        counts = naive.count_pair(table.codes[i], table.codes[j], int(sizes[i]), int(sizes[j]))
        wanted = naive.belief_score(counts, shares[i], shares[j], False) * counts.size
        assert found[i, j] == found[j, i] == pytest.approx(wanted, abs=1e-14)
    assert (np.diag(found) == 0).all()


# The learner.

TABLE = scale_free_table(15, 3, 1000)


def test_the_model_is_the_mean_of_both_estimates_with_node_weights_fitted_again():
    run = drain(TABLE, NodewiseL1(lam=6e-3))
    model = run.outcome.model()
    fit = Neighbourhoods(TABLE, distances(PairCounts(TABLE)))
    fit.fit(np.full((15, 15), 6e-3 * 9), 0.0, 1e-9)
    found = {tuple(edge) for edge in model.edges.tolist()}
    assert found == {
        (i, j)
        for i, j in itertools.combinations(range(15), 2)
        if max(fit.norms[i, j], fit.norms[j, i]) > 0
    }
    for e, (i, j) in enumerate(model.edges.tolist()):
        assert np.allclose(model.edge_weights(e), fit.edge_weights(i, j), atol=1e-6)
    objective = nlpl(model, TABLE)
    for i in range(15):
        for a in range(3):
            for step in (-1e-3, 1e-3):
                moved = model.weights.copy()
                moved[3 * i + a] += step
                other = dataclasses.replace(model, weights=moved)
                assert nlpl(other, TABLE) >= objective


@pytest.mark.parametrize("rule", ["and", "or", "mean"])
def test_least_norm_removes_weak_edges(rule):
    every = drain(TABLE, NodewiseL1(lam=3e-3, rule=rule))
    strong = drain(TABLE, NodewiseL1(lam=3e-3, rule=rule, min_norm=0.3))
    assert set(picks(strong)) < set(picks(every))
    assert strong.outcome.converged
    # The structure differs, the regressions are the same.
    assert strong.outcome.objective == pytest.approx(every.outcome.objective, rel=1e-9)


def common_causes(rows=3000):
    """Two causes a, b and two effects c, d of both: c and d are independent given a and b."""
    rng = np.random.default_rng(0)
    causes = rng.integers(0, 3, size=(2, rows))
    chances = np.exp(1.5 * np.arange(3) * (causes.sum(axis=0) - 2.0)[:, None])
    steps = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
    effects = [(rng.random(rows)[:, None] > steps).sum(axis=1) for _ in range(2)]
    return DiscreteTable.from_codes(np.stack([*causes, *effects], axis=1))


def test_indirect_edge_is_added_and_removed():
    run = drain(common_causes(), NodewiseL1(path=20, lam=3e-4, min_norm=0.2))
    assert set(picks(run)) == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    active: set[tuple[int, int]] = set()
    removed = []
    for step in run.steps:
        removed_pairs = [tuple(pair) for pair in step.removed.tolist()]
        removed += removed_pairs
        active = (active - set(removed_pairs)) | {edge[:2] for edge in step.activated}
        assert active == {tuple(edge) for edge in step.active_edges().tolist()}
        assert len(active) == step.n_edges
    assert removed == [(2, 3)]
    assert (2, 3) not in active


def test_edge_budget_keeps_the_strongest_edges():
    run = drain(TABLE, NodewiseL1(lam=1e-3, max_edges=6))
    assert run.steps[-1].n_edges == 6
    assert not run.outcome.converged
    certificate = run.outcome.certificate
    values = {"budget": 6, "lam": certificate.threshold}
    assert run.outcome.stop_reason == Remark("path.budget", values)
    assert certificate.worst_score > certificate.threshold > 1e-3
    model = run.outcome.model()
    fit = Neighbourhoods(TABLE, distances(PairCounts(TABLE)))
    fit.fit(np.full((15, 15), certificate.threshold * 9), 0.0, 1e-9)
    strength = np.triu(np.maximum(fit.norms, fit.norms.T))
    order = np.argsort(-strength, axis=None)[:6]
    strongest = {tuple(int(x) for x in np.unravel_index(k, (15, 15))) for k in order}
    assert {tuple(edge) for edge in model.edges.tolist()} == strongest


def test_the_certificate_names_the_worst_pair():
    run = drain(TABLE, NodewiseL1(lam=6e-3))
    fit = Neighbourhoods(TABLE, distances(PairCounts(TABLE)))
    fit.fit(np.full((15, 15), 6e-3 * 9), 0.0, 1e-10)
    inactive = np.maximum(fit.norms, fit.norms.T) == 0
    scores = np.where(inactive, np.maximum(fit.slopes, fit.slopes.T) / 9, 0.0)
    certificate = run.outcome.certificate
    assert certificate.worst_score == pytest.approx(scores.max(), abs=1e-9)
    assert scores[certificate.worst_edge] == pytest.approx(scores.max(), abs=1e-9)
    assert certificate.scored == certificate.possible == 105 - len(picks(run))
    assert certificate.threshold == 6e-3


# Automatic thresholds.


def chance_norms(table):
    """Return the norm ‖p_i p_jᵀ − p_D‖ of pairs that vary that chance exceeds; inf: constant."""
    n, rows = table.n_variables, table.n_rows
    counts = [table.state_counts(i) for i in range(n)]
    varying = [i for i in range(n) if counts[i].max() < rows]
    needed = np.full((n, n), np.inf)
    for i, j in itertools.combinations(varying, 2):
        mean, variance = naive.moments_of_pair(counts[i], counts[j])
        shape = mean**2 / variance
        multiple = gamma.isf(2 / (50 * (len(varying) - 1)), shape) / shape
        spread = np.prod([1 - np.sum((own / rows) ** 2) for own in (counts[i], counts[j])])
        needed[i, j] = needed[j, i] = np.sqrt(spread / rows * multiple)
    return needed


@pytest.mark.parametrize("group_weight", ["count", "sqrt"])
def test_each_pair_has_its_own_threshold_by_default(group_weight):
    table = mixed_table()
    outcome = drain(table, NodewiseL1(group_weight=group_weight)).outcome
    needed = chance_norms(table)
    fit = Neighbourhoods(table, distances(PairCounts(table)))
    fit.fit(needed, 0.0, 1e-9)
    first, second = np.nonzero(np.triu(np.maximum(fit.norms, fit.norms.T)))
    assert edge_set(outcome.model()) == set(zip(first.tolist(), second.tolist(), strict=True))
    assert outcome.objective == pytest.approx(fit.objective, rel=1e-5)
    units = np.outer(table.cardinalities, table.cardinalities)
    units = np.sqrt(units) if group_weight == "sqrt" else units
    lam = (needed / units)[np.isfinite(needed)].mean()
    assert outcome.automatic["lam"] == outcome.certificate.threshold == pytest.approx(lam, rel=1e-3)
    assert outcome.certificate.proves_optimality


COLUMNS = {
    "coins": [(50, even(2))],
    "rare states": [(50, (0.99, 0.01))],
    "mixed": [(25, even(2)), (15, (0.99, 0.01)), (10, even(5))],
}


@pytest.mark.parametrize("columns", COLUMNS)
def test_chance_adds_about_one_edge_per_50_variables(columns):
    draw = independent(1000, *COLUMNS[columns])
    edges = [drain(draw(seed).table, NodewiseL1()).outcome.model().n_edges for seed in range(5)]
    assert np.mean(edges) <= 2.0


@pytest.mark.parametrize("coins", [0, 10])
def test_edges_of_large_tables_are_found_beside_small_ones(coins):
    drawn = chain(0.35, 1000, coins)(0)
    found = edge_set(drain(drawn.table, NodewiseL1()).outcome.model())
    assert len(found & drawn.truth) >= 8
    assert len(found - drawn.truth) <= 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"lam": 5e-3}),
        ({"lam": 2e-3}, {}),
        ({"forbidden": "x0 -- x1"}, {"forbidden": "x0 -- x1", "lam": 5e-3}),
    ],
)
def test_path_continues_with_other_thresholds(before, after):
    run = branched(TABLE, NodewiseL1(**before), 3, NodewiseL1(**after))
    alone = drain(TABLE, NodewiseL1(**after)).outcome
    assert run.outcome.objective == pytest.approx(alone.objective, abs=1e-9)
    assert edge_set(run.outcome.model()) == edge_set(alone.model())
    lams = [step.test.lam for step in run.steps]
    assert lams == sorted(lams, reverse=True)


# Sentences.


def finished(learner, table):
    return finished_run(table, learner)


def test_missing_pairs_are_explained_by_their_gradient():
    run = finished(NodewiseL1(lam=6e-3, path=1), TABLE)
    last = len(run.steps)
    active = {tuple(edge) for edge in run.outcome.model().edges.tolist()}
    fit = Neighbourhoods(TABLE, distances(PairCounts(TABLE)))
    fit.fit(np.full((15, 15), 6e-3 * 9), 0.0, 1e-10)
    assert run.steps[-1].test.lam == 6e-3
    for i, j in itertools.combinations(range(15), 2):
        if (i, j) in active:
            continue
        answer = why_not(run, i, j, last)
        assert answer["score"] == pytest.approx(
            max(fit.slopes[i, j], fit.slopes[j, i]) / 9, abs=1e-8
        )
        assert answer["threshold"] == 6e-3
        assert not answer["violates"]
        assert answer["tests"] == last
        assert "so they stay zero" in answer["words"]


def test_answer_names_edge_budget_for_pairs_left_out():
    run = finished(NodewiseL1(lam=1e-3, path=1, max_edges=6), TABLE)
    left_out = run.outcome.certificate.worst_edge
    answer = why_not(run, *left_out, 1)
    assert answer["score"] is None
    assert "the edge budget excludes it" in answer["words"]


def test_two_independent_variables_rarely_get_an_edge():
    """One pair has its threshold too, not the largest distance of all, which is its own."""
    found = 0
    for seed in range(40):
        codes = np.random.default_rng(seed).integers(0, 3, size=(500, 2))
        found += drain(DiscreteTable.from_codes(codes), NodewiseL1()).outcome.model().n_edges
    assert found <= 2
