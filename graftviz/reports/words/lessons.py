"""Lessons and the tour of the app: stops beside a page, with predictions and tasks.

The texts are in ``reports/texts/en/lessons.toml``. Every number in them is computed by
``tests/reports/test_lessons.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import Any, NamedTuple

from graftviz.reports.texts import catalogue

TOUR = "tour"  # key of the tour, which is no lesson


class Condition(NamedTuple):
    """Condition that the browser checks to detect that a task is done.

    Attributes
    ----------
    kind : str
        "address": parameter `what` of the address is `value`; "reaches": it is at least `value`;
        "appears": an element matches the CSS selector `what`; "contains": its text contains
        `value`; "value": its value is `value`; "changes": its text is another one than at the
        beginning of the stop.
    what, value : str
    """

    kind: str
    what: str
    value: str = ""


class _Place(NamedTuple):
    """Attributes of a stop besides its texts."""

    condition: Condition | None = None
    lit: str = ""
    right: int = 0
    opens: str = ""


class Stop(NamedTuple):
    """Stop of a lesson: predict, do, and see.

    Attributes
    ----------
    title, text : str
    question : str
        What to predict; empty without a question.
    choices : tuple of str
        Possible answers.
    right : int
        Index of the right one.
    wish : str
        Task; empty without a task.
    condition : Condition or None
    reveal : str
        Answer and explanation.
    lit : str
        CSS selector of an element of the page that is outlined.
    opens : str
        Address of a prepared state that the stop begins with; empty: the page as it is.
    """

    title: str
    text: str
    question: str
    choices: tuple[str, ...]
    right: int
    wish: str
    condition: Condition | None
    reveal: str
    lit: str
    opens: str


class Lesson(NamedTuple):
    """Lesson of some minutes beside a page.

    Attributes
    ----------
    key : str
        Also the anchor on the Lessons page.
    title, aim : str
    minutes : int
    address : str
        State of the app with which it begins; without a path of the Grow page.
    stops : tuple of Stop
    """

    key: str
    title: str
    aim: str
    minutes: int
    address: str
    stops: tuple[Stop, ...]


_GRAPH, _WORDS = ".gv-graph", ".gv-words"
_CHOSEN = ".gv-inspector.gv-chosen"
_ALPHA, _BAR, _RESERVOIR = ".st-key-option-alpha", ".gv-transport", ".gv-reservoir"

# Key of a lesson → its minutes, the address with which it begins, and the places of its stops.
_LESSONS: Mapping[str, tuple[int, str, tuple[_Place, ...]]] = {
    TOUR: (
        3,
        "",
        (
            _Place(Condition("changes", ".gv-position"), _BAR),
            _Place(Condition("appears", _CHOSEN), _GRAPH),
            _Place(Condition("appears", ".gv-term[aria-expanded=true]"), _WORDS),
            _Place(lit=_RESERVOIR),
            _Place(lit=".gv-curves"),
            _Place(Condition("value", f"{_ALPHA} input", "0.5"), _ALPHA),
            _Place(lit=".st-key-page_menu"),
        ),
    ),
    "step": (
        5,
        "?step=1",
        (
            _Place(Condition("reaches", "step", "2"), _WORDS, right=1),
            _Place(Condition("contains", _CHOSEN, "x30"), _GRAPH, right=1),
            _Place(Condition("appears", ".gv-outcome:not([hidden])"), _BAR, right=2),
        ),
    ),
    "red": (
        7,
        "?step=34",
        (
            _Place(Condition("appears", f"{_CHOSEN} [data-true=false]"), _GRAPH, right=1),
            _Place(Condition("address", "compare", "best"), ".st-key-grow-tools", right=2),
        ),
    ),
    "alpha": (
        7,
        "?step=34",
        (
            _Place(Condition("reaches", "alpha", "1"), _ALPHA, right=1),
            _Place(Condition("address", "alpha", "0"), _ALPHA, right=0),
            _Place(Condition("reaches", "max_edges", "200"), ".st-key-option-max_edges", right=2),
        ),
    ),
    "reservoir": (
        7,
        "reservoir",
        (
            _Place(Condition("address", "reservoir", "5"), ".st-key-reservoir-reservoir", right=1),
            _Place(Condition("address", "reservoir", "1"), ".st-key-reservoir-reservoir", right=0),
            _Place(Condition("address", "hubs", "false"), ".st-key-option-Advanced", 2, "?step=34"),
        ),
    ),
    "lam": (
        7,
        "?step=34",
        (
            _Place(Condition("address", "lam", "0.01"), ".st-key-option-lam", right=1),
            _Place(lit=".gv-curves", right=0),
            _Place(Condition("reaches", "lam", "0.03"), ".st-key-option-lam", right=1),
        ),
    ),
    "rows": (
        6,
        "?step=34",
        (
            _Place(Condition("address", "rows", "200"), ".st-key-choose-rows", right=1),
            _Place(right=0, opens="?rows=200&preset=best&step=18"),
            _Place(right=2),
        ),
    ),
    "regions": (
        6,
        "regions",
        (
            _Place(Condition("address", "t2", "1"), ".st-key-region-t2", right=2),
            _Place(right=0, opens="regions?t2=0.6&t1=3"),
            _Place(right=1, opens="regions?data=karate&query=33"),
        ),
    ),
    "series": (
        6,
        "dynamics?seeds=30",
        (
            _Place(Condition("address", "seeds", "6"), ".st-key-dynamics-30-seeds", right=1),
            _Place(Condition("address", "learner", "dense"), ".st-key-dynamics-learner", right=0),
        ),
    ),
}


def _stop(text: Mapping[str, Any], place: _Place) -> Stop:
    words = {name: text.get(name, "") for name in ("title", "text", "question", "wish", "reveal")}
    return Stop(choices=tuple(text.get("choices", ())), **words, **place._asdict())


def _lesson(key: str, minutes: int, address: str, places: Sequence[_Place]) -> Lesson:
    entry = catalogue("lessons")[key]
    stops = tuple(starmap(_stop, zip(entry["stops"], places, strict=True)))
    return Lesson(key, entry["title"], entry["aim"], minutes, address, stops)


GUIDES = {key: _lesson(key, *about) for key, about in _LESSONS.items()}
LESSONS = tuple(lesson for key, lesson in GUIDES.items() if key != TOUR)


def guide_record(lesson: Lesson) -> dict[str, Any]:
    """Return a lesson as plain values, for the browser (ui/assets/guide.js)."""
    stops = [
        {
            **stop._asdict(),
            "condition": None if stop.condition is None else stop.condition._asdict(),
        }
        for stop in lesson.stops
    ]
    return {
        "key": lesson.key,
        "title": lesson.title,
        "stops": stops,
        "labels": catalogue("labels")["guide"],
    }
