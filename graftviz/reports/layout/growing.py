"""Layout of a growing graph, with bounded movement of the nodes per step."""

from __future__ import annotations

import math

import numpy as np

from graftviz.reports.layout.graph import REACH, in_frame, measure, spokes, sunflower
from graftviz.reports.layout.stress import GOLDEN_ANGLE, farthest_spot, push_apart, settle

RIM_SHARE = 0.5  # share of the area of the disc for isolated nodes when all nodes are isolated
RIM_GAP = 300.0  # between the innermost isolated node and the outermost connected one
ROOM = 450.0  # a small core of c nodes has at least the radius ROOM · √c
FULL_AT = 0.7  # share of connected nodes from which on even a small graph fills its disc
ELBOW_ROOM = 0.55  # minimum distance in the core, in units of an even spread over its disc
ALL_SOURCES = 800  # largest core for which the distances of all pairs are used
LARGEST_MOVE = 250.0  # per call of `grow`, except for nodes that receive their first edge


class GrowingLayout:
    """Positions of the nodes of a graph that gains edges.

    Isolated nodes are on a sunflower ring at the rim. A node with its first edge is placed next to
    its neighbour in the core; after that it moves by at most `LARGEST_MOVE` per call. The core
    grows as the number of isolated nodes decreases.

    Parameters
    ----------
    n : int
        Number of nodes.

    Attributes
    ----------
    n_edges : int
        Number of edges at the last call of `grow`.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.n_edges = 0
        self._connected = np.zeros(n, dtype=bool)
        self._room = max(ROOM, REACH / math.sqrt(FULL_AT * max(1, n)))
        self._unit = self._room  # length of one hop; follows the size of the core
        self._positions = self._rim()

    def start(self) -> np.ndarray:
        """Return the arrangement without edges, shape (n, 2), read-only."""
        return in_frame(GrowingLayout(self.n)._positions)

    def grow(self, edges: np.ndarray, iterations: int = 4) -> np.ndarray:
        """Update the layout for the active edges and return the new positions.

        Parameters
        ----------
        edges : int array, shape (m, 2)
            All active edges, including those of earlier calls.
        iterations : int
            Sweeps of stress majorisation over the connected nodes.

        Returns
        -------
        int64 array, shape (n, 2), read-only
            Coordinates 0 … 10000.
        """
        edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        self.n_edges = len(edges)
        was_connected = self._connected.copy()
        self._place_connected(edges)
        before = self._positions
        after = np.where(self._connected[:, None], before, self._rim())
        core = np.flatnonzero(self._connected)
        if len(core):
            after[core] = self._core_positions(core, edges, iterations)
        move = after - before
        length = np.maximum(np.hypot(move[:, 0], move[:, 1]), 1e-9)
        limit = np.where(self._connected & ~was_connected, np.inf, LARGEST_MOVE)
        self._positions = before + move * np.minimum(1.0, limit / length)[:, None]
        return in_frame(self._positions)

    def _rim(self) -> np.ndarray:
        """Return the positions of isolated nodes; their angles are fixed, their radii grow."""
        inner = 1.0 - RIM_SHARE * float(np.mean(~self._connected))
        order = np.arange(self.n)
        radius = REACH * np.sqrt(inner + (1.0 - inner) * (order + 0.5) / self.n)
        return radius[:, None] * spokes(self.n)

    def _core_radius(self) -> float:
        isolated = float(np.mean(~self._connected))
        room = REACH * math.sqrt(1.0 - RIM_SHARE * isolated) - (RIM_GAP if isolated else 0.0)
        return min(room, self._room * math.sqrt(float(self._connected.sum())))

    def _place_connected(self, edges: np.ndarray) -> None:
        """Place nodes with their first edge next to a neighbour, or at a free position."""
        is_new = ~(self._connected[edges[:, 0]] & self._connected[edges[:, 1]])
        pending = [(int(i), int(j)) for i, j in edges[is_new]]
        while pending:
            later = []
            for i, j in pending:
                if self._connected[i]:
                    self._place_beside(j, i)
                elif self._connected[j]:
                    self._place_beside(i, j)
                else:
                    later.append((i, j))
            if len(later) == len(pending):
                first = later[0][0]
                self._positions[first] = self._free_spot()
                self._connected[first] = True
            pending = later

    def _place_beside(self, node: int, neighbour: int) -> None:
        if self._connected[node]:
            return
        angle = GOLDEN_ANGLE * (node + 1)
        offset = 0.5 * self._unit * np.array([math.cos(angle), math.sin(angle)])
        self._positions[node] = self._positions[neighbour] + offset
        self._connected[node] = True

    def _free_spot(self) -> np.ndarray:
        """Return the position in the core with the largest distance from all connected nodes."""
        count = int(self._connected.sum())
        if count == 0:
            return np.zeros(2)
        radius = max(self._core_radius(), self._room * math.sqrt(count + 1.0))
        spots = 0.9 * min(radius, REACH * math.sqrt(1.0 - RIM_SHARE) - RIM_GAP) * sunflower(64)
        return np.asarray(spots[farthest_spot(spots, self._positions, self._connected)])

    def _core_positions(self, core: np.ndarray, edges: np.ndarray, iterations: int) -> np.ndarray:
        """Return the target positions of the connected nodes, shape (c, 2)."""
        local = np.full(self.n, -1, dtype=np.int64)
        local[core] = np.arange(len(core))
        distances = measure(len(core), local[edges], ALL_SOURCES)
        positions = self._positions[core]
        settle(
            positions,
            distances.sources,
            distances.hops,
            distances.offsets,
            distances.neighbours,
            self._unit,
            iterations,
        )
        # The size of the core depends only on its number of nodes: fitting the frame to the
        # layout after every step would rescale visibly.
        radius = self._core_radius()
        positions -= positions.mean(axis=0)
        spread = max(math.sqrt(2.0 * float((positions**2).sum(axis=1).mean())), 1e-9)
        positions *= radius / spread
        self._unit *= radius / spread
        push_apart(positions, ELBOW_ROOM * radius * math.sqrt(math.pi / len(core)), 20)
        # Compress radii near the rim; the centre is unchanged, and no node leaves the disc.
        distance = np.hypot(positions[:, 0], positions[:, 1])
        return positions * ((1.0 + (distance / radius) ** 6) ** (-1.0 / 6.0))[:, None]
