"""Lessons: prepared states with questions for a class, and a glossary."""

import streamlit as st

from graftviz.ui.frame.header import Header
from graftviz.ui.frame.panels import show_warnings
from graftviz.ui.lessons import (
    lessons_in_language,
    show_glossary,
    show_languages,
    show_lesson,
    show_overview,
)
from graftviz.ui.teaching import teaching_query, without_teaching
from graftviz.ui.url_state import LinkReader

# Links from here have their own address.
st.session_state["page"] = "lessons"
header = Header("lessons")
header.show_files(list)
header.show_link(teaching_query, "Opens this page, anywhere graftviz runs.")
show_warnings(LinkReader(without_teaching(st.query_params.to_dict())).reject_rest())
show_languages()
show_overview()
for lesson in lessons_in_language():
    show_lesson(lesson)
show_glossary()
if st.query_params.to_dict() != teaching_query():
    st.query_params.from_dict(teaching_query())
