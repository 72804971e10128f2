"""Chow–Liu trees: the best tree, exact weights, and a certificate that can fail."""

from __future__ import annotations

import itertools

import naive
import networkx as nx
import numpy as np
import pytest
from fakes import finished_run
from learner_cases import drain, picks

from graftviz import ChowLiu, DiscreteTable
from graftviz.learning.weights.network import ActiveNetwork
from graftviz.reports.words.answers import why_edge, why_not
from graftviz.reports.words.phrases import score
from graftviz.reports.words.steps import outcome_words


def pair_counts(table, i, j):
    sizes = table.cardinalities
    return naive.count_pair(table.codes[i], table.codes[j], int(sizes[i]), int(sizes[j]))


def information_matrix(table, pseudo_count=0.0):
    n = table.n_variables
    matrix = np.zeros((n, n))
    for i, j in itertools.combinations(range(n), 2):
        matrix[i, j] = matrix[j, i] = naive.mutual_information(
            pair_counts(table, i, j), pseudo_count
        )
    return matrix


def noisy_copies(seed, n=7, rows=300):
    """Return variables of 2 to 4 states, each a noisy copy of an earlier one."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=n)
    codes = np.zeros((rows, n), dtype=np.int64)
    for i in range(n):
        codes[:, i] = rng.integers(0, sizes[i], rows)
        if i:
            copied = rng.random(rows) < 0.5
            codes[copied, i] = codes[copied, rng.integers(0, i)] % sizes[i]
    return DiscreteTable.from_codes(codes, cardinalities=sizes)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("pseudo_count", [0.0, 3.0])
def test_tree_is_maximum_spanning_tree_of_information(seed, pseudo_count):
    table = noisy_copies(seed)
    matrix = information_matrix(table, pseudo_count)
    run = drain(table, ChowLiu(pseudo_count=pseudo_count))
    wanted = nx.maximum_spanning_tree(nx.from_numpy_array(matrix))
    assert {tuple(sorted(edge)) for edge in wanted.edges} == set(picks(run))
    scores = [step.activated[0].score for step in run.steps]
    assert scores == sorted(scores, reverse=True)
    assert np.allclose(scores, [matrix[pair] for pair in picks(run)], rtol=1e-9)


def test_an_evaluation_of_changed_nodes_equals_one_from_scratch(monkeypatch):
    table = noisy_copies(1, n=12)
    evaluate = ActiveNetwork.evaluate
    some = drain(table, ChowLiu()).outcome
    monkeypatch.setattr(
        ActiveNetwork, "evaluate", lambda self, penalty, _=None: evaluate(self, penalty)
    )
    every = drain(table, ChowLiu()).outcome
    assert (some.objective, some.kkt_residual) == (every.objective, every.kkt_residual)


def exact_log_probabilities(model, codes):
    """Return log probabilities by enumeration of all joint states, and these states."""
    every = np.array(list(itertools.product(*map(range, model.cardinalities)))).T
    scores = model.log_scores(every)
    top = scores.max()
    return model.log_scores(codes) - top - np.log(np.exp(scores - top).sum()), every


@pytest.mark.parametrize("pseudo_count", [0.0, 5.0])
def test_likelihood_and_margins_are_exact(pseudo_count):
    table = noisy_copies(3, n=5)
    run = drain(table, ChowLiu(pseudo_count=pseudo_count))
    model = run.outcome.model()
    log_shares, every = exact_log_probabilities(model, table.codes)
    all_logs, _ = exact_log_probabilities(model, every)
    for i, j in picks(run):
        wanted = pair_counts(table, i, j) + pseudo_count / np.prod(table.cardinalities[[i, j]])
        wanted = wanted / wanted.sum()
        found = np.zeros_like(wanted)
        np.add.at(found, (every[i], every[j]), np.exp(all_logs))
        assert np.allclose(found, wanted, atol=1e-10)
    if pseudo_count == 0:
        assert run.outcome.objective == pytest.approx(-log_shares.mean(), abs=1e-10)
    assert run.outcome.kkt_residual < 1e-10
    assert run.outcome.bp_restart_gap < 1e-6


def test_weights_are_centred():
    model = drain(noisy_copies(1), ChowLiu()).outcome.model()
    for e in range(model.n_edges):
        weights = model.edge_weights(e)
        assert np.allclose(weights.sum(axis=0), 0, atol=1e-9)
        assert np.allclose(weights.sum(axis=1), 0, atol=1e-9)
    for i in range(model.n_variables):
        assert model.node_weights(i).sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("max_edges", [1, 3, 6, None])
def test_certificate_is_best_exchange(max_edges):
    table = noisy_copies(2)
    matrix = information_matrix(table)
    run = drain(table, ChowLiu(max_edges=max_edges))
    edges = picks(run)
    gains = {}
    for pair in itertools.combinations(range(table.n_variables), 2):
        if pair not in edges:
            weakest = naive.weakest_on_path(edges, matrix, *pair)
            gains[pair] = matrix[pair] - (0.0 if weakest is None else weakest)
    certificate = run.outcome.certificate
    assert certificate.scored == certificate.possible == len(gains)
    assert certificate.threshold == 0.0
    assert certificate.worst_score == pytest.approx(max(gains.values()), rel=1e-9)
    assert gains[certificate.worst_edge] == pytest.approx(max(gains.values()), rel=1e-9)
    is_tree = len(edges) == table.n_variables - 1
    assert run.outcome.converged == is_tree
    assert run.outcome.stop_reason.kind == ("tree.joined" if is_tree else "reasons.budget")


def test_pairs_without_information_are_left_out():
    """Check a factorial design of two independent pairs of copies."""
    first, second = np.meshgrid(np.arange(3), np.arange(2), indexing="ij")
    codes = np.stack([first, first, second, second], axis=-1).reshape(-1, 4)
    run = drain(DiscreteTable.from_codes(np.tile(codes, (7, 1))), ChowLiu())
    assert picks(run) == [(0, 1), (2, 3)]
    assert run.outcome.converged
    assert run.outcome.certificate.worst_score == 0.0
    assert run.outcome.stop_reason.kind == "tree.forest"
    assert np.isfinite(run.outcome.model().weights).all()


def test_empty_cells_give_finite_weights_and_pseudo_counts_shrink_them():
    column = np.random.default_rng(3).integers(0, 3, size=200)
    table = DiscreteTable.from_codes(np.stack([column, column], axis=1))
    hard, soft = (drain(table, ChowLiu(pseudo_count=c)) for c in (0.0, 9.0))
    largest = [np.abs(run.outcome.model().edge_weights(0)).max() for run in (hard, soft)]
    assert 10 < largest[0] < 40
    assert largest[1] < 5
    for run in (hard, soft):
        assert run.outcome.kkt_residual < 1e-9
        assert run.outcome.stop_reason.kind == "reasons.all_pairs"


def test_number_of_tests_is_number_of_examined_pairs():
    table = noisy_copies(4)
    run = drain(table, ChowLiu())
    matrix = information_matrix(table)
    order = sorted(itertools.combinations(range(7), 2), key=lambda pair: -matrix[pair])
    places = [order.index(edge) + 1 for edge in picks(run)]
    assert [step.tests_total for step in run.steps] == places
    assert [("cycle" in step.lines) for step in run.steps] == [step.tests > 1 for step in run.steps]


# Texts.


def finished_tree(learner):
    return finished_run(noisy_copies(4), learner)


def test_missing_pair_is_explained_by_path_between_its_ends():
    run = finished_tree(ChowLiu())
    matrix, edges = information_matrix(run.table), picks_of(run)
    for pair in itertools.combinations(range(7), 2):
        if pair in edges:
            assert why_edge(run, *pair, len(edges))["tests"] == 1
            continue
        answer = why_not(run, *pair, len(edges))
        assert answer["score"] == pytest.approx(matrix[pair], rel=1e-9)
        weakest = naive.weakest_on_path(edges, matrix, *pair)
        assert answer["threshold"] == pytest.approx(weakest, rel=1e-9)
        assert not answer["violates"]
        assert "It would close a cycle" in answer["words"]
        early = why_not(run, *pair, 0)
        assert early["words"].startswith("No step has been made yet.")


def test_edge_budget_ends_run_with_possible_gain_of_next_edge():
    run = finished_tree(ChowLiu(max_edges=2))
    gain = run.outcome.certificate.worst_score
    assert f"would still gain up to {score(gain)} nats." in outcome_words(run.outcome)
    answer = why_not(run, *run.outcome.certificate.worst_edge, 2)
    assert "No path joins its ends yet, but the run ended before it was reached." in answer["words"]
    assert answer["violates"]
    assert answer["threshold"] == 0.0


def picks_of(run):
    return [tuple(edge[:2]) for step in run.steps for edge in step.activated]
