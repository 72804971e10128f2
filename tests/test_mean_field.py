"""Mean field: a lower bound at every step, its plain twin, and zero potentials."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from inference_cases import log_partition, random_model

from graftviz.inference import infer
from graftviz.inference.mean_field import climb, field_graph, mean_field_bound, mean_field_marginals
from graftviz.inference.support import support
from graftviz.model import PairwiseMRF


def prepared(model: PairwiseMRF):
    graph = field_graph(model, support(model).node_weights(model))
    return graph, np.empty((2, int(model.cardinalities.max())))


def random_beliefs(model: PairwiseMRF, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.dirichlet(np.ones(size)) for size in model.cardinalities])


def split(model: PairwiseMRF, flat: np.ndarray) -> list[np.ndarray]:
    return np.split(flat, model.node_offsets[1:-1])


@pytest.mark.parametrize("seed", range(10))
def test_sweeps_equal_those_of_the_plain_twin(seed):
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
def test_any_beliefs_bound_from_below_and_sweeps_only_climb(seed, scale):
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
    """Nodes that were passed over would not have moved either."""
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
def test_zero_potentials_are_avoided(seed):
    model = random_model(seed, scale=1.0, zeros=0.25)
    exact = log_partition(model)
    beliefs = infer(model, "mean-field")
    assert beliefs.log_partition <= exact + 1e-9
    if exact > -np.inf:
        assert beliefs.log_partition > -np.inf
        assert naive.mean_field_bound(model, beliefs.node) == pytest.approx(beliefs.log_partition)


@pytest.mark.parametrize("seed", range(5))
def test_zeros_met_by_the_plain_bound_are_met_by_the_kernel(seed):
    model = random_model(seed, zeros=0.3, density=1.0)
    graph, work = prepared(model)
    beliefs = random_beliefs(model, seed)
    assert np.isneginf(model.weights).any()
    assert mean_field_bound(graph, beliefs, work) == -np.inf
    assert naive.mean_field_bound(model, split(model, beliefs)) == -np.inf


def test_more_starts_are_never_worse_and_random_ones_break_a_tie():
    """Without a field, two spins that attract each other leave the uniform start at a saddle."""
    table = [[2.0, -2.0], [-2.0, 2.0]]
    model = PairwiseMRF.from_tables([np.zeros(2)] * 2, {(0, 1): table})
    bounds = [infer(model, "mean-field", starts=k).log_partition for k in (1, 3, 5)]
    assert bounds == sorted(bounds)
    assert bounds[0] == pytest.approx(np.log(4.0))
    assert bounds[2] > 2.0
    again = infer(model, "mean-field", starts=5)
    assert np.array_equal(again.node[0], infer(model, "mean-field", starts=5).node[0])


def test_stopping_early_is_told_and_bounds_all_the_same():
    model = random_model(1, scale=3.0, density=1.0)
    beliefs = infer(model, "mean-field", max_sweeps=1)
    assert not beliefs.converged
    assert beliefs.log_partition_is == "lower bound"
    assert beliefs.log_partition <= log_partition(model)
    assert "did not converge after 1 sweep:" in beliefs.notes[-1]


@pytest.mark.parametrize("seed", range(5))
def test_marginals_of_a_small_part(seed):
    model = random_model(seed, scale=0.5)
    found = mean_field_marginals(model)
    plain = [b.copy() for b in found]
    naive.mean_field_sweep(model, plain, range(model.n_variables))
    assert max(np.abs(a - b).max() for a, b in zip(found, plain, strict=True)) < 1e-5
