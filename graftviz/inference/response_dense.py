"""Dense linear response between all active nodes, updated as edges are added.

For the exhaustive search of edge grafting, which needs every pair at every step. A few new or
changed edges are handled by low-rank updates (:mod:`graftviz.inference.response_matrix`); after
many changes, and at regular intervals against rounding drift, the matrix is recomputed from a
sparse factor.
"""

from __future__ import annotations

import numpy as np

from graftviz.errors import InputError
from graftviz.inference.response_factor import factorise
from graftviz.inference.response_matrix import ResponseMatrix, add_term, dense_block, fill_blocks
from graftviz.inference.response_terms import edge_terms, square_roots

_RENEW_EVERY = 512  # low-rank updates between two recomputations
_RENEW_AT = 32  # updates of this many changed edges cost as much as a recomputation
_MOST_DIMENSIONS = 6000
_ALL_SOLUTIONS = 1 << 62


class DenseResponse:
    """Covariances between all nodes that have edges, at the current beliefs.

    Parameters
    ----------
    node_offsets : int64 array, shape (n + 1,)
    node_beliefs : float64 array, flat
    most_dimensions : int
        Largest total number of states of nodes with edges; C has its square of numbers (8 bytes
        each), and a recomputation needs up to twice as much in addition.
    renew_every : int
        Low-rank updates between two recomputations.
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
        """Number of edges added so far."""
        return len(self._edges)

    @property
    def matrix(self) -> ResponseMatrix:
        """C for kernels; NaN unless H is positive definite.

        Updates may replace the arrays, so the property must be read again after each.
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

    def update(
        self,
        node_beliefs: np.ndarray,
        edge_nodes: np.ndarray,
        edge_offsets: np.ndarray,
        pair_beliefs: np.ndarray,
        *,
        tolerance: float = 0.0,
    ) -> bool:
        """Replace the beliefs, by low-rank updates if few edges changed, else by recomputation.

        Parameters
        ----------
        node_beliefs, edge_nodes, edge_offsets, pair_beliefs : arrays
            As for :func:`graftviz.inference.response_factor.factorise`.
        tolerance : float
            Nodes whose beliefs changed by at most this, and edges whose D_e changed by at most this
            in every number, are not updated.

        Returns
        -------
        bool
            Whether H is positive definite. If not, all of C is NaN.

        Raises
        ------
        InputError
            When the active nodes would have too many states; the object is unchanged then.
        """
        n_old, m = self.n_edges, len(edge_nodes)
        self._allocate(edge_nodes)
        same = m >= n_old and np.array_equal(edge_nodes[:n_old], self._edges)
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
        owners = np.repeat(np.arange(n_old), lengths)
        moved = np.bincount(owners[np.abs(change[: len(before)]) > tolerance], minlength=n_old) > 0
        # Terms within the tolerance retain the values that C was computed with.
        unmoved = np.flatnonzero(~np.repeat(moved, lengths))
        self._terms[unmoved] = before[unmoved]
        changed = np.concatenate([np.flatnonzero(moved), np.arange(n_old, m)])
        return self._update_edges(changed, change)

    def renew(self) -> bool:
        """Recompute C; return whether H is positive definite."""
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

    def _update_edges(self, changed: np.ndarray, change: np.ndarray) -> bool:
        """Update C for some changed edges; `change` holds the changes of all edge terms."""
        late = self._since_renewal + len(changed) > self.renew_every
        if late or len(changed) > _RENEW_AT or not self.positive_definite:
            return self.renew()
        for e in changed.tolist():
            term = change[self._starts[e] : self._starts[e + 1]]
            if len(term) and not self._add(e, term):
                # H may be indefinite after some of the changes and definite after all of them.
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

    def _allocate(self, edge_nodes: np.ndarray) -> None:
        """Add rows for every node that gets its first edge, with its own covariance block."""
        new: dict[int, None] = dict.fromkeys(edge_nodes.reshape(-1).tolist())
        joining = [i for i in new if self._positions[i] < 0]
        dimension = self.dimension + int(self._sizes[joining].sum())
        if dimension > self.most_dimensions:
            raise InputError(
                f"Scoring every pair by linear response keeps the covariances of all variables "
                f"with an edge; these now have {dimension:,} states together, more than the "
                f"{self.most_dimensions:,} that are allowed "
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
