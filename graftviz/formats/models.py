"""Reading a model from whatever holds one: UAI, GraphML, node-link JSON, or a folder of results."""

from __future__ import annotations

from pathlib import Path

from graftviz.errors import InputError
from graftviz.formats.files import read_bytes
from graftviz.formats.graphml_reading import read_graphml
from graftviz.formats.model_records import ModelFile
from graftviz.formats.node_link import read_node_link
from graftviz.formats.uai import read_uai
from graftviz.model import PairwiseMRF

NAMES_SUFFIX = ".names.json"
# What of a folder is read, best first, and the file `learn` writes of each kind.
_KINDS = (
    (".uai", "model.uai"),
    (".graphml", "graph.graphml"),
    (".json", "graph.json"),
)
_NOT_MODELS = (NAMES_SUFFIX, "result.json", "about.json", "measured.json")


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
        When it holds no model, more than one, or one that is malformed.
    """
    return read_model_file(path).model


def read_model_file(path: Path | str) -> ModelFile:
    """Read a model like :func:`read_model`, with notes on how the file was understood."""
    path = Path(path)
    if path.is_dir():
        return read_model_file(_model_in(path))
    match path.suffix.lower():
        case ".uai":
            return ModelFile(read_uai(path))
        case ".graphml" | ".xml":
            return read_graphml(path)
        case ".json":
            return read_node_link(path)
    if read_bytes(path).lstrip().startswith((b"MARKOV", b"BAYES")):
        return ModelFile(read_uai(path))
    raise InputError(
        f"{path.name} is no file of a model by its ending; there are .uai, .graphml and .json "
        "(node-link), and folders that hold one of them."
    )


def _model_in(folder: Path) -> Path:
    """Return the file of a folder that holds its model."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    for suffix, usual in _KINDS:
        found = [path for path in files if path.suffix.lower() == suffix]
        found = [path for path in found if not path.name.lower().endswith(_NOT_MODELS)]
        if named := [path for path in found if path.name == usual]:
            return named[0]
        if len(found) > 1:
            names = ", ".join(path.name for path in found[:4])
            raise InputError(
                f"There are {len(found)} models, {names}{', …' if len(found) > 4 else ''}; bring "
                "one of them, and take the others away."
            )
        if found:
            return found[0]
    held = ", ".join(path.name for path in files[:4])
    problem = f"There is no model among {held}" if held else f"{folder.name} holds no files"
    raise InputError(f"{problem}: it needs model.uai, graph.graphml or node-link JSON.")
