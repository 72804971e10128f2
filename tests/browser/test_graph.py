"""The renderer of graphs without a view: camera, pointer, keys, and placement of names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graftviz.reports.replay.bundle import bundle, style_sheet, view_texts

pytestmark = pytest.mark.browser

PAGE = """<!DOCTYPE html><meta charset="utf-8">
<style>STYLE .gv-stage { width: 400px; height: 400px !important; }</style>
<div id="here" class="gv-player"></div>
<script type="module">
SCRIPT
class Small extends Graph {
  picked = [];
  fact(i) { return `number ${i}`; }
  pairs() { return [[0, 1], [1, 2]]; }
  wordsForPair([i, j]) { return [`${i} with ${j}`]; }
  choose(i) { this.picked.push(i); }
  scene(palette) {
    return [
      { edges: this.pairs(), line: palette.text, width: 2 },
      [[{ nodes: [0, 1, 2, 3, 4], fill: palette.plain, line: palette.background }]],
      undefined,
      { names: [0, 1, 2, 3, 4], always: [3] },
    ];
  }
}
const app = {
  palette: readPalette(here), type: 1, log: {}, panels: [], said: [],
  font: (size, style) => `${style} ${size}px sans-serif`,
  wake() { requestAnimationFrame(() => graph.draw()); },
  resized() { this.wake(); },
  say(text) { this.said.push(text); },
};
globalThis.app = app;
const graph = new Small(app);
graph.name = (i) => `a long name ${i}`;
globalThis.graph = graph;
here.append(graph.card("gv-small", "Graph", "small"));
// Two nodes far apart, and three nearly in one place.
graph.fit([[0, 0], [10000, 10000], [5000, 5000], [5010, 5010], [5020, 5020]]);
</script>"""


@pytest.fixture
def page(browser_page: Any, show_html: Callable[[Any, str], None], until: Any) -> Any:
    html = PAGE.replace("SCRIPT", view_texts("player") + bundle("shared/graph.js"))
    show_html(browser_page, html.replace("STYLE", style_sheet("player/player.css")))
    until(browser_page, "globalThis.graph?.at.length === 5")
    return browser_page


def place(page: Any, node: int) -> tuple[float, float]:
    """Return the position of a node in the window."""
    box = page.locator("canvas").bounding_box()
    x, y = page.evaluate(f"graph.at[{node}]")
    return box["x"] + x, box["y"] + y


def test_names_are_placed_above_or_below_nodes_where_room_is(page: Any) -> None:
    assert page.evaluate("[...graph.named].sort()") == [0, 1, 2, 3]


def test_nodes_and_pairs_respond_to_pointer_and_click(page: Any) -> None:
    tip = page.locator(".gv-tip")
    page.mouse.move(*place(page, 0))
    assert tip.inner_text() == "a long name 0 · number 0"
    (ax, ay), (bx, by) = place(page, 0), place(page, 1)
    page.mouse.move(0.7 * ax + 0.3 * bx, 0.7 * ay + 0.3 * by)
    assert tip.inner_text() == "0 with 1"
    page.mouse.move(ax, by)
    assert not tip.is_visible()
    page.mouse.click(*place(page, 1))
    page.mouse.click(ax, by)
    assert page.evaluate("graph.picked") == [1, -1]


def test_wheel_zooms_around_the_pointer(page: Any, until: Any) -> None:
    before = place(page, 1)
    page.mouse.move(*before)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    until(page, "graph.camera.zoom > 1.2")
    page.wait_for_timeout(100)
    assert place(page, 1) == pytest.approx(before, abs=0.5)
    page.get_by_role("button", name="Show the whole graph").click()
    assert page.evaluate("graph.camera") == {"zoom": 1, "x": 0, "y": 0}


def test_keys_select_nodes_and_edges_of_a_node(page: Any) -> None:
    page.locator("canvas").focus()
    for key in ("n", "n", "p"):
        page.keyboard.press(key)
    assert page.evaluate("app.said") == [f"a long name {i} · number {i}" for i in (0, 1, 0)]
    one = "graph.nextPair(1, graph.pairs(), {kind: 'node', i: 2})"
    assert page.evaluate(one) == [1, 2]
    assert page.evaluate("graph.nextPair(1, graph.pairs(), {kind: 'pair', i: 1, j: 2})") == [1, 2]
    assert page.evaluate("graph.nextPair(1, graph.pairs(), null)") == [0, 1]


def test_search_by_name_centres_the_node(page: Any) -> None:
    page.locator("canvas").focus()
    page.keyboard.press("f")
    field = page.get_by_role("searchbox", name="Name of a node")
    status = page.get_by_role("search").get_by_role("status")
    field.fill("nothing")
    assert status.inner_text() == "No name contains this."
    field.fill("NAME ")
    assert status.inner_text() == "5 found; press Enter"
    field.fill("name 1")
    page.keyboard.press("Enter")
    assert status.inner_text() == "1 of 1"
    assert page.locator(".gv-tip").inner_text() == "a long name 1 · number 1"
    page.wait_for_timeout(100)
    assert page.evaluate("graph.at[1]") == pytest.approx([200, 200], abs=0.5)
    page.keyboard.press("Escape")
    assert not field.is_visible()
    assert page.evaluate("document.activeElement.tagName") == "CANVAS"
    page.get_by_role("button", name="Find a node by name").click()
    assert field.is_visible()


MANY = """() => {
  const n = 2000;
  const places = Array.from({ length: n }, (_, k) => [k % 40, Math.floor(k / 40)]);
  const pairs = places.map((_, k) => [k, (k + 83) % n]);
  const nodes = [...places.keys()];
  graph.fit(places);
  graph.scene = (palette) => {
    const strength = (k) => k / n;
    const words = (some, all) => `the ${some} strongest of ${all} edges`;
    graph.drawn = graph.strongest(pairs, { strength, words });
    return [{ edges: graph.drawn, line: palette.text }, { nodes, fill: palette.plain },
      { names: nodes }];
  };
  graph.draw();
}"""


def test_only_strongest_edges_and_fitting_names_are_drawn(page: Any) -> None:
    page.evaluate(MANY)
    drawn = page.evaluate("graph.drawn.map(([i]) => i)")
    note = page.locator(".gv-thinned")
    assert 0 < len(drawn) < 2000
    assert min(drawn) >= 2000 - len(drawn) - 3  # a level may hold a few edges
    assert note.inner_text() == (
        f"Only the {len(drawn):,} strongest of 2,000 edges in sight are drawn; zoom in to see more."
    )
    named = page.evaluate("[...graph.named]")
    assert 5 < len(named) <= page.evaluate("graph.nameRoom")
    # The first names in order of importance are the first to be placed.
    assert named[0] == 0
    # At high zoom, everything in the window is drawn, and nothing else.
    page.evaluate("graph.zoomBy(20); graph.draw()")
    near = page.evaluate("graph.drawn")
    assert not note.is_visible()
    assert 0 < len(near) < 2000
    assert page.evaluate("graph.drawn.every((pair) => graph.crossesSight(pair))")
