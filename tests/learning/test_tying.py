"""Tying of parameters: exact k-means on a line, and tied fits."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from learner_cases import mixed_table, scale_free_table

from graftviz.learning.pruning.models import fit_with_tying
from graftviz.learning.pruning.structure_fit import (
    Penalties,
    StructureFit,
    fit_free,
    fit_tied,
    rows_of,
    solve_positive_definite,
    tie,
    untied,
    weighted_products,
)
from graftviz.learning.weights.deviations import centred_weights, model_of, parameters_of

EDGES = np.array([(0, 1), (0, 2), (1, 2), (2, 4), (4, 6), (0, 7), (7, 8), (8, 9), (1, 9)])


def structure_fit(table=None):
    return StructureFit(rows_of(mixed_table() if table is None else table), EDGES)


def random_point(fit, seed=0):
    return 0.4 * np.random.default_rng(seed).normal(size=fit.layout.size)


def test_clusters_have_optimal_cost():
    rng = np.random.default_rng(0)
    for _ in range(150):
        n = int(rng.integers(1, 10))
        clusters = int(rng.integers(1, n + 1))
        values = rng.normal(size=n)
        if rng.random() < 0.4:
            values = np.round(values)  # equal numbers
        found = tie(values, clusters)
        assert len(found.centres) == clusters
        assert (np.diff(found.centres) >= 0).all()
        assert found.cost(values) == pytest.approx(naive.k_means_cost(values, clusters), abs=1e-12)


def test_divide_and_conquer_equals_full_dynamic_programming():
    rng = np.random.default_rng(1)
    for size, shift in ((60, 0.0), (80, 1e4)):
        values = rng.normal(size=size) ** 3 + shift
        for clusters in (1, 2, 7, 16, size - 1):
            plain = naive.k_means_by_table(values, clusters)
            assert tie(values, clusters).cost(values) == pytest.approx(plain, rel=1e-6, abs=1e-9)


def test_centres_are_means_and_every_number_has_nearest_centre():
    values = np.random.default_rng(2).normal(size=200)
    found = tie(values, 9)
    for q, centre in enumerate(found.centres):
        assert centre == pytest.approx(values[found.assignment == q].mean())
    distances = np.abs(values[:, None] - found.centres)
    own = distances[np.arange(200), found.assignment]
    assert (own <= distances.min(axis=1) + 1e-12).all()


def test_cholesky_solves():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(30, 30))
    matrix, right = root @ root.T + np.eye(30), rng.normal(size=30)
    found = solve_positive_definite(matrix.copy(), right)
    assert np.allclose(matrix @ found, right, atol=1e-9)


def test_products_of_features_equal_matrix_products():
    rng = np.random.default_rng(4)
    features = rng.normal(size=(5, 2050)).astype(np.float32)
    spread = rng.random(2050).astype(np.float32)
    found = np.empty((5, 5))
    weighted_products(features, spread, found)
    assert np.allclose(
        found, (features.astype(float) * spread) @ features.T.astype(float), rtol=1e-4
    )


def test_weights_are_centred_and_parameters_round_trip():
    fit = structure_fit()
    parameters = random_point(fit)
    nodes, tables = fit.layout.weights(parameters)
    structure = fit.layout.structure
    for e, (i, j) in enumerate(structure.edges):
        table = tables[structure.edge_offsets[e] : structure.edge_offsets[e + 1]]
        offsets = structure.node_offsets
        shares = [fit.layout.shares[offsets[k] : offsets[k + 1]] for k in (i, j)]
        table = table.reshape(len(shares[0]), len(shares[1]))
        assert np.allclose(shares[0] @ table, 0.0)
        assert np.allclose(table @ shares[1], 0.0)
    assert np.allclose(parameters_of(fit.layout, nodes, tables), parameters)
    centred = centred_weights(structure, nodes, tables)
    assert np.allclose(parameters_of(fit.layout, *centred), parameters)


@pytest.mark.parametrize("table", [mixed_table(), scale_free_table(15, 3, 1000)])
def test_loss_slopes_and_conditionals_equal_those_of_the_model(table):
    fit = structure_fit(table)
    parameters = random_point(fit)
    point = fit.evaluate(parameters)
    model = model_of(fit.layout, parameters, table.names, table.labels)
    plain = naive.pseudo_losses(model, table.codes)
    assert np.allclose(fit.node_losses, plain)
    assert point.loss == pytest.approx(sum(plain) / table.n_rows, rel=1e-12)
    beliefs = np.concatenate([t.mean(axis=0) for t in naive.conditionals(model, table.codes)])
    assert np.allclose(point.beliefs, beliefs)
    for k in range(0, fit.layout.size, 5):
        move = np.zeros_like(parameters)
        move[k] = 1e-5
        rise = fit.evaluate(parameters + move).loss - fit.evaluate(parameters - move).loss
        assert point.slopes[k] == pytest.approx(rise / 2e-5, abs=1e-8)


def test_the_hessian_is_the_slope_of_the_slopes():
    fit = structure_fit()
    parameters = random_point(fit)
    fit.evaluate(parameters)
    hessian = fit.hessian()
    direction = random_point(fit, 1)
    ahead, behind = (fit.evaluate(parameters + s * direction).slopes for s in (1e-4, -1e-4))
    wanted = (ahead - behind) / 2e-4
    # Solving for the slopes returns the direction, with a negligible ridge.
    assert np.allclose(hessian.solve(1e-6, wanted + 1e-6 * direction), direction, atol=2e-3)
    assignment = np.arange(fit.layout.size) % 4
    spread = np.eye(4)[assignment]
    shared = hessian.tied(assignment, 4)
    columns = [
        (fit.evaluate(parameters + 1e-4 * c).slopes - fit.evaluate(parameters - 1e-4 * c).slopes)
        / 2e-4
        for c in spread.T
    ]
    assert np.allclose(shared, spread.T @ np.array(columns).T, atol=1e-5)


def test_dense_and_iterative_solutions_agree(monkeypatch):
    fit = structure_fit()
    fit.evaluate(random_point(fit))
    right = random_point(fit, 2)
    dense = fit.hessian().solve(0.01, right)
    monkeypatch.setattr("graftviz.learning.pruning.structure_fit._DENSE", 0)
    monkeypatch.setattr("graftviz.learning.pruning.structure_fit._FORCING", 1e-10)
    assert np.allclose(fit.hessian().solve(0.01, right), dense, atol=1e-7)


def test_fit_ends_at_zero_slope_and_loss_never_increases():
    fit = structure_fit()
    lam2 = 1e-3
    found = fit_free(fit, random_point(fit), Penalties(lam2), tolerance=1e-9)
    assert found.violation <= 1e-9
    assert np.linalg.norm(found.point.slopes + 2 * lam2 * found.point.parameters) <= 1e-9
    assert (np.diff(found.objectives) <= 1e-12).all()
    # Convex: any other start ends at the same point.
    other = fit_free(fit, random_point(fit, 5), Penalties(lam2), tolerance=1e-9)
    assert np.allclose(other.point.parameters, found.point.parameters, atol=1e-6)


@pytest.mark.parametrize("clusters", [1, 4, 16])
def test_tied_fit_shares_values_and_loss_never_increases(clusters):
    fit = structure_fit()
    found = fit_with_tying(fit, random_point(fit), clusters=clusters, beta=0.01, lam2=1e-3)
    tied = found.solved.point.parameters
    assert len(np.unique(tied)) <= clusters
    assert np.array_equal(found.tying.values, tied)
    assert (np.diff(found.penalised) <= 1e-12).all()
    assert (np.diff(found.solved.objectives) <= 1e-12).all()
    slopes = found.solved.point.slopes + 2e-3 * tied
    shared = np.bincount(found.tying.assignment, weights=slopes, minlength=clusters)
    assert np.abs(shared).max() <= 1e-8
    # Tied values lie within the range of clustered values.
    assert found.tying.cost(found.values) >= tie(found.values, clusters).cost(found.values) - 1e-12


@pytest.mark.parametrize("clusters", [3, 8])
def test_alternation_ends_where_nothing_moves(clusters):
    fit = structure_fit()
    found = fit_with_tying(fit, random_point(fit), clusters=clusters, beta=0.01, lam2=1e-3)
    assert found.settled
    assert len(found.penalised) > 12 * 4
    penalties = Penalties(1e-3, 0.01, tie(found.values, clusters).values)
    point = fit.evaluate(found.values)
    assert np.linalg.norm(point.slopes + penalties.slopes(found.values)) <= 1e-4


def test_as_many_clusters_as_values_equal_the_untied_fit():
    fit = structure_fit()
    free = fit_free(fit, random_point(fit), Penalties(1e-3), tolerance=1e-9)
    size = fit.layout.size
    found = fit_with_tying(fit, random_point(fit), clusters=size, beta=5.0, lam2=1e-3)
    assert np.allclose(found.solved.point.parameters, free.point.parameters, atol=1e-6)
    index_map = fit_tied(fit, untied(random_point(fit)), 1e-3, tolerance=1e-9)
    assert np.allclose(index_map.point.parameters, free.point.parameters, atol=1e-6)
