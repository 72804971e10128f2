"""Learning from the counts of all pairs, without the rows."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import random_table

from graftviz import ChowLiu, EdgeGrafting, InputError, NodewiseL1
from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner, drained
from graftviz.learning.counts.pair_counts import CountedTable, PairCounts


@pytest.fixture(scope="module")
def rows() -> DiscreteTable:
    return random_table(3, 8, 900)


def test_counts_are_sums_over_parts_of_the_rows(rows: DiscreteTable) -> None:
    parts = (rows.rows(slice(0, 100)), rows.rows(slice(100, 300)), rows.rows(slice(300, None)))
    found, wanted = PairCounts(CountedTable(parts)), PairCounts(rows)
    assert found.n_rows == wanted.n_rows
    for i in range(8):
        np.testing.assert_array_equal(found.marginal(i), wanted.marginal(i))
        for j in range(8):
            if i != j:
                np.testing.assert_array_equal(found.table(i, j), wanted.table(i, j))


@pytest.mark.parametrize("learner", [ChowLiu(), EdgeGrafting(preset="paper", lam=1e-3)])
def test_learners_by_counts_learn_what_they_learn_from_rows(
    rows: DiscreteTable, learner: Learner
) -> None:
    found, wanted = (drained(learner.steps(table)) for table in (CountedTable([rows]), rows))
    assert len(wanted.model().edges) >= 3
    np.testing.assert_array_equal(found.model().edges, wanted.model().edges)
    np.testing.assert_array_equal(found.model().weights, wanted.model().weights)


def test_learners_by_rows_refuse_counts(rows: DiscreteTable) -> None:
    with pytest.raises(InputError, match="need the rows in memory"):
        NodewiseL1().check(CountedTable([rows]))
    with pytest.raises(InputError, match="are not in memory"):
        _ = CountedTable([rows]).codes
