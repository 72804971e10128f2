"""Names and labels that look like markup, scripts and formulas are shown as text everywhere."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from fakes import finished_run
from hostile_files import BAD_NAMES, csv_of
from waiting import eventually

import graftviz as gv
from graftviz import Run, read_table
from graftviz.reports.figures.model import edge_figure, node_figure
from graftviz.reports.figures.style import figure_html
from graftviz.reports.files.run_folder import replay_page
from graftviz.reports.picture import graph_picture, graph_svg
from graftviz.reports.replay.records import recorded_run

pytestmark = pytest.mark.browser

TITLE = BAD_NAMES[0]
# Elements that a page would have if the names were taken for markup.
INJECTED = """[...document.querySelectorAll(
  "img, iframe, object, embed, [onerror], [onload], [href*=javascript], [href*='example.com']"
)].map((element) => element.outerHTML)"""
SCRIPTS = "document.scripts.length"


@pytest.fixture(scope="module")
def run() -> Run:
    file = io.BytesIO(csv_of(BAD_NAMES))
    file.name = "t.csv"
    return finished_run(read_table(file), gv.ChowLiu(), seed=0)


def shown_text(page: Any) -> str:
    return str(page.evaluate("document.documentElement.textContent"))


def test_replays_figures_and_pictures_show_names_as_text(
    run: Run, open_page: Callable[..., Any], show_html: Callable[[Any, str], None]
) -> None:
    page = open_page()
    show_html(page, replay_page(*recorded_run(run, title=TITLE)))
    page.locator(".gv-player .gv-body:not([hidden])").wait_for()
    page.keyboard.press("End")
    assert TITLE in page.locator(".gv-head").inner_text()
    # The list of variables has every name unchanged.
    options = page.locator("datalist option").evaluate_all("all => all.map((o) => o.value)")
    assert set(BAD_NAMES) - {"zero\u200bwidth"} <= {*options} | {o.strip() for o in options}
    assert page.evaluate(INJECTED) == []

    model = run.result().model
    beliefs = gv.infer(model)
    figures = (node_figure(model, 0, beliefs.node[0]), edge_figure(model, 0, beliefs.edge[0]))
    for figure in figures:
        show_html(page, figure_html(figure))
        eventually(page, lambda: page.locator(".main-svg").count() > 0)
        assert page.evaluate(INJECTED) == []
        assert page.locator(".main-svg a, .main-svg tspan[style*=bold]").count() == 0
    labels = " ".join(page.locator(".main-svg text").all_text_contents())
    assert "<" in labels or "alert" in labels

    show_html(page, f"<!DOCTYPE html><body>{graph_svg(graph_picture(model), model.names, TITLE)}")
    assert page.evaluate(INJECTED) == []
    assert page.evaluate(SCRIPTS) == 0
    assert TITLE in shown_text(page)


def test_app_shows_names_of_uploaded_table_as_text(
    address: str, open_page: Callable[..., Any], tmp_path: Any
) -> None:
    path = tmp_path / "<b>t.csv"
    path.write_bytes(csv_of(BAD_NAMES[:8], rows=60))
    page = open_page()
    page.goto(address + "?data=upload&learner=chow-liu")
    before = page.evaluate(SCRIPTS)
    page.locator("input[type=file]").first.set_input_files(path)
    head = page.locator(".gv-head")
    eventually(page, lambda: "<b>t.csv" in head.inner_text())
    page.get_by_role("button", name="To the end", exact=True).click()
    eventually(
        page, lambda: re.search("converged|finished", page.locator(".gv-position").inner_text())
    )
    inside = ".gv-player :is(img, iframe, b > a, [onerror], [onload], a[href*=javascript])"
    assert page.locator(inside).count() == 0
    assert page.evaluate(SCRIPTS) == before
    words = page.locator(".gv-player").inner_text()
    assert "<img src=x onerror=alert(1)>" in words or "</script>" in words
