"""Samples from models with random potentials on two well-known social networks."""

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
    """Graph, and parameters of the model and of the sample."""

    graph: Callable[[], Graph]
    states: int
    rows: int
    edge_sigma: float


NETWORKS = {
    "karate": Network(karate_graph, states=3, rows=4000, edge_sigma=0.5),
    "les-miserables": Network(les_miserables_graph, states=3, rows=4000, edge_sigma=0.4),
}


def network_sample(key: str) -> tuple[DiscreteTable, Graph]:
    """Return the table sampled for one of :data:`NETWORKS`, with a fixed seed, and its graph."""
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
