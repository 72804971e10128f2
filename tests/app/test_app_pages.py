"""Pages without a browser: cases that the contracts of all pages leave open."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from app_pages import FIRST_OF_SERVER, open_page, page_at, query_of, run_while, sentences
from streamlit.testing.v1 import AppTest
from waiting import wait_until

from graftviz.app import regions, session
from graftviz.app.dynamics_panels import build_result, final_result
from graftviz.app.jobs import Executor, Job
from graftviz.app.models import ShownModel
from graftviz.app.regions import region_message
from graftviz.app.regions_records import Grown, RegionQuery, growing
from graftviz.app.view import Inbox, run_message
from graftviz.learning.registry import learner_names
from graftviz.reports.files.dynamics_files import matrix_csv


def shown(app: AppTest, page: str) -> dict[str, Any]:
    """Return the message to the browser about the shown run, after its end."""
    state = app.session_state[page]
    state.run.wait_for_end(60)
    return json.loads(run_message(state, Inbox()))


def test_bound_below_every_model_is_reported_and_next_choice_learns() -> None:
    app = open_page("budget", data="random-30", complexity="circuit-size", bound="50")
    assert "of a model without edges" in sentences(app)
    app.selectbox[0].set_value("survey").run()
    assert sentences(app) == ""
    assert len(shown(app, "budget")["run"]["steps"]) > 1


def test_charts_name_best_learner_after_all_measurements() -> None:
    app = open_page("budget", data="survey", bound="1")
    state = app.session_state["budget"]
    wait_until(lambda: state.compared().is_complete, 120)
    app.run()
    runs, path, is_complete = state.compared()
    assert is_complete
    assert path.points
    assert len(app.get("plotly_chart")) == 2
    assert any("At equal operations" in element.value for element in app.markdown)
    assert all(run.point is not None or run.unmeasured for run in runs)


@pytest.mark.parametrize("page", ["budget", "dynamics"])
def test_slow_first_value_is_shown_when_ready(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_AT_ONCE", 0.0)
    monkeypatch.setattr(session, "_FIRST_VALUE", 0.001)
    app = open_page(page, seed="4711")
    assert not [info.value for info in app.info if "Computing" in info.value]
    assert any(part.proto.component_name.endswith(page) for part in app.get("bidi_component"))


# The Prune page


def test_invalid_prune_options_are_refused_and_previous_runs_stay() -> None:
    app = open_page("prune", exchanges="1")
    runs = app.session_state["prune"].runs
    app.number_input("prune.option.exchange").set_value(50).run()
    assert "the number of edges, 20" in sentences(app)
    assert "Still showing the previous run." in sentences(app)
    assert app.session_state["prune"].runs == runs
    app.number_input("prune.option.exchange").set_value(None).run()
    app.number_input("prune.option.clusters").set_value(100_000).run()
    assert "at most" in sentences(app)
    assert "clusters" in sentences(app)
    assert app.session_state["prune"].runs == runs
    app.number_input("prune.option.clusters").set_value(None).run()
    assert sentences(app) == ""
    assert query_of(app) == {"exchanges": "1"}


# The Race page


def open_race(**query: str) -> AppTest:
    """Return the page once its engine is compiled."""
    app = page_at("race", **query)

    def is_waiting() -> bool:
        has_racers = "race" in app.session_state and bool(app.session_state["race"].entries)
        return not has_racers and bool(app.get("progress"))

    return run_while(app, is_waiting)


@pytest.mark.parametrize("name", learner_names())
def test_every_learner_can_race(name: str) -> None:
    app = open_race(data="karate", r1="first-hit", r2="edge-grafting")
    app.radio(key="race.chosen").set_value(1).run()
    app.selectbox(key="race.learner").set_value(name).run()
    assert sentences(app) == ""
    run = app.session_state["race"].entries[1].run
    assert run.wait(1, 120)
    assert run.failure == ""
    assert run.run.learner.name == name
    assert len(app.session_state["race"].race().courses) >= 1
    assert query_of(app)["r2"] == name


def test_race_starts_with_data_of_grow_page() -> None:
    app = open_page("", data="survey")
    app.switch_page("pages/race.py").run()
    assert app.selectbox(key="race.data").value == "survey"
    assert "survey" in query_of(app)["data"]


# The Reservoir page


def words(app: AppTest) -> str:
    return "\n".join(element.value for element in app.markdown).replace("\\", "")


def test_reservoir_controls_change_charts_and_address() -> None:
    app = open_page("reservoir", data="karate")
    before = [chart.proto.spec for chart in app.get("plotly_chart")]
    app.slider(key="reservoir.alpha").set_value(0.0).run()
    assert "α = 0 takes all above the mean" in words(app)
    after = [chart.proto.spec for chart in app.get("plotly_chart")]
    assert after[:2] == before[:2]  # the reservoirs do not depend on α
    assert after[2] != before[2]
    app.session_state["reservoir.Advanced"] = True
    app.run()
    app.number_input(key="reservoir.n").set_value(50).run()
    assert "of all 1,225 pairs" in words(app)
    app.slider(key="reservoir.reservoir").set_value(5).run()
    app.toggle(key="reservoir.logarithmic").set_value(True).run()
    app.slider(key="reservoir.step").set_value(3).run()
    assert "The best of 5 draws" in words(app)
    assert query_of(app) == {
        "data": "karate",
        "alpha": "0",
        "n": "50",
        "reservoir": "5",
        "logarithmic": "true",
        "step": "3",
    }
    assert words(open_page("reservoir", **query_of(app))) == words(app)


def test_link_from_another_page_is_applied_a_second_time() -> None:
    """Check a link to an address that the page has written itself."""
    app = open_page("reservoir", alpha="0.25")
    assert app.slider(key="reservoir.alpha").value == 0.25
    app.slider(key="reservoir.alpha").set_value(0.5).run()
    app.query_params.clear()
    app.switch_page("pages/lessons.py").run()
    app.switch_page("pages/reservoir.py")
    app.query_params["alpha"] = "0.25"
    app.run()
    assert app.slider(key="reservoir.alpha").value == 0.25
    assert query_of(app) == {"alpha": "0.25"}


# Keys shared by all pages


def press(app: AppTest, key: str) -> None:
    next(button for button in app.button if button.key == key).click().run()


def guide_of(app: AppTest) -> dict[str, Any] | None:
    """Return the lesson sent to the browser, or None."""
    parts = [part.proto for part in app.get("bidi_component")]
    found = [part for part in parts if part.component_name.endswith("graftviz_guide")]
    return json.loads(found[0].json) if found else None


@pytest.mark.parametrize("page", ["", "race", "lessons"])
def test_lesson_of_address_is_shown_on_every_page_and_stays_in_address(page: str) -> None:
    assert guide_of(open_page(page)) is None
    app = open_page(page, lesson="alpha.2")
    guide = guide_of(app)
    assert guide is not None
    assert (guide["key"], guide["at"]) == ("alpha", 1)
    assert query_of(app)["lesson"] == "alpha.2"
    assert not app.warning


@pytest.mark.parametrize("lesson", ["flying", "alpha.x", "alpha.0.0", "", "'" * 5000])
def test_unknown_lesson_is_reported_in_one_sentence(lesson: str) -> None:
    app = open_page("", lesson=lesson)
    assert guide_of(app) is None
    assert "There is no lesson" in app.warning[0].value
    assert len(app.warning[0].value) < 500
    assert "lesson" not in query_of(app)


def test_tour_restarts_at_each_press_of_its_button() -> None:
    app = open_page("", data="karate")
    press(app, "tour")
    first = guide_of(app)
    press(app, "tour")
    second = guide_of(app)
    assert first is not None
    assert second is not None
    assert first["key"] == second["key"] == "tour"
    assert first["begin"] != second["begin"]


def test_outdated_address_does_not_reopen_presenter_mode() -> None:
    app = open_page("lessons")
    assert query_of(app) == {}
    press(app, "present")
    assert query_of(app) == {"present": "1"}
    app.run()
    press(app, "leave_presenting")
    assert query_of(app) == {}
    app.query_params["present"] = "1"
    app.run()
    assert query_of(app) == {}
    # After the browser has confirmed the new address, the old one means a step back in history.
    app.run()
    app.query_params["present"] = "1"
    app.run()
    assert query_of(app) == {"present": "1"}


def test_a_page_that_a_new_server_opens_first_starts_with_the_app() -> None:
    token = FIRST_OF_SERVER.set(None)
    try:
        app = page_at("lessons")
        app.query_params["present"] = "1"
        app.run()
        assert app.button(key="leave_presenting")
    finally:
        FIRST_OF_SERVER.reset(token)


# The Dynamics page


SMALL = {"size": "12", "rows": "120", "parents": "3", "seeds": "3"}


def upload_of(app: AppTest, name: str) -> Any:
    return next(widget for widget in app.file_uploader if widget.key == f"dynamics.{name}")


def series_file(rows: int = 60, gap: str = "", constant: bool = False) -> bytes:
    """Return three series that follow each other, as a file."""
    values = np.random.default_rng(0).normal(size=rows + 2).round(3)
    lines = ["time,a,b,c"]
    for t in range(rows):
        a = gap if gap and t == 20 else values[t + 2]
        c = 1.0 if constant else values[t]
        lines.append(f"{t},{a},{values[t + 1]},{c}")
    return ("\n".join(lines) + "\n").encode()


def test_methods_and_curves_are_measured_and_saved() -> None:
    app = open_page("dynamics", **SMALL)
    state = app.session_state["dynamics"]
    wait_until(lambda: state.compared().is_complete, 120)
    app.run()
    found = state.compared()
    assert {row.learner for row in found.race} == {"dense", "enforcing", "inducing", "scalable"}
    assert all(row.seconds > 0 for row in found.race)
    by_learner = {row.learner: row for row in found.race}
    at_three = {row.learner: row for row in found.curves.by_parents if row.parents == 3}
    for name in ("inducing", "scalable"):
        assert at_three[name].pred_error_test == by_learner[name].pred_error_test
    all_seeds = next(row for row in found.curves.by_seeds if row.seeds == 12)
    assert all_seeds.pred_error_test == by_learner["inducing"].pred_error_test
    assert len(app.get("plotly_chart")) == 2
    table = app.table[0].value
    assert len(table) == 4 + len(found.baselines)
    assert "Persistence: the last value" in table.index
    assert table["PredError, held-out"].str.startswith("★").sum() == 1
    assert table["PredError, held-out"].str.contains("±").all()
    record = json.loads(build_result(state))
    assert (record["series"], record["rows"], record["rows_test"]) == (12, 96, 24)
    assert len(matrix_csv(final_result(state).system).splitlines()) == 13


def test_long_dynamics_run_needs_confirmation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graftviz.app.dynamics.ASK_SECONDS", 1e-9)
    app = open_page("dynamics", **SMALL, seed="9")
    assert "Not started" in sentences(app)
    assert app.session_state["dynamics"].run is None
    app.button(key="dynamics.run_anyway").click().run()
    assert len(shown(app, "dynamics")["run"]["steps"]) == 12


def test_files_are_read_or_refused_and_previous_run_stays() -> None:
    app = open_page("dynamics", **SMALL)
    app.selectbox(key="dynamics.data").set_value("upload").run()
    token = shown(app, "dynamics")["run"]["token"]
    upload_of(app, "series").upload("short.csv", b"time,a\n0,1\n1,2\n2,3\n").run()
    assert "short.csv" in sentences(app)
    for content, message_part in (
        (b"time,a\n0,1\n1,x\n2,3\n", "not a finite number"),
        (series_file(gap="NA"), "“Missing values: interpolate” under “Import options”"),
        (series_file(constant=True), "“Constant series: drop”"),
        (b"\x00\x01", "NUL"),
    ):
        upload_of(app, "series").upload("bad.csv", content).run()
        assert message_part in sentences(app)
        assert "short.csv" not in sentences(app), "message of an earlier file"
        assert "fingerprint" not in app.session_state["dynamics"].link()
        assert "Still showing the previous run" in sentences(app)
        assert shown(app, "dynamics")["run"]["token"] == token
    upload_of(app, "series").upload("good.csv", series_file()).run()
    assert sentences(app) == ""
    message = shown(app, "dynamics")
    assert message["graph"]["names"] == ["a", "b", "c"]
    assert message["graph"]["truth"] is None
    upload_of(app, "places").upload("places.csv", b"name,lon,lat\na,1,2\n").run()
    assert "has no position for 'b'" in sentences(app)
    # The file's parents are for sparsity enforcing: b follows a, c follows b.
    upload_of(app, "places").upload("places.csv", b"name,x,y\na,1,1\nb,2,2\nc,3,1\n").run()
    upload_of(app, "parents").upload("parents.csv", b"source,target\na,b\nb,c\n").run()
    app.selectbox(key="dynamics.learner").set_value("enforcing").run()
    app.selectbox(key="dynamics.wiring").set_value("file").run()
    assert sentences(app) == ""
    message = shown(app, "dynamics")
    assert message["graph"]["given"]
    rows = {row["node"]: row for row in message["run"]["steps"]}
    assert [rows[i]["parents"] for i in range(3)] == [[], [0], [1]]
    assert rows[1]["weights"] == pytest.approx([1.0])


# The Regions page


AT_ONCE = 0.05  # seconds; shorter than on the page


def complete_picture(app: AppTest, wait: float = 60.0) -> dict[str, Any]:
    """Request missing parts as a browser does; return the complete picture."""
    state, inbox = app.session_state["regions"], Inbox()
    known: dict[str, Any] = {}
    deadline = time.monotonic() + wait
    while True:
        known |= json.loads(region_message(state, state.shown, inbox))
        if not known["pending"] or time.monotonic() > deadline:
            assert not known["pending"]
            return known
        inbox.need = {"parts": known["pending"]}


def test_region_controls_change_picture_and_address() -> None:
    app = open_page("regions", side="5")
    app.slider(key="region.t2").set_value(0.4).run()
    app.slider(key="region.t1").set_value(0.3).run()
    app.text_input(key="region.query").set_value("r1c3").run()
    app.select_slider(key="region.tolerance").set_value(0.05).run()
    app.slider(key="region.size").set_value(6).run()
    assert sentences(app) == ""
    wanted = {"side": "5", "t2": "0.4", "t1": "0.3", "query": "8", "tolerance": "0.05", "size": "6"}
    assert query_of(app) == wanted
    picture = complete_picture(app)
    assert picture["region"]["query"] == 8
    assert picture["point"]["t2"] == 0.4
    assert max(len(curve["bounds"]) for curve in picture["rules"]) == 6
    again = complete_picture(open_page("regions", **query_of(app)))
    # All but the times.
    for part in ("exactSeconds", "bpSeconds"):
        picture["whole"].pop(part), again["whole"].pop(part)
    picture["region"].pop("seconds"), again["region"].pop("seconds")
    assert again == {**picture, "visit": again["visit"], "page": again["page"]}


def test_slow_region_is_shown_from_its_first_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = open_page("regions", side="5").session_state["regions"]
    gate, scheduler = threading.Event(), Executor(threads=1)

    def slow(shown: ShownModel, question: RegionQuery) -> Job[Grown]:
        def values() -> Iterator[Grown]:
            for grown in growing(shown.model, question):
                time.sleep(3 * AT_ONCE)
                yield grown
                gate.wait(60)

        work = Job(values(), scheduler.queue())
        work.grant()
        return work

    monkeypatch.setattr(regions, "AT_ONCE", AT_ONCE)
    monkeypatch.setattr(regions, "region", slow)
    picture = json.loads(region_message(state, state.shown, Inbox()))
    assert len(picture["region"]["steps"]) == 1
    assert not picture["region"]["done"]
    assert "region" in picture["pending"]
    gate.set()
    scheduler.close()


@pytest.mark.parametrize("data", ["grid-8x8", "digits-2"])
def test_data_set_is_learned_and_queried(data: str) -> None:
    app = open_page("regions", data=data)
    assert sentences(app) == ""
    picture = complete_picture(app)
    assert picture["point"] is None
    assert (picture["whole"]["exact"] is None) == ("infeasible" in picture["whole"]["exactNote"])
    assert any(step["bound"] is not None for step in picture["region"]["steps"])
    assert len(picture["region"]["labels"]) == len(picture["region"]["steps"][0]["marginal"])


def test_run_of_grow_page_is_queried_and_its_link_learns_it_again() -> None:
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
    model = app.session_state["regions"].shown.model
    relearned = open_page("regions", **link).session_state["regions"].shown.model
    np.testing.assert_array_equal(model.weights, relearned.weights)
    assert model.n_edges > 10


@pytest.mark.parametrize("run", ["data=nowhere", "data=upload"])
def test_run_that_cannot_be_relearned_is_reported(run: str) -> None:
    app = open_page("regions", data="run", run=run)
    assert sentences(app)
    assert app.session_state["regions"].shown is None
