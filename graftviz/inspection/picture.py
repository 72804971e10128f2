"""What is drawn of a model's graph: which nodes and edges, where, how large. Renderers follow it.

A small graph is drawn whole. Of a large one the surroundings of a node are, strongest edges first;
otherwise nobody would see anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graftviz.inspection.difference import COMMON, GAINED, ModelDifference
from graftviz.layout import static_layout
from graftviz.layout.graph import FRAME
from graftviz.model import PairwiseMRF

MOST_NODES = 1_000
MOST_EDGES = 3_000
SURROUNDINGS = 150  # nodes drawn around one of a graph too large to draw whole
PLAIN = COMMON  # the style of an edge that is compared with nothing


@dataclass(frozen=True, eq=False)
class GraphPicture:
    """A drawing of a graph, apart from colours.

    Attributes
    ----------
    nodes : int64 array, shape (k,)
        The variables that are drawn.
    places : float64 array, shape (k, 2)
        0 … 10000, y downwards.
    degrees : int64 array, shape (k,)
        In the whole graph of the (first) model.
    edges : int64 array, shape (l, 2)
        Of variables, each row i < j.
    strengths : float64 array, shape (l,)
        0 … 1, relative to the strongest edge of the whole graph.
    styles : tuple of str, length l
        A status of :mod:`graftviz.inspection.difference`.
    centre : int or None
        The node whose surroundings are drawn; None when it is the whole graph.
    note : str
        What is left out; empty if nothing is.
    """

    nodes: np.ndarray
    places: np.ndarray
    degrees: np.ndarray
    edges: np.ndarray
    strengths: np.ndarray
    styles: tuple[str, ...]
    centre: int | None
    note: str


def graph_picture(
    model: PairwiseMRF, places: np.ndarray | None = None, centre: int | None = None
) -> GraphPicture:
    """Return the drawing of a model's graph.

    Parameters
    ----------
    model : PairwiseMRF
    places : array, shape (n, 2), optional
        Known places of the variables, 0 … 10000; otherwise they are laid out.
    centre : int, optional
        Whose surroundings to draw of a large graph; by default a node of largest degree.
    """
    styles = (PLAIN,) * model.n_edges
    return _picture(model.degrees(), model.edges, model.edge_norms(), styles, places, centre)


def difference_picture(
    n: int,
    difference: ModelDifference,
    places: np.ndarray | None = None,
    centre: int | None = None,
) -> GraphPicture:
    """Return the drawing of the edges of two models; degrees are those in the first.

    Parameters
    ----------
    n : int
        Number of variables of the first model.
    difference : ModelDifference
    places, centre
        See :func:`graph_picture`.
    """
    strengths = np.maximum(difference.first, difference.second)
    own = difference.edges[[status != GAINED for status in difference.status]]
    degrees = np.bincount(own.reshape(-1), minlength=n)
    return _picture(degrees, difference.edges, strengths, difference.status, places, centre)


def _picture(
    degrees: np.ndarray,
    edges: np.ndarray,
    norms: np.ndarray,
    styles: Sequence[str],
    places: np.ndarray | None,
    centre: int | None,
) -> GraphPicture:
    n = len(degrees)
    strengths = _relative(norms)
    nodes = np.arange(n)
    kept = np.arange(len(edges))
    note = ""
    drawn_about: int | None = None
    if n > MOST_NODES:
        drawn_about = int(np.argmax(degrees)) if centre is None else centre
        nodes = _surroundings(n, edges, strengths, drawn_about)
        inside = np.zeros(n, dtype=bool)
        inside[nodes] = True
        kept = np.flatnonzero(inside[edges].all(axis=1))
        note = (
            f"Only the surroundings of the selected node are drawn, {len(nodes):,} of {n:,} nodes; "
            "the tables have them all."
        )
    if len(kept) > MOST_EDGES:
        strongest = np.argsort(-strengths[kept], kind="stable")[:MOST_EDGES]
        left_out = len(kept) - MOST_EDGES
        kept = kept[np.sort(strongest)]
        told = f"The {MOST_EDGES:,} strongest edges are drawn, {left_out:,} weaker ones are not."
        note = f"{note} {told}".strip()
    own = places if drawn_about is None else None
    return GraphPicture(
        nodes=nodes,
        places=_placed(nodes, edges[kept]) if own is None else np.asarray(own, dtype=np.float64),
        degrees=degrees[nodes],
        edges=edges[kept],
        strengths=strengths[kept],
        styles=tuple(styles[e] for e in kept.tolist()),
        centre=drawn_about,
        note=note,
    )


def _relative(norms: np.ndarray) -> np.ndarray:
    """Return norms as shares of the largest finite one; an infinite one (a zero potential) is 1."""
    finite = norms[np.isfinite(norms)]
    largest = float(finite.max()) if len(finite) else 0.0
    shares: np.ndarray = np.where(np.isfinite(norms), norms, largest) / (largest or 1.0)
    return np.where(np.isfinite(norms), shares, 1.0)


def _surroundings(n: int, edges: np.ndarray, strengths: np.ndarray, centre: int) -> np.ndarray:
    """Return `centre` and the nodes around it, ring by ring, in each the strongest edges first."""
    both = np.concatenate([edges, edges[:, ::-1]])
    order = np.lexsort((-np.concatenate([strengths, strengths]), both[:, 0]))
    neighbours = both[order, 1]
    starts = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=n))])
    found: dict[int, None] = {centre: None}
    queue = [centre]
    while queue and len(found) < SURROUNDINGS:
        before = len(found)
        for node in queue:
            _extend(found, node, neighbours, starts)
        queue = list(found)[before:]
    return np.sort(np.array(list(found), dtype=np.int64))


def _extend(found: dict[int, None], node: int, neighbours: np.ndarray, starts: np.ndarray) -> None:
    for other in neighbours[starts[node] : starts[node + 1]].tolist():
        if len(found) >= SURROUNDINGS:
            return
        found.setdefault(other)


def _placed(nodes: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Lay out the drawn nodes by the drawn edges."""
    if len(nodes) == 1:
        return np.full((1, 2), FRAME / 2)
    placed = static_layout(len(nodes), np.searchsorted(nodes, edges))
    return np.asarray(placed, dtype=np.float64)
