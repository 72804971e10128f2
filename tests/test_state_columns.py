"""Sums over the rows in a state, from columns and bits, are those of a plain loop."""

from __future__ import annotations

import naive
import numpy as np
import pytest

from graftviz.fitting.conditionals import empty_conditionals
from graftviz.fitting.state_columns import (
    fill_columns,
    new_state_columns,
    sum_by_state,
    with_columns,
)

SIZES = (1, 2, 3, 4, 5, 6, 9, 14)  # of one to four columns at a time, and of several times that


class Rows:
    """Conditionals and codes of variables that have nothing to do with each other."""

    def __init__(self, rows, seed=0, repeated=True):
        rng = np.random.default_rng(seed)
        self.offsets = np.concatenate([[0], np.cumsum(SIZES)]).astype(np.int64)
        self.codes = np.stack([rng.integers(0, s, size=rows) for s in SIZES]).astype(np.uint16)
        often = rng.integers(1, 5, size=rows) if repeated else np.ones(rows)
        self.often = often.astype(np.float32)
        self.plain = [rng.dirichlet(np.ones(s), size=rows) for s in SIZES]
        self.conditionals = empty_conditionals()._replace(
            codes=self.codes, multiplicity=self.often, node_offsets=self.offsets
        )

    def filled(self, nodes):
        columns = new_state_columns(self.conditionals)
        for i in nodes:
            # One after the other, so that those there already have to move.
            columns = with_columns(columns, np.array([i]))
            block = np.zeros((len(self.often), SIZES[i] + 3), dtype=np.float32)
            block[:, : SIZES[i]] = self.plain[i]
            fill_columns(columns, block, self.often, i, self.offsets[i], SIZES[i])
        return columns

    def sums(self, columns, i, j):
        counts = np.bincount(self.codes[j], weights=self.often, minlength=SIZES[j])
        out = np.full(SIZES[i] * SIZES[j] + 3, 7.0)
        sum_by_state(columns, i, j, self.offsets[i], SIZES[i], SIZES[j], counts, out)
        assert (out[SIZES[i] * SIZES[j] :] == 7.0).all()
        return out[: SIZES[i] * SIZES[j]].reshape(SIZES[j], SIZES[i])


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 700, 5000])
@pytest.mark.parametrize("repeated", [False, True])
def test_sums_are_those_of_a_plain_loop(rows, repeated):
    case = Rows(rows, seed=rows, repeated=repeated)
    nodes = list(range(len(SIZES)))
    columns = case.filled(nodes[::-1])
    for i in nodes:
        for j in nodes:
            if i != j:
                wanted = naive.sums_by_state(case.plain[i], case.codes[j], SIZES[j], case.often)
                found = case.sums(columns, i, j)
                np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6 * case.often.sum())


def test_only_variables_that_were_asked_for_have_columns():
    case = Rows(300)
    columns = case.filled([4, 2])
    assert (columns.starts >= 0).tolist() == [i in (2, 4) for i in range(len(SIZES))]
    again = with_columns(columns, np.array([2, 4]))
    assert again is columns
    wanted = naive.sums_by_state(case.plain[4], case.codes[7], SIZES[7], case.often)
    found = case.sums(columns, 4, 7)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6 * case.often.sum())


def test_no_rows_beyond_the_last_count():
    case = Rows(70, repeated=False)
    columns = case.filled([4])
    assert columns.words == 2
    words = columns.planes.reshape(-1, 2)[:, 1]
    assert (words >> np.uint64(6) == 0).all()
