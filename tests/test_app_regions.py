"""The Regions page without a browser: it opens, follows its controls, and refuses in sentences."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from app_pages import open_page, query_of, run_while, sentences
from streamlit.testing.v1 import AppTest

from graftviz.player.models import ShownModel
from graftviz.player.region_records import Grown, RegionQuery, growing
from graftviz.serving.scheduler import Scheduler
from graftviz.ui.frame.jobs import Job
from graftviz.ui.frame.view import Mailbox
from graftviz.ui.regions import state as region_state
from graftviz.ui.regions.state import region_message

AT_ONCE = 0.05  # seconds, in place of the page's


def state_of(app: AppTest) -> Any:
    return app.session_state["regions"]


def told(app: AppTest, wait: float = 60.0) -> dict[str, Any]:
    """Return what the picture knows in the end, asking as a browser does."""
    state, mail = state_of(app), Mailbox()
    known: dict[str, Any] = {}
    give_up = time.monotonic() + wait
    while True:
        known |= json.loads(region_message(state, state.shown, mail))
        if not known["pending"] or time.monotonic() > give_up:
            assert not known["pending"]
            return known
        mail.need = {"parts": known["pending"]}


def test_controls_change_the_picture_and_the_address_carries_it() -> None:
    app = open_page("regions", side="5")
    app.slider(key="region.t2").set_value(0.4).run()
    app.slider(key="region.t1").set_value(0.3).run()
    app.text_input(key="region.query").set_value("r1c3").run()
    app.select_slider(key="region.tolerance").set_value(0.05).run()
    app.slider(key="region.size").set_value(6).run()
    assert sentences(app) == ""
    wanted = {"side": "5", "t2": "0.4", "t1": "0.3", "query": "8", "tolerance": "0.05", "size": "6"}
    assert query_of(app) == wanted
    picture = told(app)
    assert picture["region"]["query"] == 8
    assert picture["point"]["t2"] == 0.4
    assert max(len(curve["bounds"]) for curve in picture["rules"]) == 6
    again = told(open_page("regions", **query_of(app)))
    # All but how long it took.
    for part in ("exactSeconds", "bpSeconds"):
        picture["whole"].pop(part), again["whole"].pop(part)
    picture["region"].pop("seconds"), again["region"].pop("seconds")
    assert again == {**picture, "visit": again["visit"], "page": again["page"]}


def test_a_region_that_takes_long_is_shown_from_its_first_step_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = state_of(open_page("regions", side="5"))
    gate, scheduler = threading.Event(), Scheduler(threads=1)

    def slow(shown: ShownModel, question: RegionQuery) -> Job[Grown]:
        def values() -> Iterator[Grown]:
            for grown in growing(shown.model, question):
                time.sleep(3 * AT_ONCE)
                yield grown
                gate.wait(60)

        work = Job(values(), scheduler.share())
        work.grant()
        return work

    monkeypatch.setattr(region_state, "AT_ONCE", AT_ONCE)
    monkeypatch.setattr(region_state, "region", slow)
    picture = json.loads(region_message(state, state.shown, Mailbox()))
    assert len(picture["region"]["steps"]) == 1
    assert not picture["region"]["done"]
    assert "region" in picture["pending"]
    gate.set()
    scheduler.close()


@pytest.mark.parametrize("data", ["grid-8x8", "digits-2"])
def test_a_data_set_is_learned_and_asked(data: str) -> None:
    app = open_page("regions", data=data)
    assert sentences(app) == ""
    picture = told(app)
    assert picture["point"] is None
    assert (picture["whole"]["exact"] is None) == ("infeasible" in picture["whole"]["exactNote"])
    assert any(step["bound"] is not None for step in picture["region"]["steps"])
    assert len(picture["region"]["labels"]) == len(picture["region"]["steps"][0]["marginal"])


def test_the_run_of_the_grow_page_is_asked_and_its_link_learns_it_again() -> None:
    app = open_page("regions", data="run")
    assert "has no run yet" in sentences(app)
    app.switch_page("pages/grow.py")
    app.query_params["data"] = "karate"
    run_while(app, lambda: app.session_state["grow"].run is None)
    app.switch_page("pages/regions.py").run()
    app.selectbox(key="region.data").set_value("karate").run()
    app.selectbox(key="region.data").set_value("run").run()
    assert sentences(app) == ""
    link = query_of(app)
    assert link == {"data": "run", "run": "data=karate"}
    here = state_of(app).shown.model
    there = state_of(open_page("regions", **link)).shown.model
    np.testing.assert_array_equal(here.weights, there.weights)
    assert here.n_edges > 10


@pytest.mark.parametrize("run", ["data=nowhere", "data=upload"])
def test_a_run_that_cannot_be_learned_again_is_said(run: str) -> None:
    app = open_page("regions", data="run", run=run)
    assert sentences(app)
    assert state_of(app).shown is None
