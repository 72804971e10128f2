"""Reader of models from UAI, GraphML, node-link JSON, and folders with one of these files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from graftviz.errors import InputError
from graftviz.formats.files import lock_folder, read_bytes
from graftviz.formats.graphml import parse_graphml
from graftviz.formats.model_records import ModelFile
from graftviz.formats.node_link import parse_node_link
from graftviz.formats.result_folder import MANIFEST, check_results
from graftviz.formats.uai import NamesFile, names_path, parse_uai, read_names_beside
from graftviz.model import PairwiseMRF
from graftviz.wording import escaped, shortened

NAMES_SUFFIX = ".names.json"
_UAI_BEGINNINGS = (b"MARKOV", b"BAYES")
# Suffixes in the order of preference, and the file that `learn` writes with each suffix.
_KINDS = (
    (".uai", "model.uai"),
    (".graphml", "graph.graphml"),
    (".json", "graph.json"),
)
_NOT_MODELS = (NAMES_SUFFIX, "result.json", "about.json", "measured.json", MANIFEST)


def read_model(path: Path | str) -> PairwiseMRF:
    """Read a model from a file or from a folder of results.

    Parameters
    ----------
    path : path
        ``.uai`` or any UAI text (with ``.names.json`` beside it), ``.graphml``, node-link
        ``.json``, or a folder that holds such a file, such as ``learn --out`` writes.

    Raises
    ------
    InputError
        When there is no model, more than one, or a malformed one; and for a folder that mixes
        files of different runs (:func:`graftviz.formats.result_folder.check_results`).

    Examples
    --------
    >>> path = gv.write_model(model, "model.graphml")
    >>> gv.read_model("model.graphml")
    <PairwiseMRF: 11 variables of 2 to 4 states, 11 edges>
    """
    return read_model_file(path).model


def read_model_file(path: Path | str) -> ModelFile:
    """Read a model like :func:`read_model`, with notes on assumptions made in reading it."""
    path = Path(path)
    is_folder = os.path.isdir(path)  # False for invalid names, for which Path.is_dir raises
    folder = path if is_folder else path.parent
    with lock_folder(folder, shared=True):
        if is_folder:
            check_results(folder)
            names = [item.name for item in folder.iterdir() if item.is_file()]
            path = folder / choose_model(names, folder)
        content = read_bytes(path)
        names_file = None
        if is_uai(path.name, content):
            if not is_folder:
                check_results(folder, (path.name, names_path(path).name))
            names_file = read_names_beside(path)
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
