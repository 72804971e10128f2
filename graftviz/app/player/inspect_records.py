"""JSON record of a model's graph for the view of the Inspect page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graftviz.app.runs import Loaded
from graftviz.inference.beliefs import Beliefs
from graftviz.inference.inspection import (
    STATUS_WORDS,
    Communities,
    ModelDifference,
    total_variations,
)
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.picture import GraphPicture
from graftviz.reports.texts import catalogue
from graftviz.reports.words.inspection import (
    difference_words,
    evidence_words,
    model_words,
    most_likely_states,
)
from graftviz.reports.words.phrases import short

MOST_GROUPS = 6  # colours of groups of nodes
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
    colour: str = "degree",
    communities: Communities | None = None,
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
    colour : {"degree", "community", "state"}
        What nodes are coloured by; "degree": with evidence, by the change.
    communities : Communities, optional
        Of the graph, for "community".
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
    groups: list[int] = []
    group_words: list[tuple[int, str]] = []
    if colour == "community" and communities is not None:
        groups, group_words = _community_groups(communities, nodes)
    elif colour == "state" and latest is not None:
        groups, group_words = _state_groups(model, latest, nodes)
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
        "groups": groups,
        "tips": tips,
        "edges": [[*ends, round(strength, 4), style] for ends, strength, style in edges],
        "observed": {str(i): model.labels[i][k] for i, k in evidence.items()},
        "region": [] if region is None else region.tolist(),
        "selected": {"kind": kind, **dict(zip("ij", selection, strict=False))} if kind else None,
        "legend": {
            "low": low,
            "high": high,
            "groups": group_words,
            "styles": () if difference is None else tuple(STATUS_WORDS.items()),
        },
        "stretch": 1.0 if loaded.keeps_shape else _SQUARE,
        "alt": words,
    }


def _community_groups(
    communities: Communities, nodes: Sequence[int]
) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the community of every drawn node, -1 beyond the largest, and the legend."""
    words, sizes = catalogue("inspect")["legend"], np.diff(communities.starts)
    group = np.empty(len(communities.order), dtype=np.int64)
    group[communities.order] = np.repeat(np.arange(len(sizes)), sizes)
    several = min(MOST_GROUPS, int((sizes > 1).sum()))
    names = [
        words["community"].format(number=c + 1, size=f"{int(sizes[c]):,}") for c in range(several)
    ]
    return _limited(group[nodes], names, len(sizes) > several, words["others"])


def _state_groups(
    model: PairwiseModel, beliefs: Beliefs, nodes: Sequence[int]
) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the most likely state of every drawn node, -1 beyond the first, and the legend."""
    words = catalogue("inspect")["legend"]
    states = np.array([int(np.argmax(beliefs.node[i])) for i in nodes], dtype=np.int64)
    longest = max((model.labels[i] for i in nodes), key=len)
    count = min(MOST_GROUPS, len(longest))
    # A label names the state of all variables only if they share their labels.
    is_shared = all(model.labels[i] == longest[: len(model.labels[i])] for i in nodes)
    names = [
        short(longest[k]) if is_shared else words["state"].format(number=k + 1)
        for k in range(count)
    ]
    return _limited(states, names, len(longest) > count, words["others"])


def _limited(
    groups: np.ndarray, names: list[str], has_others: bool, others: str
) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the number of every node's colour, and the words for each colour; -1 is grey."""
    chosen = np.where(groups < len(names), groups, -1).tolist()
    return chosen, [*enumerate(names), *([(-1, others)] if has_others else [])]
