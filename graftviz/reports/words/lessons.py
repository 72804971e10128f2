"""Lessons and the tour of the app, the teacher's sheet of a lesson, and the glossary."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, starmap
from typing import Any, NamedTuple

from graftviz.reports.texts import catalogue

# --- glossary -------------------------------------------------------------------------------------


class Term(NamedTuple):
    """One entry.

    Attributes
    ----------
    key : str
        Also the anchor on the page.
    name : str
        Heading of the entry.
    forms : tuple of str
        Forms in sentences, in lower case; matched as whole words, ignoring case.
    meaning : str
        One or two sentences.
    formula : str
        Short, as plain text; empty if there is none.
    page : str
        Of the folder docs, without ``.md``.
    source : str
        Paper and equation; empty if given on the page.
    """

    key: str
    name: str
    forms: tuple[str, ...]
    meaning: str
    formula: str = ""
    page: str = "methods/best-choice"
    source: str = ""


GLOSSARY = tuple(
    Term(key, **{**entry, "forms": tuple(entry["forms"])})
    for key, entry in catalogue("glossary").items()
)


def glossary_records() -> list[dict[str, Any]]:
    """Return the definitions of the terms that occur in the sentences of the player's steps."""
    return [
        {
            "name": term.name,
            "forms": list(term.forms),
            "meaning": term.meaning,
            "formula": term.formula,
            "read": term.source or f"docs/{term.page}.md",
        }
        for term in GLOSSARY
        if term.forms
    ]


# --- lessons and tour: stops beside a page, with predictions and tasks ----------------------------

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
    """Return a lesson as plain values, for the browser (app/assets/guide.js)."""
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


# --- teacher's sheet: aim, timing, questions and answers ------------------------------------------

_HEAD = ("minutes", "stop", "ask", "do", "answer")  # keys of their titles


def sheet_html(lesson: Lesson) -> str:
    """Return the sheet as the body of an HTML page, to be printed."""
    labels = catalogue("labels")["sheet"]
    cells = "".join(f"<th>{labels[key]}</th>" for key in _HEAD)
    rows = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in _rows(lesson)
    )
    return (
        f"<h1>{html.escape(lesson.title)}</h1><p><b>{labels['aim']}.</b> {html.escape(lesson.aim)} "
        f"<b>{labels['time']}.</b> {labels['length'].format(minutes=lesson.minutes)} "
        f"<b>{labels['begin']}</b> <code>{html.escape(begin_address(lesson))}</code></p>"
        f"<table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>"
    )


def sheet_markdown(lesson: Lesson) -> str:
    """Return the sheet as a section of a Markdown page."""
    labels = catalogue("labels")["sheet"]
    lines = [
        f"## {lesson.title}",
        "",
        f"**{labels['aim']}.** {lesson.aim} **{labels['time']}.** "
        f"{labels['length'].format(minutes=lesson.minutes)} **{labels['begin']}** "
        f"`{begin_address(lesson)}`",
        "",
        "| " + " | ".join(labels[key] for key in _HEAD) + " |",
        "| --- " * len(_HEAD) + "|",
        *(
            "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
            for row in _rows(lesson)
        ),
    ]
    return "\n".join([*lines, ""])


def begin_address(lesson: Lesson) -> str:
    """Return the address that begins a lesson, relative to that of the app."""
    return f"{lesson.address}{'&' if '?' in lesson.address else '?'}lesson={lesson.key}"


def timing(lesson: Lesson) -> tuple[str, ...]:
    """Return from when to when each stop lasts, in minutes and seconds; stops last equally long."""
    count = len(lesson.stops)
    ends = [round(60 * lesson.minutes * k / count / 30) * 30 for k in range(count + 1)]
    clock = [f"{end // 60}:{end % 60:02}" for end in ends]
    return tuple(f"{start}–{end}" for start, end in pairwise(clock))


def _rows(lesson: Lesson) -> Iterator[tuple[str, ...]]:
    for time, stop in zip(timing(lesson), lesson.stops, strict=True):
        title = f"<b>{html.escape(stop.title)}.</b> {html.escape(stop.text)}"
        yield time, title, _question(stop), html.escape(stop.wish or "–"), _answer(stop)


def _question(stop: Stop) -> str:
    choices = "; ".join(f"({'abcdef'[k]}) {choice}" for k, choice in enumerate(stop.choices))
    return html.escape(f"{stop.question} {choices}".strip() or "–")


def _answer(stop: Stop) -> str:
    right = f"({'abcdef'[stop.right]}) " if stop.question else ""
    return html.escape(f"{right}{stop.reveal}") or "–"
