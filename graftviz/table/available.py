"""Table with missing values, of which every pair of variables uses the rows that have both."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from graftviz.arrays import read_only
from graftviz.discovery import later
from graftviz.table.discrete import DiscreteTable

_LEVEL = 0.01  # of the check whether values are missing at random, over all pairs together


@dataclass(frozen=True, eq=False, repr=False)
class AvailableTable(DiscreteTable):
    """Table with missing values, counted pair by pair; returned by ``missing="available"``.

    Learners use pair counts only, as if the rows were not in memory. Where rows are needed, as for
    the NLPL of training rows, missing values are states drawn from those of their variable.

    Attributes
    ----------
    codes, names, labels, warnings, weights
        See :class:`DiscreteTable`.
    observed : bool array, shape (variables, rows)
        Whether a value is known.
    """

    observed: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))

    has_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "observed", read_only(np.array(self.observed, dtype=bool)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the constructor's arguments, since numpy does not pickle the read-only flag."""
        return AvailableTable, (*super().__reduce__()[1], self.observed)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of names, labels, codes and the positions of missing values, in hexadecimal."""
        digest = hashlib.sha256(super().fingerprint.encode("ascii"))
        digest.update(np.packbits(self.observed).tobytes())
        return digest.hexdigest()

    def rows(self, index: Any) -> AvailableTable:
        """Return the rows selected by an index array, mask or slice, with all names and labels."""
        part = super().rows(index)
        observed = self.observed[:, np.atleast_1d(np.arange(self.n_rows)[index])]
        return AvailableTable(
            part.codes, part.names, part.labels, part.warnings, part.weights, observed
        )

    @cached_property
    def pair_totals(self) -> np.ndarray:
        """Total weight of the rows that have both values, shape (n, n), read-only."""
        observed = self.observed.astype(np.float64)
        return read_only((observed * self.row_weights) @ observed.T)

    def inconsistent_pairs(self) -> int:
        """Return the number of pairs whose rows have other margins than all observed values.

        The states of a variable in the rows that have both values are compared with its states in
        all rows that have its value, by a χ² test at a level of 1 % over all pairs together. If
        values are missing completely at random, the difference has the variance
        p (1 − p) (1 / N_ij − 1 / N_i).
        """
        totals, departures = self.pair_totals, np.zeros((self.n_variables, self.n_variables))
        freedoms = np.maximum(self.cardinalities - 1, 1)
        observed, weights = self.observed.astype(np.float64), self.row_weights
        for i, size in enumerate(self.cardinalities.tolist()):
            own = totals[i, i]
            rest = np.where(totals[i] < own, 1.0 / np.maximum(totals[i], 1.0) - 1.0 / own, np.inf)
            for k in range(size):
                here = (self.codes[i] == k) * observed[i] * weights
                share = here.sum() / own
                if share > 0.0:
                    gaps = observed @ here / np.maximum(totals[i], 1.0) - share
                    departures[i] += gaps**2 / (share * rest)
        pairs = self.n_variables * (self.n_variables - 1) // 2
        # Imported here, as it takes 17 MB in every process that can read uploads.
        chdtrc = later("scipy.special").chdtrc
        beyond = chdtrc(freedoms[:, np.newaxis], departures) < _LEVEL / max(2 * pairs, 1)
        return int(np.triu(beyond | beyond.T, 1).sum())

    def note(self, title: str) -> str:
        """Return the sentence about the rows of pairs and the check of their margins."""
        n = self.n_variables
        rows = float(self.pair_totals[np.triu_indices(n, 1)].mean())
        words = (
            f"{title}: {1.0 - self.observed.mean():.1%} of the values are missing; every pair of "
            f"variables is counted from the rows that have both, {rows:,.0f} on average. Learners "
            "use these counts only, with the Bethe objective."
        )
        if found := self.inconsistent_pairs():
            words += (
                f" In {found:,} of {n * (n - 1) // 2:,} pairs these rows differ from the others "
                "by more than chance, so values are not missing at random; results may be biased."
            )
        return words


def filled(codes: np.ndarray, gaps: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return codes with every missing one drawn from the observed codes of its variable."""
    found = np.array(codes)
    for i, rows in enumerate(gaps):
        if rows.any():
            found[i, rows] = generator.choice(codes[i, ~rows], int(rows.sum()))
    return found
