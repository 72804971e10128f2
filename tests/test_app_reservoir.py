"""The Reservoir page without a browser: it opens, follows its controls, survives bad links."""

from __future__ import annotations

from typing import Any

from app_pages import open_page, query_of
from streamlit.testing.v1 import AppTest


def texts(app: AppTest) -> str:
    return "\n".join(element.value for element in app.markdown).replace("\\", "")


def charts(app: AppTest) -> list[Any]:
    return list(app.get("plotly_chart"))


def test_controls_change_the_picture_and_the_address() -> None:
    app = open_page("reservoir", data="karate")
    before = [chart.proto.spec for chart in charts(app)]
    app.slider(key="reservoir.alpha").set_value(0.0).run()
    assert "α = 0 takes all above the mean" in texts(app)
    after = [chart.proto.spec for chart in charts(app)]
    assert after[:2] == before[:2]  # α asks the same reservoirs, nothing is learned again
    assert after[2] != before[2]
    app.session_state["reservoir.Advanced"] = True
    app.run()
    app.number_input(key="reservoir.n").set_value(50).run()
    assert "of all 1,225 pairs" in texts(app)
    app.slider(key="reservoir.reservoir").set_value(5).run()
    app.toggle(key="reservoir.logarithmic").set_value(True).run()
    app.slider(key="reservoir.step").set_value(3).run()
    assert "The best of 5 draws" in texts(app)
    assert query_of(app) == {
        "data": "karate",
        "alpha": "0",
        "n": "50",
        "reservoir": "5",
        "logarithmic": "true",
        "step": "3",
    }
    assert texts(open_page("reservoir", **query_of(app))) == texts(app)


def test_a_link_from_another_page_counts_again() -> None:
    """The page has written this address itself, but here it is followed anew."""
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
