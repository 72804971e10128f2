"""Belief propagation and mean field: underflow, damping, notes and bounds."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
from inference_cases import largest_gap, log_partition, random_model, random_tree

from graftviz import PairwiseMRF, infer
from graftviz.inference.mean_field import climb, field_graph, mean_field_bound
from graftviz.inference.propagation import linear_beliefs, log_beliefs, needs_logs
from graftviz.inference.settings import InferenceSettings, pass_damped
from graftviz.inference.support import support


@pytest.mark.parametrize("method", ["bp", "trbp"])
@pytest.mark.parametrize("seed", range(10))
def test_weights_of_two_thousand_are_exact_on_trees(seed, method):
    rng = np.random.default_rng(seed)
    model = random_tree(seed)
    weights = rng.choice([-2000.0, -1999.0, 0.0, 1999.5, 2000.0], len(model.weights))
    model = PairwiseMRF(model.cardinalities, model.edges, weights + rng.normal(size=len(weights)))
    beliefs = infer(model, method)
    nodes, edges, log_partition = naive.marginals(model)
    assert beliefs.converged
    assert beliefs.log_partition_is == "exact"
    assert largest_gap(beliefs, nodes, edges) < 1e-8
    assert beliefs.log_partition == pytest.approx(log_partition, rel=1e-12)


@pytest.mark.parametrize("gap", [50.0, 800.0, 3000.0])
def test_zero_potential_with_field_beyond_range_of_floats(gap):
    """Check node 0, whose unlikely state 1 is forced by node 1."""
    nothing = -np.inf
    model = PairwiseMRF.from_tables(
        [[0.0, -gap], [gap + 1.0, 0.0]], {(0, 1): [[nothing, 0.0], [0.0, 0.0]]}
    )
    nodes, edges, log_partition = naive.marginals(model)
    beliefs = infer(model, "bp")
    assert largest_gap(beliefs, nodes, edges) < 1e-9
    assert beliefs.log_partition == pytest.approx(log_partition, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_hub_with_strong_neighbours_is_exact(seed):
    """Check tables whose product at the hub is out of the range of floats."""
    rng = np.random.default_rng(seed)
    n = 60
    strong = np.array([[100.0], [0.0], [-100.0]])
    tables = {(0, j): rng.normal(0, 1, (3, 2)) + strong for j in range(1, n)}
    messages = sum(naive.log_sum(table, 1) for table in tables.values())
    fields = [rng.normal(0, 1, 3) - messages, *(np.zeros(2) for _ in range(1, n))]
    model = PairwiseMRF.from_tables(fields, tables)
    hub = np.exp(fields[0] + messages - naive.log_sum(fields[0] + messages, 0))
    for beliefs in (infer(model, "bp"), log_beliefs(model, InferenceSettings())):
        assert beliefs.converged
        np.testing.assert_allclose(beliefs.node[0], hub, atol=1e-9)


def test_logs_are_used_only_if_needed():
    ordinary = random_model(0, scale=30.0)
    assert not needs_logs(ordinary)
    assert needs_logs(random_model(1, zeros=0.3, density=1.0))
    wide = PairwiseMRF.from_tables([np.zeros(2)] * 2, {(0, 1): [[0.0, 700.0], [0.0, 0.0]]})
    assert needs_logs(wide)
    high = PairwiseMRF.from_tables([np.zeros(2)] * 2, {(0, 1): np.full((2, 2), 5000.0)})
    assert not needs_logs(high)
    assert not needs_logs(PairwiseMRF.from_tables([[0.0, 900.0]], {}))


@pytest.mark.parametrize("seed", range(12))
def test_beliefs_match_factor_graph_propagation(seed):
    model = random_model(seed, scale=0.6)
    beliefs = infer(model, "bp", tolerance=1e-12, max_sweeps=2000)
    assert beliefs.converged
    plain = naive.factor_graph_propagation(model, 200)
    assert max(np.abs(a - b).max() for a, b in zip(beliefs.node, plain, strict=True)) < 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_zeros_on_loops_match_factor_graph_if_both_converge(seed):
    model = random_model(seed, scale=0.5, zeros=0.08)
    beliefs = infer(model, "bp", tolerance=1e-12, max_sweeps=2000)
    plain, later = (naive.factor_graph_propagation(model, rounds) for rounds in (200, 201))
    settled = max(np.abs(a - b).max() for a, b in zip(plain, later, strict=True)) < 1e-12
    if beliefs.converged and settled and np.isfinite(beliefs.log_partition):
        assert max(np.abs(a - b).max() for a, b in zip(beliefs.node, plain, strict=True)) < 1e-6


@pytest.mark.parametrize("passed", [linear_beliefs, log_beliefs])
def test_automatic_damping_gives_convergence_of_oscillating_messages(passed):
    """Check seven repelling spins, whose undamped messages oscillate."""
    table = np.array([[0.0, 3.0], [3.0, 0.0]])
    pairs = itertools.combinations(range(7), 2)
    model = PairwiseMRF.from_tables([[0.1, 0.0]] * 7, dict.fromkeys(pairs, table))
    undamped = passed(model, InferenceSettings(damping=0.0, max_sweeps=2000))
    damped = passed(model, InferenceSettings(max_sweeps=2000))
    assert not undamped.converged
    assert damped.converged
    assert any("damped" in note for note in damped.notes)
    assert not any("damped" in note for note in undamped.notes)


def test_notes_report_missing_convergence():
    pairs = itertools.combinations(range(7), 2)
    table = np.array([[0.0, 6.0], [6.0, 0.0]])
    model = PairwiseMRF.from_tables([[0.1, 0.0]] * 7, dict.fromkeys(pairs, table))
    beliefs = infer(model, "bp", damping=0.0, max_sweeps=30)
    assert not beliefs.converged
    assert "did not converge after 30 sweeps" in beliefs.notes[0]
    assert f"{beliefs.residual:.2g}" in beliefs.notes[0]
    assert np.isfinite(beliefs.log_partition)
    assert beliefs.log_partition_is == "approximation"
    assert 1e-9 < beliefs.residual <= 1.0


def recorded(residuals: list[float], **settings: float) -> list[tuple[int, int, float]]:
    """Return the arguments of the calls of a sweep that ends with the given residuals."""
    calls = []

    def sweep(done: int, most: int, tolerance: float, damping: float) -> tuple[int, float]:
        calls.append((done, most, damping))
        return most, residuals[min(len(calls), len(residuals)) - 1]

    pass_damped(sweep, InferenceSettings(tolerance=1e-9, **settings))
    return calls


def test_damping_rises_only_while_the_residual_does_not_fall():
    dampings = [d for _, _, d in recorded([0.5, 0.4, 0.4, 0.3, 0.3, 0.1, 1e-10])]
    assert dampings == [0.0, 0.0, 0.0, 0.3, 0.3, 0.5, 0.5]


def test_small_rising_residual_does_not_raise_damping():
    """Check residuals of messages that leave an unstable fixed point slowly."""
    dampings = [d for _, _, d in recorded([1e-6, 1e-5, 1e-4, 1e-2, 0.3, 0.2, 1e-10])]
    assert dampings == [0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 0.3]
    swings = [d for _, _, d in recorded([1e-3, 1e-3, 1e-10])]
    assert swings == [0.0, 0.0, 0.3]


# Mean field.


def prepared(model: PairwiseMRF):
    graph = field_graph(model, support(model).node_weights(model))
    return graph, np.empty((2, int(model.cardinalities.max())))


def random_beliefs(model: PairwiseMRF, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.dirichlet(np.ones(size)) for size in model.cardinalities])


def split(model: PairwiseMRF, flat: np.ndarray) -> list[np.ndarray]:
    return np.split(flat, model.node_offsets[1:-1])


@pytest.mark.parametrize("seed", range(10))
def test_mean_field_sweeps_match_plain_twin(seed):
    model = random_model(seed, scale=1.5)
    graph, work = prepared(model)
    beliefs = random_beliefs(model, seed)
    plain = [b.copy() for b in split(model, beliefs)]
    n = model.n_variables
    sweeps, _ = climb(graph, beliefs, 2, 0.0, work)
    assert sweeps == 2
    naive.mean_field_sweep(model, plain, range(n))
    naive.mean_field_sweep(model, plain, range(n - 1, -1, -1))
    np.testing.assert_allclose(beliefs, np.concatenate(plain), atol=1e-12)
    assert mean_field_bound(graph, beliefs, work) == pytest.approx(
        naive.mean_field_bound(model, plain)
    )


@pytest.mark.parametrize("scale", [0.5, 3.0, 15.0])
@pytest.mark.parametrize("seed", range(6))
def test_mean_field_bound_is_a_lower_bound_and_sweeps_do_not_lower_it(seed, scale):
    model = random_model(seed, scale=scale)
    graph, work = prepared(model)
    beliefs = random_beliefs(model, seed)
    exact, last = log_partition(model), -np.inf
    for _ in range(8):
        bound = mean_field_bound(graph, beliefs, work)
        assert last - 1e-9 <= bound <= exact + 1e-9
        last = bound
        climb(graph, beliefs, 1, 0.0, work)


@pytest.mark.parametrize("seed", range(10))
def test_converged_beliefs_are_a_fixed_point(seed):
    """Check that skipped nodes are converged too."""
    model = random_model(seed, scale=1.0, most=7)
    beliefs = infer(model, "mean-field", tolerance=1e-10, max_sweeps=5000)
    assert beliefs.converged
    again = [b.copy() for b in beliefs.node]
    naive.mean_field_sweep(model, again, range(model.n_variables))
    gap = max(np.abs(a - b).max() for a, b in zip(again, beliefs.node, strict=True))
    assert gap < 1e-8
    for (i, j), pair in zip(model.edges, beliefs.edge, strict=True):
        np.testing.assert_allclose(pair, np.outer(beliefs.node[i], beliefs.node[j]))


@pytest.mark.parametrize("seed", range(40))
def test_mean_field_avoids_zero_potentials(seed):
    model = random_model(seed, scale=1.0, zeros=0.25)
    exact = log_partition(model)
    beliefs = infer(model, "mean-field")
    assert beliefs.log_partition <= exact + 1e-9
    if exact > -np.inf:
        assert beliefs.log_partition > -np.inf
        assert naive.mean_field_bound(model, beliefs.node) == pytest.approx(beliefs.log_partition)


@pytest.mark.parametrize("seed", range(5))
def test_bound_with_zero_potentials_is_minus_infinity(seed):
    model = random_model(seed, zeros=0.3, density=1.0)
    graph, work = prepared(model)
    beliefs = random_beliefs(model, seed)
    assert np.isneginf(model.weights).any()
    assert mean_field_bound(graph, beliefs, work) == -np.inf
    assert naive.mean_field_bound(model, split(model, beliefs)) == -np.inf


def test_more_starts_raise_bound_and_random_starts_break_symmetry():
    """Check two attracting spins without field, where the uniform start is a saddle point."""
    table = [[2.0, -2.0], [-2.0, 2.0]]
    model = PairwiseMRF.from_tables([np.zeros(2)] * 2, {(0, 1): table})
    bounds = [infer(model, "mean-field", starts=k).log_partition for k in (1, 3, 5)]
    assert bounds == sorted(bounds)
    assert bounds[0] == pytest.approx(np.log(4.0))
    assert bounds[2] > 2.0
    again = infer(model, "mean-field", starts=5)
    assert np.array_equal(again.node[0], infer(model, "mean-field", starts=5).node[0])


def test_early_stop_is_reported_and_gives_a_lower_bound():
    model = random_model(1, scale=3.0, density=1.0)
    beliefs = infer(model, "mean-field", max_sweeps=1)
    assert not beliefs.converged
    assert beliefs.log_partition_is == "lower bound"
    assert beliefs.log_partition <= log_partition(model)
    assert "did not converge after 1 sweep:" in beliefs.notes[-1]


@pytest.mark.parametrize("seed", range(5))
def test_mean_field_marginals_are_a_fixed_point(seed):
    model = random_model(seed, scale=0.5)
    found = infer(model, "mean-field", tolerance=1e-6).node
    plain = [b.copy() for b in found]
    naive.mean_field_sweep(model, plain, range(model.n_variables))
    assert max(np.abs(a - b).max() for a, b in zip(found, plain, strict=True)) < 1e-5
