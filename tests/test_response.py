"""Linear response: exact on trees, derivatives of beliefs on loops, and instability."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest

from graftviz import InputError, PairwiseMRF, infer
from graftviz.inference.propagation import message_graph, propagate
from graftviz.inference.response import linear_response
from graftviz.inference.response_factor import factorise, response_block
from graftviz.inference.response_ordering import incidence_lists, lay_out, minimum_degree
from graftviz.inference.response_terms import fill_pair_beliefs


def random_model(seed, n, n_edges, scale, sizes=(1, 2, 3, 5)):
    """Return a model of `n_edges` random pairs with mixed cardinalities."""
    rng = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(n), 2))
    chosen = rng.choice(len(pairs), size=min(n_edges, len(pairs)), replace=False)
    states = rng.choice(sizes, size=n)
    tables = {
        pairs[k]: rng.normal(0, scale, (states[pairs[k][0]], states[pairs[k][1]])) for k in chosen
    }
    return PairwiseMRF.from_tables([rng.normal(0, 0.5, s) for s in states], tables)


def random_tree(seed, n, scale, sizes=(1, 2, 3, 4)):
    rng = np.random.default_rng(seed)
    states, names = rng.choice(sizes, size=n), rng.permutation(n)
    tables = {}
    for k in rng.permutation(np.arange(1, n)):
        i, j = int(names[k]), int(names[rng.integers(k)])
        if rng.random() < 0.9:
            tables[i, j] = rng.normal(0, scale, (states[i], states[j]))
    return PairwiseMRF.from_tables([rng.normal(0, scale, s) for s in states], tables)


def all_blocks(model, covariance):
    """Return all blocks C_ij as one matrix over all states."""
    n = model.n_variables
    return np.block([[covariance(i, j) for j in range(n)] for i in range(n)])


def fixed_point(model, **options):
    """Return arrays for `factorise` at a fixed point of BP, and the factor."""
    graph = message_graph(model)
    n, m = model.n_variables, model.n_edges
    work = np.empty((5, int(model.cardinalities.max()) ** 2))
    propagate(graph, n, m, 2000, 1e-13, 0.0, work)
    pairs = np.empty(int(graph.edge_offsets[m]))
    fill_pair_beliefs(graph, m, work, pairs)
    arrays = (graph.node_offsets, graph.node_beliefs, graph.edge_nodes, graph.edge_offsets, pairs)
    return arrays, factorise(*arrays, **options)


def block_of(factor, i, j):
    sizes = np.diff(factor.node_offsets)
    out = np.full((sizes[i], sizes[j]), 7.0)
    response_block(factor, i, j, np.empty((2, sizes.max() ** 2)), out.reshape(-1))
    return out


@pytest.mark.parametrize("seed", range(6))
def test_is_the_derivative_of_converged_beliefs_on_loops(seed):
    model = random_model(seed, 6, 10, 0.5)
    response = linear_response(model)
    offsets, step = model.node_offsets, 1e-5

    def beliefs(weights):
        moved = PairwiseMRF(model.cardinalities, model.edges, weights)
        found = infer(moved, tolerance=1e-14, max_sweeps=3000)
        assert found.converged
        return np.concatenate(found.node)

    covariances = all_blocks(model, response.covariance)
    for k in range(offsets[-1]):
        change = np.zeros(len(model.weights))
        change[k] = step
        slope = (beliefs(model.weights + change) - beliefs(model.weights - change)) / (2 * step)
        assert np.abs(slope - covariances[:, k]).max() < 1e-7


@pytest.mark.parametrize("cache_numbers", [1 << 20, 300, 0])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_equal_plain_twin_for_any_memory_limit(seed, cache_numbers):
    model = random_model(seed, 25, 45, 0.4, sizes=(2, 3, 5))
    arrays, factor = fixed_point(model, cache_numbers=cache_numbers)
    node_beliefs = np.split(arrays[1], arrays[0][1:-1])
    pairs = [
        belief.reshape(model.cardinalities[model.edges[e]])
        for e, belief in enumerate(np.split(arrays[4], arrays[3][1:-1]))
    ]
    twin = naive.linear_response(node_beliefs, model.edges, pairs)
    offsets = model.node_offsets
    requested = [(i, j) for i in range(25) for j in range(25)]
    np.random.default_rng(seed).shuffle(requested)
    for i, j in requested:
        wanted = twin[offsets[i] : offsets[i + 1], offsets[j] : offsets[j + 1]]
        assert np.abs(block_of(factor, i, j) - wanted).max() < 1e-9


def test_pairs_in_different_components_have_zero_covariance():
    model = PairwiseMRF.from_tables(
        [[0.0, 1.0], [0.0, 0.3, 0.1], [0.5, 0.0], [0.0, 0.2], [0.7], [0.0, 0.0]],
        {(0, 1): np.eye(2, 3), (2, 3): np.eye(2), (4, 5): [[1.0, -1.0]]},
    )
    _, factor = fixed_point(model)
    assert sorted(factor.node_at.tolist()) == [0, 1, 2, 3]
    apart = [(i, j) for i in range(6) for j in range(6) if i // 2 != j // 2 or (i != j and i > 3)]
    for i, j in apart:
        assert not block_of(factor, i, j).any()
    assert factor.state[2] == 0
    # An isolated node, or one with a partner of a single state, has the covariance of its belief.
    belief = infer(model).node[5]
    assert np.allclose(block_of(factor, 5, 5), np.diag(belief) - np.outer(belief, belief))
    assert not block_of(factor, 4, 4).any()
    assert factor.state[2] == 0
    assert block_of(factor, 0, 1).any()
    assert factor.state[2] > 0


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_rare_and_impossible_states_have_accurate_covariances(seed, zeros):
    model = random_tree(seed, 6, 1.0, sizes=(2, 3, 4))
    weights = model.weights.copy()
    weights[model.node_offsets[1:-1:2]] = -np.inf if zeros else -27.0
    model = PairwiseMRF(model.cardinalities, model.edges, weights)
    covariances = all_blocks(model, linear_response(model).covariance)
    exact = naive.exact_covariances(model)
    assert np.abs(covariances - exact).max() < 1e-8
    # Covariances of rare states are accurate relative to their probability, as far as the
    # precision of the enumeration allows.
    scale = np.sqrt(np.maximum(np.diag(exact), 1e-12))
    assert np.abs((covariances - exact) / np.outer(scale, scale)).max() < 1e-3


def complete(n, coupling):
    """Return a model of n binary variables without fields and with couplings ±J of all pairs."""
    table = [[coupling, -coupling], [-coupling, coupling]]
    pairs = itertools.combinations(range(n), 2)
    return PairwiseMRF.from_tables([[0.0, 0.0]] * n, dict.fromkeys(pairs, table))


@pytest.mark.parametrize("n", [4, 7])
@pytest.mark.parametrize(("share", "stable"), [(0.98, True), (1.02, False), (3.0, False)])
def test_unstable_fixed_point_of_strong_coupling_is_reported(n, share, stable):
    """Check that the even fixed point of n equal spins is stable iff (n - 2) tanh J < 1."""
    model = complete(n, share * np.arctanh(1.0 / (n - 2)))
    response = linear_response(model)
    assert response.converged
    assert response.positive_definite == stable
    beliefs = infer(model)
    assert np.allclose(beliefs.node, 0.5)
    lowest = np.linalg.eigvalsh(naive.bethe_hessian(beliefs.node, model.edges, beliefs.edge))[0]
    assert (lowest > 0) == stable
    # Belief propagation: a small perturbation of one variable decays or grows.
    weights = model.weights.copy()
    weights[0] = 1e-6
    pushed = infer(PairwiseMRF(model.cardinalities, model.edges, weights), max_sweeps=5000)
    assert (np.abs(np.array(pushed.node) - 0.5).max() < 0.01) == stable
    if stable:
        assert response.unstable_variable is None
        return
    assert response.unstable_variable in model.names
    with pytest.raises(InputError, match=f"variable {response.unstable_variable}"):
        response.covariance(0, 1)
    assert np.isnan(block_of(response.factor, 0, 1)).all()
    assert np.isnan(block_of(response.factor, 2, 2)).all()


@pytest.mark.parametrize("seed", range(8))
def test_positive_definite_agrees_with_eigenvalues_of_twin(seed):
    """Check random pair tables whose margins are the beliefs of the nodes."""
    rng = np.random.default_rng(seed)
    seen = set()
    for strength in (0.2, 0.5, 0.8, 1.2, 2.0):
        pairs = list(itertools.combinations(range(6), 2))
        tables = {p: rng.normal(0, strength, (2, 2)) for p in pairs if rng.random() < 0.8}
        nodes, edges = np.full((6, 2), 0.5), np.array(list(tables))
        beliefs = []
        for table in tables.values():
            odds = np.exp(abs(table[0, 0]))
            beliefs.append(0.5 * np.array([[odds, 1.0], [1.0, odds]]) / (1.0 + odds))
        lowest = np.linalg.eigvalsh(naive.bethe_hessian(nodes, edges, beliefs))[0]
        factor = factorise(
            np.arange(0, 13, 2),
            nodes.reshape(-1).copy(),
            edges,
            np.arange(0, 4 * len(edges) + 1, 4),
            np.concatenate(beliefs).reshape(-1),
        )
        assert factor.positive_definite == (lowest > 0)
        assert factor.positive_definite == (factor.unstable_node < 0)
        assert factor.positive_definite == (factor.smallest_pivot[0] > 0)
        seen.add(factor.positive_definite)
    assert seen == {True, False}


@pytest.mark.parametrize("seed", range(4))
def test_inconsistent_pair_beliefs_give_finite_results(seed):
    """Check messages before convergence, when margins of pair beliefs differ from nodes."""
    model = random_model(seed, 10, 14, 2.0)
    arrays, _ = fixed_point(model)
    pairs = arrays[4] * np.random.default_rng(seed).uniform(0.5, 2.0, len(arrays[4]))
    factor = factorise(*arrays[:4], pairs)
    assert np.isfinite(factor.smallest_pivot[0])
    if factor.positive_definite:
        assert np.isfinite(all_blocks(model, lambda i, j: block_of(factor, i, j))).all()


@pytest.mark.parametrize("seed", range(5))
def test_elimination_equals_plain_elimination_on_sets(seed):
    model = random_model(seed, 40, 70, 1.0)
    adjacent, neighbours, _ = incidence_lists(model.node_offsets, model.edges.copy())
    order, begins, touched = minimum_degree(model.node_offsets, adjacent, neighbours)
    sizes = model.cardinalities
    edges = [(i, j) for i, j in model.edges.tolist() if sizes[i] > 1 and sizes[j] > 1]
    assert sorted(order.tolist()) == sorted({i for edge in edges for i in edge})
    wanted = naive.eliminate(40, edges, order.tolist())
    found = [set(touched[begins[k] : begins[k + 1]].tolist()) for k in range(len(order))]
    assert found == wanted
    assert len(touched) == sum(map(len, wanted))
    layout = lay_out(model.node_offsets, order, begins, touched)
    place, node_at, starts, rows = layout[:4]
    for q in range(len(order)):
        above = rows[starts[q] : starts[q + 1]]
        assert (np.diff(above) > 0).all()
        assert set(node_at[above].tolist()) == wanted[len(order) - 1 - q]
        assert place[node_at[q]] == q


def test_a_factor_that_would_be_too_large_is_refused_with_its_size():
    model = random_model(0, 12, 60, 0.1, sizes=(5,))
    with pytest.raises(InputError, match="60 edges among 12 variables needs a factor of"):
        fixed_point(model, most_numbers=100)


def test_missing_convergence_is_reported():
    table = [[0.0, 6.0], [6.0, 0.0]]
    pairs = itertools.combinations(range(7), 2)
    model = PairwiseMRF.from_tables([[0.1, 0.0]] * 7, dict.fromkeys(pairs, table))
    assert not linear_response(model, max_sweeps=20).converged
