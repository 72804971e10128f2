"""The pairwise Markov random field itself: structure, weights, names. Frozen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graftviz.errors import InputError


@dataclass(frozen=True, eq=False)
class PairwiseMRF:
    """Log-linear pairwise model p(x) ∝ exp(Σ_i w_i[x_i] + Σ_(i,j) w_ij[x_i, x_j]).

    Attributes
    ----------
    cardinalities : int64 array, shape (n,)
        Number of states s_i of each variable, at least 1.
    edges : int64 array, shape (m, 2)
        Each row (i, j) with i < j, no row twice; the order is the order of activation.
    weights : float64 array, flat
        All node weights in variable order, then all edge weights in edge order, each edge
        row-major with x_i as the row. ``-inf`` stands for a zero potential.
    names : tuple of str
        One per variable, all different.
    labels : tuple of tuple of str
        State labels; ``labels[i][k]`` is state k of variable i.

    Raises
    ------
    InputError
        When shapes, ranges or names do not fit together.
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
        wanted = int(cardinalities.sum() + (cardinalities[edges].prod(axis=1)).sum())
        if len(weights) != wanted:
            raise InputError(f"This structure has {wanted} weights, but {len(weights)} were given.")
        if np.isnan(weights).any() or np.isposinf(weights).any():
            raise InputError("A weight is not a number (or +infinity).")
        names = self.names or tuple(f"x{i}" for i in range(n))
        labels = self.labels or tuple(tuple(str(k) for k in range(s)) for s in cardinalities)
        if len(names) != n or len(set(names)) != n:
            raise InputError(f"A model of {n} variables needs {n} different names.")
        if [len(states) for states in labels] != cardinalities.tolist():
            raise InputError("Each variable needs one label per state.")
        for array in (cardinalities, edges, weights):
            array.flags.writeable = False
        object.__setattr__(self, "cardinalities", cardinalities)
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "labels", tuple(tuple(states) for states in labels))

    @classmethod
    def from_tables(
        cls, node_weights: list[Any], edge_weights: dict[tuple[int, int], Any], **naming: Any
    ) -> PairwiseMRF:
        """Build a model from one vector per node and one matrix per edge (either orientation).

        Raises
        ------
        InputError
            When a matrix does not have a row per state of its first variable and a column per
            state of its second, or an edge is given twice.
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

    @property
    def node_offsets(self) -> np.ndarray:
        """Where node i begins in `weights` (it ends where i + 1 begins), shape (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.cardinalities)])

    @property
    def edge_offsets(self) -> np.ndarray:
        """Where edge e begins in `weights` (it ends where e + 1 begins), shape (m + 1,)."""
        sizes = self.cardinalities[self.edges].prod(axis=1)
        return self.cardinalities.sum() + np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def node_weights(self, i: int) -> np.ndarray:
        """Return w_i, shape (s_i,), read-only."""
        start = int(self.cardinalities[:i].sum())
        return self.weights[start : start + int(self.cardinalities[i])]

    def edge_weights(self, e: int) -> np.ndarray:
        """Return w_ij of the e-th edge, shape (s_i, s_j), read-only."""
        i, j = self.edges[e]
        shape = (int(self.cardinalities[i]), int(self.cardinalities[j]))
        start = int(self.edge_offsets[e])
        return self.weights[start : start + shape[0] * shape[1]].reshape(shape)

    def edge_norms(self) -> np.ndarray:
        """Return ‖w_ij‖₂ of every edge, shape (m,)."""
        if self.n_edges == 0:
            return np.zeros(0)
        offsets = self.edge_offsets
        return np.sqrt(np.add.reduceat(self.weights[offsets[0] :] ** 2, offsets[:-1] - offsets[0]))

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
