"""Samples from models with random potentials: two social networks, and a dense random graph."""

from __future__ import annotations

import numpy as np

from graftviz.data.sets.dataset import DataSet
from graftviz.data.synthetic.exact import sample_exact
from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.synthetic.graphs import Graph, random_graph
from graftviz.data.synthetic.potentials import random_model
from graftviz.data.table import DiscreteTable
from graftviz.model.pairwise import PairwiseModel

SEED, STATES, ROWS = 1, 3, 4000  # of the samples on real graphs
DENSE, DENSE_TITLE = "dense-16", "Dense network · 16 variables, 2 states"


def network_sample(graph: Graph, edge_sigma: float) -> tuple[DiscreteTable, np.ndarray]:
    """Return rows sampled from a model with random potentials on a graph, and its edges."""
    model = random_model(
        graph.edges,
        [STATES] * graph.n_nodes,
        edge_sigma=edge_sigma,
        seed=SEED,
        names=graph.names,
    )
    return sample_gibbs(model, ROWS, seed=SEED).table, graph.edges


def dense_network(
    seed: int, variables: int = 16, rows: int = 1_000
) -> tuple[DataSet, PairwiseModel]:
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
