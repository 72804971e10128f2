"""The Prune page without a browser: it opens, follows its controls, and refuses in sentences."""

from __future__ import annotations

from typing import Any

from app_pages import open_page, query_of, sentences
from streamlit.testing.v1 import AppTest


def state_of(app: AppTest) -> Any:
    return app.session_state["prune"]


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
