"""The Lessons page: each lesson with its links and questions, and the glossary below."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from graftviz.narrative.glossary import GLOSSARY, Term
from graftviz.narrative.lessons import LESSONS, Lesson
from graftviz.ui.teaching import ON, TOUR, teaching_query
from graftviz.wording import plain


def address_of(view: str, more: Mapping[str, str]) -> str:
    """Return the address of a view, relative to that of any page, with further parameters."""
    page, _, query = view.partition("?")
    return f"./{page}?{urlencode([*parse_qsl(query), *more.items()])}".rstrip("?")


def show_overview() -> None:
    """Show the introduction and a link to every lesson."""
    st.markdown(
        "Each lesson opens the app in prepared states, in new tabs, with two questions. The "
        "answers are collapsed; their numbers were computed in these states."
    )
    entries = [f"[{plain(lesson.title)}](#{lesson.key})" for lesson in LESSONS]
    st.markdown(" · ".join([*entries, "[Glossary](#glossary)"]))
    address = address_of("", {TOUR: ON, **teaching_query()})
    st.link_button("Start with the tour of the Grow page", address, key="lesson_tour")


def show_lesson(lesson: Lesson) -> None:
    """Show a lesson with its links and questions."""
    st.header(lesson.title, anchor=lesson.key)
    words, questions = st.columns([1, 1], gap="large")
    with words:
        st.markdown(plain(lesson.why))
        with st.container(horizontal=True, gap="small", key=f"lesson_{lesson.key}"):
            for place, view in enumerate(lesson.views):
                address = address_of(view.address, teaching_query())
                st.link_button(view.label, address, key=f"lesson_{lesson.key}_{place}")
        st.markdown(f"**Look at:** {plain(lesson.look)}")
    with questions:
        for number, question in enumerate(lesson.questions, start=1):
            st.markdown(f"**{number}.** {plain(question.question)}")
            with st.expander("Answer", key=f"answer_{lesson.key}_{number}"):
                st.markdown(plain(question.answer))


def show_glossary() -> None:
    """Show all terms in alphabetical order, each with an anchor."""
    st.header("Glossary", anchor="glossary")
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
    st.caption(f"Read more: docs/{term.page}.md{source}")
