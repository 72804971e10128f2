"""Grow page without a browser: it opens, follows its controls, and refuses in sentences."""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from app_pages import page_at, query_of, run_while, sentences, shows_recorded
from fakes import clear_jobs
from streamlit.testing.v1 import AppTest

from graftviz import LamPath
from graftviz.app import grow_analysis, material
from graftviz.app.controls import AUTO
from graftviz.app.files import build_edges, build_file, run_files
from graftviz.app.grow import stability_json
from graftviz.app.grow_analysis import clicked_point, path_of
from graftviz.app.jobs import EVERYTHING
from graftviz.evaluation.selection.path import lam_path_steps
from graftviz.learning.registry import learner_class, learner_names


def open_app(**query: str) -> AppTest:
    """Return the app once its engine is compiled."""
    app = page_at("", **query)

    def is_waiting() -> bool:
        has_run = "grow" in app.session_state and app.session_state["grow"].run is not None
        return shows_recorded(app) or (not has_run and bool(app.get("progress")))

    return run_while(app, is_waiting)


def state_of(app: AppTest) -> Any:
    return app.session_state["grow"]


def analyse(app: AppTest, entry: str) -> AppTest:
    """Choose an entry of the menu Analyse."""
    app.menu_button(key="grow.tools").click(entry)
    return app.run()


def entries(app: AppTest) -> list[str]:
    """Return the labels of the menu Analyse."""
    return list(app.menu_button(key="grow.tools").options)


def with_advanced(app: AppTest) -> AppTest:
    """Unfold the advanced options."""
    app.session_state["option.Advanced"] = True
    return app.run()


def test_number_of_rows_is_in_link() -> None:
    app = open_app()
    slider = app.select_slider(key="choose.rows")
    assert slider.value == state_of(app).material.train.n_rows
    slider.set_value(200)
    app.run()
    assert query_of(app) == {"rows": "200"}
    assert state_of(app).material.train.n_rows == 200
    assert "200 of 2,700 training rows" in finished_header(app)["title"]
    app.select_slider(key="choose.rows").set_value(2700)
    app.run()
    assert query_of(app) == {}


def finished_header(app: AppTest) -> dict[str, Any]:
    run = state_of(app).run
    run.grant()
    assert run.wait_for_end(120)
    return dict(json.loads(run.header_json))


def finished(app: AppTest) -> dict[str, Any]:
    run = state_of(app).run
    run.grant()
    assert run.wait_for_end(120)
    assert run.failure == ""
    return dict(json.loads(run.feed_json(1, EVERYTHING, whole=True)))


def upload_of(app: AppTest, key: str) -> Any:
    return next(widget for widget in app.file_uploader if widget.key == key)


def csv_table(seed: int = 0, rows: int = 120, variables: int = 5) -> bytes:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, size=(rows, variables))
    codes[:, 1] = codes[:, 0]
    lines = [",".join("abcdefghij"[:variables]), *(",".join(map(str, row)) for row in codes)]
    return "\n".join(lines).encode()


@pytest.mark.parametrize("name", learner_names())
def test_every_learner_can_be_chosen(name: str) -> None:
    app = open_app(data="survey")
    app.selectbox(key="choose.learner").set_value(name).run()
    assert sentences(app) == ""
    content = finished(app)
    assert content["outcome"]["steps"] == len(content["records"]) > 0
    assert json.loads(state_of(app).run.header_json)["learner"]["title"] == (
        learner_class(name).title
    )


def test_other_preset_applies_its_rules_and_shows_resolved_values() -> None:
    app = with_advanced(open_app(data="karate"))
    suggested = state_of(app).material.suggested["lam"]
    assert app.select_slider(key="option.lam").value == suggested
    assert app.select_slider(key="option.lam2").options[0].startswith("auto 0.")
    app.selectbox(key="option.preset").set_value("best").run()
    assert sentences(app) == ""
    state = state_of(app)
    assert query_of(app)["preset"] == "best"
    assert state.learner_options(state.own)["lam"] is None
    assert app.select_slider(key="option.lam").value == AUTO
    resolved = state.automatic(state.choice)
    assert app.select_slider(key="option.lam").options[0] == f"auto {resolved['lam']:.3g}"
    for name in ("score", "objective"):
        captions = app.radio(key=f"option.{name}").proto.captions
        assert captions[0] == "Set by the preset: pseudo-likelihood."
        assert all(captions), "each choice has a line on when to use it"
    assert app.number_input(key="option.significance").placeholder == (
        f"automatic: {resolved['significance']:g}"
    )
    assert finished(app)["outcome"]["converged"]
    app.select_slider(key="option.lam").set_value(0.01).run()
    assert query_of(app)["lam"] == "0.01"
    app.select_slider(key="option.lam").set_value(AUTO).run()
    assert "lam" not in query_of(app)


def test_comparison_with_preset_best_is_opened_and_closed_by_one_click() -> None:
    app = open_app()
    paper = state_of(app).run
    assert "Compare with preset best" in entries(app)
    analyse(app, "compare")
    assert sentences(app) == ""
    state = state_of(app)
    assert query_of(app)["compare"] == "best"
    assert state.ghost is paper
    assert state.run.run.learner.preset == "best"
    paper.grant()
    assert paper.wait_for_end(60)
    best_end, paper_end = finished(app)["outcome"], json.loads(paper.outcome_json)
    app.run()
    text = "\n".join(element.value for element in app.markdown)
    for name, outcome in (("paper", paper_end), ("best", best_end)):
        line = next(line for line in text.splitlines() if line.startswith("| ") and name in line)
        shown = [float(number) for number in re.findall(r"\d+\.?\d*", line)[-4:]]
        expected = [outcome[key] for key in ("edges", "precision", "recall", "nlpl")]
        assert shown == pytest.approx(expected, abs=0.006)
    assert "Explains away" in text
    assert "share a neighbour" in text
    assert "Noise-based threshold" in text
    assert "Pruning" in text
    assert json.loads(state.run.header_json)["ghost"] == "the paper's method"
    assert best_end["precision"] > paper_end["precision"]
    assert best_end["nlpl"] < paper_end["nlpl"]
    analyse(app, "compare")
    assert "compare" not in query_of(app)
    assert state_of(app).run is paper


def test_compared_runs_share_layout_of_first_run() -> None:
    app = open_app(data="upload")
    upload_of(app, "upload.table").upload("mine.csv", csv_table(rows=400, variables=8)).run()
    analyse(app, "compare")
    state = state_of(app)
    finished(app)
    records = json.loads(state.ghost.feed_json(1, EVERYTHING))["records"]
    header = json.loads(state.run.header_json)
    assert header["positions"] is None
    assert header["layout"] == records[-1]["layout"]
    assert not any("layout" in record for record in finished(app)["records"])


def wait_for(app: AppTest, work: Any) -> None:
    assert work.wait_for_end(120)
    assert work.failure == ""
    app.run()


def test_stability_is_computed_in_background_and_cached() -> None:
    app = open_app(data="survey")
    finished(app)
    app.run()
    analyse(app, "stability")
    run = state_of(app).run
    assert app.get("progress") or run.stability.ended, "the page does not wait"
    wait_for(app, run.stability)
    found = run.stability.latest
    assert found.done == found.planned == 50
    text = "\n".join(element.value for element in app.markdown)
    shares = found.frequency_of(run.result().model.edges)
    assert f"**{int((shares >= 0.9).sum())} of {len(shares)} edges**" in text
    assert "Stability of the edges" not in entries(app)
    message = json.loads(stability_json(run))
    assert (message["run"], message["of"]) == (run.token, 50)
    assert {(i, j): count for i, j, count in message["edges"]} == {
        (i, j): count
        for (i, j), count in zip(found.edges.tolist(), found.counts.tolist(), strict=True)
    }
    intervals = found.intervals(run.result().model)
    assert [each.label for each in app.expander if "Interval" in each.label] == [
        f"Intervals of {len(shares)} edges"
    ]
    assert app.get("plotly_chart")
    weights = pd.read_csv(io.BytesIO(build_file(run, "weight_intervals.csv")))
    assert np.allclose(weights["low"], intervals.weights_frame()["low"])
    file_names = [file.name for file in run_files(run)]
    assert {"stability.csv", "weight_intervals.csv"} <= set(file_names)
    # The column is in edges.csv, and the result is reused when the run is shown again.
    table = pd.read_csv(io.BytesIO(build_file(run, "edges.csv")))
    assert np.allclose(table["stability"], shares)
    app.slider(key="option.alpha").set_value(0.5).run()
    assert "Stability of the edges" in entries(app)
    assert b"stability" not in build_edges(state_of(app).run).encode()
    assert "stability.csv" not in [file.name for file in run_files(state_of(app).run)]
    app.slider(key="option.alpha").set_value(0.75).run()
    assert state_of(app).run.stability.latest is found


def test_stability_can_be_cancelled_and_needs_rows() -> None:
    app = open_app(data="scale-free-200")
    analyse(app, "stability")
    work = state_of(app).run.stability
    app.button(key="stability_cancel").click().run()
    assert state_of(app).run.stability is None
    count = work.latest.done if work.latest else 0
    assert count < 50
    few = open_app(data="upload")
    upload_of(few, "upload.table").upload("mine.csv", csv_table(rows=3)).run()
    analyse(few, "stability")
    assert "too few" in sentences(few)


def test_lam_of_path_is_applied_by_one_click() -> None:
    app = open_app(data="survey")
    analyse(app, "path")
    work, by_noise = path_of(state_of(app))
    assert by_noise == 0
    wait_for(app, work)
    assert app.get("plotly_chart")
    best = work.latest.best_by_ebic
    assert app.button(key="path_take_held-out").label == (
        f"Use λ = {work.latest.best_by_nlpl.lam:g} (held-out)"
    )
    assert app.button(key="path_take_EBIC").label == f"Use λ = {best.lam:g} (EBIC)"
    app.button(key="path_take_EBIC").click().run()
    assert query_of(app)["lam"] == f"{best.lam:g}"
    assert app.select_slider(key="option.lam").value == best.lam
    assert not app.get("plotly_chart"), "the panel closes"
    analyse(app, "path")
    assert path_of(state_of(app))[0] is work, "the path is not learned again"


def test_path_of_noise_based_threshold_reports_little_effect_of_lam() -> None:
    app = open_app(data="survey", preset="best")
    analyse(app, "path")
    assert "has little effect" in "".join(element.value for element in app.markdown)
    work, by_noise = path_of(state_of(app))
    assert by_noise == state_of(app).automatic(state_of(app).choice)["significance"] > 2
    wait_for(app, work)
    app.button(key="path_take_held-out").click().run()
    query = query_of(app)
    assert query["significance"] == "0"
    assert float(query["lam"]) == work.latest.best_by_nlpl.lam


def test_a_path_in_progress_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    paused, resume = threading.Event(), threading.Event()

    def paused_steps(*arguments: Any, **options: Any) -> Iterator[LamPath]:
        for path in lam_path_steps(*arguments, **options):
            yield path
            if len(path.points) > 1:
                paused.set()
                assert resume.wait(60)

    monkeypatch.setattr(grow_analysis, "lam_path_steps", paused_steps)
    clear_jobs()
    app = open_app(data="survey")
    try:
        analyse(app, "path")
        assert paused.wait(60)
        app.run()
        assert not app.error
        assert app.get("plotly_chart")
        assert app.button(key="path_cancel").label == "Cancel"
    finally:
        resume.set()


def test_run_beyond_budget_needs_confirmation(monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app(data="karate")
    before = state_of(app).run
    monkeypatch.setattr(material, "ASK_SECONDS", 1e-9)
    app.slider(key="option.alpha").set_value(0.5).run()
    assert "This run will take about" in sentences(app)
    assert "Limit: 1e-09 s" in sentences(app)
    assert "Still showing the previous run." in sentences(app)
    assert state_of(app).run is before
    assert "alpha" not in query_of(app)
    app.button(key="player.run_anyway").click().run()
    assert sentences(app) == ""
    assert state_of(app).run is not before
    assert query_of(app)["alpha"] == "0.5"
    assert finished(app)["outcome"]["edges"] > 10
    app.slider(key="option.alpha").set_value(0.75).run()
    assert sentences(app) == "", "a cached run needs no confirmation"
    assert state_of(app).run is before


def test_first_run_beyond_budget_needs_confirmation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(material, "ASK_BYTES", 0.0)
    app = open_app(data="karate")
    assert "Limit: " in sentences(app)
    assert state_of(app).run is None
    app.button(key="player.run_anyway").click().run()
    assert state_of(app).run is not None


def test_too_many_edges_are_refused_and_previous_run_stays() -> None:
    app = open_app(data="karate")
    before = state_of(app).run
    app.number_input(key="option.max_edges").set_value(10_000).run()
    assert "10,000 edges" in sentences(app)
    assert "Still showing the previous run." in sentences(app)
    assert state_of(app).run is before
    assert "max_edges" not in query_of(app)
    app.number_input(key="option.max_edges").set_value(20).run()
    assert sentences(app) == ""
    assert state_of(app).run is not before


def test_table_and_true_edges_are_uploaded() -> None:
    app = open_app(data="upload")
    assert state_of(app).run is None
    upload_of(app, "upload.table").upload("mine.csv", csv_table()).run()
    assert sentences(app) == ""
    state = state_of(app)
    assert state.run is not None
    assert query_of(app)["fingerprint"] == state.material.fingerprint
    upload_of(app, "upload.truth").upload("truth.csv", b"source,target\na,b\n").run()
    assert sentences(app) == ""
    assert state_of(app).material.truth.tolist() == [[0, 1]]
    assert finished(app)["outcome"]["recall"] == 1.0


def test_uploaded_positions_of_variables_are_used() -> None:
    app = open_app(data="upload")
    upload_of(app, "upload.table").upload("mine.csv", csv_table()).run()
    names = state_of(app).material.train.names
    assert state_of(app).material.positions is None
    places = "".join(f"{name},{i},{i * i}\n" for i, name in enumerate(names))
    upload_of(app, "upload.places").upload("places.csv", b"name,lon,lat\n" + places.encode()).run()
    assert sentences(app) == ""
    positions = state_of(app).material.positions
    assert (np.diff(positions[:, 0]) > 0).all()
    assert (np.diff(positions[:, 1]) < 0).all()  # north is on top
    upload_of(app, "upload.places").upload("places.csv", b"name,lon,lat\na,1,2\n").run()
    assert "has no position for" in sentences(app)
    assert state_of(app).material.positions is positions


@pytest.mark.parametrize(
    ("data", "is_point"),
    [
        ([0.5], True),
        ({"0": 0.5}, True),
        ([0.4], False),
        ([None], False),
        ({}, False),
        (None, False),
    ],
)
def test_a_click_on_the_path_selects_a_point_or_nothing(data: Any, is_point: bool) -> None:
    point = SimpleNamespace(lam=0.5)
    path: Any = SimpleNamespace(points=(point,))
    event = {"selection": {"points": [{"customdata": data}]}}
    assert clicked_point(path, event) is (point if is_point else None)
    assert clicked_point(path, {"selection": {"points": [{"customdata": {"1": 0.5}}]}}) is None
