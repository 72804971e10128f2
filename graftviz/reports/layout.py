"""Graph layouts: for a static graph, a growing graph, near given positions, and on a ring.

Coordinates are whole numbers 0 … 10000 in a fixed frame, y downwards. The stress of a layout is
Σ w (|x_i − x_j| − unit · hops)² over pairs of nodes, w = 1 / hops². :func:`anneal` follows Zheng,
Pawar and Goodman, "Graph drawing by stochastic gradient descent" (2018); :func:`settle` is stress
majorisation after Gansner, Koren and North (2004), node by node.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, depth_first_order

from graftviz.data.table import DiscreteTable
from graftviz.learning.run import learn_network
from graftviz.learning.trees.chow_liu import ChowLiu
from graftviz.utils.arrays import read_only
from graftviz.utils.compiling import inner_kernel, kernel

# --- kernels --------------------------------------------------------------------------------------

GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))
TOUCHING = 1e-9  # below this distance, two nodes coincide and have no direction of separation


@inner_kernel
def _direction(i: int, j: int) -> tuple[float, float]:
    """Return a vector of length `TOUCHING` for coincident nodes, antisymmetric in i and j."""
    angle = GOLDEN_ANGLE * (i + j)
    sign = 1.0 if i > j else -1.0
    return sign * TOUCHING * math.cos(angle), sign * TOUCHING * math.sin(angle)


@kernel
def hop_distances(
    offsets: np.ndarray, neighbours: np.ndarray, sources: np.ndarray, hops: np.ndarray
) -> None:
    """Set ``hops[a, i]`` to the length of a shortest path from ``sources[a]`` to i, or to -1."""
    n = len(offsets) - 1
    queue = np.empty(n, dtype=np.int64)
    for a in range(len(sources)):
        hops[a, :] = -1.0
        hops[a, sources[a]] = 0.0
        queue[0] = sources[a]
        head, tail = 0, 1
        while head < tail:
            i = queue[head]
            head += 1
            for at in range(offsets[i], offsets[i + 1]):
                j = neighbours[at]
                if hops[a, j] < 0.0:
                    hops[a, j] = hops[a, i] + 1.0
                    queue[tail] = j
                    tail += 1


@kernel
def anneal(positions: np.ndarray, hops: np.ndarray, rates: np.ndarray, orders: np.ndarray) -> None:
    """Reduce stress by stochastic gradient descent: move pairs towards their distances.

    One hop has length 1 here. The random order resolves folds of the initial layout.

    Parameters
    ----------
    positions : float64 array, shape (n, 2)
        Changed in place.
    hops : float64 array, shape (n, n)
        Distances; -h for a pair in different components whose minimum distance is h.
    rates : float64 array, shape (sweeps,)
        In hops squared; a pair h hops apart is moved by the fraction min(1, rate / h²).
    orders : int64 array, shape (sweeps, n)
        Order of the nodes in each sweep.
    """
    for sweep in range(len(rates)):
        for i in orders[sweep]:
            for j in range(i):
                hop = hops[i, j]
                dx = positions[i, 0] - positions[j, 0]
                dy = positions[i, 1] - positions[j, 1]
                distance = math.sqrt(dx * dx + dy * dy)
                if hop < 0.0 and distance > -hop:
                    continue
                hop = abs(hop)
                if distance < TOUCHING:
                    dx, dy = _direction(i, j)
                    distance = TOUCHING
                pull = 0.5 * min(1.0, rates[sweep] / (hop * hop)) * (distance - hop) / distance
                positions[i, 0] -= pull * dx
                positions[i, 1] -= pull * dy
                positions[j, 0] += pull * dx
                positions[j, 1] += pull * dy


@kernel
def settle(
    positions: np.ndarray,
    sources: np.ndarray,
    hops: np.ndarray,
    offsets: np.ndarray,
    neighbours: np.ndarray,
    unit: float,
    sweeps: int,
) -> None:
    """Reduce stress by majorisation: move each node to the weighted mean of its target positions.

    A converged layout does not change, as required for growing graphs. With pivots, the edges are
    added to the pairs, and each pivot represents n / k nodes.

    Parameters
    ----------
    positions : float64 array, shape (n, 2)
        Changed in place.
    sources : int64 array, shape (k,)
        Nodes from which distances are computed: all nodes, or a few pivots.
    hops : float64 array, shape (k, n)
        Distances from the sources; -h for a pair whose minimum distance is h.
    offsets, neighbours : int64 arrays, shapes (n + 1,) and (2m,)
        Node i has the neighbours ``neighbours[offsets[i]:offsets[i + 1]]``.
    unit : float
        Length of one hop.
    sweeps : int
    """
    n = len(positions)
    sparse = len(sources) < n
    weight_of_source = n / max(1, len(sources))
    for sweep in range(sweeps):
        for at in range(n):
            i = at if sweep % 2 == 0 else n - 1 - at
            x, y = positions[i, 0], positions[i, 1]
            total, sum_x, sum_y = 0.0, 0.0, 0.0
            count = offsets[i + 1] - offsets[i] if sparse else 0
            for partner in range(len(sources) + count):
                if partner < len(sources):
                    j, hop = sources[partner], hops[partner, i]
                    weight = weight_of_source
                else:
                    j, hop = neighbours[offsets[i] + partner - len(sources)], 1.0
                    weight = 1.0
                dx, dy = x - positions[j, 0], y - positions[j, 1]
                distance = math.sqrt(dx * dx + dy * dy)
                if i == j or (hop < 0.0 and distance > -hop * unit):
                    continue
                if distance < TOUCHING:
                    dx, dy = _direction(i, j)
                    distance = TOUCHING
                hop = abs(hop)
                weight /= hop * hop
                total += weight
                sum_x += weight * (positions[j, 0] + unit * hop * dx / distance)
                sum_y += weight * (positions[j, 1] + unit * hop * dy / distance)
            if total > 0.0:
                positions[i, 0], positions[i, 1] = sum_x / total, sum_y / total


@kernel
def farthest_spot(spots: np.ndarray, positions: np.ndarray, is_placed: np.ndarray) -> int:
    """Return the number of the spot with the largest distance from all nodes that are placed.

    Parameters
    ----------
    spots : float64 array, shape (k, 2)
    positions : float64 array, shape (n, 2)
    is_placed : bool array, shape (n,)
    """
    best, largest = 0, -1.0
    for k in range(len(spots)):
        gap = math.inf
        for i in range(len(positions)):
            if is_placed[i]:
                dx, dy = spots[k, 0] - positions[i, 0], spots[k, 1] - positions[i, 1]
                gap = min(gap, dx * dx + dy * dy)
                if gap <= largest:
                    break
        if gap > largest:
            best, largest = k, gap
    return best


@kernel
def push_apart(positions: np.ndarray, gap: float, sweeps: int) -> None:
    """Separate nodes closer than `gap`, in place, with at most `sweeps` sweeps.

    Each sweep sums the displacements over all close pairs, found by means of a grid of cells of
    size `gap`, and then moves every node once. A displacement is half of the missing distance;
    with all of it, dense groups oscillate.
    """
    n = len(positions)
    push = np.empty((n, 2))
    next_in_cell = np.empty(n, dtype=np.int64)
    cell_of = np.empty((n, 2), dtype=np.int64)
    for _ in range(sweeps):
        low_x, low_y = positions[:, 0].min(), positions[:, 1].min()
        width, height = positions[:, 0].max() - low_x, positions[:, 1].max() - low_y
        size = max(gap, width / 256, height / 256)
        first_in_cell = np.full((int(height / size) + 3, int(width / size) + 3), -1, dtype=np.int64)
        push[:] = 0.0
        moved = False
        for i in range(n):
            # With a border of empty cells, every node has eight neighbouring cells.
            line = int((positions[i, 1] - low_y) / size) + 1
            column = int((positions[i, 0] - low_x) / size) + 1
            cell_of[i, 0], cell_of[i, 1] = line, column
            next_in_cell[i] = first_in_cell[line, column]
            first_in_cell[line, column] = i
        for i in range(n):
            for cell in range(9):
                j = first_in_cell[cell_of[i, 0] + cell // 3 - 1, cell_of[i, 1] + cell % 3 - 1]
                while j >= 0:
                    dx = positions[i, 0] - positions[j, 0]
                    dy = positions[i, 1] - positions[j, 1]
                    if i != j and dx * dx + dy * dy < gap * gap:
                        moved = True
                        distance = math.sqrt(dx * dx + dy * dy)
                        if distance < TOUCHING:
                            dx, dy = _direction(i, j)
                            distance = TOUCHING
                        push[i, 0] += 0.25 * (gap - distance) / distance * dx
                        push[i, 1] += 0.25 * (gap - distance) / distance * dy
                    j = next_in_cell[j]
        if not moved:
            break
        positions += push


# --- frame, hop distances, sunflower --------------------------------------------------------------

FRAME = 10_000
REACH = 4_750.0  # maximum distance of nodes from the centre in x and y; the rest is margin
PIVOTS = 80


class Distances(NamedTuple):
    """Hop distances of a graph, as arguments of the kernels.

    Attributes
    ----------
    sources : int64 array, shape (k,)
        All nodes, or evenly spaced pivots of a large graph.
    hops : float64 array, shape (k, n)
        Hop distances; for pairs in different components, the negative of their minimum distance.
    offsets, neighbours : int64 arrays, shapes (n + 1,) and (2m,)
        Node i has the neighbours ``neighbours[offsets[i]:offsets[i + 1]]``.
    """

    sources: np.ndarray
    hops: np.ndarray
    offsets: np.ndarray
    neighbours: np.ndarray


def measure(n: int, edges: np.ndarray, largest: int) -> Distances:
    """Return the hop distances of a graph with `edges`, shape (m, 2).

    With up to `largest` nodes, distances are computed from every node, otherwise from `PIVOTS`
    nodes.
    """
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=n))])
    neighbours = np.ascontiguousarray(both[:, 1])
    sources = np.arange(n)
    if n > largest:
        sources = np.linspace(0, n - 1, PIVOTS).astype(np.int64)
    hops = np.empty((len(sources), n))
    hop_distances(offsets, neighbours, sources, hops)
    _separate_components(hops)
    return Distances(sources, hops, offsets, neighbours)


def _separate_components(hops: np.ndarray) -> None:
    """Set the minimum distances of pairs in different components, as negative numbers, in place.

    Two discs touch if their centres are two radii apart, and the radius is about the mean distance
    within a component. The smaller radius is used, so that small components can be placed in gaps
    of large ones.
    """
    joined = hops >= 0.0
    if joined.all():
        return
    within = np.where(joined, hops, 0.0)
    of_source = within.sum(axis=1) / joined.sum(axis=1)
    of_node = within.sum(axis=0) / np.maximum(1, joined.sum(axis=0))
    apart = 1.0 + 2.0 * np.minimum(of_source[:, None], of_node[None, :])
    hops[~joined] = -apart[~joined]


def sunflower(n: int) -> np.ndarray:
    """Return n evenly spread points of the unit disc, from its centre outwards, shape (n, 2)."""
    order = np.arange(n)
    radius = np.sqrt((order + 0.5) / max(1, n))
    return radius[:, None] * spokes(n)


def spokes(n: int) -> np.ndarray:
    """Return n unit vectors, each rotated by the golden angle from the previous one, (n, 2)."""
    angles = np.arange(n) * GOLDEN_ANGLE
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def in_frame(positions: np.ndarray) -> np.ndarray:
    """Return positions relative to the centre as integer coordinates of the frame, read-only."""
    return read_only(np.clip(np.rint(positions + FRAME / 2), 0, FRAME).astype(np.int64))


# --- a static graph -------------------------------------------------------------------------------

LARGEST_ANNEALED = 2_000  # above this, annealing, which visits all pairs, is omitted
SETTLING = 5  # sweeps of majorisation, which remove the noise of annealing, or of the start
ELBOW_ROOM = 0.55  # minimum distance of two nodes, in units of an even spread


def static_layout(n: int, edges: np.ndarray, seed: int = 0, iterations: int = 30) -> np.ndarray:
    """Return a layout of a graph that fills the frame.

    Parameters
    ----------
    n : int
    edges : int array, shape (m, 2)
    seed : int
        Seed of the order in which pairs are visited.
    iterations : int
        Annealing sweeps over all pairs, at least 2.

    Returns
    -------
    int64 array, shape (n, 2), read-only
        Coordinates 0 … 10000.
    """
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    distances = measure(n, edges, LARGEST_ANNEALED)
    widest = max(1.0, float(np.abs(distances.hops).max()))
    positions = _start(n, distances) * widest / 2
    if n <= LARGEST_ANNEALED:
        rates = np.geomspace(widest**2, 0.05, max(2, iterations))
        rng = np.random.default_rng(seed)
        orders = np.stack([rng.permutation(n) for _ in rates])
        anneal(positions, distances.hops, rates, orders)
    settle(positions, *distances, 1.0, SETTLING)
    positions = _fill_square(positions)
    push_apart(positions, ELBOW_ROOM * 2 * REACH / math.sqrt(n), 60)
    return in_frame(np.clip(positions, -REACH, REACH))


def _start(n: int, distances: Distances) -> np.ndarray:
    """Return an initial layout in the unit disc, with nodes of high degree in the centre, (n, 2).

    A connected part of more than half of a large graph is arranged by a breadth-first tree, so that
    the edges of the tree do not cross.
    """
    degrees = np.diff(distances.offsets)
    rank = np.empty(n, dtype=np.int64)
    rank[np.argsort(-degrees, kind="stable")] = np.arange(n)
    positions = np.ascontiguousarray(sunflower(n)[rank])
    if n <= LARGEST_ANNEALED:
        return positions
    ones = np.ones(len(distances.neighbours))
    graph = csr_array((ones, distances.neighbours, distances.offsets), shape=(n, n))
    _, parts = connected_components(graph, directed=False)
    members = np.flatnonzero(parts == np.argmax(np.bincount(parts)))
    if 2 * len(members) > n:
        root = int(members[np.argmax(degrees[members])])
        order, parents = breadth_first_order(graph, root, directed=False)
        positions[order] = _radial(order, parents) * math.sqrt(len(order) / n)
    return positions


def _radial(order: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Return a radial layout of a tree in the unit disc: rings by depth, of equal density, (k, 2).

    A subtree fills a sector of an angle in proportion to its number of nodes.

    Parameters
    ----------
    order : int array, shape (k,)
        Nodes of the tree in breadth-first order.
    parents : int array, shape (n,)
        Parent of each node; that of the root is negative.
    """
    sizes = dict.fromkeys(order.tolist(), 1)
    for node in order[:0:-1].tolist():
        sizes[parents[node]] += sizes[node]
    root = int(order[0])
    depths, starts, widths = {root: 0}, {root: 0.0}, {root: 2.0 * math.pi}
    used = dict(starts)  # up to which angle the sector of a node is divided among its children
    for node in order[1:].tolist():
        parent = int(parents[node])
        depths[node] = depths[parent] + 1
        widths[node] = widths[parent] * sizes[node] / (sizes[parent] - 1)
        starts[node] = used[node] = used[parent]
        used[parent] += widths[node]
    depth = np.array([depths[node] for node in order.tolist()])
    angles = np.array([starts[node] + widths[node] / 2 for node in order.tolist()])
    inside = np.concatenate([[0], np.cumsum(np.bincount(depth))])
    radii = np.sqrt((inside[depth] + inside[depth + 1] - 1) / (2 * len(order)))
    return np.asarray(radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1))


def _fill_square(positions: np.ndarray) -> np.ndarray:
    """Return a layout rotated, stretched and spread so that it fills the square."""
    centred = positions - positions.mean(axis=0)
    angles = np.linspace(0.0, math.pi / 2, 180, endpoint=False)
    cosine, sine = np.cos(angles)[:, None], np.sin(angles)[:, None]
    across = centred[:, 0] * cosine - centred[:, 1] * sine
    down = centred[:, 0] * sine + centred[:, 1] * cosine
    # The smallest bounding square also aligns a grid with the axes.
    best = int(np.maximum(np.ptp(across, axis=1), np.ptp(down, axis=1)).argmin())
    turned = np.stack([across[best], down[best]], axis=1)
    low, high = turned.min(axis=0), turned.max(axis=0)
    spans = np.maximum(high - low, 1e-9)
    units = (turned - (low + high) / 2) / (spans / 2)
    # x ↦ x (1 + c (1 − x²)) spreads a crowded centre; with c, |x| has the mean of an even spread.
    room = np.maximum((np.abs(units) * (1.0 - units**2)).mean(axis=0), 1e-9)
    opening = np.clip((0.5 - np.abs(units).mean(axis=0)) / room, 0.0, 0.45)
    stretch = np.minimum(1.0, 1.25 * spans / spans.max())
    return np.ascontiguousarray(units * (1.0 + opening * (1.0 - units**2)) * stretch * REACH)


# --- a growing graph ------------------------------------------------------------------------------

RIM_SHARE = 0.5  # share of the area of the disc for isolated nodes when all nodes are isolated
RIM_GAP = 300.0  # between the innermost isolated node and the outermost connected one
ROOM = 450.0  # a small core of c nodes has at least the radius ROOM · √c
FULL_AT = 0.7  # share of connected nodes from which on even a small graph fills its disc
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
        settle(positions, *distances, self._unit, iterations)
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


# --- near given positions -------------------------------------------------------------------------

NEAR_ROOM = 0.92  # minimum distance of two nodes, in units of an even spread over the square
PULL = 0.16  # strength of the attraction along edges, per round
ROUNDS = 12


def layout_near(places: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return positions near `places` without overlaps, with connected nodes closer together.

    Parameters
    ----------
    places : array, shape (n, 2)
        Target positions, 0 … 10000, possibly equal for several nodes.
    edges : int array, shape (m, 2)

    Returns
    -------
    int64 array, shape (n, 2), read-only
        Coordinates 0 … 10000.
    """
    targets = np.asarray(places, dtype=np.float64).reshape(-1, 2) - FRAME / 2
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    n = len(targets)
    if n == 0:
        return in_frame(targets)
    spread = np.abs(targets).max()
    positions = np.ascontiguousarray(targets * (REACH / spread if spread > 0.0 else 1.0))
    gap = NEAR_ROOM * 2 * REACH / math.sqrt(max(n, 4))
    counts = np.maximum(1, np.bincount(pairs.reshape(-1), minlength=n))[:, None]
    for _ in range(ROUNDS):
        pull = np.zeros_like(positions)
        across = positions[pairs[:, 1]] - positions[pairs[:, 0]]
        np.add.at(pull, pairs[:, 0], across)
        np.add.at(pull, pairs[:, 1], -across)
        positions += PULL * pull / counts
        push_apart(positions, gap, 8)
    push_apart(positions, gap, 60)
    return in_frame(_stretch_to_frame(positions))


def _stretch_to_frame(positions: np.ndarray) -> np.ndarray:
    """Return a layout stretched along each axis towards the margins of the frame."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    spans = np.maximum(high - low, 1.0)
    stretch = np.minimum(2 * REACH / spans, 2.0)
    return np.asarray((positions - (low + high) / 2) * stretch)


# --- filling a wide picture -----------------------------------------------------------------------

_SPAN = 0.95 * FRAME
_NARROW = 0.5  # height by width below which a layout is stretched, at most so much:
_STEEPEST = 4.0


def level_layout(places: np.ndarray) -> np.ndarray:
    """Return a long and narrow layout turned horizontally and stretched; others are unchanged."""
    centred = places - places.mean(axis=0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    spans = np.maximum(np.ptp(turned, axis=0), 1.0)
    if spans[1] > _NARROW * spans[0]:
        return places
    stretch = _SPAN / spans
    stretch[1] = min(stretch[1], _STEEPEST * stretch[0])
    middle = (turned.max(axis=0) + turned.min(axis=0)) / 2
    return np.asarray((turned - middle) * stretch + FRAME / 2)


# --- a ring ---------------------------------------------------------------------------------------


def ring_layout(n: int, tree: np.ndarray) -> np.ndarray:
    """Return positions on a ring, in the order of a depth-first traversal of a tree.

    Parameters
    ----------
    n : int
    tree : int array, shape (k, 2)
        Edges of a forest; its components follow one another.

    Returns
    -------
    int array, shape (n, 2)
        Coordinates 0 … 10000, y downwards.
    """
    ones = np.ones(len(tree))
    graph = coo_array((ones, (tree[:, 0], tree[:, 1])), shape=(n, n)).tocsr()
    _, parts = connected_components(graph, directed=False)
    starts = np.unique(parts, return_index=True)[1]
    order = np.concatenate(
        [
            depth_first_order(graph, start, directed=False, return_predecessors=False)
            for start in starts.tolist()
        ]
    )
    angles = np.empty(n)
    angles[order] = 2.0 * np.pi * np.arange(n) / n - 0.5 * np.pi
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.rint(FRAME / 2 * (1.0 + circle)).astype(np.int64)


# --- places shared by the graphs of a race --------------------------------------------------------

MOST_COUNTED = 500_000  # pairs counted to compute a layout; beyond, nodes are spread evenly


def common_places(
    table: DiscreteTable,
    positions: np.ndarray | None = None,
    truth: np.ndarray | None = None,
) -> np.ndarray:
    """Return node positions that do not depend on the result of any racer.

    These are `positions` if set, else a layout of `truth` if set, else a layout of the Chow–Liu
    tree, which depends on the data only.

    Parameters
    ----------
    table : DiscreteTable
        The rows to learn from.
    positions : array, shape (n, 2), optional
        Predefined positions, 0 … 10000.
    truth : int array, shape (k, 2), optional

    Returns
    -------
    array, shape (n, 2)
        0 … 10000, y downwards.
    """
    if positions is not None:
        return positions
    n = table.n_variables
    if truth is not None and len(truth):
        return static_layout(n, truth)
    if n * (n - 1) // 2 > MOST_COUNTED or n < 2 or table.n_rows < 2:
        return static_layout(n, np.zeros((0, 2), dtype=np.int64))
    return static_layout(n, learn_network(table, ChowLiu()).model.edges)
