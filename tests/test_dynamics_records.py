"""Records of the Dynamics page's player: evidence that leads to the parents, bands, sentences."""

from __future__ import annotations

import json
from collections import deque

import numpy as np
import pytest

from graftviz import dynamics
from graftviz.dynamics.measuring import measuring
from graftviz.errors import InputError
from graftviz.material import MOST_SERIES, uploaded_series
from graftviz.player.dynamics_records import (
    influence_graph,
    matrix_rows,
    run_progress,
    series_record,
)
from graftviz.ui.dynamics.options import DynamicsOptions, judge_system, plan_of
from graftviz.ui.dynamics.state import source

OPTIONS = DynamicsOptions(size=16, density=0.15, rows=200, parents=4, seeds=5, seed=2)


@pytest.fixture(scope="module")
def material():
    return source(OPTIONS, None)


def final_progress(material, options, name=None):
    return deque(run_progress(material, plan_of(options, material, name)), maxlen=1).pop()


def test_the_evidence_in_the_records_leads_to_the_parents(material) -> None:
    progress = final_progress(material, OPTIONS)
    seeds = [row for row in progress.steps if row["kind"] == "seed"]
    inferred = [row for row in progress.steps if row["kind"] == "inferred"]
    assert len(seeds) == 5
    assert inferred
    for row in inferred:
        voters = [seed for seed in seeds if row["node"] in seed["parents"]]
        assert voters
        scores = np.sum([seed["twoHop"] for seed in voters], axis=0)
        least = min(scores[u] for u in row["parents"])
        others = [scores[u] for u in range(16) if u not in row["parents"]]
        assert least >= max(others) - 1e-4  # records are rounded
        assert f"{len(voters)} seed" in row["words"]
    for row in progress.steps:
        if row["kind"] == "unspoken":
            assert not any(row["node"] in seed["parents"] for seed in seeds)
            assert "Not a parent of any seed" in row["words"]
    assert sorted(row["node"] for row in progress.steps) == list(range(16))
    json.dumps(progress.steps, allow_nan=False)


@pytest.mark.parametrize("name", list(dynamics.LEARNERS))
def test_a_run_ends_with_what_learning_at_once_gives(material, name) -> None:
    progress = final_progress(material, OPTIONS, name)
    plan = plan_of(OPTIONS, material, name)
    learner = plan.learner
    if name == "enforcing":
        wanted = [material.truth.parents(i) for i in range(16)]
        learner = dynamics.SparsityEnforcing(adjacency=wanted)
        assert "parents come from the true system" in progress.opening
    else:
        assert (plan.wiring, plan.source) == ("", None)
    expected = dynamics.learn(material.train, learner, seed=2, test=material.test)
    np.testing.assert_array_equal(progress.result.system.matrix, expected.system.matrix)
    assert f"{expected.pred_error_test:.3f}" in progress.closing
    one = deque(measuring(material, plan), maxlen=1).pop()
    assert one.pred_error_test == expected.pred_error_test
    assert one.recall == dynamics.structure_recall(expected.system, material.truth)


def test_parents_that_are_not_to_be_had_are_those_of_inducing_learning() -> None:
    city = source(DynamicsOptions(data="city"), None)
    plan = plan_of(DynamicsOptions(data="city", parents=3), city, "enforcing")
    assert plan.wiring == "inducing"
    progress = final_progress(city, DynamicsOptions(data="city", parents=3), "enforcing")
    assert "come from sparsity inducing learning" in progress.opening
    found = progress.result
    expected = final_progress(city, DynamicsOptions(data="city", parents=3), "inducing").result
    np.testing.assert_array_equal(found.system.matrix, expected.system.matrix)


def test_the_band_is_the_residual_of_the_training_rows(material) -> None:
    result = final_progress(material, OPTIONS).result
    by_node = {step.node: step for step in result.steps}
    record = series_record(result.system, material.train, material.test, 3, 1)
    assert record["band"] == pytest.approx(2 * by_node[3].residual, rel=1e-3)
    assert len(record["seen"]) == material.test.n_rows - 1
    assert record["first"] == material.train.n_rows + 2
    gaps = np.abs(np.subtract(record["seen"], record["predicted"]))
    assert record["inside"] == pytest.approx(np.mean(gaps <= record["band"]), abs=0.03)
    further = series_record(result.system, material.train, material.test, 3, 5)
    assert len(further["seen"]) == material.test.n_rows - 5


def test_the_graph_carries_the_true_matrix(material) -> None:
    rows = matrix_rows(material.truth)
    for i, (sources, values) in enumerate(rows):
        np.testing.assert_allclose(material.truth.matrix[i, sources], values, rtol=1e-3)
    graph = influence_graph(
        material.series.names,
        material.places,
        "key",
        has_natural_positions=False,
        sizes=np.array([0.0, 2.0]),
    )
    assert graph["truth"] is None
    assert graph["sizes"] == [1.0, 2.0]


def test_what_is_too_large_is_refused_or_asked_about() -> None:
    options = DynamicsOptions()
    scalable, dense = dynamics.ScalableStructure(seeds=6.0, parents=5), dynamics.Dense()
    assert judge_system(options.size, options.rows, scalable) == judge_system(30, 600, dense)
    assert "20 s" in judge_system(900, 50_000, dynamics.SparsityInducing(parents=5)).question
    assert "Too much to display" in judge_system(8_000, 10_000, dense).refusal
    many = dynamics.series_of(np.random.default_rng(0).normal(size=(6, MOST_SERIES + 1)))
    with pytest.raises(InputError, match="1,001 series"):
        uploaded_series(many)(0.4)
