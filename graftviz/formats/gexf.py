"""Export of a graph with node positions as GEXF, for Gephi.

The file holds names, numbers of states, degrees, and ‖w_ij‖₂ in the zero-sum gauge as weights,
but not the potentials, which are in the GraphML and UAI files.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np

from graftviz.formats.graphml import xml_text
from graftviz.formats.model_formats import ModelFormat
from graftviz.model import PairwiseMRF

NAMESPACE = "http://gexf.net/1.3"
VIZ = "http://gexf.net/1.3/viz"
_HEIGHT = 10_000  # of the frame of positions, used to flip y, which points upwards in Gephi


def model_gexf(
    model: PairwiseMRF,
    steps: Sequence[int] | None = None,
    places: np.ndarray | None = None,
) -> bytes:
    """Return the graph of a model as GEXF 1.3; the output is deterministic.

    Parameters
    ----------
    model : PairwiseMRF
    steps : sequence of int, optional
        Step in which each edge was activated.
    places : array, shape (n, 2), optional
        Node positions, 0 … 10000, y downwards.
    """
    root = ElementTree.Element("gexf", {"xmlns": NAMESPACE, "xmlns:viz": VIZ, "version": "1.3"})
    graph = ElementTree.SubElement(root, "graph", defaultedgetype="undirected")
    _attributes(graph, "node", ("states", "degree"))
    if steps is not None:
        _attributes(graph, "edge", ("step",))
    _nodes(ElementTree.SubElement(graph, "nodes"), model, places)
    _edges(ElementTree.SubElement(graph, "edges"), model, steps)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _attributes(graph: ElementTree.Element, kind: str, names: Sequence[str]) -> None:
    declared = ElementTree.SubElement(graph, "attributes", {"class": kind})
    for name in names:
        ElementTree.SubElement(declared, "attribute", id=name, title=name, type="integer")


def _nodes(parent: ElementTree.Element, model: PairwiseMRF, places: np.ndarray | None) -> None:
    for i, (name, states, degree) in enumerate(
        zip(model.names, model.cardinalities.tolist(), model.degrees().tolist(), strict=True)
    ):
        node = ElementTree.SubElement(parent, "node", id=str(i), label=xml_text(name))
        values = ElementTree.SubElement(node, "attvalues")
        for key, value in (("states", states), ("degree", degree)):
            ElementTree.SubElement(values, "attvalue", {"for": key, "value": str(value)})
        if places is not None:
            x, y = float(places[i][0]), float(places[i][1])
            at = {"x": repr(x), "y": repr(_HEIGHT - y), "z": "0.0"}
            ElementTree.SubElement(node, "viz:position", at)


def _edges(parent: ElementTree.Element, model: PairwiseMRF, steps: Sequence[int] | None) -> None:
    for e, ((i, j), norm) in enumerate(
        zip(model.edges.tolist(), model.edge_norms().tolist(), strict=True)
    ):
        # A zero potential has an infinite weight; "Infinity" is how parsers of numbers spell it.
        weight = "Infinity" if norm == float("inf") else repr(norm)
        ends = {"id": str(e), "source": str(i), "target": str(j), "weight": weight}
        edge = ElementTree.SubElement(parent, "edge", ends)
        if steps is not None:
            values = ElementTree.SubElement(edge, "attvalues")
            step = {"for": "step", "value": str(int(steps[e]))}
            ElementTree.SubElement(values, "attvalue", step)


GEXF = ModelFormat("graph.gexf", "Graph for Gephi (GEXF)", model_gexf)
