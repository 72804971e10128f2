"""The Regions page computes the same as the engine and refuses models that are too large."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from graftviz.inference import infer
from graftviz.model import PairwiseMRF
from graftviz.player import region_records
from graftviz.player.models import grid_model
from graftviz.player.region_records import Grown, RegionQuery, Whole, answering, growing
from graftviz.regions import dobrushin_coefficient, influence_matrix, local_marginal
from graftviz.regions.overview import influence_of
from graftviz.sampling import random_model
from graftviz.sampling.graphs import grid_graph


def grown(model: PairwiseMRF, question: RegionQuery) -> Grown:
    return deque(growing(model, question), maxlen=1)[0]


def asked(model: PairwiseMRF) -> Whole:
    return deque(answering(model), maxlen=1)[0]


@pytest.mark.parametrize("cut", ["drop", "mean-field"])
@pytest.mark.parametrize("expansion", ["greedy", "random", "norm"])
def test_a_region_on_the_page_is_the_one_of_the_engine(expansion: str, cut: str) -> None:
    model = random_model(grid_graph(4, 4).edges, [2, 3] * 8, edge_sigma=0.3, seed=4)
    found = grown(model, RegionQuery(5, expansion, cut, 1e-3, 7, 2))
    wanted = local_marginal(
        model, 5, tolerance=1e-3, max_size=7, cut=cut, expansion=expansion, seed=2
    )
    on_the_way = found.steps[: len(wanted.history)]
    assert [s.step.added for s in on_the_way] == [s.added for s in wanted.history]
    assert min(s.step.bound for s in found.steps) == wanted.bound
    of_answer = found.steps[len(wanted.nodes) - 1]
    np.testing.assert_allclose(of_answer.marginal, wanted.marginal, atol=1e-12)
    assert of_answer.step.bound == wanted.bound
    assert found.stop_reason
    assert wanted.stop_reason.startswith(found.stop_reason)
    assert found.seconds > 0


def test_a_region_too_wide_for_exact_inference_is_not_certified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(region_records, "MOST_REGION_BYTES", 1)
    model = grid_model(4, 0.5, 0.3, 0).model
    found = grown(model, RegionQuery(5, "greedy", "drop", 1e-4, 4, 0))
    assert not found.steps[-1].is_exact
    assert found.steps[-1].bound is None
    assert found.steps[-1].marginal.sum() == pytest.approx(1.0)


def test_the_whole_graph_answers_exactly_where_that_is_affordable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = grid_model(5, 0.5, 0.5, 0).model
    found = asked(model)
    assert found.exact is not None
    for mine, theirs in zip(found.exact, infer(model, "exact").node, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)
    assert found.why == ""
    monkeypatch.setattr(region_records, "MOST_ENTRIES", 10)
    refused = asked(model)
    assert refused.exact is None
    assert "limit 10" in refused.why
    assert len(refused.bp) == 25


def test_a_large_grid_is_refused_with_its_width_before_any_table_is_made() -> None:
    found = asked(grid_model(30, 0.5, 0.3, 0).model)
    assert found.exact is None
    assert "width 30" in found.why or "width 31" in found.why


def test_the_glow_is_the_querys_row_of_the_inverse() -> None:
    model = grid_model(4, 0.6, 0.2, 1).model
    found = influence_of(model)
    assert found.coefficient == pytest.approx(dobrushin_coefficient(model))
    matrix = influence_matrix(model).toarray()
    wanted = np.linalg.inv(np.eye(16) - matrix)[5]
    np.testing.assert_allclose(found.reach(5), wanted, atol=2e-3)
    strong = influence_of(grid_model(4, 0.0, 0.8, 1).model)
    assert strong.coefficient > 1.0
    assert strong.reach(5) is None
