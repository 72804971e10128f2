"""Relations between the grafting learners: reductions, branches, presets, hub rule, twins."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import replace

import naive
import numpy as np
import pytest
from learner_cases import (
    assert_optimal,
    branched,
    drain,
    fingerprint,
    inactive_scores,
    make,
    mixed_table,
    picks,
    scale_free_table,
)

from graftviz import learn
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting import best_choice
from graftviz.learning.grafting.streaming import hub_mask
from graftviz.learning.trace import ADMITTED, Remark
from graftviz.learning.weights.network import ActiveNetwork
from graftviz.learning.weights.penalty import Penalty
from graftviz.reports.reproduction.curves import ONLINE
from graftviz.reports.words.outcomes import remark_words

# The paper's score and objective, without default limits.
BestChoice = functools.partial(make, "best-choice")
EdgeGrafting = functools.partial(make, "edge-grafting")
FirstHit = functools.partial(make, "first-hit")


def unlimited(n: int, **options) -> best_choice.BestChoice:
    """Return best-choice without limits."""
    pairs = n * (n - 1) // 2
    return BestChoice(
        reservoir=pairs, t_max=pairs, first_tests=pairs, alpha=1.0, hubs=False, **options
    )


@pytest.mark.parametrize(
    "options",
    [
        {"preset": "paper"},
        {"preset": "best"},
        {"preset": "literal"},
        {"preset": "paper", "refit": True},
        {"preset": "best", "objective": "bethe"},
        {"preset": "paper", "max_edges": 5, "required": "x0 -- x9"},
    ],
)
def test_outcome_without_reports_equals_that_of_run(options):
    table, learner = scale_free_table(10, 3, 301), EdgeGrafting(**options)
    run, alone = learn(table, learner), learner.outcome(table)
    model = alone.model()
    assert np.array_equal(model.edges, run.model.edges)
    assert np.array_equal(model.weights, run.model.weights)
    ended = run.trace.outcome
    assert (alone.tests, alone.objective, alone.stop_reason, alone.converged) == (
        *(ended.tests, ended.objective, ended.stop_reason, ended.converged),
    )


@pytest.mark.parametrize("preset", ["best", "paper"])
def test_rescoring_all_changes_number_of_tests_only(preset):
    table = scale_free_table(14, 3, 600)
    needed, as_written = (
        drain(table, EdgeGrafting(preset=preset, max_edges=12, rescoring=rescoring))
        for rescoring in ("needed", "all")
    )
    assert picks(needed) == picks(as_written)
    assert needed.outcome.objective == pytest.approx(as_written.outcome.objective, rel=1e-9)
    assert needed.outcome.tests < as_written.outcome.tests
    possible = table.n_variables * (table.n_variables - 1) // 2
    assert [step.tests for step in as_written.steps] == [
        possible - step.n_edges + len(step.activated) for step in as_written.steps
    ]


# Best-choice becomes edge grafting, or first hit.


@pytest.mark.parametrize("group_weight", ["count", "sqrt"])
@pytest.mark.parametrize("nodes", [False, True])
@pytest.mark.parametrize("table", ["scale-free", "mixed"])
def test_unlimited_best_choice_picks_the_edges_of_edge_grafting(table, nodes, group_weight):
    data = mixed_table() if table == "mixed" else scale_free_table(15, 3, 1000)
    options = {
        "lam": 3e-3 if group_weight == "count" else 1e-2,
        "group_weight": group_weight,
        "penalise_nodes": nodes,
    }
    reference = drain(data, EdgeGrafting(**options))
    reduced = drain(data, unlimited(data.n_variables, **options), seed=5)
    assert len(reference.steps) > 5
    assert picks(reduced) == picks(reference)
    assert reduced.outcome.objective == pytest.approx(reference.outcome.objective, abs=1e-12)
    for ours, theirs in zip(reduced.steps, reference.steps, strict=True):
        assert ours.activated[0].score == pytest.approx(theirs.activated[0].score, rel=1e-9)
        assert ours.objective == pytest.approx(theirs.objective, abs=1e-9)


def one_place_one_test(**options) -> best_choice.BestChoice:
    return BestChoice(reservoir=1, t_max=1, alpha=1.0, hubs=False, **options)


@pytest.mark.parametrize("seed", range(3))
def test_best_choice_with_one_place_and_one_test_is_first_hit(seed):
    """Compare with free nodes, where one pass over the pairs is enough."""
    data = scale_free_table(20, 5, 2000)
    hits = drain(data, FirstHit(lam=3e-3), seed)
    assert not any("refill" in step.lines for step in hits.steps)
    assert fingerprint(drain(data, one_place_one_test(lam=3e-3), seed)) == fingerprint(hits)


def test_edge_grafting_with_free_nodes_adds_edges_in_order_of_first_scores():
    """Check that scores do not change while margins are met at every step."""
    data = scale_free_table(15, 3, 1000)
    nothing = drain(data, EdgeGrafting(lam=0.9))
    scores = inactive_scores(nothing, False)
    ranked = sorted((pair for pair in scores if scores[pair] > 5e-3), key=lambda p: -scores[p])
    assert picks(drain(data, EdgeGrafting(lam=5e-3))) == ranked


@pytest.mark.parametrize("n", [20, 50])
@pytest.mark.parametrize("nodes", [False, True])
def test_learners_reach_same_objective_at_full_convergence(n, nodes):
    data = scale_free_table(n, 5, 2000)
    lam = 7e-3 if nodes else 3e-3
    learners = [
        EdgeGrafting(lam=lam, penalise_nodes=nodes),
        FirstHit(lam=lam, penalise_nodes=nodes),
        BestChoice(lam=lam, penalise_nodes=nodes),
        BestChoice(lam=lam, penalise_nodes=nodes, alpha=0.0, reservoir=3, t_max=2),
    ]
    runs = [drain(data, learner, seed=n) for learner in learners]
    assert all(run.outcome.converged for run in runs)
    reference = runs[0].outcome.objective
    for run in runs:
        assert run.outcome.objective == pytest.approx(reference, rel=1e-10)
        assert run.outcome.kkt_residual <= 1e-7
        scores = inactive_scores(run, False)
        assert max(scores.values()) <= lam
        if not nodes:
            assert set(picks(run)) == set(picks(runs[0]))


@pytest.mark.parametrize("nodes", [False, True])
def test_edge_grafting_picks_edges_of_twin_that_scores_all_pairs(nodes):
    data = mixed_table(12, 600)
    learner = EdgeGrafting(lam=4e-3, penalise_nodes=nodes, max_edges=30)
    counts = PairCounts(data)
    network = ActiveNetwork(counts, data.names, data.labels)
    penalty = Penalty(learner.lam, learner.lam2, False, nodes)
    network.fit_nodes(penalty, tolerance=1e-10)

    def refit(edges):
        if edges:
            network.add_edge(*edges[-1])
            network.polish(penalty, tolerance=1e-9)
        return np.split(network.state.node_beliefs, network.state.node_offsets[1:-1])

    wanted = naive.edge_grafting(
        counts.table, data.cardinalities.tolist(), refit, learner.lam, learner.max_edges
    )
    run = drain(data, learner)
    assert len(wanted) > 10
    assert picks(run) == wanted


# Options.


PAPERS = ("paper", "literal")
PRESETS = ("best", *PAPERS)


@pytest.mark.parametrize("n", [5, 30, 101])
def test_presets_set_unset_options(n):
    pairs = n * (n - 1) // 2
    learners = {name: BestChoice(preset=name) for name in PRESETS}
    learners["without screening"] = BestChoice(preset="best", screening="none")
    plans = {name: learner.plan(n) for name, learner in learners.items()}
    limits = {name: plan.limit for name, plan in plans.items()}
    assert limits == {
        "best": 2 * n,
        "without screening": math.ceil(n / 2),
        "paper": math.ceil(n / 4),
        "literal": math.ceil(n / 4),
    }
    budgets = {name: learner.edge_budget(n) for name, learner in learners.items()}
    assert budgets["best"] == budgets["without screening"] == pairs
    assert {budgets[name] for name in PAPERS} == {min(3 * n, pairs)}
    assert {plan.capacity for plan in plans.values()} == {min(n, pairs)}
    for name, plan in plans.items():
        assert plan.screening == ("all" if name == "best" else "none")
        assert plan.hubs == (name in PAPERS)
        uncapped = name in ("best", "literal")
        assert plan.first_limit == (pairs if uncapped else 2 * min(n, pairs))
        assert not plan.full_queue
        assert plan.tests_after_filling == (name == "literal")


def test_screening_depends_on_number_of_pairs():
    learner = BestChoice(preset="best")
    assert learner.plan(1000).screening == "all"
    assert learner.plan(1001).screening == "sample"
    assert BestChoice(preset="best", screening="all").plan(1001).screening == "all"
    assert BestChoice(screening="sample", full_queue=True).plan(10).screening == "none"
    assert EdgeGrafting(preset="best").screening_of(1001) == "sample"
    assert EdgeGrafting(preset="paper").screening_of(1001) == "none"
    assert FirstHit().screening_of(9) == "none"
    assert BestChoice(preset="best", hubs=True).plan(10).hubs


def test_full_queue_holds_all_pairs_and_first_tests_fill_the_reservoir():
    data = scale_free_table(20, 5, 2000)
    first = drain(data, BestChoice(preset="paper", reservoir=12, lam=3e-3, **ONLINE)).steps[0]
    assert first.unseen == 0
    assert len(first.reservoir.scores) == first.reservoir.capacity == 12
    assert first.tests > 2 * 12
    assert first.queue == 190 - first.tests


@pytest.mark.parametrize("reservoir", [12, 180])
def test_preset_literal_fills_reservoir_and_then_makes_t_max_tests(reservoir):
    data = scale_free_table(20, 5, 2000)
    learner = BestChoice(preset="literal", reservoir=reservoir, lam=5e-3)
    run = drain(data, learner)
    first = run.steps[0]
    assert (len(first.reservoir.scores) == 12) == (reservoir == 12)
    if reservoir == 12:
        entered = (first.tested.verdicts == ADMITTED).cumsum()
        assert first.tests == first.test_limit == np.argmax(entered == 12) + 1 + 5
    else:
        assert first.tests == 190
    assert learner.settings(PairCounts(data)).penalty.nodes
    assert run.outcome.kkt_residual < 1e-6


def test_screening_changes_order_of_tests_and_not_final_edges():
    data = scale_free_table(20, 5, 2000)
    options = {"lam": 3e-3, "alpha": 1.0, "t_max": 10, "first_tests": 30}
    screened, plain = (
        drain(data, BestChoice(screening=screening, **options)) for screening in ("all", "none")
    )
    scores = inactive_scores(drain(data, EdgeGrafting(lam=0.9)), False)
    best = sorted(scores, key=scores.get, reverse=True)
    tested = [tuple(pair) for pair in screened.steps[0].tested.edges.tolist()]
    assert tested == best[: len(tested)]
    assert screened.steps[0].tables_counted == 190 > plain.steps[0].tables_counted
    assert screened.steps[0].unseen == 0
    # With free nodes, the belief score equals the screening score.
    assert picks(screened) == picks(drain(data, EdgeGrafting(lam=3e-3)))
    assert set(picks(screened)) == set(picks(plain))
    assert screened.outcome.objective == pytest.approx(plain.outcome.objective, rel=1e-10)


def test_run_follows_plan_of_preset():
    data = scale_free_table(20, 5, 2000)
    run = drain(data, BestChoice(preset="paper", lam=2e-3))
    assert run.steps[-1].n_edges == 60
    assert run.outcome.stop_reason == Remark("reasons.budget", {"budget": 60})
    assert {step.test_limit for step in run.steps[1:]} == {5}
    assert run.steps[0].test_limit == 40
    full = [step for step in run.steps[1:] if not step.notes]
    assert full
    assert all(step.tests <= 5 for step in full)


def test_hub_rule_changes_order_of_tests_only():
    data = scale_free_table(20, 5, 2000)
    options = {"lam": 3e-3, "alpha": 0.0, "t_max": 10, "reservoir": 10}
    runs = [drain(data, BestChoice(hubs=hubs, **options)) for hubs in (True, False)]
    with_hubs, without_hubs = runs
    assert with_hubs.steps[0].activated == without_hubs.steps[0].activated
    assert not any(len(step.hubs) for step in without_hubs.steps)
    assert not any("reorganise" in step.lines for step in without_hubs.steps)
    codes = [
        {line.key for line in BestChoice(hubs=hubs).code_lines} for hubs in (True, False, None)
    ]
    assert ["reorganise" in keys for keys in codes] == [True, False, False]
    assert with_hubs.steps[1].tested.edges.tolist() != without_hubs.steps[1].tested.edges.tolist()
    assert set(picks(with_hubs)) == set(picks(without_hubs))
    assert with_hubs.outcome.objective == pytest.approx(without_hubs.outcome.objective, rel=1e-12)
    for before, step in zip(with_hubs.steps, with_hubs.steps[1:], strict=False):
        degrees = before.degrees()
        assert step.hubs.tolist() == np.flatnonzero(degrees > degrees.mean()).tolist()
    # Unseen pairs at hubs are tested first.
    hubs = set(with_hubs.steps[1].hubs.tolist())
    assert all(set(pair) & hubs for pair in with_hubs.steps[1].tested.edges.tolist())
    assert not all(set(pair) & hubs for pair in without_hubs.steps[1].tested.edges.tolist())


# Branches.


@pytest.mark.parametrize("at", [1, 4])
def test_branch_follows_its_options_and_keeps_earlier_steps(at):
    data = scale_free_table(20, 5, 2000)
    learner = BestChoice(lam=3e-3, alpha=0.75)
    plain = drain(data, learner)
    greedy = branched(data, learner, at, replace(learner, alpha=0.0))
    for ours, theirs in zip(greedy.steps[:at], plain.steps[:at], strict=True):
        assert ours.activated == theirs.activated
        assert ours.objective == theirs.objective
        assert np.array_equal(ours.tested.scores, theirs.tested.scores)
        assert np.array_equal(ours.model().weights, theirs.model().weights)
    assert len(greedy.steps[at].activated) > 1
    for step in greedy.steps[at:]:
        assert step.reservoir.tau == pytest.approx(step.reservoir.mean, rel=1e-12)
    assert len(greedy.steps) < len(plain.steps)
    assert greedy.outcome.converged
    assert set(picks(greedy)) == set(picks(plain))


CHANGES = {
    "higher λ": {"lam": 6e-3},
    "lower λ": {"lam": 2e-3},
    "λ₂": {"lam2": 0.2},
    "group weight": {"group_weight": "sqrt", "lam": 2e-2},
    "penalised nodes": {"penalise_nodes": True},
    "smaller reservoir": {"reservoir": 2},
    "larger reservoir": {"reservoir": 60, "t_max": 100},
}


@pytest.mark.parametrize("name", ["best-choice", "edge-grafting", "first-hit"])
@pytest.mark.parametrize("change", CHANGES)
def test_branch_converges_for_changed_options(name, change):
    data = mixed_table()
    learner = make(name, lam=4e-3)
    other = replace(learner, **{k: v for k, v in CHANGES[change].items() if hasattr(learner, k)})
    run = branched(data, learner, 3, other)
    assert run.outcome.converged
    assert run.outcome.certificate.threshold == other.lam
    assert max(inactive_scores(run, other.group_weight == "sqrt").values()) <= other.lam * (
        1 + 1e-9
    )
    assert run.outcome.kkt_residual <= 1e-7
    assert_optimal(run)
    for step, seen in zip(run.steps, run.models, strict=True):
        assert np.array_equal(step.model().weights, seen.weights)


@pytest.mark.parametrize("seed", range(3))
def test_first_hit_and_reduced_best_choice_differ_after_edges_return(seed):
    """Lower λ, so that frozen edges violate: best-choice takes the best, first hit any."""
    data, at = scale_free_table(20, 5, 2000), 20
    runs = [
        branched(data, learner(lam=5e-3), at, learner(lam=2e-3), seed)
        for learner in (FirstHit, one_place_one_test)
    ]
    hits, reduced = runs
    until = next(k for k, step in enumerate(hits.steps) if "refill" in step.lines)
    assert until > at
    for ours, theirs in zip(reduced.steps[:until], hits.steps[:until], strict=True):
        assert ours.activated == theirs.activated
        assert np.array_equal(ours.tested.edges, theirs.tested.edges)
        assert ours.objective == theirs.objective
        assert "refill" not in ours.lines
    assert "refill" in reduced.steps[until].lines
    assert picks(reduced) != picks(hits)
    assert set(picks(reduced)) == set(picks(hits))


def test_branch_with_smaller_budget_ends_at_once():
    data = scale_free_table(20, 5, 2000)
    run = branched(data, BestChoice(lam=3e-3), 4, BestChoice(lam=3e-3, max_edges=2))
    assert len(run.steps) == 4
    assert run.outcome.stop_reason == Remark("reasons.budget", {"budget": 2})
    assert not run.outcome.converged
    assert run.outcome.kkt_residual <= 1e-7


def test_score_just_below_threshold_is_printed_with_enough_digits():
    table = scale_free_table(12, 3, 400, seed=3)
    worst = drain(table, EdgeGrafting(lam=4e-3)).outcome.certificate.worst_score
    lam = worst * (1 + 1e-7)
    run = drain(table, EdgeGrafting(lam=lam))
    reported = re.search(r", ([\d.e-]+)\)\.", remark_words(run.outcome.stop_reason))
    assert reported
    assert 0.999 * lam < float(reported[1]) < lam


def test_hubs_are_nodes_of_degree_above_mean_or_threshold():
    degrees = np.array([0, 1, 1, 2, 4, 0])
    assert hub_mask(degrees, None).tolist() == [False, False, False, True, True, False]
    assert hub_mask(degrees, 0.4).tolist() == [False, False, False, False, True, False]
    assert not hub_mask(degrees, 0.8).any()
    assert not hub_mask(np.full(4, 2), None).any()
