"""Drawing of a graph as SVG, scalable and editable.

The output is deterministic. Degree is encoded by size and by the viridis colour scale, kinds of
edges by colour and by dash.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

import numpy as np
from plotly.colors import sample_colorscale

from graftviz.inference.inspection import COMMON, GAINED, LOST, STATUS_WORDS
from graftviz.model.readwrite.graphml import xml_text
from graftviz.reports.layout.graph import FRAME
from graftviz.reports.layout.picture import GraphPicture

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
