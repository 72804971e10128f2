"""Node-link JSON of models: reader and writer, compatible with D3 and networkx.

The format is the node-link data of networkx, with the records of
:mod:`graftviz.model.readwrite.records`, from which the model can be restored. A weight of −∞ (a
zero potential) is null.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.records import ModelFile, model_of_records, model_records
from graftviz.utils.errors import InputError
from graftviz.utils.json_values import json_value


def node_link_json(model: PairwiseModel, steps: Sequence[int] | None = None) -> str:
    """Return a model as node-link JSON (ASCII only), without positions.

    Parameters
    ----------
    model : PairwiseMRF
    steps : sequence of int, optional
        Step in which each edge was activated.
    """
    nodes, edges = model_records(model, steps)
    # One line per node and per edge, for inspection and for line-based comparison.
    return (
        '{"directed": false, "multigraph": false, "graph": {},\n"nodes": [\n'
        + ",\n".join(_line(node) for node in nodes)
        + '\n],\n"edges": [\n'
        + ",\n".join(_line(edge) for edge in edges)
        + "\n]}\n"
    )


def parse_node_link(title: str, content: bytes) -> ModelFile:
    """Read a model from node-link JSON in memory; the key of edges may be "links", as in D3.

    Raises
    ------
    InputError
        For content that is not JSON, not a graph, or inconsistent.
    """
    try:
        graph = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):  # malformed JSON, not UTF-8, or too deeply nested
        raise InputError(f"{title} is not valid JSON; save it again.") from None
    nodes = graph.get("nodes") if isinstance(graph, dict) else None
    edges = graph.get("edges", graph.get("links")) if isinstance(graph, dict) else None
    return model_of_records(title, _records(title, nodes), _records(title, edges))


def _records(title: str, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError(
            f'{title} is JSON, but not a graph: it needs {{"nodes": [{{…}}], "edges": [{{…}}]}}.'
        )
    return value


def _line(record: dict[str, Any]) -> str:
    return json.dumps(json_value(record), allow_nan=False)
