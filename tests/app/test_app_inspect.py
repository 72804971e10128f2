"""Inspect page without a browser: it opens, answers, and refuses in sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from app_pages import COMPILING, add_files, is_compiling, page_at, query_of, run_while
from streamlit.testing.v1 import AppTest

from graftviz import PairwiseMRF
from graftviz.model.readwrite.graphml import model_graphml
from graftviz.model.readwrite.uai import names_text, uai_text

WEATHER = PairwiseMRF.from_tables(
    [np.array([0.5, 0.0]), np.zeros(3), np.zeros(2)],
    {(0, 1): np.array([[0.9, 0.0, -0.9], [-0.9, 0.0, 0.9]]), (1, 2): np.ones((3, 2))},
    names=("rain", "wind", "snow"),
    labels=(("no", "yes"), ("calm", "breeze", "storm"), ("no", "yes")),
)
MODEL_FILES = "inspect.first.files"
FOREIGN = b"""<graphml><key id="w" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="undirected"><node id="a"/><node id="b"/>
<edge source="a" target="b"><data key="w">0.5</data></edge></graph></graphml>"""


def run_until_done(app: AppTest) -> AppTest:
    """Run the page until engine, run and marginals are computed."""
    waits = ("Computing marginals", "Learning this model")
    return run_while(app, lambda: is_compiling(app) or any(w in texts(app) for w in waits))


def open_inspect(**query: str) -> AppTest:
    return run_until_done(page_at("inspect", **query))


def texts(app: AppTest) -> str:
    """Return the texts of the page, without tables and figures."""
    parts = (*app.markdown, *app.caption, *app.warning, *app.error, *app.info)
    return "\n".join(element.value for element in parts).replace("\\", "")


def choose_files(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
    if app.segmented_control(key="inspect.first.kind").value != "file":
        app.segmented_control(key="inspect.first.kind").set_value("file").run()
    app.file_uploader(key=MODEL_FILES).set_value([(name, content, "") for name, content in files])
    return run_until_done(app)


def charts(app: AppTest) -> list[str]:
    return [chart.proto.id.split("-")[-1] for chart in app.get("plotly_chart")]


def variables(app: AppTest) -> Any:
    """Return the table of variables."""
    return next(frame.value for frame in app.dataframe if "degree" in frame.value.columns)


def state_of(app: AppTest) -> Any:
    return app.session_state["inspect"]


def test_link_opens_node_with_evidence_and_controls_change_it() -> None:
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
    run_until_done(app)
    assert query_of(app)["evidence"] == "0:1,3:2"
    after = variables(app)["posterior: most likely"].tolist()
    assert after != before
    assert after[3] == "2 (1.00)"
    app.button(key="inspect.forget.0").click()
    run_until_done(app)
    assert query_of(app)["evidence"] == "3:2"
    app.button(key="inspect.forget_all").click()
    run_until_done(app)
    app.button(key="inspect.unselect").click()
    run_until_done(app)
    assert query_of(app) == {"data": "karate", "step": "20"}
    app.slider(key=steps).set_value(5)
    run_until_done(app)
    assert query_of(app) == {"data": "karate", "step": "5"}


def run_with_old_value(app: AppTest, old: Any) -> AppTest:
    """Run the page with the next message of a browser in which a control was folded away.

    Such a control has missed what the server set, and its old value is sent again.
    """
    states = app._tree.get_widget_states()
    remaining = [state for state in states.widgets if state.id != old.id]
    del states.widgets[:]
    states.widgets.extend([*remaining, old])
    app._run(states)
    return run_until_done(app)


@pytest.mark.parametrize("key", ["inspect.forget.3", "inspect.forget_all"])
def test_cleared_evidence_does_not_return(key: str) -> None:
    app = open_inspect(model="true", data="grid-8x8")
    app.selectbox(key="inspect.observe.variable").set_value(3).run()
    states = app.button_group(key="inspect.observe.state.3").set_value(0)
    old = states._widget_state
    run_until_done(app)
    assert query_of(app)["evidence"] == "3:0"
    app.button(key=key).click()
    run_until_done(app)
    assert "evidence" not in query_of(app)
    run_with_old_value(app, old)
    assert "evidence" not in query_of(app)
    assert ":gray[none]" in texts(app)
    # The control can be used again.
    again = next(g for g in app.button_group if (g.key or "").startswith("inspect.observe.state.3"))
    again.set_value(1)
    run_until_done(app)
    assert query_of(app)["evidence"] == "3:1"


def test_settings_survive_release_of_model_and_visit_of_another_page() -> None:
    app = open_inspect()
    app.selectbox(key="inspect.first.data").set_value("karate")
    run_until_done(app)
    state_of(app).forget()  # as after a session without requests
    app.query_params.clear()
    app.switch_page("pages/lessons.py").run()
    app.switch_page("pages/inspect.py")
    app.query_params.clear()
    run_until_done(app)
    assert query_of(app) == {"data": "karate"}


def test_two_models_are_compared() -> None:
    app = open_inspect(data="scale-free-60", learner="chow-liu")
    app.toggle(key="inspect.compares").set_value(True)
    run_until_done(app)
    assert query_of(app)["with"] == "model=true;data=scale-free-60"
    assert "only in the second." in texts(app)
    assert "inspect_norms" in charts(app)
    assert [metric.label for metric in app.metric] == ["Recall", "Precision", "F1"]
    assert "The marginals differ most at" in texts(app)
    (distances,) = (f.value for f in app.dataframe if "distance" in f.value.columns)
    assert len(distances) == 60
    assert distances["distance"].is_monotonic_decreasing
    again = open_inspect(**query_of(app))
    assert texts(again) == texts(app)
    app.segmented_control(key="inspect.second.kind").set_value("learned")
    run_until_done(app)
    assert "Second: Scale-free sample" in texts(app)


UAI, NAMES = uai_text(WEATHER).encode(), names_text(WEATHER).encode()


def upload_to_page(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
    add_files(app, MODEL_FILES, *files)
    return run_until_done(app)


def test_second_uploaded_model_replaces_first() -> None:
    app = open_inspect(model="true", data="grid-8x8")
    app.segmented_control(key="inspect.first.kind").set_value("file").run()
    upload_to_page(app, ("weather.uai", UAI))
    assert variables(app)["variable"].tolist() == ["x0", "x1", "x2"]
    upload_to_page(app, ("weather.names.json", NAMES))  # names of the model uploaded before
    assert variables(app)["variable"].tolist() == ["rain", "wind", "snow"]
    upload_to_page(app, ("friends.graphml", FOREIGN))
    assert not app.error
    assert variables(app)["variable"].tolist() == ["a", "b"]
    upload_to_page(app, ("weather.uai", UAI), ("weather.names.json", NAMES))
    assert variables(app)["variable"].tolist() == ["rain", "wind", "snow"]


def test_edges_of_a_file_are_filtered_by_step() -> None:
    app = open_inspect(model="true", data="grid-8x8")
    choose_files(app, ("weather.graphml", model_graphml(WEATHER, [3, 1])))
    app.slider(key="inspect.drawn.steps.3").set_value((1, 2))
    run_until_done(app)
    assert "1 of 2 edges match the filter." in texts(app)
    assert state_of(app).inspected().picture.numbers.tolist() == [1]


def test_models_of_one_and_of_two_variables_are_shown() -> None:
    app = choose_files(
        open_inspect(model="true", data="grid-8x8"),
        ("one.graphml", model_graphml(PairwiseMRF.from_tables([np.zeros(3)], {}))),
    )
    assert "1 variable with 3 states, 0 edges." in texts(app)
    state_of(app).select(0)
    run_until_done(app)
    assert "No neighbours" in texts(app)
    two = PairwiseMRF.from_tables([np.zeros(2)] * 2, {(0, 1): np.eye(2)})
    choose_files(app, ("two.graphml", model_graphml(two)))
    state_of(app).select(0, 1)
    run_until_done(app)
    assert charts(app)[0] == "inspect_edge"


def test_graph_is_filtered_and_shown_as_matrix() -> None:
    app = open_inspect(
        data="karate", step="20", node="0", steps="2-15", weight_from="0.3", depth="1"
    )
    state = state_of(app)
    steps = np.array(state.loaded.steps)
    norms = state.loaded.model.edge_norms()
    matches = (steps >= 2) & (steps <= 15) & (norms >= 0.3 * norms.max())
    picture = state.inspected().picture
    assert picture.centre == 0
    assert set(picture.numbers.tolist()) <= set(np.flatnonzero(matches).tolist())
    assert f"{int(matches.sum())} of {len(matches)} edges match the filter." in texts(app)
    assert "the selected one and those at most 1 edge away" in texts(app)
    app.slider(key="inspect.drawn.depth").set_value(0)
    run_until_done(app)
    assert set(state_of(app).inspected().picture.numbers.tolist()) == set(np.flatnonzero(matches))
    app.slider(key=f"inspect.drawn.steps.{steps.max()}").set_value((1, int(steps.max())))
    run_until_done(app)
    app.slider(key="inspect.drawn.weight_from").set_value(0.0)
    run_until_done(app)
    assert query_of(app) == {"data": "karate", "step": "20", "node": "0"}
    assert "match the filter" not in texts(app)
    app.button_group(key="inspect.drawn.picture").set_value("matrix")
    run_until_done(app)
    assert query_of(app)["picture"] == "matrix"
    assert "inspect_matrix" in charts(app)
    assert "of more than one variable; the largest has" in texts(app)


def test_neighbourhood_needs_selected_node() -> None:
    app = open_inspect(data="karate", learner="chow-liu", depth="2", steps="a")
    assert "Select a node to draw its neighbourhood." in texts(app)
    assert "Steps are written as 3-20" in texts(app)
    assert len(state_of(app).inspected().picture.nodes) == 34


def test_a_query_and_an_evidence_file() -> None:
    app = open_inspect(data="survey", learner="chow-liu", query="3,1,77")
    assert "others were removed from the query." in texts(app)
    query = app.multiselect(key="inspect.query")
    assert query.label == "Variables"
    assert "P(wakes up, commute). By exact inference." in texts(app)
    (joint,) = (f.value for f in app.dataframe if "Probability" in f.value.columns)
    assert abs(joint["Probability"].sum() - 1.0) < 1e-9
    assert "log Z = " in texts(app)
    app.file_uploader(key="inspect.evidence.file").upload("a.evid", b"2 0 1 2 0")
    run_until_done(app)
    assert query_of(app)["evidence"] == "0:1,2:0"
    assert query_of(app)["query"] == "3,1"
    assert "P(wakes up, commute | home =" in texts(app)
    app.button(key="inspect.forget_all").click()
    run_until_done(app)
    assert "evidence" not in query_of(app)
    app.file_uploader(key="inspect.evidence.file").upload("b.evid", b"1 99 1")
    run_until_done(app)
    assert "an observed variable" in texts(app)
    assert "evidence" not in query_of(app)


def test_groups_of_rows_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graftviz.app.inspect_groups.PERMUTATIONS", (9, 199))
    app = open_inspect(data="survey", learner="chow-liu")
    app.selectbox(key="inspect.groups.column..11").set_value(7).run()
    app.select_slider(key="inspect.groups.permutations").set_value(9).run()
    app.button(key="inspect.groups.begin").click()
    run_while(app, lambda: app.get("progress"))
    assert "Global strength" in texts(app)
    (edges,) = (f.value for f in app.dataframe if "p_adjusted" in f.value.columns)
    assert ((edges["p"] >= 0.1) & (edges["p"] <= edges["p_adjusted"])).all()
    assert not {"garden"} & {*edges["source"], *edges["target"]}  # the grouping column
    app.segmented_control(key="inspect.groups.rows").set_value(True).run()
    assert "Global strength" not in texts(app)
    table = b"a,b\n" + b"no,1\nyes,2\nyes,1\nno,2\n" * 20
    app.file_uploader(key="inspect.groups.first").upload("a.csv", table).run()
    assert app.selectbox(key="inspect.groups.column..2").options == ["a", "b"]
    other = table.replace(b"no,1", b"maybe,1")
    app.file_uploader(key="inspect.groups.second").upload("b.csv", other).run()
    app.button(key="inspect.groups.begin").click()
    run_while(app, lambda: app.get("progress"))
    assert "Groups of 80 and 80 rows" in texts(app)
    wrong = b"a,c\n" + b"no,1\nyes,2\n" * 20
    app.file_uploader(key="inspect.groups.second").upload("c.csv", wrong).run()
    app.button(key="inspect.groups.begin").click().run()
    assert "'b' is in one of them only" in texts(app)
