"""Models as objects of other libraries."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import networkx as nx
import numpy as np

from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.graphml import attribute_text
from graftviz.model.readwrite.records import model_records
from graftviz.utils.errors import InputError


def to_networkx(model: PairwiseModel) -> nx.Graph:
    """Return the graph of a model; see :meth:`graftviz.PairwiseMRF.to_networkx`."""
    graph = nx.Graph()
    nodes, edges = model_records(model)
    for node in nodes:
        texts = {key: attribute_text(key, node[key]) for key in ("labels", "weights")}
        graph.add_node(node["name"], states=node["states"], **texts)
    for edge in edges:
        first, second = (model.names[edge[end]] for end in ("source", "target"))
        weights = attribute_text("weights", edge["weights"])
        graph.add_edge(first, second, weight=edge["weight_norm"], weights=weights)
    return graph


def to_pgmpy(model: PairwiseModel) -> Any:
    """Return a model as a network of pgmpy, with one factor for each node and edge.

    Raises
    ------
    InputError
        If pgmpy is not installed.
    """
    try:
        models, factors = import_module("pgmpy.models"), import_module("pgmpy.factors.discrete")
    except ImportError:
        raise InputError("This needs pgmpy: install it with pip install 'pgmpy>=1.1'.") from None
    network = models.DiscreteMarkovNetwork()
    network.add_nodes_from(model.names)
    states = dict(zip(model.names, map(list, model.labels), strict=True))

    def add(variables: list[int], weights: np.ndarray) -> None:
        names = [model.names[i] for i in variables]
        # The largest potential is 1, so that no exponential overflows.
        values = np.exp(weights - weights.max())
        sizes = [int(model.cardinalities[i]) for i in variables]
        own = {name: states[name] for name in names}
        network.add_factors(factors.DiscreteFactor(names, sizes, values, state_names=own))

    for i in range(model.n_variables):
        add([i], model.node_weights(i))
    for e, (i, j) in enumerate(model.edges.tolist()):
        network.add_edge(model.names[i], model.names[j])
        add([i, j], model.edge_weights(e))
    return network
