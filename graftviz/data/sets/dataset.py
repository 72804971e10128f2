"""Data set: a table with its true edges, positions, description and suggested options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graftviz.data.synthetic.lattice import lattice_positions
from graftviz.data.table import DiscreteTable
from graftviz.utils.arrays import read_only

_LAM_TO_NOISE = 3.0
_LATTICE_NAME = re.compile(r"r(\d{1,6})c(\d{1,6})", re.ASCII)


@dataclass(frozen=True, eq=False)
class DataSet:
    """Table with metadata.

    Attributes
    ----------
    key : str
        Identifier on the command line and in links.
    title : str
        Name shown to users.
    table : DiscreteTable
    truth : int64 array, shape (k, 2), or None
        True edges i < j, if available.
    positions : float64 array, shape (n, 2), or None
        Natural positions of the variables, x and y in 0 … 10000 with y pointing down.
    description : str
        Origin and remarkable properties, in a few sentences.
    suggested : mapping
        Recommended values of learner options, by option name.
    test_fraction : float
        Share of the rows to hold out; 0 for none.
    validation, test : DiscreteTable or None
        Rows that the published data set holds out, in the coding of `table`.

    Examples
    --------
    >>> data.key, data.table.n_rows, data.truth.shape
    ('survey', 2000, (11, 2))
    """

    key: str
    title: str
    table: DiscreteTable
    truth: np.ndarray | None = None
    positions: np.ndarray | None = None
    description: str = ""
    suggested: Mapping[str, Any] = field(default_factory=dict)
    test_fraction: float = 0.0
    validation: DiscreteTable | None = None
    test: DiscreteTable | None = None


def positions_from_names(names: tuple[str, ...]) -> np.ndarray | None:
    """Return grid positions for variables named ``r<row>c<column>``; None for other names.

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
    return read_only(lattice_positions(rows, columns))


def noise_level(table: DiscreteTable) -> float:
    """Return the activation score of two independent variables due to sampling noise.

    For independent variables, the root mean square of ‖p_D(i, j) − p_D(i) p_D(j)‖₂ is
    √((1 − ‖p_i‖²)(1 − ‖p_j‖²) / N); the score divides it by s_i · s_j. The result is the mean over
    pairs of variables with more than one state; 0 if there is no such pair.
    """
    roots = [
        np.sqrt(1.0 - np.sum((np.bincount(codes) / table.n_rows) ** 2)) / states
        for codes, states in zip(table.codes, table.cardinalities.tolist(), strict=True)
        if states > 1
    ]
    return float(np.mean(roots)) ** 2 / float(np.sqrt(table.n_rows)) if roots else 0.0


def suggest_lam(table: DiscreteTable) -> float:
    """Return a default λ for a table: three times the noise level, rounded to two digits.

    Noise alone rarely reaches that score. The default is 1e-3 if all variables are constant.
    """
    return float(f"{_LAM_TO_NOISE * noise_level(table):.2g}") or 1e-3
