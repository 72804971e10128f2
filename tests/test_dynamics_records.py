"""Records of the Dynamics page's player: evidence that leads to the parents, bands, sentences."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from graftviz import dynamics
from graftviz.dynamics.measuring import measuring
from graftviz.errors import InputError
from graftviz.material import MOST_SERIES, uploaded_series
from graftviz.player.dynamics_records import (
    run_progress,
)
from graftviz.ui.dynamics.options import DynamicsOptions, judge_system, plan_of
from graftviz.ui.dynamics.state import source

OPTIONS = DynamicsOptions(size=16, density=0.15, rows=200, parents=4, seeds=5, seed=2)


@pytest.fixture(scope="module")
def material():
    return source(OPTIONS, None)


def final_progress(material, options, name=None):
    return deque(run_progress(material, plan_of(options, material, name)), maxlen=1).pop()


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


def test_what_is_too_large_is_refused_or_asked_about() -> None:
    options = DynamicsOptions()
    scalable, dense = dynamics.ScalableStructure(seeds=6.0, parents=5), dynamics.Dense()
    assert judge_system(options.size, options.rows, scalable) == judge_system(30, 600, dense)
    assert "20 s" in judge_system(900, 50_000, dynamics.SparsityInducing(parents=5)).question
    assert "Too much to display" in judge_system(8_000, 10_000, dense).refusal
    many = dynamics.series_of(np.random.default_rng(0).normal(size=(6, MOST_SERIES + 1)))
    with pytest.raises(InputError, match="1,001 series"):
        uploaded_series(many)(0.4)
