"""Comparison of two models of the same variables: common edges and their strengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graftviz.inference.inspect.facts import total_variations
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.arrays import freeze
from graftviz.utils.errors import InputError

COMMON, LOST, GAINED = "common", "lost", "gained"
STATUS_WORDS = {COMMON: "in both", LOST: "only in the first", GAINED: "only in the second"}


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
        Zero-sum norm ‖w_ij‖₂ in each model, 0 where it does not have the edge.
    numbers : int64 array, shape (k, 2)
        Of the edge in each model, -1 where it does not have the edge.
    places : int64 array
        Index in the first model of each variable of the second, -1 where there is none.
    note : str
        How the variables were matched.
    """

    edges: np.ndarray
    status: tuple[str, ...]
    first: np.ndarray
    second: np.ndarray
    numbers: np.ndarray
    places: np.ndarray
    note: str

    @property
    def recall(self) -> float:
        """Share of the edges of the second model that the first has; nan if there are none."""
        return _share(self.count(COMMON), self.count(GAINED))

    @property
    def precision(self) -> float:
        """Share of the edges of the first model that the second has; nan if there are none."""
        return _share(self.count(COMMON), self.count(LOST))

    @property
    def f1(self) -> float:
        """Harmonic mean of recall and precision; nan if neither model has edges."""
        both = self.count(COMMON)
        return _share(2 * both, self.count(LOST) + self.count(GAINED))

    def count(self, status: str) -> int:
        """Return the number of edges with `status`."""
        return self.status.count(status)

    def strengths(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the larger of the strengths of every edge in both models, shape (k,).

        Parameters
        ----------
        first, second : arrays
            One value of at least 0 per edge of each model.
        """
        padded = (np.append(values, 0.0) for values in (first, second))
        columns = [values[at] for values, at in zip(padded, self.numbers.T, strict=True)]
        larger: np.ndarray = np.maximum(*columns)
        return larger


def _share(part: int, others: int) -> float:
    return part / (part + others) if part + others else float("nan")


def marginal_distances(
    difference: ModelDifference,
    models: tuple[PairwiseModel, PairwiseModel],
    marginals: tuple[Sequence[np.ndarray], Sequence[np.ndarray]],
) -> np.ndarray:
    """Return the total variation between the marginals of every variable of the first model.

    States are matched by label; if the labels of a variable differ, by index.

    Parameters
    ----------
    difference : ModelDifference
    models : pair of PairwiseMRF
    marginals : pair of sequences of arrays
        Marginals of all variables of each model.

    Returns
    -------
    float64 array, shape (n,)
        nan where the second model lacks the variable, or has it with another number of states.
    """
    first, second = models
    pairs = []
    for j, i in enumerate(difference.places.tolist()):
        if i < 0 or first.cardinalities[i] != second.cardinalities[j]:
            continue
        order = {label: k for k, label in enumerate(second.labels[j])}
        is_named = order.keys() == set(first.labels[i])
        states = [order[label] for label in first.labels[i]] if is_named else slice(None)
        pairs.append((i, marginals[0][i], marginals[1][j][states]))
    found = np.full(first.n_variables, np.nan)
    if pairs:
        chosen, before, after = zip(*pairs, strict=True)
        found[list(chosen)] = total_variations(before, after)
    return found


def compare_models(first: PairwiseModel, second: PairwiseModel) -> ModelDifference:
    """Compare the edges of two models.

    Variables are matched by name; if the models share no name, by index, if there are as many.

    Raises
    ------
    InputError
        If the variables cannot be matched.
    """
    places, note = _matched(first, second)
    own = {(i, j): e for e, (i, j) in enumerate(first.edges.tolist())}
    other: dict[tuple[int, int], int] = {}
    for e, (i, j) in enumerate(second.edges.tolist()):
        a, b = int(places[i]), int(places[j])
        if a >= 0 and b >= 0:
            other[min(a, b), max(a, b)] = e
    groups = (
        (COMMON, [edge for edge in own if edge in other]),
        (LOST, [edge for edge in own if edge not in other]),
        (GAINED, [edge for edge in other if edge not in own]),
    )
    # The number -1 of an edge that is not in a model has the norm 0.
    norms = [np.append(model.edge_norms(), 0.0) for model in (first, second)]
    rows = []
    for status, edges in groups:
        found = [(edge, status, own.get(edge, -1), other.get(edge, -1)) for edge in edges]
        rows += sorted(found, key=lambda row: (-max(norms[0][row[2]], norms[1][row[3]]), row[0]))
    table = np.array([row[0] for row in rows], dtype=np.int64).reshape(-1, 2)
    numbers = np.array([row[2:] for row in rows], dtype=np.int64).reshape(-1, 2)
    columns = [values[at] for values, at in zip(norms, numbers.T, strict=True)]
    freeze(table, numbers, places, *columns)
    statuses = tuple(row[1] for row in rows)
    return ModelDifference(table, statuses, columns[0], columns[1], numbers, places, note)


def _matched(first: PairwiseModel, second: PairwiseModel) -> tuple[np.ndarray, str]:
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
        f"{missing[1]:,} only in the second, and edges of these are ignored."
    )
