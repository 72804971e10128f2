"""graftviz in the browser: ``streamlit run app.py``."""

import streamlit as st

from graftviz.app import ASSETS
from graftviz.app.boundary import page_boundary
from graftviz.app.frame import follow_teaching, show_guide, show_presenter
from graftviz.app.session import begin_session

# Processes that multiprocessing starts import this file under another name.
if __name__ == "__main__":
    st.logo(str(ASSETS / "logo.svg"), icon_image=str(ASSETS / "icon.svg"), size="large")
    pages = [
        st.Page("pages/grow.py", title="Grow", url_path="start", default=True),
        st.Page("pages/grow.py", title="Grow", url_path="grow", visibility="hidden"),
        st.Page("pages/race.py", title="Race", url_path="race"),
        st.Page("pages/reservoir.py", title="Reservoir", url_path="reservoir"),
        st.Page("pages/regions.py", title="Regions", url_path="regions"),
        st.Page("pages/prune.py", title="Prune", url_path="prune"),
        st.Page("pages/budget.py", title="Budget", url_path="budget"),
        st.Page("pages/dynamics.py", title="Dynamics", url_path="dynamics"),
        st.Page("pages/inspect.py", title="Inspect", url_path="inspect"),
        st.Page("pages/lessons.py", title="Lessons", url_path="lessons"),
    ]
    page = st.navigation(pages, position="top")
    st.set_page_config(
        page_title=f"{page.title} · graftviz",
        page_icon=str(ASSETS / "icon.svg"),
        layout="wide",
        initial_sidebar_state=240,
    )
    with page_boundary():
        # One container: otherwise a guide that begins would move the elements of the page, and the
        # browser would load their views again.
        with st.container():
            follow_teaching()
            show_presenter()
            show_guide()
        begin_session()
        page.run()
