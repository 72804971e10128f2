"""Samples from models with random potentials: two social networks, and a dense random graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from graftviz.datasets.dataset import DataSet
from graftviz.model import PairwiseMRF
from graftviz.sampling import (
    Graph,
    karate_graph,
    les_miserables_graph,
    random_model,
    sample_gibbs,
)
from graftviz.sampling.exact import sample_exact
from graftviz.sampling.graphs import random_graph
from graftviz.table import DiscreteTable

SEED = 1
DENSE, DENSE_TITLE = "dense-16", "Dense network · 16 variables, 2 states"


class NetworkSpec(NamedTuple):
    """Graph, and parameters of the model and of the sample."""

    graph: Callable[[], Graph]
    states: int
    rows: int
    edge_sigma: float


NETWORKS = {
    "karate": NetworkSpec(karate_graph, states=3, rows=4000, edge_sigma=0.5),
    "les-miserables": NetworkSpec(les_miserables_graph, states=3, rows=4000, edge_sigma=0.4),
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


def dense_network(seed: int, variables: int = 16, rows: int = 1_000) -> tuple[DataSet, PairwiseMRF]:
    """Return a sample of a small dense network, and its model.

    Every edge has probability ½, and all weights are drawn from N(0, 1), as in the paper on bounded
    inference complexity. Half of the rows, drawn exactly from the joint distribution, are held out.
    """
    graph = random_graph(variables, probability=0.5, seed=seed)
    model = random_model(
        graph.edges, [2] * variables, node_sigma=1.0, edge_sigma=1.0, seed=seed, names=graph.names
    )
    data = DataSet(
        key=DENSE,
        title=DENSE_TITLE,
        table=sample_exact(model, rows, seed=seed),
        truth=graph.edges,
        test_fraction=0.5,
    )
    return data, model
