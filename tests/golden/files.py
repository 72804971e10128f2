"""Files of result folders as JSON values: numbers, names and graphs, independent of notation."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import networkx as nx

_REPLAY = re.compile(r'<script type="application/json" id="run">(.*?)</script>', re.DOTALL)


def folder_values(folder: Path) -> dict[str, Any]:
    """Return the parsed files of a folder by name; of other pages than replays only the name."""
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    return {path.name: _PARSERS[path.suffix](path.read_text(encoding="utf-8")) for path in paths}


def parsed_csv(text: str) -> dict[str, list[Any]]:
    """Return the columns of a CSV file by name; cells as numbers where they are, None if empty."""
    header, *rows = csv.reader(io.StringIO(text))
    return {name: [_parsed_cell(row[k]) for row in rows] for k, name in enumerate(header)}


def parsed_graphml(text: str) -> dict[str, Any]:
    """Return nodes and edges of a GraphML file with their attributes."""
    return _graph_record(nx.parse_graphml(text))


def parsed_node_link(text: str) -> dict[str, Any]:
    """Return nodes and edges of node-link JSON with their attributes."""
    return _graph_record(nx.node_link_graph(json.loads(text), edges="edges"))


def _parsed_cell(text: str) -> Any:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    return text or None


def _parsed_tokens(text: str) -> list[Any]:
    """Return the words of a file in a UAI format."""
    return [_parsed_cell(word) for word in text.split()]


def _parsed_page(text: str) -> Any:
    found = _REPLAY.search(text)
    return json.loads(found[1]) if found else None


def _graph_record(graph: nx.Graph) -> dict[str, Any]:
    edges = ((*sorted(map(str, ends)), data) for *ends, data in graph.edges(data=True))
    return {
        "nodes": _columns(sorted((str(node), data) for node, data in graph.nodes(data=True))),
        "edges": _columns(sorted(edges, key=lambda edge: edge[:2])),
    }


def _columns(rows: Iterable[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Return ends and attributes of nodes or edges as columns."""
    *ends, attributes = zip(*rows, strict=True)
    names = dict.fromkeys(name for data in attributes for name in data)
    return {
        "id": ["-".join(row) for row in zip(*ends, strict=True)],
        **{name: [_numbers(data.get(name)) for data in attributes] for name in names},
    }


def _numbers(value: Any) -> Any:
    """Return an attribute; one that is a text of JSON or of numbers, as these."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        words = _parsed_tokens(value)
        return value if any(isinstance(word, str) for word in words) else words


_PARSERS: dict[str, Callable[[str], Any]] = {
    ".csv": parsed_csv,
    ".json": json.loads,
    ".uai": _parsed_tokens,
    ".MAR": _parsed_tokens,
    ".PR": _parsed_tokens,
    ".graphml": parsed_graphml,
    ".html": _parsed_page,
}
