"""Tree-reweighted message passing: bounds, exactness on trees, and equality with BP."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
from inference_cases import joint_scores, largest_gap, log_partition, random_model

from graftviz import PairwiseMRF, infer
from graftviz.inference.appearance import edge_appearance
from graftviz.inference.propagation import linear_beliefs, log_beliefs
from graftviz.inference.reweighted import (
    fill_beliefs,
    free_energy,
    log_graph,
    pass_messages,
    refresh_fields,
)
from graftviz.inference.settings import InferenceSettings
from graftviz.inference.support import support

SCALES = [0.3, 1.0, 3.0, 10.0]


def mixed_model(seed: int) -> PairwiseMRF:
    """Return a random model; every second has zero potentials, couplings vary with the seed."""
    return random_model(seed, scale=SCALES[seed // 2 % 4], zeros=0.15 * (seed % 2))


def mixed_evidence(model: PairwiseMRF, seed: int) -> dict[int, int]:
    rng = np.random.default_rng(seed)
    some = rng.permutation(model.n_variables)[: seed % 3]
    return {int(i): int(rng.integers(model.cardinalities[i])) for i in some}


def graph_with_messages(model: PairwiseMRF, seed: int, spread: float):
    """Return a graph with its edge probabilities and random messages."""
    states = support(model)
    assert states.empty_node < 0
    rho = edge_appearance(model.n_variables, model.edges).probabilities
    graph = log_graph(model, states.node_weights(model), rho)
    noise = np.random.default_rng(seed).normal(0, spread, len(graph.messages))
    graph.messages[:] = noise
    refresh_fields(graph, model.n_edges)
    return graph, np.empty((3, int(model.cardinalities.max())))


@pytest.mark.parametrize("part", range(4))
def test_mean_field_below_exact_below_tree_reweighted(part):
    for seed in range(50 * part, 50 * part + 50):
        model = mixed_model(seed)
        evidence = mixed_evidence(model, seed)
        exact = log_partition(model, evidence)
        above = infer(model, "trbp", evidence=evidence)
        below = infer(model, "mean-field", evidence=evidence)
        if exact == -np.inf:
            assert below.log_partition == -np.inf
            continue
        room = 1e-9 * (1 + abs(exact))
        assert below.log_partition <= exact + room, seed
        assert exact <= above.log_partition + room, seed
        assert np.isfinite(above.log_partition)
        for beliefs in (above, below):
            for belief in (*beliefs.node, *beliefs.edge):
                assert (belief >= 0).all()
                assert belief.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("spread", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("seed", range(12))
def test_bound_holds_for_random_messages(seed, spread):
    model = random_model(seed, scale=2.0, zeros=0.1 * (seed % 2))
    exact = log_partition(model)
    if exact == -np.inf or model.n_edges == 0:
        return
    graph, work = graph_with_messages(model, seed, spread)
    value, excess = free_energy(graph, model.n_variables, model.n_edges, work)
    assert excess >= 0
    assert exact <= value + excess + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_beliefs_of_random_messages_reparametrise_the_model(seed):
    """Check the reparametrisation for every joint state."""
    model = random_model(seed, scale=1.5)
    graph, work = graph_with_messages(model, seed, 1.0)
    n, m = model.n_variables, model.n_edges
    value, _ = free_energy(graph, n, m, work)
    nodes, pairs = np.empty(len(graph.fields)), np.empty(len(graph.potentials))
    fill_beliefs(graph, n, m, nodes, pairs)
    offsets, places = model.node_offsets, graph.edge_offsets
    singles = [np.log(nodes[offsets[i] : offsets[i + 1]]) for i in range(n)]
    tables = {}
    for e, (i, j) in enumerate(model.edges.tolist()):
        joint = np.log(pairs[places[e] : places[e + 1]]).reshape(len(singles[i]), -1)
        tables[i, j] = graph.appearance[e] * (joint - singles[i][:, None] - singles[j][None, :])
    rebuilt = PairwiseMRF.from_tables(singles, tables)
    np.testing.assert_allclose(value + joint_scores(rebuilt), joint_scores(model), atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_excess_covers_every_tree_of_a_cycle(seed):
    """Compare with Σ_T μ(T) log of the tree's sum for messages that do not agree."""
    rng = np.random.default_rng(seed)
    n = 4
    cycle = {(i, i + 1): rng.normal(0, 1, (2, 3)[:: (-1) ** i]) for i in range(n - 1)}
    cycle[0, n - 1] = rng.normal(0, 1, (2, 3))
    model = PairwiseMRF.from_tables([rng.normal(size=2 + i % 2) for i in range(n)], cycle)
    graph, work = graph_with_messages(model, seed, 1.0)
    value, excess = free_energy(graph, n, n, work)
    nodes, pairs = np.empty(len(graph.fields)), np.empty(len(graph.potentials))
    fill_beliefs(graph, n, n, nodes, pairs)
    singles = [np.log(nodes[a:b]) for a, b in itertools.pairwise(model.node_offsets)]
    ratios = {}
    for e, (i, j) in enumerate(model.edges.tolist()):
        joint = np.log(pairs[graph.edge_offsets[e] : graph.edge_offsets[e + 1]])
        joint = joint.reshape(len(singles[i]), -1)
        ratios[i, j] = joint - singles[i][:, None] - singles[j][None, :]
    trees = []
    for left_out in ratios:
        tree_ratios = {pair: table for pair, table in ratios.items() if pair != left_out}
        trees.append(log_partition(PairwiseMRF.from_tables(singles, tree_ratios)))
    assert log_partition(model) <= value + np.mean(trees) + 1e-9
    assert np.mean(trees) <= excess + 1e-9


@pytest.mark.parametrize("sweeps", [1, 2, 7, 40])
@pytest.mark.parametrize("seed", range(4))
def test_with_probabilities_of_one_it_is_belief_propagation(seed, sweeps):
    """Check after any number of sweeps, also before convergence."""
    model = random_model(seed, scale=1.5, most=7, density=0.8)
    settings = InferenceSettings(tolerance=0.0, max_sweeps=sweeps, damping=0.0)
    linear, logs = linear_beliefs(model, settings), log_beliefs(model, settings)
    assert largest_gap(logs, linear.node, linear.edge) < 1e-12
    assert logs.log_partition == pytest.approx(linear.log_partition, rel=1e-12)
    assert logs.residual == pytest.approx(linear.residual, rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("damping", [0.0, 0.4])
@pytest.mark.parametrize("zeros", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(8))
def test_sweeps_equal_plain_sweeps(seed, zeros, damping):
    model = random_model(seed, scale=1.5, zeros=zeros)
    states = support(model)
    if states.empty_node >= 0:
        return
    weights = states.node_weights(model)
    model = PairwiseMRF(
        model.cardinalities, model.edges, np.concatenate([weights, model.weights[len(weights) :]])
    )
    rho = np.random.default_rng(seed).uniform(0.3, 1.0, model.n_edges)
    graph = log_graph(model, weights, rho)
    work = np.empty((3, int(model.cardinalities.max())))
    plain = {
        (e, i): np.zeros(model.cardinalities[i])
        for e, pair in enumerate(model.edges.tolist())
        for i in pair
    }
    for sweep in range(3):
        pass_messages(graph, model.n_edges, sweep, 1, 0.0, damping, work)
        naive.reweighted_sweep(model, rho, plain, sweep % 2 == 0, damping)
    wanted = [plain[e, i] for e, pair in enumerate(model.edges.tolist()) for i in pair]
    np.testing.assert_allclose(graph.messages, np.concatenate([[], *wanted]), atol=1e-11)


def test_bound_after_one_sweep_is_valid_and_noted_as_unconverged():
    model = random_model(3, scale=10.0, density=1.0)
    beliefs = infer(model, "trbp", max_sweeps=1)
    assert not beliefs.converged
    assert "did not converge after 1 sweep:" in beliefs.notes[0]
    assert "bound is still valid" in beliefs.notes[-1]
    assert beliefs.log_partition_is == "upper bound"
    assert beliefs.log_partition >= log_partition(model)
    assert infer(model, "trbp").log_partition <= beliefs.log_partition


def test_a_variable_with_one_possible_state_closes_no_cycle():
    """Check a triangle with a fixed corner, which is a tree: the bound is exact."""
    rng = np.random.default_rng(0)
    tables = {pair: rng.normal(0, 2, (3, 3)) for pair in itertools.combinations(range(3), 2)}
    fields = [rng.normal(size=3) for _ in range(3)]
    fields[1] = np.array([-np.inf, 0.5, -np.inf])
    model = PairwiseMRF.from_tables(fields, tables)
    assert infer(model, "trbp").log_partition == pytest.approx(log_partition(model), abs=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_reweighting_gives_a_lower_valid_bound(seed):
    model = random_model(seed, scale=2.0, density=0.9, most=7)
    plain = infer(model, "trbp")
    better = infer(model, "trbp", reweighting=5)
    assert log_partition(model) - 1e-9 <= better.log_partition <= plain.log_partition
    if model.n_edges >= model.n_variables:
        assert better.log_partition < plain.log_partition - 1e-4
        assert any("reweighting" in note for note in better.notes)
