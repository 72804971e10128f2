"""Covariances of all active nodes: low-rank updates against a fresh start and the plain twin."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
from test_response import complete, fixed_point, random_model

from graftviz import InputError
from graftviz.inference.response_dense import DenseResponse
from graftviz.inference.response_matrix import dense_block


def tables_of(arrays):
    """Node beliefs and pair beliefs of flat arrays as lists of tables."""
    node_offsets, node_beliefs, edge_nodes, edge_offsets, pairs = arrays
    sizes = np.diff(node_offsets)
    nodes = np.split(node_beliefs, node_offsets[1:-1])
    tables = [
        pairs[edge_offsets[e] : edge_offsets[e + 1]].reshape(sizes[edge_nodes[e]])
        for e in range(len(edge_nodes))
    ]
    return nodes, tables


def first_edges(arrays, m):
    """The same beliefs with the first m edges only."""
    return (*arrays[:2], arrays[2][:m], arrays[3][: m + 1], arrays[4][: arrays[3][m]])


def largest_gap(response, arrays):
    """Return the largest difference between the covariances and the plain twin's."""
    nodes, tables = tables_of(arrays)
    twin = naive.linear_response(nodes, arrays[2], tables)
    offsets, worst = arrays[0], 0.0
    for i, j in itertools.product(range(len(nodes)), repeat=2):
        wanted = twin[offsets[i] : offsets[i + 1], offsets[j] : offsets[j + 1]]
        worst = max(worst, np.abs(response.covariance(i, j) - wanted).max())
    return worst


def twin_is_positive(arrays):
    nodes, tables = tables_of(arrays)
    return bool(np.linalg.eigvalsh(naive.bethe_hessian(nodes, arrays[2], tables))[0] > 0)


@pytest.mark.parametrize("seed", range(4))
def test_low_rank_updates_equal_the_twin_after_every_edge(seed):
    model = random_model(seed, 12, 24, 0.4, sizes=(2, 3, 5))
    arrays, _ = fixed_point(model)
    response = DenseResponse(*arrays[:2])
    assert largest_gap(response, first_edges(arrays, 0)) < 1e-12
    for e in range(model.n_edges):
        assert response.update(*first_edges(arrays, e + 1)[1:])
        assert response.n_edges == e + 1
        assert largest_gap(response, first_edges(arrays, e + 1)) < 1e-9
    assert response.renewals == 0
    assert response.dimension == model.cardinalities[np.unique(model.edges)].sum()


@pytest.mark.parametrize("renew_every", [1, 5, 100])
def test_fresh_starts_change_nothing_but_rounding(renew_every):
    model = random_model(7, 15, 30, 0.4)
    sizes = model.cardinalities
    arrays, factor = fixed_point(model)
    response = DenseResponse(*arrays[:2], renew_every=renew_every)
    for m in range(0, model.n_edges + 1, 3):
        assert response.update(*first_edges(arrays, m)[1:])
    assert (response.renewals > 0) == (renew_every < 100)
    kept = [(i, j, response.covariance(i, j)) for i in range(15) for j in range(15)]
    assert response.renew()
    for i, j, block in kept:
        assert block.shape == (sizes[i], sizes[j])
        assert np.abs(block - response.covariance(i, j)).max() < 1e-13
    assert factor.positive_definite


@pytest.mark.parametrize("seed", range(3))
def test_follows_beliefs_that_move(seed):
    rng = np.random.default_rng(seed)
    model = random_model(seed, 12, 22, 0.4, sizes=(2, 3, 4))
    arrays, _ = fixed_point(model)
    response = DenseResponse(*arrays[:2])
    response.update(*arrays[1:])
    # Two pair beliefs move, within their margins: an update each.
    pairs, starts = arrays[4].copy(), arrays[3]
    renewals = response.renewals
    for e in rng.choice(model.n_edges, size=2, replace=False):
        table = pairs[starts[e] : starts[e + 1]].reshape(model.cardinalities[model.edges[e]])
        table[...] = 0.7 * table + 0.3 * np.outer(table.sum(axis=1), table.sum(axis=0))
    moved = (*arrays[:4], pairs)
    assert response.update(*moved[1:])
    assert response.renewals == renewals
    assert largest_gap(response, moved) < 1e-9
    # Within the tolerance nothing moves; and once beyond it, the whole way.
    before = response.covariance(*model.edges[0]).copy()
    nudged = 0.9999 * pairs + 0.0001 * arrays[4]
    assert response.update(*arrays[1:4], nudged, tolerance=0.1)
    assert np.array_equal(response.covariance(*model.edges[0]), before)
    assert response.update(*arrays[1:])
    assert largest_gap(response, arrays) < 1e-9
    # Node beliefs that move change every term: a fresh start.
    other, _ = fixed_point(random_model(seed, 12, 22, 0.3, sizes=(2, 3, 4)))
    assert response.update(*other[1:])
    assert response.renewals > renewals
    assert largest_gap(response, other) < 1e-9
    # Edges that are gone leave their nodes to themselves.
    fewer = first_edges(other, 5)
    assert response.update(*fewer[1:])
    assert largest_gap(response, fewer) < 1e-9


def test_each_edge_that_makes_the_fixed_point_unstable_is_told():
    model = complete(7, 1.3 * np.arctanh(1.0 / 5))
    arrays, _ = fixed_point(model)
    response = DenseResponse(*arrays[:2])
    seen = []
    for m in range(1, model.n_edges + 1):
        seen.append(response.update(*first_edges(arrays, m)[1:]))
        assert response.positive_definite == seen[-1]
        assert (response.unstable_node < 0) == seen[-1]
        assert np.isnan(response.covariance(0, 1)).all() == (not seen[-1])
    wanted = [twin_is_positive(first_edges(arrays, m)) for m in range(1, model.n_edges + 1)]
    assert seen == wanted
    assert seen[0]
    assert not seen[-1]
    # Weaker beliefs are stable again.
    weaker, _ = fixed_point(complete(7, 0.5 * np.arctanh(1.0 / 5)))
    assert response.update(*weaker[1:])
    assert largest_gap(response, weaker) < 1e-9


def test_edges_together_count_and_not_their_order():
    """Attraction alone is unstable, together with one strong repulsion it is not.

    When the repulsion is taken in last, H is indefinite on the way.
    """
    strengths = dict.fromkeys(itertools.combinations(range(6), 2), 0.4)
    strengths[0, 1] = -3.0
    alike = 0.5 / (1.0 + np.exp(-2.0 * np.array(list(strengths.values()))))
    tables = np.stack([alike, 0.5 - alike, 0.5 - alike, alike], axis=1)
    edges, offsets, beliefs = np.array(list(strengths)), np.arange(0, 13, 2), np.full(12, 0.5)
    cells = np.arange(0, 4 * len(edges) + 1, 4)
    renewals = []
    for order in (np.arange(15), np.arange(15)[::-1]):
        pairs = tables[order].reshape(-1)
        arrays = (offsets, beliefs, edges[order], cells, pairs)
        assert twin_is_positive(arrays)
        response = DenseResponse(offsets, beliefs)
        assert response.update(*arrays[1:])
        assert largest_gap(response, arrays) < 1e-9
        renewals.append(response.renewals)
    assert renewals == [0, 1]
    assert not twin_is_positive((offsets, beliefs, edges[1:], cells[:-1], tables[1:].reshape(-1)))


def test_kernels_read_both_triangles():
    model = random_model(2, 10, 20, 0.4, sizes=(2, 4))
    arrays, _ = fixed_point(model)
    response = DenseResponse(*arrays[:2])
    assert response.update(*arrays[1:])
    for i, j in itertools.product(range(10), repeat=2):
        out = np.empty((model.cardinalities[i], model.cardinalities[j]))
        dense_block(response.matrix, i, j, out.reshape(-1))
        if i != j or response.matrix.positions[i] >= 0:
            assert np.array_equal(out, response.covariance(i, j))
        turned = response.covariance(j, i).T
        assert np.abs(response.covariance(i, j) - turned).max() < (1e-15 if i == j else 1e-300)


def test_too_many_states_are_refused_with_their_number_and_nothing_changes():
    model = random_model(1, 10, 14, 0.3, sizes=(5,))
    arrays, _ = fixed_point(model)
    response = DenseResponse(*arrays[:2], most_dimensions=30)
    assert response.update(*first_edges(arrays, 2)[1:])
    before = response.dimension
    with pytest.raises(InputError, match=r"50 states together, more than the 30 .* best-choice"):
        response.update(*arrays[1:])
    assert response.dimension == before
    assert largest_gap(response, first_edges(arrays, 2)) < 1e-9
