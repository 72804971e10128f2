"""Drawings as SVG text without a plotting library, with deterministic output.

Every picture stands on a white card with dark ink, so that it reads the same whatever theme the
page around it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

INK, GREY, PALE = "#1b2430", "#8a929c", "#d8dee4"
# Okabe and Ito's colours, distinguishable with all forms of colour blindness.
BLUE, ORANGE, GREEN, RED = "#0072b2", "#e69f00", "#009e73", "#d55e00"
_FONT = 13
_AXIS_FONT = 11


class Box(NamedTuple):
    """A rectangle of the drawing: left, top, width, height, in its units."""

    left: float
    top: float
    width: float
    height: float


class Drawing:
    """A growing list of SVG elements on a white card.

    Parameters
    ----------
    width, height : int
    title : str
        Read out by screen readers.
    """

    def __init__(self, width: int, height: int, title: str) -> None:
        self._head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" font-family="sans-serif">',
            f"<title>{escape(title)}</title>",
            f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" '
            f'fill="#ffffff" stroke="{PALE}"/>',
        )
        self._lines: list[str] = []

    def line(
        self,
        start: Sequence[float],
        end: Sequence[float],
        colour: str = INK,
        width: float = 1.0,
        dash: str = "",
    ) -> None:
        """Draw a straight line; `dash` is SVG's stroke-dasharray."""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self._lines.append(
            f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
            f'stroke="{colour}" stroke-width="{width:.1f}"{dashed}/>'
        )

    def path(
        self, points: Iterable[Sequence[float]], colour: str, width: float = 2.0, dash: str = ""
    ) -> None:
        """Draw a line through points."""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._lines.append(
            f'<polyline points="{places}" fill="none" stroke="{colour}" '
            f'stroke-width="{width:.1f}" stroke-linejoin="round"{dashed}/>'
        )

    def circle(
        self, centre: Sequence[float], radius: float, fill: str = "#ffffff", stroke: str = INK
    ) -> None:
        """Draw a disc."""
        self._lines.append(
            f'<circle cx="{centre[0]:.1f}" cy="{centre[1]:.1f}" r="{radius:.1f}" '
            f'fill="{fill}" stroke="{stroke}"/>'
        )

    def rectangle(self, box: Box, fill: str, stroke: str = "none") -> None:
        """Draw a rectangle."""
        self._lines.append(
            f'<rect x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" '
            f'height="{box.height:.1f}" fill="{fill}" stroke="{stroke}"/>'
        )

    def text(
        self,
        at: Sequence[float],
        words: str,
        *,
        anchor: str = "start",
        colour: str = INK,
        size: int = _FONT,
        halo: bool = False,
    ) -> None:
        """Write words; a halo keeps them legible on lines."""
        around = ' stroke="#ffffff" stroke-width="3" paint-order="stroke"' if halo else ""
        self._lines.append(
            f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}"{around}>{escape(words)}</text>'
        )

    def legend(self, at: Sequence[float], entries: Iterable[tuple[str, str, str]]) -> None:
        """Explain lines, one below the other: (colour, dash, words)."""
        x, y = at
        for colour, dash, words in entries:
            self.line((x, y - 4), (x + 22, y - 4), colour, 2.5, dash)
            self.text((x + 28, y), words, size=_AXIS_FONT)
            y += 17

    def svg(self) -> str:
        """Return the drawing."""
        return "\n".join([*self._head, *self._lines, "</svg>"]) + "\n"


class Axes:
    """A frame with ticks, and places for values in it.

    Parameters
    ----------
    drawing : Drawing
    box : Box
    across, up : pair of float
        Smallest and largest value along each axis.
    names : pair of str
        What the axes measure.
    logarithmic : bool
        Whether the vertical axis is.
    """

    def __init__(
        self,
        drawing: Drawing,
        box: Box,
        across: tuple[float, float],
        up: tuple[float, float],
        names: tuple[str, str],
        *,
        logarithmic: bool = False,
    ) -> None:
        self._drawing, self._box, self._across, self._up = drawing, box, across, up
        self._logarithmic = logarithmic
        bottom = box.top + box.height
        for value in _decades(*up) if logarithmic else _ticks(*up):
            y = self.at(across[0], value)[1]
            drawing.line((box.left, y), (box.left + box.width, y), PALE)
            shown = f"1e{round(math.log10(value))}" if logarithmic else f"{value:g}"
            drawing.text((box.left - 6, y + 4), shown, anchor="end", size=_AXIS_FONT)
        for value in _ticks(*across):
            x = self.at(value, up[0])[0]
            drawing.line((x, bottom), (x, bottom + 4))
            drawing.text((x, bottom + 17), f"{value:g}", anchor="middle", size=_AXIS_FONT)
        drawing.line((box.left, bottom), (box.left + box.width, bottom))
        middle = box.left + box.width / 2
        drawing.text((middle, bottom + 34), names[0], anchor="middle", size=_AXIS_FONT)
        drawing.text((box.left - 38, box.top - 10), names[1], size=_AXIS_FONT)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a pair of values is drawn; what lies outside comes to the rim."""
        box, (low, high) = self._box, self._up
        right = (x - self._across[0]) / (self._across[1] - self._across[0])
        if self._logarithmic:
            low, high, y = math.log(low), math.log(high), math.log(max(y, 1e-300))
        above = min(max((y - low) / (high - low), 0.0), 1.0)
        return box.left + box.width * right, box.top + box.height * (1.0 - above)

    def curve(self, xs: Iterable[float], ys: Iterable[float], colour: str, dash: str = "") -> None:
        """Draw a curve."""
        points = [self.at(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]
        self._drawing.path(points, colour, 2.0, dash)


def _ticks(low: float, high: float) -> list[float]:
    """Return four to nine round values between two."""
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.10g}") for k in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, math.ceil((last - first) / 6))
    return [10.0**k for k in range(first, last + 1, every)]
