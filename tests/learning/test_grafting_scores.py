"""Scores and objectives of the grafting learners against formulas evaluated row by row."""

from __future__ import annotations

import functools

import naive
import numpy as np
import pytest
from learner_cases import (
    CASES,
    PAPER_CASES,
    Recorded,
    drain,
    mixed_table,
    picks,
    plain_scores,
    recorded,
    scale_free_table,
    significance_of,
)

from graftviz.data.table import DiscreteTable
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.grafting.edge_grafting import EdgeGrafting
from graftviz.learning.settings import resolve
from graftviz.utils.errors import InputError

NAMES = ["best-choice", "edge-grafting", "first-hit"]
OTHER_CASES = [case for case in CASES if case not in PAPER_CASES]
every_run = pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name in NAMES for case in OTHER_CASES]
)


def settings_of(run: Recorded):
    return resolve(run.learner, PairCounts(run.table), has_rows=True)


def final_test(run: Recorded):
    """Return the test at the end of a run, which withdraws a lowered κ that does not pay."""
    test, used = run.steps[-1].test, run.outcome.automatic
    if run.learner.lam is not None or not test.significance:
        return test
    return test._replace(significance=used["significance"], lam=used["lam"])


def plain(run: Recorded, model):
    settings = settings_of(run)
    return plain_scores(run.table, model, settings.score, settings.penalty.square_root)


def tolerance(run: Recorded) -> float:
    """Return the rounding error of scores.

    Conditionals are stored in single precision, and thresholds with κ are interpolated.
    """
    settings = settings_of(run)
    if settings.score == "pseudo-likelihood":
        return 1e-3
    return 1e-4 if settings.significance else 1e-5


@every_run
def test_certificate_matches_scores_of_all_pairs(name, case):
    """Check the certificate, whose score is in units of λ / κ if κ decides."""
    run = recorded(name, case)
    test, certificate = final_test(run), run.outcome.certificate
    unit = test.significance / test.lam if test.significance else 1.0
    scores = plain(run, run.outcome.model())
    values = {
        pair: unit * score.effective(test.lam, test.significance) for pair, score in scores.items()
    }
    assert len(run.steps) > 3
    assert certificate.scored == certificate.possible == len(scores)
    assert certificate.worst_score == pytest.approx(max(values.values()), rel=tolerance(run))
    worst = values[certificate.worst_edge]
    assert worst == pytest.approx(max(values.values()), rel=tolerance(run))
    assert certificate.threshold == (test.significance or test.lam)
    assert certificate.symbol == test.symbol == ("κ" if test.significance else "λ")
    assert certificate.score == test.score
    assert run.outcome.converged
    assert max(values.values()) <= certificate.threshold * (1 + tolerance(run))


@every_run
def test_scores_of_step_match_model_of_previous_step(name, case):
    run = recorded(name, case)
    usual = settings_of(run).test
    models = [run.steps[0].history.start, *(step.model() for step in run.steps)]
    exact, earlier = tolerance(run), functools.cache(lambda k: plain(run, models[k]))
    for step in [run.steps[k] for k in (0, 1, len(run.steps) // 2, -1)]:
        if len(step.removed) or any(note.kind == "notes.refitted" for note in step.notes):
            continue
        scores = earlier(step.index - 1)
        lam, significance = step.test.lam, step.test.significance
        assert step.test.score == usual.score
        assert 0.0 <= significance <= usual.significance
        reported = [(edge[:2], edge.score) for edge in step.activated]
        reported += zip(map(tuple, step.tested.edges.tolist()), step.tested.scores, strict=True)
        for pair, score in reported:
            kappa = step.test.significance_of(*pair)
            known = [scores[pair].effective(lam, kappa)]
            if score <= lam and settings_of(run).is_by_rows:
                # A pair that provably still does not violate is not scored again.
                assert known[0] <= lam
                known += (
                    earlier(k)[pair].effective(lam, kappa)
                    for k in range(step.index)
                    if pair in earlier(k)
                )
            assert any(score == pytest.approx(own, rel=exact, abs=1e-3 * lam) for own in known)
        assert all(edge.score > lam for edge in step.activated)
        if name == "edge-grafting":
            best = max(
                each.effective(lam, step.test.significance_of(*pair))
                for pair, each in scores.items()
            )
            assert step.activated[0].score == pytest.approx(best, rel=exact)


@every_run
def test_final_fit_meets_optimality_conditions(name, case):
    run = recorded(name, case)
    settings, outcome, model = settings_of(run), run.outcome, run.outcome.model()
    penalty = settings.penalty
    if settings.objective == "bethe":
        assert outcome.objective_name == "Bethe likelihood"
        return  # checked by the contract of all learners
    assert outcome.objective_name == "pseudo-likelihood"
    lowered = outcome.automatic["significance"] < settings.significance
    lam = outcome.automatic["lam"] if lowered else penalty.lam
    twin = naive.PenalisedPseudoLikelihood(
        run.table.codes, lam, outcome.automatic["lam2"], penalty.square_root, penalty.nodes
    )
    assert outcome.kkt_residual <= 1.2e-5
    # Nearly unpenalised weights are large, and the stored probabilities have single precision.
    assert twin.violation(model) <= (1.5e-5 if outcome.automatic["lam2"] > 1e-5 else 1e-4)
    assert outcome.objective == pytest.approx(twin.objective(model), rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", [case for case in OTHER_CASES if case.startswith("best")])
def test_every_final_edge_violates_if_left_out(name, case):
    run = recorded(name, case)
    model = run.outcome.model()
    test = run.steps[-1].test
    for e in range(model.n_edges):
        norm, share = naive.left_out(model, run.table.codes, e, test.significance)
        joint = model.edge_weights(e).size
        unit = joint**0.5 if run.learner.group_weight == "sqrt" else joint
        assert norm > 0.99 * test.lam * unit
        assert share > 0.99


# Best-choice without limits equals edge grafting for every score.

REDUCED = {
    "belief": {"preset": "paper"},
    "belief, noise": {"preset": "paper", "significance": 3.0},
    "rows": {"preset": "paper", "score": "pseudo-likelihood", "max_edges": 25},
    "rows, noise": {"preset": "paper", "score": "pseudo-likelihood", "significance": 3.0},
    "best": {"preset": "best", "screening": "none"},
    "best, belief": {"preset": "best", "score": "belief", "max_edges": 12, "refit": False},
    "best, refit of Bethe": {"preset": "best", "objective": "bethe"},
}


@pytest.mark.parametrize("options", REDUCED.values(), ids=REDUCED)
@pytest.mark.parametrize("table", ["scale-free", "mixed"])
def test_unlimited_best_choice_picks_the_edges_of_edge_grafting(table, options):
    data = mixed_table(10, 3000) if table == "mixed" else scale_free_table(15, 3, 1000)
    n = data.n_variables
    pairs = n * (n - 1) // 2
    options = {"max_edges": pairs, **options}
    reference = drain(data, EdgeGrafting(**options), seed=5)  # which leaves out the same rows
    limits = {"reservoir": pairs, "t_max": pairs, "first_tests": pairs, "alpha": 1.0}
    reduced = drain(data, BestChoice(**limits, hubs=False, **options), seed=5)
    assert len(reference.steps) > 3
    assert picks(reduced) == picks(reference)
    assert reduced.outcome.objective == pytest.approx(reference.outcome.objective, rel=1e-6)
    assert reduced.outcome.converged == reference.outcome.converged
    ends = [run.outcome.model().edges.tolist() for run in (reduced, reference)]
    assert ends[0] == ends[1]


# Unset options.

BY_DATA = -1.0  # κ that depends on the number of variables
RULES = {
    "best": ({}, ("pseudo-likelihood", "pseudo-likelihood", BY_DATA, True)),
    "paper": ({"preset": "paper"}, ("belief", "bethe", 0.0, False)),
    "another objective": ({"objective": "bethe"}, ("belief", "bethe", 3.0, True)),
    "another score": (
        {"score": "belief"},
        ("belief", "pseudo-likelihood", 3.0, True),
    ),
    "paper by rows": (
        {"preset": "paper", "objective": "pseudo-likelihood"},
        ("pseudo-likelihood", "pseudo-likelihood", 0.0, False),
    ),
    "κ and no refit": (
        {"significance": 1.5, "refit": False},
        ("pseudo-likelihood", "pseudo-likelihood", 1.5, False),
    ),
}


@pytest.mark.parametrize(("options", "resolved"), RULES.values(), ids=RULES)
def test_presets_set_unset_options(options, resolved):
    table = mixed_table(10, 3000)
    counts, usual = PairCounts(table), significance_of(table)
    settings = EdgeGrafting(**options).settings(counts)
    assert settings[:4] == tuple(usual if part == BY_DATA else part for part in resolved)
    assert settings.penalty.lam == (0.0 if settings.significance else settings.lam)
    rows = "pseudo-likelihood" in settings.objective
    expected = 2 / 3000 if rows else 4 / 3000**0.5
    assert settings.penalty.lam2 == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("score", ["belief", "pseudo-likelihood"])
@pytest.mark.parametrize("group_weight", ["count", "sqrt"])
def test_automatic_lambda_is_three_times_score_of_independent_columns(score, group_weight):
    rng = np.random.default_rng(4)
    codes = np.stack([rng.integers(0, 2 + i % 4, size=800) for i in range(40)], axis=1)
    table = DiscreteTable.from_codes(codes)
    options = {"preset": "paper", "score": score, "group_weight": group_weight}
    run = drain(table, EdgeGrafting(**options, lam=0.9))
    scores = plain(run, run.outcome.model())
    noise = np.mean([pair.value for pair in scores.values()])
    lam = EdgeGrafting(**options).settings(PairCounts(table)).lam
    assert lam == pytest.approx(3 * noise, rel=0.1)
    multiples = [pair.tested(3.0)[0] for pair in scores.values()]
    assert np.sqrt(np.mean(np.square(multiples))) == pytest.approx(1.0, abs=0.05)


def test_pseudo_likelihood_without_rows_is_refused():
    counts = PairCounts(mixed_table())
    for options in ({"score": "pseudo-likelihood"}, {"objective": "pseudo-likelihood"}):
        with pytest.raises(InputError, match="The pseudo-likelihood needs the rows in memory"):
            EdgeGrafting(**options).settings(counts, has_rows=False)
    settings = EdgeGrafting().settings(counts, has_rows=False)
    assert settings[:4] == ("belief", "bethe", 3.0, False)


def test_branch_cannot_change_objective():
    steps = EdgeGrafting().steps(mixed_table(10, 3000))
    next(steps)
    with pytest.raises(InputError, match="cannot change its objective"):
        steps.send(EdgeGrafting(preset="paper"))
