"""Formats in which models are written: by ``learn``, ``convert`` and the menus Download."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graftviz.model.readwrite.graphml import model_graphml
from graftviz.model.readwrite.node_link import node_link_json
from graftviz.model.readwrite.uai import names_text, uai_text

if TYPE_CHECKING:  # the process that reads models needs neither learners nor numba
    from collections.abc import Callable, Sequence

    from graftviz.model.pairwise import PairwiseModel


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
