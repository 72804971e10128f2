"""Drawing of a model's graph: its nodes, edges, positions and sizes, for renderers and as SVG.

A graph is drawn completely, unless it is very large; then only the surroundings of a node are
drawn, strongest edges first. A drawing can be restricted to some edges, and to the neighbourhood
of a node.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np
from plotly.colors import sample_colorscale

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.inspection import (
    COMMON,
    GAINED,
    LOST,
    STATUS_WORDS,
    ModelDifference,
    mutual_informations,
)
from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.graphml import xml_text
from graftviz.reports.layout import FRAME, static_layout

MOST_NODES = 20_000
MOST_EDGES = 20_000
SURROUNDINGS = 150  # nodes drawn around a node of a large graph
PLAIN = COMMON  # style of the edges of a single model


@dataclass(frozen=True, eq=False)
class GraphPicture:
    """Drawing of a graph without colours.

    Attributes
    ----------
    nodes : int64 array, shape (k,)
        Drawn variables.
    places : float64 array, shape (k, 2)
        Positions, 0 … 10000, y downwards.
    degrees : int64 array, shape (k,)
        Degrees in the whole graph of the (first) model.
    edges : int64 array, shape (l, 2)
        Of variables, each row i < j.
    numbers : int64 array, shape (l,)
        Of these edges among those of the model, or of the difference.
    strengths : float64 array, shape (l,)
        0 … 1, relative to the strongest edge of the whole graph; zero-sum norms at first.
    styles : tuple of str, length l
        Status of each edge, see :mod:`graftviz.inference.inspection`.
    centre : int or None
        Node whose surroundings or neighbourhood are drawn; None if the whole graph is drawn.
    note : str
        Sentence on omitted parts; empty if there are none.
    """

    nodes: np.ndarray
    places: np.ndarray
    degrees: np.ndarray
    edges: np.ndarray
    numbers: np.ndarray
    strengths: np.ndarray
    styles: tuple[str, ...]
    centre: int | None
    note: str

    def filtered(self, allowed: np.ndarray | None, least: float = 0.0) -> GraphPicture:
        """Return the same drawing with fewer edges, and a note about it.

        Parameters
        ----------
        allowed : bool array or None
            Whether each edge of the model, or of the difference, may be drawn; None: all.
        least : float
            Smallest strength of the drawn edges.
        """
        is_drawn = self.strengths >= least
        if allowed is not None:
            is_drawn &= allowed[self.numbers]
        if is_drawn.all():
            return self
        words = f"{int(is_drawn.sum()):,} of {len(is_drawn):,} edges match the filter."
        return self._with_edges(np.flatnonzero(is_drawn), note=f"{self.note} {words}".strip())

    def around(self, centre: int, depth: int) -> GraphPicture:
        """Return a drawing of the nodes at most `depth` edges away from a node, laid out anew.

        Paths go through drawn edges.
        """
        local = np.searchsorted(self.nodes, self.edges)
        middle = int(np.searchsorted(self.nodes, centre))
        is_near = np.arange(len(self.nodes)) == middle
        for _ in range(depth):
            touched = is_near[local]
            is_near[local[touched.any(axis=1)].reshape(-1)] = True
        nodes = self.nodes[is_near]
        inner = self._with_edges(np.flatnonzero(is_near[local].all(axis=1)), note=self.note)
        words = (
            f"{len(nodes):,} of {len(self.nodes):,} nodes are drawn: the selected one and those "
            f"at most {depth} {'edge' if depth == 1 else 'edges'} away."
        )
        return dataclasses.replace(
            inner,
            nodes=nodes,
            degrees=self.degrees[is_near],
            places=_layout(nodes, inner.edges),
            centre=centre,
            note=f"{self.note} {words}".strip(),
        )

    def _with_edges(self, which: np.ndarray, note: str) -> GraphPicture:
        return dataclasses.replace(
            self,
            edges=self.edges[which],
            numbers=self.numbers[which],
            strengths=self.strengths[which],
            styles=tuple(self.styles[e] for e in which.tolist()),
            note=note,
        )

    def with_information(
        self, beliefs: Sequence[Beliefs | None], difference: ModelDifference | None = None
    ) -> GraphPicture:
        """Return the same drawing with edges as strong as the mutual information of their ends.

        Parameters
        ----------
        beliefs : sequence of Beliefs or None
            Of the model, or of both models of the difference; while one is missing, the drawing is
            unchanged.
        difference : ModelDifference, optional
        """
        found = [mutual_informations(one.edge) for one in beliefs if one is not None]
        if len(found) < len(beliefs):
            return self
        values = found[0] if difference is None else difference.strengths(*found)
        return dataclasses.replace(self, strengths=_relative(values)[self.numbers])


def graph_picture(
    model: PairwiseModel, places: np.ndarray | None = None, centre: int | None = None
) -> GraphPicture:
    """Return the drawing of a model's graph.

    Parameters
    ----------
    model : PairwiseMRF
    places : array, shape (n, 2), optional
        Positions of the variables, 0 … 10000; default: a computed layout.
    centre : int, optional
        Node whose surroundings are drawn of a large graph; default: a node of largest degree.
    """
    styles = (PLAIN,) * model.n_edges
    return _picture(model.degrees(), model.edges, model.edge_norms(), styles, places, centre)


def difference_picture(
    n: int,
    difference: ModelDifference,
    places: np.ndarray | None = None,
    centre: int | None = None,
) -> GraphPicture:
    """Return the drawing of the edges of two models, with the degrees in the first.

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
    drawn = np.arange(len(edges))
    note = ""
    drawn_centre: int | None = None
    if n > MOST_NODES:
        drawn_centre = int(np.argmax(degrees)) if centre is None else centre
        nodes = _surroundings(n, edges, strengths, drawn_centre)
        inside = np.zeros(n, dtype=bool)
        inside[nodes] = True
        drawn = np.flatnonzero(inside[edges].all(axis=1))
        note = (
            f"Only the surroundings of the selected node are drawn, {len(nodes):,} of {n:,} nodes; "
            "the tables have them all."
        )
    if len(drawn) > MOST_EDGES:
        strongest = np.argsort(-strengths[drawn], kind="stable")[:MOST_EDGES]
        left_out = len(drawn) - MOST_EDGES
        drawn = drawn[np.sort(strongest)]
        sentence = (
            f"The {MOST_EDGES:,} strongest edges are drawn, {left_out:,} weaker ones are not."
        )
        note = f"{note} {sentence}".strip()
    own = places if drawn_centre is None else None
    return GraphPicture(
        nodes=nodes,
        places=_layout(nodes, edges[drawn]) if own is None else np.asarray(own, dtype=np.float64),
        degrees=degrees[nodes],
        edges=edges[drawn],
        numbers=drawn,
        strengths=strengths[drawn],
        styles=tuple(styles[e] for e in drawn.tolist()),
        centre=drawn_centre,
        note=note,
    )


def _relative(norms: np.ndarray) -> np.ndarray:
    """Return norms divided by the largest finite one; infinite norms (zero potentials) give 1."""
    finite = norms[np.isfinite(norms)]
    largest = float(finite.max()) if len(finite) else 0.0
    shares: np.ndarray = np.where(np.isfinite(norms), norms, largest) / (largest or 1.0)
    return np.where(np.isfinite(norms), shares, 1.0)


def _surroundings(n: int, edges: np.ndarray, strengths: np.ndarray, centre: int) -> np.ndarray:
    """Return `centre` and nodes around it in breadth-first order, strongest edges first."""
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


def _layout(nodes: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return a layout of the drawn nodes by the drawn edges."""
    if len(nodes) == 1:
        return np.full((1, 2), FRAME / 2)
    positions = static_layout(len(nodes), np.searchsorted(nodes, edges))
    return np.asarray(positions, dtype=np.float64)


# --- SVG: deterministic, degrees by size and viridis, kinds of edges by colour and dash -----------

SIZE = 1_000
_MARGIN = 40
_LONGEST_TITLE = 100  # characters that fit in one line
_LABELS = 60  # number of labelled nodes, those of largest degree
# Okabe and Ito's vermilion and blue.
_STYLES = {
    COMMON: 'stroke="#7f7f7f"',
    LOST: 'stroke="#d55e00" stroke-dasharray="9 5"',
    GAINED: 'stroke="#0072b2" stroke-dasharray="2 4" stroke-linecap="round"',
}


def graph_svg(picture: GraphPicture, names: Sequence[str], title: str) -> str:
    """Return a picture as SVG with a title, a legend, and names of the nodes of largest degree.

    Parameters
    ----------
    picture : GraphPicture
    names : sequence of str
        Names of all variables.
    title : str
        Shown above the graph, and used as the title of the document.
    """
    at = dict(zip(picture.nodes.tolist(), _scaled(picture.places).tolist(), strict=True))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" role="img" '
        'font-family="sans-serif">',
        f"<title>{escape(xml_text(title))}</title>",
        f'<rect width="{SIZE}" height="{SIZE}" fill="#ffffff"/>',
        *_edges(picture, at),
        *_nodes(picture, at, names),
        *_labels(picture, at, names),
        _words(12, 22, title if len(title) <= _LONGEST_TITLE else f"{title[:_LONGEST_TITLE]}…"),
        *_legend(picture),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def viridis(share: float) -> str:
    """Return the viridis colour at `share`, from 0 to 1, as ``rgb(…)``."""
    (colour,) = sample_colorscale("viridis", min(max(share, 0.0), 1.0))
    return str(colour)


def _scaled(places: np.ndarray) -> np.ndarray:
    scaled: np.ndarray = _MARGIN + places / FRAME * (SIZE - 2 * _MARGIN)
    return scaled


def _edges(picture: GraphPicture, at: dict[int, list[float]]) -> list[str]:
    lines = []
    for (i, j), strength, style in zip(
        picture.edges.tolist(), picture.strengths.tolist(), picture.styles, strict=True
    ):
        (x1, y1), (x2, y2) = at[i], at[j]
        lines.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {_STYLES[style]} '
            f'stroke-width="{0.8 + 4.2 * strength:.2f}" stroke-opacity="0.75"/>'
        )
    return lines


def _radius(picture: GraphPicture, degree: int) -> float:
    largest = max(1, int(picture.degrees.max(initial=1)))
    room = 260.0 / max(1.0, len(picture.nodes)) ** 0.5
    return min(16.0, max(2.0, room * 0.35)) * (0.5 + 0.5 * (degree / largest) ** 0.5)


def _nodes(picture: GraphPicture, at: dict[int, list[float]], names: Sequence[str]) -> list[str]:
    largest = max(1, int(picture.degrees.max(initial=1)))
    lines = []
    for i, degree in zip(picture.nodes.tolist(), picture.degrees.tolist(), strict=True):
        x, y = at[i]
        lines.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_radius(picture, degree):.1f}" '
            f'fill="{viridis(degree / largest)}" stroke="#1b2430" stroke-width="0.8">'
            f"<title>{escape(xml_text(names[i]))}, degree {degree}</title></circle>"
        )
    return lines


def _words(x: float, y: float, text: str) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="15" fill="#1b2430">{escape(xml_text(text))}</text>'
    )


def _legend(picture: GraphPicture) -> list[str]:
    """Return the legend for the colours of nodes and, if there are several, of edges."""
    y, left, step = SIZE - 12, 12.0, 14
    lines = [_words(left, y, "degree 0")]
    left += 66
    for k in range(5):
        place = f'x="{left + step * k:g}" y="{y - 11}" width="{step}" height="12"'
        lines.append(f'<rect {place} fill="{viridis(k / 4)}"/>')
    left += 5 * step + 6
    lines.append(_words(left, y, str(int(picture.degrees.max(initial=0)))))
    for status, words in STATUS_WORDS.items() if set(picture.styles) - {COMMON} else ():
        left += 170
        sample = f'd="M{left - 45:g} {y - 5}h36" fill="none" stroke-width="3" {_STYLES[status]}'
        lines += [f"<path {sample}/>", _words(left, y, words)]
    return lines


def _labels(picture: GraphPicture, at: dict[int, list[float]], names: Sequence[str]) -> list[str]:
    busiest = np.argsort(-picture.degrees, kind="stable")[:_LABELS]
    lines = []
    for k in busiest.tolist():
        i, degree = int(picture.nodes[k]), int(picture.degrees[k])
        x, y = at[i]
        lines.append(
            f'<text x="{x + _radius(picture, degree) + 3:.1f}" y="{y + 4:.1f}" font-size="12" '
            'fill="#1b2430" stroke="#ffffff" stroke-width="3" paint-order="stroke">'
            f"{escape(xml_text(names[i]))}</text>"
        )
    return lines
