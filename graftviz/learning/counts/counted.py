"""Tables whose pairs are all counted in advance, from rows that need not be in memory together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.counts.packed import PackedTable, counts_of_all_pairs, keep_packed
from graftviz.utils.errors import InputError


class CountedTable(DiscreteTable):
    """Names and labels of a table with the counts of all its pairs, and without its rows.

    Learners whose statistics are pair counts accept it; they learn what they learn from the rows.

    Parameters
    ----------
    parts : iterable of DiscreteTable
        Pieces of the rows with the same names and labels, each needed only while it is counted.
    """

    has_rows: ClassVar[bool] = False

    def __init__(self, parts: Iterable[DiscreteTable]) -> None:
        coding, packed = counts_of_all_pairs(parts)
        for name in ("names", "labels", "warnings"):
            object.__setattr__(self, name, getattr(coding, name))
        object.__setattr__(self, "_packed", packed)
        keep_packed(self, packed)

    _packed: PackedTable

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse to be pickled: the parts are counted where they are."""
        raise TypeError("A counted table cannot be pickled.")

    @property
    def codes(self) -> np.ndarray:
        """Unavailable, since the rows are not in memory.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError(
            "The rows of this table are not in memory; use a learner that needs only pair counts "
            "(the Bethe objective with the belief score)."
        )

    @property
    def n_variables(self) -> int:
        """Number of variables, n."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """Number of rows of all parts."""
        return int(self._packed.rows)

    def state_counts(self, i: int) -> np.ndarray:
        """Return the number of rows with each state of a variable."""
        at = self._packed.node_offsets
        return self._packed.margins[at[i] : at[i + 1]].astype(np.int64)
