"""Fit of single features: optimality, gradients, reductions, and the optimum of a plain twin."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest

from graftviz import DiscreteTable, infer
from graftviz.inference.propagation import propagate
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.features.solver import (
    ORTHANT_WISE,
    PROXIMAL,
    FeatureNetwork,
    _inverse,
    feature_residual,
    soft_threshold,
)
from graftviz.learning.weights.network import ActiveNetwork
from graftviz.learning.weights.penalty import Penalty

N = 5


def dependent_table(seed: int, n: int = N, rows: int = 400, noise: float = 0.5) -> DiscreteTable:
    """Return variables of 1 to 4 states that depend on one hidden variable."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=n)
    sizes[-1] = 1
    hidden = rng.integers(0, 4, size=rows)
    columns = [
        np.where(rng.random(rows) < noise, rng.integers(0, size, rows), hidden % size)
        for size in sizes
    ]
    return DiscreteTable.from_codes(np.stack(columns, axis=1), cardinalities=sizes)


def tree_edges(seed: int, n: int = N) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed + 1000)
    return [(int(rng.integers(k)), k) for k in range(1, n)]


def all_edges(n: int = N) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(n), 2))


def feature_network(table, edges, share: float, seed: int = 0) -> FeatureNetwork:
    """Return a network with that share of features of every edge active, at least one."""
    network = FeatureNetwork(PairCounts(table), table.names, table.labels)
    rng = np.random.default_rng(seed)
    for i, j in edges:
        size = int(table.cardinalities[i] * table.cardinalities[j])
        chosen = np.flatnonzero(rng.random(size) < share)
        for cell in chosen if len(chosen) else [size - 1]:
            network.activate(i, j, int(cell))
    return network


def fitted(network: FeatureNetwork, penalty: Penalty):
    network.fit(penalty, tolerance=1e-8)
    return network.polish(penalty, tolerance=1e-10)


def cells_of(network: FeatureNetwork) -> list[np.ndarray]:
    """Return masks of the active features of each edge, as matrices."""
    model = network.model()
    offsets = network.state.edge_offsets
    return [
        network.active[offsets[e] : offsets[e + 1]].reshape(model.edge_weights(e).shape)
        for e in range(network.n_edges)
    ]


def twin_of(table, network: FeatureNetwork, penalty: Penalty) -> naive.PenalisedFeatures:
    sizes = table.cardinalities.tolist()
    edges = network.edges.tolist()
    return naive.PenalisedFeatures(
        table.codes, sizes, edges, cells_of(network), penalty.lam, penalty.lam2
    )


def penalty_of(lam: float, lam2: float) -> Penalty:
    return Penalty(lam, lam2, False, False)


PENALTIES = [penalty_of(*both) for both in ((1e-3, 0.03), (2e-2, 0.1), (3e-3, 0.0))]
SHARES = (0.3, 1.0)


# The penalty.


@pytest.mark.parametrize("seed", range(20))
def test_soft_threshold_minimises_distance_and_penalty(seed):
    rng = np.random.default_rng(seed)
    pull, price = rng.normal(), abs(rng.normal())

    def value(v):
        return 0.5 * (v - pull) ** 2 + price * abs(v)

    best = soft_threshold(pull, price)
    assert all(value(best) <= value(best + by) for by in (-0.1, -1e-4, 1e-4, 0.1, -best))


@pytest.mark.parametrize("seed", range(20))
def test_residual_is_zero_at_minimum_of_penalised_parabola(seed):
    rng = np.random.default_rng(seed)
    slope, lam, lam2 = rng.normal(), abs(rng.normal()), abs(rng.normal())
    # Of ½ (v + slope)² + λ |v| + λ₂ v².
    weight = soft_threshold(-slope, lam) / (1 + 2 * lam2)
    assert feature_residual(weight, weight + slope, lam, lam2) == pytest.approx(0.0, abs=1e-12)
    away = weight + 0.3
    assert feature_residual(away, away + slope, lam, lam2) > 0.1


@pytest.mark.parametrize("seed", range(10))
def test_generalised_inverse_of_singular_curvature(seed):
    rng = np.random.default_rng(seed)
    belief = rng.dirichlet(np.ones(12)).reshape(3, 4)
    if seed % 2:  # two blocks: one null vector more
        belief[0, 1:] = belief[1:, 0] = 0.0
        belief /= belief.sum()
    row, column = belief.sum(axis=1), belief.sum(axis=0)
    curvature = np.block([[np.diag(row), belief], [belief.T, np.diag(column)]])
    inverse = _inverse(belief.reshape(-1), row, column)
    assert np.allclose(curvature @ inverse @ curvature, curvature, atol=1e-12)
    assert np.allclose(inverse, inverse.T, atol=1e-9 * np.abs(inverse).max())


# The objective.


def perturbed(table, edges, share: float, seed: int) -> FeatureNetwork:
    """Return a network with random weights of its active features, and converged BP."""
    network = feature_network(table, edges, share, seed)
    rng = np.random.default_rng(seed)
    state = network.state
    state.node_weights[:] = rng.normal(0, 0.5, len(state.node_weights))
    cells = int(state.edge_offsets[network.n_edges])
    state.edge_weights[:cells] = rng.normal(0, 0.5, cells) * network.active[:cells]
    return converged(network)


def converged(network: FeatureNetwork) -> FeatureNetwork:
    state = network.state
    state.potentials[:] = np.exp(state.edge_weights)
    _, residual = propagate(
        state, network.n_nodes, network.n_edges, 500, 1e-14, 0.0, np.empty((6, 16))
    )
    assert residual <= 1e-14
    return network


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("seed", range(2))
def test_objective_and_residual_are_exact_on_trees(seed, share, penalty):
    table = dependent_table(seed)
    network = perturbed(table, tree_edges(seed), share, seed)
    evaluation = network.evaluate(penalty)
    twin = twin_of(table, network, penalty)
    weights = twin.vector_of(network.model())
    assert evaluation.objective == pytest.approx(twin.objective(weights), abs=1e-9)
    # A node's violation is a norm, which is at least its largest entry.
    assert evaluation.kkt_residual >= twin.violation(weights) - 1e-9
    assert evaluation.kkt_residual <= 2 * twin.violation(weights) + 1e-9


@pytest.mark.parametrize("edges", [tree_edges(0), all_edges()], ids=["tree", "all pairs"])
def test_gradient_matches_finite_differences_of_objective(edges):
    """Compare with the exact objective on a tree and the Bethe objective with loops."""
    by, penalty = 1e-5, penalty_of(1e-2, 0.05)
    table = dependent_table(0)
    network = perturbed(table, edges, 0.6, 1)
    twin = twin_of(table, network, penalty)
    state = network.state
    beliefs = infer(network.model(), "bp", tolerance=1e-13)
    cells = int(state.edge_offsets[network.n_edges])
    weights = state.edge_weights[:cells].copy()
    flat = np.concatenate([belief.reshape(-1) for belief in beliefs.edge])
    slope = flat - state.edge_targets[:cells] + 2 * penalty.lam2 * weights
    slope += penalty.lam * np.sign(weights)
    is_tree = len(edges) == N - 1
    checked = 0
    for k in np.flatnonzero(network.active[:cells]):
        sides = []
        for moved in (weights[k] + by, weights[k] - by):
            state.edge_weights[k] = moved
            if is_tree:
                sides.append(twin.objective(twin.vector_of(network.model())))
            else:
                sides.append(converged(network).evaluate(penalty).objective)
        state.edge_weights[k] = weights[k]
        assert (sides[0] - sides[1]) / (2 * by) == pytest.approx(slope[k], abs=1e-7)
        checked += 1
    assert checked > 10


# The fit.


@pytest.mark.parametrize("penalty", [*PENALTIES, penalty_of(1e-6, 0.0)], ids=str)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("noise", [0.5, 0.05])
def test_polished_fit_is_optimal_and_a_fixed_point(noise, share, penalty):
    table = dependent_table(3, 7, noise=noise)
    network = feature_network(table, all_edges(7), share)
    evaluation = fitted(network, penalty)
    assert evaluation.kkt_residual <= 1e-9
    assert evaluation.message_residual <= 1e-9
    cells = int(network.state.edge_offsets[network.n_edges])
    assert np.isfinite(network.state.edge_weights[:cells]).all()
    assert not network.state.edge_weights[:cells][~network.active[:cells]].any()
    shares = [
        np.bincount(codes, minlength=size) / table.n_rows
        for codes, size in zip(table.codes, table.cardinalities, strict=True)
    ]
    assert np.allclose(network.node_beliefs, np.concatenate(shares), atol=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("seed", range(2))
def test_fit_on_trees_reaches_optimum_of_plain_proximal_gradient(seed, share, penalty):
    table = dependent_table(seed, 4)
    network = feature_network(table, tree_edges(seed, 4), share, seed)
    evaluation = fitted(network, penalty)
    twin = twin_of(table, network, penalty)
    best, _ = twin.minimum(tolerance=1e-7)
    assert evaluation.objective == pytest.approx(best, abs=1e-8)
    assert evaluation.objective <= best + 1e-12
    assert twin.violation(twin.vector_of(network.model())) <= 1e-9


def test_fit_of_all_features_without_l1_matches_fit_of_whole_edges():
    """Compare fits under λ₂ ‖w‖², which is the same for groups and single features."""
    table, penalty = dependent_table(4, 6), penalty_of(1e-12, 0.05)
    ours = feature_network(table, all_edges(6), 1.0)
    whole = ActiveNetwork(PairCounts(table), table.names, table.labels)
    whole.fit_nodes(penalty, tolerance=1e-10)
    for i, j in all_edges(6):
        whole.add_edge(i, j)
    other = whole.polish(penalty, tolerance=1e-10)
    mine = fitted(ours, penalty)
    assert mine.objective == pytest.approx(other.objective, abs=1e-9)
    assert np.allclose(ours.model().weights, whole.model().weights, atol=1e-6)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("edges", [tree_edges(5, 6), all_edges(6)], ids=["tree", "all pairs"])
def test_single_steps_do_not_raise_objective_and_converge_to_fit(edges, share):
    table, penalty = dependent_table(5, 6), penalty_of(1e-3, 0.03)
    network = feature_network(table, edges, share)
    objective = network.evaluate(penalty).objective
    start = objective
    for _ in range(3000):
        evaluation = network.step(penalty, tolerance=1e-9)
        assert evaluation.objective <= objective + 1e-12
        objective = evaluation.objective
        if evaluation.kkt_residual < 1e-8:
            break
    best = fitted(feature_network(table, edges, share), penalty).objective
    assert best < start
    assert objective == pytest.approx(best, abs=1e-9)


def test_first_step_is_proximal_in_metric_of_belief():
    """Check w = soft(−g, λ) / (b + 2 λ₂) from zero weights, a quarter at most."""
    table, penalty = dependent_table(6, 6), penalty_of(5e-3, 0.02)
    network = feature_network(table, all_edges(6), 0.6)
    network.step(penalty, tolerance=1e-9)
    model = network.model()
    for e, ((i, j), active) in enumerate(
        zip(network.edges.tolist(), cells_of(network), strict=True)
    ):
        shares = [network.counts.marginal(k) / table.n_rows for k in (i, j)]
        belief = np.outer(*shares)
        gap = belief - network.counts.table(i, j) / table.n_rows
        wanted = -np.sign(gap) * np.maximum(np.abs(gap) - penalty.lam, 0.0)
        wanted = wanted / (belief + 2 * penalty.lam2) * active
        if np.abs(wanted).max() > 0.25:
            wanted *= 0.25 / np.abs(wanted).max()
        assert np.allclose(model.edge_weights(e), wanted, atol=1e-9)


@pytest.mark.parametrize("kind", [PROXIMAL, ORTHANT_WISE])
def test_orthant_wise_step_stops_at_zero_and_proximal_step_changes_sign(kind):
    network = feature_network(dependent_table(6, 6), all_edges(6), 1.0)
    fitted(network, penalty_of(1e-3, 0.02))
    state = network.state
    state.edge_weights[:] *= -0.05  # small values of the wrong sign
    state.potentials[:] = np.exp(state.edge_weights)
    state.seen_drift[:] = -1.0
    before = np.sign(state.edge_weights)
    network.step(penalty_of(1e-4, 0.0), tolerance=1e-9, kind=kind)
    crossed = before * np.sign(state.edge_weights) < 0.0
    assert crossed.any() == (kind == PROXIMAL)
    if kind == ORTHANT_WISE:
        assert (state.edge_weights[before != 0.0] == 0.0).any()


def test_activating_a_feature_does_not_change_other_edges():
    table, penalty = dependent_table(0, 6), penalty_of(1e-3, 0.03)
    network = feature_network(table, [(0, 1), (2, 3)], 0.5)
    fitted(network, penalty)
    network.changes()
    network.activate(1, 4, 0)
    network.fit(penalty, tolerance=1e-8)
    assert network.changes().edges.tolist() == [2]
    before = network.n_features
    network.activate(0, 1, int(np.flatnonzero(~cells_of(network)[0].reshape(-1))[0]))
    network.fit(penalty, tolerance=1e-8)
    assert network.n_features == before + 1
    assert network.n_edges == 3
    assert network.changes().edges.tolist() == [0]
