"""The records of the Budget page's player agree with the run: trees, widths, places, points."""

from __future__ import annotations

from collections import deque

import pytest

from graftviz.learners.nodewise_l1 import NodewiseL1
from graftviz.ui.budget.state import BudgetMaterial, dense_material, pathing


@pytest.fixture(scope="module")
def source() -> BudgetMaterial:
    return dense_material(1, variables=7, rows=200)


def test_the_path_begins_with_the_truth_and_goes_down_in_lambda(source: BudgetMaterial) -> None:
    path = deque(pathing(source, 0.0, "exact"), maxlen=1)[0]
    first, *rest = path.points
    assert first.family == "truth"
    assert source.model is not None
    assert first.edges == len(source.model.edges)
    lams = [point.setting for point in rest]
    assert lams == sorted(lams, reverse=True)
    assert all(point.family == "l1" for point in rest)
    assert NodewiseL1(lam=lams[-1])  # a λ that the learner would take
