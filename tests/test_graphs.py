"""Random graphs have the documented edges, random potentials the documented spread."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from graftviz.errors import InputError
from graftviz.sampling import (
    Graph,
    graph_from_edges,
    grid_graph,
    random_graph,
    random_model,
    scale_free_graph,
)


@given(st.integers(3, 150), st.integers(0, 2**40))
def test_scale_free_graph_has_two_edges_per_new_node(nodes: int, seed: int) -> None:
    graph = scale_free_graph(nodes, seed)
    assert graph.n_nodes == nodes
    assert graph.n_edges == 2 * nodes - 4
    # Edges are sorted pairs, so the second node is the newer one.
    assert np.bincount(graph.edges[:, 1], minlength=nodes).tolist() == [0, 0] + [2] * (nodes - 2)
    assert nx.is_connected(nx.Graph(graph.edges.tolist()))


@given(st.integers(1, 9), st.integers(1, 9))
def test_grid_joins_neighbours_only(rows: int, columns: int) -> None:
    if rows * columns < 2:
        with pytest.raises(InputError, match="at least two nodes"):
            grid_graph(rows, columns)
        return
    graph = grid_graph(rows, columns)
    assert graph.n_edges == rows * (columns - 1) + columns * (rows - 1)
    assert graph.positions is not None
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
def test_impossible_graphs_are_refused(make, complaint: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=complaint):
        make()


# --- potentials -------------------------------------------------------------------------------


def test_random_model_has_the_spread_asked_for() -> None:
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
