"""Scenes of the screenshots of the app, taken by ``python -m docs.making.screenshots``."""

from __future__ import annotations

from typing import NamedTuple

MOST_BYTES = 300_000  # of a picture


class Scene(NamedTuple):
    """A page in a state worth a picture.

    Attributes
    ----------
    address : str
    shown : str
        CSS selector of what has to be there.
    width, height : int
        Of the window, in CSS pixels.
    click : str
        CSS selector of what is clicked once it is there; empty: nothing.
    """

    address: str
    shown: str
    width: int = 1400
    height: int = 900
    click: str = ""


_BODY = ".gv-player .gv-body:not([hidden])"
SCENES: dict[str, Scene] = {
    "grow.png": Scene("?step=28", _BODY),
    "race.png": Scene("race?at=end&axis=tests", ".gv-race .gv-racers"),
    "reservoir.png": Scene("reservoir", ".st-key-reservoir_scores .js-plotly-plot"),
    "regions.png": Scene("regions", ".gv-region-body"),
    "prune.png": Scene("prune?step=3", ".gv-prune-body"),
    "budget.png": Scene("budget?step=20", ".gv-budget-body"),
    "dynamics.png": Scene("dynamics?data=city&node=9", ".gv-dynamics-body", height=1165),
    "inspect.png": Scene("inspect?data=survey&evidence=0:1,5:0&node=3", ".gv-inspect canvas"),
    "lessons.png": Scene("lessons", ".st-key-lesson_alpha", height=760),
    "lesson.png": Scene("?step=34&lesson=red", ".card", click=".choices button:nth-child(2)"),
}
