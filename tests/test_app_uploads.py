"""Uploads on every page that takes one: its panel, the previous results, and the link."""

from __future__ import annotations

import numpy as np
import pytest
from app_pages import add_files, open_page, query_of, sentences
from streamlit.testing.v1 import AppTest

from graftviz.formats.uai import uai_text
from graftviz.sampling import random_model
from graftviz.sampling.graphs import grid_graph
from graftviz.serving.limits import limits

TABLE = b"a,b,c\n" + b"0,0,1\n1,1,0\n1,1,1\n0,1,0\n" * 20
MODEL = uai_text(random_model(grid_graph(3, 3).edges, [2] * 9, edge_sigma=0.3)).encode()
_VALUES = np.random.default_rng(0).normal(size=(60, 3)).round(3)
SERIES = "\n".join(["a,b,c", *(",".join(map(str, row)) for row in _VALUES)]).encode()
# Page → query of a quick view, key of the choice of data, and a file.
PAGES: dict[str, tuple[dict[str, str], str, tuple[str, bytes]]] = {
    "grow": ({"data": "karate", "learner": "chow-liu"}, "choose.data", ("mine.csv", TABLE)),
    "race": ({"data": "karate", "r1": "chow-liu"}, "race.data", ("mine.csv", TABLE)),
    "prune": ({"exchanges": "1"}, "prune.data", ("mine.csv", TABLE)),
    "regions": ({"side": "4"}, "region.data", ("mine.uai", MODEL)),
    "dynamics": ({"size": "8", "rows": "60"}, "dynamics.data", ("mine.csv", SERIES)),
}


def opened(page: str, **query: str) -> AppTest:
    return open_page("" if page == "grow" else page, **query)


def panel_is_open(app: AppTest) -> bool:
    """Return whether the panel with the uploaders is unfolded."""
    (panel,) = [one for one in app.main.expander if one.get("file_uploader")]
    return bool(panel.proto.expanded)


@pytest.mark.parametrize("page", PAGES)
def test_the_panel_of_an_upload_closes_once_its_file_is_used(page: str) -> None:
    app = opened(page, data="upload")
    assert panel_is_open(app)
    add_files(app, PAGES[page][2])
    app.run()
    assert sentences(app) == ""
    assert "fingerprint" in query_of(app)
    assert not panel_is_open(app)


@pytest.mark.parametrize("page", PAGES)
def test_previous_results_are_faded_until_a_file_is_uploaded(page: str) -> None:
    query, key, file = PAGES[page]
    app = opened(page, **query)
    assert not app.info
    app.selectbox(key=key).set_value("upload").run()
    assert "Still showing the previous" in app.info[0].value
    assert any("opacity" in html.value for html in app.get("html"))
    add_files(app, file)
    app.run()
    assert not app.info
    assert not any("opacity" in html.value for html in app.get("html"))


@pytest.mark.parametrize(
    ("page", "key", "row", "option"),
    [
        ("grow", "upload", b",0,1\n", "missing=drop"),
        ("race", "upload", b",0,1\n", "missing=state"),
        ("prune", "upload", b"".join(b"0,1,%d.5\n" % k for k in range(200)), "continuous=bin"),
        ("dynamics", "dynamics", b"1,,2\n1,1,1\n", "missing=interpolate"),
    ],
)
def test_import_options_that_are_advised_are_one_click_away(
    page: str, key: str, row: bytes, option: str
) -> None:
    app = opened(page, data="upload")
    name, content = PAGES[page][2]
    add_files(app, (name, content.rstrip() + b"\n" + row))
    app.run()
    assert sentences(app)
    app.button(key=f"{key}.advised.{option.replace('=', '.')}").click().run()
    assert sentences(app) == ""
    chosen, value = option.split("=")
    assert query_of(app)[chosen] == value
    assert not panel_is_open(app)


@pytest.mark.parametrize("page", PAGES)
def test_the_link_to_an_upload_says_that_it_asks_for_the_file(page: str) -> None:
    app = opened(page, data="upload")
    add_files(app, PAGES[page][2])
    app.session_state[f"{page}.link"] = True
    app.run()
    assert any("It asks for the uploaded file." in text.value for text in app.caption)


def test_the_link_to_an_inspected_file_says_so_too() -> None:
    app = opened("inspect", data="survey", learner="chow-liu")
    app.segmented_control(key="inspect.first.kind").set_value("file").run()
    add_files(app, ("mine.uai", MODEL))
    app.session_state["inspect.link"] = True
    app.run()
    assert any("It asks for the uploaded file." in text.value for text in app.caption)


def test_all_files_may_have_the_same_size() -> None:
    most = set()
    for page in (*PAGES, "inspect"):
        app = opened(page, **({"model": "0" * 16} if page == "inspect" else {"data": "upload"}))
        most |= {uploader.proto.max_upload_size_mb for uploader in app.get("file_uploader")}
    assert most == {limits().upload_memory}
