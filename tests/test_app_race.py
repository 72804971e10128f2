"""The Race page without a browser: it opens, follows its controls, and refuses in sentences."""

from __future__ import annotations

import json
from typing import Any

import pytest
from app_pages import open_page, page_at, query_of, run_while, sentences
from streamlit.testing.v1 import AppTest

from graftviz.learners.registry import learner_names
from graftviz.ui.race.options import LINE_UP
from graftviz.ui.race.panels import build_race_csv, build_race_html


def open_race(**query: str) -> AppTest:
    """Return the page once its engine is compiled."""
    app = page_at("race", **query)

    def is_waiting() -> bool:
        has_racers = "race" in app.session_state and bool(app.session_state["race"].entries)
        return not has_racers and bool(app.get("progress"))

    return run_while(app, is_waiting)


def state_of(app: AppTest) -> Any:
    return app.session_state["race"]


def finish(app: AppTest) -> None:
    for entry in state_of(app).entries:
        if entry.run is not None:
            entry.run.grant()
            assert entry.run.wait_for_end(120)
            assert entry.run.failure == ""


def test_it_opens_with_six_racers_on_a_sample_with_known_truth() -> None:
    app = open_race()
    assert sentences(app) == ""
    state = state_of(app)
    assert state.racers == LINE_UP
    assert len(app.radio(key="race.chosen").options) == len(state.entries) == 6
    assert query_of(app) == {}
    finish(app)
    race = state.race()
    assert race.ended
    assert race.measure == "recall"
    assert json.loads(state.header_json)["truth"]
    assert len(race.agreed_edges("edges", 1e9)) > 10


@pytest.mark.parametrize("name", learner_names())
def test_every_learner_can_race(name: str) -> None:
    app = open_race(data="karate", r1="first-hit", r2="edge-grafting")
    app.radio(key="race.chosen").set_value(1).run()
    app.selectbox(key="race.learner").set_value(name).run()
    assert not app.exception
    assert sentences(app) == ""
    run = state_of(app).entries[1].run
    assert run.wait(1, 120)
    assert run.failure == ""
    assert run.recorder.run.learner.name == name
    assert len(state_of(app).race().courses) >= 1
    assert query_of(app)["r2"] == name


def test_an_option_runs_one_racer_again_and_is_written_to_the_link() -> None:
    app = open_race(data="karate")
    before = [entry.run for entry in state_of(app).entries]
    app.slider(key="race.option.best-choice.alpha").set_value(0.1).run()
    assert not app.exception
    after = [entry.run for entry in state_of(app).entries]
    assert after[0] is not before[0]
    assert after[1:] == before[1:]
    assert query_of(app)["r1"] == "best-choice:alpha=0.1"
    app.button(key="race.line_up").click().run()
    assert query_of(app) == {"data": "karate"}
    assert [entry.run for entry in state_of(app).entries] == before


def test_racers_are_added_and_removed() -> None:
    app = open_race(data="karate")
    assert app.button(key="race.add").disabled
    app.button(key="race.remove").click().run()
    assert len(state_of(app).entries) == 5
    app.button(key="race.add").click().run()
    assert len(state_of(app).entries) == 6
    assert not app.exception
    assert sentences(app) == ""


def test_a_learner_that_refuses_its_options_does_not_stop_the_others() -> None:
    app = open_race(
        data="karate",
        r1="best-choice:score=linear-response,objective=pseudo-likelihood",
        r2="first-hit",
        r3="best-choice:max_edges=100000",
    )
    told = sentences(app)
    assert "belief propagation" in told
    assert "100,000 edges" in told
    finish(app)
    assert [course.name for course in state_of(app).race().courses] == ["First hit"]


def test_the_race_and_the_grow_page_keep_what_they_had() -> None:
    app = open_race(data="karate", r1="first-hit", r2="chow-liu", seed="2")
    token = state_of(app).token
    app.query_params.clear()
    app.switch_page("pages/grow.py").run()
    assert not app.exception
    app.query_params.clear()
    app.switch_page("pages/race.py").run()
    assert not app.exception
    assert state_of(app).token == token
    assert query_of(app) == {"data": "karate", "r1": "first-hit", "r2": "chow-liu", "seed": "2"}


def test_files_hold_the_whole_race() -> None:
    app = open_race(data="karate", r1="first-hit", r2="chow-liu")
    state = state_of(app)
    lines = build_race_csv(state).splitlines()
    race = state.race()
    assert race.ended
    assert len(lines) == 1 + sum(len(course.moments) for course in race.courses)
    page = build_race_html(state)
    assert "Karate club" in page
    assert "<script src" not in page


def test_a_race_begins_with_the_data_of_the_grow_page() -> None:
    app = open_page("", data="survey")
    app.switch_page("pages/race.py").run()
    assert not app.exception
    assert app.selectbox(key="race.data").value == "survey"
    assert "survey" in query_of(app)["data"]


def test_uploads_can_be_raced_on() -> None:
    app = open_race(data="upload", r1="first-hit", r2="chow-liu")
    rows = [f"{k % 2},{k % 2 if k % 10 else 1 - k % 2},{(k // 2) % 3}" for k in range(300)]
    upload = next(widget for widget in app.file_uploader if widget.key == "upload.table")
    upload.upload("mine.csv", "\n".join(["a,b,c", *rows]).encode()).run()
    assert not app.exception
    assert sentences(app) == ""
    finish(app)
    race = state_of(app).race()
    assert race.measure == "nlpl_test"
    assert "mine.csv" in state_of(app).header_json
    bad = next(widget for widget in app.file_uploader if widget.key == "upload.table")
    bad.upload("bad.csv", b"a,b\n1\n").run()
    assert not app.exception
    assert sentences(app) != ""
    assert "mine.csv" in state_of(app).header_json, "the race on show stays"
