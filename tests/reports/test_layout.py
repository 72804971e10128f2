"""Layouts: kernels against their twins, and no jumps and no overlaps of nodes."""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
from pathlib import Path

import naive
import networkx as nx
import numpy as np
import pytest

from graftviz.reports.layout import (
    LARGEST_ANNEALED,
    LARGEST_MOVE,
    GrowingLayout,
    anneal,
    farthest_spot,
    measure,
    push_apart,
    settle,
    static_layout,
    sunflower,
)

ROOT = Path(__file__).resolve().parents[2]


def graph_edges(graph: nx.Graph) -> np.ndarray:
    graph = nx.convert_node_labels_to_integers(graph)
    return np.array(graph.edges(), dtype=np.int64).reshape(-1, 2)


def scale_free(n: int) -> np.ndarray:
    return graph_edges(nx.barabasi_albert_graph(n, 2, seed=1))


def in_random_order(edges: np.ndarray) -> np.ndarray:
    return edges[np.random.default_rng(5).permutation(len(edges))]


def distances_between(positions: np.ndarray) -> np.ndarray:
    gaps = np.linalg.norm(positions[:, None, :] - positions[None, :, :], axis=2)
    return gaps[np.triu_indices(len(positions), 1)]


@pytest.mark.parametrize("graph", [nx.karate_club_graph(), nx.gnm_random_graph(30, 20, seed=2)])
def test_hop_distances_are_shortest_paths(graph: nx.Graph) -> None:
    edges = graph_edges(graph)
    n = graph.number_of_nodes()
    expected = naive.hop_distances(n, edges)
    found = measure(n, edges, largest=n).hops
    joined = np.isfinite(expected)
    np.testing.assert_array_equal(found[joined], expected[joined])
    assert (found[~joined] <= -1.0).all()
    few = measure(n, edges, largest=1)
    np.testing.assert_array_equal(few.hops[few.hops >= 0], found[few.sources][few.hops >= 0])


@pytest.mark.parametrize("graph", [nx.karate_club_graph(), nx.gnm_random_graph(30, 20, seed=2)])
def test_kernels_equal_their_twins(graph: nx.Graph) -> None:
    n = graph.number_of_nodes()
    distances = measure(n, graph_edges(graph), largest=n)
    rng = np.random.default_rng(0)
    start = rng.normal(size=(n, 2))

    rates = np.array([4.0, 0.5])
    orders = np.stack([rng.permutation(n) for _ in rates])
    fast = start.copy()
    anneal(fast, distances.hops, rates, orders)
    expected = naive.anneal_layout(start, distances.hops, rates, orders)
    np.testing.assert_allclose(fast, expected, rtol=1e-9, atol=1e-12)

    fast = start.copy()
    settle(fast, *distances[:2], distances.offsets, distances.neighbours, 0.7, 2)
    expected = naive.settle_layout(start, distances.hops, 0.7, 2)
    np.testing.assert_allclose(fast, expected, rtol=1e-9, atol=1e-12)

    fast = start.copy()
    push_apart(fast, 0.4, 1)
    np.testing.assert_allclose(fast, naive.push_apart(start, 0.4), rtol=1e-9, atol=1e-12)


def test_settle_lowers_stress_and_converges() -> None:
    edges = graph_edges(nx.karate_club_graph())
    distances = measure(34, edges, largest=34)

    def stress(positions: np.ndarray) -> float:
        hops = distances.hops[np.triu_indices(34, 1)]
        return float((((distances_between(positions) - hops) / hops) ** 2).sum())

    positions = sunflower(34) * 2.0
    values = [stress(positions)]
    for _ in range(300):
        settle(positions, *distances[:2], distances.offsets, distances.neighbours, 1.0, 1)
        values.append(stress(positions))
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(values))
    before = positions.copy()
    settle(positions, *distances[:2], distances.offsets, distances.neighbours, 1.0, 1)
    assert np.abs(positions - before).max() < 1e-2


def test_push_apart_separates_all_nodes() -> None:
    positions = np.zeros((50, 2))
    push_apart(positions, 1.0, 2_000)
    assert np.isfinite(positions).all()
    assert distances_between(positions).min() > 0.95


@pytest.mark.parametrize("n", [60, 200, 600])
def test_static_layout_fills_the_frame_without_overlaps(n: int) -> None:
    edges = scale_free(n)
    positions = static_layout(n, edges)
    assert positions.min() >= 0
    assert positions.max() <= 10_000
    assert not positions.flags.writeable
    assert (np.ptp(positions, axis=0) > 7_500).all()
    assert distances_between(positions).min() > 0.3 * 9_500 / np.sqrt(n)
    # All nine cells of the square have nodes.
    cells = np.minimum(2, positions // 3_334)
    assert len({tuple(cell) for cell in cells.tolist()}) == 9
    degrees = np.bincount(edges.reshape(-1), minlength=n)
    from_centre = np.linalg.norm(positions - 5_000, axis=1)
    assert from_centre[np.argsort(-degrees)[: n // 20]].mean() < 0.8 * from_centre.mean()


def crossings(positions: np.ndarray, edges: np.ndarray) -> int:
    """Return the number of crossing pairs of edges without a common node."""

    def side(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        return np.sign(
            (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1])
            - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])
        )

    first, second = np.triu_indices(len(edges), 1)
    is_disjoint = ~(edges[first][:, :, None] == edges[second][:, None, :]).any(axis=(1, 2))
    a, b = (positions[edges[first[is_disjoint], k]] for k in (0, 1))
    c, d = (positions[edges[second[is_disjoint], k]] for k in (0, 1))
    return int((side(a, b, c) * side(a, b, d) + side(c, d, a) * side(c, d, b) == -2).sum())


def test_large_tree_has_few_crossings() -> None:
    n = LARGEST_ANNEALED + 500
    edges = in_random_order(graph_edges(nx.barabasi_albert_graph(n, 1, seed=1)))
    positions = static_layout(n, edges)
    sample = edges[:500]
    shuffled = np.random.default_rng(0).permutation(positions)
    assert crossings(positions, sample) < 0.03 * crossings(shuffled, sample)
    gaps = np.linalg.norm(positions[edges[:, 0]] - positions[edges[:, 1]], axis=1)
    assert gaps.mean() < 900
    # Most nodes are isolated.
    assert static_layout(n, edges[:100]).shape == (n, 2)


def test_farthest_spot_maximises_distance_to_placed_nodes() -> None:
    rng = np.random.default_rng(3)
    spots, positions = rng.normal(size=(20, 2)), rng.normal(size=(40, 2))
    is_placed = rng.random(40) < 0.5
    gaps = np.linalg.norm(spots[:, None] - positions[is_placed][None], axis=2).min(axis=1)
    assert farthest_spot(spots, positions, is_placed) == np.argmax(gaps)


@pytest.mark.parametrize(
    ("n", "edges"),
    [(1, []), (2, []), (2, [(0, 1)]), (5, []), (5, [(1, 3)]), (6, [(0, 1), (2, 3), (4, 5)])],
)
def test_layouts_of_tiny_graphs(n: int, edges: list[tuple[int, int]]) -> None:
    array = np.array(edges, dtype=np.int64).reshape(-1, 2)
    growing = GrowingLayout(n)
    for positions in (static_layout(n, array), growing.start(), growing.grow(array)):
        assert positions.shape == (n, 2)
        assert positions.min() >= 0
        assert positions.max() <= 10_000
        assert n == 1 or distances_between(positions).min() > 100


def test_growing_layout_never_jumps() -> None:
    n = 200
    edges = in_random_order(scale_free(n))
    layout = GrowingLayout(n)
    before = layout.start()
    for end in range(8, len(edges) + 1, 8):
        after = layout.grow(edges[:end])
        was_connected = np.isin(np.arange(n), edges[: end - 8])
        is_isolated = ~np.isin(np.arange(n), edges[:end])
        moves = np.linalg.norm(after - before, axis=1)
        assert moves[was_connected | is_isolated].max(initial=0.0) <= LARGEST_MOVE + 2
        assert after.min() >= 0
        assert after.max() <= 10_000
        from_centre = np.linalg.norm(after - 5_000, axis=1)
        if is_isolated.any():
            assert from_centre[~is_isolated].max() < from_centre[is_isolated].min()
        # Most nodes hardly move.
        assert end < 80 or np.median(moves) < 250
        before = after
    assert distances_between(before).min() > 20
    assert np.percentile(distances_between(before), 0.5) > 300


def test_coincident_nodes_are_separated() -> None:
    layout = GrowingLayout(30)
    edges = graph_edges(nx.path_graph(30))
    layout.grow(edges)
    layout._positions[:] = 0.0
    for _ in range(10):
        positions = layout.grow(edges)
    assert distances_between(positions).min() > 50


def test_layout_without_distances_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graftviz.reports.layout.ALL_SOURCES", 100)
    edges = in_random_order(scale_free(300))
    layout = GrowingLayout(300)
    for end in range(30, len(edges) + 1, 30):
        positions = layout.grow(edges[:end])
    lengths = np.linalg.norm(positions[edges[:, 0]] - positions[edges[:, 1]], axis=1)
    assert lengths.mean() < 0.75 * distances_between(positions).mean()
    monkeypatch.setattr("graftviz.reports.layout.LARGEST_ANNEALED", 100)
    assert (np.ptp(static_layout(300, edges), axis=0) > 7_000).all()


DIGEST = """
import hashlib, numpy as np
from graftviz.reports.layout import GrowingLayout
from graftviz.reports.layout import static_layout
edges = np.array([(i, (i * i + 1) % 50) for i in range(50) if i != (i * i + 1) % 50])
layout = GrowingLayout(50)
pictures = [layout.start(), layout.grow(edges[:20]), layout.grow(edges), static_layout(50, edges)]
print(hashlib.sha256(np.concatenate(pictures).tobytes()).hexdigest())
"""


def test_layout_is_the_same_in_another_process() -> None:
    edges = np.array([(i, (i * i + 1) % 50) for i in range(50) if i != (i * i + 1) % 50])
    layout = GrowingLayout(50)
    pictures = [
        layout.start(),
        layout.grow(edges[:20]),
        layout.grow(edges),
        static_layout(50, edges),
    ]
    digest = hashlib.sha256(np.concatenate(pictures).tobytes()).hexdigest()
    completed = subprocess.run(
        [sys.executable, "-c", DIGEST], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == digest
