"""JSON record of a model's graph for the view of the Inspect page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graftviz.inference import Beliefs
from graftviz.inspection import GraphPicture, ModelDifference, total_variations
from graftviz.inspection.difference import STATUS_WORDS
from graftviz.narrative.inspection import (
    difference_words,
    evidence_words,
    model_words,
    most_likely_states,
)
from graftviz.player.models import Loaded

_SQUARE = 1.5  # a computed layout may be stretched this far to fill its place; a map is not


def model_graph(
    loaded: Loaded,
    picture: GraphPicture,
    *,
    before: Beliefs | None = None,
    after: Beliefs | None = None,
    evidence: Mapping[int, int],
    selection: tuple[int, ...] = (),
    region: np.ndarray | None = None,
    difference: ModelDifference | None = None,
) -> dict[str, Any]:
    """Return the drawing of a model's graph with its colours, selection and legend.

    Parameters
    ----------
    loaded : Loaded
    picture : GraphPicture
    before, after : Beliefs, optional
        Marginals without and with the evidence; with both, nodes are coloured by their change.
    evidence : mapping
        State by variable.
    selection : tuple of int
        Empty, a node, or both ends of an edge.
    region : int array, optional
        Nodes of a highlighted region.
    difference : ModelDifference, optional
        Difference from a second model, if `picture` shows it.
    """
    model, nodes = loaded.model, picture.nodes.tolist()
    values = picture.degrees / max(1, int(picture.degrees.max(initial=1)))
    low, high = "low degree", "high"
    if before is not None and after is not None:
        change = total_variations(before.node, after.node)
        others = np.delete(change, list(evidence))
        largest = max(float(others.max(initial=0.0)), 1e-12)
        values = np.clip(change[nodes] / largest, 0.0, 1.0)
        low, high = "unchanged by the evidence", f"changed most ({largest:.2f})"
    latest = before if after is None else after
    tips = [""] * len(nodes)
    if latest is not None:
        best = most_likely_states(model, latest)
        tips = [f"{label} {p:.2f}" for label, p in (best[i] for i in nodes)]
    words = f"Graph of {loaded.title}: {model_words(model)}."
    if evidence:
        words += f" Observed: {evidence_words(model, evidence)}."
    if difference is not None:
        words += f" {difference_words(difference)}"
    kind = ("", "node", "edge")[len(selection)]
    edges = zip(picture.edges.tolist(), picture.strengths.tolist(), picture.styles, strict=True)
    return {
        # With another token, the whole picture comes into view.
        "token": f"{loaded.fingerprint}.{picture.centre}.{len(picture.nodes)}",
        "nodes": nodes,
        "names": [model.names[i] for i in nodes],
        "places": np.round(picture.places, 1).tolist(),
        "degrees": picture.degrees.tolist(),
        "values": np.round(values, 4).tolist(),
        "tips": tips,
        "edges": [[*ends, round(strength, 4), style] for ends, strength, style in edges],
        "observed": {str(i): model.labels[i][k] for i, k in evidence.items()},
        "region": [] if region is None else region.tolist(),
        "selected": {"kind": kind, **dict(zip("ij", selection, strict=False))} if kind else None,
        "legend": {
            "low": low,
            "high": high,
            "styles": () if difference is None else tuple(STATUS_WORDS.items()),
        },
        "stretch": 1.0 if loaded.keeps_shape else _SQUARE,
        "alt": words,
    }
