"""Judges of the paper on localized inference, on made-up results whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from graftviz.experiments.reproduction import (
    cora_verdicts as cora_judged,
    dobrushin,
    region_verdicts as judged,
)
from graftviz.experiments.reproduction.cora import (
    METHODS,
    CoraLabels,
    CoraPart,
    Quality,
    labels,
    quality,
)
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.experiment import NotMeasured
from graftviz.experiments.reproduction.regions import (
    GREEDY,
    MEAN_FIELD,
    NORM,
    RANDOM,
    RULES,
    GridPanel,
    Regions,
    RegionsPart,
    largest_ratio,
    region_errors,
)
from graftviz.figures.reproduction_localized import Plane, plane_figure, series_figure

SIZES = np.arange(1, 9)
TRIALS = 20


def panel(field=1.0, side=6):
    return GridPanel(side, field, 0.3, TRIALS)


def regions(levels, where=None):
    """Return made-up results: (error, bound) of every rule at size 1; both fall as 1 / size."""
    where = where or panel()
    noise = 1.0 + 0.01 * np.random.default_rng(3).random((TRIALS, 1))
    return {
        RegionsPart(where, rule, 0): {
            "errors": (noise * error / SIZES).tolist(),
            "bounds": (noise * bound / SIZES).tolist(),
        }
        for rule, (error, bound) in levels.items()
    }


AS_IN_THE_PAPER = {
    GREEDY: (0.01, 0.1),
    MEAN_FIELD: (0.011, 0.08),
    RANDOM: (0.2, 0.5),
    NORM: (0.15, 0.4),
}


def but(**changes):
    by_name = {"greedy": GREEDY, "mean_field": MEAN_FIELD, "random": RANDOM, "norm": NORM}
    return AS_IN_THE_PAPER | {by_name[name]: levels for name, levels in changes.items()}


@pytest.mark.parametrize(
    ("judge", "good", "partly", "bad"),
    [
        (
            judged.greedy_beats_baselines,
            AS_IN_THE_PAPER,
            but(norm=(0.01, 0.4)),
            but(norm=(0.005, 0.05), random=(0.01, 0.1)),
        ),
        (judged.same_error_with_mean_field, AS_IN_THE_PAPER, None, but(mean_field=(0.02, 0.08))),
        (judged.same_error_with_mean_field, AS_IN_THE_PAPER, None, but(mean_field=(0.005, 0.08))),
        (judged.tighter_bound_with_mean_field, AS_IN_THE_PAPER, None, but(mean_field=(0.01, 0.1))),
        (
            judged.errors_beyond_greedy_bounds,
            AS_IN_THE_PAPER,
            but(random=(0.01, 0.5)),
            but(random=(0.01, 0.5), norm=(0.01, 0.5)),
        ),
        (judged.bounds_hold, AS_IN_THE_PAPER, None, but(norm=(0.41, 0.4))),
    ],
)
def test_rules_are_compared(judge, good, partly, bad) -> None:
    assert judge(regions(good)).held is True
    assert judge(regions(bad)).held is False
    if partly is not None:
        assert judge(regions(partly)).held == "partly"


def test_one_error_above_its_bound_is_found() -> None:
    results = regions(AS_IN_THE_PAPER)
    part = next(iter(results))
    results[part]["errors"][7][3] = results[part]["bounds"][7][3] + 1e-6
    found = judged.bounds_hold(results)
    assert (found.held, found.numbers["exceeded"]) == (False, 1)
    assert found.numbers["regions"] == len(RULES) * TRIALS * len(SIZES)
    assert found.numbers["largest_error_to_bound"] > 1.0


def test_single_regions_beyond_the_bound_are_found_where_means_are_not() -> None:
    results = regions(but(random=(0.01, 0.5), norm=(0.01, 0.5)))
    for part in results:
        if part.rule in (RANDOM, NORM):
            results[part]["errors"][0][2] = 0.4
    found = judged.errors_beyond_greedy_bounds(results)
    assert found.held == "partly"
    shares = [value["share_of_regions"] for value in found.numbers["panels"].values()]
    assert shares == [1 / (TRIALS * len(SIZES))] * 2


def over_fields(errors, bounds):
    results = {}
    for k, (error, bound) in enumerate(zip(errors, bounds, strict=True)):
        levels = {GREEDY: (error, bound), MEAN_FIELD: (error, bound)}
        results |= regions(levels, panel(field=float(k + 1)))
    return results


def test_bounds_and_errors_are_followed_over_the_fields() -> None:
    falling = over_fields((0.2, 0.1, 0.05), (1.6, 0.8, 0.1))
    assert judged.fall_with_stronger_fields(falling).held is True
    assert judged.tight_for_strong_fields(falling).held is True
    apart = over_fields((0.2, 0.1, 0.0001), (1.6, 0.8, 0.1))  # close, but a thousand times as far
    assert judged.tight_for_strong_fields(apart).held == "partly"
    rising = over_fields((0.05, 0.1, 0.2), (0.1, 0.8, 2.0))
    assert judged.fall_with_stronger_fields(rising).held is False
    assert judged.tight_for_strong_fields(rising).held is False
    half = over_fields((0.05, 0.1, 0.2), (1.6, 0.8, 0.3))
    assert judged.fall_with_stronger_fields(half).held == "partly"
    assert "rising up to T₁ = 3" in judged.fall_with_stronger_fields(half).sentence
    nowhere = over_fields((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    assert judged.fall_with_stronger_fields(nowhere).held is False
    with pytest.raises(NotMeasured, match="At least two values of T₁"):
        judged.fall_with_stronger_fields(regions(AS_IN_THE_PAPER))


def test_what_was_not_measured_is_not_judged() -> None:
    only_greedy = regions({GREEDY: (0.1, 0.2)})
    for judge in (judged.greedy_beats_baselines, judged.same_error_with_mean_field):
        with pytest.raises(NotMeasured, match="was not measured on 6 × 6"):
            judge(only_greedy)
    with pytest.raises(NotMeasured):
        judged.bounds_hold({})


def test_the_query_is_the_node_in_the_middle() -> None:
    assert [panel(side=side).query for side in (1, 2, 3, 5, 10)] == [0, 0, 4, 12, 44]


def test_a_bound_of_nothing_with_no_error_is_no_ratio() -> None:
    assert largest_ratio(np.array([0.0, 0.1]), np.array([0.0, 0.4])) == 0.25
    assert largest_ratio(np.zeros(2), np.zeros(2)) == 0.0


def test_regions_on_a_grid_are_measured_within_their_bounds() -> None:
    where = GridPanel(4, 1.0, 0.3, 3)
    results = {}
    for rule in RULES:
        part = RegionsPart(where, rule, 1)
        results[part] = part.measure(Data(), lambda done: None)
        found = region_errors(results, where, rule)
        assert found.errors.shape == found.bounds.shape == (3, 16)
        # The whole grid: nothing is cut, nothing is wrong.
        assert np.allclose(found.errors[:, -1], 0.0, atol=1e-12)
        assert np.allclose(found.bounds[:, -1], 0.0, atol=1e-12)
        assert found.errors[:, 0].max() > 1e-3
    assert judged.bounds_hold(results).held is True


# --- the plane of c -----------------------------------------------------------------------------


def plane(means, fields=(0.0, 1.0), couplings=(0.1, 0.5, 1.0)):
    return {
        dobrushin.PlanePart(4, 4, coupling, fields, 2, 0): {
            "coefficients": [[value, value] for value in row]
        }
        for coupling, row in zip(couplings, means, strict=True)
    }


def test_the_plane_is_judged_by_its_points() -> None:
    mostly, strong = (claim.judge for claim in dobrushin.CLAIMS)
    as_in_the_paper = plane([[0.1, 0.1], [0.5, 0.4], [1.5, 0.8]])
    assert mostly(as_in_the_paper).held is True
    assert strong(as_in_the_paper).held is True
    assert mostly(as_in_the_paper).numbers["border"] == {"0.0": 0.75, "1.0": None}
    everywhere = plane([[1.1, 1.1], [1.5, 1.4], [1.5, 1.8]])
    assert mostly(everywhere).held is False
    assert strong(everywhere).held == "partly"
    assert strong(plane([[1.1, 1.1], [0.5, 0.4], [0.9, 0.9]])).held is False


def test_figures_draw_what_they_are_given() -> None:
    figure = plane_figure(
        "title",
        Plane([0, 1], [1, 2], [[0.5, 0.6], [1.5, 1.4]]),
        x_title="x",
        y_title="y",
        name="c",
        border=1.0,
    )
    assert [trace.type for trace in figure.data] == ["heatmap", "contour"]
    below = plane_figure(
        "title", Plane([0], [1], [[0.5]]), x_title="x", y_title="y", name="c", border=1.0
    )
    assert [trace.type for trace in below.data] == ["heatmap"]
    study = Regions({}, RULES, "size")
    drawn = study.figure("title", regions(AS_IN_THE_PAPER))
    assert len(drawn.data) == 2 * len(RULES)
    assert {trace.name.partition(":")[0] for trace in drawn.data} == {"bound", "error"}
    looks = {(trace.line.dash, trace.marker.symbol) for trace in drawn.data}
    assert len(looks) == len(drawn.data)  # nobody needs the colours
    over = Regions({}, RULES[:2], "field").figure("title", over_fields((0.2, 0.0), (1.0, 0.5)))
    # An error of nothing has no place on a logarithmic axis.
    assert all(trace.y[1] is None for trace in over.data if trace.name.startswith("error"))
    assert len(series_figure("title", []).data) == 0


# --- Cora ---------------------------------------------------------------------------------------

TRUTH = np.arange(100) % 4 == 0


def answers(wrong):
    """Return results in which methods have so many wrong labels, by method, at T = 1, 2, …"""
    results = {}
    for method, counts in wrong.items():
        for k, count in enumerate(counts):
            found = TRUTH.copy()
            found[:count] = ~found[:count]
            results[CoraPart(k + 1.0, method, len(TRUTH), 0)] = {
                "truth": np.where(TRUTH, 1, -1).tolist(),
                "positive": np.where(found, 0.9, 0.1).tolist(),
            }
    return results


def of_all(whole, local):
    return answers(dict(zip(METHODS, (whole, whole, local, local), strict=True)))


def test_labels_are_compared_with_the_truth_and_with_each_other() -> None:
    good = of_all(whole=(44, 24, 4), local=(40, 22, 4))
    for judge in (
        cora_judged.accuracies_rise,
        cora_judged.local_agrees_with_global,
        cora_judged.agreement_rises,
    ):
        assert judge(good).held is True
    better = of_all(whole=(0, 0, 0), local=(40, 20, 0))
    assert cora_judged.quality_rises(better).held is True
    falling = of_all(whole=(4, 24, 44), local=(4, 38, 64))
    for judge in (
        cora_judged.accuracies_rise,
        cora_judged.agreement_rises,
        cora_judged.quality_rises,
    ):
        assert judge(falling).held is False
    mixed = cora_judged.local_agrees_with_global(falling)
    assert mixed.held == "partly"
    assert "below 90% at T = 2, 3" in mixed.sentence
    flat = of_all(whole=(5, 5, 4), local=(5, 5, 4))  # it rises, but by no more than chance does
    assert cora_judged.accuracies_rise(flat).held is False
    with pytest.raises(NotMeasured, match="Several strengths"):
        cora_judged.accuracies_rise(of_all(whole=(4,), local=(4,)))


def test_quality_is_that_of_its_definition() -> None:
    found, wanted = np.array([1, 1, 1, 0, 0], bool), np.array([1, 0, 1, 1, 1], bool)
    assert quality(found, wanted) == Quality(2 / 3, 1 / 2, 4 / 7)
    nothing = np.zeros(5, bool)
    assert quality(nothing, wanted) == Quality(None, 0.0, 0.0)
    assert quality(nothing, nothing) == Quality(None, None, None)


def test_a_marginal_of_one_half_gives_no_positive_label() -> None:
    results = of_all(whole=(4,), local=(4,))
    part = next(iter(results))
    results[part]["positive"][:3] = [0.5, 0.5 + 1e-12, 0.51]
    assert labels(results, 1.0, part.method).found[:3].tolist() == [False, False, True]


def test_answers_outside_of_a_local_bound_are_proven_wrong() -> None:
    results = of_all(whole=(4,), local=(4,))
    for part, result in results.items():
        if part.method.startswith("local"):
            result |= {"bound": [0.1] * 100, "size": [16] * 100, "papers": 100, "citations": 99}
        elif part.method == "bp":
            result["positive"] = [value + 0.05 for value in result["positive"]]
            result["positive"][:2] = [0.5, 0.5]
    drop, mean_field = CoraLabels({}, "accuracy").summary(results)
    for run_values in (drop, mean_field):
        assert run_values["proven_wrong_of_global belief propagation"] == 2
        assert run_values["proven_wrong_of_global mean field"] == 0
        assert run_values["share_of_certain_labels"] == 1.0
    del results[next(part for part in results if part.method == "bp")]
    assert "proven_wrong_of_global belief propagation" not in str(
        CoraLabels({}, "accuracy").summary(results)
    )


def test_all_lines_of_cora_can_be_told_apart() -> None:
    results = of_all(whole=(44, 24, 4), local=(40, 22, 4))
    drawn = CoraLabels({}, "accuracy").figure("title", results)
    assert len({(trace.line.dash, trace.marker.symbol) for trace in drawn.data}) == 6
    assert len(CoraLabels({}, "quality").figure("title", results).data) == 6
