"""The Lessons page: lessons beside the app, their sheets for teachers, and the glossary below."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from graftviz.app.frame import PageFile, file_button, teaching_query
from graftviz.evaluation.benchmarks.sweep_files import html_page
from graftviz.reports.texts import catalogue
from graftviz.reports.words.lessons import (
    GLOSSARY,
    GUIDES,
    LESSONS,
    TOUR,
    Lesson,
    Term,
    begin_address,
    sheet_html,
)
from graftviz.utils.wording import plain

_PRINT = """
table { border-collapse: collapse; width: 100%; font-size: 0.85em; }
th, td { border: 1px solid #aab; padding: 4px 8px; text-align: left; vertical-align: top; }
td:first-child { white-space: nowrap; }
tr { break-inside: avoid; }
@page { size: landscape; margin: 12mm; }
"""


def address_of(view: str, more: Mapping[str, str]) -> str:
    """Return the address of a view, relative to that of any page, with further parameters."""
    page, _, query = view.partition("?")
    return f"./{page}?{urlencode([*parse_qsl(query), *more.items()])}".rstrip("?")


def show_overview() -> None:
    """Show the introduction, and the link to the tour."""
    labels = _labels()
    minutes = sum(lesson.minutes for lesson in LESSONS)
    st.markdown(labels["overview"].format(count=len(LESSONS), minutes=minutes))
    tour = address_of(begin_address(GUIDES[TOUR]), teaching_query())
    st.link_button(labels["tour"], tour, key="lesson_tour")


def _labels() -> Mapping[str, str]:
    return catalogue("labels")["lessons"]


def show_lesson(lesson: Lesson) -> None:
    """Show a lesson: its aim, its stops, the link that begins it, and the teacher's sheet."""
    labels = _labels()
    st.header(lesson.title, anchor=lesson.key)
    st.markdown(f"{plain(lesson.aim)} *{labels['minutes'].format(minutes=lesson.minutes)}*")
    with st.container(horizontal=True, gap="small", key=f"lesson_{lesson.key}"):
        address = address_of(begin_address(lesson), teaching_query())
        st.link_button(labels["begin"], address, key=f"lesson_{lesson.key}_begin")
        file_button(_sheet(lesson), f"lesson_{lesson.key}_sheet", is_stretched=False)


def _sheet(lesson: Lesson) -> PageFile:
    """Return the file with the teacher's sheet of a lesson."""
    labels = _labels()

    def build() -> str:
        body = sheet_html(lesson)
        footer = labels["footer"]
        return html_page(lesson.title, body, footer, width=1200, style=_PRINT)

    return PageFile(f"{lesson.key}-teacher.html", labels["sheet"], build)


def show_glossary() -> None:
    """Show all terms in alphabetical order, each with an anchor."""
    st.header(_labels()["glossary"], anchor="glossary")
    terms = sorted(GLOSSARY, key=lambda term: term.name.casefold())
    half = (len(terms) + 1) // 2
    for column, some in zip(st.columns(2, gap="large"), (terms[:half], terms[half:]), strict=True):
        with column:
            for term in some:
                _show_term(term)


def _show_term(term: Term) -> None:
    st.subheader(term.name, anchor=f"term-{term.key}")
    formula = f"\n\n`{term.formula}`" if term.formula else ""
    source = f"; {plain(term.source)}" if term.source else ""
    st.markdown(f"{plain(term.meaning)}{formula}")
    st.caption(f"{_labels()['read']}: docs/{term.page}.md{source}")
