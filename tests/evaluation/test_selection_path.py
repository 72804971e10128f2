"""The path over λ: grid, points, end and best λ."""

from __future__ import annotations

import itertools
import json
import re

import joblib
import naive
import numpy as np
import pandas as pd
import pytest
from fakes import random_pairs, random_table
from learner_cases import make, mixed_table, scale_free_table

from graftviz import DiscreteTable, FirstHit, InputError, LamPath, lam_path, learn
from graftviz.__main__ import main
from graftviz.data.synthetic.graphs import scale_free_graph
from graftviz.evaluation.selection.fits import (
    FLOOR,
    extended_bic,
    free_weights,
    lam_values,
    with_lam,
)
from graftviz.evaluation.selection.path import RISING, PathPoint, lam_path_steps
from graftviz.inference.likelihood import nlpl
from graftviz.learning.registry import learner_class, learner_names
from graftviz.reports.figures.selection import path_figure
from graftviz.utils.options import option_specs

WITH_LAM = [
    name
    for name in learner_names()
    if any(spec.name == "lam" for spec in option_specs(learner_class(name)))
]


def small_table() -> DiscreteTable:
    return scale_free_table(10, 3, 600)


def numbers(path: LamPath) -> list[tuple]:
    """Return the content of a path in a form that can be compared."""
    return [(*point[:-1], point.model.weights.tobytes()) for point in path.points]


# EBIC


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_ebic_equals_sum_over_variables_of_barber_and_drton(gamma):
    table = mixed_table().rows(slice(0, 120))
    model = learn(table, make("edge-grafting", lam=4e-3, max_edges=6)).model
    assert model.n_edges == 6
    loss = nlpl(model, table)
    wanted = naive.nodewise_ebic(model, table.codes, gamma)
    assert extended_bic(model, loss, table.n_rows, gamma=gamma) == pytest.approx(wanted, rel=1e-12)


def test_free_weights_exclude_one_state_of_each_variable():
    model = learn(mixed_table(), make("edge-grafting", lam=1e-3, max_edges=20)).model
    sizes = model.cardinalities
    assert free_weights(model) == sum((sizes[i] - 1) * (sizes[j] - 1) for i, j in model.edges)
    assert free_weights(learn(random_table(0, 5, 30), make("edge-grafting", lam=1.0)).model) == 0


# Grid


@pytest.mark.parametrize("name", WITH_LAM)
def test_the_grid_starts_just_above_the_largest_score(name):
    table, learner = small_table(), make(name, lam=1e-3, max_edges=12)
    values = lam_values(learner, table, 9, 0)
    assert learn(table, with_lam(learner, values[0])).n_edges == 0
    # Rounding to three digits: the largest score is less than one percent below.
    assert learn(table, with_lam(learner, 0.985 * values[0])).n_edges > 0
    assert len(values) == 9
    assert values[-1] == pytest.approx(FLOOR * values[0], rel=1e-2)
    ratios = np.array(values[1:]) / values[:-1]
    assert ratios == pytest.approx(np.full(8, FLOOR ** (1 / 8)), rel=2e-2)
    assert all(float(f"{value:.3g}") == value for value in values)


def test_a_learner_that_always_activates_starts_at_its_largest_lam():
    class Eager(FirstHit):
        def steps(self, table, *, seed=0):
            return random_pairs(max_edges=9).steps(table, seed=seed)

    assert lam_values(Eager(), random_table(0, 5, 20), 3, 0)[0] == 1.0


# Points


@pytest.mark.parametrize("name", WITH_LAM)
def test_point_equals_learning_at_its_lam(name):
    table, truth = small_table(), scale_free_graph(10, 1).edges
    learner = make(name, lam=0.5, max_edges=12)
    path = lam_path(table, learner, lams=[0.02, 0.008], truth=truth, seed=4)
    train, held = table.split(0.2, seed=4)
    assert (path.n_rows, path.n_rows_test) == (480, 120)
    for point, lam in zip(path.points, (0.02, 0.008), strict=True):
        result = learn(train, with_lam(learner, lam), seed=4, test=held, truth=truth)
        assert point.lam == lam
        assert point.n_edges == result.n_edges > 0
        assert np.array_equal(point.model.weights, result.model.weights)
        assert point.objective == result.objective
        assert point.nlpl_train == pytest.approx(result.nlpl_train)
        assert point.nlpl_test == pytest.approx(result.nlpl_test)
        assert (point.recall, point.precision, point.f1) == pytest.approx(
            (result.recall, result.precision, result.f1)
        )
        assert point.stop_reason == result.trace.outcome.stop_reason
        wanted = extended_bic(result.model, result.nlpl_train, 480)
        assert point.ebic == pytest.approx(wanted)


def test_given_test_rows_are_held_out():
    train, test = small_table().split(0.3, seed=9)
    path = lam_path(train, make("edge-grafting"), lams=[0.02], test=test)
    (point,) = path.points
    assert (path.n_rows, path.n_rows_test) == (420, 180)
    result = learn(train, make("edge-grafting", lam=0.02), test=test)
    assert point.nlpl_test == pytest.approx(result.nlpl_test)
    assert point.f1 is None


def test_folds_hold_out_every_row_once():
    table, learner = small_table(), make("edge-grafting", max_edges=6)
    path = lam_path(table, learner, lams=[0.02, 0.01], folds=4, seed=1)
    assert (path.n_rows, path.n_rows_test, path.folds) == (600, 600, 4)
    whole = lam_path(table, learner, lams=[0.02, 0.01], test=table, seed=1)
    for folded, full in zip(path.points, whole.points, strict=True):
        assert np.array_equal(folded.model.weights, full.model.weights)
        assert folded.ebic == full.ebic
        # Held-out rows are harder to predict than training rows, but similar.
        assert full.nlpl_test < folded.nlpl_test < 1.05 * full.nlpl_test


def test_folds_have_equal_sizes_and_are_weighted_by_rows(monkeypatch):
    held_rows = []

    def recorded(model, table):
        if table.n_rows < 300:
            held_rows.append(table.n_rows)
            return float(table.n_rows)
        return 1.0

    monkeypatch.setattr("graftviz.evaluation.selection.path.nlpl", recorded)
    table = small_table().rows(slice(0, 301))
    (point,) = lam_path(table, make("edge-grafting"), lams=[0.1], folds=3).points
    assert sorted(held_rows) == [100, 100, 101]
    assert point.nlpl_test == pytest.approx((100**2 + 100**2 + 101**2) / 301)


# End and best


def test_a_path_ends_when_both_criteria_keep_rising():
    # Independent variables: every edge is wrong and makes both criteria worse.
    table = random_table(2, 12, 300)
    path = lam_path(table, make("edge-grafting"), lams=20, max_edges=1000)
    assert len(path.points) < 20
    assert "both been rising for 3 values" in path.stop_reason
    last = path.points[-RISING - 1 :]
    for before, after in itertools.pairwise(last):
        assert after.nlpl_test > before.nlpl_test
        assert after.ebic > before.ebic
    assert f"λ = {path.points[-1].lam:g}" in path.stop_reason
    assert path.best_by_ebic is path.points[0]
    assert path.points[0].n_edges == 0


def test_path_ends_before_run_with_too_many_edges():
    table, learner = small_table(), make("edge-grafting")
    path = lam_path(table, learner, lams=[0.03, 0.01, 1e-6, 1e-7], max_edges=20)
    assert [point.lam for point in path.points] == [0.03, 0.01]
    assert max(point.n_edges for point in path.points) <= 20
    assert path.stop_reason == ("The path ends before λ = 1e-06, which gives more than 20 edges.")


def test_path_can_visit_all_values():
    path = lam_path(small_table(), make("edge-grafting"), lams=[0.03, 0.02, 0.01])
    assert path.stop_reason == "All 3 values of λ were visited."


def point_with(lam: float, nlpl: float, ebic: float) -> PathPoint:
    model = learn(random_table(0, 3, 9), make("edge-grafting", lam=1.0)).model
    return PathPoint(lam, 0, 0, 1.0, 1.0, nlpl, ebic, None, None, None, "", model)


def test_best_is_the_minimum_and_ties_go_to_larger_lam():
    empty = next(lam_path_steps(small_table(), make("edge-grafting"), lams=[0.3, 0.2, 0.1]))
    assert empty.best_by_nlpl is empty.best_by_ebic is None
    points = (point_with(0.3, 5.0, 7.0), point_with(0.2, 4.0, 7.0), point_with(0.1, 4.0, 9.0))
    path = LamPath(**{**vars(empty), "points": points})
    assert path.best_by_nlpl is points[1]
    assert path.best_by_ebic is points[0]
    assert path.at(points[1]) == make("edge-grafting", lam=0.2)


def test_minimum_at_end_of_limited_path_is_marked() -> None:
    # Held-out rows equal to the training rows: every edge improves prediction.
    table = small_table()
    lams = [0.03, 0.02, 0.01, 1e-6]
    cut = lam_path(table, make("edge-grafting"), lams=lams, test=table, max_edges=20)
    assert len(cut.points) < len(lams)
    assert cut.best_by_nlpl is cut.points[-1]
    assert cut.ends_at(cut.best_by_nlpl)
    assert not cut.ends_at(cut.points[0])
    assert "(end of the path)" in str(path_figure(cut).layout.annotations)
    whole = lam_path(table, make("edge-grafting"), lams=lams[:3], test=table)
    assert not whole.ends_at(whole.points[-1])
    assert "(end of the path)" not in str(path_figure(whole).layout.annotations)


# Steps, jobs and seeds


def test_steps_end_with_whole_path_for_any_number_of_jobs():
    table, learner = small_table(), make("best-choice", t_max=3)
    whole = lam_path(table, learner, lams=8, max_edges=30, seed=2)
    grown = list(lam_path_steps(table, learner, lams=8, max_edges=30, seed=2))
    assert grown[0].points == ()
    assert [len(path.points) for path in grown[:-1]] == list(range(len(grown) - 1))
    assert [bool(path.stop_reason) for path in grown] == [False] * (len(grown) - 1) + [True]
    with joblib.parallel_config(backend="threading", n_jobs=2):
        threads = lam_path(table, learner, lams=8, max_edges=30, seed=2, jobs=None)
    for path in (grown[-1], threads):
        assert numbers(path) == numbers(whole)
        assert path.stop_reason == whole.stop_reason
        assert path.planned == whole.planned
    other = lam_path(table, learner, lams=8, max_edges=30, seed=3)
    assert numbers(other) != numbers(whole)


REFUSED = [
    ({"lams": 1}, "at least 2 values"),
    ({"lams": []}, "at least one value"),
    ({"lams": [0.1, -1.0]}, "Option lam must be"),
    ({"lams": True}, "must be numbers, or how many"),
    ({"test_fraction": 1.5}, "fraction must lie between 0 and 1"),
    ({"folds": 1}, "2 to 300 folds; got 1"),
    ({"folds": 301}, "2 to 300 folds; got 301"),
    ({"gamma": -0.5}, "γ of the EBIC must be at least 0"),
    ({"max_edges": 0}, "room for at least one edge"),
    ({"seed": -1}, "at least 0"),
    ({"truth": [(0, 10)]}, "no pair of variables"),
]


@pytest.mark.parametrize(("settings", "sentence"), REFUSED)
def test_invalid_arguments_are_refused(settings, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        lam_path(small_table(), make("edge-grafting"), **settings)


def test_invalid_test_rows_and_test_rows_with_folds_are_refused():
    table, learner = small_table(), make("edge-grafting")
    with pytest.raises(InputError, match="not both"):
        lam_path(table, learner, test=table, folds=3)
    with pytest.raises(InputError, match="other columns"):
        lam_path(table, learner, test=scale_free_table(15, 3, 1000))


def test_a_learner_without_lam_is_refused():
    with pytest.raises(InputError, match="Chow–Liu tree has no option lam"):
        lam_path(small_table(), make("chow-liu"))


# Figure and command


def test_the_command_learns_with_the_best_lam(tmp_path, capsys):
    out = tmp_path / "o"
    arguments = ["karate", "--choose-lam", "ebic", "--lam-values", "8", "--seed", "1"]
    assert main(["learn", *arguments, "--test-fraction", "0.1", "--out", str(out)]) == 0
    path = pd.read_csv(out / "path.csv")
    record = json.loads((out / "result.json").read_text())
    best = path.loc[path["ebic"].idxmin()]
    assert record["options"]["lam"] == best["lam"] == record["lam_path"]["best_by_ebic"]["lam"]
    # The choice does not use the test rows: of the 3,600 others, a fifth is held out.
    assert (record["lam_path"]["rows"], record["lam_path"]["rows_held_out"]) == (2880, 720)
    assert path["lam"].is_monotonic_decreasing
    assert path.loc[0, "edges"] == 0
    assert path["f1"].notna().all()
    assert (out / "path.html").exists()
    shown = capsys.readouterr().out
    assert re.search(
        rf"lowest EBIC: λ = {best['lam']:g} with \d+ edges on 2,880 rows, chosen", shown
    )
