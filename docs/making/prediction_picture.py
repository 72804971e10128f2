"""Picture of predictions: networks against logistic regressions, one point for each table."""

from __future__ import annotations

import json
from pathlib import Path

from docs.making.drawing import BLUE, GREY, Axes, Box, Drawing

MEASURED = Path(__file__).resolve().parents[1] / "results" / "prediction.json"
_LIMITS = (0.4, 1.0)


def prediction() -> str:
    """Return the picture of the loss per row, as a share of that of independent columns."""
    rows = json.loads(MEASURED.read_text(encoding="utf-8"))["rows"]
    drawing = Drawing(420, 400, "Loss of networks against that of logistic regressions")
    names = "logistic regression, best C", "best-choice, share of independent columns' loss"
    axes = Axes(drawing, Box(60, 40, 330, 300), _LIMITS, _LIMITS, names)
    axes.curve(_LIMITS, _LIMITS, GREY, "4 3")
    for row in rows:
        shares = (row[name] / row["independent"] for name in ("regression", "best-choice"))
        drawing.circle(axes.at(*shares), 4.0, BLUE)
    return drawing.svg()
