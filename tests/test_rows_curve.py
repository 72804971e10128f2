"""Curves over the number of rows: nested samples, reference, figure and sentences."""

from __future__ import annotations

import numpy as np
import pytest
from learner_cases import followers_table

from graftviz import BestChoice, ChowLiu, InputError, learn
from graftviz.figures import rows_figure
from graftviz.metrics import nlpl
from graftviz.narrative.selection import rows_words
from graftviz.selection import RowsCurve, rows_curve_steps
from graftviz.selection.rows import row_sizes

TABLE = followers_table(6, 400, 1)
TRAIN, TEST = TABLE.split(0.25, seed=0)


def complete(learner=None, **more) -> RowsCurve:
    *_, curve = rows_curve_steps(TRAIN, learner or BestChoice(lam=0.02), sizes=4, **more)
    return curve


@pytest.mark.parametrize(("rows", "sizes"), [(51, 8), (60, 4), (300, 2), (20_000, 8)])
def test_sizes_increase_to_all_rows(rows: int, sizes: int) -> None:
    found = row_sizes(rows, sizes)
    assert (found[0], found[-1]) == (50, rows)
    assert list(found) == sorted(set(found))
    assert len(found) <= sizes


def test_each_run_equals_run_on_the_sample() -> None:
    curve = complete(test=TEST, seed=3, subsets=2)
    assert curve.is_complete
    assert [len(point.runs) for point in curve.points] == [2, 2, 2, 1]
    for point in curve.points:
        sample = TRAIN.sample(point.n_rows, 3)
        model = learn(sample, BestChoice(lam=0.02), seed=3).model
        first = point.runs[0]
        assert first.n_edges == model.n_edges
        assert first.nlpl_test == nlpl(model, TEST)
        assert first.lam == 0.02


@pytest.mark.parametrize("truth", [None, [(0, 1), (4, 5), (0, 5)]])
def test_the_error_counts_missing_and_false_edges(truth) -> None:
    curve = complete(truth=truth)
    assert curve.has_truth is (truth is not None)
    whole = {tuple(edge) for edge in learn(TRAIN, BestChoice(lam=0.02)).model.edges.tolist()}
    true = whole if truth is None else set(truth)
    last = curve.points[-1].runs[0]
    assert (last.missing, last.false) == (len(true - whole), len(whole - true))
    for point in curve.points:
        for run in point.runs:
            assert run.n_edges == len(true) - run.missing + run.false
            assert run.error == run.missing + run.false


def test_automatic_lam_decreases_with_rows() -> None:
    lams = [point.mean("lam") for point in complete(BestChoice()).points]
    assert lams == sorted(lams, reverse=True)
    assert lams[0] > lams[-1] > 0


def test_every_step_gives_the_same_points() -> None:
    values = list(rows_curve_steps(TRAIN, BestChoice(lam=0.02), sizes=4, every_step=True))
    assert len(values) > 5
    assert values[-1].points == complete().points
    counts = [len(value.points) for value in values]
    assert counts == sorted(counts)


def test_too_few_rows_or_subsets_are_refused() -> None:
    with pytest.raises(InputError, match="more than 50 rows; got 40"):
        rows_curve_steps(TRAIN.sample(40), BestChoice())
    with pytest.raises(InputError, match="at least 1 subset"):
        rows_curve_steps(TRAIN, BestChoice(), subsets=0)
    with pytest.raises(InputError, match="at least 2 sizes"):
        rows_curve_steps(TRAIN, BestChoice(), sizes=1)


@pytest.mark.parametrize("has_test", [True, False])
@pytest.mark.parametrize("learner", [BestChoice(), BestChoice(lam=0.02), ChowLiu()])
def test_figure_and_sentences_contain_the_values(learner, has_test: bool) -> None:
    curve = complete(learner, test=TEST if has_test else None, subsets=1)
    lines = {line.name: line for line in rows_figure(curve).data}
    for name, shown in (("error", "structure error"), ("missing", "missing edges")):
        values = [point.mean(name) for point in curve.points]
        if any(point.values(name) for point in curve.points):
            assert np.allclose(lines[shown].y, values)
    assert ("NLPL, held-out rows" in lines) is has_test
    assert ("λ used" in lines) is (learner.name != "chow-liu")
    words = rows_words(curve)
    assert f"From 50 to {TRAIN.n_rows:,} rows" in words
    assert ("NLPL" in words) is has_test
    assert ("automatic" in words) is (getattr(learner, "lam", 0) is None)
