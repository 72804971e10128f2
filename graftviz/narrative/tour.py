"""Tour of the Grow page: stops at controls, some with a task.

The texts are in ``texts/<language>/tour.toml``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from graftviz.texts import catalogue

# How the page detects that a task is done; see ui/assets/tour.js.
CHANGES, APPEARS, VALUE = "changes", "appears", "value"


class Task(NamedTuple):
    """Something to try at a stop.

    Attributes
    ----------
    wish, done : str
        Instruction, and the text shown when it is done.
    notice : str
        Condition: CHANGES, the text of `watched` changes; APPEARS, it exists; VALUE, its value is
        `value`.
    watched : str
        CSS selector, looked for where the stop is.
    value : str
    """

    wish: str
    done: str
    notice: str
    watched: str
    value: str = ""


class Stop(NamedTuple):
    """One stop.

    Attributes
    ----------
    title, text : str
    lit : str
        CSS selector of the highlighted element.
    in_player : bool
        Whether that is a part of the player, or of the page around it.
    task : Task or None
    """

    title: str
    text: str
    lit: str
    in_player: bool = True
    task: Task | None = None


class _Place(NamedTuple):
    """Place of a stop, and the condition of its task; both are independent of the language."""

    lit: str
    in_player: bool = True
    notice: str = ""
    watched: str = ""
    value: str = ""


_PLACES = {
    "transport": _Place(".gv-transport", True, CHANGES, ".gv-position"),
    "graph": _Place(".gv-graph", True, APPEARS, ".gv-inspector.gv-chosen"),
    "words": _Place(".gv-words", True, APPEARS, ".gv-term[aria-expanded=true]"),
    "reservoir": _Place(".gv-reservoir"),
    "curves": _Place(".gv-curves"),
    "alpha": _Place(".st-key-option-alpha", False, VALUE, "input", "0.5"),
    "share": _Place(".st-key-grow-tools", False),
}


def _stop(key: str, place: _Place) -> Stop:
    text = catalogue("tour")[key]
    task = None
    if place.notice:
        task = Task(text["wish"], text["done"], place.notice, place.watched, place.value)
    return Stop(text["title"], text["text"], place.lit, place.in_player, task)


STOPS = tuple(_stop(key, place) for key, place in _PLACES.items())


def tour_records() -> list[dict[str, Any]]:
    """Return the stops as plain values, for the browser."""
    return [
        {**stop._asdict(), "task": stop.task._asdict() if stop.task else None} for stop in STOPS
    ]
