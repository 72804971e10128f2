"""Regressions of all series, from which systems for all k and numbers of seeds are derived.

The regression of a series does not depend on k or on the other seeds. A curve over k or |S|
therefore needs every regression once; each of its points only needs the selection of parents and
least squares on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from graftviz.data.series.series import TimeSeries, Transitions, standardise
from graftviz.dynamics.base import Row
from graftviz.dynamics.scalable import ScalableStructure
from graftviz.dynamics.solving import (
    ParentSearch,
    SeriesRegression,
    fit_best_parents,
    regress_block,
    split_blocks,
)
from graftviz.dynamics.system import LinearSystem, system_of_rows
from graftviz.utils.options import checked_seed


class AllRegressions(NamedTuple):
    """Regressions of all series, one and two steps ahead.

    Attributes
    ----------
    search : ParentSearch
        Data and solvers of the regressions.
    regressions : tuple of n SeriesRegression
    seed : int
    """

    search: ParentSearch
    regressions: tuple[SeriesRegression, ...]
    seed: int

    def inducing(self, k: int) -> LinearSystem:
        """Return the system of sparsity inducing learning with k parents."""
        return self._system(
            [fit_best_parents(self.search.data, one, k) for one in self.regressions]
        )

    def scalable(self, learner: ScalableStructure) -> LinearSystem:
        """Return the system of scalable structure learning with the seeds and the k of `learner`.

        Its solver options must be those of the regressions.
        """
        data = self.search.data
        search = self.search._replace(two_hop=None, k=learner.parent_count(len(data.names)))
        seeds = learner.choose_seeds(data, self.seed).tolist()
        seed_rows = [fit_best_parents(data, self.regressions[i], search.k) for i in seeds]
        others = [row for _, row in learner.other_rows(seed_rows, search)]
        return self._system(sorted([*seed_rows, *others], key=lambda row: row.node))

    def _system(self, rows: list[Row]) -> LinearSystem:
        """Return the system with the given rows, which are those of all series in order."""
        shift = self.search.data.shift
        intercept = [shift[row.node] - row.coefficients @ shift[row.parents] for row in rows]
        return system_of_rows(
            self.search.data.names,
            [row.parents for row in rows],
            [row.coefficients for row in rows],
            np.array(intercept),
        )


def regress_all(
    data: TimeSeries | Transitions, learner: ScalableStructure, *, seed: int = 0
) -> Iterator[AllRegressions | None]:
    """Regress all series with the options of `learner`; yield None per block, then the result.

    Raises
    ------
    InputError
        When there are too few rows for the options.
    """
    learner.check(data)
    standard = standardise(data, centre=learner.centre)
    search = learner.search(standard, checked_seed(seed))
    regressions: list[SeriesRegression] = []
    for block in split_blocks(range(len(standard.names))):
        regressions += regress_block(search, block)
        yield None
    yield AllRegressions(search, tuple(regressions), seed)
