"""Two models of the same variables: which edges both have, and how strong they are in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graftviz.errors import InputError
from graftviz.model import PairwiseMRF

COMMON, LOST, GAINED = "common", "lost", "gained"


@dataclass(frozen=True, eq=False)
class ModelDifference:
    """Edges of a first and a second model, in the numbers of the first model's variables.

    Attributes
    ----------
    edges : int64 array, shape (k, 2)
        Each row i < j: common edges first, then lost, then gained ones, each kind by falling norm.
    status : tuple of str, length k
        ``"common"``; ``"lost"``: in the first model only; ``"gained"``: in the second only.
    first, second : float64 arrays, shape (k,)
        ‖w_ij‖₂ in each model, 0 where it does not have the edge.
    note : str
        How the variables were matched.
    """

    edges: np.ndarray
    status: tuple[str, ...]
    first: np.ndarray
    second: np.ndarray
    note: str

    def count(self, status: str) -> int:
        """Return how many edges have a status."""
        return self.status.count(status)


def compare_models(first: PairwiseMRF, second: PairwiseMRF) -> ModelDifference:
    """Compare the edges of two models.

    Variables are matched by name; where no name is in both, by number, if there are as many.

    Raises
    ------
    InputError
        When the variables cannot be matched.
    """
    places, note = _matched(first, second)
    own = dict(_normed(first))
    other: dict[tuple[int, int], float] = {}
    for (i, j), norm in _normed(second):
        a, b = int(places[i]), int(places[j])
        if a >= 0 and b >= 0:
            other[min(a, b), max(a, b)] = norm
    groups = (
        (COMMON, [edge for edge in own if edge in other]),
        (LOST, [edge for edge in own if edge not in other]),
        (GAINED, [edge for edge in other if edge not in own]),
    )
    rows = []
    for status, edges in groups:
        found = [(edge, status, own.get(edge, 0.0), other.get(edge, 0.0)) for edge in edges]
        rows += sorted(found, key=lambda row: (-max(row[2], row[3]), row[0]))
    table = np.array([row[0] for row in rows], dtype=np.int64).reshape(-1, 2)
    norms = np.array([row[2:] for row in rows], dtype=np.float64).reshape(-1, 2)
    for array in (table, norms):
        array.flags.writeable = False
    return ModelDifference(table, tuple(row[1] for row in rows), norms[:, 0], norms[:, 1], note)


def _matched(first: PairwiseMRF, second: PairwiseMRF) -> tuple[np.ndarray, str]:
    """Return the first model's number of each of the second's variables (−1: none), and how."""
    index = {name: i for i, name in enumerate(first.names)}
    places = np.array([index.get(name, -1) for name in second.names], dtype=np.int64)
    shared = int((places >= 0).sum())
    if shared == 0:
        if first.n_variables != second.n_variables:
            raise InputError(
                f"These models have no variable of the same name, and {first.n_variables:,} and "
                f"{second.n_variables:,} variables: there is nothing to compare."
            )
        note = "No name is in both models, so their variables are matched by number."
        return np.arange(second.n_variables), note
    missing = (first.n_variables - shared, second.n_variables - shared)
    if missing == (0, 0):
        return places, ""
    return places, (
        f"{shared:,} variables are in both models by name; {missing[0]:,} are only in the first, "
        f"{missing[1]:,} only in the second, and edges of these last are left out."
    )


def _normed(model: PairwiseMRF) -> list[tuple[tuple[int, int], float]]:
    pairs = [(int(i), int(j)) for i, j in model.edges]
    return list(zip(pairs, model.edge_norms().tolist(), strict=True))
