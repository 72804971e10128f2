"""The Prune page without a browser: it opens, follows its controls, and refuses in sentences."""

from __future__ import annotations

from typing import Any

from app_pages import open_page, query_of, sentences
from streamlit.testing.v1 import AppTest


def state_of(app: AppTest) -> Any:
    return app.session_state["prune"]


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
