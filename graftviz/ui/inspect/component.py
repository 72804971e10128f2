"""The graph of the Inspect page inside Streamlit: a canvas that tells what was clicked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from graftviz.inspection import GraphPicture
from graftviz.player.assets import bundle, style_sheet
from graftviz.ui.boundary import guarded

GRAPH_KEY = "inspect_graph"
_SQUARE = 1.5  # a layout may be stretched this far to fill its place; known places keep their shape


class GraphLook(NamedTuple):
    """Attributes drawn on top of a graph: colors, edge styles, tooltips and rings.

    Attributes
    ----------
    values : float array, shape (k,)
        0 … 1 of each drawn node, shown as viridis.
    low, high : str
        What the ends of that scale mean.
    styles : tuple of (style, text)
        Kinds of edges to explain.
    tips : sequence of str
        More about each drawn node, shown when it is pointed at.
    observed : mapping
        Variable → label of the state it is known to have.
    region : sequence of int
        Variables with a ring around them.
    alt : str
        The picture in words.
    """

    values: np.ndarray
    low: str
    high: str
    styles: tuple[tuple[str, str], ...]
    tips: Sequence[str]
    observed: Mapping[int, str]
    region: Sequence[int]
    alt: str


def graph_message(
    token: str,
    picture: GraphPicture,
    names: Sequence[str],
    look: GraphLook,
    *,
    selected: Sequence[int] = (),
    keeps_shape: bool = False,
) -> str:
    """Return the JSON text that ``player/assets/inspect/graph.js`` reads.

    Parameters
    ----------
    token : str
        Of the graph; another one starts with the whole picture in view.
    picture : GraphPicture
    names : sequence of str
        Of all variables.
    look : GraphLook
    selected : sequence of int
        Nothing, a node, or both ends of an edge.
    keeps_shape : bool
        Whether places are known, as on a map, and not to be stretched.
    """
    kind = ("", "node", "edge")[len(selected)]
    chosen: dict[str, Any] | None = {"kind": kind, "i": selected[0]} if selected else None
    if chosen is not None and len(selected) == 2:
        chosen["j"] = selected[1]
    message = {
        "token": token,
        "nodes": picture.nodes.tolist(),
        "names": [names[i] for i in picture.nodes.tolist()],
        "places": np.round(picture.places, 1).tolist(),
        "degrees": picture.degrees.tolist(),
        "values": np.round(look.values, 4).tolist(),
        "tips": list(look.tips),
        "edges": [
            [i, j, round(strength, 4), style]
            for (i, j), strength, style in zip(
                picture.edges.tolist(), picture.strengths.tolist(), picture.styles, strict=True
            )
        ],
        "observed": {str(i): label for i, label in look.observed.items()},
        "region": [int(i) for i in look.region],
        "selected": chosen,
        "legend": {"low": look.low, "high": look.high, "styles": look.styles},
        "stretch": 1.0 if keeps_shape else _SQUARE,
        "alt": look.alt,
    }
    return json.dumps(message, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


@cache
def _component() -> Any:
    """Register the component, once per process."""
    return st.components.v2.component(
        "graftviz_inspect_graph",
        css=style_sheet("inspect/graph.css"),
        js=bundle("inspect/graph.js"),
    )


def show_graph(message: str, on_pick: Callable[[Mapping[str, Any]], None]) -> None:
    """Show a graph.

    Parameters
    ----------
    message : str
        See :func:`graph_message`.
    on_pick : callable
        Called with ``{token, node}``, ``{token, edge: [i, j]}``, or ``{token}`` for nothing, before
        what shows the graph runs again.
    """

    def picked() -> None:
        # Nothing is left of the component when its message comes after the page was left.
        value = (st.session_state.get(GRAPH_KEY) or {}).get("picked")
        if isinstance(value, Mapping):
            on_pick(value)

    data = message.encode("utf-8", "replace")
    _component()(key=GRAPH_KEY, data=data, on_picked_change=guarded(picked))
