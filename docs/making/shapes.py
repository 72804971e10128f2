"""Shared parts of pictures: graphs, and matrices as heat maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from docs.making.drawing import INK, PALE, Box, Drawing

_FRAME = 10_000  # what layouts fill
_RED, _BLUE = (213, 94, 0), (0, 114, 178)


class EdgeStyle(NamedTuple):
    """How an edge is drawn."""

    colour: str
    width: float = 2.0
    dash: str = ""


def places_in(box: Box, places: np.ndarray) -> np.ndarray:
    """Scale a layout's places, shape (n, 2), into a box."""
    corner = np.array([box.left, box.top])
    scaled: np.ndarray = corner + places / _FRAME * np.array([box.width, box.height])
    return scaled


def draw_graph(
    drawing: Drawing,
    at: np.ndarray,
    edges: Mapping[tuple[int, int], EdgeStyle],
    names: Sequence[str] = (),
    *,
    fills: Mapping[int, str] | None = None,
    radius: float = 7.0,
) -> None:
    """Draw nodes at places, shape (n, 2), with edges below and names above them."""
    for (i, j), style in edges.items():
        drawing.line(at[i], at[j], style.colour, style.width, style.dash)
    for i, place in enumerate(at):
        drawing.circle(place, radius, (fills or {}).get(i, PALE))
    for place, name in zip(at, names, strict=False):
        drawing.text((place[0], place[1] - radius - 4), name, anchor="middle", size=11, halo=True)


def draw_matrix(
    drawing: Drawing,
    box: Box,
    matrix: np.ndarray,
    largest: float,
    *,
    blank: np.ndarray | None = None,
) -> None:
    """Draw a matrix as squares, blue below zero and vermilion above; `blank` cells stay empty."""
    rows, columns = matrix.shape
    high, wide = box.height / rows, box.width / columns
    for a in range(rows):
        for b in range(columns):
            if matrix[a, b] == 0.0 or (blank is not None and blank[a, b]):
                continue
            cell = Box(box.left + b * wide, box.top + a * high, wide, high)
            drawing.rectangle(cell, diverging(float(matrix[a, b]) / largest))
    drawing.rectangle(box, "none", INK)


def diverging(share: float) -> str:
    """Return a colour for −1 … 1: blue, white, vermilion."""
    strength = min(abs(share), 1.0)
    end = _RED if share > 0 else _BLUE
    mixed = (round(255 + (part - 255) * strength) for part in end)
    return "#" + "".join(f"{part:02x}" for part in mixed)
