"""GraphML: writer of models, and reader of these and of other weighted graphs as Ising models.

Gephi, Cytoscape, networkx and other graph tools read it. Nodes and edges also carry the potentials
(see :mod:`graftviz.model.readwrite.records`), from which the exact model is restored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.records import ModelFile, model_of_records, model_records
from graftviz.utils.errors import InputError
from graftviz.utils.wording import quoted

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


def model_graphml(model: PairwiseModel, steps: Sequence[int] | None = None) -> bytes:
    """Return a model as GraphML, without positions.

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
    return {name: attribute_text(name, value) for name, value in record.items()}


def attribute_text(name: str, value: Any) -> str:
    """Return the value of a record of a node or an edge as the text of an attribute."""
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


def parse_graphml(title: str, content: bytes) -> ModelFile:
    """Read a model from GraphML in memory.

    From a file with potentials (:func:`model_graphml`), the exact model is restored. Any other
    undirected graph with a number ``weight`` on every edge is read as an Ising model, with a note.

    Raises
    ------
    InputError
        For content that is not GraphML, or has inconsistent nodes or edges; the message names them.
    """
    graph, root = _graph(title, content)
    defaults = _keys(root)
    nodes = []
    edges = []
    for element in graph:
        match _tag(element):
            case "node":
                nodes.append({**_data(title, element, defaults["node"]), **_only(element, "id")})
            case "edge":
                ends = _only(element, "source", "target")
                edges.append({**_data(title, element, defaults["edge"]), **ends})
            case "hyperedge":
                raise InputError(f"{title} has a hyperedge; a pairwise model joins two variables.")
    for node in nodes:
        _restore_exact_name(title, node)
    found = model_of_records(title, nodes, edges)
    if graph.get("edgedefault") == "directed":
        note = f"{title} has directed edges; the directions are ignored."
        return replace(found, notes=(*found.notes, note))
    return found


class _NoDoctype(ElementTree.TreeBuilder):
    """Builder that rejects document type declarations, whose entities can expand without bound."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def doctype(self, *_: Any) -> None:
        raise InputError(f"{self._title}: DOCTYPE declarations are not allowed in GraphML.")


def _graph(title: str, content: bytes) -> tuple[ElementTree.Element, ElementTree.Element]:
    parser = ElementTree.XMLParser(target=_NoDoctype(title))
    try:
        parser.feed(content)
        root: ElementTree.Element = parser.close()
    except ElementTree.ParseError as problem:
        raise InputError(f"{title} is not well-formed XML: {problem}.") from None
    except InputError:  # a subclass of ValueError, handled below
        raise
    except (ValueError, LookupError):  # an unknown encoding
        raise InputError(f"{title} is not well-formed XML.") from None
    if _tag(root) != "graphml":
        raise InputError(f"{title} is XML, but not GraphML: it begins with <{_tag(root)[:20]}>.")
    graphs = [element for element in root if _tag(element) == "graph"]
    if len(graphs) != 1:
        raise InputError(f"{title} must hold one graph; it has {len(graphs)}.")
    return graphs[0], root


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _only(element: ElementTree.Element, *names: str) -> dict[str, str]:
    return {name: element.attrib[name] for name in names if name in element.attrib}


class _Key:
    """Declaration of a GraphML key: name and default value of an attribute."""

    def __init__(self, element: ElementTree.Element) -> None:
        self.name = str(element.get("attr.name") or element.get("id", ""))
        texts = [child.text or "" for child in element if _tag(child) == "default"]
        self.default = texts[0] if texts else None


def _keys(root: ElementTree.Element) -> dict[str, dict[str, _Key]]:
    """Return the keys of nodes and of edges, by id."""
    keys: dict[str, dict[str, _Key]] = {"node": {}, "edge": {}}
    for element in root:
        if _tag(element) == "key":
            domain = element.get("for", "all")
            for kind in ("node", "edge") if domain == "all" else (domain,):
                if kind in keys:
                    keys[kind][element.get("id", "")] = _Key(element)
    return keys


def _data(title: str, element: ElementTree.Element, keys: dict[str, _Key]) -> dict[str, str]:
    values: dict[str, str] = {
        key.name: key.default for key in keys.values() if key.default is not None
    }
    for child in element:
        if _tag(child) == "data":
            key = child.get("key", "")
            if key not in keys:
                raise InputError(f"{title} uses the key {quoted(key)} without declaring it.")
            values[keys[key].name] = child.text or ""
    return values


def _restore_exact_name(title: str, node: dict[str, str]) -> None:
    if "exact_name" not in node:
        return
    try:
        name = json.loads(node.pop("exact_name"))
    except (ValueError, RecursionError):
        name = None
    if not isinstance(name, str):
        raise InputError(
            f"In {title}, the exact name of node {quoted(node.get('id'))} is not a text."
        )
    node["name"] = name
