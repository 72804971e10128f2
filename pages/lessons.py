"""Lessons: prepared states with questions for a class, and a glossary."""

import streamlit as st

from graftviz.app.controls import show_warnings
from graftviz.app.frame import Header, teaching_query, without_teaching
from graftviz.app.lessons import show_glossary, show_lesson, show_overview
from graftviz.app.session import begin_with_app
from graftviz.app.url import LinkReader
from graftviz.reports.words.lessons import LESSONS

begin_with_app("lessons")

# Links from here have their own address.
st.session_state["page"] = "lessons"
header = Header("lessons")
header.show_files(list)
header.show_link(teaching_query, "Opens this page, anywhere graftviz runs.")
show_warnings(LinkReader(without_teaching(st.query_params.to_dict())).reject_rest())
show_overview()
for lesson in LESSONS:
    show_lesson(lesson)
show_glossary()
if st.query_params.to_dict() != teaching_query():
    st.query_params.from_dict(teaching_query())
