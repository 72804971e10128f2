"""Linear response between all active nodes at once, kept up to date as edges come.

For the exhaustive search of edge grafting, which asks for every pair at every step. A few new or
changed edges are taken in by low-rank updates (:mod:`graftviz.inference.response_matrix`); where
many changed, and every so often against rounding, everything is computed afresh from a sparse
factor.
"""

from __future__ import annotations

import numpy as np

from graftviz.errors import InputError
from graftviz.inference.response_factor import factorise
from graftviz.inference.response_matrix import ResponseMatrix, add_term, dense_block, fill_blocks
from graftviz.inference.response_terms import edge_terms, square_roots

_RENEW_EVERY = 512  # low-rank updates between two fresh starts
_RENEW_AT = 32  # so many changed edges at once cost as much as a fresh start
_MOST_DIMENSIONS = 6000
_ALL_SOLUTIONS = 1 << 62


class DenseResponse:
    """All covariances between the nodes that have edges, at the beliefs last given.

    Parameters
    ----------
    node_offsets : int64 array, shape (n + 1,)
    node_beliefs : float64 array, flat
    most_dimensions : int
        Most states that nodes with edges may have together; C has its square numbers (8 bytes
        each), and a fresh start needs up to twice as much again.
    renew_every : int
        Low-rank updates between two fresh starts.
    """

    def __init__(
        self,
        node_offsets: np.ndarray,
        node_beliefs: np.ndarray,
        *,
        most_dimensions: int = _MOST_DIMENSIONS,
        renew_every: int = _RENEW_EVERY,
    ) -> None:
        self.node_offsets = node_offsets
        self.most_dimensions = most_dimensions
        self.renew_every = renew_every
        self.positive_definite = True
        self.unstable_node = -1
        self.dimension = 0
        self.renewals = 0
        self._since_renewal = 0
        n = len(node_offsets) - 1
        self._sizes = np.diff(node_offsets)
        self._beliefs = np.array(node_beliefs, dtype=np.float64)
        self._amplitudes = square_roots(node_offsets, self._beliefs)
        self._positions = np.full(n, -1, dtype=np.int64)
        self._component = np.arange(n)
        self._nodes = np.zeros(0, dtype=np.int64)  # active, in order of their positions
        self._covariance = np.zeros(0)
        self._capacity = 0
        self._edges = np.zeros((0, 2), dtype=np.int64)
        self._cells = np.zeros(1, dtype=np.int64)
        self._pairs = np.zeros(0)
        self._starts = np.zeros(1, dtype=np.int64)
        self._terms = np.zeros(0)

    @property
    def n_edges(self) -> int:
        """Edges taken in so far."""
        return len(self._edges)

    @property
    def matrix(self) -> ResponseMatrix:
        """C as kernels read it, NaN unless positive definite.

        Ask again after every update: the arrays may have moved.
        """
        return ResponseMatrix(self.node_offsets, self._positions, self._covariance, self._capacity)

    def covariance(self, i: int, j: int) -> np.ndarray:
        """Return C_ij, shape (s_i, s_j); zeros if i ≠ j and either has no edge."""
        out = np.empty((int(self._sizes[i]), int(self._sizes[j])))
        if i == j and self._positions[i] < 0:
            own = self._belief(i)
            return np.asarray(np.diag(own) - np.outer(own, own))
        dense_block(self.matrix, i, j, out.reshape(-1))
        return out

    def add_edges(
        self, edge_nodes: np.ndarray, edge_offsets: np.ndarray, pair_beliefs: np.ndarray
    ) -> bool:
        """Take in new edges; all other beliefs are as they were.

        Parameters
        ----------
        edge_nodes : int64 array, shape (k, 2)
        edge_offsets : int64 array, shape (k + 1 or more,)
        pair_beliefs : float64 array, flat
            b_ij of the new edges.

        Returns
        -------
        bool
            Whether H is positive definite.

        Raises
        ------
        InputError
            When the active nodes would have too many states; nothing has changed then.
        """
        k, known = len(edge_nodes), self.n_edges
        self._make_room(edge_nodes)
        cells = np.asarray(edge_offsets[: k + 1])
        pairs = np.array(pair_beliefs[cells[0] : cells[-1]])
        starts, terms = edge_terms(
            self.node_offsets, self._amplitudes, edge_nodes, cells - cells[0], pairs
        )
        self._edges = np.concatenate([self._edges, edge_nodes])
        self._cells = np.concatenate([self._cells, self._cells[-1] + cells[1:] - cells[0]])
        self._pairs = np.concatenate([self._pairs, pairs])
        self._starts = np.concatenate([self._starts, self._starts[-1] + starts[1:]])
        self._terms = np.concatenate([self._terms, terms])
        return self._take_in(np.arange(known, known + k), self._terms)

    def follow(
        self,
        node_beliefs: np.ndarray,
        edge_nodes: np.ndarray,
        edge_offsets: np.ndarray,
        pair_beliefs: np.ndarray,
        *,
        tolerance: float = 0.0,
    ) -> bool:
        """Go to the beliefs given: by low-rank updates where few edges changed, else afresh.

        Parameters
        ----------
        node_beliefs, edge_nodes, edge_offsets, pair_beliefs : arrays
            As for :func:`graftviz.inference.response_factor.factorise`.
        tolerance : float
            Nodes whose beliefs moved by at most so much, and edges whose D_e moved by at most so
            much in any number, are left as they were.

        Returns
        -------
        bool
            Whether H is positive definite. If not, C is full of NaN.

        Raises
        ------
        InputError
            When the active nodes would have too many states; nothing has changed then.
        """
        known, m = self.n_edges, len(edge_nodes)
        self._make_room(edge_nodes)
        same = m >= known and np.array_equal(edge_nodes[:known], self._edges)
        if not (np.abs(node_beliefs - self._beliefs) <= tolerance).all():
            same = False
            self._beliefs = np.array(node_beliefs)
            self._amplitudes = square_roots(self.node_offsets, self._beliefs)
        before, lengths = self._terms, np.diff(self._starts)
        self._edges, self._cells = np.array(edge_nodes), np.array(edge_offsets[: m + 1])
        self._pairs = np.array(pair_beliefs[: self._cells[-1]])
        if not same:
            return self.renew()
        self._starts, self._terms = edge_terms(
            self.node_offsets, self._amplitudes, self._edges, self._cells, self._pairs
        )
        change = self._terms.copy()
        change[: len(before)] -= before
        owners = np.repeat(np.arange(known), lengths)
        moved = np.bincount(owners[np.abs(change[: len(before)]) > tolerance], minlength=known) > 0
        # What has hardly moved keeps the value that C was computed with.
        kept = np.flatnonzero(~np.repeat(moved, lengths))
        self._terms[kept] = before[kept]
        return self._take_in(np.concatenate([np.flatnonzero(moved), np.arange(known, m)]), change)

    def renew(self) -> bool:
        """Compute C afresh; return whether H is positive definite."""
        factor = factorise(
            self.node_offsets,
            self._beliefs,
            self._edges,
            self._cells,
            self._pairs,
            cache_numbers=_ALL_SOLUTIONS,
        )
        self._starts, self._terms = edge_terms(
            self.node_offsets, self._amplitudes, self._edges, self._cells, self._pairs
        )
        self._since_renewal = 0
        self.renewals += 1
        self.positive_definite = factor.positive_definite
        self.unstable_node = factor.unstable_node
        self._component = np.where(factor.component < 0, -1 - np.arange(len(self._sizes)), 0)
        self._component += np.maximum(factor.component, 0)
        if self.positive_definite:
            work = np.empty((3, int(self._sizes.max()) ** 2))
            fill_blocks(
                factor, self._positions, self._nodes, self._covariance, self._capacity, work
            )
        else:
            self._covariance[...] = np.nan
        return self.positive_definite

    def _take_in(self, changed: np.ndarray, change: np.ndarray) -> bool:
        """Update C for some changed edges; `change` is by how much the terms of all moved."""
        late = self._since_renewal + len(changed) > self.renew_every
        if late or len(changed) > _RENEW_AT or not self.positive_definite:
            return self.renew()
        for e in changed.tolist():
            term = change[self._starts[e] : self._starts[e + 1]]
            if len(term) and not self._add(e, term):
                # Between edges that come together H may be indefinite and yet not in the end.
                return self.renew()
        return True

    def _add(self, e: int, term: np.ndarray) -> bool:
        i, j = int(self._edges[e, 0]), int(self._edges[e, 1])
        component = self._component
        component[component == component[j]] = component[i]
        members = self._nodes[component[self._nodes] == component[i]]
        self._since_renewal += 1
        return bool(add_term(self.matrix, self.dimension, members, self._amplitudes, i, j, term))

    def _belief(self, i: int) -> np.ndarray:
        belief: np.ndarray = self._amplitudes[self.node_offsets[i] : self.node_offsets[i + 1]] ** 2
        return belief

    def _make_room(self, edge_nodes: np.ndarray) -> None:
        """Give every node with an edge its rows, with the covariance it has alone."""
        new: dict[int, None] = dict.fromkeys(edge_nodes.reshape(-1).tolist())
        joining = [i for i in new if self._positions[i] < 0]
        dimension = self.dimension + int(self._sizes[joining].sum())
        if dimension > self.most_dimensions:
            raise InputError(
                f"Scoring every pair by linear response keeps the covariances of all variables "
                f"with an edge; these now have {dimension:,} states together, more than the "
                f"{self.most_dimensions:,} there is room for "
                f"({8e-9 * self.most_dimensions**2:.1f} GB). Use best-choice edge grafting, which "
                "computes only those it tests, or another score."
            )
        if dimension > self._capacity:
            capacity = min(max(dimension, 2 * self._capacity, 64), self.most_dimensions)
            grown = np.zeros((capacity, capacity))
            old = self._covariance.reshape(self._capacity, self._capacity)
            grown[: self.dimension, : self.dimension] = old[: self.dimension, : self.dimension]
            self._covariance, self._capacity = grown.reshape(-1), capacity
        table = self._covariance.reshape(self._capacity, self._capacity)
        for i in joining:
            belief, at = self._belief(i), self.dimension
            own = slice(at, at + len(belief))
            table[own, :at] = 0.0
            table[own, own] = np.diag(belief) - np.outer(belief, belief)
            self._positions[i] = at
            self.dimension += len(belief)
        self._nodes = np.concatenate([self._nodes, np.array(joining, dtype=np.int64)])
