"""The Lessons page: lessons beside the app, their sheets for teachers, and the glossary below."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from graftviz.experiments.html_page import html_page
from graftviz.narrative.glossary import Term, glossary
from graftviz.narrative.lessons import TOUR, Lesson, guides
from graftviz.narrative.teacher_sheet import begin_address, sheet_html
from graftviz.texts import LANGUAGES, catalogue
from graftviz.ui.boundary import guarded
from graftviz.ui.controls import follow_value
from graftviz.ui.frame.header import PageFile, file_button
from graftviz.ui.teaching import choose_language, language, teaching_query
from graftviz.wording import plain

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
    lessons, labels = lessons_in_language(), _labels()
    minutes = sum(lesson.minutes for lesson in lessons)
    st.markdown(labels["overview"].format(count=len(lessons), minutes=minutes))
    tour = address_of(begin_address(guides()[TOUR]), teaching_query())
    st.link_button(labels["tour"], tour, key="lesson_tour")


def show_languages() -> None:
    """Show the choice of the language."""
    key = follow_value("lessons.language", language())
    st.segmented_control(
        _labels()["language"],
        list(LANGUAGES),
        key=key,
        format_func=LANGUAGES.__getitem__,
        required=True,
        label_visibility="collapsed",
        on_change=guarded(lambda: choose_language(st.session_state[key])),
    )


def lessons_in_language() -> tuple[Lesson, ...]:
    """Return the lessons in the language of the page."""
    return tuple(lesson for key, lesson in guides(language()).items() if key != TOUR)


def _labels() -> Mapping[str, str]:
    return catalogue("labels", language())["lessons"]


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
    chosen, labels = language(), _labels()

    def build() -> str:
        body = sheet_html(lesson, chosen)
        footer = labels["footer"]
        return html_page(lesson.title, body, footer, width=1200, style=_PRINT, language=chosen)

    return PageFile(f"{lesson.key}-teacher.html", labels["sheet"], build)


def show_glossary() -> None:
    """Show all terms in alphabetical order, each with an anchor."""
    st.header(_labels()["glossary"], anchor="glossary")
    terms = sorted(glossary(language()), key=lambda term: term.name.casefold())
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
