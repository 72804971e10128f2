"""Forced pruning: contributions of edges, exchanges, and texts about the run."""

from __future__ import annotations

import itertools
from collections import Counter

import naive
import numpy as np
import pytest
from fakes import finished_run
from learner_cases import drain, mixed_table, parts_of, scale_free_table

from graftviz import ChowLiu, DiscreteTable, ForcedPruning, InputError
from graftviz.inference.likelihood import nlpl
from graftviz.learning.pruning.contributions import (
    SubsetLosses,
    best_gains,
    by_metropolis,
    by_rejection,
    contributions,
    estimated_gains,
    gain_of,
    least_contributing,
)
from graftviz.learning.pruning.structure_fit import StructureFit, rows_of
from graftviz.learning.trace import Remark
from graftviz.learning.weights.deviations import model_of
from graftviz.reports.words.answers import why_edge, why_not
from graftviz.reports.words.steps import outcome_words, step_words

PAIRS = list(itertools.combinations(range(5), 2))


def small_table(rows: int = 300, states: int = 3) -> DiscreteTable:
    """Return a table with large gains and losses, so that subsets differ."""
    rng = np.random.default_rng(2)
    codes = np.cumsum(rng.random((rows, 5)) < 0.35, axis=1) % states
    return DiscreteTable.from_codes(codes, cardinalities=[states] * 5)


def at_random_point(table: DiscreteTable, edges: list[tuple[int, int]], scale: float = 0.5):
    fit = StructureFit(rows_of(table), np.array(edges))
    parameters = scale * np.random.default_rng(0).normal(size=fit.layout.size)
    fit.evaluate(parameters)
    return fit, parameters, model_of(fit.layout, parameters, table.names, table.labels)


def without(fit: StructureFit, parameters: np.ndarray, edges: list[int]) -> float:
    """Return the mean pseudo-likelihood without some edges, by a new evaluation."""
    layout, left = fit.layout, parameters.copy()
    for e in edges:
        left[layout.edge_starts[e] : layout.edge_starts[e + 1]] = 0.0
    return -fit.evaluate(left).loss


@pytest.mark.parametrize("table", [small_table(), mixed_table()])
def test_contribution_is_loss_without_the_edge(table):
    edges = [(0, 1), (0, 2), (1, 4), (2, 4)]
    fit, parameters, _ = at_random_point(table, edges)
    known = contributions(fit, fit.layout.weights(parameters)[1])
    whole = -fit.evaluate(parameters).loss
    for e in range(len(edges)):
        assert known.total[e] == pytest.approx(whole - without(fit, parameters, [e]), abs=1e-6)
    assert np.allclose(known.sides.sum(axis=1), known.total)


@pytest.mark.parametrize("states", [2, 3])
def test_gain_matches_fit_of_one_pair(states):
    table = small_table(states=states)
    fit, _, model = at_random_point(table, [(0, 1), (1, 2), (3, 4)])
    for lam2 in (1e-6, 0.01):
        for i, j in ((0, 2), (2, 3), (1, 4)):
            gain, parameters = gain_of(fit, lam2, i, j)
            contrasts = (fit.layout.contrasts(i), fit.layout.contrasts(j))
            plain = naive.best_gain(model, table.codes, i, j, lam2, contrasts)
            assert gain == pytest.approx(plain, abs=2e-6)
            larger = StructureFit(fit.rows, np.array([(0, 1), (1, 2), (3, 4), (i, j)]))
            assert len(parameters) == larger.layout.size - fit.layout.size


def test_best_gains_match_those_of_all_pairs():
    table = scale_free_table(15, 3, 1000)
    edges = [(k, k + 1) for k in range(14)]
    fit, _, _ = at_random_point(table, edges)
    outside = np.array([p for p in itertools.combinations(range(15), 2) if p not in edges])
    estimates = estimated_gains(fit, 1e-3)
    found = best_gains(fit, 1e-3, estimates, outside, 6)
    every = sorted((gain_of(fit, 1e-3, int(i), int(j))[0] for i, j in outside), reverse=True)
    assert np.allclose(found.gains, every[:6], rtol=1e-9)
    assert np.allclose(estimates, estimates.T)


# Deletion of edges.


def test_greedy_deletion_removes_smallest_contributions():
    fit, parameters, _ = at_random_point(small_table(), PAIRS)
    known = contributions(fit, fit.layout.weights(parameters)[1])
    chosen = least_contributing(known, 4)
    assert known.total[chosen.edges].tolist() == sorted(known.total)[:4]
    assert (chosen.tries, chosen.fallback) == (0, False)


def subset_losses():
    """Return losses of a small model at large weights, and values without each two edges."""
    fit, parameters, _ = at_random_point(small_table(states=2), PAIRS[:6], scale=2.0)
    tables = fit.layout.weights(parameters)[1]
    remains = {
        pair: without(fit, parameters, list(pair)) for pair in itertools.combinations(range(6), 2)
    }
    fit.evaluate(parameters)
    known = contributions(fit, tables)
    return SubsetLosses(fit, tables, known, fit.node_losses / fit.rows.total), known, remains


def test_value_without_a_subset_is_exact_and_its_bound_holds():
    losses, _, remains = subset_losses()
    subsets = np.array(list(remains))
    for subset, value in remains.items():
        assert losses.without(np.array(subset)) == pytest.approx(value, abs=1e-6)
    assert (losses.bounds(subsets) >= np.array(list(remains.values())) - 1e-6).all()


def distribution(remains):
    weights = {pair: np.exp(value) for pair, value in remains.items()}
    total = sum(weights.values())
    return {pair: weight / total for pair, weight in weights.items()}


@pytest.mark.parametrize("draw", ["rejection", "mcmc"])
def test_drawn_subsets_have_target_distribution(draw):
    losses, known, remains = subset_losses()
    rng = np.random.default_rng(7)
    wanted, draws = distribution(remains), 3000
    assert max(wanted.values()) > 2 * min(wanted.values())  # far from uniform
    tally = Counter()
    for _ in range(draws):
        if draw == "rejection":
            chosen = by_rejection(losses, known, 2, 1_000_000, rng)
            assert chosen.accepted == 1
        else:
            chosen = by_metropolis(losses, known, 2, 15, rng)
            assert 0 <= chosen.accepted <= chosen.tries == 15
        tally[tuple(sorted(int(e) for e in chosen.edges))] += 1
    expected = np.array([draws * wanted[pair] for pair in remains])
    seen = np.array([tally[pair] for pair in remains])
    # χ² with 14 degrees of freedom exceeds 36 with probability 0.001.
    assert (((seen - expected) ** 2) / expected).sum() < 36


# Runs.

TABLE = scale_free_table(15, 3, 1000)


def run_of(table=TABLE, seed=0, **options):
    return drain(table, ForcedPruning(**options), seed)


def test_run_starts_with_tree_and_keeps_number_of_edges():
    run = run_of(max_edges=25, exchange=4)
    tree = {e[:2] for step in drain(TABLE, ChowLiu()).steps for e in step.activated}
    start = run.steps[0]
    assert tree <= {edge[:2] for edge in start.activated}
    assert start.exchange.kind == "start"
    assert start.exchange.tree == len(tree) == 14
    assert {step.n_edges for step in run.steps} == {25}
    for step in run.steps[1:]:
        assert len(step.removed) == len(step.activated)
        if step.exchange.kind == "exchange":
            assert len(step.removed) == 4


def test_records_of_exchanges_match_models():
    run = run_of(max_edges=25, exchange=4)
    before = None
    for step, model in zip(run.steps, run.models, strict=True):
        exchange = step.exchange
        assert -exchange.after == pytest.approx(nlpl(model, TABLE))
        assert exchange.best >= exchange.after
        assert len(np.unique(exchange.centres[exchange.assignment])) <= 16
        assert len(exchange.values) == len(exchange.assignment) == 15 * 2 + 25 * 4
        squares = float((exchange.centres[exchange.assignment] ** 2).sum())
        assert step.objective == pytest.approx(-exchange.after + squares / (2 * 1000))
        assert [tuple(pair) for pair in exchange.added.tolist()] == [e[:2] for e in step.activated]
        assert np.array_equal(exchange.removed, step.removed)
        assert (np.diff(exchange.contributions) >= 0).all()
        assert (np.diff(exchange.gains) <= 0).all()
        assert exchange.acceptance is None
        if before is not None:
            assert exchange.before == before
        before = exchange.after


def test_removed_edges_contribute_least_and_added_edges_gain_most():
    run = run_of(max_edges=20, exchange=3, tied=False)
    fit = StructureFit(rows_of(TABLE), run.models[0].edges)
    step = run.steps[1].exchange
    from_values = run.steps[0].exchange
    parameters = from_values.centres[from_values.assignment]
    fit.evaluate(parameters)
    known = contributions(fit, fit.layout.weights(parameters)[1])
    assert np.allclose(step.contributions, np.sort(known.total)[:3])
    inside = {tuple(pair) for pair in run.models[0].edges.tolist()}
    outside = [pair for pair in itertools.combinations(range(15), 2) if pair not in inside]
    gains = sorted((gain_of(fit, 1 / 2000, i, j)[0] for i, j in outside), reverse=True)
    assert np.allclose(step.gains, gains[:3], rtol=1e-6)


@pytest.mark.parametrize("heuristic", ["greedy", "rejection", "mcmc"])
def test_result_is_best_model_of_run(heuristic):
    table = small_table()
    run = run_of(table, max_edges=6, exchange=2, heuristic=heuristic, exchanges=12)
    values = [step.exchange.after for step in run.steps]
    found = -nlpl(run.outcome.model(), table)
    assert found == pytest.approx(max(values))
    assert [step.exchange.best for step in run.steps] == pytest.approx(
        np.maximum.accumulate(values).tolist()
    )
    again = [step for step in run.steps if step.exchange.kind == "best"]
    assert len(again) == (values.index(max(values)) != len(values) - len(again) - 1)


def test_stop_reason_distinguishes_cycle_limit_and_no_exchange():
    cycle = run_of(max_edges=20, exchange=3)
    structures = [frozenset(map(tuple, model.edges.tolist())) for model in cycle.models]
    ended = parts_of(cycle.outcome.stop_reason)["exchange.cycle"]
    assert 1 <= ended["step"] <= len(structures)
    assert ended["count"] == sum(step.exchange.kind == "exchange" for step in cycle.steps)
    limited = run_of(max_edges=20, exchange=3, exchanges=2)
    assert parts_of(limited.outcome.stop_reason)["exchange.limit"] == {"count": 2}
    without_exchange = run_of(max_edges=20, exchange=0)
    assert len(without_exchange.steps) == 1
    assert without_exchange.outcome.stop_reason.kind == "exchange.none"


def test_certificate_compares_best_gain_with_weakest_edge():
    for options in ({"exchange": 0}, {"exchange": 3}, {"exchange": 1, "max_edges": 14}):
        run = run_of(**options)
        model, certificate = run.outcome.model(), run.outcome.certificate
        last = run.steps[-1].exchange
        fit = StructureFit(rows_of(TABLE), model.edges)
        parameters = last.centres[last.assignment]
        fit.evaluate(parameters)
        known = contributions(fit, fit.layout.weights(parameters)[1])
        inside = {tuple(pair) for pair in model.edges.tolist()}
        outside = [pair for pair in itertools.combinations(range(15), 2) if pair not in inside]
        best = max(gain_of(fit, 1 / 2000, i, j)[0] for i, j in outside)
        assert certificate.worst_score == pytest.approx(best - known.total.min(), rel=1e-6)
        assert run.outcome.converged == (best <= known.total.min())


def test_restarts_keep_best_model():
    run = run_of(max_edges=20, exchange=3, restarts=2)
    kinds = [step.exchange.kind for step in run.steps]
    assert kinds.count("start") == 1
    assert kinds.count("restart") == 2
    once = run_of(max_edges=20, exchange=3)
    assert run.steps[-1].exchange.best >= once.steps[-1].exchange.best
    assert parts_of(run.outcome.stop_reason)["exchange.starts"]["starts"] == 3


def test_sent_options_apply_from_next_exchange():
    generator = ForcedPruning(max_edges=20, exchange=3).steps(TABLE, seed=0)
    assert next(generator).n_edges == 20
    larger = generator.send(ForcedPruning(max_edges=24, exchange=3))
    assert (larger.n_edges, len(larger.removed), len(larger.activated)) == (24, 3, 7)
    smaller = generator.send(ForcedPruning(max_edges=18, exchange=1, clusters=4))
    assert (smaller.n_edges, len(smaller.removed), len(smaller.activated)) == (18, 7, 1)
    assert len(smaller.exchange.centres) == 4
    with pytest.raises(InputError, match="Use at least 14"):
        generator.send(ForcedPruning(max_edges=3))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            {"max_edges": 13},
            "a tree, which has 14 edges on the variables that vary. Use at least 14",
        ),
        ({"max_edges": 106}, "15 variables have only 105 pairs"),
        ({"max_edges": 20, "exchange": 21}, "exchange size 21 exceeds the number of edges, 20"),
        ({"max_edges": 14, "clusters": 87}, "at most 86 with 14 edges .* Use at most 86 clusters"),
    ],
)
def test_inconsistent_options_are_refused_in_one_sentence(options, complaint):
    for refused in (
        ForcedPruning(**options).check,
        lambda table: next(ForcedPruning(**options).steps(table)),
    ):
        with pytest.raises(InputError, match=complaint) as error:
            refused(TABLE)
        assert str(error.value).endswith(".")


# Texts.


def test_answer_about_absent_pair_has_its_gain():
    run = finished_run(TABLE, ForcedPruning(max_edges=20, exchange=3))
    t = len(run.steps)
    worst = run.outcome.certificate
    i, j = worst.worst_edge
    answer = why_not(run, i, j, t)
    assert answer["score"] - answer["threshold"] == pytest.approx(worst.worst_score, rel=1e-4)
    assert answer["violates"] == (worst.worst_score > 0)
    assert why_not(run, i, j, 0)["score"] is None
    i, j = (int(k) for k in run.steps[-1].active_edges()[0])
    assert why_edge(run, i, j, t)["words"].startswith("It was activated in step")


def test_constant_variable_has_no_edges():
    codes = np.concatenate([small_table().codes, np.zeros((1, 300), dtype=int)]).T
    table = DiscreteTable.from_codes(codes, cardinalities=[3] * 6)
    run = finished_run(table, ForcedPruning(max_edges=15, exchange=2))
    assert run.steps[-1].n_edges == 10
    fewer = {"count": 10, "requested": 15}
    assert run.steps[0].notes == (Remark("notes.fewer_edges", fewer),)
    assert "is constant" in why_not(run, 0, 5, 1)["words"]


@pytest.mark.parametrize("options", [{}, {"max_edges": 4}, {"max_edges": 6, "exchange": 2}])
def test_constant_columns_change_nothing(options):
    """A tree joins the variables that vary, so a model may have as many edges as it."""
    plain = small_table()
    codes = np.concatenate([np.zeros((2, 300), dtype=int), plain.codes]).T
    table = DiscreteTable.from_codes(codes, cardinalities=[1, 1, *plain.cardinalities])
    run, expected = run_of(table, **options), run_of(plain, **options)
    assert run.outcome.model().edges.tolist() == (expected.outcome.model().edges + 2).tolist()
    assert run.outcome.automatic == expected.outcome.automatic
    with pytest.raises(InputError, match="4 edges on the variables that vary"):
        ForcedPruning(max_edges=3).check(table)


def test_forbidden_pairs_that_separate_variables_allow_fewer_edges():
    first, second, *others = small_table().names
    apart = f"{first}, {second} -- {', '.join(others)}"
    forest = ForcedPruning(max_edges=3, forbidden=apart)
    assert drain(small_table(), forest).outcome.model().n_edges == 3


def test_exchanges_end_only_where_edges_and_values_repeat():
    """Tied values depend on their start, so equal edges may be fitted better the second time."""
    returned = 0
    for seed in range(6):
        run = run_of(max_edges=18, exchange=3, clusters=4, seed=seed, exchanges=30)
        steps = [step for step in run.steps if step.exchange.kind != "best"]
        structures = [frozenset(map(tuple, step.active_edges().tolist())) for step in steps]
        values = [step.exchange.after for step in steps]
        for later in range(len(steps)):
            for earlier in range(later):
                if structures[earlier] == structures[later]:
                    returned += 1
                    assert abs(values[earlier] - values[later]) > 1e-10
        kind = "exchange.cycle" if len(steps) <= 30 else "exchange.limit"
        assert kind in parts_of(run.outcome.stop_reason)
    assert returned > 0


def test_answer_about_absent_pair_uses_penalty_and_exchangeable_edges():
    names = TABLE.names
    run = finished_run(
        TABLE,
        ForcedPruning(max_edges=20, exchange=3, lam2=0.05, required=f"{names[0]} -- {names[9]}"),
    )
    t, (i, j) = len(run.steps), run.outcome.certificate.worst_edge
    answer = why_not(run, i, j, t)
    worst = run.outcome.certificate.worst_score
    assert answer["score"] - answer["threshold"] == pytest.approx(worst, rel=1e-4)


def test_rejection_has_expected_rate_and_reports_fallback():
    losses, known, remains = subset_losses()
    rng = np.random.default_rng(1)
    found = [by_rejection(losses, known, 2, 1_000_000, rng) for _ in range(400)]
    rate = len(found) / sum(deletion.tries for deletion in found)
    assert rate == pytest.approx(np.mean(np.exp(list(remains.values()))), rel=0.2)
    given_up = by_rejection(losses, known, 2, 1, np.random.default_rng(0))
    assert (given_up.tries, given_up.accepted, given_up.fallback) == (1, 0, True)
    assert len(set(given_up.edges.tolist())) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"exchange": 3, "restarts": 1},
        {"exchange": 2, "heuristic": "rejection", "tries": 2, "exchanges": 4},
        {"exchange": 2, "heuristic": "mcmc", "exchanges": 4},
        {"exchange": 1, "tied": False},
    ],
)
def test_words_of_every_step_have_its_numbers(options):
    run = finished_run(TABLE, ForcedPruning(max_edges=20, **options))
    for step in run.steps:
        words = step_words(step, run.learner, TABLE.names)
        assert words.endswith(".")
        assert "nan" not in words
        assert f"{step.exchange.after:.5g}".replace("-", "−") in words
        if step.exchange.kind == "exchange":
            i, j = step.exchange.removed[0]
            assert f"{TABLE.names[i]} – {TABLE.names[j]}" in words
    assert outcome_words(run.outcome).startswith(run.result().stop_reason)
