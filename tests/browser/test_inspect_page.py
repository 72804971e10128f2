"""The Inspect page in a browser: nodes, evidence, edges and saved files."""

from __future__ import annotations

import re
from typing import Any

import pytest
from waiting import eventually

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.browser

COMPILING = 400_000  # ms of the first start, which compiles the engine
SOON = 60_000  # ms on a busy machine
CHOW_LIU = "data=karate&learner=chow-liu"


def open_inspect(page: Any, address: str, query: str) -> Any:
    """Open the page from the Grow page, wait for the marginals and return the graph."""
    page.set_default_timeout(SOON)
    page.goto(f"{address}?{query}")
    page.get_by_role("button", name="Analyse").click(timeout=COMPILING)
    page.get_by_role("menuitem", name="Inspect this model").click()
    page.get_by_text(re.compile("^Marginals: ")).wait_for(timeout=COMPILING)
    graph = page.locator(".gv-inspect canvas")
    graph.wait_for()
    return graph


def click(page: Any, graph: Any, i: int, j: int | None = None) -> None:
    """Click a node, or the middle of an edge."""
    graph.scroll_into_view_if_needed()
    x, y = graph.evaluate(
        "({ picture }, ends) => picture.middle(ends.map((i) => picture.number.get(i)))",
        [i, i if j is None else j],
    )
    box = graph.bounding_box()
    page.mouse.click(box["x"] + x, box["y"] + y)


def heading(page: Any, text: str) -> Any:
    return page.get_by_role("heading", name=text, exact=True)


def picture(graph: Any) -> str:
    """Return the picture on the canvas."""
    return graph.evaluate("(canvas) => canvas.toDataURL()")


def posterior(page: Any) -> str:
    """Return the numbers beside the bars of the selected node."""
    figure = page.locator(".st-key-inspect_node .js-plotly-plot")
    page.wait_for_timeout(300)  # while it is redrawn there are two or none
    expect(figure).to_have_count(1, timeout=SOON)
    return figure.last.inner_text()


def test_search_neighbourhood_and_matrix(open_page: Any, address: str, until: Any) -> None:
    page = open_page()
    graph = open_inspect(page, address, CHOW_LIU)
    graph.focus()
    page.keyboard.press("f")
    page.keyboard.type("member 34")
    page.keyboard.press("Enter")
    heading(page, "member 34").wait_for(timeout=SOON)
    until(page, "location.search.includes('node=33')")
    depth = page.get_by_role("slider", name="Neighbourhood of the selected node")
    depth.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text("at most 1 edge away").wait_for(timeout=SOON)
    until(page, "location.search.includes('depth=1')")
    near = graph.evaluate("({ picture }) => picture.data.nodes.length")
    assert 1 < near < 34
    page.get_by_role("slider", name="Edges from").focus()
    page.keyboard.press("End")
    page.get_by_text("edges match the filter").wait_for(timeout=SOON)
    page.get_by_role("radio", name="Matrix").click()
    page.locator(".st-key-inspect_matrix .js-plotly-plot").wait_for(timeout=SOON)
    page.get_by_role("radio", name="Graph").click()
    graph.wait_for(timeout=SOON)


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (390, True)])
def test_evidence_at_clicked_node_changes_all_posteriors(
    open_page: Any, address: str, until: Any, width: int, dark: bool
) -> None:
    page = open_page(width=width, dark=dark)
    graph = open_inspect(page, address, CHOW_LIU)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    plain = picture(graph)
    click(page, graph, 0)
    heading(page, "member 1").wait_for(timeout=SOON)
    until(page, "location.search.includes('node=0')")
    before = posterior(page)
    states = page.get_by_role("group", name="Observe a state").or_(
        page.get_by_role("radiogroup", name="Observe a state")
    )
    states.get_by_text("2", exact=True).click()
    page.get_by_role("button", name="member 1 = 2").wait_for(timeout=SOON)
    page.get_by_text("The evidence has probability").wait_for(timeout=SOON)
    until(page, "location.search.includes('evidence=0%3A2')")
    eventually(page, lambda: posterior(page) != before)
    eventually(page, lambda: "1.00" in posterior(page))
    page.get_by_text("changed most").wait_for(timeout=SOON)
    eventually(page, lambda: picture(graph) != plain)
    # Another node shows its marginal without and with the evidence.
    click(page, graph, 33)
    heading(page, "member 34").wait_for(timeout=SOON)
    eventually(page, lambda: "given the evidence" in posterior(page))
    page.get_by_role("button", name="member 1 = 2").click()
    page.locator(".st-key-evidence").get_by_text("none", exact=True).wait_for(timeout=SOON)
    until(page, "!location.search.includes('evidence')")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_clicked_edge_links_to_its_ends(browser_page: Any, address: str, until: Any) -> None:
    page = browser_page
    graph = open_inspect(page, address, CHOW_LIU)
    i, j = graph.evaluate("({ picture }) => picture.data.edges")[0][:2]
    click(page, graph, i, j)
    until(page, f"location.search.includes('edge={i}-{j}')")
    page.locator(".st-key-inspect_edge .js-plotly-plot").wait_for(timeout=SOON)
    page.get_by_text("mutual information").wait_for(timeout=SOON)
    page.get_by_role("button", name=f"member {j + 1}", exact=True).click()
    until(page, f"location.search.includes('node={j}')")
    # Keys: the next node by degree, then no selection.
    graph.focus()
    page.keyboard.press("ArrowRight")
    until(page, f"!location.search.includes('node={j}')")
    page.keyboard.press("Escape")
    until(page, "!location.search.includes('node=')")
    page.keyboard.press("e")
    until(page, "location.search.includes('edge=')")


def test_picture_and_model_are_saved(browser_page: Any, address: str) -> None:
    page = browser_page
    open_inspect(page, address, CHOW_LIU)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save this picture (PNG)").click()
    with open(saved.value.path(), "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"
    page.get_by_role("button", name="Download", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Model and graph (GraphML)", exact=True).click()
    with open(saved.value.path(), "rb") as file:
        content = file.read()
    # The saved file can be uploaded.
    page.keyboard.press("Escape")
    page.get_by_role("radio", name="File").click()
    chooser = page.get_by_test_id("stSidebarUserContent").locator("input[type=file]")
    chooser.set_input_files({"name": "mine.graphml", "mimeType": "text/xml", "buffer": content})
    page.locator("strong", has_text="mine.graphml").wait_for(timeout=SOON)
    page.get_by_text("34 variables with 3 states, 33 edges.").wait_for(timeout=SOON)
