"""The Inspect page without a browser: it opens, answers, and refuses in sentences."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import pytest
from app_pages import COMPILING, add_files, page_at, query_of, run_while
from streamlit.testing.v1 import AppTest
from waiting import wait_until

from graftviz.formats.graphml import model_graphml
from graftviz.formats.uai import names_text, uai_text
from graftviz.model import PairwiseMRF

WEATHER = PairwiseMRF.from_tables(
    [np.array([0.5, 0.0]), np.zeros(3), np.zeros(2)],
    {(0, 1): np.array([[0.9, 0.0, -0.9], [-0.9, 0.0, 0.9]]), (1, 2): np.ones((3, 2))},
    names=("rain", "wind", "snow"),
    labels=(("no", "yes"), ("calm", "breeze", "storm"), ("no", "yes")),
)
FOREIGN = b"""<graphml><key id="w" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="undirected"><node id="a"/><node id="b"/>
<edge source="a" target="b"><data key="w">0.5</data></edge></graph></graphml>"""


def run_until_answered(app: AppTest) -> AppTest:
    """Run the page until it waits for nothing: engine, run, marginals."""
    waits = ("Computing marginals", "Learning this model")
    return run_while(app, lambda: app.get("progress") or any(w in texts(app) for w in waits))


def open_inspect(**query: str) -> AppTest:
    return run_until_answered(page_at("inspect", **query))


def texts(app: AppTest) -> str:
    """Return what can be read on the page, tables and figures aside."""
    parts = (*app.markdown, *app.caption, *app.warning, *app.error, *app.info)
    return "\n".join(element.value for element in parts).replace("\\", "")


def bring(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
    if app.segmented_control(key="inspect.first.kind").value != "file":
        app.segmented_control(key="inspect.first.kind").set_value("file").run()
    app.file_uploader[0].set_value([(name, content, "") for name, content in files])
    return run_until_answered(app)


def charts(app: AppTest) -> list[str]:
    return [chart.proto.id.split("-")[-1] for chart in app.get("plotly_chart")]


def variables(app: AppTest) -> Any:
    """Return the table of variables."""
    return next(frame.value for frame in app.dataframe if "degree" in frame.value.columns)


def state_of(app: AppTest) -> Any:
    return app.session_state["inspect"]


def test_it_opens_with_what_the_grow_page_would_show() -> None:
    app = open_inspect()
    assert not app.warning
    assert not app.error
    assert "Scale-free sample · Best-choice edge grafting (paper) · end of the run" in texts(app)
    assert "Marginals: Exact inference (junction tree), width" in texts(app)
    assert ":gray[none]" in texts(app)
    assert charts(app) == ["inspect_degrees"]
    assert len(variables(app)) == 60
    assert {"variable", "rank", "entropy", "marginal"} <= set(variables(app).columns)
    assert query_of(app) == {}


def test_a_link_opens_a_node_with_evidence_and_the_controls_change_it() -> None:
    app = open_inspect(data="karate", step="20", node="3", evidence="0:1")
    assert "Karate club" in texts(app)
    assert "step 20" in texts(app)
    assert "The evidence has probability" in texts(app)
    assert charts(app)[0] == "inspect_node"
    assert state_of(app).first.run.wait(10**9, COMPILING)
    app.run()
    steps = f"inspect.first.{state_of(app).first.run.computed}.step"
    assert app.slider(key=steps).value == 20
    assert app.button(key="inspect.forget.0").label == "member 1 = 1 ✕"
    before = variables(app)["posterior: most likely"].tolist()
    app.button_group(key="inspect.observe.3").set_value(2)
    run_until_answered(app)
    assert query_of(app)["evidence"] == "0:1,3:2"
    after = variables(app)["posterior: most likely"].tolist()
    assert after != before
    assert after[3] == "2 (1.00)"
    app.button(key="inspect.forget.0").click()
    run_until_answered(app)
    assert query_of(app)["evidence"] == "3:2"
    app.button(key="inspect.forget_all").click()
    run_until_answered(app)
    app.button(key="inspect.unselect").click()
    run_until_answered(app)
    assert query_of(app) == {"data": "karate", "step": "20"}
    app.slider(key=steps).set_value(5)
    run_until_answered(app)
    assert query_of(app) == {"data": "karate", "step": "5"}


def run_with_old_value(app: AppTest, old: Any) -> AppTest:
    """Run the page with the next message of a browser in which a control was folded away.

    Such a control has missed what the server set, and its old value is sent again.
    """
    states = app._tree.get_widget_states()
    others = [state for state in states.widgets if state.id != old.id]
    del states.widgets[:]
    states.widgets.extend([*others, old])
    app._run(states)
    return run_until_answered(app)


@pytest.mark.parametrize("key", ["inspect.forget.3", "inspect.forget_all"])
def test_cleared_evidence_does_not_return(key: str) -> None:
    app = open_inspect(model="true", data="grid-8x8")
    app.selectbox(key="inspect.observe.variable").set_value(3).run()
    states = app.button_group(key="inspect.observe.state.3").set_value(0)
    old = states._widget_state
    run_until_answered(app)
    assert query_of(app)["evidence"] == "3:0"
    app.button(key=key).click()
    run_until_answered(app)
    assert "evidence" not in query_of(app)
    run_with_old_value(app, old)
    assert "evidence" not in query_of(app)
    assert ":gray[none]" in texts(app)
    # The control can be used again.
    again = next(g for g in app.button_group if (g.key or "").startswith("inspect.observe.state.3"))
    again.set_value(1)
    run_until_answered(app)
    assert query_of(app)["evidence"] == "3:1"


def test_settings_survive_a_visit_of_another_page_after_the_model_was_released() -> None:
    app = open_inspect()
    app.selectbox(key="inspect.first.data").set_value("karate")
    run_until_answered(app)
    state_of(app).forget()  # as after a break
    app.query_params.clear()
    app.switch_page("pages/lessons.py").run()
    app.switch_page("pages/inspect.py")
    app.query_params.clear()
    run_until_answered(app)
    assert query_of(app) == {"data": "karate"}


def test_an_edge_shows_its_heat_maps_and_leads_to_its_ends() -> None:
    app = open_inspect(model="true", data="scale-free-60", edge="0-2")
    assert "x0 – x2" in texts(app)
    assert "mutual information" in texts(app)
    assert charts(app)[0] == "inspect_edge"
    app.button(key="inspect.end.2").click()
    run_until_answered(app)
    assert query_of(app) == {"model": "true", "node": "2"}
    assert charts(app)[0] == "inspect_node"
    app.button(key="inspect.certify").click()
    run_until_answered(app)
    wait_until(
        lambda: "A region of" in texts(app), COMPILING, pause=lambda: run_until_answered(app)
    )


def test_two_models_are_compared() -> None:
    app = open_inspect(data="scale-free-60", learner="chow-liu")
    app.toggle(key="inspect.compares").set_value(True)
    run_until_answered(app)
    assert query_of(app)["with"] == "model=true;data=scale-free-60"
    assert "only in the second." in texts(app)
    assert "inspect_norms" in charts(app)
    again = open_inspect(**query_of(app))
    assert texts(again) == texts(app)
    app.segmented_control(key="inspect.second.kind").set_value("learned")
    run_until_answered(app)
    assert "Second: Scale-free sample" in texts(app)


def test_the_grow_page_leads_here_at_the_step_it_shows() -> None:
    app = run_until_answered(page_at("", data="karate", step="7"))
    app.menu_button(key="grow.tools").click("inspect")
    run_until_answered(app)
    assert "Karate club · Best-choice edge grafting (paper) · step 7" in texts(app)
    assert state_of(app).first.learned.run is None  # nothing was learned again


def archive(**files: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return content.getvalue()


UAI, NAMES = uai_text(WEATHER).encode(), names_text(WEATHER).encode()


@pytest.mark.parametrize(
    "files",
    [
        [("weather.uai", UAI), ("weather.names.json", NAMES)],
        [("graph.graphml", model_graphml(WEATHER))],
        [("learned.zip", archive(**{"learned/model.uai": UAI, "learned/model.names.json": NAMES}))],
    ],
    ids=["uai", "graphml", "zip"],
)
def test_a_model_from_a_file_is_inspected(files: list[tuple[str, bytes]]) -> None:
    app = bring(open_inspect(model="true", data="grid-8x8"), *files)
    assert not app.error
    assert "3 variables with 2 to 3 states, 2 edges." in texts(app)
    assert variables(app)["variable"].tolist() == ["rain", "wind", "snow"]
    assert len(query_of(app)["model"]) == 16
    # Its names and states can be observed from the list too.
    app.selectbox(key="inspect.observe.variable").set_value(1).run()
    app.button_group(key="inspect.observe.state.1").set_value(2)
    run_until_answered(app)
    assert "wind = storm ✕" in [button.label for button in app.button]


def upload_to_page(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
    add_files(app, *files)
    return run_until_answered(app)


def test_a_model_uploaded_later_replaces_the_first() -> None:
    app = open_inspect(model="true", data="grid-8x8")
    app.segmented_control(key="inspect.first.kind").set_value("file").run()
    upload_to_page(app, ("weather.uai", UAI))
    assert variables(app)["variable"].tolist() == ["x0", "x1", "x2"]
    upload_to_page(app, ("weather.names.json", NAMES))  # belongs to the model before it
    assert variables(app)["variable"].tolist() == ["rain", "wind", "snow"]
    upload_to_page(app, ("friends.graphml", FOREIGN))
    assert not app.error
    assert variables(app)["variable"].tolist() == ["a", "b"]
    upload_to_page(app, ("weather.uai", UAI), ("weather.names.json", NAMES))
    assert variables(app)["variable"].tolist() == ["rain", "wind", "snow"]


def test_a_link_to_an_uploaded_model_asks_for_it_on_the_page() -> None:
    app = bring(open_inspect(model="true", data="grid-8x8"), ("friends.graphml", FOREIGN))
    other = open_inspect(**query_of(app))
    assert any("fingerprint" in info.value for info in other.main.info)
    assert len(other.main.file_uploader) == 1
    assert not other.sidebar.file_uploader
    upload_to_page(other, ("friends.graphml", FOREIGN))
    assert variables(other)["variable"].tolist() == ["a", "b"]
    run_until_answered(other)
    assert variables(other)["variable"].tolist() == ["a", "b"]
    assert len(other.sidebar.file_uploader) == 1
    assert query_of(other) == query_of(app)


def test_results_from_before_are_faded_until_a_file_is_uploaded() -> None:
    app = open_inspect(model="true", data="grid-8x8")
    assert not app.info
    app.segmented_control(key="inspect.first.kind").set_value("file")
    run_until_answered(app)
    assert "Still showing the previous model, faded." in texts(app)
    assert any("opacity" in html.value for html in app.get("html"))
    upload_to_page(app, ("friends.graphml", FOREIGN))
    assert "Still showing" not in texts(app)


def test_a_graph_from_elsewhere_is_an_ising_model_and_the_page_says_so() -> None:
    app = bring(open_inspect(model="true", data="grid-8x8"), ("friends.graphml", FOREIGN))
    assert "read as an Ising model" in texts(app)
    assert variables(app)["variable"].tolist() == ["a", "b"]


BAD_FILES = {
    "cut": ("m.uai", b"MARKOV 2 2", "is truncated"),
    "binary": ("m.uai", b"\xff\xfe\x00", "not plain text"),
    "xml": ("m.graphml", b"<graphml", "not well-formed XML"),
    "zip": ("m.zip", b"PK", "not a readable ZIP archive"),
    "json": ("m.json", b"[]", "not a graph"),
    "markup": ("<b>.graphml", b"<svg/>", "not GraphML"),
}


def test_bad_files_cost_a_sentence_and_nothing_else() -> None:
    app = open_inspect(model="true", data="grid-8x8", node="5")
    before = texts(app)
    assert "64 variables" in before
    for name, content, sentence in BAD_FILES.values():
        bring(app, (name, content))
        assert len(app.error) == 1
        assert sentence in texts(app)
        assert "Still showing the previous model." in texts(app)
        assert "64 variables" in texts(app)
        assert state_of(app).node == 5
    bring(app, ("a.uai", UAI), ("b.uai", UAI))
    assert "2 models" in texts(app)
    bring(app, ("m.uai", UAI))
    assert not app.error
    assert "3 variables" in texts(app)


@pytest.mark.parametrize(
    ("query", "sentences"),
    [
        ({"node": "999", "edge": "1-1", "evidence": "x,3:9"}, 4),
        ({"data": "<b>", "learner": "nobody", "step": "-1", "y": "z"}, 4),
        ({"method": "magic", "model": "[click](http://x)", "with": "data=nothing"}, 3),
        ({"evidence": "0:0,999:1,1:77"}, 2),
        ({"lam": "nan", "alpha": "7", "seed": "1e99"}, 3),
    ],
)
def test_a_link_that_cannot_be_used_costs_sentences_only(
    query: dict[str, str], sentences: int
) -> None:
    app = open_inspect(**query)
    assert len(app.warning) == 1
    assert len(app.warning[0].value.split("\n\n")) == sentences
    assert not app.error
    assert len(app.dataframe) >= 2
    assert "](" not in app.warning[0].value.replace("\\", "\0")


def test_a_link_to_somebodys_file_asks_for_it() -> None:
    app = open_inspect(model="0123456789abcdef")
    assert "Upload the same file (fingerprint 0123456789abcdef)" in texts(app)
    assert not app.dataframe
    bring(app, ("m.uai", UAI))
    assert "is not the model of the link" in texts(app)
    app.checkbox(key="inspect.first.any_file").set_value(True)
    run_until_answered(app)
    assert not app.error
    assert "3 variables" in texts(app)


def test_contradictory_evidence_is_said_and_the_rest_is_kept() -> None:
    hard = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    model = PairwiseMRF.from_tables([np.zeros(2)] * 3, {(0, 1): hard, (1, 2): np.eye(2)})
    app = bring(open_inspect(model="true", data="grid-8x8"), ("m.graphml", model_graphml(model)))
    state_of(app).observe(0, 1)
    state_of(app).select(1)
    run_until_answered(app)
    app.button_group(key="inspect.observe.1").set_value(0)
    run_until_answered(app)
    assert "x1 = 0 has probability zero given the other evidence" in texts(app)
    assert query_of(app)["evidence"] == "0:1"


@pytest.mark.parametrize("method", ["bp", "exact"])
def test_the_method_can_be_chosen(method: str) -> None:
    app = open_inspect(model="true", data="grid-8x8")
    app.radio(key="inspect.method.choice").set_value(method)
    run_until_answered(app)
    assert query_of(app)["method"] == method
    assert {"bp": "Belief propagation", "exact": "Exact inference"}[method] in texts(app)


def test_a_method_that_is_too_expensive_is_refused_in_the_words_of_the_page() -> None:
    app = open_inspect(model="true", data="scale-free-200", method="exact")
    assert len(app.error) == 1
    assert "try belief propagation under “Method”" in texts(app)
    assert len(variables(app)) == 200
    app.radio(key="inspect.method.choice").set_value("automatic")
    run_until_answered(app)
    assert not app.error
    assert "exact inference would need" in texts(app)


def test_searching_shortens_the_tables() -> None:
    app = open_inspect(data="les-miserables", learner="chow-liu")
    app.text_input(key="inspect.search.nodes").set_value("valj")
    run_until_answered(app)
    assert variables(app)["variable"].tolist() == ["Valjean"]
    assert "1 of 77" in texts(app)


def test_models_of_one_and_of_two_variables_can_be_looked_at() -> None:
    app = bring(
        open_inspect(model="true", data="grid-8x8"),
        ("one.graphml", model_graphml(PairwiseMRF.from_tables([np.zeros(3)], {}))),
    )
    assert "1 variable with 3 states, 0 edges." in texts(app)
    state_of(app).select(0)
    run_until_answered(app)
    assert "No neighbours" in texts(app)
    two = PairwiseMRF.from_tables([np.zeros(2)] * 2, {(0, 1): np.eye(2)})
    bring(app, ("two.graphml", model_graphml(two)))
    state_of(app).select(0, 1)
    run_until_answered(app)
    assert charts(app)[0] == "inspect_edge"
