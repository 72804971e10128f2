"""Fit of weights: proximal step, objective, optimality, and the optimum against plain twins."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest

from graftviz import DiscreteTable, infer
from graftviz.inference.propagation import propagate
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.weights.network import ActiveNetwork
from graftviz.learning.weights.penalty import Penalty, group_residual, proximal_step
from graftviz.learning.weights.solver import solve_block

FREE, PENALISED = False, True


def dependent_table(seed: int, n: int, rows: int = 400, noise: float = 0.5) -> DiscreteTable:
    """Return variables of 1 to 4 states that depend on one hidden variable.

    The first variable has one state that never occurs.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=n)
    sizes[0] = 2
    hidden = rng.integers(0, 4, size=rows)
    codes = np.stack(
        [
            np.where(rng.random(rows) < noise, rng.integers(0, size, rows), hidden % size)
            for size in sizes
        ],
        axis=1,
    )
    sizes[0] = 3
    return DiscreteTable.from_codes(codes, cardinalities=sizes)


def random_edges(seed: int, n: int, share: float) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed + 1000)
    return [pair for pair in itertools.combinations(range(n), 2) if rng.random() < share]


def tree_edges(seed: int, n: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed + 1000)
    return [(int(rng.integers(k)), k) for k in range(1, n)]


def new_network(table: DiscreteTable, edges=()) -> ActiveNetwork:
    network = ActiveNetwork(PairCounts(table), table.names, table.labels)
    for i, j in edges:
        network.add_edge(i, j)
    return network


def fitted(table, edges, penalty, *, tolerance=1e-10):
    """Return a polished network and its evaluation."""
    network = new_network(table)
    network.fit_nodes(penalty, tolerance=1e-8)
    for i, j in edges:
        network.add_edge(i, j)
    network.fit(penalty, tolerance=1e-8)
    for _ in range(5):
        evaluation = network.polish(penalty, tolerance=tolerance)
        if evaluation.kkt_residual <= 1e-8:
            break
    return network, evaluation


def twin_of(table, edges, penalty) -> naive.PenalisedLikelihood:
    return naive.PenalisedLikelihood(
        table.codes,
        table.cardinalities.tolist(),
        edges,
        penalty.lam,
        penalty.lam2,
        penalty.square_root,
        penalty.nodes,
    )


# The proximal step.


def random_local_problem(seed: int):
    """Return weights, gradient, curvature over nine orders of magnitude, and threshold."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 10))
    curvature = 10.0 ** rng.uniform(-9 if seed % 2 else -2, 0, size)
    weights = rng.normal(0, 2, size) * (rng.random(size) < 0.8)
    gradient = rng.normal(0, 1, size) * 10.0 ** rng.uniform(-3, 1)
    pull = np.linalg.norm(curvature * weights - gradient)
    return weights, gradient, curvature, pull * rng.choice([0.0, 1e-6, 0.1, 0.9, 0.999])


def step_from(weights, gradient, curvature, threshold) -> np.ndarray:
    moved = weights.copy()
    change = proximal_step(moved, gradient.copy(), curvature, threshold, len(moved))
    assert change == pytest.approx(np.abs(moved - weights).max())
    return moved


@pytest.mark.parametrize("seed", range(60))
def test_proximal_step_meets_the_optimality_condition(seed):
    """Check 0 = g + h (v − w) + c v / ‖v‖, relative to the size of its terms."""
    weights, gradient, curvature, threshold = random_local_problem(seed)
    moved = step_from(weights, gradient, curvature, threshold)
    norm = np.linalg.norm(moved)
    assert norm > 0
    slope = gradient + curvature * (moved - weights) + threshold * moved / norm
    scale = np.linalg.norm(gradient) + np.linalg.norm(curvature * weights) + threshold
    assert np.linalg.norm(slope) < 1e-10 * scale


@pytest.mark.parametrize("seed", range(20))
def test_proximal_step_is_zero_if_and_only_if_pull_is_below_threshold(seed):
    weights, gradient, curvature, _ = random_local_problem(seed)
    pull = np.linalg.norm(curvature * weights - gradient)
    assert not step_from(weights, gradient, curvature, pull * (1 + 1e-12)).any()
    assert step_from(weights, gradient, curvature, pull * (1 - 1e-6)).any()


@pytest.mark.parametrize("seed", range(20))
def test_group_residual_is_the_violation_of_either_condition(seed):
    rng = np.random.default_rng(seed)
    weights, gradient = rng.normal(size=4), rng.normal(size=4)
    lam2, threshold = rng.uniform(0, 1, 2)
    slope = gradient + 2 * lam2 * weights + threshold * weights / np.linalg.norm(weights)
    got = group_residual(weights, gradient, threshold, lam2, 4)
    assert got == pytest.approx(np.linalg.norm(slope), rel=1e-12)
    norm = np.linalg.norm(gradient)
    zero = np.zeros(4)
    assert group_residual(zero, gradient, threshold, lam2, 4) == pytest.approx(
        max(0.0, norm - threshold)
    )
    assert group_residual(zero, gradient, norm * 1.001, lam2, 4) == 0.0


# The objective.


def perturbed(table, edges, seed: int, scale: float = 0.7) -> ActiveNetwork:
    """Return a network with random weights and converged BP."""
    network = new_network(table, edges)
    rng = np.random.default_rng(seed)
    state = network.state
    state.node_weights[:] = rng.normal(0, scale, len(state.node_weights))
    cells = int(state.edge_offsets[network.n_edges])
    state.edge_weights[:cells] = rng.normal(0, scale, cells)
    return converged(network)


def converged(network: ActiveNetwork) -> ActiveNetwork:
    state = network.state
    state.potentials[:] = np.exp(state.edge_weights)
    work = np.empty((6, 16))
    _, residual = propagate(state, network.n_nodes, network.n_edges, 500, 1e-14, 0.0, work)
    assert residual <= 1e-14
    return network


PENALTIES = [
    Penalty(lam, lam2, square_root, nodes)
    for lam, lam2 in ((1e-3, 0.03), (0.02, 0.0))
    for square_root in (False, True)
    for nodes in (FREE, PENALISED)
]


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_objective_and_residual_are_exact_on_trees(seed, penalty):
    n = 5
    table, edges = dependent_table(seed, n), tree_edges(seed, n)
    network = perturbed(table, edges, seed)
    evaluation = network.evaluate(penalty)
    model = network.model()
    twin = twin_of(table, edges, penalty)
    nodes, pairs, log_partition = naive.marginals(model)
    weights = twin.weights_of(model)
    assert evaluation.objective == pytest.approx(twin.objective(weights, log_partition), abs=1e-9)
    assert evaluation.kkt_residual == pytest.approx(
        twin.violation(weights, [*nodes, *pairs]), abs=1e-9
    )
    assert evaluation.message_residual < 1e-12


@pytest.mark.parametrize("penalty", PENALTIES[::3], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_objective_is_bethe_likelihood_on_loops(seed, penalty):
    n = 5
    table, edges = dependent_table(seed, n), random_edges(seed, n, 0.7)
    network = perturbed(table, edges, seed, 0.4)
    evaluation = network.evaluate(penalty)
    model = network.model()
    twin = twin_of(table, edges, penalty)
    nodes, pairs = naive.loopy_propagation(model, 300)
    weights = twin.weights_of(model)
    bethe = naive.bethe_log_partition(model, nodes, pairs)
    assert evaluation.objective == pytest.approx(twin.objective(weights, bethe), abs=1e-9)
    assert evaluation.kkt_residual == pytest.approx(
        twin.violation(weights, [*nodes, *pairs]), abs=1e-8
    )


@pytest.mark.parametrize("nodes", [FREE, PENALISED])
@pytest.mark.parametrize("structure", [tree_edges, lambda seed, n: random_edges(seed, n, 0.7)])
@pytest.mark.parametrize("seed", range(2))
def test_gradient_is_model_minus_data(seed, structure, nodes):
    """Compare with central differences of the objective at converged BP.

    The Bethe objective is stationary in the messages, so this holds on loops as well.
    """
    n, by = 5, 1e-5
    table, edges = dependent_table(seed, n), structure(seed, n)
    penalty = Penalty(1e-2, 0.05, False, nodes)
    network = perturbed(table, edges, seed, 0.4)
    beliefs = infer(network.model(), "bp", tolerance=1e-13)
    twin = twin_of(table, edges, penalty)
    state, cells = network.state, int(network.state.edge_offsets[network.n_edges])
    flat = [(state.node_weights, k) for k in range(len(state.node_weights))]
    flat += [(state.edge_weights, k) for k in range(cells)]
    wanted = []
    groups = zip(twin.weights_of(network.model()), (*beliefs.node, *beliefs.edge), strict=True)
    for g, (weights, belief) in enumerate(groups):
        slope = belief - twin.targets[g]
        if twin.penalised[g]:
            slope = slope + 2 * penalty.lam2 * weights
            slope = slope + penalty.lam * twin.dimensions[g] * weights / np.linalg.norm(weights)
        wanted += slope.reshape(-1).tolist()
    assert len(wanted) == len(flat)
    for (array, k), slope in zip(flat, wanted, strict=True):
        value = array[k]
        sides = []
        for moved in (value + by, value - by):
            array[k] = moved
            sides.append(converged(network).evaluate(penalty).objective)
        array[k] = value
        assert (sides[0] - sides[1]) / (2 * by) == pytest.approx(slope, abs=1e-7)


# The fit.

FITS = [
    *(Penalty(1e-3, 0.03, root, nodes) for root in (False, True) for nodes in (FREE, PENALISED)),
    *(Penalty(1e-3, 0.0, root, nodes) for root in (False, True) for nodes in (FREE, PENALISED)),
    *(Penalty(2e-2, 0.1, root, nodes) for root in (False, True) for nodes in (FREE, PENALISED)),
    Penalty(1e-3, 1e-3, False, PENALISED),
    Penalty(1e-6, 0.0, False, FREE),
]


@pytest.mark.parametrize("penalty", FITS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_polished_fit_is_optimal_and_a_fixed_point(seed, penalty):
    n = 8
    table, edges = dependent_table(seed, n), random_edges(seed, n, 0.4)
    network, evaluation = fitted(table, edges, penalty)
    assert evaluation.kkt_residual <= 1e-7
    assert evaluation.message_residual <= 1e-8
    model = network.model()
    assert np.isfinite(model.weights).all()
    # BP from the messages of the fit does not move.
    before = network.state.node_beliefs.copy()
    converged_sweeps, _ = propagate(
        network.state, n, network.n_edges, 100, 1e-6, 0.0, np.empty((6, 16))
    )
    assert converged_sweeps <= 3
    assert np.abs(network.state.node_beliefs - before).max() < 1e-6


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_fit_on_trees_reaches_optimum_of_plain_proximal_gradient(seed, penalty):
    n = 5
    table, edges = dependent_table(seed, n), tree_edges(seed, n)
    if not penalty.nodes:
        # Free weights of a state that never occurs diverge, so it is left out.
        table = DiscreteTable.from_codes(table.codes.T)
    network, evaluation = fitted(table, edges, penalty)
    best, weights = twin_of(table, edges, penalty).minimum()
    assert evaluation.objective == pytest.approx(best, abs=1e-8)
    nodes, _, _ = naive.marginals(network.model())
    assert np.allclose(np.concatenate(nodes), network.state.node_beliefs, atol=1e-8)
    model = network.model()
    for e, table in enumerate(weights[n:]):
        assert np.linalg.norm(model.edge_weights(e)) == pytest.approx(
            np.linalg.norm(table), abs=2e-3
        )


@pytest.mark.parametrize("nodes", [FREE, PENALISED])
@pytest.mark.parametrize("seed", range(3))
def test_only_violating_edges_lower_the_objective(seed, nodes):
    n = 7
    table = dependent_table(seed, n, noise=0.8)
    penalty = Penalty(2.7e-3, 0.03, False, nodes)
    network = new_network(table)
    network.fit_nodes(penalty, tolerance=1e-12)
    objective = network.evaluate(penalty).objective
    verdicts = set()
    for i, j in itertools.combinations(range(n), 2):
        offsets = network.state.node_offsets
        beliefs = [network.state.node_beliefs[offsets[k] : offsets[k + 1]] for k in (i, j)]
        counts = network.counts.table(i, j)
        violates = naive.belief_score(counts, *beliefs, False) > penalty.lam
        network.add_edge(i, j)
        after = network.polish(penalty, tolerance=1e-11).objective
        if violates:
            assert after < objective
        else:
            assert after == pytest.approx(objective, abs=1e-9)
            assert network.model().edge_norms()[-1] == 0.0
        verdicts.add(violates)
        objective = after
    assert verdicts == {True, False}


@pytest.mark.parametrize("noise", [0.5, 0.05])
def test_unfinished_block_has_consistent_marginals(noise):
    """Check that an unsolved block has the marginals of its weights."""
    both = dependent_table(0, 6, noise=noise).codes[1:3]
    penalty = Penalty(1e-5, 0.0, False, PENALISED)
    network = new_network(DiscreteTable.from_codes(both.T))
    network.fit_nodes(penalty, tolerance=1e-6)
    network.add_edge(0, 1)
    unsolved = 0
    for _ in range(15):
        _, _, solved = solve_block(network.state, 0, penalty, 1e-15, network._work)
        unsolved += not solved
        nodes, _, _ = naive.marginals(network.model())
        assert np.allclose(network.state.node_beliefs, np.concatenate(nodes), rtol=0, atol=1e-12)
    assert 0 < unsolved < 15


def test_block_with_states_that_never_occur_is_solved():
    """Check that tiny targets of nodes and edges are consistent."""
    rng = np.random.default_rng(0)
    codes = np.stack([29 * rng.integers(0, 2, 300), rng.integers(0, 2, 300)], axis=1)
    codes[:100, 1] = codes[:100, 0] // 29
    network = new_network(DiscreteTable.from_codes(codes, cardinalities=[30, 2]), [(0, 1)])
    state = network.state
    margins = state.edge_targets[:60].reshape(30, 2)
    assert np.allclose(margins.sum(axis=1), state.node_targets[:30], rtol=0, atol=1e-16)
    assert np.allclose(margins.sum(axis=0), state.node_targets[30:], rtol=0, atol=1e-15)
    _, _, solved = solve_block(state, 0, Penalty(1e-3, 0.0, False, FREE), 1e-13, network._work)
    assert solved


def test_changes_list_fitted_edges_and_nodes_once():
    table, penalty = dependent_table(0, 6), Penalty(1e-3, 0.03, False, FREE)
    network, _ = fitted(table, [(0, 1), (2, 3)], penalty)
    network.changes()
    network.add_edge(1, 4)
    network.fit(penalty, tolerance=1e-8)
    changes = network.changes()
    assert changes.edges.tolist() == [2]
    assert changes.nodes.tolist() == [1, 4]
    model = network.model()
    assert np.array_equal(changes.edge_weights, model.edge_weights(2).reshape(-1))
    both = np.concatenate([model.node_weights(1), model.node_weights(4)])
    assert np.array_equal(changes.node_weights, both)
    for array in changes.__class__.__slots__:
        assert not getattr(changes, array).flags.writeable
    again = network.changes()
    assert len(again.edges) == len(again.nodes) == len(again.edge_weights) == 0


def test_restart_gap_distinguishes_trapped_from_stable_fit():
    """Compare a tree with a fit of all edges and hardly any penalty."""
    stable, _ = fitted(dependent_table(1, 8), tree_edges(1, 8), Penalty(1e-3, 0.03, False, FREE))
    assert stable.restart_gap() < 1e-5
    everything = list(itertools.combinations(range(8), 2))
    beliefs = dependent_table(1, 8, noise=0.05)
    trapped, evaluation = fitted(beliefs, everything, Penalty(1e-5, 0.0, False, FREE))
    assert evaluation.kkt_residual < 1e-7
    before = trapped.state.node_beliefs.copy()
    assert trapped.restart_gap() > 0.1
    assert np.array_equal(trapped.state.node_beliefs, before)
