"""Two famous social networks as known structures, with rows sampled from random potentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from graftviz.sampling import (
    Graph,
    karate_graph,
    les_miserables_graph,
    random_model,
    sample_gibbs,
)
from graftviz.table import DiscreteTable

SEED = 1


class Network(NamedTuple):
    """A graph and how rows are drawn on it."""

    graph: Callable[[], Graph]
    states: int
    rows: int
    edge_sigma: float


NETWORKS = {
    "karate": Network(karate_graph, states=3, rows=4000, edge_sigma=0.5),
    "les-miserables": Network(les_miserables_graph, states=3, rows=4000, edge_sigma=0.4),
}


def network_sample(key: str) -> tuple[DiscreteTable, Graph]:
    """Draw the table of one of :data:`NETWORKS`; always the same one."""
    network = NETWORKS[key]
    graph = network.graph()
    model = random_model(
        graph.edges,
        [network.states] * graph.n_nodes,
        edge_sigma=network.edge_sigma,
        seed=SEED,
        names=graph.names,
    )
    return sample_gibbs(model, network.rows, seed=SEED).table, graph
