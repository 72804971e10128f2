"""The Budget page without a browser: it opens, re-learns under another τ, refuses in sentences."""

from __future__ import annotations

import json
from typing import Any

from app_pages import open_page, sentences
from streamlit.testing.v1 import AppTest
from waiting import wait_until

from graftviz.ui.frame.live import run_message
from graftviz.ui.frame.view import Mailbox


def state_of(app: AppTest) -> Any:
    return app.session_state["budget"]


def shown(app: AppTest, mail: Mailbox | None = None) -> dict[str, Any]:
    """Return the message to the browser about the shown run, once it has ended."""
    state = state_of(app)
    state.run.wait_for_end(60)
    return json.loads(run_message(state, mail or Mailbox()))


def test_a_bound_below_every_model_is_said_and_the_next_choice_learns_again() -> None:
    app = open_page("budget", data="random-30", complexity="circuit-size", bound="50")
    assert "of a model without edges" in sentences(app)
    app.selectbox[0].set_value("survey").run()
    assert sentences(app) == ""
    assert len(shown(app)["run"]["steps"]) > 1


def test_the_charts_name_the_winner_once_all_is_measured() -> None:
    app = open_page("budget", data="survey", bound="1")
    state = state_of(app)
    wait_until(lambda: state.compared().is_complete, 120)
    app.run()
    runs, path, is_complete = state.compared()
    assert is_complete
    assert path.points
    assert len(app.get("plotly_chart")) == 2
    assert any("At equal operations" in element.value for element in app.markdown)
    assert all(run.point is not None or run.unmeasured for run in runs)
