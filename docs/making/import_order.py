"""Picture of the import order, from the list on the architecture page.

tests/test_imports.py holds the modules to that list.
"""

from __future__ import annotations

import re
from pathlib import Path

from docs.making.drawing import GREY, INK, PALE, Box, Drawing

ARCHITECTURE = Path(__file__).resolve().parents[1] / "architecture.md"
_WIDTH, _ROW, _LINE = 760, 24, 16
_LETTER = 6.9  # width of one at this size, roughly
_ROOM_FOR_WORDS = 620


def import_ranks(text: str) -> list[list[str]]:
    """Return the rooms of every line of the list, from the marked part of the architecture page."""
    block = text.split("<!-- import order -->")[1].split("<!-- end -->")[0]
    lines = re.findall(r"^\d+\. (.*)$", block, re.MULTILINE)
    return [re.findall(r"`([^`]+)`", line) for line in lines]


def import_order() -> str:
    """Draw the lines of the list as layers: the foundation at the bottom, as in a house."""
    ranks = import_ranks(ARCHITECTURE.read_text(encoding="utf-8"))
    layers = [_wrapped(rooms) for rooms in ranks]
    height = 70 + sum(_ROW + _LINE * (len(lines) - 1) + 8 for lines in layers)
    drawing = Drawing(_WIDTH, height, "Import order: every layer may import what is below it")
    drawing.text((24, 30), "A room may import from its own layer and from those below")
    y = 46.0
    for k in range(len(layers) - 1, -1, -1):
        high = _ROW + _LINE * (len(layers[k]) - 1)
        drawing.rectangle(Box(70, y, _WIDTH - 94, high), "#f2f5f8", PALE)
        drawing.text((60, y + 16), str(k + 1), anchor="end", size=11, colour=GREY)
        for line, words in enumerate(layers[k]):
            drawing.text((82, y + 16 + _LINE * line), words, size=12)
        y += high + 8
    drawing.line((30, 52), (30, y - 12), INK, 2.0)
    drawing.path([(24, y - 20), (30, y - 10), (36, y - 20)], INK)
    return drawing.svg()


def _wrapped(rooms: list[str]) -> list[str]:
    """Join names to lines that fit into a layer."""
    lines = [""]
    for room in rooms:
        longer = f"{lines[-1]} · {room}" if lines[-1] else room
        if len(longer) * _LETTER > _ROOM_FOR_WORDS:
            lines.append(room)
        else:
            lines[-1] = longer
    return lines
