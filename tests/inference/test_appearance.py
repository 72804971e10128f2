"""Edge appearance probabilities of all spanning trees, and of packed forests."""

from __future__ import annotations

import itertools

import naive
import networkx as nx
import numpy as np
import pytest

from graftviz.inference.appearance import (
    blocks,
    edge_appearance,
    heaviest_forest,
    packing,
)


def random_graph(seed: int, n: int = 6, density: float = 0.5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < density]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


@pytest.mark.parametrize("seed", range(20))
def test_probability_is_share_of_spanning_trees_with_edge(seed):
    edges = random_graph(seed)
    found = edge_appearance(6, edges)
    trees = naive.spanning_trees(6, edges.tolist())
    shares = [np.mean([e in tree for tree in trees]) for e in range(len(edges))]
    np.testing.assert_allclose(found.probabilities, shares, atol=1e-12)
    assert found.source == "a uniformly random spanning forest"


@pytest.mark.parametrize("seed", range(8))
def test_packing_is_in_forest_polytope(seed):
    """Check that no set of nodes has more edges, weighted, than a forest on it."""
    edges = random_graph(seed, 7, 0.8)
    shares, taken = packing(7, edges)
    assert taken >= 24
    np.testing.assert_allclose(shares * taken, np.round(shares * taken))
    for size in range(2, 8):
        for nodes in itertools.combinations(range(7), size):
            inside = np.isin(edges, nodes).all(axis=1)
            assert shares[inside].sum() <= size - 1 + 1e-9


def test_large_block_is_packed():
    edges = random_graph(1, 30, 0.3)
    assert edge_appearance(30, edges, largest_block=5).source == "a packing of 24 spanning forests"


@pytest.mark.parametrize("seed", range(20))
def test_blocks_match_networkx(seed):
    n = 30
    edges = random_graph(seed, n, 0.02 + 0.005 * seed)
    block_of, n_blocks = blocks(n, edges)
    graph = nx.Graph(edges.tolist())
    wanted = {
        frozenset(tuple(sorted(edge)) for edge in block)
        for block in nx.biconnected_component_edges(graph)
    }
    found = {frozenset(map(tuple, edges[block_of == block].tolist())) for block in range(n_blocks)}
    assert found == wanted


@pytest.mark.parametrize("seed", range(10))
def test_heaviest_forest_matches_networkx(seed):
    n = 15
    edges = random_graph(seed, n, 0.3)
    weights = np.random.default_rng(seed).normal(size=len(edges))
    taken = heaviest_forest(n, edges, np.argsort(-weights))
    graph = nx.Graph()
    graph.add_weighted_edges_from(
        (int(i), int(j), w) for (i, j), w in zip(edges, weights, strict=True)
    )
    wanted = nx.maximum_spanning_tree(graph)
    assert {tuple(pair) for pair in edges[taken].tolist()} == {
        tuple(sorted(pair)) for pair in wanted.edges
    }
