"""The Race page without a browser: it opens, follows its controls, and refuses in sentences."""

from __future__ import annotations

from typing import Any

import pytest
from app_pages import open_page, page_at, query_of, run_while, sentences
from streamlit.testing.v1 import AppTest

from graftviz.learners.registry import learner_names


def open_race(**query: str) -> AppTest:
    """Return the page once its engine is compiled."""
    app = page_at("race", **query)

    def is_waiting() -> bool:
        has_racers = "race" in app.session_state and bool(app.session_state["race"].entries)
        return not has_racers and bool(app.get("progress"))

    return run_while(app, is_waiting)


def state_of(app: AppTest) -> Any:
    return app.session_state["race"]


@pytest.mark.parametrize("name", learner_names())
def test_every_learner_can_race(name: str) -> None:
    app = open_race(data="karate", r1="first-hit", r2="edge-grafting")
    app.radio(key="race.chosen").set_value(1).run()
    app.selectbox(key="race.learner").set_value(name).run()
    assert sentences(app) == ""
    run = state_of(app).entries[1].run
    assert run.wait(1, 120)
    assert run.failure == ""
    assert run.recorder.run.learner.name == name
    assert len(state_of(app).race().courses) >= 1
    assert query_of(app)["r2"] == name


def test_a_race_begins_with_the_data_of_the_grow_page() -> None:
    app = open_page("", data="survey")
    app.switch_page("pages/race.py").run()
    assert app.selectbox(key="race.data").value == "survey"
    assert "survey" in query_of(app)["data"]
