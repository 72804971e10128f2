"""Sentences about steps and answers to questions about runs."""

from __future__ import annotations

import dataclasses
import itertools
import re
from functools import cache

import numpy as np
import pytest
from fakes import finished_run
from learner_cases import followers_table

from graftviz import BestChoice, DiscreteTable, EdgeGrafting, FirstHit, InputError, Run, Step
from graftviz.learning.scores.pair_test import pair_test, threshold_of
from graftviz.learning.trace import PASSED, ActivationTest
from graftviz.reports.words.answers import node_facts, why_edge, why_not
from graftviz.reports.words.phrases import pair, score
from graftviz.reports.words.steps import learner_at, outcome_words, overfitting_words, step_words

N = 12


TABLE = followers_table(N)


def finished(learner: BestChoice | EdgeGrafting | FirstHit, **settings: object) -> Run:
    return finished_run(TABLE, learner, **settings)


PAPER = {"preset": "paper", "lam": 1e-3, "lam2": 0.03}
LEARNERS = {
    "choosy": BestChoice(max_edges=20, **PAPER),
    "greedy": BestChoice(alpha=0.0, t_max=8, max_edges=66, **PAPER),
    "best only": BestChoice(alpha=1.0, t_max=8, hubs=False, max_edges=66, **PAPER),
    "small reservoir": BestChoice(reservoir=3, t_max=10, max_edges=66, **PAPER),
    "edge grafting": EdgeGrafting(max_edges=15, **PAPER),
    "first hit": FirstHit(max_edges=15, **PAPER),
    "best": BestChoice(t_max=12),
    "best, first hit": FirstHit(),
    "best edge grafting": EdgeGrafting(),
    "rows": BestChoice(preset="paper", score="pseudo-likelihood", lam=4e-3, group_weight="sqrt"),
}


@cache
def known(name: str) -> Run:
    return finished(LEARNERS[name])


@pytest.fixture(params=LEARNERS, ids=LEARNERS)
def run(request: pytest.FixtureRequest) -> Run:
    return known(request.param)


def words_of(run: Run, t: int) -> str:
    return step_words(run.steps[t - 1], learner_at(run, t), TABLE.names)


def test_sentence_of_every_step_contains_its_numbers(run: Run) -> None:
    assert len(run.steps) > 3
    for step in run.steps:
        words = words_of(run, step.index)
        assert words.endswith(".")
        assert "nan" not in words
        assert "  " not in words
        assert len(re.findall(r"\.(?:\s|$)", words)) <= 3
        assert f"{step.tests:,}" in words or step.tests <= 1
        for edge in step.activated[:3]:
            assert f"{pair(TABLE.names, edge.source, edge.target)}" in words
            assert score(edge.score) in words


def later_step(**changes: object) -> Step:
    step = next(
        step
        for step in known("choosy").steps[1:]
        if step.reservoir is not None and len(step.reservoir.scores) > 4
    )
    nothing = np.zeros((0, 2), dtype=np.int32)
    plain: dict[str, object] = {
        "skipped_adjacent": nothing,
        "replaced": nothing,
        "dropped": nothing,
        "hubs": np.zeros(0, dtype=np.int32),
    }
    return dataclasses.replace(step, **{**plain, **changes})


def test_sentence_counts_verdicts() -> None:
    tested = later_step().tested
    for verdicts, sentence in (
        ([0, 0, 3, 3], "2 entered the reservoir."),
        ([0, 1, 1, 3], "3 entered the reservoir, 2 of them in place of weaker ones."),
        ([1, 3, 3, 3], "1 entered the reservoir in place of a weaker one."),
        ([2, 2, 2, 3], "3 violated, but none exceeded the weakest edge of the full reservoir."),
        ([3, 3, 3, 3], "none violated."),
    ):
        four = dataclasses.replace(
            tested,
            edges=np.zeros((4, 2), dtype=np.int32),
            scores=np.zeros(4),
            verdicts=np.array(verdicts, dtype=np.int8),
        )
        words = step_words(later_step(tested=four, tests=4), LEARNERS["choosy"], TABLE.names)
        assert words.startswith(f"Tested 4 pairs; {sentence}")


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        (0.0034952, 0.0035, "0.003495"),
        (0.0035004, 0.0035, "0.0035004"),
        (0.0035, 0.0035, "0.00350"),
        (0.00348, 0.0035, "0.00348"),
        (0.011, 0.0035, "0.0110"),
        (-0.0034952, -0.0035, "−0.003495"),
    ],
)
def test_rounded_score_stays_on_its_side_of_threshold(
    value: float, limit: float, text: str
) -> None:
    assert score(value, limit) == text


def test_sentence_of_outcome_states_what_is_proven() -> None:
    run = finished(BestChoice(preset="paper", lam=0.03))
    assert run.outcome.converged
    assert outcome_words(run.outcome) == run.result().stop_reason
    stopped = known("edge grafting").outcome
    assert score(stopped.certificate.worst_score) in outcome_words(stopped)
    part = dataclasses.replace(
        stopped, certificate=stopped.certificate._replace(scored=3), bp_restart_gap=0.25
    )
    assert "Only 3 of 51 inactive edges were scored" in outcome_words(part)
    assert "0.250" in outcome_words(part)


def test_options_of_branch_apply_after_its_step() -> None:
    before, after = BestChoice(alpha=1.0, max_edges=9), BestChoice(alpha=0.0, max_edges=9)
    run = Run(TABLE, before, branch=(2, after))
    assert [learner_at(run, t) for t in (0, 1, 2, 3)] == [before, before, before, after]
    from_start = Run(TABLE, before, branch=(0, after))
    assert [learner_at(from_start, t) for t in (0, 1)] == [after, after]


# ------------------------------------------------------------------------------------- answers


SEEN = {
    "belief": BestChoice(preset="paper", lam=1e-3, max_edges=15),
    "sqrt": BestChoice(preset="paper", lam=5e-3, group_weight="sqrt", max_edges=15),
    "rows": BestChoice(preset="paper", score="pseudo-likelihood", lam=4e-3, max_edges=20),
    "best": BestChoice(preset="best", t_max=12),
    "best, penalised nodes": BestChoice(preset="best", t_max=12, penalise_nodes=True),
}


@pytest.mark.parametrize("learner", SEEN.values(), ids=SEEN)
def test_scores_equal_those_of_the_learner(learner: BestChoice) -> None:
    run = finished(learner)
    compared = 0
    for step in run.steps:
        test = step.test
        assert test is not None
        for (i, j), seen in zip(step.tested.edges.tolist(), step.tested.scores, strict=True):
            if len(step.removed):
                continue
            answer = why_not(run, i, j, step.index - 1)
            assert answer["violates"] == (seen > test.lam)
            assert answer["threshold"] >= test.lam
            assert (answer["symbol"] == "λ") == (answer["threshold"] == test.lam)
            # What does not pass is reported as its share of the threshold, times λ.
            unit = 1.0 if answer["violates"] else test.lam / answer["threshold"]
            assert unit * answer["score"] == pytest.approx(seen, rel=1e-3, abs=1e-7)
            compared += 1
    assert compared > 30


def asked_of(run: Run, t: int) -> ActivationTest:
    test = run.steps[max(t, 1) - 1].test
    assert test is not None
    return test


def test_pairs_are_explained_at_every_step(run: Run) -> None:
    for t in (0, 1, 2, len(run.steps) // 2, len(run.steps)):
        active = {tuple(edge) for edge in run.steps[t - 1].active_edges().tolist()} if t else set()
        for i, j in itertools.combinations(range(N), 2):
            if (i, j) in active:
                with pytest.raises(InputError, match=f"is active at step {t}"):
                    why_not(run, i, j, t)
                continue
            answer = why_not(run, j, i, t)
            assert answer["names"] == [f"x{i}", f"x{j}"]
            assert answer["truth"] is None
            end = "so it violates." if answer["violates"] else "so it does not violate."
            assert answer["words"].endswith(end)
            logged = [
                (step.index, float(value))
                for step in run.steps[:t]
                for edge, value in zip(step.tested.edges.tolist(), step.tested.scores, strict=True)
                if edge == [i, j]
            ]
            if isinstance(run.learner, EdgeGrafting):
                assert answer["tests"] == t
            else:
                assert answer["tests"] == len(logged)
                assert (answer["last_test"] is None) == (not logged)
            if logged:
                last = answer["last_test"]
                assert last["t"] == logged[-1][0]
                if last["score"] is None:
                    test = run.steps[last["t"] - 1].test
                    assert test.significance > 0
                    assert logged[-1][1] <= test.lam
                else:
                    assert last["score"] == logged[-1][1]


def reasons(run: Run) -> str:
    sentences = []
    for step in run.steps:
        groups = [step.replaced, step.dropped, step.skipped_adjacent]
        if step.reservoir is not None:
            groups.append(step.reservoir.edges)
        active = {tuple(edge) for edge in step.active_edges().tolist()}
        edges = {tuple(edge) for group in groups for edge in group.tolist()} - active
        sentences += [why_not(run, i, j, step.index)["words"] for i, j in sorted(edges)]
    return "\n".join(sentences)


def test_reasons_for_missing_edges() -> None:
    assert "below τ = " in reasons(known("choosy"))
    assert re.search(r"shares a variable with x\d+ – x\d+, chosen", reasons(known("greedy")))
    assert "displaced by a better edge" in reasons(known("small reservoir"))
    assert "the largest score" in why_not(known("edge grafting"), 0, 11, 3)["words"]
    assert "has not been tested: 1 test " in why_not(known("first hit"), 0, 11, 1)["words"] or (
        known("first hit").steps[0].tests != 1
    )


def test_edge_that_no_longer_violates_is_explained() -> None:
    run = finished(
        BestChoice(preset="paper", alpha=1.0, lam=0.02, t_max=2, first_tests=20, max_edges=4)
    )
    first = run.steps[0].tested
    later = [edge for step in run.steps[1:] for edge in step.tested.edges.tolist()]
    rejected = first.edges[first.verdicts == PASSED]
    left = next(edge for edge in rejected.tolist() if edge not in later)
    run.steps[2] = dataclasses.replace(run.steps[2], dropped=np.array([left]))
    words = why_not(run, *left, 4)["words"]
    assert "after step 2 it no longer violated and was removed" in words


def test_edges_are_explained(run: Run) -> None:
    last = len(run.steps)
    for step in run.steps:
        for edge in step.activated:
            answer = why_edge(run, edge.target, edge.source, last)
            assert answer["since"] == step.index
            assert answer["score_at_activation"] == edge.score
            assert score(edge.score) in answer["words"]
            weights = np.array(answer["weights"])
            np.testing.assert_allclose(weights.sum(axis=0), 0, atol=1e-9)
            np.testing.assert_allclose(weights.sum(axis=1), 0, atol=1e-9)
            assert all(weight > 0 for _, _, weight in answer["attract"])
            assert all(weight < 0 for _, _, weight in answer["repel"])
            assert answer["tests"] >= 1
            with pytest.raises(InputError, match="is not active"):
                why_edge(run, edge.source, edge.target, step.index - 1)


def test_attracting_and_repelling_states_are_named() -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 2, size=500)
    b = np.where(rng.random(500) < 0.9, 1 - a, a)
    c = rng.integers(0, 2, size=500)
    table = DiscreteTable(np.stack([a, b, c]), ("rain", "sun", "coin"), (("no", "yes"),) * 3)
    run = finished_run(table, EdgeGrafting(lam=0.01), truth=[(0, 1), (1, 2)])
    answer = why_edge(run, 0, 1, 1)
    assert answer["truth"] is True
    assert {(x, y) for x, y, _ in answer["attract"]} == {("no", "yes"), ("yes", "no")}
    assert {(x, y) for x, y, _ in answer["repel"]} == {("no", "no"), ("yes", "yes")}
    assert "attracts sun = " in answer["words"]
    assert why_not(run, 0, 2, 1)["truth"] is False
    assert why_not(run, 1, 2, 1)["truth"] is True


def test_nodes_are_described(run: Run) -> None:
    last = len(run.steps)
    degrees = run.steps[-1].degrees()
    for i in range(N):
        answer = node_facts(run, i, last)
        assert answer["degree"] == degrees[i] == len(answer["partners"])
        assert answer["rank"] == 1 + (degrees > degrees[i]).sum()
        assert sum(answer["marginal"]) == pytest.approx(1)
        # Node weights are not penalised, so beliefs match the data.
        np.testing.assert_allclose(answer["marginal"], answer["data"], atol=1e-3)
        norms = [partner["norm"] for partner in answer["partners"]]
        assert norms == sorted(norms, reverse=True)
    assert node_facts(run, 0, 0)["partners"] == []


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (lambda run: why_not(run, 0, 0, 1), "two different variables"),
        (lambda run: why_not(run, 0, 99, 1), "no variable 99"),
        (lambda run: node_facts(run, -1, 1), "no variable -1"),
        (lambda run: node_facts(run, 0, 999), "Step 999 has not been made"),
        (lambda run: why_edge(run, 0, 1, -1), "Step -1 has not been made"),
    ],
)
def test_invalid_questions_are_refused(question, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        question(known("choosy"))


def test_questions_about_run_without_edges_are_answered() -> None:
    run = Run(TABLE, EdgeGrafting(lam=0.9))
    with pytest.raises(InputError, match="Nothing has been learned yet"):
        node_facts(run, 0, 0)
    assert not run.advance()
    assert why_not(run, 0, 1, 0)["words"].startswith("No step has been made yet.")


# ------------------------------------------------------------------------- κ, and edges taken out


def test_pair_is_told_what_multiple_of_its_noise_it_needs() -> None:
    run = known("best edge grafting")
    significance = run.steps[0].test.significance
    symbol = f"κ = {significance:g}"
    words = words_of(run, 2)
    assert f"of those above {symbol} standard deviations the largest, " in words
    assert f"above {symbol} standard deviations" in words_of(known("best, first hit"), 1)
    assert f"were above {symbol} standard deviations" in words_of(known("best"), 1)
    assert re.search(
        rf"{symbol} and λ = [\d.e-]+ \(best of \d+: x\d+ – x\d+, [\d.]+ % of the threshold\)\.",
        run.result().stop_reason,
    )
    answer = why_not(run, 0, 11, len(run.steps))
    assert answer["symbol"] == "its own limit"
    found = re.search(
        r"its score is [\d.e-]+, ([\d.]+) times its noise; a pair with these states needs "
        r"([\d.]+), so it does not",
        answer["words"],
    )
    assert found
    multiple, needed = map(float, found.groups())
    assert multiple / needed == pytest.approx(answer["score"] / answer["threshold"], rel=0.01)
    both = [TABLE.state_counts(i) for i in (0, 11)]
    test = pair_test(np.concatenate(both), np.cumsum([0, *map(len, both)]), 800, significance)
    assert needed == pytest.approx(threshold_of(test, 0, 1), rel=0.01)


def test_pair_with_few_rows_in_deviating_states_is_explained() -> None:
    """Check a pair with three rows, instead of 0.4, in the rare states of both variables."""
    codes = np.zeros((500, 3), dtype=int)
    codes[:3, :2] = codes[3:5, [0]] = codes[5:42, [1]] = 1
    codes[::2, 2] = 1
    run = finished_run(DiscreteTable.from_codes(codes), EdgeGrafting(significance=3.5))
    answer = why_not(run, 0, 1, 0)
    assert not answer["violates"]
    assert answer["score"] <= answer["threshold"]
    assert answer["words"].endswith(
        "but too few rows are in the states that deviate, so it does not violate."
    )


def test_pair_that_cannot_vary_is_explained() -> None:
    codes = TABLE.codes.T.copy()
    codes[:, 4] = 0
    run = finished_run(DiscreteTable.from_codes(codes), EdgeGrafting())
    answer = why_not(run, 3, 4, 1)
    assert not answer["violates"]
    assert answer["words"].endswith("; the pair cannot vary, so it does not violate.")


def test_tiny_significant_score_is_compared_with_lambda() -> None:
    run = finished(EdgeGrafting(lam=0.02))
    found = [why_not(run, i, j, 0) for i, j in itertools.combinations(range(N), 2)]
    reason = "but the score is not above λ = 0.02, so it does not violate."
    tiny = [answer for answer in found if answer["words"].endswith(reason)]
    assert tiny
    for answer in tiny:
        assert not answer["violates"]
        assert answer["symbol"] == "λ"
        assert answer["score"] <= answer["threshold"] == 0.02


def test_last_sentence_lists_edges_dropped_by_final_fit() -> None:
    """Check with first hit, which activates edges that later edges make redundant."""
    run = finished(FirstHit(preset="paper", lam=2e-3, refit=True, significance=3.0), seed=1)
    dropped = len(run.outcome.dropped_at_the_end)
    assert dropped > 0
    removed = "1 edge" if dropped == 1 else f"{dropped} edges"
    assert f"The final fit removed {removed}" in outcome_words(run.outcome)
    assert run.outcome.objective_name == "pseudo-likelihood"


def test_overfitting_note_names_step_of_lowest_held_out_loss() -> None:
    rows = TABLE.n_rows
    train, test = TABLE.split(1 - 60 / rows, seed=1)
    learner = BestChoice(preset="paper", lam=1e-5, lam2=1e-6, max_edges=66)
    run = finished_run(train, learner, test=test)
    losses = [run.start.nlpl_test, *(each.nlpl_test for each in run.metrics)]
    best = int(np.argmin(losses))
    assert losses[-1] > losses[best] + 0.1, "60 rows of 12 variables should overfit"
    words = overfitting_words(run)
    assert (f"after step {best}" if best else "without edges") in words
    assert f"({losses[best]:.4g}) and has risen to {losses[-1]:.4g}" in words
    cautious = dataclasses.replace(learner, lam=0.05)
    assert overfitting_words(finished_run(train, cautious, test=test)) == ""
    assert overfitting_words(finished_run(train, learner)) == "", "nothing is held out"
