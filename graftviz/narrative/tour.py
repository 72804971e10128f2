"""Tour of the Grow page: stops at controls, some with a task.

The texts are in ``texts/<language>/tour.toml``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from graftviz.texts import catalogue


class Stop(NamedTuple):
    """Place of a stop, and how the page detects that its task is done; see ui/assets/tour.js.

    Attributes
    ----------
    lit : str
        CSS selector of the highlighted element.
    in_player : bool
        Whether that is a part of the player, or of the page around it.
    notice : str
        Condition: "changes", the text of `watched` changes; "appears", it exists; "value", its
        value is `value`; empty without a task.
    watched : str
        CSS selector, looked for where the stop is.
    value : str
    """

    lit: str
    in_player: bool = True
    notice: str = ""
    watched: str = ""
    value: str = ""


STOPS = {
    "transport": Stop(".gv-transport", True, "changes", ".gv-position"),
    "graph": Stop(".gv-graph", True, "appears", ".gv-inspector.gv-chosen"),
    "words": Stop(".gv-words", True, "appears", ".gv-term[aria-expanded=true]"),
    "reservoir": Stop(".gv-reservoir"),
    "curves": Stop(".gv-curves"),
    "alpha": Stop(".st-key-option-alpha", False, "value", "input", "0.5"),
    "share": Stop(".st-key-grow-tools", False),
}


def tour_records() -> list[dict[str, Any]]:
    """Return the stops with their texts as plain values, for the browser."""
    records = []
    for key, stop in STOPS.items():
        text = catalogue("tour")[key]
        task = None
        if stop.notice:
            task = {
                "wish": text["wish"],
                "done": text["done"],
                "notice": stop.notice,
                "watched": stop.watched,
                "value": stop.value,
            }
        records.append(
            {
                "title": text["title"],
                "text": text["text"],
                "lit": stop.lit,
                "in_player": stop.in_player,
                "task": task,
            }
        )
    return records
