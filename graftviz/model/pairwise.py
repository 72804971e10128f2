"""Pairwise Markov random field: structure, weights, names; immutable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from graftviz.utils.arrays import freeze, places_of, read_only
from graftviz.utils.errors import InputError
from graftviz.utils.wording import nearest

_MOST_ROUNDS = 200
_SETTLED = 1e-14


class Incidence(NamedTuple):
    """Adjacency of a graph in compressed rows, read-only.

    Attributes
    ----------
    starts : int64 array, shape (n + 1,)
        The entries of node i are ``starts[i]:starts[i + 1]`` of the other two arrays.
    neighbours : int64 array, shape (2 m,)
        Neighbours, ascending for each node.
    edges : int64 array, shape (2 m,)
        Indices of the edges to the neighbours.
    """

    starts: np.ndarray
    neighbours: np.ndarray
    edges: np.ndarray


class HasModel:
    """Base of what functions accept as a model: the model itself, a result, and an estimator."""

    def _model(self) -> PairwiseModel:
        """Return the model."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseModel(HasModel):
    """Log-linear pairwise model p(x) ∝ exp(Σ_i w_i[x_i] + Σ_(i,j) w_ij[x_i, x_j]).

    Attributes
    ----------
    cardinalities : int64 array, shape (n,)
        Number of states s_i of each variable, at least 1.
    edges : int64 array, shape (m, 2)
        Distinct pairs (i, j) with i < j, in the order of activation.
    weights : float64 array, flat
        All node weights in variable order, then all edge weights in edge order, each edge
        row-major with x_i as the row. ``-inf`` is a zero potential.
    names : tuple of str
        One distinct name per variable.
    labels : tuple of tuple of str
        State labels; ``labels[i][k]`` is state k of variable i.

    Raises
    ------
    InputError
        If shapes, ranges or names are inconsistent.

    See :class:`graftviz.PairwiseMRF`, which also predicts.
    """

    cardinalities: np.ndarray
    edges: np.ndarray
    weights: np.ndarray
    names: tuple[str, ...] = ()
    labels: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        cardinalities = np.array(self.cardinalities, dtype=np.int64).reshape(-1)
        edges = np.array(self.edges, dtype=np.int64).reshape(-1, 2)
        weights = np.array(self.weights, dtype=np.float64).reshape(-1)
        n = len(cardinalities)
        if n == 0 or cardinalities.min() < 1:
            raise InputError("A model needs at least one variable, each with at least one state.")
        if len(edges):
            if edges.min() < 0 or edges.max() >= n or (edges[:, 0] >= edges[:, 1]).any():
                raise InputError(f"Edges must be pairs i < j of variables 0 … {n - 1}.")
            if len(np.unique(edges[:, 0] * n + edges[:, 1])) != len(edges):
                raise InputError("An edge stands twice in the model.")
        expected = int(cardinalities.sum() + (cardinalities[edges].prod(axis=1)).sum())
        if len(weights) != expected:
            raise InputError(
                f"This structure has {expected} weights, but {len(weights)} were given."
            )
        if np.isnan(weights).any() or np.isposinf(weights).any():
            raise InputError("A weight is not a number (or +infinity).")
        names = self.names or tuple(f"x{i}" for i in range(n))
        labels = self.labels or tuple(tuple(str(k) for k in range(s)) for s in cardinalities)
        if len(names) != n or len(set(names)) != n:
            raise InputError(f"A model of {n} variables needs {n} different names.")
        if [len(states) for states in labels] != cardinalities.tolist():
            raise InputError("Each variable needs one label per state.")
        freeze(cardinalities, edges, weights)
        object.__setattr__(self, "cardinalities", cardinalities)
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "labels", tuple(tuple(states) for states in labels))

    @classmethod
    def from_tables(
        cls, node_weights: list[Any], edge_weights: dict[tuple[int, int], Any], **naming: Any
    ) -> PairwiseModel:
        """Build a model from one vector per node and one matrix per edge (either orientation).

        Raises
        ------
        InputError
            If a matrix does not have one row per state of its first variable and one column per
            state of its second, or an edge occurs twice.
        """
        nodes = [np.asarray(vector, dtype=np.float64).reshape(-1) for vector in node_weights]
        turned: dict[tuple[int, int], np.ndarray] = {}
        for (i, j), table in edge_weights.items():
            matrix = np.asarray(table, dtype=np.float64)
            if i == j or min(i, j) < 0 or max(i, j) >= len(nodes):
                raise InputError(f"Edges must join two of the variables 0 … {len(nodes) - 1}.")
            if matrix.shape != (len(nodes[i]), len(nodes[j])):
                raise InputError(
                    f"The weights of edge ({i}, {j}) need the shape "
                    f"{(len(nodes[i]), len(nodes[j]))}; got {matrix.shape}."
                )
            if (min(i, j), max(i, j)) in turned:
                raise InputError("An edge stands twice in the model.")
            turned[min(i, j), max(i, j)] = matrix if i < j else matrix.T
        flat = [np.zeros(0), *nodes, *(matrix.reshape(-1) for matrix in turned.values())]
        return cls(
            cardinalities=np.array([len(vector) for vector in nodes]),
            edges=np.array(list(turned), dtype=np.int64).reshape(-1, 2),
            weights=np.concatenate(flat),
            **naming,
        )

    @property
    def n_variables(self) -> int:
        """Number of variables, n."""
        return len(self.cardinalities)

    @property
    def n_edges(self) -> int:
        """Number of edges, m."""
        return len(self.edges)

    @cached_property
    def node_offsets(self) -> np.ndarray:
        """Start of each node in `weights`, and the end of the last, shape (n + 1,)."""
        return read_only(np.concatenate([[0], np.cumsum(self.cardinalities)]))

    @cached_property
    def edge_offsets(self) -> np.ndarray:
        """Start of each edge in `weights`, and the end of the last, shape (m + 1,)."""
        sizes = self.cardinalities[self.edges].prod(axis=1)
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return read_only(self.cardinalities.sum() + ends)

    @cached_property
    def incidence(self) -> Incidence:
        """Neighbours of every node and the edges to them."""
        ends = self.edges.T.reshape(-1)  # all first ends, then all second ends
        others = self.edges[:, ::-1].T.reshape(-1)
        order = np.lexsort((others, ends))
        starts = np.concatenate([[0], np.cumsum(self.degrees())]).astype(np.int64)
        by = np.tile(np.arange(self.n_edges, dtype=np.int64), 2)[order]
        return Incidence(read_only(starts), read_only(others[order]), read_only(by))

    def index_of(self, variable: int | str) -> int:
        """Return the index of a variable, given by index or name.

        Raises
        ------
        InputError
            If the model has no such variable.
        """
        if isinstance(variable, str):
            if variable not in self._index_of_name:
                some = ", ".join(self.names[:6]) + (" …" if self.n_variables > 6 else "")
                hint = nearest(variable, self.names, f"it has {some}.")
                raise InputError(f"The model has no variable named {variable!r}; {hint}")
            return self._index_of_name[variable]
        if isinstance(variable, bool) or not isinstance(variable, (int, np.integer)):
            raise InputError(f"A variable is given by its index or its name, not by {variable!r}.")
        if not 0 <= variable < self.n_variables:
            raise InputError(
                f"The model has the variables 0 … {self.n_variables - 1}; {variable} is not one."
            )
        return int(variable)

    @cached_property
    def _index_of_name(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def _model(self) -> PairwiseModel:
        return self

    def __repr__(self) -> str:
        states = np.unique(self.cardinalities)
        sizes = f"{states[0]}" if len(states) == 1 else f"{states[0]} to {states[-1]}"
        variables = f"{self.n_variables:,} variables of {sizes} states"
        return f"<{type(self).__name__}: {variables}, {self.n_edges:,} edges>"

    def __getitem__(
        self, variables: int | str | tuple[int | str, int | str]
    ) -> pd.Series | pd.DataFrame:
        """Return the weights of a variable, ``model["a"]``, or of an edge, ``model["a", "b"]``.

        Returns
        -------
        Series or DataFrame
            Weights by label. Rows of an edge are the states of the variable that is named first.

        Raises
        ------
        InputError
            If there is no such variable, or no edge between the two.
        """
        return labelled(self, variables, self.node_weights, self.edge_weights)

    def edge_between(self, first: int | str, second: int | str) -> tuple[int, int, int]:
        """Return the indices of two variables, and of the edge between them.

        Raises
        ------
        InputError
            If there is no such variable or edge.
        """
        i, j = self.index_of(first), self.index_of(second)
        found = places_of(self.edges, min(i, j), max(i, j))
        if len(found) == 0:
            raise InputError(f"There is no edge between {self.names[i]!r} and {self.names[j]!r}.")
        return i, j, int(found[0])

    def node_weights(self, i: int) -> np.ndarray:
        """Return w_i, shape (s_i,), read-only."""
        start = int(self.node_offsets[i])
        return self.weights[start : start + int(self.cardinalities[i])]

    def edge_weights(self, e: int) -> np.ndarray:
        """Return w_ij of the e-th edge, shape (s_i, s_j), read-only."""
        i, j = self.edges[e]
        shape = (int(self.cardinalities[i]), int(self.cardinalities[j]))
        start = int(self.edge_offsets[e])
        return self.weights[start : start + shape[0] * shape[1]].reshape(shape)

    def edge_norms(self) -> np.ndarray:
        """Return ‖w_ij‖₂ of every edge in the zero-sum gauge, shape (m,).

        See :func:`zero_sum`: two models of the same distribution have the same norms. States that
        a table or a node weight rules out on their own count as part of the nodes; an edge with any
        other zero potential has an infinite norm.
        """
        offsets = self.edge_offsets
        weights = self.weights[offsets[0] :]
        possible = np.isfinite(self.weights[: offsets[0]])
        if not possible.all():
            weights = weights.copy()
            for e, ends in enumerate(self.edges.tolist()):
                i, j = (possible[self.node_offsets[k] : self.node_offsets[k + 1]] for k in ends)
                table = weights[offsets[e] - offsets[0] : offsets[e + 1] - offsets[0]]
                table[~np.outer(i, j).reshape(-1)] = -np.inf
        return zero_sum_norms(self.cardinalities[self.edges], weights)

    def degrees(self) -> np.ndarray:
        """Return the number of neighbours of every node, shape (n,)."""
        return np.bincount(self.edges.reshape(-1), minlength=self.n_variables)

    def log_scores(self, codes: np.ndarray) -> np.ndarray:
        """Return unnormalised log-probabilities of rows; `codes` has shape (variables, rows)."""
        total = np.zeros(codes.shape[1])
        for i in range(self.n_variables):
            total += self.node_weights(i)[codes[i]]
        for e, (i, j) in enumerate(self.edges):
            total += self.edge_weights(e)[codes[i], codes[j]]
        return total


def zero_sum(table: np.ndarray) -> np.ndarray:
    """Return the weights of an edge in the zero-sum gauge: every row and column sums to 0.

    Adding a function of x_i or of x_j to w_ij, and taking it from w_i or w_j, leaves the
    distribution as it is. Of all such tables this one has the smallest norm. Zero potentials
    (-inf) stay, and sums go over the other entries.

    Parameters
    ----------
    table : array, shape (s_i, s_j)
    """
    finite = np.isfinite(table)
    if finite.all():
        centred: np.ndarray = _double_centred(np.asarray(table, dtype=np.float64)[None])[0]
        return centred
    rest = np.where(finite, table, 0.0)
    counts = [np.maximum(finite.sum(axis=axis, keepdims=True), 1) for axis in (1, 0)]
    for _ in range(_MOST_ROUNDS):
        before = rest
        for axis, count in zip((1, 0), counts, strict=True):
            rest = np.where(finite, rest - rest.sum(axis=axis, keepdims=True) / count, 0.0)
        if np.abs(rest - before).max(initial=0.0) <= _SETTLED * np.abs(rest).max(initial=0.0):
            break
    return np.where(finite, rest, -np.inf)


def _double_centred(tables: np.ndarray) -> np.ndarray:
    """Return tables, shape (k, rows, columns), whose rows and columns sum to zero."""
    # One mean after the other: no sum of a whole table, which could pass the range of floats.
    by_rows = tables - tables.mean(axis=2, keepdims=True)
    centred: np.ndarray = by_rows - by_rows.mean(axis=1, keepdims=True)
    return centred


def zero_sum_norms(shapes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the norms of tables in the zero-sum gauge, shape (k,).

    A norm is infinite where more than whole rows and columns is -inf.

    Parameters
    ----------
    shapes : int array, shape (k, 2)
        Rows and columns of every table.
    weights : array, flat
        The tables one after the other, row-major.
    """
    norms = np.zeros(len(shapes))
    starts = np.cumsum(shapes.prod(axis=1)) - shapes.prod(axis=1)
    with np.errstate(over="ignore"):  # a norm beyond the range of floats is infinite
        for rows, columns in set(map(tuple, shapes.tolist())):
            members = np.flatnonzero((shapes[:, 0] == rows) & (shapes[:, 1] == columns))
            if len(members) == len(shapes):  # a view instead of a copy
                tables = weights.reshape(-1, rows, columns)
            else:
                chosen = starts[members][:, None] + np.arange(rows * columns)
                tables = weights[chosen].reshape(-1, rows, columns)
            whole = np.isfinite(tables).all(axis=(1, 2))
            norms[members[whole]] = np.sqrt((_double_centred(tables[whole]) ** 2).sum(axis=(1, 2)))
            for k in np.flatnonzero(~whole).tolist():
                norms[members[k]] = _norm_with_zeros(tables[k])
    return norms


def _norm_with_zeros(table: np.ndarray) -> float:
    finite = np.isfinite(table)
    block = np.ix_(finite.any(axis=1), finite.any(axis=0))
    if not finite[block].all():
        return float("inf")
    return float(np.sqrt((_double_centred(table[block][None]) ** 2).sum())) if finite.any() else 0.0


def model_of(source: HasModel) -> PairwiseModel:
    """Return the model of the first argument of a function, which is one or has one.

    Raises
    ------
    InputError
        For an object of another type.
    """
    if not isinstance(source, HasModel):
        raise InputError(
            "The first argument must be a model (a PairwiseMRF, a Result or a fitted "
            f"MarkovNetwork), not an object of type {type(source).__name__}."
        )
    return source._model()


def labelled(
    model: PairwiseModel,
    variables: Any,
    node: Callable[[int], np.ndarray],
    edge: Callable[[int], np.ndarray],
) -> pd.Series | pd.DataFrame:
    """Return the numbers of a variable, or of the edge between two, by label.

    Parameters
    ----------
    model : PairwiseMRF
    variables : int, str or pair of them
        A variable, or the ends of an edge; rows are the states of the end that is named first.
    node, edge : callable
        Return the numbers of the i-th variable, and of the e-th edge.

    Raises
    ------
    InputError
        If there is no such variable or edge.
    """
    names, labels = model.names, model.labels
    if not isinstance(variables, tuple):
        i = model.index_of(variables)
        states = pd.Index(labels[i], name=names[i])
        return pd.Series(np.array(node(i)), index=states, name=names[i])
    i, j, e = model.edge_between(*variables)
    rows, columns = (pd.Index(labels[k], name=names[k]) for k in (i, j))
    return pd.DataFrame(np.array(edge(e) if i < j else edge(e).T), index=rows, columns=columns)
