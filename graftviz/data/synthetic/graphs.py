"""Graphs for synthetic models: scale-free, grid, random, and two well-known social networks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

from graftviz.data.synthetic.lattice import lattice_positions
from graftviz.data.synthetic.potentials import generator
from graftviz.data.table import default_names
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError

EDGES_PER_NEW_NODE = 2  # best-choice edge grafting, appendix C


@dataclass(frozen=True, eq=False)
class Graph:
    """Undirected graph without loops or multiple edges, with nodes 0 … n − 1.

    Attributes
    ----------
    names : tuple of str
        One per node, all different.
    edges : int64 array, shape (m, 2)
        Rows (i, j) with i < j, sorted; read-only.
    positions : float64 array, shape (n, 2), or None
        Coordinates x, y in 0 … 10000 with y pointing down, for graphs with a natural layout;
        read-only.

    Raises
    ------
    InputError
        When an edge joins a node to itself or refers to a node that does not exist, or two nodes
        have the same name.
    """

    names: tuple[str, ...]
    edges: np.ndarray
    positions: np.ndarray | None = None

    def __post_init__(self) -> None:
        n = len(self.names)
        if n == 0 or len(set(self.names)) != n:
            raise InputError("A graph needs at least one node, and all names must be different.")
        edges = np.sort(np.array(self.edges, dtype=np.int64).reshape(-1, 2), axis=1)
        if len(edges) and (edges.min() < 0 or edges.max() >= n):
            raise InputError(f"An edge names a node that is not one of 0 … {n - 1}.")
        if (edges[:, 0] == edges[:, 1]).any():
            loop = int(edges[edges[:, 0] == edges[:, 1]][0, 0])
            raise InputError(f"An edge joins node {self.names[loop]!r} to itself.")
        edges = read_only(np.unique(edges, axis=0))
        object.__setattr__(self, "edges", edges)
        if self.positions is not None:
            positions = read_only(np.array(self.positions, dtype=np.float64).reshape(n, 2))
            object.__setattr__(self, "positions", positions)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, n."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """Number of edges, m."""
        return len(self.edges)


def scale_free_graph(nodes: int, seed: int = 0, edges: int | None = None) -> Graph:
    """Grow a Barabási–Albert graph, by default with two edges per new node, 2n − 4 edges in all.

    The initial graph is two nodes without an edge. The third node is connected to both; each later
    one is connected to two different nodes drawn with probability proportional to their degrees
    (the second draw is repeated until it differs). So n − 2 nodes add two edges each.

    Parameters
    ----------
    nodes : int
    seed : int
    edges : int, optional
        Number of edges, from n − 1 to 2n − 4. Each new node then adds one edge, which gives a tree;
        the other edges join pairs drawn uniformly.

    Raises
    ------
    InputError
        For fewer than three nodes, or an impossible number of edges.
    """
    if nodes < 3:
        raise InputError(f"A scale-free graph needs at least 3 nodes; got {nodes}.")
    rng = generator(seed, "graph")
    if edges is None:
        return Graph(default_names(nodes), _attached(nodes, EDGES_PER_NEW_NODE, rng))
    if not nodes - 1 <= edges <= max(nodes - 1, 2 * nodes - 4):
        raise InputError(
            f"A scale-free graph of {nodes:,} nodes can have {nodes - 1:,} to "
            f"{max(nodes - 1, 2 * nodes - 4):,} edges; got {edges:,}."
        )
    joined = {(int(i), int(j)) for i, j in _attached(nodes, 1, rng)}
    while len(joined) < edges:
        i, j = sorted(rng.choice(nodes, size=2, replace=False).tolist())
        joined.add((i, j))
    return Graph(default_names(nodes), np.array(sorted(joined)))


def _attached(nodes: int, per_node: int, rng: np.random.Generator) -> np.ndarray:
    """Return the edges of new nodes to older ones, drawn in proportion to their degrees.

    The first new node is joined to all nodes of the initial graph, `per_node` nodes.
    """
    # Every node is listed once per edge: a uniform draw is proportional to the degree.
    ends = np.empty(2 * per_node * (nodes - per_node), dtype=np.int64)
    edges = np.empty((per_node * (nodes - per_node), 2), dtype=np.int64)
    filled = 0
    for new in range(per_node, nodes):
        targets = list(range(per_node)) if new == per_node else []
        while len(targets) < per_node:
            target = int(ends[rng.integers(filled)])
            if target not in targets:
                targets.append(target)
        for target in targets:
            edges[filled // 2] = target, new
            ends[filled : filled + 2] = target, new
            filled += 2
    return edges


def grid_graph(rows: int, columns: int) -> Graph:
    """Return the rows × columns lattice; node names are ``r0c0``, ``r0c1``, …, row by row.

    Raises
    ------
    InputError
        When a side is less than one or the grid has fewer than two nodes.
    """
    if rows < 1 or columns < 1 or rows * columns < 2:
        raise InputError(f"A grid needs at least two nodes; got {rows} × {columns}.")
    number = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([number[:, :-1], number[:, 1:]], axis=-1).reshape(-1, 2)
    down = np.stack([number[:-1], number[1:]], axis=-1).reshape(-1, 2)
    names = tuple(f"r{r}c{c}" for r in range(rows) for c in range(columns))
    row, column = np.divmod(np.arange(rows * columns), columns)
    return Graph(names, np.concatenate([across, down]), lattice_positions(row, column))


def square_side(nodes: int) -> int:
    """Return the side of the square grid with that many nodes.

    Raises
    ------
    InputError
        When the number is no square; the message names the nearest squares.
    """
    side = math.isqrt(max(nodes, 0))
    if side < 2 or side * side != nodes:
        near = f"{max(side, 2) ** 2} or {(max(side, 2) + 1) ** 2}"
        raise InputError(
            f"A square grid cannot have {nodes} nodes; use {near}, or give a shape such as 20x30."
        )
    return side


def random_graph(
    nodes: int, *, edges: int | None = None, probability: float | None = None, seed: int = 0
) -> Graph:
    """Draw a graph uniformly, with a given number of edges or a given probability of each edge.

    Raises
    ------
    InputError
        When not exactly one of the two is given, or its value is out of range.
    """
    if nodes < 2:
        raise InputError(f"A random graph needs at least 2 nodes; got {nodes}.")
    if (edges is None) == (probability is None):
        raise InputError("A random graph needs either a number of edges or a probability.")
    possible = nodes * (nodes - 1) // 2
    rng = generator(seed, "graph")
    if edges is None:
        assert probability is not None
        if not 0 <= probability <= 1:
            raise InputError(f"The edge probability must lie in 0 … 1; got {probability:g}.")
        edges = int(rng.binomial(possible, probability))
    if not 0 <= edges <= possible:
        raise InputError(f"{nodes} nodes can have between 0 and {possible:,} edges; got {edges:,}.")
    # Pairs (i, j), i < j, are numbered by j: pair (i, j) has number j (j − 1) / 2 + i.
    numbers = np.sort(rng.choice(possible, size=edges, replace=False, shuffle=False))
    j = ((1 + np.sqrt(1 + 8 * numbers.astype(np.float64))) / 2).astype(np.int64)
    # The square root may be off by one in its last bit.
    j -= j * (j - 1) // 2 > numbers
    j += j * (j + 1) // 2 <= numbers
    return Graph(default_names(nodes), np.stack([numbers - j * (j - 1) // 2, j], axis=-1))


def graph_from_edges(edges: Iterable[tuple[str, str]], names: Sequence[str] = ()) -> Graph:
    """Return the graph of an edge list over node names; duplicate edges count once.

    Parameters
    ----------
    edges : iterable of (str, str)
    names : sequence of str, optional
        All nodes in order; default: in the order of first appearance in `edges`.

    Raises
    ------
    InputError
        When an edge refers to a node that is not in `names`, or joins a node to itself.
    """
    pairs = [(str(source), str(target)) for source, target in edges]
    order = list(names) or list(dict.fromkeys(name for pair in pairs for name in pair))
    index = {name: i for i, name in enumerate(order)}
    unknown = next((name for pair in pairs for name in pair if name not in index), None)
    if unknown is not None:
        raise InputError(f"An edge names {unknown!r}, which is not one of the nodes.")
    numbered = np.array([(index[a], index[b]) for a, b in pairs], dtype=np.int64)
    return Graph(tuple(order), numbered.reshape(-1, 2))


def karate_graph() -> Graph:
    """Return Zachary's karate club: 34 members, 78 friendships; names as in his paper, from 1."""
    network = nx.karate_club_graph()
    return graph_from_edges(
        ((f"member {a + 1}", f"member {b + 1}") for a, b in network.edges),
        [f"member {node + 1}" for node in network.nodes],
    )


def les_miserables_graph() -> Graph:
    """Return the co-appearance graph of Les Misérables: 77 characters, 254 edges (networkx)."""
    network = nx.les_miserables_graph()
    return graph_from_edges(network.edges, [str(node) for node in network.nodes])


SPINS = (-1.0, 1.0)  # of state 0 and of state 1
SPIN_LABELS = ("-1", "+1")


def ising_model(
    edges: np.ndarray, fields: np.ndarray, couplings: np.ndarray, names: Sequence[str] = ()
) -> PairwiseModel:
    """Return p(x) ∝ exp(Σ_i θ_i x_i + Σ_(i,j) θ_ij x_i x_j) over spins x_i ∈ {−1, +1}.

    State 0 is the spin −1, state 1 the spin +1 (localized inference, eq. 1).

    Parameters
    ----------
    edges : int array, shape (m, 2)
        Pairs i < j, no pair twice.
    fields : float array, shape (n,)
        θ_i of every node.
    couplings : float array, shape (m,)
        θ_ij of every edge, in the order of `edges`.
    names : sequence of str, optional
        Names of the nodes; default x0, x1, …

    Raises
    ------
    InputError
        When the number of fields or couplings is wrong, a value is not finite, or the edges are not
        those of a graph.
    """
    theta = np.asarray(fields, dtype=np.float64).reshape(-1)
    coupled = np.asarray(couplings, dtype=np.float64).reshape(-1)
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    if len(coupled) != len(pairs):
        raise InputError(f"{len(pairs)} edges need as many couplings; got {len(coupled)}.")
    if not (np.isfinite(theta).all() and np.isfinite(coupled).all()):
        raise InputError("Fields and couplings of an Ising model must be finite numbers.")
    spins = np.array(SPINS)
    return PairwiseModel(
        cardinalities=np.full(len(theta), len(SPINS)),
        edges=pairs,
        weights=np.concatenate(
            [np.outer(theta, spins).reshape(-1), np.outer(coupled, np.outer(spins, spins))],
            axis=None,
        ),
        names=tuple(names),
        labels=(SPIN_LABELS,) * len(theta),
    )


def ising_grid(
    rows: int, columns: int, *, field: float, coupling: float, seed: int = 0
) -> PairwiseModel:
    """Draw an Ising model on a grid: θ_i from U[−T₁, T₁] and θ_ij from U[−T₂, T₂].

    The draws for T₁ = T₂ = 1 are scaled: for a fixed seed, T₁ scales the fields and T₂ the
    couplings, independently of each other (localized inference, section 6.1).

    Parameters
    ----------
    rows, columns : int
        Size of the grid; no wrap-around. Node r · columns + c has the name ``r{r}c{c}``.
    field, coupling : float
        T₁ and T₂, at least 0.
    seed : int

    Raises
    ------
    InputError
        For a strength that is negative or not finite, or fewer than two nodes.
    """
    for name, strength in (("fields", field), ("couplings", coupling)):
        if not 0 <= strength < np.inf:
            raise InputError(f"The strength of {name} must be 0 or more; got {strength:g}.")
    graph = grid_graph(rows, columns)
    rng = generator(seed, "potentials")
    fields = field * rng.uniform(-1.0, 1.0, graph.n_nodes)
    couplings = coupling * rng.uniform(-1.0, 1.0, graph.n_edges)
    return ising_model(graph.edges, fields, couplings, graph.names)
