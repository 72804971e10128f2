"""Samplers: distributions of samples, diagnostics and generated models."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

import naive
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from graftviz import InputError, PairwiseMRF, infer
from graftviz.data.synthetic.gibbs import (
    effective_rows,
    new_population,
    resample,
    sample_gibbs,
    split_rhat,
)
from graftviz.data.synthetic.graphs import (
    Graph,
    graph_from_edges,
    grid_graph,
    ising_grid,
    ising_model,
    random_graph,
    scale_free_graph,
)
from graftviz.data.synthetic.potentials import (
    joint_probabilities,
    joint_states,
    random_model,
    sample_exact,
)
from graftviz.data.synthetic.sweep import advance, conditionals_of, stars


def star(leaves: int, states: int, edge_sigma: float, seed: int = 0) -> PairwiseMRF:
    """Return a star with hub 0, whose state rarely changes if the potentials are strong."""
    edges = np.stack([np.zeros(leaves, dtype=int), np.arange(1, leaves + 1)], axis=1)
    return random_model(edges, [states] * (leaves + 1), edge_sigma=edge_sigma, seed=seed)


def small_models() -> dict[str, PairwiseMRF]:
    """Return models of several shapes that are small enough to enumerate."""
    grid, loose = grid_graph(3, 3), random_graph(6, edges=9, seed=2)
    coupling = np.array([[0.4, -0.4], [-0.4, 0.4]])
    ising = PairwiseMRF.from_tables(
        [np.array([0.1, -0.1])] * 9, dict.fromkeys(map(tuple, grid.edges.tolist()), coupling)
    )
    return {
        "Ising grid": ising,
        "spin glass": random_model(grid.edges, [2] * 9, edge_sigma=1.5, seed=3),
        "mixed": random_model(loose.edges, [2, 5, 1, 3, 4, 2], seed=4),
        "complete": random_model(random_graph(5, probability=1.0).edges, [4] * 5, seed=5),
        "no edges": random_model(np.zeros((0, 2)), [3, 2], node_sigma=1.0, seed=6),
        "one variable": random_model(np.zeros((0, 2)), [7], node_sigma=1.0, seed=7),
        "frozen hub": star(leaves=10, states=3, edge_sigma=3.0, seed=8),
        "hubs": random_model(scale_free_graph(10, 1).edges, [2, 3, 1, 2, 3] * 2, edge_sigma=2.5),
    }


# --- exact sampling ---------------------------------------------------------------------------


def test_joint_distribution_equals_its_plain_twin() -> None:
    for name in ("mixed", "spin glass", "one variable"):
        model = small_models()[name]
        every, probabilities = naive.joint_probabilities(model)
        assert joint_states(model).T.tolist() == [list(x) for x in every]
        np.testing.assert_allclose(joint_probabilities(model), probabilities, rtol=1e-10)


def test_exact_sample_follows_the_joint_distribution() -> None:
    model, rows = small_models()["mixed"], 20_000
    table = sample_exact(model, rows, seed=1)
    joint = np.ravel_multi_index(tuple(table.codes), tuple(model.cardinalities))
    expected = joint_probabilities(model) * rows
    counts = np.bincount(joint, minlength=len(expected))
    chi_square = ((counts - expected) ** 2 / expected).sum()
    freedom = len(expected) - 1
    assert abs(chi_square - freedom) < 5 * np.sqrt(2 * freedom)


def test_exact_sample_of_a_large_forest_has_the_margins_of_the_model() -> None:
    """Check two trees and an isolated variable, where belief propagation is exact."""
    edges = np.array([(i // 2, i) for i in range(1, 15)] + [(i - 3, i) for i in range(18, 30)])
    model, rows = random_model(edges, [2, 3] * 15, seed=4), 20_000
    table = sample_exact(model, rows, seed=2)
    beliefs = infer(model)
    for i in range(30):
        shares = np.bincount(table.codes[i], minlength=len(beliefs.node[i])) / rows
        np.testing.assert_allclose(shares, beliefs.node[i], atol=5 * 0.5 / np.sqrt(rows))
    for e, (i, j) in enumerate(model.edges.tolist()):
        shares = table.joint_counts(i, j) / rows
        np.testing.assert_allclose(shares, beliefs.edge[e], atol=5 * 0.5 / np.sqrt(rows))


def test_exact_sample_refuses_invalid_models_and_sizes() -> None:
    with pytest.raises(InputError, match="Gibbs"):
        sample_exact(random_model(np.array([(0, 1), (0, 2), (1, 2)]), [2] * 21), 10)
    with pytest.raises(InputError, match="at least 1 row"):
        sample_exact(small_models()["mixed"], 0)
    nothing = PairwiseMRF.from_tables([np.full(2, -np.inf)], {})
    with pytest.raises(InputError, match="probability zero"):
        sample_exact(nothing, 1)


# --- Gibbs sampling ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mixed", "spin glass", "complete", "frozen hub", "hubs"])
@pytest.mark.parametrize("joined", [False, True])
def test_sweep_equals_its_plain_twin(name: str, joined: bool) -> None:
    model = small_models()[name]
    found = stars(model) if joined else []
    start = new_population(model, 5, np.random.default_rng(1))
    expected = naive.gibbs_sweeps(model, start.states, start.generators, 20, found)
    advance(conditionals_of(model, found), start.states, start.generators, sweeps=20)
    assert start.states.tolist() == expected.tolist()


def test_leaves_of_a_star_are_neighbours_of_the_hub_and_not_joined() -> None:
    models = [*small_models().values(), random_model(scale_free_graph(200, 1).edges, [5] * 200)]
    hubs = []
    for model in models:
        joined = {frozenset(edge) for edge in model.edges.tolist()}
        for hub, leaves, _ in stars(model):
            hubs.append(hub)
            assert leaves
            assert all(frozenset((hub, leaf)) in joined for leaf in leaves)
            assert not any(frozenset(pair) in joined for pair in combinations(leaves, 2))
    assert len(hubs) > 5


def test_a_hub_with_very_strong_edges_is_drawn_alone() -> None:
    # The exponentials of such weights leave the range of single precision.
    model = star(leaves=10, states=3, edge_sigma=100.0)
    assert all(np.abs(part).max() < 40 for found in stars(model) for part in found.interactions)
    assert sample_gibbs(model, 100).table.n_rows == 100


def test_chains_move_at_hubs_only_with_their_neighbours() -> None:
    model = random_model(scale_free_graph(100, 2).edges, [5] * 100, seed=2)
    alone, together = (
        sample_gibbs(model, 4000, seed=1, join_hubs=joined).diagnostic for joined in (False, True)
    )
    assert alone.worst_rhat > 1.5
    assert together.worst_rhat < 1.1
    assert together.fewest_effective_rows > 2 * alone.fewest_effective_rows


@pytest.mark.parametrize("name", small_models())
def test_gibbs_marginals_agree_with_enumeration(name: str) -> None:
    model, rows = small_models()[name], 40_000
    sample = sample_gibbs(model, rows, seed=1)
    effective = min(rows, sample.diagnostic.fewest_effective_rows)
    assert effective > 400
    probabilities, states = joint_probabilities(model), joint_states(model)
    codes = sample.table.codes
    for i in range(model.n_variables):
        for j in range(i + 1):
            width = int(model.cardinalities[j])
            cells = int(model.cardinalities[i]) * width
            expected = np.bincount(states[i].astype(int) * width + states[j], probabilities, cells)
            drawn = codes[i].astype(int) * width + codes[j]
            found = np.bincount(drawn, minlength=cells) / rows
            allowed = 5 * np.sqrt(expected * (1 - expected) / effective) + 3 / effective
            assert (np.abs(found - expected) <= allowed).all()


def test_annealing_samples_a_frozen_hub_correctly() -> None:
    model = star(leaves=10, states=3, edge_sigma=3.0, seed=8)
    states, probabilities = joint_states(model), joint_probabilities(model)
    hub = np.bincount(states[0], probabilities)

    def error(burn_in: int | None) -> float:
        settings = {"burn_in": burn_in, "chains": 2000, "join_hubs": False}
        codes = sample_gibbs(model, 10_000, seed=1, **settings).table.codes
        return float(np.abs(np.bincount(codes[0], minlength=3) / 10_000 - hub).max())

    assert error(None) < 0.02
    assert error(4) > 0.08  # too short for annealing: the hub keeps its first state


def test_leaves_of_large_hub_have_conditional_distribution() -> None:
    # Hundreds of strong neighbours: sums of log-odds are beyond the range of exp.
    model = star(leaves=300, states=4, edge_sigma=3.0, seed=9)
    codes = sample_gibbs(model, 4000, seed=2, chains=1000, burn_in=20).table.codes
    hub = int(np.bincount(codes[0]).argmax())
    rows = codes[0] == hub
    off = []
    for e in range(model.n_edges):
        leaf = model.node_weights(e + 1) + model.edge_weights(e)[hub]
        expected = np.exp(leaf - leaf.max())
        expected /= expected.sum()
        found = np.bincount(codes[e + 1, rows], minlength=4) / rows.sum()
        off.append((found - expected) / np.sqrt(expected * (1 - expected) / rows.sum() + 1e-6))
    assert np.abs(np.mean(off, axis=0)).max() < 0.4
    assert 0.7 < np.std(off) < 1.4


def test_same_seed_same_rows_in_another_process() -> None:
    program = (
        "from graftviz.data.synthetic.gibbs import sample_gibbs\n"
        "from graftviz.data.synthetic.graphs import scale_free_graph\n"
        "from graftviz.data.synthetic.potentials import random_model\n"
        "graph = scale_free_graph(20, seed=3)\n"
        "model = random_model(graph.edges, [3] * 20, seed=3)\n"
        "print(sample_gibbs(model, 700, seed=3).table.fingerprint)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    graph = scale_free_graph(20, seed=3)
    model = random_model(graph.edges, [3] * 20, seed=3)
    assert run.stdout.strip() == sample_gibbs(model, 700, seed=3).table.fingerprint
    assert run.stdout.strip() != sample_gibbs(model, 700, seed=4).table.fingerprint


@pytest.mark.parametrize(
    ("settings_", "complaint"),
    [
        ({"rows": 0}, "rows must be at least 1; got 0"),
        ({"burn_in": -1}, "burn-in must be at least 0"),
        ({"thin": 0}, "thinning must be at least 1"),
        ({"chains": 1}, "chains must be at least 2"),
        ({"seed": -3}, "seed"),
    ],
)
def test_impossible_settings_are_refused(settings_: dict[str, int], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        sample_gibbs(small_models()["mixed"], **{"rows": 5, **settings_})


def test_gibbs_refuses_zero_potentials_and_too_many_states() -> None:
    hole = PairwiseMRF.from_tables([np.array([0.0, -np.inf])], {})
    with pytest.raises(InputError, match="zero"):
        sample_gibbs(hole, 5)
    with pytest.raises(InputError, match="256 states"):
        sample_gibbs(random_model(np.zeros((0, 2)), [257]), 5)


# --- annealing and diagnosis ------------------------------------------------------------------


@settings(max_examples=50)
@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=40).filter(lambda weights: sum(weights) > 0),
    st.floats(0, 1, exclude_max=True),
)
def test_resampling_counts_differ_from_expectation_by_less_than_one(
    weights: list[float], offset: float
) -> None:
    array = np.array(weights)
    counts = np.bincount(resample(array, offset), minlength=len(array))
    assert counts.sum() == len(array)
    expected = array / array.sum() * len(array)
    assert (np.abs(counts - expected) < 1 + 1e-6).all()


def test_diagnosis_of_independent_draws() -> None:
    values = np.random.default_rng(0).normal(size=(20, 1000))
    assert abs(split_rhat(values) - 1) < 0.02
    assert effective_rows(values, np.arange(1000)) > 0.85 * values.size


def test_diagnosis_of_slow_chains() -> None:
    # Autoregression: the effective size of a stationary chain is known.
    rng, length, chains, memory = np.random.default_rng(1), 50, 4000, 0.9
    values = np.empty((length, chains))
    values[0] = rng.normal(size=chains)
    for t in range(1, length):
        noise = np.sqrt(1 - memory**2) * rng.normal(size=chains)
        values[t] = memory * values[t - 1] + noise
    lags = np.arange(1, length)
    inflation = 1 + 2 * np.sum((1 - lags / length) * memory**lags)
    effective = effective_rows(values, np.arange(chains))
    assert abs(effective * inflation / values.size - 1) < 0.1
    assert split_rhat(values) > 1.2


def test_diagnosis_of_stuck_chains_and_families() -> None:
    rng = np.random.default_rng(2)
    stuck = np.tile(rng.normal(size=600), (10, 1))
    assert split_rhat(stuck) == np.inf
    assert abs(effective_rows(stuck, np.arange(600)) / 600 - 1) < 0.2
    families = np.repeat(np.arange(60), 10)
    copies = np.tile(rng.normal(size=60)[families], (10, 1))
    assert 30 < effective_rows(copies, families) < 120
    assert effective_rows(copies, np.zeros(600, dtype=int)) == 1.0
    assert split_rhat(np.ones((4, 9))) == 1.0
    assert effective_rows(np.ones((4, 9)), np.arange(9)) == 36


def test_effective_rows_of_frozen_hub_are_calibrated() -> None:
    # Over many seeds, the error of the hub's frequency in units of the implied standard error
    # must have a spread of about one.
    model = star(leaves=10, states=2, edge_sigma=3.0, seed=11)
    hub = np.bincount(joint_states(model)[0], joint_probabilities(model))[1]
    errors = []
    for seed in range(40):
        sample = sample_gibbs(model, 2000, seed=seed, chains=500, join_hubs=False)
        at = sample.diagnostic.statistics.index("x0 = 1")
        implied = np.sqrt(hub * (1 - hub) / sample.diagnostic.effective_rows[at])
        errors.append((sample.table.codes[0].mean() - hub) / implied)
    assert 0.6 < np.sqrt(np.mean(np.square(errors))) < 1.6


# Ising models: energy, random parameters and refusals.


def test_log_scores_are_the_energy_of_the_spins() -> None:
    edges = np.array([[0, 1], [1, 2], [0, 3]])
    fields, couplings = np.array([0.3, -1.2, 0.0, 2.0]), np.array([0.7, -0.4, 1.5])
    model = ising_model(edges, fields, couplings)
    codes = np.random.default_rng(0).integers(0, 2, (4, 50))
    spins = 2.0 * codes - 1.0
    energy = fields @ spins + couplings @ (spins[edges[:, 0]] * spins[edges[:, 1]])
    assert np.allclose(model.log_scores(codes), energy, rtol=0, atol=1e-12)
    assert model.labels == (("-1", "+1"),) * 4


def test_draws_are_uniform_and_scale_with_the_strengths() -> None:
    weak = ising_grid(12, 15, field=1.0, coupling=1.0, seed=3)
    strong = ising_grid(12, 15, field=2.0, coupling=0.5, seed=3)
    graph = grid_graph(12, 15)
    assert np.array_equal(weak.edges, graph.edges)
    assert weak.names == graph.names
    n = graph.n_nodes
    fields = weak.weights[1 : 2 * n : 2]
    couplings = weak.weights[2 * n :: 4]
    for drawn in (fields, couplings):
        assert np.abs(drawn).max() <= 1.0
        assert drawn.min() < -0.9
        assert drawn.max() > 0.9
        assert abs(drawn.mean()) < 4 / np.sqrt(3 * len(drawn))  # four standard errors
    assert np.array_equal(strong.weights[: 2 * n], 2.0 * weak.weights[: 2 * n])
    assert np.array_equal(strong.weights[2 * n :], 0.5 * weak.weights[2 * n :])
    assert not np.array_equal(
        weak.weights, ising_grid(12, 15, field=1.0, coupling=1.0, seed=4).weights
    )


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: ising_grid(3, 3, field=-1.0, coupling=1.0), "strength of fields"),
        (lambda: ising_grid(3, 3, field=1.0, coupling=np.inf), "strength of couplings"),
        (lambda: ising_grid(3, 3, field=np.nan, coupling=1.0), "strength of fields"),
        (lambda: ising_grid(1, 1, field=1.0, coupling=1.0), "at least two nodes"),
        (lambda: ising_model(np.array([[0, 1]]), np.zeros(2), np.zeros(2)), "as many couplings"),
        (
            lambda: ising_model(np.array([[0, 1]]), np.array([0.0, np.nan]), np.zeros(1)),
            "finite numbers",
        ),
        (lambda: ising_model(np.array([[0, 2]]), np.zeros(2), np.zeros(1)), "pairs i < j"),
    ],
)
def test_invalid_ising_arguments_are_refused(make, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        make()


# Random graphs have the documented edges, random potentials the documented spread.


@given(st.integers(3, 150), st.integers(0, 2**40))
def test_scale_free_graph_has_two_edges_per_new_node(nodes: int, seed: int) -> None:
    graph = scale_free_graph(nodes, seed)
    assert graph.n_nodes == nodes
    assert graph.n_edges == 2 * nodes - 4
    # Edges are sorted pairs, so the second node is the newer one.
    assert np.bincount(graph.edges[:, 1], minlength=nodes).tolist() == [0, 0] + [2] * (nodes - 2)
    assert nx.is_connected(nx.Graph(graph.edges.tolist()))


@given(st.integers(3, 60), st.integers(0, 2**40), st.data())
def test_scale_free_graph_of_a_number_of_edges_contains_a_tree(
    nodes: int, seed: int, data: st.DataObject
) -> None:
    edges = data.draw(st.integers(nodes - 1, max(nodes - 1, 2 * nodes - 4)))
    graph = scale_free_graph(nodes, seed, edges)
    assert graph.n_edges == edges
    assert nx.is_connected(nx.Graph(graph.edges.tolist()))
    tree = scale_free_graph(nodes, seed, nodes - 1).edges
    assert np.bincount(tree[:, 1], minlength=nodes).tolist() == [0] + [1] * (nodes - 1)
    assert set(map(tuple, tree.tolist())) <= set(map(tuple, graph.edges.tolist()))


@given(st.integers(1, 9), st.integers(1, 9))
def test_grid_joins_neighbours_only(rows: int, columns: int) -> None:
    if rows * columns < 2:
        with pytest.raises(InputError, match="at least two nodes"):
            grid_graph(rows, columns)
        return
    graph = grid_graph(rows, columns)
    assert graph.n_edges == rows * (columns - 1) + columns * (rows - 1)
    assert graph.positions.min() >= 0
    assert graph.positions.max() <= 10_000
    lengths = np.linalg.norm(np.diff(graph.positions[graph.edges], axis=1)[:, 0], axis=1)
    np.testing.assert_allclose(lengths, lengths[0])
    assert graph.names[-1] == f"r{rows - 1}c{columns - 1}"


def test_random_graph_is_uniform() -> None:
    n, edges, repeats = 7, 4, 3000
    hits = np.zeros((n, n))
    for seed in range(repeats):
        pairs = random_graph(n, edges=edges, seed=seed).edges
        hits[pairs[:, 0], pairs[:, 1]] += 1
    counts = hits[np.triu_indices(n, 1)]
    expected = repeats * edges / len(counts)
    assert np.abs(counts - expected).max() < 4.5 * np.sqrt(expected)


def test_graph_from_edges_numbers_nodes_by_first_appearance() -> None:
    graph = graph_from_edges([("b", "a"), ("a", "b"), ("c", "a")])
    assert graph.names == ("b", "a", "c")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert not graph.edges.flags.writeable


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: scale_free_graph(2), "at least 3 nodes"),
        (lambda: scale_free_graph(9, seed=-1), "seed"),
        (lambda: scale_free_graph(9, edges=7), "can have 8 to 14 edges"),
        (lambda: scale_free_graph(9, edges=15), "can have 8 to 14 edges"),
        (lambda: random_graph(1, edges=0), "at least 2 nodes"),
        (lambda: random_graph(4, edges=7), "between 0 and 6 edges"),
        (lambda: random_graph(4, edges=2, probability=0.5), "either"),
        (lambda: random_graph(4), "either"),
        (lambda: random_graph(4, probability=1.1), "probability"),
        (lambda: graph_from_edges([("a", "z")], ["a", "b"]), "'z'"),
        (lambda: graph_from_edges([("a", "a")]), "'a' to itself"),
        (lambda: Graph(("a", "a"), np.zeros((0, 2))), "different"),
        (lambda: Graph(("a", "b"), np.array([[0, 2]])), "0 … 1"),
    ],
)
def test_impossible_graphs_are_refused(make, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        make()


# --- potentials -------------------------------------------------------------------------------


def test_random_model_has_requested_spread() -> None:
    graph = scale_free_graph(300, seed=1)
    model = random_model(graph.edges, [5] * 300, node_sigma=0.5, edge_sigma=2.0, seed=1)
    nodes, edges = np.split(model.weights, [1500])
    for weights, sigma in ((nodes, 0.5), (edges, 2.0)):
        assert abs(weights.std() / sigma - 1) < 4 / np.sqrt(2 * len(weights))
        assert abs(weights.mean()) < 4 * sigma / np.sqrt(len(weights))


@pytest.mark.parametrize("sigmas", [{"node_sigma": -1.0}, {"edge_sigma": np.nan}])
def test_impossible_spreads_are_refused(sigmas: dict[str, float]) -> None:
    with pytest.raises(InputError, match="standard deviation"):
        random_model(np.array([[0, 1]]), [2, 2], **sigmas)
