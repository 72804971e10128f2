"""Races: timelines, final standings, agreement and winners."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest
from race_cases import finished_race, finished_runs, karate, racers, run_of

from graftviz import BestChoice, InputError
from graftviz.evaluation.race import (
    AXES,
    COLUMNS,
    Course,
    Moment,
    Race,
    column_results,
    course_of,
)
from graftviz.reports.figures.race import race_figure
from graftviz.reports.figures.style import figure_html
from graftviz.reports.files.tables import race_csv
from graftviz.reports.layout import common_places, static_layout

MOMENT = Moment(0, 0.0, 0, 0, 0, 1.0, None, None, None)


@pytest.mark.parametrize("axis", AXES)
def test_positions_never_decrease_as_cost_grows(axis: str) -> None:
    race = finished_race()
    timeline = race.timeline(axis)
    assert list(timeline) == sorted(set(timeline))
    for lane in race.courses:
        assert (np.diff(lane.costs(axis)) >= 0).all()
        assert set(lane.costs(axis)) <= set(timeline)
    places = np.array([race.at(axis, value) for value in timeline])
    assert (np.diff(places, axis=0) >= 0).all()
    assert places[-1].tolist() == [len(lane.moments) - 1 for lane in race.courses]


@pytest.mark.parametrize("axis", AXES)
def test_last_standings_equal_results_of_runs(axis: str) -> None:
    race = finished_race()
    standings = race.standings(axis, math.inf)
    assert {standing.racer for standing in standings} == set(range(len(race.courses)))
    for standing in standings:
        outcome, result = (run := finished_runs()[standing.racer]).outcome, run.result()
        moment = standing.moment
        assert standing.ended
        assert moment.seconds == outcome.seconds.total
        assert (moment.tests, moment.tables) == (result.tests, outcome.tables_counted)
        assert moment.edges == result.n_edges
        assert moment.objective == outcome.objective
        assert (moment.recall, moment.precision) == (result.recall, result.precision)
        assert moment.nlpl_test == result.nlpl_test
    values = [standing.value for standing in standings]
    assert values == sorted(values, reverse=True)  # led by recall
    assert standings[0].rank == 1


def test_edges_of_last_moment_are_those_of_final_model() -> None:
    # The preset best removes edges after its last step.
    pruned = run_of(BestChoice(alpha=0.0, significance=1.0))
    assert pruned.outcome is not None
    for run in (pruned, *finished_runs()):
        lane = course_of(run)
        found = set(map(tuple, lane.edges_at(len(lane.moments) - 1).tolist()))
        assert found == set(map(tuple, run.result().model.edges.tolist()))


def test_a_race_before_its_first_step_or_without_racers_is_refused() -> None:
    with pytest.raises(ValueError, match="first step"):
        course_of(run_of(racers()[0], steps=0))
    with pytest.raises(InputError, match="at least one racer"):
        Race(())
    with pytest.raises(InputError, match="seconds, tests, edges"):
        finished_race().timeline("miles")


def lanes(*ends: Moment, yardsticks: tuple[str, ...] = ()) -> Race:
    kinds = yardsticks or ("same",) * len(ends)
    return Race(
        tuple(
            Course(name, (MOMENT, end), True, kind)
            for name, end, kind in zip("abcdef", ends, kinds, strict=False)
        )
    )


def test_winners_are_the_best_of_each_column_and_ties_share() -> None:
    better = MOMENT._replace(seconds=1.0, recall=0.9, objective=5.0, edges=4, tests=7)
    equal = better._replace(seconds=2.0, recall=0.90004, edges=4)
    worse = better._replace(seconds=3.0, recall=0.5, objective=6.0, edges=4)
    verdicts = {
        verdict.column.name: verdict for verdict in column_results(lanes(better, equal, worse))
    }
    assert set(verdicts) == {column.name for column in COLUMNS}
    assert verdicts["seconds"].winners == (0,)
    assert verdicts["recall"].winners == (0, 1), "values with the same text should be equal"
    assert verdicts["objective"].winners == (0, 1)
    assert verdicts["tests"].winners == ()
    assert "equal" in verdicts["tests"].remark
    assert verdicts["nlpl_test"].winners == ()


def test_different_objectives_have_no_winner() -> None:
    first = MOMENT._replace(objective=1.0, edges=1)
    race = lanes(first, first._replace(objective=0.5), yardsticks=("bethe", "pseudo"))
    verdict = next(one for one in column_results(race) if one.column.name == "objective")
    assert verdict.winners == ()
    assert "different" in verdict.remark
    assert race.measure == "edges", "neither recall nor NLPL nor comparable objectives are known"


def test_sentence_names_leader_margin_and_cost() -> None:
    half = MOMENT._replace(recall=0.5, edges=2, seconds=1.0)
    race = lanes(half, half._replace(recall=0.62))
    assert race.sentence("seconds", 0.5) == "No racer has an edge yet after 0.5 s."
    assert race.sentence("seconds", 1.3) == "b wins: recall 0.62 after 1.3 s."
    assert lanes(half, half).sentence("edges", 2.0).startswith("All are level: recall 0.50")
    level = lanes(half, half, half, half, half._replace(recall=0.1)).sentence("seconds", 2)
    assert level == "4 of 5 racers win: recall 0.50 after 2 s."
    third = lanes(half, half, half._replace(recall=0.1)).sentence("tests", 4000)
    assert third == "a and b win: recall 0.50 after 4,000 edge tests."


def test_leader_without_truth_is_chosen_by_held_out_rows() -> None:
    learners = racers()
    race = Race(tuple(course_of(run_of(learners[k], with_truth=False)) for k in (1, 3)))
    assert race.measure == "nlpl_test"
    values = [standing.value for standing in race.standings("edges", math.inf)]
    assert values == sorted(values)


def test_layout_uses_given_positions_truth_or_data() -> None:
    material = karate()
    n = material.train.n_variables
    given = np.arange(2 * n).reshape(n, 2)
    assert common_places(material.train, given, material.truth) is given
    assert material.truth is not None
    laid_out = common_places(material.train, None, material.truth)
    assert (laid_out == static_layout(n, material.truth)).all()
    unknown = common_places(material.train)
    assert unknown.shape == (n, 2)
    assert (unknown == common_places(material.train)).all()
    # Neighbours in the tree of the strongest pairs lie closer together than other pairs do.
    tree = finished_runs()[-1].result().model.edges
    near = np.linalg.norm(unknown[tree[:, 0]] - unknown[tree[:, 1]], axis=1).mean()
    every = np.linalg.norm(unknown[:, None] - unknown[None, :], axis=2).mean()
    assert near < 0.6 * every


@pytest.mark.parametrize("axis", AXES)
def test_csv_has_all_moments_on_one_timeline(axis: str) -> None:
    race = finished_race()
    rows = list(csv.DictReader(io.StringIO(race_csv(race, axis))))
    assert len(rows) == sum(len(lane.moments) for lane in race.courses)
    if axis != "edges":  # the cost itself is a column
        costs = [float(row[axis]) for row in rows]
        assert costs == sorted(costs)
    for lane in race.courses:
        own = [row for row in rows if row["racer"] == lane.name]
        assert [int(row["step"]) for row in own] == [moment.step for moment in lane.moments]
        assert [float(row["seconds"]) for row in own] == [m.seconds for m in lane.moments]
        assert [row["end"] for row in own][-1] == "1"


def test_figure_has_every_curve_and_is_self_contained() -> None:
    race = finished_race()
    figure = race_figure(race, "<b>karate</b>", "tests")
    lines = [trace for trace in figure.data if trace.type == "scatter"]
    # All measures of all racers, and of objectives only those of the first racer's kind.
    assert len(lines) == 3 * len(race.courses) + len(race.courses) - 1
    assert all(line.line.shape == "hv" for line in lines)
    looks = {(line.line.color, line.line.dash) for line in lines}
    assert len({dash for _, dash in looks}) == len(race.courses), "racers differ by colour only"
    buttons = figure.layout.updatemenus[0].buttons
    assert [button.label for button in buttons] == list(AXES.values())
    assert [len(button.args[0]["x"]) for button in buttons] == [len(lines)] * len(AXES)
    page = figure_html(figure)
    assert "&lt;b&gt;karate" in figure.layout.title.text
    assert 'src="http' not in page
