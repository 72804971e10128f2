"""What a data set is, and what goes well with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graftviz.sampling.graphs import lattice_positions
from graftviz.table import DiscreteTable

_LAM_TO_NOISE = 3.0
_LATTICE_NAME = re.compile(r"r(\d{1,6})c(\d{1,6})", re.ASCII)


@dataclass(frozen=True, eq=False)
class DataSet:
    """A table with all that is known about it.

    Attributes
    ----------
    key : str
        What the command line and links call it.
    title : str
        What people call it.
    table : DiscreteTable
    truth : int64 array, shape (k, 2), or None
        The true edges i < j, if known.
    positions : float64 array, shape (n, 2), or None
        Natural places of the variables, x and y in 0 … 10000 with y pointing down.
    description : str
        Where it comes from and what to look for, in a few sentences.
    suggested : mapping
        Values of learner options that suit it, by option name.
    test_fraction : float
        Share of the rows to hold out; 0 for none.
    validation, test : DiscreteTable or None
        Rows that the data set itself sets aside, in the coding of `table`.
    """

    key: str
    title: str
    table: DiscreteTable
    truth: np.ndarray | None
    positions: np.ndarray | None
    description: str
    suggested: Mapping[str, Any] = field(default_factory=dict)
    test_fraction: float = 0.0
    validation: DiscreteTable | None = None
    test: DiscreteTable | None = None


def positions_from_names(names: tuple[str, ...]) -> np.ndarray | None:
    """Return places for variables named ``r<row>c<column>``, as on a grid or image, else None.

    Returns
    -------
    float64 array, shape (n, 2), read-only, or None
        x and y in 0 … 10000, row 0 on top.
    """
    found = [_LATTICE_NAME.fullmatch(name) for name in names]
    cells = [(int(match[1]), int(match[2])) for match in found if match]
    if len(cells) < len(names) or len(set(cells)) < len(cells):
        return None
    rows, columns = np.array(cells).T
    positions = lattice_positions(rows, columns)
    positions.flags.writeable = False
    return positions


def noise_level(table: DiscreteTable) -> float:
    """Return the activation score that two independent variables have by sampling noise alone.

    The root mean square of ‖p_D(i, j) − p_D(i) p_D(j)‖₂ is √((1 − ‖p_i‖²)(1 − ‖p_j‖²) / N) then;
    the score divides it by s_i · s_j. Returned is the mean over pairs of variables, those with one
    state left out; 0 when there is no such pair.
    """
    roots = [
        np.sqrt(1.0 - np.sum((np.bincount(codes) / table.n_rows) ** 2)) / states
        for codes, states in zip(table.codes, table.cardinalities.tolist(), strict=True)
        if states > 1
    ]
    return float(np.mean(roots)) ** 2 / float(np.sqrt(table.n_rows)) if roots else 0.0


def suggest_lam(table: DiscreteTable) -> float:
    """Return a λ for tables nobody has tuned: three times the noise level, to two digits.

    Noise alone reaches that in hardly any pair; 1e-3 where nothing varies.
    """
    return float(f"{_LAM_TO_NOISE * noise_level(table):.2g}") or 1e-3
