"""The Grow page without a browser: it opens, follows its controls, and refuses in sentences."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from graftviz.datasets import dataset_keys
from graftviz.learners.registry import learner_class, learner_names
from graftviz.ui.session_run import EVERYTHING

APP = str(Path(__file__).resolve().parent.parent / "app.py")
COMPILING = 300.0  # seconds the engine may take where nothing is compiled yet


def open_app(**query: str) -> AppTest:
    """Return the app once its engine is compiled."""
    app = AppTest.from_file(APP, default_timeout=60)
    for name, text in query.items():
        app.query_params[name] = text
    app.run()
    give_up = time.monotonic() + COMPILING
    while "grow" not in app.session_state or app.session_state["grow"].run is None:
        if not app.get("progress") or time.monotonic() > give_up:
            break
        app.run()
    assert not app.exception
    return app


def state_of(app: AppTest) -> Any:
    return app.session_state["grow"]


def sentences(app: AppTest) -> str:
    """Return what the page complains about, as it is read on the screen."""
    return "\n".join(read(element.value) for element in (*app.error, *app.warning))


def read(markdown: str) -> str:
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown)


def finished(app: AppTest) -> dict[str, Any]:
    run = state_of(app).run
    run.grant()
    assert run.wait(EVERYTHING, 120)
    assert run.failure == ""
    return dict(json.loads(run.feed_json(1, EVERYTHING, whole=True)))


def query_of(app: AppTest) -> dict[str, str]:
    """Return the address's parameters; AppTest keeps some as texts, some as lists."""
    pairs = dict(app.query_params).items()
    return {name: text if isinstance(text, str) else text[-1] for name, text in pairs}


def upload_of(app: AppTest, key: str) -> Any:
    return next(widget for widget in app.file_uploader if widget.key == key)


def csv_table(seed: int = 0, rows: int = 120, variables: int = 5) -> bytes:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, size=(rows, variables))
    codes[:, 1] = codes[:, 0]
    lines = [",".join("abcdefghij"[:variables]), *(",".join(map(str, row)) for row in codes)]
    return "\n".join(lines).encode()


def test_it_opens_on_a_sample_with_known_truth() -> None:
    app = open_app()
    assert sentences(app) == ""
    state = state_of(app)
    assert state.settings.learner == "best-choice"
    assert state.material.truth is not None
    options = state.options()
    assert options["alpha"] == 0.75
    assert options["hubs"] is True
    assert app.slider(key="option.alpha").value == 0.75
    run = state.run
    assert run.wait(1, 30)
    assert json.loads(run.header_json)["truth"]


@pytest.mark.parametrize("key", dataset_keys())
def test_every_data_set_can_be_chosen(key: str) -> None:
    app = open_app()
    app.selectbox(key="choose.data").set_value(key).run()
    assert not app.exception
    assert sentences(app) == ""
    state = state_of(app)
    assert state.shown.data == key
    assert state.run.wait(1, 60)
    header = json.loads(state.run.header_json)
    assert header["title"] == state.material.title
    assert header["lam"] == state.options()["lam"]


@pytest.mark.parametrize("name", learner_names())
def test_every_learner_can_be_chosen(name: str) -> None:
    app = open_app()
    app.selectbox(key="choose.learner").set_value(name).run()
    assert not app.exception
    assert sentences(app) == ""
    content = finished(app)
    assert content["outcome"]["steps"] == len(content["records"]) > 0
    assert json.loads(state_of(app).run.header_json)["learner"]["title"] == (
        learner_class(name).title
    )


def test_an_option_learns_the_run_again_and_is_written_to_the_link() -> None:
    app = open_app()
    before = state_of(app).run
    app.slider(key="option.alpha").set_value(0.5).run()
    state = state_of(app)
    assert state.run is not before
    assert state.ghost is before
    assert query_of(app)["alpha"] == "0.5"
    app.slider(key="option.alpha").set_value(0.75).run()
    assert "alpha" not in query_of(app)
    assert state_of(app).run is before


def test_chosen_options_stay_with_another_data_set_and_suggestions_follow_it() -> None:
    app = open_app(data="digits-2", alpha="0.5")
    state = state_of(app)
    assert state.options()["lam"] == state.material.suggested["lam"]
    app.selectbox(key="choose.data").set_value("karate").run()
    state = state_of(app)
    assert state.options()["lam"] == state.material.suggested["lam"]
    assert state.options()["alpha"] == 0.5
    assert query_of(app)["data"] == "karate"


def test_a_link_opens_what_it_says() -> None:
    app = open_app(
        data="karate", learner="best-choice", alpha="0.5", seed="3", step="4", branch="2:alpha=0"
    )
    assert sentences(app) == ""
    state = state_of(app)
    assert state.settings.step == 4
    assert state.settings.seed == 3
    assert state.run.recorder.run.branch.at == 2
    assert state.run.recorder.run.branch.learner.alpha == 0.0
    assert state.ghost is not None
    finished(app)
    header = json.loads(state.run.header_json)
    assert header["branch"]["t"] == 2
    assert header["branch"]["run"] == state.ghost.token


BAD_LINKS = {
    "data": ({"data": "mars"}, "There is no data set 'mars'"),
    "learner": ({"learner": "guess"}, "There is no learner 'guess'"),
    "range": ({"alpha": "7"}, "Option alpha must be at least 0"),
    "text": ({"seed": "x"}, "The seed must be a whole number"),
    "key": ({"colour": "red"}, "no setting 'colour'"),
    "branch": ({"branch": "soon"}, "A branch is written as step:option=value"),
    "fingerprint": ({"data": "upload", "fingerprint": "?"}, "is no fingerprint"),
}


@pytest.mark.parametrize(("query", "sentence"), BAD_LINKS.values(), ids=BAD_LINKS)
def test_a_bad_link_costs_a_sentence(query: dict[str, str], sentence: str) -> None:
    app = open_app(**query)
    assert sentence in sentences(app)
    if query.get("data") != "upload":
        assert state_of(app).run is not None


def test_what_a_link_says_is_shown_as_text() -> None:
    app = open_app(data="![a](http://example.com/a.png) $x$ :red[b]")
    assert "![a](http://example.com/a.png) $x$ :red[b]" in sentences(app)
    assert "\\!\\[a\\]\\(http\\:" in app.warning[0].value


def test_more_edges_than_there_are_keeps_the_run_on_show() -> None:
    app = open_app(data="karate")
    before = state_of(app).run
    app.number_input(key="option.max_edges").set_value(10_000).run()
    assert not app.exception
    assert "10,000 edges" in sentences(app)
    assert "from before" in sentences(app)
    assert state_of(app).run is before
    assert "max_edges" not in query_of(app)
    app.number_input(key="option.max_edges").set_value(20).run()
    assert sentences(app) == ""
    assert state_of(app).run is not before


def test_a_threshold_nothing_passes_says_so_with_the_largest_score() -> None:
    app = open_app(data="karate", lam="0.5")
    content = finished(app)
    assert content["records"] == []
    assert "0.5" in content["outcome"]["stop_reason"]
    assert content["outcome"]["certificate"]["worst_score"] > 0


def test_branching_and_the_way_back() -> None:
    app = open_app(data="karate")
    state = state_of(app)
    base = state.run
    state.begin_branch(3)
    app.run()
    assert "Branching from step 3" in "".join(element.value for element in app.markdown)
    assert app.selectbox(key="choose.data").disabled
    app.slider(key="option.alpha").set_value(0.0).run()
    state = state_of(app)
    assert query_of(app)["branch"] == "3:alpha=0"
    assert state.ghost is base
    branch = finished(app)["records"]
    base.grant()
    base.wait(EVERYTHING, 60)
    own = json.loads(base.feed_json(1, 3))["records"]
    assert [r["activated"] for r in branch[:3]] == [r["activated"] for r in own]
    app.button(key="end_branch").click().run()
    assert state_of(app).run is base
    assert "branch" not in query_of(app)


def test_a_table_can_be_brought_with_its_truth() -> None:
    app = open_app(data="upload")
    assert state_of(app).run is None
    upload_of(app, "upload.table").upload("mine.csv", csv_table()).run()
    assert not app.exception
    assert sentences(app) == ""
    state = state_of(app)
    assert state.run is not None
    assert query_of(app)["fingerprint"] == state.material.fingerprint
    upload_of(app, "upload.truth").upload("truth.csv", b"source,target\na,b\n").run()
    assert not app.exception
    assert sentences(app) == ""
    assert state_of(app).material.truth.tolist() == [[0, 1]]
    assert finished(app)["outcome"]["recall"] == 1.0


BAD_FILES = {
    "ragged": (b"a,b\n0,1\n1\n", "line 3"),
    "no rows": (b"a,b\n", "row"),
    "one row": (b"a,b\n0,1\n", "row"),
    "one column": (b"a\n0\n1\n", "column"),
    "not text": (b"a,b\n\xff\xfe\x00,1\n", "bad.csv"),
    "missing": (b"a,b\n0,1\n,1\n1,0\n", "missing"),
    "duplicate names": (b"a,a\n0,1\n1,0\n", "'a'"),
}


@pytest.mark.parametrize(("content", "fragment"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_costs_a_sentence_and_the_run_stays(content: bytes, fragment: str) -> None:
    app = open_app(data="karate")
    before = state_of(app).run
    app.selectbox(key="choose.data").set_value("upload").run()
    upload_of(app, "upload.table").upload("bad.csv", content).run()
    assert not app.exception
    assert len(app.error) == 1
    assert fragment in sentences(app)
    assert "Traceback" not in sentences(app)
    assert state_of(app).run is before


def test_missing_values_are_read_when_it_is_said_how() -> None:
    app = open_app(data="upload")
    content = csv_table() + b"\n,1,0,1,0"
    upload_of(app, "upload.table").upload("mine.csv", content).run()
    assert "missing" in sentences(app)
    app.selectbox(key="upload.missing").set_value("drop").run()
    assert not app.exception
    assert sentences(app) == ""
    assert query_of(app)["missing"] == "drop"
    assert state_of(app).run is not None


def test_places_of_the_variables_put_them_on_a_map() -> None:
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
    assert "gives no place for" in sentences(app)
    assert state_of(app).material.positions is positions


def test_truth_that_names_strangers_costs_a_sentence() -> None:
    app = open_app(data="upload")
    upload_of(app, "upload.table").upload("mine.csv", csv_table()).run()
    before = state_of(app).run
    upload_of(app, "upload.truth").upload("truth.csv", b"source,target\na,zebra\n").run()
    assert not app.exception
    assert "zebra" in sentences(app)
    assert state_of(app).run is before


def test_a_link_to_uploaded_data_asks_for_the_same_table() -> None:
    first = open_app(data="upload")
    upload_of(first, "upload.table").upload("mine.csv", csv_table()).run()
    fingerprint = state_of(first).material.fingerprint

    app = open_app(data="upload", fingerprint=fingerprint, alpha="0.5")
    assert fingerprint in "".join(element.value for element in app.info)
    upload_of(app, "upload.table").upload("other.csv", csv_table(seed=1)).run()
    assert "is not the table this link was made with" in sentences(app)
    assert state_of(app).run is None
    upload_of(app, "upload.table").upload("mine.csv", csv_table()).run()
    assert sentences(app) == ""
    assert state_of(app).material.fingerprint == fingerprint
    assert state_of(app).options()["alpha"] == 0.5
