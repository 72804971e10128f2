"""The tuning grid: combinations, their results, and the best of them."""

from __future__ import annotations

import pytest
from learner_cases import scale_free_table

from graftviz import BestChoice, InputError, learn, tuning_grid
from graftviz.data.synthetic.graphs import scale_free_graph

GRID = {"lam": (0.002, 0.006), "lam2": (0.01, 0.5), "alpha": (0.25, 1.0)}
TRUTH = scale_free_graph(15, 1).edges


@pytest.fixture(scope="module")
def parts():
    return scale_free_table(15, 3, 1000).split(0.2, seed=3)


@pytest.fixture(scope="module")
def tuning(parts):
    train, test = parts
    return tuning_grid(
        train, BestChoice(preset="paper", reservoir=9), GRID, test=test, truth=TRUTH, seed=5
    )


def test_points_are_all_combinations_and_equal_learn(parts, tuning):
    train, test = parts
    assert [tuple(point.options.values()) for point in tuning.points] == [
        (lam, lam2, alpha)
        for lam in GRID["lam"]
        for lam2 in GRID["lam2"]
        for alpha in GRID["alpha"]
    ]
    for point in tuning.points:
        learner = BestChoice(preset="paper", reservoir=9, **point.options)
        assert tuning.at(point) == learner
        result = learn(train, learner, seed=5, test=test, truth=TRUTH)
        assert point.stop_reason == result.trace.stop_reason
        for name in set(point._fields) - {"options", "seconds", "stop_reason"}:
            assert getattr(point, name) == getattr(result, name), name
    assert len({point.objective for point in tuning.points}) > 4


@pytest.mark.slow
def test_results_are_equal_with_other_processes(parts, tuning):
    train, test = parts
    done = []
    parallel = tuning_grid(
        train,
        tuning.learner,
        GRID,
        test=test,
        truth=TRUTH,
        seed=5,
        jobs=2,
        callback=lambda *counts: done.append(counts),
    )
    assert done == [(k, 8) for k in range(1, 9)]
    for point, other in zip(tuning.points, parallel.points, strict=True):
        assert point._replace(seconds=0.0) == other._replace(seconds=0.0)


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"lam": [0.1], "alhpa": [1.0]}, r"'alhpa' in the grid is no option of any .*, alpha, "),
        ({"pseudo_count": [1.0]}, "has none of the options pseudo_count of the grid"),
        ({"alpha": []}, "no value of option alpha"),
        ({"alpha": [0.5, 1.5]}, r"Option alpha must be at least 0 and at most 1"),
        ({"max_edges": [5, 500]}, "15 variables have only 105 pairs"),
    ],
)
def test_invalid_arguments_are_refused_before_learning(parts, grid, words):
    with pytest.raises(InputError, match=words):
        tuning_grid(parts[0], BestChoice(), grid, callback=lambda *_: pytest.fail("learning began"))


def test_criterion_without_its_data_is_refused(parts):
    tuning = tuning_grid(parts[0], BestChoice(preset="paper", lam=0.05), {"alpha": [1.0]})
    assert tuning.best("nlpl_train").options == {"alpha": 1.0}
    with pytest.raises(InputError, match="nlpl_test, which needs test rows"):
        tuning.best()
    with pytest.raises(InputError, match="recall, which needs true edges"):
        tuning.best("recall")
    with pytest.raises(InputError, match="'options' is no criterion; the criteria are recall"):
        tuning.best("options")
