"""The record of a run's weights: what each step changed, and the model at any step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.model import PairwiseMRF


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Which groups of weights one step changed, and to what.

    Attributes
    ----------
    nodes, edges : int64 arrays
        Indices of the nodes, and ids of the active edges (see :class:`History`), that changed.
    node_weights, node_beliefs, edge_weights : float64 arrays, flat
        The new values, group after group.
    """

    nodes: np.ndarray
    edges: np.ndarray
    node_weights: np.ndarray
    node_beliefs: np.ndarray
    edge_weights: np.ndarray


class ModelState(NamedTuple):
    """A model at one step, with the node beliefs the learner tracked (flat, like node weights)."""

    model: PairwiseMRF
    node_beliefs: np.ndarray


@dataclass(slots=True, eq=False)
class History:
    """Append-only record of a run's weights; a Step looks up its own model in it.

    Storing only what changed keeps a run of thousands of steps small; what has been appended is
    never altered, so a Step that holds a History is still an immutable snapshot.

    Attributes
    ----------
    start : PairwiseMRF
        The model without edges.
    start_beliefs : float64 array, flat
    activations : list of (int, int)
        Every activation of the run. An edge's *id* is its place in this list; an edge that was
        removed and comes back has a new one.
    counts : list of int
        Activations up to and with each recorded step.
    removals : list of tuples of int
        Ids of the edges each recorded step took out.
    changes : list of Changes
    features : list of (int, int)
        Every feature activated on its own: edge id and cell, row-major. All features of an edge
        that has none here are active.
    feature_counts : list of int
        Features activated on their own, up to and with each recorded step.
    """

    start: PairwiseMRF
    start_beliefs: np.ndarray
    activations: list[tuple[int, int]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    removals: list[tuple[int, ...]] = field(default_factory=list)
    changes: list[Changes] = field(default_factory=list)
    features: list[tuple[int, int]] = field(default_factory=list)
    feature_counts: list[int] = field(default_factory=list)

    def append(
        self,
        activated: Iterable[tuple[int, int]],
        changes: Changes,
        removed: Iterable[int] = (),
        features: Iterable[tuple[int, int]] = (),
    ) -> None:
        """Record one activation step (or, with no edges, the final polish).

        Parameters
        ----------
        activated : pairs i < j
        changes : Changes
        removed : ids of edges taken out in this step
        features : pairs of an edge id and the cell of a feature activated on its own
        """
        self.activations.extend((int(i), int(j)) for i, j in activated)
        self.features.extend((int(e), int(cell)) for e, cell in features)
        self.feature_counts.append(len(self.features))
        self.removals.append(tuple(int(e) for e in removed))
        self.changes.append(changes)
        self.counts.append(len(self.activations))

    def ids_at(self, step: int) -> np.ndarray:
        """Return the ids of the active edges after `step` recorded steps, int64, ascending."""
        alive = np.ones(self.counts[step - 1] if step else 0, dtype=np.bool_)
        for removed in self.removals[:step]:
            alive[list(removed)] = False
        return np.flatnonzero(alive)

    def edges_at(self, step: int) -> np.ndarray:
        """Return the active edges after `step` recorded steps, shape (m, 2); 0 is the start."""
        pairs = [self.activations[e] for e in self.ids_at(step).tolist()]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def active_cells_at(self, step: int) -> list[np.ndarray]:
        """Return which features of each active edge are active after `step` recorded steps.

        Returns
        -------
        list of bool arrays, shapes (s_i, s_j)
            In the order of :meth:`edges_at`; all true for an edge that was activated as a whole.
        """
        by_edge: dict[int, list[int]] = {}
        for edge, cell in self.features[: self.feature_counts[step - 1] if step else 0]:
            by_edge.setdefault(edge, []).append(cell)
        found = []
        for edge in self.ids_at(step).tolist():
            i, j = self.activations[edge]
            shape = (self.start.cardinalities[i], self.start.cardinalities[j])
            cells = np.full(shape, edge not in by_edge, dtype=np.bool_)
            cells.reshape(-1)[by_edge.get(edge, [])] = True
            found.append(cells)
        return found

    def feature_counts_at(self, step: int) -> np.ndarray:
        """Return how many features of each active edge are active, of how many: shape (m, 2)."""
        cells = self.active_cells_at(step)
        counts = [(int(np.count_nonzero(active)), active.size) for active in cells]
        return np.array(counts, dtype=np.int64).reshape(-1, 2)

    def activated_in(self, edge: int) -> int:
        """Return the step, from 1, in which the edge of that id was activated."""
        return bisect_right(self.counts, edge) + 1

    def state_at(self, step: int) -> ModelState:
        """Return model and beliefs after `step` recorded steps; 0 is the start."""
        cardinalities = self.start.cardinalities
        every = np.array(self.activations[: self.counts[step - 1] if step else 0], dtype=np.int64)
        every = every.reshape(-1, 2)
        node_offsets = self.start.node_offsets
        n_node_weights = int(node_offsets[-1])
        sizes = cardinalities[every].prod(axis=1)
        edge_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        node_weights = self.start.weights[:n_node_weights].copy()
        beliefs = self.start_beliefs.copy()
        edge_weights = np.zeros(int(edge_offsets[-1]))
        for change in self.changes[:step]:
            at_nodes = flat_positions(node_offsets, change.nodes)
            node_weights[at_nodes] = change.node_weights
            beliefs[at_nodes] = change.node_beliefs
            edge_weights[flat_positions(edge_offsets, change.edges)] = change.edge_weights
        beliefs.flags.writeable = False
        alive = self.ids_at(step)
        kept = edge_weights[flat_positions(edge_offsets, alive)]
        model = PairwiseMRF(
            cardinalities,
            every[alive],
            np.concatenate([node_weights, kept]),
            self.start.names,
            self.start.labels,
        )
        return ModelState(model, beliefs)


@njit(cache=True, nogil=True)
def flat_positions(offsets, groups):
    """Return the flat positions that `groups` own: arange(o[g], o[g + 1]), group after group."""
    size = 0
    for g in groups:
        size += offsets[g + 1] - offsets[g]
    positions = np.empty(size, dtype=np.int64)
    k = 0
    for g in groups:
        for at in range(offsets[g], offsets[g + 1]):
            positions[k] = at
            k += 1
    return positions
