"""Elimination orders and layouts: correctness, cost, and refusal before allocation."""

from __future__ import annotations

import itertools
import time
import tracemalloc
from functools import partial

import naive
import naive_bounded
import numpy as np
import pytest

from graftviz import InputError, PairwiseMRF, infer, local_marginal
from graftviz.data.synthetic.graphs import grid_graph, scale_free_graph
from graftviz.data.synthetic.potentials import random_model
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.ordering import (
    MOST_BITS,
    best_scopes,
    greedy_order,
    scopes_along,
    smallest_circuit,
)
from graftviz.inference.exact.structure import lay_out, plan_elimination


def model_of(edges, sizes, seed=0, sigma=1.0) -> PairwiseMRF:
    edges = np.asarray(sorted(edges), dtype=np.int64).reshape(-1, 2)
    sizes = np.asarray(sizes)
    count = int(sizes.sum() + sizes[edges].prod(axis=1).sum())
    return PairwiseMRF(sizes, edges, np.random.default_rng(seed).normal(0, sigma, count))


def random_graph(seed: int, *, most: int = 12) -> PairwiseMRF:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most))
    density = rng.choice([0.1, 0.3, 0.6])
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < density]
    return model_of(pairs, rng.choice([2, 4], size=n), seed)


def grid(rows: int, columns: int) -> PairwiseMRF:
    return model_of(
        [tuple(e) for e in grid_graph(rows, columns).edges.tolist()], [2] * rows * columns
    )


@pytest.mark.parametrize("seed", range(30))
def test_min_fill_matches_plain_twin(seed):
    model = random_graph(seed, most=20)
    incidence, n = model.incidence, model.n_variables
    bits = np.log2(model.cardinalities)
    done, order, _ = greedy_order(
        incidence.starts, incidence.neighbours, bits, 0, np.zeros(n), MOST_BITS
    )
    assert done
    assert order.tolist() == naive.min_fill(model.cardinalities.tolist(), model.edges.tolist())


@pytest.mark.parametrize("seed", range(30))
def test_scopes_are_the_neighbours_left_at_elimination(seed):
    model = random_graph(seed)
    order = np.random.default_rng(seed).permutation(model.n_variables)
    scopes = scopes_along(model, order)
    assert scopes is not None
    joined = naive.eliminate(model.n_variables, model.edges.tolist(), order.tolist())
    for k, (i, left) in enumerate(zip(order.tolist(), joined, strict=True)):
        scope = scopes.scopes[scopes.starts[k] : scopes.starts[k + 1]]
        assert scope.tolist() == sorted(scope.tolist())
        assert set(order[scope].tolist()) == left
        assert scopes.parent[k] == (scope[0] if len(scope) else -1)
        assert scopes.clique_sizes[k] == model.cardinalities[[i, *left]].prod()


@pytest.mark.parametrize("seed", range(20))
def test_best_order_is_no_worse_than_min_fill(seed):
    model = random_graph(seed, most=30)
    plain = naive.min_fill(model.cardinalities.tolist(), model.edges.tolist())
    found, theirs = best_scopes(model), scopes_along(model, np.array(plain))
    assert sorted(found.order.tolist()) == list(range(model.n_variables))
    assert found.entries <= theirs.entries


@pytest.mark.parametrize("seed", range(40))
def test_tables_in_use_at_the_same_time_do_not_overlap(seed):
    rng = np.random.default_rng(seed)
    model = random_graph(seed, most=40) if seed % 2 else grid(4, 6)
    scopes = best_scopes(model)
    sizes = np.rint(scopes.clique_sizes / model.cardinalities[scopes.order]).astype(np.int64)
    free = lay_out(scopes.parent, sizes, np.inf)
    tight = lay_out(scopes.parent, sizes, free.entries * rng.uniform(0.2, 0.9))
    assert tight.entries <= free.entries
    for layout in (free, tight):
        at = {"first": layout.first, "again": layout.again, "belief": layout.belief}
        for alive in naive.table_lives(scopes.parent, layout.bounds):
            spans = sorted((int(at[what][k]), int(sizes[k])) for what, k in alive)
            assert spans[0][0] >= 0
            assert all(a + size <= b for (a, size), (b, _) in itertools.pairwise(spans))
            assert sum(spans[-1]) <= layout.entries


def test_results_are_the_same_with_less_memory():
    model = grid(14, 14)
    free = JunctionTree(model)
    allowed = int(0.6 * free.plan.bytes)
    tight = JunctionTree(model, max_memory=allowed)
    assert free.plan.segments == 1
    assert tight.plan.segments > 1
    assert tight.plan.bytes <= allowed
    assert tight.log_partition == free.log_partition
    for belief, expected in zip(tight.beliefs().edge, free.beliefs().edge, strict=True):
        np.testing.assert_array_equal(belief, expected)
    np.testing.assert_array_equal(free.sample(50, seed=3), tight.sample(50, seed=3))
    assert tight.log_partition == free.log_partition  # also after its tables were overwritten


def test_allocated_memory_matches_plan():
    model = grid(15, 15)
    JunctionTree(grid(2, 2)).beliefs()  # compiles
    for share in (1.0, 0.5):
        allowed = int(plan_elimination(model, max_memory=2**40).bytes * share)
        tracemalloc.start()
        tree = JunctionTree(model, max_memory=allowed)
        tree.beliefs()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert tree.plan.bytes <= allowed
        assert 0.9 * tree.plan.bytes < peak < tree.plan.bytes + 2_000_000


def test_refusal_precedes_allocation():
    edges = {(i, j) for i, j in itertools.combinations(range(30), 2)}
    model = model_of(edges, [2] * 30)
    plan = plan_elimination(model, max_memory=10**9)
    assert plan.width == 29
    assert plan.largest_clique == 2**30
    assert plan.bytes > 8 * plan.largest_table == 8 * 2**29
    tracemalloc.start()
    with pytest.raises(InputError) as refused:
        JunctionTree(model, max_memory=10**9)
    with pytest.raises(InputError):
        infer(model, "exact", max_memory=10**9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    message = str(refused.value)
    assert "2^29 = 536,870,912 entries (4.3 GB) at width 29" in message
    assert "the limit is 1.0 GB (max_memory)" in message
    assert 'method="bp"' in message


@pytest.mark.parametrize(
    "model",
    [
        random_model(scale_free_graph(600, 0).edges, [5] * 600),
        model_of(itertools.combinations(range(300), 2), [2] * 300),
    ],
    ids=["scale-free", "complete"],
)
def test_model_too_large_for_every_order_is_refused_quickly(model):
    JunctionTree(grid(2, 2))  # compiles
    began = time.process_time()
    with pytest.raises(InputError, match=r"Every elimination order .* reaches width \d+"):
        JunctionTree(model)
    assert time.process_time() - began < 5.0
    assert not plan_elimination(model).is_affordable


@pytest.mark.parametrize("shape", ["chain", "star", "tree"])
def test_large_forests_are_solved_quickly(shape):
    n = 50_000
    rng = np.random.default_rng(0)
    ends = {
        "chain": np.arange(n - 1),
        "star": np.zeros(n - 1, dtype=np.int64),
        "tree": (rng.random(n - 1) * np.arange(1, n)).astype(np.int64),
    }[shape]
    edges = np.column_stack([ends, np.arange(1, n)])
    model = PairwiseMRF(np.full(n, 2), edges, rng.normal(0, 0.7, 2 * n + 4 * (n - 1)))
    JunctionTree(grid(2, 2)).beliefs()  # compiles
    began = time.process_time()
    tree = JunctionTree(model)
    exact = tree.beliefs()
    assert time.process_time() - began < 10.0
    assert tree.plan.width == 1
    passed = infer(model, "bp", max_sweeps=2000)
    assert exact.log_partition == pytest.approx(passed.log_partition, rel=1e-9)
    for i in range(0, n, 997):
        np.testing.assert_allclose(exact.node[i], passed.node[i], atol=1e-7)


def test_invalid_order_is_refused():
    with pytest.raises(InputError, match="every variable exactly once"):
        JunctionTree(grid(2, 2), order=[0, 1, 2, 2])


def test_circuits_are_nearly_as_small_as_the_smallest():
    """Compare with all orders of small graphs of variables with 2 to 4 states."""
    ratios = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(2, 5, size=6) if seed % 2 else np.full(6, 2)
        pairs = itertools.combinations(range(6), 2)
        edges = np.array([pair for pair in pairs if rng.random() < 0.5], dtype=np.int64)
        best = min(
            naive_bounded.circuit_size(sizes, edges.tolist(), order)
            for order in itertools.permutations(range(6))
        )
        ratios.append(smallest_circuit(edges, sizes).operations(sizes, edges) / best)
    assert np.mean(ratios) <= 1.01
    assert max(ratios) <= 1.05


@pytest.mark.parametrize("limit", [-5, 0])
def test_memory_limits_below_one_byte_are_refused(limit):
    model = model_of([(0, 1)], [2, 2])
    for function in (plan_elimination, JunctionTree, partial(local_marginal, query=0)):
        with pytest.raises(InputError, match="limit must be at least 1 byte"):
            function(model, max_memory=limit)
