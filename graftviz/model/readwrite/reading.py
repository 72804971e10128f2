"""Reader of models from UAI, GraphML, node-link JSON, and folders with one of these files.

Node-link JSON of models: reader and writer, compatible with D3 and networkx. The format is the
node-link data of networkx, with the records of :mod:`graftviz.model.readwrite.records`, from which
the model can be restored. A weight of −∞ (a zero potential) is null.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.graphml import model_graphml, parse_graphml
from graftviz.model.readwrite.records import ModelFile, model_of_records, model_records
from graftviz.model.readwrite.uai import (
    NamesFile,
    names_text,
    parse_uai,
    read_names_beside,
    uai_text,
)
from graftviz.utils.errors import InputError
from graftviz.utils.files import json_value, read_bytes
from graftviz.utils.wording import escaped, shortened


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


class ModelFormat(NamedTuple):
    """Format in which models are written.

    Attributes
    ----------
    file : str
        Name of the file.
    title : str
        Label in menus.
    write : callable (model, steps) -> str or bytes
        Return the content of the file; `steps` are those in which the edges were activated, or
        None.
    in_results : bool
        Whether ``learn`` writes the file.
    """

    file: str
    title: str
    write: Callable[[PairwiseModel, Sequence[int] | None], str | bytes]
    in_results: bool = False


GRAPHML = ModelFormat("graph.graphml", "Model and graph (GraphML)", model_graphml, in_results=True)
NODE_LINK = ModelFormat("graph.json", "Model and graph (JSON)", node_link_json)
NAMES = ModelFormat(
    "model.names.json",
    "Variable names (for UAI)",
    lambda model, _: names_text(model),
    in_results=True,
)
UAI = ModelFormat("model.uai", "Model (UAI)", lambda model, _: uai_text(model), in_results=True)
MODEL_FORMATS = (GRAPHML, NODE_LINK, NAMES, UAI)


NAMES_SUFFIX = ".names.json"
_UAI_BEGINNINGS = (b"MARKOV", b"BAYES")
# Suffixes in the order of preference, and the file that `learn` writes with each suffix.
_KINDS = (
    (".uai", "model.uai"),
    (".graphml", "graph.graphml"),
    (".json", "graph.json"),
)
_NOT_MODELS = (NAMES_SUFFIX, "result.json", "about.json", "measured.json")


def read_model_file(path: Path | str) -> ModelFile:
    """Read a model, with notes on what was assumed; see :func:`graftviz.read_model`."""
    path = Path(path)
    if os.path.isdir(path):  # False for invalid names, for which Path.is_dir raises
        names = [item.name for item in path.iterdir() if item.is_file()]
        path = path / choose_model(names, path)
    content = read_bytes(path)
    names_file = read_names_beside(path) if is_uai(path.name, content) else None
    return parse_model(path.name, content, names_file)


def parse_model(name: str, content: bytes, names: NamesFile | None = None) -> ModelFile:
    """Read a model from memory.

    Parameters
    ----------
    name : str
        Name of the file, whose suffix determines the format.
    content : bytes
    names : NamesFile, optional
        Names and labels of a UAI file.

    Raises
    ------
    InputError
        When the content is not a model or is malformed.
    """
    title = title_of(name)
    if is_uai(name, content):
        return ModelFile(parse_uai(title, content, names))
    match _suffix(name):
        case ".graphml" | ".xml":
            return parse_graphml(title, content)
        case ".json":
            return parse_node_link(title, content)
    raise InputError(
        f"{title} does not have the suffix of a model file; supported are .uai, .graphml and .json "
        "(node-link), and folders that hold one of them."
    )


def is_uai(name: str, content: bytes) -> bool:
    """Return whether a file is in UAI format, by its suffix or, if that is unknown, its start."""
    suffix = _suffix(name)
    if suffix in (".graphml", ".xml", ".json"):
        return False
    return suffix == ".uai" or content.lstrip().startswith(_UAI_BEGINNINGS)


def title_of(name: str) -> str:
    """Return the name of a file for messages: escaped and shortened."""
    return shortened(escaped(name))


def may_be_model(name: str) -> bool:
    """Return whether a file may hold a model by its name, alone or as an archive."""
    kinds = (".zip", ".xml", *(suffix for suffix, _ in _KINDS))
    return _suffix(name) in kinds and not name.lower().endswith(_NOT_MODELS)


def choose_model(names: Sequence[str], folder: Path | str = "The folder") -> str:
    """Return the name of the model file of a folder.

    Parameters
    ----------
    names : sequence of str
        Names of all files in the folder.
    folder : path
        Name of the folder in messages.

    Raises
    ------
    InputError
        When there is no model among them, or more than one.
    """
    names = sorted(names)
    for suffix, usual in _KINDS:
        found = [name for name in names if _suffix(name) == suffix]
        found = [name for name in found if not name.lower().endswith(_NOT_MODELS)]
        if usual in found:
            return usual
        if len(found) > 1:
            raise InputError(
                f"Found {len(found)} models: {_listed(found)}{', …' if len(found) > 4 else ''}. "
                "Keep only one of them."
            )
        if found:
            return found[0]
    problem = f"There is no model among {_listed(names)}" if names else f"{folder} holds no files"
    raise InputError(f"{problem}: it needs model.uai, graph.graphml or node-link JSON.")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(title_of, names[:4]))


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()
