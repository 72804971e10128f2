"""Parts of experiments: measured rows, claims and figures."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from claim_rows import LEVELS, accuracies, labels, noise, region_fields, regions, seeds, week

from graftviz import dynamics
from graftviz.dynamics.learners import Dense, SparsityInducing
from graftviz.evaluation.benchmarks.bench import Size
from graftviz.inference.exact.structure import plan_elimination
from graftviz.inference.likelihood import nll, nlpl
from graftviz.inference.methods import infer
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.reports.reproduction import curves
from graftviz.reports.reproduction.claims import frame
from graftviz.reports.reproduction.data import Data
from graftviz.reports.reproduction.experiment import SMALL, TINY, MeasuringTask
from graftviz.reports.reproduction.figures import line_figure, plane_figure, scale_look
from graftviz.reports.reproduction.papers import (
    bounded,
    experiments,
    localized,
    localized_cora as cora,
    thesis_city as city,
    thesis_dynamics as cost,
    thesis_systems as systems,
)
from graftviz.reports.reproduction.papers.best_choice import count_table
from graftviz.reports.reproduction.papers.thesis_dynamics import (
    COEFFICIENTS,
    DENSE,
    ENFORCING,
    INDUCING,
    LOOKS,
    MEASURES,
    PREDICTION,
    STRUCTURE,
    all_measures,
    learn_to_the_end,
)
from graftviz.reports.results import Run, learn
from graftviz.utils.errors import InputError


def rows_of(part, data=None):
    """Return the rows of a measured part with its columns."""
    rows = part.measure(MeasuringTask(data or Data(), lambda done: None))
    return [{**part.columns, **row} for row in rows]


def finished(run):
    while run.advance():
        pass
    return run


# --- edge grafting ------------------------------------------------------------------------------


def test_the_expected_rank_is_the_mean_over_all_reservoirs():
    (part,) = experiments()["best-choice-fig1"].parts(0, n=5, largest=4, trials=400)
    for row in rows_of(part):
        everything = [min(draw) for draw in itertools.combinations(range(1, 11), row["reservoir"])]
        assert row["expected_rank"] == pytest.approx(np.mean(everything))
        error = 5 * np.std(everything) / np.sqrt(400)
        assert abs(row["mean_rank"] - row["expected_rank"]) < error
        assert 1 <= row["least_rank"] <= row["largest_rank"] <= max(everything)


def test_counts_equal_those_of_the_run():
    data, where = Data(), curves.Panel(Size(12, 300, held_out=20), 5)
    for method in (curves.baselines()[1], curves.best_choice(1.0)):
        part = curves.learner_run(where, method, 0, held_out=False)
        (found,) = count_table(frame(rows_of(part, data))).to_dict("records")
        size = dataclasses.replace(where.size, seed=0)
        run = finished(Run(data.problem(size).train, where.learner(method)))
        later = [step.tests for step in run.steps[1:]]
        if method.alpha is None:  # as in the paper: all pairs without an edge, in every step
            later = [66 - edges for edges in range(1, len(run.steps))]
        assert list(found.values()) == [
            *(where.weights, method.name, 12, 5, None if method.alpha is None else 3),
            *(run.steps[0].tables_counted, run.steps[-1].tables_counted),
            *(pytest.approx(np.mean(later)), max(later)),
        ]


def test_curves_start_at_empty_model_and_end_at_result_of_run():
    where, method = curves.Panel(Size(10, 300, held_out=40), 8), curves.baselines()[0]
    data, size = Data(), dataclasses.replace(where.size, seed=0)
    (row,) = rows_of(curves.learner_run(where, method, 0), data)
    points, problem = row["points"], data.problem(size)
    run = finished(
        Run(problem.train, where.learner(method), test=problem.test, truth=problem.truth)
    )
    assert points["edges"] == [0, 0, *range(1, 9)]  # all pairs are counted before the first step
    assert points["tables"] == [0, *[45] * 9]
    objectives = [step.objective for step in run.steps]
    assert points["objective"] == [run.steps[0].previous_objective] * 2 + objectives
    assert points["nlpl"][0] == run.start.nlpl_test
    assert points["recall"][-1] == run.metrics[-1].recall
    assert points["seconds"] == sorted(points["seconds"])
    assert row["seconds"] == points["seconds"][-1]


# --- linear dynamical systems -------------------------------------------------------------------

SETUP = {
    **{"n": 20, "entries": 60, "parents": 6, "rows": 300},
    **{"levels": (0.0, 0.5, 1.0), "systems": 2},
}
CITY = city.CitySize(3, 3, 6, 10_000)


def noise_parts(seed=0, **changes):
    return {
        (part.columns["method"], part.columns["system"]): part
        for part in systems.noise_parts(seed, **(SETUP | changes))
    }


def test_without_noise_known_parents_give_the_truth_and_noise_is_paired():
    parts = noise_parts()
    first, middle, last = rows = rows_of(parts[ENFORCING, 1])
    assert [row[STRUCTURE] for row in rows] == [1.0] * 3
    assert max(first[COEFFICIENTS], first[PREDICTION]) < 1e-12
    assert first[COEFFICIENTS] < middle[COEFFICIENTS] < last[COEFFICIENTS]
    assert rows == rows_of(parts[ENFORCING, 1])
    whole = rows_of(parts[DENSE, 1])
    assert whole[0][PREDICTION] < 1e-12
    assert whole[2][PREDICTION] > last[PREDICTION]


def test_keys_of_parts_depend_on_system_but_not_on_number_of_systems():
    data = Data()
    one = noise_parts()[INDUCING, 1].key(data)
    assert noise_parts(systems=50)[INDUCING, 1].key(data) == one
    others = [noise_parts()[INDUCING, 0], noise_parts()[DENSE, 1], noise_parts(seed=1)[INDUCING, 1]]
    others.append(noise_parts(rows=301)[INDUCING, 1])
    assert all(part.key(data) != one for part in others)


def test_interrupted_figure_is_drawn_from_measured_rows():
    item, rows = experiments()["thesis-fig2.3"], noise(True)
    methods = len({row["method"] for row in rows})
    for count in (1, methods + 1):
        some = rows[: 3 * count]
        assert len(item.draw("title", some).data) == 2 * min(count, methods)
        assert item.tabulated(some)
    assert item.tabulated([]) == []


def test_methods_that_use_every_series_have_a_largest_n():
    largest = {}
    for part in cost.growth_parts(0, (50, 100, 200), 100, 1000, 5, 2):
        largest[part.columns["method"]] = part.columns["n"]
    assert sorted(largest.values()) == [100, 100, 200, 200]


def test_work_grows_with_the_stated_exponents():
    item = experiments()["thesis-table2.1"]
    rows = [row for part in item.sweep(TINY, 0) for row in rows_of(part)]
    # With fewer rows than series, forming the dense matrix costs more than its decomposition.
    assert [claim.judge(rows).held for claim in item.claims] == ["partly", True, True, True]
    for row in rows:  # a wrong exponent is detected
        if (row["method"], row["changed"]) == ("scalable", "n"):
            row["structure"] *= row["n"]
    assert item.claims[3].judge(rows).held == "partly"


def test_an_interrupted_system_is_not_measured(monkeypatch):
    train = dynamics.simulate(dynamics.random_system(6, density=0.4, seed=1), 50, seed=1)
    steps = Dense.steps

    def interrupted(learner, data, **more):
        yield next(steps(learner, data, **more))
        raise KeyboardInterrupt

    monkeypatch.setattr(Dense, "steps", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn_to_the_end(train, Dense(), 0)


def test_all_measures_of_the_truth_are_perfect():
    truth = dynamics.random_system(8, density=0.3, seed=1)
    found = all_measures(truth, truth, dynamics.simulate_transitions(truth, 30, seed=2))
    assert [found[key] for key in MEASURES] == pytest.approx([1.0, 1.0, 0.0, 0.0, 0.0], abs=1e-12)


@pytest.fixture(scope="module")
def counts_file(tmp_path_factory):
    """Counts of seven series, one of them hardly active and one constant."""
    path = tmp_path_factory.mktemp("given") / "counts.csv"
    means = (4.0, 8.0, 16.0, 2.0, 32.0, 0.05, 1.0)
    values = np.random.default_rng(3).poisson(means, (4 * city.WEEK, 7))
    values[:, 6] = 5
    names = ",".join("abcdefg")
    np.savetxt(path, values, fmt="%d", delimiter=",", header=names, comments="")
    return path


def test_given_series_replace_generated_city(counts_file):
    data = Data({"series": counts_file})
    part = city.city_part(CITY, DENSE, Dense(), 0, 0)
    assert part.key(data) != part.key(Data())
    found = city.city_of(data, CITY._replace(most_series=3), 0)
    assert found.train.names == ("b", "c", "e")
    whole = np.vstack([found.train.values, found.test.values])
    assert whole.max(axis=0).tolist() == [1.0] * 3
    assert found.test.n_rows == city.WEEK
    assert city.city_of(data, CITY, 0).train.names == tuple("abcde")
    assert "counts.csv: 5 series" in rows_of(part, data)[0]["data"]
    short = city.city_of(data, CITY._replace(most_rows=200), 0)
    assert (short.train.n_rows, short.test.n_rows) == (160, 40)


def test_forecasts_of_busiest_series_equal_those_of_system():
    size = city.CitySize(3, 3, 9, 10_000)
    (row,) = rows_of(city.city_part(size, DENSE, Dense(), 0, 5, busiest=2))
    data = city.city_of(Data(), size, 5)
    system = dynamics.learn(data.train, Dense()).system
    raw = dynamics.simulate_city(3, 3 * city.WEEK, seed=5).values.sum(axis=0)
    for one, i in zip(row["forecasts"], np.argsort(-raw)[:2], strict=True):
        assert one["name"] == data.train.names[i]
        assert np.allclose(one["predicted"], dynamics.predict(system, data.test.values)[:, i])
        assert np.allclose(one["actual"], data.test.values[1:, i])
        residuals = dynamics.predict(system, data.train.values) - data.train.values[1:]
        assert one["deviation"] == pytest.approx(np.sqrt(np.mean(residuals[:, i] ** 2)))
    error = dynamics.prediction_error(system, data.test, horizon=6)
    assert row["test_6"] == pytest.approx(error)


def test_too_little_activity_is_refused(tmp_path):
    for values in (np.eye(50)[:, :4], np.arange(60.0).reshape(20, 3)):
        path = tmp_path / f"{len(values)}.npz"
        np.savez(path, X=values)
        with pytest.raises(InputError, match="at least 30 rows and 2 series are needed"):
            city.city_of(Data({"series": path}), CITY, 0)


def test_number_of_parents_is_limited_by_number_of_series():
    part = city.city_part(CITY, INDUCING, SparsityInducing(parents=50), 0, 0)
    assert rows_of(part)[0]["parents"] == 6


def test_methods_without_seeds_are_constant_lines():
    drawn = experiments()["thesis-fig2.7"].draw("title", seeds(True))
    levels = {trace.name: trace.y for trace in drawn.data[:4]}
    assert set(levels[DENSE]) == {0.9}
    assert {trace.x for trace in drawn.data[:4]} == {(0.1, 0.2)}
    assert len(drawn.data) == 8  # no panel for a horizon without a finite error


def test_a_week_without_dense_learning_is_drawn():
    item = experiments()["thesis-fig2.8"]
    assert len(item.draw("title", week(True)[:1]).data) == 4 * 5
    assert item.tabulated(week(True)[:1]) == []


def test_choice_of_seeds_has_no_effect_if_all_are_seeds():
    sizes = {"n": 20, "entries": 60, "parents": 5, "rows": 200, "shares": (20.0,)}
    parts = systems.seeds_parts(0, **sizes, systems=1, city=CITY)
    parts = [part for part in parts if "system" in part.columns]
    found = {part.columns["choice"]: rows_of(part)[0] for part in parts}
    for choice in (systems.RANDOM, systems.SPREAD):
        for key in MEASURES:
            assert found[choice][key] == pytest.approx(found[INDUCING][key], rel=1e-9)


def lines_of(values, **how):
    """Return the figure of runs of one line: their values by x."""
    rows = frame({"method": "a", "x": x, "y": y} for x, of_x in values.items() for y in of_x)
    how = {"x": "x", "x_title": "x", "y": {"y": "y"}, "looks": {"a": scale_look(0)}} | how
    return line_figure("t", rows, **how)


def test_lines_have_means_spreads_and_gaps():
    (line,) = lines_of({1.0: [1.0, 3.0], 2.0: [1.0, None], 3.0: [None]}).data
    assert line.y == (2.0, None, None)
    assert list(line.error_y.array) == [1.0, 0.0, 0.0]
    assert lines_of({1.0: [1.0]}).data[0].error_y.array is None
    small = lines_of({1.0: [0.0], 2.0: [1.0]}, log_x=True, log_y=True).data[0]
    assert small.y == (None, 1.0)  # not on a logarithmic axis


# --- localized inference ------------------------------------------------------------------------


def test_regions_on_a_grid_are_measured_within_their_bounds():
    parts = localized.region_parts(1, [(4, 1.0, 0.3, 3)], rules=tuple(localized.RULES))
    rows = [row for part in parts for row in rows_of(part)]
    for row in rows:
        assert len(row["errors"]) == len(row["bounds"]) == 16
        # The whole grid: nothing is cut and the answer is exact.
        assert row["errors"][-1] == pytest.approx(0.0, abs=1e-12)
        assert row["bounds"][-1] == pytest.approx(0.0, abs=1e-12)
    assert max(row["errors"][0] for row in rows) > 1e-3
    assert experiments()["localized-fig4"].claims[-1].judge(rows).held is True


@pytest.mark.parametrize(("panels", "across"), [(1, 1), (3, 3), (4, 2), (5, 2), (6, 2)])
def test_more_than_three_panels_are_in_rows_of_two(panels, across):
    rows = [
        {"panel": f"panel {k}", "method": "a", "x": x, "y": x}
        for k in range(panels)
        for x in (1, 2)
    ]
    how = {"x": "x", "x_title": "x", "y": {"y": "y"}, "looks": {"a": scale_look(0)}}
    figure = line_figure("t", frame(rows), **how)
    heights = Counter(round(title.y, 6) for title in figure.layout.annotations)
    assert max(heights.values()) == across
    assert len({trace.xaxis for trace in figure.data}) == panels


def test_error_above_its_bound_is_detected():
    rows, claim = regions(LEVELS), experiments()["localized-fig4"].claims[-1]
    rows[7]["errors"][3] = rows[7]["bounds"][3] + 1e-6
    verdict = claim.judge(rows)
    assert (verdict.held, verdict.numbers["regions with an error above their bound"]) == (False, 1)
    assert verdict.numbers["regions"] == 2 * 4 * 20 * 8
    assert verdict.numbers["largest error to its bound"] > 1.0


def test_the_query_is_the_node_in_the_middle():
    assert [localized.middle(side) for side in (1, 2, 3, 5, 10)] == [0, 0, 4, 12, 44]


def test_largest_ratio_ignores_zero_error_with_zero_bound():
    assert localized.largest_ratio(np.array([0.0, 0.1]), np.array([0.0, 0.4])) == 0.25
    assert localized.largest_ratio(np.zeros(2), np.zeros(2)) == 0.0


def test_lines_of_regions_and_cora_differ_by_more_than_colour():
    figures = {
        "localized-fig4": regions(LEVELS),
        "localized-fig5": region_fields(True),
        "localized-fig6": accuracies(True),
    }
    for name, rows in figures.items():
        drawn = experiments()[name].draw("title", rows).data
        looks = {(trace.xaxis, trace.line.dash, trace.marker.symbol) for trace in drawn}
        assert len(looks) == len(drawn)


def test_border_is_drawn_if_present():
    axes = {"x_title": "x", "y_title": "y", "name": "c", "border": 1.0}
    values = pd.DataFrame([[0.5, 0.6], [1.5, 1.4]], index=[1, 2], columns=[0, 1])
    both = plane_figure("title", values, **axes)
    assert [trace.type for trace in both.data] == ["heatmap", "contour"]
    below = plane_figure("title", values.iloc[:1], **axes)
    assert [trace.type for trace in below.data] == ["heatmap"]


def test_quality_equals_its_definition():
    found, wanted = np.array([1, 1, 1, 0, 0], bool), np.array([1, 0, 1, 1, 1], bool)
    assert list(cora.quality(found, wanted).values()) == [2 / 5, 2 / 3, 1 / 2, 4 / 7]
    nothing = np.zeros(5, bool)
    assert list(cora.quality(nothing, wanted).values())[1:] == [None, 0.0, 0.0]
    assert list(cora.quality(nothing, nothing).values())[1:] == [None, None, None]


def test_a_marginal_of_one_half_gives_no_positive_label():
    rows = labels((4,), (4,))
    rows[0]["positive"][:3] = [0.5, 0.5 + 1e-12, 0.51]
    found = cora.labels(frame(rows), 1.0, rows[0]["method"])
    assert found[:3].tolist() == [False, False, True]


def test_answers_outside_of_local_bounds_are_counted_as_wrong():
    item, rows = experiments()["localized-fig6"], labels((4,), (4,))
    for row in rows:
        if row["method"] == cora.BP:
            row["positive"] = [0.5, 0.5, *(value + 0.05 for value in row["positive"][2:])]
    for found in item.summarised(rows):
        assert found["proven_wrong_of_global belief propagation"] == 2
        assert found["proven_wrong_of_global mean field"] == 0
        assert found["share_of_certain_labels"] == 1.0
    others = [row for row in rows if row["method"] != cora.BP]
    assert "belief propagation" not in str(item.summarised(others))


# --- bounded inference --------------------------------------------------------------------------

HERE = bounded.RandomNetwork(7, 150, 100, 2)


def test_other_methods_are_interpolated_at_equal_cost():
    def points(*values):
        rows = [{"cost": cost, "nll": loss, "bound": k} for k, (cost, loss) in enumerate(values)]
        return pd.DataFrame(rows)

    ours = points((0.5, 1.0), (10.0**0.5, 8.0), (10.0, 8.2), (1000.0, 7.5))
    path = points((1.0, 9.0), (10.0, 8.0), (100.0, 7.0), (200.0, 9.5))
    found = bounded.compare_at_cost(ours, path, "cost", "nll")
    assert found.beyond == 1  # below the smallest cost of the path
    assert list(found.gains.values()) == pytest.approx([0.5, -0.2, -0.5])
    assert bounded.compare_at_cost(ours, path[:0], "cost", "nll").gains == {}


def test_fitted_structures_have_the_marginals_of_the_rows():
    rows = bounded.sample_network(HERE)
    edges = np.array([(0, 1), (0, 3), (1, 2), (2, 3), (3, 5), (4, 5)])
    zeros = np.zeros(2 * HERE.nodes + 4 * len(edges))
    order = plan_elimination(dataclasses.replace(rows.model, edges=edges, weights=zeros)).order
    model = bounded.most_likely(rows.train, edges, order)
    beliefs, counts = infer(model, "exact"), PairCounts(rows.train)
    for (i, j), pair in zip(model.edges.tolist(), beliefs.edge, strict=True):
        seen = counts.table(i, j) / rows.train.n_rows
        # One imaginary row in 151 is independent.
        assert pair == pytest.approx(seen, abs=1.0 / rows.train.n_rows)
    assert nll(model, rows.train) < nll(rows.model, rows.train) + 1.0


def test_rows_are_the_networks_and_halves_do_not_overlap():
    rows = bounded.sample_network(HERE)
    assert (rows.train.n_rows, rows.test.n_rows) == (150, 100)
    seen = (rows.train.codes.mean(axis=1) * 150 + rows.test.codes.mean(axis=1) * 100) / 250
    expected = np.array([share[1] for share in infer(rows.model, "exact").node])
    assert np.abs(seen - expected).max() < 5 * 0.5 / np.sqrt(250)


def test_scale_of_log_z_is_invariant_under_reparametrisation():
    model = bounded.sample_network(HERE).model
    shifted = dataclasses.replace(model, weights=model.weights + 3.0)
    scale, same = (
        infer(one, "exact").log_partition - bounded.mean_score(one) for one in (model, shifted)
    )
    assert same == pytest.approx(scale)
    assert scale >= HERE.nodes * np.log(2.0)


def test_joint_l1_minimises_the_penalised_pseudo_likelihood():
    rows, lam = bounded.sample_network(HERE).train, 0.02
    learner = bounded.joint_l1(lam)
    model = learn(rows, learner, seed=0).model

    def objective(weights):
        changed = dataclasses.replace(model, weights=weights)
        norms = [np.linalg.norm(changed.edge_weights(e)) for e in range(changed.n_edges)]
        # d is the number of joint states, here 4.
        return nlpl(changed, rows) + learner.lam * 4 * sum(norms)

    assert 0 < model.n_edges < 21
    rng, least = np.random.default_rng(0), objective(model.weights)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(20):
            assert objective(model.weights + size * rng.standard_normal(len(model.weights))) > least
    for factor in (0.97, 1.03):  # a penalty of another weight would shrink differently
        edges = np.arange(len(model.weights)) >= model.node_offsets[-1]
        assert objective(np.where(edges, factor, 1.0) * model.weights) > least


def test_measurements_depend_on_seed_only():
    bounds = {"treewidth": (2,), "penalised": ()}
    part = next(bounded.bounded_parts(2, 7, 150, 1, bounds, 4, complexity="treewidth"))
    (first,), (repeated,) = rows_of(part), rows_of(part)
    assert first["width"] <= 2
    for quantity in ("nll", "ncmll", "exact_operations", "trbp_operations", "edges"):
        assert first[quantity] == repeated[quantity]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bounded-fig1", "bounded-fig2"),
        ("best-choice-fig2", "best-choice-fig4"),
        ("localized-fig6", "localized-fig7"),
        ("thesis-fig2.3", "thesis-fig2.5"),
    ],
)
def test_figures_of_the_same_runs_share_their_parts(one, other):
    parts = [item.sweep(SMALL, 0) for item in (experiments()[one], experiments()[other])]
    first, second = ([(part.columns, part.settings) for part in some] for some in parts)
    assert first == second


def test_every_method_has_a_distinct_style():
    assert len({(look.dash, look.symbol) for look in LOOKS.values()}) == len(LOOKS)
