"""Comparison of two models of the same variables: common edges and their strengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graftviz.errors import InputError
from graftviz.model import PairwiseMRF

COMMON, LOST, GAINED = "common", "lost", "gained"


@dataclass(frozen=True, eq=False)
class ModelDifference:
    """Edges of two models, with the variable indices of the first.

    Attributes
    ----------
    edges : int64 array, shape (k, 2)
        Rows i < j: common edges first, then lost, then gained ones, each by decreasing norm.
    status : tuple of str, length k
        ``"common"``; ``"lost"``: in the first model only; ``"gained"``: in the second only.
    first, second : float64 arrays, shape (k,)
        ‖w_ij‖₂ in each model, 0 if it does not have the edge.
    note : str
        How the variables were matched.
    """

    edges: np.ndarray
    status: tuple[str, ...]
    first: np.ndarray
    second: np.ndarray
    note: str

    def count(self, status: str) -> int:
        """Return the number of edges with `status`."""
        return self.status.count(status)


def compare_models(first: PairwiseMRF, second: PairwiseMRF) -> ModelDifference:
    """Compare the edges of two models.

    Variables are matched by name; if the models share no name, by index, if there are as many.

    Raises
    ------
    InputError
        If the variables cannot be matched.
    """
    indices, note = _matched(first, second)
    first_norms = dict(_normed(first))
    second_norms: dict[tuple[int, int], float] = {}
    for (i, j), norm in _normed(second):
        a, b = int(indices[i]), int(indices[j])
        if a >= 0 and b >= 0:
            second_norms[min(a, b), max(a, b)] = norm
    groups = (
        (COMMON, [edge for edge in first_norms if edge in second_norms]),
        (LOST, [edge for edge in first_norms if edge not in second_norms]),
        (GAINED, [edge for edge in second_norms if edge not in first_norms]),
    )
    rows = []
    for status, edges in groups:
        found = [
            (edge, status, first_norms.get(edge, 0.0), second_norms.get(edge, 0.0))
            for edge in edges
        ]
        rows += sorted(found, key=lambda row: (-max(row[2], row[3]), row[0]))
    table = np.array([row[0] for row in rows], dtype=np.int64).reshape(-1, 2)
    norms = np.array([row[2:] for row in rows], dtype=np.float64).reshape(-1, 2)
    for array in (table, norms):
        array.flags.writeable = False
    return ModelDifference(table, tuple(row[1] for row in rows), norms[:, 0], norms[:, 1], note)


def _matched(first: PairwiseMRF, second: PairwiseMRF) -> tuple[np.ndarray, str]:
    """Return the index in `first` of each variable of `second` (−1: none), and a note."""
    index = {name: i for i, name in enumerate(first.names)}
    indices = np.array([index.get(name, -1) for name in second.names], dtype=np.int64)
    shared = int((indices >= 0).sum())
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
        return indices, ""
    return indices, (
        f"{shared:,} variables are in both models by name; {missing[0]:,} are only in the first, "
        f"{missing[1]:,} only in the second, and edges of these last are left out."
    )


def _normed(model: PairwiseMRF) -> list[tuple[tuple[int, int], float]]:
    pairs = [(int(i), int(j)) for i, j in model.edges]
    return list(zip(pairs, model.edge_norms().tolist(), strict=True))
