"""Explanations of false and missing edges, and effects of activations."""

from __future__ import annotations

import math
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from graftviz import BestChoice, ChowLiu, DiscreteTable, PairwiseMRF, Run, learn
from graftviz.data.sets.dataset import suggest_lam
from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.synthetic.graphs import scale_free_graph
from graftviz.data.synthetic.potentials import random_model
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.methods import infer
from graftviz.reports.replay.records import answer
from graftviz.reports.words.answers import activation_effect, why_edge, why_not
from graftviz.reports.words.judging import rows_needed
from graftviz.reports.words.third_variable import (
    conditional_noise,
    conditional_norm,
    conditional_tables,
    shortest_paths,
)
from graftviz.utils.errors import InputError


def coupled(edges: list[tuple[int, int]], strengths: list[float], n: int) -> PairwiseMRF:
    """Return a model with three states in which neighbours prefer equal states."""
    weights = [np.zeros(3 * n), *((strength * np.eye(3)).ravel() for strength in strengths)]
    return PairwiseMRF([3] * n, edges, np.concatenate(weights))


def rows_of(model: PairwiseMRF, rows: int, seed: int) -> DiscreteTable:
    """Sample rows exactly."""
    return coded(JunctionTree(model).sample(rows, seed), model.cardinalities.tolist())


def coded(codes: np.ndarray, sizes: list[int]) -> DiscreteTable:
    """Return a table of state indices, shape (n, N)."""
    return DiscreteTable.from_codes(codes.T, cardinalities=sizes)


def learned(table: DiscreteTable, truth: np.ndarray | None, **options: object) -> Run:
    """Run best-choice edge grafting as in the paper to its end."""
    run = Run(table, BestChoice(preset="paper", lam=suggest_lam(table), **options), truth=truth)
    while run.advance():
        pass
    return run


@pytest.fixture(scope="module")
def scale_free() -> Run:
    """Run on a scale-free sample with many transitive edges."""
    edges = scale_free_graph(20, 1).edges
    table = sample_gibbs(random_model(edges, [3] * 20, seed=1), 2500, seed=1).table
    return learned(table, np.array(sorted(map(tuple, edges.tolist()))))


def active_pairs(run: Run) -> list[tuple[int, int]]:
    return [tuple(pair) for pair in run.steps[-1].active_edges().tolist()]


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(2, 4), st.integers(2, 5))
@settings(max_examples=30)
def test_the_score_given_a_variable_is_that_of_its_plain_formula(
    seed: int, states: int, others: int, thirds: int
) -> None:
    rng = np.random.default_rng(seed)
    sizes = [states, others, thirds]
    table = coded(np.array([rng.integers(0, size, 60) for size in sizes]), sizes)
    rest = -table.joint_counts(0, 1) / 60
    variance = 0.0
    for part in conditional_tables(table, 0, 1, 2):
        if rows := part.sum():
            to_i, to_j = part.sum(axis=1) / rows, part.sum(axis=0) / rows
            rest = rest + rows / 60 * np.outer(to_i, to_j)
            variance += rows / 60 * (1 - to_i @ to_i) * (1 - to_j @ to_j)
    assert conditional_norm(table, 0, 1, 2) == pytest.approx(np.linalg.norm(rest), abs=1e-12)
    assert conditional_noise(table, 0, 1, 2) == pytest.approx(math.sqrt(variance / 60), abs=1e-12)
    assert np.array_equal(conditional_tables(table, 0, 1, 2).sum(axis=0), table.joint_counts(0, 1))


def test_conditional_score_is_gradient_of_fitted_path_model() -> None:
    table = rows_of(coupled([(0, 1), (1, 2)], [1.2, 1.0], 3), 3000, 1)
    run = learn(table, ChowLiu())
    assert sorted(map(tuple, run.model.edges.tolist())) == [(0, 1), (1, 2)]
    model = np.array(JunctionTree(run.model).pair(0, 2))
    gradient = np.linalg.norm(model - table.joint_counts(0, 2) / 3000)
    assert conditional_norm(table, 0, 2, 1) == pytest.approx(gradient, rel=0.02, abs=1e-4)
    assert conditional_norm(table, 0, 2) > 5 * conditional_norm(table, 0, 2, 1)


def test_conditional_noise_is_that_of_conditionally_independent_samples() -> None:
    model = coupled([(0, 1), (1, 2)], [1.2, 1.0], 3)
    tables = [rows_of(model, 400, seed) for seed in range(60)]
    squares = [conditional_norm(table, 0, 2, 1) ** 2 for table in tables]
    noise = conditional_noise(tables[0], 0, 2, 1)
    assert math.sqrt(np.mean(squares)) == pytest.approx(noise, rel=0.2)


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_shortest_paths_are_those_of_networkx(seed: int) -> None:
    graph = nx.gnp_random_graph(9, 0.25, seed=seed)
    edges = np.array(list(graph.edges)).reshape(-1, 2)
    expected = []
    if nx.has_path(graph, 0, 8):
        expected = sorted(nx.all_shortest_paths(graph, 0, 8))
    assert sorted(shortest_paths(edges, 0, 8)) == expected


def test_true_edges_explain_false_ones(scale_free: Run) -> None:
    run = scale_free
    assert run.truth is not None
    truth = set(map(tuple, run.truth.tolist()))
    false = [pair for pair in active_pairs(run) if pair not in truth]
    assert len(false) >= 5
    below = 0
    for i, j in false:
        why = why_edge(run, i, j, len(run.steps))["why"]
        path = why["path"]
        assert why["known"]
        assert (path[0], path[-1]) == (i, j)
        assert why["third"] in path[1:-1]
        assert all((min(pair), max(pair)) in truth for pair in pairwise(path))
        assert nx.shortest_path_length(nx.Graph(list(truth)), i, j) == len(path) - 1
        chosen = why_edge(run, i, j, len(run.steps))["score_at_activation"]
        assert why["raw"] == pytest.approx(chosen, rel=0.05)
        assert why["limit"] == run.learner.lam
        whole, *parts = (np.array(part["counts"]) for part in why["tables"])
        assert np.array_equal(whole, run.table.joint_counts(i, j))
        assert np.array_equal(whole, sum(parts))
        assert why["best"]
        below += why["given"] <= why["limit"]
    assert below >= 0.8 * len(false)


def test_true_edges_have_no_explanation(scale_free: Run) -> None:
    run = scale_free
    truth = set(map(tuple, np.asarray(run.truth).tolist()))
    right = [pair for pair in active_pairs(run) if pair in truth]
    assert all(why_edge(run, i, j, len(run.steps))["why"] is None for i, j in right)


def test_third_variable_without_truth_lowers_the_score_most(scale_free: Run) -> None:
    run = Run(scale_free.table, scale_free.learner, seed=0)
    while run.advance():
        pass
    n = run.table.n_variables
    for i, j in active_pairs(run)[:10]:
        why = why_edge(run, i, j, len(run.steps))["why"]
        rest = [conditional_norm(run.table, i, j, k) for k in range(n) if k not in (i, j)]
        assert why["given"] == pytest.approx(min(rest) / 9)
        assert not why["known"]
        assert "true" not in why["words"]


def test_preset_best_is_not_offered_for_its_own_runs(scale_free: Run) -> None:
    run = Run(scale_free.table, BestChoice(preset="best"))
    while run.advance():
        pass
    i, j = active_pairs(run)[0]
    why = why_edge(run, i, j, len(run.steps))["why"]
    assert not why["best"]
    # Without edges, its score is twice that of the paper.
    assert why["raw"] == pytest.approx(2 * conditional_norm(run.table, i, j) / 9)


def test_other_learners_have_no_limit(scale_free: Run) -> None:
    run = Run(scale_free.table, ChowLiu(), truth=np.array([[0, 1]]))
    while run.advance():
        pass
    i, j = next(pair for pair in active_pairs(run) if pair != (0, 1))
    why = why_edge(run, i, j, len(run.steps))["why"]
    assert why["limit"] is None
    assert "λ" not in why["words"]


# -------------------------------------------------------------------------------- rows needed


@pytest.mark.parametrize("strength", [0.2, 0.3])
def test_edge_is_found_in_most_samples_of_the_needed_rows(strength: float) -> None:
    model = coupled([(0, 1)], [strength], 3)
    exact = infer(model, "exact")
    delta = float(np.linalg.norm(exact.edge[0] - np.outer(exact.node[0], exact.node[1]))) / 9
    rows = 500
    noise = (1 - 1 / 3) / 9 / math.sqrt(rows)
    # The root mean square of the score of these rows, and the λ of the page.
    needed = rows_needed(math.hypot(delta, noise), noise, 3 * noise, 4, rows)

    def found(n: int) -> float:
        tables = [rows_of(model, n, seed) for seed in range(30)]
        runs = [learn(one, BestChoice(preset="paper", lam=suggest_lam(one))) for one in tables]
        return float(np.mean([[0, 1] in run.model.edges.tolist() for run in runs]))

    assert not needed.is_least
    assert 0.7 <= found(needed.rows) <= 1.0
    assert found(needed.rows // 4) <= 0.5


@given(st.floats(1e-4, 1.0), st.floats(1e-4, 1.0), st.integers(1, 40), st.integers(10, 10**6))
@settings(max_examples=60)
def test_stronger_edges_need_fewer_rows(
    noise: float, share: float, freedom: int, rows: int
) -> None:
    limit = 3.0 * noise
    weak, strong = (rows_needed(part * limit, noise, limit, freedom, rows) for part in (share, 1.0))
    assert strong.rows <= weak.rows
    assert weak.rows >= rows
    assert weak.is_least or weak.rows > rows


def test_missing_edges_have_needed_rows(scale_free: Run) -> None:
    run = scale_free
    t = len(run.steps)
    active = active_pairs(run)
    truth = list(map(tuple, np.asarray(run.truth).tolist()))
    missing = [pair for pair in truth if pair not in active]
    assert missing
    for i, j in missing:
        facts = why_not(run, i, j, t)
        assert facts["violates"] or "it needs" in facts["needs"]
    absent = [(i, j) for i in range(20) for j in range(i) if (j, i) not in (*active, *truth)]
    assert all(why_not(run, i, j, t)["needs"] is None for i, j in absent[:10])


# ------------------------------------------------------------------------- effect of activations


def test_activation_brings_pair_marginal_closer_to_data(scale_free: Run) -> None:
    run = scale_free
    first = run.steps[0].activated[0]
    i, j = first.source, first.target
    effect = activation_effect(run, i, j, 1)
    assert effect["method"] == "exact inference"
    assert effect["gap"][1] < 0.7 * effect["gap"][0]
    # Before the first step all pairs are independent.
    data = run.table.joint_counts(i, j) / run.table.n_rows
    labels = run.table.labels
    for a, b, before, after, shown in effect["cells"]:
        at = labels[i].index(a), labels[j].index(b)
        assert shown == pytest.approx(data[at])
        assert before == pytest.approx(data.sum(1)[at[0]] * data.sum(0)[at[1]], abs=1e-9)
        assert abs(after - shown) < abs(before - shown) + 0.02
    assert len(effect["cells"]) + effect["left"] == data.size


def test_marginals_of_small_models_are_exact(scale_free: Run) -> None:
    run = scale_free
    for t in (2, 4):
        new = run.steps[t - 1].activated[0]
        effect = activation_effect(run, new.source, new.target, t)
        before, after = (run.steps[s - 1].model() for s in (t - 1, t))
        pairs = [JunctionTree(model).pair(new.source, new.target) for model in (before, after)]
        labels = run.table.labels
        for a, b, *marginals, _ in effect["cells"]:
            at = labels[new.source].index(a), labels[new.target].index(b)
            assert marginals == pytest.approx([pair[at] for pair in pairs])


def test_only_new_edges_have_an_effect(scale_free: Run) -> None:
    new = scale_free.steps[0].activated[0]
    with pytest.raises(InputError, match="did not activate"):
        activation_effect(scale_free, new.source, new.target, 2)


def test_answers_for_player_have_plain_numbers(scale_free: Run) -> None:
    new = scale_free.steps[0].activated[0]
    question = {"kind": "edge", "i": new.source, "j": new.target, "t": 1, "effect": True}
    facts = answer(scale_free, question)
    assert set(facts["effect"]) == {"method", "cells", "left", "gap", "words"}
    assert "effect" not in answer(scale_free, {**question, "effect": False})
