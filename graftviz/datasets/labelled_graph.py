"""Graphs whose nodes have classes, such as citation graphs of papers with their fields."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import networkx as nx
import numpy as np

from graftviz.errors import InputError
from graftviz.sampling import Graph


@dataclass(frozen=True, eq=False)
class LabelledGraph:
    """Undirected graph with a class for every node.

    Attributes
    ----------
    graph : Graph
        Names of the nodes, and edges.
    classes : int64 array, shape (n,)
        Class of every node, an index into `class_names`; read-only.
    class_names : tuple of str
    title : str
        Name and size of the graph.
    warnings : tuple of str
        Differences from the published data.

    Raises
    ------
    InputError
        When there is not one valid class for every node.
    """

    graph: Graph
    classes: np.ndarray
    class_names: tuple[str, ...]
    title: str
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        classes = np.array(self.classes, dtype=np.int64).reshape(-1)
        if len(classes) != self.graph.n_nodes:
            raise InputError(
                f"{self.graph.n_nodes} nodes need as many classes; got {len(classes)}."
            )
        if len(classes) and not 0 <= classes.min() <= classes.max() < len(self.class_names):
            raise InputError(f"A node has a class that is not one of the {len(self.class_names)}.")
        classes.flags.writeable = False
        object.__setattr__(self, "classes", classes)

    @property
    def fingerprint(self) -> str:
        """Digest of edges, names and classes, equal for equal graphs."""
        digest = hashlib.sha256(repr((self.graph.names, self.class_names)).encode())
        digest.update(self.graph.edges.tobytes())
        digest.update(self.classes.tobytes())
        return digest.hexdigest()

    def spins(self, positive: str) -> np.ndarray:
        """Return +1 for nodes of the class `positive` and −1 for all others, shape (n,).

        Raises
        ------
        InputError
            When there is no class with that name.
        """
        if positive not in self.class_names:
            raise InputError(
                f"There is no class {positive!r}; there are {', '.join(self.class_names)}."
            )
        return np.where(self.classes == self.class_names.index(positive), 1.0, -1.0)


def bounded_degrees(labelled: LabelledGraph, bound: int, seed: int = 0) -> LabelledGraph:
    """Return the largest component after random deletion of edges at nodes of high degree.

    Nodes are visited in random order; edges of a node with more than `bound` neighbours at that
    point are deleted uniformly at random until it has `bound`. A connected graph within the bound
    is unchanged. (The paper on localized inference, section 6.2, does not specify the order.)

    Raises
    ------
    InputError
        For a bound below 1 or a negative seed.
    """
    if bound < 1 or seed < 0:
        raise InputError(
            f"The maximum degree must be at least 1 and the seed at least 0; got {bound} and "
            f"{seed}."
        )
    graph = labelled.graph
    network = nx.Graph()
    network.add_nodes_from(range(graph.n_nodes))
    network.add_edges_from(graph.edges.tolist())
    rng = np.random.default_rng(seed)
    for node in rng.permutation(graph.n_nodes).tolist():
        near = sorted(network[node])
        if len(near) > bound:
            lost = rng.choice(near, size=len(near) - bound, replace=False).tolist()
            network.remove_edges_from((node, other) for other in lost)
    # Of components of the same size, the one with the first node is returned.
    components: list[set[int]] = list(nx.connected_components(network))
    largest = max(components, key=len)
    remaining = sorted(largest)
    place = {node: k for k, node in enumerate(remaining)}
    edges = [(place[i], place[j]) for i, j in network.subgraph(remaining).edges]
    names = tuple(graph.names[node] for node in remaining)
    return replace(
        labelled,
        graph=Graph(names, np.array(edges, dtype=np.int64).reshape(-1, 2)),
        classes=labelled.classes[remaining],
    )
