"""The Dynamics page without a browser: it opens, learns again, reads files, or says why not."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from app_pages import open_page, sentences
from streamlit.testing.v1 import AppTest
from waiting import wait_until

from graftviz.formats.dynamics_files import matrix_csv
from graftviz.serving.limits import Limits
from graftviz.ui.dynamics.panels import build_result, final_result
from graftviz.ui.frame.live import run_message
from graftviz.ui.frame.view import Mailbox

SMALL = {"size": "12", "rows": "120", "parents": "3", "seeds": "3"}


def state_of(app: AppTest) -> Any:
    return app.session_state["dynamics"]


def shown(app: AppTest, mail: Mailbox | None = None) -> dict[str, Any]:
    """Return the message to the browser about the shown run, once it has ended."""
    state = state_of(app)
    state.run.wait_for_end(60)
    return json.loads(run_message(state, mail or Mailbox()))


def upload_of(app: AppTest, name: str) -> Any:
    return next(one for one in app.file_uploader if one.key == f"dynamics.{name}")


def series_file(rows: int = 60, gap: str = "", constant: bool = False) -> bytes:
    """Return three series that follow each other, as a file."""
    values = np.random.default_rng(0).normal(size=rows + 2).round(3)
    lines = ["time,a,b,c"]
    for t in range(rows):
        a = gap if gap and t == 20 else values[t + 2]
        c = 1.0 if constant else values[t]
        lines.append(f"{t},{a},{values[t + 1]},{c}")
    return ("\n".join(lines) + "\n").encode()


def test_the_methods_and_the_curves_are_measured_and_saved() -> None:
    app = open_page("dynamics", **SMALL)
    state = state_of(app)
    wait_until(lambda: state.compared().is_complete, 120)
    app.run()
    known = state.compared()
    assert {one.learner for one in known.race} == {"dense", "enforcing", "inducing", "scalable"}
    assert all(one.seconds > 0 for one in known.race)
    by_learner = {one.learner: one for one in known.race}
    at_three = {one.learner: one for one in known.curves.by_parents if one.parents == 3}
    for name in ("inducing", "scalable"):
        assert at_three[name].pred_error_test == by_learner[name].pred_error_test
    everyone = next(one for one in known.curves.by_seeds if one.seeds == 12)
    assert everyone.pred_error_test == by_learner["inducing"].pred_error_test
    assert len(app.get("plotly_chart")) == 2
    table = app.table[0].value
    assert len(table) == 4
    assert table["PredError, held-out"].str.startswith("★").sum() == 1
    record = json.loads(build_result(state))
    assert (record["series"], record["rows"], record["rows_test"]) == (12, 96, 24)
    assert len(matrix_csv(final_result(state).system).splitlines()) == 13


def test_a_run_that_takes_long_is_asked_about_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graftviz.ui.dynamics.options.limits", lambda: Limits(ask_seconds=1e-9))
    app = open_page("dynamics", **SMALL, seed="9")
    assert "Not started" in sentences(app)
    assert state_of(app).run is None
    app.button(key="dynamics.run_anyway").click().run()
    assert len(shown(app)["run"]["steps"]) == 12


def test_files_are_read_or_refused_and_what_was_shown_stays() -> None:
    app = open_page("dynamics", **SMALL)
    app.selectbox(key="dynamics.data").set_value("upload").run()
    token = shown(app)["run"]["token"]
    upload_of(app, "series").upload("short.csv", b"time,a\n0,1\n1,2\n2,3\n").run()
    assert "short.csv" in sentences(app)
    for content, told in (
        (b"time,a\n0,1\n1,x\n2,3\n", "not a finite number"),
        (series_file(gap="NA"), "“Missing values: interpolate” under “Import options”"),
        (series_file(constant=True), "“Constant series: drop”"),
        (b"\x00\x01", "NUL"),
    ):
        upload_of(app, "series").upload("bad.csv", content).run()
        assert told in sentences(app)
        assert "short.csv" not in sentences(app), "of a file that is no longer there"
        assert "fingerprint" not in state_of(app).link()
        assert "Still showing the previous run" in sentences(app)
        assert shown(app)["run"]["token"] == token
    upload_of(app, "series").upload("good.csv", series_file()).run()
    assert sentences(app) == ""
    message = shown(app)
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
    message = shown(app)
    assert message["graph"]["given"]
    rows = {row["node"]: row for row in message["run"]["steps"]}
    assert [rows[i]["parents"] for i in range(3)] == [[], [0], [1]]
    assert rows[1]["weights"] == pytest.approx([1.0])
    made = state_of(app).link()["fingerprint"]
    other = open_page("dynamics", data="upload", fingerprint=made)
    assert made in other.info[0].value
    upload_of(other, "series").upload("good.csv", series_file()).run()
    assert f"not {made}" in sentences(other)
    other.checkbox[0].check().run()
    assert sentences(other) == ""
    assert len(shown(other)["run"]["steps"]) == 3
