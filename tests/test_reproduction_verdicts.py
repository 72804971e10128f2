"""Verdicts are correct for made-up curves whose verdict is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from graftviz.experiments.bench import Size
from graftviz.experiments.reproduction import counts, quality, ranks, tuning, verdicts as judged
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.experiment import NotMeasured
from graftviz.experiments.reproduction.runs import (
    ALPHAS,
    MEASURES,
    LearnerPart,
    Panel,
    all_methods,
    baselines,
    best_choice,
    hub_methods,
)
from graftviz.runs import Run

N = 20
STEPS = 5


def panel(nodes=N, edges=10):
    return Panel(Size(nodes, 100, held_out=10), edges)


def curve(**ends):
    """Return a run that walks in equal steps from nothing to its ends."""
    ends = {
        **{"seconds": 1.0, "tests": 100, "tables": 100, "edges": 10},
        **{"objective": 50.0, "recall": 0.5, "nlpl": 50.0},
        **ends,
    }
    starts = dict.fromkeys(MEASURES, 0.0) | {"objective": 100.0, "nlpl": 100.0}
    points = {name: np.linspace(starts[name], ends[name], STEPS + 1).tolist() for name in MEASURES}
    more = {"steps": STEPS, "converged": True, "tables_possible": N * (N - 1) // 2}
    return {"points": points, "end": {**ends, **more}}


def results(of, shown=None, methods=None):
    """Return made-up results: ``of(method, panel)`` gives the ends that differ from the usual."""
    return {
        LearnerPart(where, method, 0): curve(**of(method, where))
        for where in shown or (panel(),)
        for method in methods or all_methods()
    }


def by_alpha(quantity, values, **baseline):
    """Return ends that differ by α, and those of both baselines."""

    def of(method, _):
        if method.alpha is None:
            return baseline.get(method.name.replace(" ", "_"), {})
        return {quantity: values[ALPHAS.index(method.alpha)]}

    return of


def held(judge, found):
    verdict = judge(found)
    assert verdict.sentence.endswith(".")
    assert verdict.numbers
    return verdict.held


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [((1, 1, 1, 1, 1), True), ((1, 2, 3, 4, 5), "partly"), ((4, 4, 5, 6, 7), False)],
)
def test_faster_is_judged_at_every_alpha(seconds, wanted):
    found = results(by_alpha("seconds", seconds, edge_grafting={"seconds": 3.0}))
    judge = judged.faster_than_edge_grafting()
    assert held(judge, found) == wanted
    slow = [f"{alpha:g}" for alpha, time in zip(ALPHAS, seconds, strict=True) if time >= 3]
    named = "not being faster at α = " + ", ".join(slow)
    assert (named in judge(found).sentence) == bool(slow)


def test_fewer_operations_are_judged_by_counts_and_not_by_time():
    of = by_alpha("seconds", (9, 9, 9, 9, 9), edge_grafting={"tests": 1000, "tables": 190})
    assert held(judged.fewer_operations(), results(of)) is True
    of = by_alpha("tests", (10, 10, 10, 10, 2000), edge_grafting={"tests": 1000, "tables": 190})
    assert held(judged.fewer_operations(), results(of)) == "partly"


@pytest.mark.parametrize(("whole", "wanted"), [((2, 4, 9), True), ((4, 3, 2), False)])
def test_the_gap_grows_from_panel_to_panel(whole, wanted):
    shown = [panel(n) for n in (20, 40, 80)]

    def of(method, where):
        is_whole = method.name == "edge grafting"
        return {"seconds": float(whole[shown.index(where)])} if is_whole else {}

    assert held(judged.gap_grows(), results(of, shown)) == wanted
    with pytest.raises(NotMeasured, match="One size alone"):
        judged.gap_grows()(results(of, shown[:1]))


@pytest.mark.parametrize(("seconds", "wanted"), [(9.0, True), (4.0, "partly"), (1.2, False)])
def test_so_many_times_as_long_is_about_one_size(seconds, wanted):
    of = by_alpha("seconds", (1, 1, 1, 1, 1), edge_grafting={"seconds": seconds})
    judge = judged.many_times_as_long(10.0, N)
    assert held(judge, results(of)) == wanted
    with pytest.raises(NotMeasured, match="20 variables were not measured"):
        judge(results(of, [panel(21)]))


@pytest.mark.parametrize(
    ("quantity", "good", "bad"),
    [
        ("recall", (0.1, 0.2, 0.3, 0.4, 0.5), (0.5, 0.4, 0.3, 0.2, 0.1)),
        ("objective", (60.0, 58.0, 56.0, 54.0, 50.0), (60.0, 58.0, 62.0, 54.0, 50.0)),
        ("nlpl", (60.0, 58.0, 56.0, 54.0, 50.0), (50.0, 52.0, 54.0, 56.0, 60.0)),
    ],
)
def test_better_with_alpha_wants_quality_and_time(quantity, good, bad):
    def of(values, *, slower):
        def ends(method, where):
            if method.alpha is None:
                return {}
            time = 1.0 + method.alpha if slower else 2.0 - method.alpha
            return {**by_alpha(quantity, values)(method, where), "seconds": time}

        return ends

    judge = quality.better_with_alpha(quantity)
    assert held(judge, results(of(good, slower=True))) is True
    assert held(judge, results(of(good, slower=False))) == "partly"
    assert held(judge, results(of(bad, slower=True))) == "partly"
    assert held(judge, results(of(bad, slower=False))) is False


def test_first_hit_is_quick_but_poor_when_it_is():
    judge = quality.quick_but_poor("recall")
    quick = {"seconds": 0.1, "recall": 0.1}
    slow = {"seconds": 7.0, "recall": 0.9}
    for ends, wanted in ((quick, True), (slow, False), ({**quick, "seconds": 7.0}, "partly")):
        assert held(judge, results(by_alpha("tests", (1, 1, 1, 1, 1), first_hit=ends))) == wanted


def test_first_hit_converges_last_when_it_does():
    judge = judged.first_hit_converges_last()
    for seconds, wanted in ((9.0, True), (2.0, "partly"), (0.5, False)):
        of = by_alpha("seconds", (1, 1, 1, 1, 3), first_hit={"seconds": seconds})
        assert held(judge, results(of)) == wanted


def test_the_same_objective_is_the_same_to_a_thousandth():
    judge = judged.same_objective()
    near, far = (50.0, 50.01, 50.0, 50.0, 50.0), (50.0, 50.0, 50.0, 50.0, 51.0)
    assert held(judge, results(by_alpha("objective", near))) is True
    assert held(judge, results(by_alpha("objective", far))) is False


def test_alpha_costs_less_objective_than_recall_or_not():
    def of(loss):
        def ends(method, _):
            alpha = 1.0 if method.alpha is None else method.alpha
            return {"objective": 50.0 + loss * (1.0 - alpha), "recall": 0.2 + 0.3 * alpha}

        return ends

    assert held(quality.small_loss_by_alpha(), results(of(1.0))) is True
    assert held(quality.small_loss_by_alpha(), results(of(40.0))) is False
    assert held(quality.alpha_matters(), results(of(40.0))) is True
    assert held(quality.alpha_matters(), results(of(1.0))) is False


def test_correlation_and_overfitting_are_seen_along_the_runs():
    falling = results(lambda *_: {})
    assert held(quality.objective_and_nlpl_fall_together(), falling) is True
    assert held(quality.no_overfitting(), falling) is True
    for result in falling.values():
        result["points"]["nlpl"] = [100.0, 40.0, 45.0, 50.0, 55.0, 60.0]
    assert held(quality.objective_and_nlpl_fall_together(), falling) is False
    assert held(quality.no_overfitting(), falling) is False
    for result in falling.values():
        result["points"]["nlpl"] = [None] * (STEPS + 1)
    with pytest.raises(NotMeasured, match="held-out rows"):
        quality.no_overfitting()(falling)


def test_edge_grafting_starts_late_when_counting_takes_long():
    found = results(lambda *_: {})
    whole = next(result for part, result in found.items() if part.method.name == "edge grafting")
    judge = judged.edge_grafting_starts_late()
    assert held(judge, found) is False
    whole["points"]["seconds"] = [0.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    assert held(judge, found) is True


def test_the_hub_rule_helps_where_recall_is_higher_at_the_same_edges():
    def of(gains):
        def ends(method, _):
            gain = 0.0 if "no hub rule" in method.name else gains[ALPHAS.index(method.alpha)]
            return {"recall": 0.4 + gain}

        return ends

    judge = quality.hubs_help()
    shown = {"methods": hub_methods()}
    assert held(judge, results(of((0.2,) * 5), **shown)) is True
    assert held(judge, results(of((0.0,) * 5), **shown)) is False
    some = judge(results(of((0.2, 0.1, -0.05, 0.0, 0.0)), **shown))
    assert some.held == "partly"
    assert "no gain at α = 0.5, 0.75, 1" in some.sentence
    # Recall rises in a line from 0, so its mean over all edges is half of what it ends with.
    assert some.numbers["panels"]["20 nodes, 10 edges"]["0"]["with"] == pytest.approx(0.3)


def test_nothing_is_judged_without_results():
    judges = [
        judged.faster_than_edge_grafting(),
        quality.better_with_alpha("recall"),
        judged.same_objective(),
        quality.hubs_help(),
        *(claim.judge for claim in (*ranks.CLAIMS, *counts.CLAIMS, *tuning.CLAIMS)),
    ]
    for judge in judges:
        with pytest.raises(NotMeasured):
            judge({})
    with pytest.raises(NotMeasured, match="edge grafting with 20 nodes, 10 edges"):
        judged.faster_than_edge_grafting()(results(lambda *_: {}, methods=[best_choice(0.5)]))


def test_the_expected_rank_is_the_mean_over_all_reservoirs():
    n, largest = 5, 4
    part = ranks.RanksPart(n, largest, 400, 0)
    found = part.measure(Data(), lambda done: None)
    study = ranks.ReservoirRanks({})
    rows = list(study.rows({part: found}))[1:]
    for size, mean, expected, least, most in rows:
        everything = [min(draw) for draw in itertools.combinations(range(1, 11), size)]
        assert expected == pytest.approx(np.mean(everything))
        assert abs(mean - expected) < 5 * np.std(everything) / np.sqrt(400)
        assert least >= 1
        assert most <= max(everything)


def test_counts_are_those_of_the_run():
    size = Size(12, 300, held_out=20)
    data, where = Data(), Panel(size, 5)
    found = {}
    for method in (baselines()[0], best_choice(1.0)):
        part = LearnerPart(where, method, 0, held_out=False)
        found[part] = part.measure(data, lambda done: None)
        run = Run(data.problem(part.size).train, where.learner(method))
        while run.advance():
            pass
        row = next(
            row for row in counts.Counts({}, ()).rows({part: found[part]}) if row[0] == method.name
        )
        later = [step.tests for step in run.steps[1:]]
        assert row[1:4] == (12, 5, None if method.alpha is None else 3)
        assert row[4:6] == (run.steps[0].tables_counted, run.steps[-1].tables_counted)
        assert row[6] == pytest.approx(np.mean(later))
        assert row[7] == max(later)
    with pytest.raises(NotMeasured, match="two sizes"):
        counts.CLAIMS[0].judge(found)


def test_curves_begin_with_the_model_without_edges_and_end_where_the_run_did():
    size = Size(10, 300, held_out=40)
    data = Data()
    part = LearnerPart(Panel(size, 8), baselines()[0], 0)
    found = part.measure(data, lambda done: None)
    points, problem = found["points"], data.problem(part.size)
    run = Run(
        problem.train, part.panel.learner(part.method), test=problem.test, truth=problem.truth
    )
    while run.advance():
        pass
    assert run.start is not None
    assert points["edges"] == [0, 0, *range(1, 9)]  # it counts all pairs before the first
    assert points["tables"] == [0, *[45] * 9]
    assert points["objective"] == [run.steps[0].previous_objective] * 2 + [
        step.objective for step in run.steps
    ]
    assert points["nlpl"][0] == run.start.nlpl_test
    assert points["recall"][-1] == run.metrics[-1].recall
    assert points["seconds"] == sorted(points["seconds"])
    assert found["end"]["seconds"] == points["seconds"][-1]
