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
    return json.loads(run_message(state, mail or Mailbox()))  # type: ignore[no-any-return]


def test_it_opens_with_a_run_that_keeps_its_bound() -> None:
    app = open_page("budget", data="survey", bound="1")
    assert sentences(app) == ""
    message = shown(app)
    run, names = message["run"], message["graph"]["names"]
    assert run["done"]
    assert run["stop"]
    assert len(run["steps"]) == len(names)  # the start, and the edges of a tree
    assert all(step["value"] <= 1 for step in run["steps"])
    # The same again is a graph that is known, and only the steps that were asked for.
    mail = Mailbox()
    shown(app, mail)
    mail.need = {"token": run["token"], "from": len(names) - 2}
    later = shown(app, mail)
    assert "graph" not in later
    assert later["run"]["steps"] == run["steps"][-2:]


def test_another_bound_learns_again_and_keeps_the_run_before() -> None:
    app = open_page("budget", data="survey", bound="1")
    first = shown(app)["run"]
    next(slider for slider in app.slider if slider.label == "Bound τ").set_value(2).run()
    assert not app.exception
    second = shown(app)["run"]
    assert second["token"] != first["token"]
    assert max(step["value"] for step in second["steps"]) == 2
    assert second["ghost"]["edges"] == [step["edge"] for step in first["steps"][1:]]
    assert app.query_params["bound"] in ("2", ["2"])
    # The same bound of other data is another run, without the one before: other variables.
    app.selectbox[0].set_value("dense-16").run()
    assert shown(app)["run"]["ghost"] is None


def test_a_bound_below_every_model_is_said_and_the_next_choice_learns_again() -> None:
    app = open_page("budget", data="random-30", complexity="circuit-size", bound="50")
    assert "of a model without edges" in sentences(app)
    app.selectbox[0].set_value("survey").run()
    assert not app.exception
    assert sentences(app) == ""
    assert len(shown(app)["run"]["steps"]) > 1


def test_the_charts_name_the_winner_once_all_is_measured() -> None:
    app = open_page("budget", data="survey", bound="1")
    state = state_of(app)
    wait_until(lambda: state.compared().is_complete, 120)
    app.run()
    assert not app.exception
    runs, path, is_complete = state.compared()
    assert is_complete
    assert path.points
    assert len(app.get("plotly_chart")) == 2
    assert any("At equal operations" in element.value for element in app.markdown)
    assert all(run.point is not None or run.unmeasured for run in runs)
