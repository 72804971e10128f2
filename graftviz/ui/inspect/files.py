"""Files of the inspected model, built when one is requested."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from graftviz.formats.gexf import model_gexf
from graftviz.formats.graphml import model_graphml
from graftviz.formats.model_tables import marginals_csv, model_edges_csv
from graftviz.formats.node_link import node_link_json
from graftviz.formats.svg import graph_svg
from graftviz.formats.uai import names_text, uai_text
from graftviz.formats.uai_results import mar_text
from graftviz.inference import Beliefs
from graftviz.inspection import GraphPicture
from graftviz.ui.frame.header import PageFile
from graftviz.ui.inspect.source import Loaded


class Shown(NamedTuple):
    """Model, picture and beliefs that can be saved.

    Attributes
    ----------
    loaded : Loaded
    picture : GraphPicture
    before, after : Beliefs or None
        Without and with evidence.
    """

    loaded: Loaded
    picture: GraphPicture
    before: Beliefs | None
    after: Beliefs | None


class FileKind(NamedTuple):
    """One kind of file; `build` returns None where there is nothing to save."""

    name: str
    label: str
    mime: str
    build: Callable[[Shown], str | bytes | None]


def _marginals(shown: Shown) -> str | None:
    if shown.before is None:
        return None
    return marginals_csv(shown.loaded.model, shown.before, shown.after)


def _mar(shown: Shown) -> str | None:
    """Return the marginals in UAI format, conditional on the evidence if there is any."""
    beliefs = shown.after if shown.after is not None else shown.before
    return None if beliefs is None else mar_text(beliefs)


def _gexf(shown: Shown) -> bytes:
    is_whole = len(shown.picture.nodes) == shown.loaded.model.n_variables
    places = shown.picture.places if is_whole else None
    return model_gexf(shown.loaded.model, places, shown.loaded.steps)


MODEL_FILES = (
    FileKind("model.uai", "UAI", "text/plain", lambda s: uai_text(s.loaded.model)),
    FileKind(
        "model.names.json",
        "Variable names (for UAI)",
        "application/json",
        lambda s: names_text(s.loaded.model),
    ),
    FileKind(
        "graph.graphml",
        "GraphML",
        "application/xml",
        lambda s: model_graphml(s.loaded.model, s.loaded.steps),
    ),
    FileKind(
        "graph.json",
        "Node-link JSON",
        "application/json",
        lambda s: node_link_json(s.loaded.model, s.loaded.steps),
    ),
)
OTHER_FILES = (
    FileKind("graph.gexf", "Graph for Gephi (GEXF)", "application/xml", _gexf),
    FileKind(
        "graph.svg",
        "Graph (SVG)",
        "image/svg+xml",
        lambda s: graph_svg(s.picture, s.loaded.model.names, s.loaded.title),
    ),
    FileKind(
        "edges.csv",
        "Edges (CSV)",
        "text/csv",
        lambda s: model_edges_csv(s.loaded.model, s.before),
    ),
    FileKind("marginals.csv", "Marginals (CSV)", "text/csv", _marginals),
    FileKind("marginals.MAR", "Marginals (UAI's MAR)", "text/plain", _mar),
)
FILES = MODEL_FILES + OTHER_FILES


def build_file(shown: Shown, kind: FileKind) -> bytes:
    """Return the content of a file, empty if there is nothing to save."""
    content = kind.build(shown) or b""
    return content if isinstance(content, bytes) else content.encode("utf-8", "replace")


def model_files(shown: Shown) -> list[PageFile]:
    """Return the files of the shown model; without marginals, theirs are disabled."""
    return [
        PageFile(
            kind.name,
            kind.label,
            kind.mime,
            partial(build_file, shown, kind),
            disabled=kind.name.startswith("marginals") and shown.before is None,
        )
        for kind in FILES
    ]
