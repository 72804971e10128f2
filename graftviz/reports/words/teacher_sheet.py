"""Teacher's sheet of a lesson: aim, timing, questions and answers."""

from __future__ import annotations

import html
from collections.abc import Iterator
from itertools import pairwise

from graftviz.reports.texts import catalogue
from graftviz.reports.words.lessons import Lesson, Stop

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
