"""Export of models as GraphML, for Gephi, Cytoscape, networkx and other graph tools.

Nodes and edges also carry the potentials (see :mod:`graftviz.formats.model_records`), so that
:mod:`graftviz.formats.graphml_reading` can restore the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from graftviz.formats.model_records import model_records
from graftviz.formats.tables import activation_steps
from graftviz.model import PairwiseMRF
from graftviz.runs import Result

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
# Characters invalid in XML 1.0, even if escaped: control characters, lone surrogates, U+FFFE/F.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_KEYS = {
    "node": {
        "name": "string",
        "exact_name": "string",
        "states": "long",
        "degree": "long",
        "labels": "string",
        "weights": "string",
    },
    "edge": {"weight_norm": "double", "step": "long", "weights": "string"},
}


def graphml(result: Result) -> bytes:
    """Return the learned model as GraphML, with the activation step of every edge."""
    return model_graphml(result.model, activation_steps(result).tolist())


def model_graphml(model: PairwiseMRF, steps: Sequence[int] | None = None) -> bytes:
    """Return a model as GraphML.

    Characters of names that are invalid in XML become U+FFFD; the exact name is then also stored
    as JSON in ``exact_name``. Weights are texts from which the exact numbers can be parsed.

    Parameters
    ----------
    model : PairwiseMRF
    steps : sequence of int, optional
        Step in which each edge was activated.
    """
    nodes, edges = model_records(model, steps)
    records = {"node": [_node_texts(node) for node in nodes], "edge": list(map(_texts, edges))}
    root = ElementTree.Element("graphml", xmlns=NAMESPACE)
    for kind, keys in _KEYS.items():
        for name, type_ in keys.items():
            if any(name in record for record in records[kind]):
                attributes = {"attr.name": name, "attr.type": type_}
                ElementTree.SubElement(
                    root, "key", {"id": _key(kind, name), "for": kind, **attributes}
                )
    graph = ElementTree.SubElement(root, "graph", edgedefault="undirected")
    for record in records["node"]:
        element = ElementTree.SubElement(graph, "node", id=record["id"])
        _add_data(element, "node", record)
    for record in records["edge"]:
        ends = {"source": record["source"], "target": record["target"]}
        _add_data(ElementTree.SubElement(graph, "edge", ends), "edge", record)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def xml_text(text: str) -> str:
    """Return `text` with U+FFFD for every character that is invalid in XML."""
    return _NOT_XML.sub("\ufffd", text)


def _node_texts(node: dict[str, Any]) -> dict[str, str]:
    texts = _texts(node)
    # XML parsers convert carriage returns to line feeds.
    if texts["name"] != node["name"] or "\r" in node["name"]:
        texts["exact_name"] = json.dumps(node["name"])
    return texts


def _texts(record: dict[str, Any]) -> dict[str, str]:
    return {name: _text(name, value) for name, value in record.items()}


def _text(name: str, value: Any) -> str:
    if name == "labels":
        return json.dumps(value)  # ASCII, so that every label is valid XML
    if name == "weights":
        rows = [value] if value and not isinstance(value[0], list) else value
        return " ".join(repr(number) for row in rows for number in row)
    if isinstance(value, float):
        return "INF" if value == float("inf") else repr(value)
    return xml_text(str(value))


def _add_data(element: ElementTree.Element, kind: str, record: dict[str, str]) -> None:
    for name in _KEYS[kind]:
        if name in record:
            data = ElementTree.SubElement(element, "data", key=_key(kind, name))
            data.text = record[name]


def _key(kind: str, name: str) -> str:
    return f"{kind}_{name}"
