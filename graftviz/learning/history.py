"""History of a run's weights: the changes of each step, and the model after any step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from graftviz.inference.prediction import PairwiseMRF
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.arrays import flat_positions


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Groups of weights that one step changed, with their new values.

    Attributes
    ----------
    nodes, edges : int64 arrays
        Indices of changed nodes, and ids of changed active edges (see :class:`History`).
    node_weights, node_beliefs, edge_weights : float64 arrays, flat
        New values, group after group.
    """

    nodes: np.ndarray
    edges: np.ndarray
    node_weights: np.ndarray
    node_beliefs: np.ndarray
    edge_weights: np.ndarray


class ModelState(NamedTuple):
    """Model after one step with the learner's node beliefs (flat, like node weights)."""

    model: PairwiseMRF
    node_beliefs: np.ndarray


@dataclass(slots=True, eq=False)
class History:
    """Append-only record of a run's weights, from which a Step computes its model.

    Only changes are stored, so that runs of thousands of steps stay small. Appended entries are
    never altered, so a Step with a reference to a History is still an immutable snapshot.

    Attributes
    ----------
    start : PairwiseModel
        Model without edges.
    start_beliefs : float64 array, flat
    activations : list of (int, int)
        All activations of the run. An edge's *id* is its index in this list; an edge that is
        removed and activated again gets a new id.
    counts : list of int
        Number of activations up to and including each recorded step.
    removals : list of tuples of int
        Ids of the edges that each recorded step removed.
    changes : list of Changes
    features : list of (int, int)
        Features that were activated individually: edge id and cell, row-major. All features of an
        edge without an entry here are active.
    feature_counts : list of int
        Number of individually activated features up to and including each recorded step.
    """

    start: PairwiseModel
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
        removed : ids of edges removed in this step
        features : edge ids and cells of individually activated features
        """
        self.activations.extend((int(i), int(j)) for i, j in activated)
        self.features.extend((int(e), int(cell)) for e, cell in features)
        self.feature_counts.append(len(self.features))
        self.removals.append(tuple(int(e) for e in removed))
        self.changes.append(changes)
        self.counts.append(len(self.activations))

    def ids_at(self, step: int) -> np.ndarray:
        """Return the ids of the active edges after `step` recorded steps, int64, ascending."""
        active = np.ones(self.counts[step - 1] if step else 0, dtype=np.bool_)
        for removed in self.removals[:step]:
            active[list(removed)] = False
        return np.flatnonzero(active)

    def edges_at(self, step: int) -> np.ndarray:
        """Return the active edges after `step` recorded steps, shape (m, 2); 0 is the start."""
        pairs = [self.activations[e] for e in self.ids_at(step).tolist()]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def active_cells_at(self, step: int) -> list[np.ndarray]:
        """Return the masks of active features of the active edges after `step` recorded steps.

        Returns
        -------
        list of bool arrays, shapes (s_i, s_j)
            Masks in the order of :meth:`edges_at`; all true for an edge activated as a whole.
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
        """Return the numbers of active and of all features of each active edge, shape (m, 2)."""
        cells = self.active_cells_at(step)
        counts = [(int(np.count_nonzero(active)), active.size) for active in cells]
        return np.array(counts, dtype=np.int64).reshape(-1, 2)

    def activated_in(self, edge: int) -> int:
        """Return the step, from 1, that activated the edge with id `edge`."""
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
        active = self.ids_at(step)
        active_weights = edge_weights[flat_positions(edge_offsets, active)]
        model = PairwiseMRF(
            cardinalities,
            every[active],
            np.concatenate([node_weights, active_weights]),
            self.start.names,
            self.start.labels,
        )
        return ModelState(model, beliefs)
