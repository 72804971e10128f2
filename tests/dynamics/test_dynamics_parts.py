"""Solvers against their plain twins and scikit-learn; simulation and metrics of linear systems."""

from __future__ import annotations

import pickle

import naive_dynamics as naive
import numpy as np
import pytest
from sklearn.linear_model import Lasso

from graftviz import InputError, dynamics
from graftviz.data.series.series import standardise
from graftviz.dynamics import system as system_module
from graftviz.dynamics.search import ParentSearch, search_rows, two_hop_scores
from graftviz.dynamics.solvers import GradientDescent, coordinate_descent, descend, solve_path
from graftviz.utils.parallel import Shared


@pytest.fixture(scope="module")
def problem():
    random = np.random.default_rng(1)
    # Correlated inputs, one of them zero throughout, and one row that is zero.
    inputs = random.standard_normal((250, 18)) @ random.uniform(-0.3, 1.0, (18, 18))
    inputs[:, 5] = 0.0
    inputs[7] = 0.0
    inputs /= np.sqrt(np.mean(inputs**2, axis=0)) + (np.arange(18) == 5)
    true = np.where(random.random((18, 4)) < 0.3, random.standard_normal((18, 4)), 0.0)
    return inputs, inputs @ true + 0.3 * random.standard_normal((250, 4))


def test_pass_of_gradient_descent_matches_twin(problem):
    inputs, targets = problem
    order = np.random.default_rng(2).permutation(len(inputs))
    norms = np.sum(inputs**2, axis=1)
    weights = np.zeros((4, 18))
    first, decay = 0.5 / norms.mean(), 0.3
    descend(inputs, targets, order, norms, weights, 0.05, first, first * decay, 40, True)
    for i in range(4):
        twin = naive.gradient_descent(inputs, targets[:, i], order, 0.05, first, decay, 40)
        assert np.allclose(weights[i], twin, rtol=1e-9, atol=1e-12)
        assert np.array_equal(weights[i] == 0.0, twin == 0.0)
        assert weights[i, 5] == 0.0


@pytest.mark.parametrize("solver", ["sgd", "coordinate"])
def test_pickled_search_gives_same_rows(solver):
    series = dynamics.simulate(dynamics.random_system(8, density=0.3, seed=1), 120, seed=1)
    known = standardise(series, centre=False)
    options = dynamics.SparsityInducing(solver=solver)
    solvers = (options.solver_of(before, 3) for before in (known.before, known.before[:-1]))
    search = ParentSearch(known, *solvers, 3)
    unpickled = pickle.loads(pickle.dumps(Shared(search))).value
    for row, expected in zip(
        search_rows(unpickled, range(8), None), search_rows(search, range(8), None), strict=True
    ):
        assert np.array_equal(row.coefficients, expected.coefficients)
        assert np.array_equal(row.two_hop, expected.two_hop)


@pytest.mark.parametrize("lam", [0.3, 0.02, 1e-4])
def test_coordinate_descent_is_exact(problem, lam):
    inputs, targets = problem
    found = coordinate_descent(inputs, lam, 1e-10, 100_000).solve(targets)
    assert found.converged.all()
    for i in range(4):
        lasso = Lasso(alpha=lam, fit_intercept=False, tol=1e-12, max_iter=1_000_000)
        lasso.fit(inputs, targets[:, i])
        assert np.abs(found.weights[i] - lasso.coef_).max() < 1e-6
        # Optimality: the gradient is λ sign(w) where w is not zero, at most λ elsewhere.
        gradient = inputs.T @ (targets[:, i] - inputs @ found.weights[i]) / len(inputs)
        active = found.weights[i] != 0.0
        assert np.allclose(gradient[active], lam * np.sign(found.weights[i, active]), atol=1e-9)
        assert (np.abs(gradient[~active]) <= lam + 1e-9).all()


def test_coordinate_descent_matches_twin(problem):
    inputs, targets = problem
    found = coordinate_descent(inputs, 0.1, 1e-12, 100_000).solve(targets[:, :1])
    assert np.allclose(found.weights[0], naive.lasso(inputs, targets[:, 0], 0.1, 600), atol=1e-9)


def test_solver_reports_missing_convergence(problem):
    inputs, targets = problem
    assert not coordinate_descent(inputs, 1e-4, 1e-10, 2).solve(targets).converged.any()
    short = GradientDescent(inputs, 0.02, 0.5, 0.3, 1e-6, 2, 0).solve(targets)
    assert not short.converged.any()
    assert short.work == 4 * 2 * inputs.size


def test_subgradient_step_matches_twin_and_has_fewer_zeros(problem):
    inputs, targets = problem
    solver = GradientDescent(inputs, 0.1, 0.5, 0.3, 1e-6, 1, 3, "subgradient")
    order = np.random.default_rng(3).permutation(len(inputs))
    first = 0.5 / float((inputs**2).sum(axis=1).mean())
    found = solver.solve(targets).weights
    for i in range(4):
        wanted = naive.subgradient_descent(inputs, targets[:, i], order, 0.1, first, 0.3)
        assert np.allclose(found[i], wanted, atol=1e-10)
    proximal = solver._replace(penalty="proximal").solve(targets).weights
    assert np.count_nonzero(found == 0.0) < np.count_nonzero(proximal == 0.0)


def test_path_ends_at_solution_for_last_lam(problem):
    inputs, targets = problem
    solver = coordinate_descent(inputs, 0.05, 1e-10, 100_000)
    alone, sizes = solve_path(solver, targets, 1)
    last, counted = solve_path(solver, targets, 12)
    assert np.allclose(last.weights, alone.weights, atol=1e-8)
    assert np.array_equal(counted > 0.0, last.weights != 0.0)
    for i in range(4):
        assert np.array_equal(np.argsort(sizes[i]), np.argsort(np.abs(alone.weights[i])))
        # Parents with larger counts entered earlier on the path.
        lams = np.geomspace(1.0, 0.05, 12)
        for lam in lams:
            entered = solver._replace(lam=float(lam)).solve(targets[:, i : i + 1]).weights[0] != 0.0
            entered &= last.weights[i] != 0.0
            if entered.any() and not entered.all():
                assert counted[i, entered].min() > counted[i, ~entered].max()
                break
    unpenalised = solve_path(solver._replace(lam=0.0), targets, 5)[0]
    wanted = np.linalg.lstsq(inputs, targets, rcond=None)[0].T
    assert np.allclose(unpenalised.weights, wanted, atol=1e-6)


def test_two_hop_scores_match_twin():
    random = np.random.default_rng(3)
    parents = [random.choice(9, 3, replace=False) for _ in range(4)]
    two_hop = random.dirichlet(np.ones(9), 4)
    scores, additions = two_hop_scores(zip(parents, two_hop, strict=True), 9)
    assert additions == 9 * sum(map(len, parents))
    wanted = naive.two_hop_scores(parents, two_hop, 9)
    for j in range(9):
        if wanted[j].any():
            assert np.allclose(scores[j], wanted[j])
        else:
            assert j not in scores


def test_random_system_has_given_entries_and_radius():
    system = dynamics.random_system(30, entries=90, radius=0.8, seed=5)
    assert system.coefficients.nnz == 90
    assert system.spectral_radius == pytest.approx(0.8)
    again = dynamics.random_system(30, entries=90, radius=0.8, seed=5)
    assert np.array_equal(system.matrix, again.matrix)
    assert not np.array_equal(
        system.matrix, dynamics.random_system(30, entries=90, radius=0.8, seed=6).matrix
    )


def test_spectral_radius_of_large_system_without_factorisation(monkeypatch):
    system, factorised = (dynamics.random_system(80, density=0.1, seed=2) for _ in range(2))
    monkeypatch.setattr(system_module, "_LARGEST_FACTORISED", 10)
    assert system.spectral_radius == pytest.approx(
        np.abs(np.linalg.eigvals(factorised.matrix)).max()
    )
    assert dynamics.LinearSystem.from_dense(np.eye(80) * 0.5).spectral_radius == pytest.approx(0.5)
    assert dynamics.LinearSystem.from_dense(np.zeros((80, 80))).spectral_radius == pytest.approx(
        0.0, abs=1e-6
    )


@pytest.mark.parametrize(
    "wrong", [{"entries": 0}, {"entries": 10}, {"density": 0.5, "radius": 1.0}, {"entries": 1}]
)
def test_invalid_random_systems_are_refused(wrong):
    with pytest.raises(InputError):
        dynamics.random_system(3, **wrong)


def test_simulation_follows_system():
    system = dynamics.random_system(6, density=0.4, seed=1)
    start = np.arange(6.0)
    noiseless = dynamics.simulate(system, 5, process_noise=0.0, start=start)
    for t in range(5):
        assert np.allclose(noiseless.values[t], np.linalg.matrix_power(system.matrix, t) @ start)
    # The stationary covariance Σ solves Σ = A Σ Aᵀ + I; observation noise adds its own variance.
    noisy = dynamics.simulate(system, 40_000, observation_noise=0.5, seed=2)
    cov = np.eye(6)
    for _ in range(400):
        cov = system.matrix @ cov @ system.matrix.T + np.eye(6)
    found = noisy.values.T @ noisy.values / noisy.n_rows
    assert np.allclose(found, cov + 0.25 * np.eye(6), atol=0.08 * cov.max())


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_prediction_error_for_several_horizons(steps):
    random = np.random.default_rng(steps)
    system = dynamics.LinearSystem.from_dense(random.standard_normal((3, 3)) / 3)
    series = dynamics.TimeSeries.from_array(random.standard_normal((20, 3)))
    power = np.linalg.matrix_power(system.matrix, steps)
    seen = series.values[steps:]
    wanted = np.linalg.norm(series.values[:-steps] @ power.T - seen) / np.linalg.norm(seen)
    assert dynamics.prediction_error(system, series, horizon=steps) == pytest.approx(wanted)
    if steps <= 2:
        pairs = series.transitions()
        assert dynamics.prediction_error(system, pairs, horizon=steps) == pytest.approx(wanted)


def test_too_long_horizon_is_refused():
    system = dynamics.LinearSystem.from_dense(np.eye(2) / 2)
    series = dynamics.TimeSeries.from_array(np.ones((4, 2)))
    for data, steps in ((series, 0), (series, 4), (series.transitions(), 3)):
        with pytest.raises(InputError, match="allow predictions of 1 to"):
            dynamics.prediction_error(system, data, horizon=steps)
    with pytest.raises(InputError, match="has 2 series, the data 3"):
        dynamics.prediction_error(system, dynamics.TimeSeries.from_array(np.ones((4, 3))))


# Forecasts and their bands.


@pytest.fixture(scope="module")
def truth():
    return dynamics.random_system(6, density=0.4, seed=2)


@pytest.mark.parametrize("horizon", [1, 2, 5])
def test_forecast_depends_on_earlier_rows_only(truth, horizon):
    values = np.random.default_rng(1).standard_normal((30, 6))
    predicted = dynamics.predict(truth, values, horizon)
    assert predicted.shape == (30 - horizon, 6)
    assert not predicted.flags.writeable
    power = np.linalg.matrix_power(truth.matrix, horizon)
    for t in (0, 3, 29 - horizon):
        assert np.allclose(predicted[t], power @ values[t])
    changed = values.copy()
    changed[11:] = 0.0
    assert np.array_equal(dynamics.predict(truth, changed, horizon)[:11], predicted[:11])


def test_forecasts_follow_the_intercept(truth):
    series = dynamics.TimeSeries.from_array(5.0 + dynamics.simulate(truth, 4000, seed=3).values)
    learned = dynamics.learn(series, dynamics.Dense(centre=True)).system
    far = dynamics.predict(learned, series.values, 200)
    assert np.allclose(far, series.values.mean(axis=0), atol=0.3)  # the system is stable


def test_band_of_two_deviations_has_95_percent_coverage(truth):
    train, test = (dynamics.simulate(truth, 3000, seed=seed).values for seed in (4, 5))
    widths = []
    for horizon in (1, 3):
        width = 2.0 * dynamics.residual_deviation(truth, train, horizon)
        gap = np.abs(dynamics.predict(truth, test, horizon) - test[horizon:])
        coverage = (gap <= width).mean(axis=0)
        assert np.all((coverage > 0.93) & (coverage < 0.975))
        widths.append(width)
    assert np.all(widths[1] >= 0.95 * widths[0])


@pytest.mark.parametrize(
    ("values", "horizon", "sentence"),
    [
        (np.ones((4, 6)), 4, "4 rows allow forecasts of 1 to 3 steps; got 4."),
        (np.ones((4, 6)), 0, "allow forecasts of 1 to 3 steps"),
        (np.ones((4, 5)), 1, "shape \\(4, 5\\)"),
        (np.ones(6), 1, "shape \\(6,\\)"),
    ],
)
def test_invalid_forecasts_are_refused(truth, values, horizon, sentence):
    with pytest.raises(InputError, match=sentence):
        dynamics.predict(truth, values, horizon)
