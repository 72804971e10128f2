"""Every series regressed once: from it follow the systems for all k and all numbers of seeds.

Which parents a regression finds does not depend on how many of them are taken, nor on which other
series are regressed. So a curve over k or |S| needs each regression once, and for every point only
the choice of parents and least squares on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from graftviz.dynamics.rows import Row
from graftviz.dynamics.scalable import ScalableStructure
from graftviz.dynamics.series import TimeSeries, Transitions, standardised
from graftviz.dynamics.solving import Regressed, Search, blocks_of, chosen_row, regressed_block
from graftviz.dynamics.system import LinearSystem, system_of_rows
from graftviz.learners.base import checked_seed


class Survey(NamedTuple):
    """The regressions of all series, one and two steps ahead.

    Attributes
    ----------
    search : Search
        What they were made with.
    regressed : tuple of n Regressed
    seed : int
    """

    search: Search
    regressed: tuple[Regressed, ...]
    seed: int

    def inducing(self, k: int) -> LinearSystem:
        """Return what sparsity inducing learning finds with k parents."""
        return self._system([chosen_row(self.search.data, one, k) for one in self.regressed])

    def scalable(self, learner: ScalableStructure) -> LinearSystem:
        """Return what scalable structure learning finds by the seeds and the k of `learner`.

        Its options of solving should be those the survey was made with.
        """
        data = self.search.data
        search = self.search._replace(two_hop=None, k=learner.parent_count(len(data.names)))
        seeds = learner.chosen(data, self.seed).tolist()
        asked = [chosen_row(data, self.regressed[i], search.k) for i in seeds]
        others = [row for _, row in learner.other_rows(asked, search)]
        return self._system(sorted([*asked, *others], key=lambda row: row.node))

    def _system(self, rows: list[Row]) -> LinearSystem:
        """Return the system of the rows of all series, in their order."""
        shift = self.search.data.shift
        intercept = [shift[row.node] - row.coefficients @ shift[row.parents] for row in rows]
        return system_of_rows(
            self.search.data.names,
            [row.parents for row in rows],
            [row.coefficients for row in rows],
            np.array(intercept),
        )


def surveying(
    data: TimeSeries | Transitions, learner: ScalableStructure, *, seed: int = 0
) -> Iterator[Survey | None]:
    """Regress all series by the options of `learner`, a block at a time; the survey comes last.

    Raises
    ------
    InputError
        When the data are too few for what the options ask.
    """
    learner.check(data)
    known = standardised(data, centre=learner.centre)
    search = learner.search(known, checked_seed(seed))
    regressed: list[Regressed] = []
    for block in blocks_of(range(len(known.names))):
        regressed += regressed_block(search, block)
        yield None
    yield Survey(search, tuple(regressed), seed)
