"""Contract of uploads on every page that takes a file."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from app_pages import add_files, is_compiling, open_page, query_of, run_while, sentences
from streamlit.testing.v1 import AppTest

from graftviz.data.synthetic.graphs import grid_graph
from graftviz.data.synthetic.potentials import random_model
from graftviz.model.readwrite.uai import uai_text

TABLE = b"a,b,c\n" + b"0,0,1\n1,1,0\n1,1,1\n0,1,0\n" * 20
MODEL, OTHER_MODEL = (
    uai_text(random_model(grid_graph(3, 3).edges, [s] * 9, edge_sigma=0.3)).encode() for s in (2, 3)
)
_VALUES = np.random.default_rng(0).normal(size=(61, 3)).round(3)
SERIES, OTHER_SERIES = (
    "\n".join(["a,b,c", *(",".join(map(str, row)) for row in rows)]).encode()
    for rows in (_VALUES[:60], _VALUES[1:])
)
TABLES = (("mine.csv", TABLE), ("other.csv", TABLE + b"1,0,1\n"), ("bad.csv", b"a,b\n0,1\n1\n"))
MODELS = (("mine.uai", MODEL), ("other.uai", OTHER_MODEL), ("bad.uai", b"MARKOV\n3\n2 2"))


class Page(NamedTuple):
    """Page with uploads: a quick view, its choice of data, and three files.

    The last file cannot be read.
    """

    query: dict[str, str]
    key: str
    files: tuple[tuple[str, bytes], ...]
    upload: str = "upload"


PAGES = {
    "grow": Page({"data": "karate", "learner": "chow-liu"}, "choose.data", TABLES),
    "race": Page({"data": "karate", "r1": "chow-liu"}, "race.data", TABLES),
    "prune": Page({"exchanges": "1"}, "prune.data", TABLES),
    "budget": Page({"data": "survey", "bound": "1"}, "budget.data", TABLES),
    "regions": Page({"side": "4"}, "region.data", MODELS),
    "dynamics": Page(
        {"size": "8", "rows": "60"},
        "dynamics.data",
        (("mine.csv", SERIES), ("other.csv", OTHER_SERIES), ("bad.csv", b"time,a\n0,1\n1,x\n2,3")),
    ),
    "inspect": Page({"model": "true", "data": "grid-8x8"}, "inspect.first.kind", MODELS, "file"),
}
every_page = pytest.mark.parametrize("page", PAGES)


def settled(app: AppTest) -> AppTest:
    """Run the page until nothing is being computed."""
    waits = ("Computing marginals", "Learning this model")
    texts = (*app.caption, *app.markdown)
    return run_while(
        app, lambda: is_compiling(app) or any(w in t.value for w in waits for t in texts)
    )


def opened(page: str, **query: str) -> AppTest:
    return settled(open_page("" if page == "grow" else page, **query))


def choose_upload(app: AppTest, page: str) -> AppTest:
    """Choose an uploaded file as the data."""
    _, key, _, upload = PAGES[page]
    controls = app.segmented_control if page == "inspect" else app.selectbox
    controls(key=key).set_value(upload)
    return settled(app)


def add(app: AppTest, page: str, place: int = 0, more: bytes = b"") -> AppTest:
    """Upload one of the files of a page."""
    name, content = PAGES[page].files[place]
    if PAGES[page].files is MODELS:  # added to the others: a model may have several files
        key = "inspect.first.files" if page == "inspect" else "region.files"
        add_files(app, key, (name, content + more))
    else:
        app.file_uploader[0].upload(name, content + more)
    return settled(app)


def is_faded(app: AppTest) -> bool:
    return any("opacity" in html.value for html in app.get("html"))


def is_own(app: AppTest) -> bool:
    """Return whether the address names an uploaded file by its fingerprint."""
    query = query_of(app)
    return len(query.get("fingerprint", query.get("model", ""))) == 16


def panel_is_open(app: AppTest) -> bool:
    """Return whether the page has a panel with uploaders that is unfolded."""
    panels = [panel for panel in app.main.expander if panel.get("file_uploader")]
    return any(bool(panel.proto.expanded) for panel in panels)


@every_page
def test_results_fade_until_upload_and_second_upload_replaces_first(page: str) -> None:
    app = opened(page, **PAGES[page].query)
    assert not app.info
    choose_upload(app, page)
    assert "Still showing the previous" in app.info[0].value
    assert is_faded(app)
    assert panel_is_open(app) == (page != "inspect")
    add(app, page)
    assert (sentences(app), list(app.info), is_faded(app), panel_is_open(app)) == ("", [], False, 0)
    assert is_own(app)
    app.session_state[f"{page}.link"] = True
    app.run()
    assert any("It asks for the uploaded file." in text.value for text in app.caption)
    before = query_of(app)
    add(app, page, 1)
    assert sentences(app) == ""
    assert is_own(app)
    assert query_of(app) != before


@every_page
def test_unreadable_file_is_refused_in_one_sentence(page: str) -> None:
    app = choose_upload(opened(page, **PAGES[page].query), page)
    add(app, page, 2)
    assert len(app.error) == 1
    name = PAGES[page].files[2][0]
    assert name in sentences(app)
    notes = "".join(info.value for info in app.info)
    assert "Still showing the previous" in sentences(app) + notes
    assert not is_own(app)
    add(app, page)
    assert sentences(app) == ""
    assert is_own(app)


@every_page
def test_link_to_upload_requires_same_file(page: str) -> None:
    first = choose_upload(opened(page, **PAGES[page].query), page)
    query = query_of(add(first, page))
    fingerprint = query.get("fingerprint", query.get("model", ""))
    app = opened(page, **query)
    assert fingerprint in app.info[0].value
    add(app, page, 1)
    assert f"not {fingerprint}" in sentences(app)
    assert query_of(app) == query
    add(app, page)
    assert sentences(app) == ""
    assert query_of(app) == query
    other = add(opened(page, **query), page, 1)
    next(box for box in other.checkbox if "different" in box.label).check()
    settled(other)
    assert sentences(other) == ""
    assert query_of(other) != query


@pytest.mark.parametrize(
    ("page", "key", "row", "option"),
    [
        ("grow", "upload", b",0,1\n", "missing=drop"),
        ("race", "upload", b",0,1\n", "missing=state"),
        ("prune", "upload", b"".join(b"0,1,%d.5\n" % k for k in range(200)), "continuous=bin"),
        ("budget", "upload", b",0,1\n", "missing=drop"),
        ("dynamics", "dynamics", b"\n1,,2\n1,1,1\n", "missing=interpolate"),
    ],
)
def test_advised_import_option_is_set_by_one_click(
    page: str, key: str, row: bytes, option: str
) -> None:
    app = add(opened(page, data="upload"), page, more=row)
    assert sentences(app)
    app.button(key=f"{key}.advised.{option.replace('=', '.')}").click().run()
    assert sentences(app) == ""
    chosen, value = option.split("=")
    assert query_of(app)[chosen] == value
    assert not panel_is_open(app)
