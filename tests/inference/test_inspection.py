"""Queries of a finished model against plain definitions."""

from __future__ import annotations

import itertools
import json
import math
import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from inference_cases import shuffled_model

from graftviz import LocalMarginal, PairwiseMRF, infer
from graftviz.inference.inspection import (
    COMMON,
    GAINED,
    LOST,
    compare_models,
    deviation_from_independence,
    entropies,
    find_communities,
    marginal_distances,
    mutual_informations,
    strongest_partners,
    total_variations,
)
from graftviz.reports.figures.model import degree_figure, edge_figure, matrix_figure, node_figure
from graftviz.reports.picture import MOST_EDGES, MOST_NODES, SURROUNDINGS, graph_picture
from graftviz.reports.words.inspection import community_words, region_words

seeds = st.integers(0, 10_000)


def chain(n: int) -> PairwiseMRF:
    coupling = np.array([[1.0, 0.0], [0.0, 1.0]])
    return PairwiseMRF.from_tables(
        [np.zeros(2)] * n, {(i, i + 1): (i + 1) * coupling for i in range(n - 1)}
    )


# Numbers


@given(seeds, st.integers(1, 8))
def test_strongest_partner_is_joined_by_edge_of_largest_norm(seed, n):
    model = shuffled_model(seed, n)
    norms = model.edge_norms()
    for i, e in enumerate(strongest_partners(model).tolist()):
        own = [k for k, edge in enumerate(model.edges.tolist()) if i in edge]
        assert (e in own) if own else (e == -1)
        assert not own or norms[e] == max(norms[k] for k in own)


@given(seeds)
def test_information_and_entropy_match_formulas(seed):
    model = shuffled_model(seed, 6)
    beliefs = infer(model)
    for p, entropy in zip(beliefs.node, entropies(beliefs.node), strict=True):
        assert entropy == pytest.approx(-sum(x * math.log(x) for x in p if x > 0), abs=1e-12)
    for pair, information in zip(beliefs.edge, mutual_informations(beliefs.edge), strict=True):
        px, py = pair.sum(axis=1), pair.sum(axis=0)
        plain = sum(
            pair[x, y] * math.log(pair[x, y] / (px[x] * py[y]))
            for x in range(len(px))
            for y in range(len(py))
            if pair[x, y] > 0
        )
        assert information == pytest.approx(max(plain, 0.0), abs=1e-10)
        deviation = deviation_from_independence(pair)
        assert np.allclose(deviation.sum(axis=0), 0, atol=1e-12)
        assert np.allclose(deviation + np.outer(px, py), pair)


@given(seeds)
def test_total_variation_is_a_distance_from_0_to_1(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=5)
    p, q, r = ([rng.dirichlet(np.ones(s)) for s in sizes] for _ in range(3))
    assert (total_variations(p, p) == 0).all()
    assert np.allclose(total_variations(p, q), total_variations(q, p))
    assert (total_variations(p, q) <= 1 + 1e-12).all()
    triangle = total_variations(p, q) + total_variations(q, r)
    assert (total_variations(p, r) <= triangle + 1e-12).all()
    ones, twos = [np.array([1.0, 0.0])], [np.array([0.0, 1.0])]
    assert total_variations(ones, twos).tolist() == [1.0]


# Two models


@given(seeds, seeds, st.integers(1, 7))
def test_comparison_lists_every_edge_of_either_model_once(first_seed, second_seed, n):
    first, second = shuffled_model(first_seed, n), shuffled_model(second_seed, n)
    found = compare_models(first, second)
    own, other = (set(map(tuple, model.edges.tolist())) for model in (first, second))
    by_status = {status: set() for status in (COMMON, LOST, GAINED)}
    for edge, status in zip(map(tuple, found.edges.tolist()), found.status, strict=True):
        by_status[status].add(edge)
    assert by_status == {COMMON: own & other, LOST: own - other, GAINED: other - own}
    assert len(found.status) == len(own | other)
    assert [found.count(status) for status in by_status] == [len(v) for v in by_status.values()]
    norms = dict(zip(map(tuple, first.edges.tolist()), first.edge_norms().tolist(), strict=True))
    assert found.first.tolist() == [norms.get(tuple(e), 0.0) for e in found.edges.tolist()]


@given(seeds, st.integers(2, 6))
def test_variables_are_matched_by_name_in_any_order(seed, n):
    names = tuple(f"v{i}" for i in range(n))
    model = shuffled_model(seed, n, names=names)
    order = np.random.default_rng(seed).permutation(n)
    place = np.argsort(order)
    turned = PairwiseMRF.from_tables(
        [model.node_weights(int(i)) for i in order],
        {
            (int(place[i]), int(place[j])): model.edge_weights(e)
            for e, (i, j) in enumerate(model.edges.tolist())
        },
        names=tuple(names[i] for i in order),
    )
    found = compare_models(model, turned)
    assert found.count(COMMON) == model.n_edges == len(found.status)
    assert np.allclose(found.first, found.second)
    assert found.note == ""


# Pictures


def test_scores_and_distances_of_models_that_differ_in_one_edge() -> None:
    potential = np.array([[1.0, 0.0], [0.0, 1.0]])
    field = np.array([0.0, 0.7])
    first = PairwiseMRF.from_tables(
        [np.zeros(2), np.zeros(2), field],
        {(0, 1): potential, (1, 2): potential},
        names=("a", "b", "c"),
        labels=(("no", "yes"),) * 3,
    )
    # States of b are in another order; one edge is missing and one is added.
    second = PairwiseMRF.from_tables(
        [np.zeros(2), field, np.zeros(2), np.zeros(3)],
        {(0, 2): potential[::-1], (0, 1): potential},
        names=("a", "c", "b", "d"),
        labels=(("no", "yes"), ("no", "yes"), ("yes", "no"), ("x", "y", "z")),
    )
    found = compare_models(first, second)
    assert (found.recall, found.precision, found.f1) == (0.5, 0.5, 0.5)
    beliefs = infer(first, "exact"), infer(second, "exact")
    distances = marginal_distances(found, (first, second), (beliefs[0].node, beliefs[1].node))
    for i, name in enumerate("abc"):
        p, q = beliefs[0][name], beliefs[1][name]
        assert math.isclose(distances[i], 0.5 * sum(abs(p[s] - q[s]) for s in ("no", "yes")))
    same = marginal_distances(compare_models(first, first), (first,) * 2, (beliefs[0].node,) * 2)
    assert same.tolist() == [0.0] * 3
    alone = PairwiseMRF.from_tables([np.zeros(2)], {}, names=("a",))
    assert math.isnan(compare_models(alone, alone).f1)


def test_small_graph_is_drawn_completely():
    model = shuffled_model(4, 9)
    picture = graph_picture(model)
    assert picture.nodes.tolist() == list(range(9))
    assert picture.edges.tolist() == model.edges.tolist()
    assert (picture.note, picture.centre) == ("", None)
    assert picture.strengths.max() == 1.0
    places = np.arange(18.0).reshape(9, 2)
    assert graph_picture(model, places).places.tolist() == places.tolist()


def test_surroundings_of_centre_are_drawn_for_large_graph_with_a_note():
    n = MOST_NODES + 1
    picture = graph_picture(chain(n), centre=500)
    assert picture.centre == 500
    assert len(picture.nodes) == SURROUNDINGS
    assert picture.nodes.min() + picture.nodes.max() in (999, 1000, 1001)  # an interval around it
    assert len(picture.edges) == SURROUNDINGS - 1
    assert f"{SURROUNDINGS} of {n:,} nodes" in picture.note
    star = PairwiseMRF.from_tables([np.zeros(2)] * n, {(0, i): i * np.eye(2) for i in range(1, n)})
    # The default centre is the node of largest degree, drawn with its strongest neighbours.
    assert graph_picture(star).nodes.tolist() == [0, *range(n - SURROUNDINGS + 1, n)]


def test_strongest_edges_are_drawn_if_there_are_too_many():
    n = 201
    rng = np.random.default_rng(3)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    model = PairwiseMRF.from_tables(
        [np.zeros(2)] * n, {pair: rng.normal() * np.eye(2) for pair in pairs}
    )
    picture = graph_picture(model)
    assert len(picture.edges) == MOST_EDGES
    weakest_drawn = np.sort(model.edge_norms())[-MOST_EDGES] / model.edge_norms().max()
    assert picture.strengths.min() == pytest.approx(weakest_drawn)
    assert f"{len(pairs) - MOST_EDGES:,} weaker ones are not" in picture.note


def test_picture_is_filtered_by_weight_and_by_edges() -> None:
    model = shuffled_model(4, 9)
    whole = graph_picture(model)
    least = float(np.median(whole.strengths))
    strong = whole.filtered(None, least)
    assert strong.numbers.tolist() == np.flatnonzero(whole.strengths >= least).tolist()
    assert strong.edges.tolist() == model.edges[strong.numbers].tolist()
    assert np.array_equal(strong.places, whole.places)
    assert strong.note == f"{len(strong.edges)} of {model.n_edges} edges match the filter."
    mask = np.arange(model.n_edges) % 2 == 0
    assert whole.filtered(mask).numbers.tolist() == np.flatnonzero(mask).tolist()
    assert whole.filtered(None) is whole


def test_neighbourhood_has_nodes_within_depth() -> None:
    n = 60
    graph = nx.convert_node_labels_to_integers(nx.gnm_random_graph(n, 80, seed=4))
    tables = {tuple(sorted(pair)): np.eye(2) for pair in graph.edges}
    picture = graph_picture(PairwiseMRF.from_tables([np.zeros(2)] * n, tables))
    for depth in (1, 2, 5):
        near = nx.ego_graph(graph, 7, radius=depth)
        found = picture.around(7, depth)
        assert found.nodes.tolist() == sorted(near.nodes)
        assert {tuple(pair) for pair in found.edges.tolist()} == {
            tuple(sorted(pair)) for pair in near.edges
        }
        assert found.places.shape == (len(near), 2)
        assert found.degrees.tolist() == picture.degrees[found.nodes].tolist()
        assert f"at most {depth} edge" in found.note
    # Paths use drawn edges only.
    assert picture.filtered(np.zeros(80, dtype=bool)).around(7, 3).nodes.tolist() == [7]


@pytest.mark.parametrize("most", [0, 30_000])
def test_communities_are_contiguous_in_the_matrix(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graftviz.inference.inspection.MOST_LOUVAIN", most)
    graph = nx.planted_partition_graph(4, 15, 0.9, 0.01, seed=2)
    labels = np.random.default_rng(1).permutation(60)
    edges = np.sort(labels[np.array(graph.edges)], axis=1)
    found = find_communities(60, edges)
    assert sorted(found.order.tolist()) == list(range(60))
    parts = [set(found.order[a:b].tolist()) for a, b in itertools.pairwise(found.starts)]
    assert {frozenset(part) for part in parts} == {
        frozenset(labels[15 * k : 15 * k + 15].tolist()) for k in range(4)
    }
    assert found.modularity > 0.5
    again = find_communities(60, edges)
    assert again.order.tolist() == found.order.tolist()


def test_every_edge_is_in_a_cell_of_the_matrix() -> None:
    n = 1_000  # more than the cells
    model = chain(n)
    picture = graph_picture(model)
    communities = find_communities(n, model.edges)
    (heat,) = matrix_figure(picture, communities, model.names).data
    place = np.empty(n, dtype=np.int64)
    place[communities.order] = np.arange(n)
    filled = np.isfinite(np.array(heat.z, dtype=float))
    cells = {tuple(pair) for pair in (place[model.edges] * len(filled) // n).tolist()}
    assert {tuple(sorted(at)) for at in np.argwhere(filled).tolist()} == {
        tuple(sorted(cell)) for cell in cells
    }
    none = find_communities(3, np.empty((0, 2), dtype=np.int64))
    assert none.starts.tolist() == [0, 1, 2, 3]
    assert community_words(none, 0) == "Without edges there are no communities."
    assert "1 community of more than one variable; the largest has 2" in community_words(
        find_communities(3, np.array([[0, 1]])), 1
    )


def test_zero_potential_counts_as_strongest_edge():
    hard = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    model = PairwiseMRF.from_tables([np.zeros(2)] * 3, {(0, 1): hard, (1, 2): np.eye(2)})
    assert graph_picture(model).strengths.tolist() == [1.0, 1.0]


# Figures


def test_figures_accept_zero_potentials_many_states_and_any_names():
    s = 60
    weights = np.random.default_rng(0).normal(size=(s, s))
    weights[0] = -np.inf
    model = PairwiseMRF.from_tables(
        [np.array([-np.inf, *np.zeros(s - 1)]), np.zeros(s)],
        {(0, 1): weights},
        names=("<b>bold</b>" * 20, "b"),
        labels=(tuple("<i>" + "x" * 40 + str(k) for k in range(s)),) * 2,
    )
    uniform = np.full(s, 1 / s)
    texts = [
        figure.to_json()
        for figure in (
            node_figure(model, 0, uniform),
            node_figure(model, 0, None),
            edge_figure(model, 0, np.outer(uniform, uniform)),
            edge_figure(model, 0, None),
            degree_figure(model, 0),
        )
    ]
    assert "−∞" in json.loads(texts[0])["data"][0]["customdata"]
    for text in texts:
        assert "<b>" not in text
        assert "<i>x" not in text
        assert "Infinity" not in text


# Sentences


@given(
    st.floats(0, 1),
    st.one_of(st.just(0.0), st.floats(1e-9, 0.999), st.sampled_from([0.1, 0.01, 0.001, 0.3, 0.34])),
)
def test_rounded_bound_in_words_is_not_tighter_than_bound(probability, bound):
    marginal = np.array([1 - probability, probability])
    found = LocalMarginal(
        query=0,
        marginal=marginal,
        bound=bound,
        certified=False,
        nontrivial_bound=True,
        nodes=np.arange(2),
        cut="drop",
        expansion="greedy",
        method="exact",
        stop_reason="",
        history=(),
    )
    shown = re.search(r"= ([\d.]+) ± ([\d.]+)\. ", region_words(chain(3), found))
    value, width = float(shown[1]), float(shown[2])
    largest = marginal.max()
    assert value - width <= largest - bound + 1e-12
    assert value + width >= largest + bound - 1e-12
    assert width <= 1.21 * bound + 1e-11
