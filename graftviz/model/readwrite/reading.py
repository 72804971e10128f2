"""Reader of models from UAI, GraphML, node-link JSON, and folders with one of these files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from graftviz.model.readwrite.graphml import parse_graphml
from graftviz.model.readwrite.node_link import parse_node_link
from graftviz.model.readwrite.records import ModelFile
from graftviz.model.readwrite.uai import NamesFile, parse_uai, read_names_beside
from graftviz.utils.errors import InputError
from graftviz.utils.files import read_bytes
from graftviz.utils.wording import escaped, shortened

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
