"""The Prune page without a browser: it opens, follows its controls, and refuses in sentences."""

from __future__ import annotations

import json
from typing import Any

from app_pages import open_page, query_of, sentences
from streamlit.testing.v1 import AppTest

from graftviz.learners.forced_pruning import HEURISTICS
from graftviz.ui.frame.live import runs_message
from graftviz.ui.frame.view import Mailbox


def state_of(app: AppTest) -> Any:
    return app.session_state["prune"]


def test_it_opens_with_three_runs_of_the_same_start() -> None:
    app = open_page("prune", exchanges="3")
    assert sentences(app) == ""
    assert query_of(app) == {"exchanges": "3"}
    assert len(app.get("bidi_component")) == 2
    state = state_of(app)
    for run in state.runs.values():
        assert run.wait_for_end(60)
    message = json.loads(runs_message(state, Mailbox(), "token"))
    assert [run["heuristic"] for run in message["header"]["runs"]] == list(HEURISTICS)
    starts = [feed["feed"]["records"][0] for feed in message["feeds"]]
    assert all(start["added"] == starts[0]["added"] for start in starts)
    assert all(feed["feed"]["outcome"] for feed in message["feeds"])


def test_options_make_other_runs_and_a_link_gives_them_back() -> None:
    app = open_page("prune", exchanges="1")
    token = state_of(app).token
    app.number_input("prune.option.exchange").set_value(3).run()
    app.selectbox("prune.option.heuristic").set_value("mcmc").run()
    app.session_state["prune.option.Advanced"] = True
    app.run()
    app.number_input("prune.option.seed").set_value(7).run()
    assert not app.exception
    assert state_of(app).token != token
    wanted = {"exchange": "3", "exchanges": "1", "heuristic": "mcmc", "seed": "7"}
    assert query_of(app) == wanted
    again = open_page("prune", **wanted, step="1")
    assert state_of(again).values["options"] == state_of(app).values["options"]
    assert state_of(again).values["step"] == 1
    assert sentences(again) == ""


def test_the_rule_in_the_picture_starts_nothing_anew() -> None:
    app = open_page("prune", exchanges="1")
    token = state_of(app).token
    app.selectbox("prune.option.heuristic").set_value("rejection").run()
    assert (state_of(app).token, state_of(app).heuristic) == (token, "rejection")


def test_what_cannot_be_used_costs_a_sentence_and_not_the_runs() -> None:
    app = open_page("prune", exchanges="1")
    runs = state_of(app).runs
    app.number_input("prune.option.exchange").set_value(50).run()
    assert "the number of edges, 20" in sentences(app)
    assert "Still showing the previous run." in sentences(app)
    assert state_of(app).runs == runs
    app.number_input("prune.option.exchange").set_value(None).run()
    app.number_input("prune.option.clusters").set_value(100_000).run()
    assert "at most" in sentences(app)
    assert "clusters" in sentences(app)
    assert state_of(app).runs == runs
    app.number_input("prune.option.clusters").set_value(None).run()
    assert sentences(app) == ""
    assert query_of(app) == {"exchanges": "1"}


def test_data_may_be_brought_and_wrong_files_are_told_about() -> None:
    app = open_page("prune", data="upload", exchanges="1")
    assert not state_of(app).runs
    app.file_uploader[0].upload("empty.csv", b"a,b\n").run()
    assert not app.exception
    assert len(app.error) == 1
    rows = b"a,b,c\n" + b"0,0,1\n1,1,0\n1,1,1\n0,1,0\n" * 20
    app.file_uploader[0].upload("three.csv", rows).run()
    assert not app.exception
    assert sentences(app) == ""
    assert "fingerprint" in query_of(app)
    runs = state_of(app).runs.values()
    assert all(run.wait_for_end(60) and not run.failure for run in runs)
