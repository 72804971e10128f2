"""GraphML: the learned graph for Gephi, Cytoscape, networkx and other tools that draw graphs."""

from __future__ import annotations

import io
import re

import networkx as nx

from graftviz.formats.tables import activation_steps
from graftviz.runs import Result

# All that XML 1.0 cannot hold, not even escaped: control characters, lone surrogates, U+FFFE/F.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def result_graph(result: Result) -> nx.Graph:
    """Return the learned structure as a networkx graph.

    Nodes are column numbers 0 … n − 1 with ``name``, ``states`` (how many) and ``degree``; edges
    carry ``weight_norm`` (‖w_ij‖₂) and ``step`` (of activation).
    """
    model = result.model
    graph = nx.Graph()
    facts = zip(model.names, model.cardinalities.tolist(), model.degrees().tolist(), strict=True)
    for i, (name, states, degree) in enumerate(facts):
        graph.add_node(i, name=name, states=states, degree=degree)
    norms, steps = model.edge_norms().tolist(), activation_steps(result).tolist()
    for (i, j), norm, step in zip(model.edges.tolist(), norms, steps, strict=True):
        graph.add_edge(i, j, weight_norm=norm, step=step)
    return graph


def graphml(result: Result) -> bytes:
    """Return :func:`result_graph` as GraphML; characters XML cannot hold become U+FFFD."""
    graph = result_graph(result)
    for _, facts in graph.nodes(data=True):
        facts["name"] = _NOT_XML.sub("\ufffd", facts["name"])
    content = io.BytesIO()
    # The plain write_graphml picks lxml where that is installed, and then writes other bytes.
    nx.write_graphml_xml(graph, content)
    return content.getvalue()
