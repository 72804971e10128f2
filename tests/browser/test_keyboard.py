"""The player by keyboard: keys of pictures, announcements, and the order of focus."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from painting import painted, watch_painting
from waiting import AT_REST

pytestmark = pytest.mark.browser

GRAPH = ".gv-stage canvas"
SAID = ".gv-live"


def test_keys_select_variables_and_edges(finished: Any, until: Any) -> None:
    page = finished
    page.evaluate("player.seek(Infinity)")
    until(page, AT_REST)  # the step is announced at rest
    page.focus(GRAPH)
    page.keyboard.press("ArrowDown")
    assert page.evaluate("player.selection") == {"kind": "node", "i": 0}
    page.keyboard.press("p")
    last = page.evaluate("player.log.n - 1")
    assert page.evaluate("player.selection.i") == last
    assert page.inner_text(SAID).startswith(page.evaluate(f"player.log.name({last})"))
    page.keyboard.press("ArrowDown")
    degree = page.evaluate("player.log.nodeFacts(0, player.shown).degree")
    seen = []
    for _ in range(degree):
        page.keyboard.press("e")
        pair = page.evaluate("player.selection")
        assert 0 in (pair["i"], pair["j"])
        seen.append((pair["i"], pair["j"]))
    assert len(set(seen)) == degree > 0
    page.keyboard.press("e")
    assert page.evaluate("[player.selection.i, player.selection.j]") == list(seen[0])
    page.keyboard.press("Escape")
    assert page.evaluate("player.selection") is None


def test_keys_move_picture_without_changing_step(finished: Any) -> None:
    page = finished
    page.focus(GRAPH)
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate("[player.graph.camera.x < 0, player.shown]") == [True, 0]
    page.keyboard.press("+")
    assert page.evaluate("player.graph.camera.zoom") > 1
    page.keyboard.press("0")
    assert page.evaluate("player.graph.camera") == {"zoom": 1, "x": 0, "y": 0}
    page.keyboard.press("ArrowRight")
    assert page.evaluate("player.shown") == 1


def test_reservoir_candidates_are_announced_by_name(finished: Any, until: Any) -> None:
    page = finished
    page.evaluate("player.seek(3)")
    until(page, AT_REST)
    page.focus(".gv-reservoir canvas")
    page.keyboard.press("n")
    i, j = page.evaluate("player.log.record(3).reservoir.edges[0]")
    for node in (i, j):
        assert page.evaluate(f"player.log.name({node})") in page.inner_text(SAID)
    assert "place 1" in page.inner_text(SAID)


def test_focus_visits_all_controls_and_leaves(finished: Any) -> None:
    page = finished
    page.focus("#elsewhere")
    visited = []
    ring = (
        "(() => { const node = document.activeElement; const style = getComputedStyle(node);"
        " return [node.getAttribute('aria-label') ?? node.textContent,"
        " node === document.body, parseFloat(style.outlineWidth), style.outlineStyle]; })()"
    )
    for _ in range(80):
        page.keyboard.press("Tab")
        name, is_out, width, style = page.evaluate(ring)
        if is_out:
            break
        assert style == "auto" or (style == "solid" and width >= 2), name
        visited.append(name)
    assert is_out
    for name in ("Zoom in", "Play", "Step", "Speed in steps per second", "Keys"):
        assert name in visited
    assert sum(name.startswith("Graph after step") for name in visited) == 1


def test_table_of_keys_opens_closes_and_captures_keys(finished: Any) -> None:
    page = finished
    page.focus(GRAPH)
    page.keyboard.press("?")
    table = page.get_by_role("dialog", name="Keys")
    assert "next, previous variable" in table.inner_text()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("player.shown") == 0
    page.keyboard.press("Escape")
    assert not table.is_visible()
    assert page.evaluate("document.activeElement === player.graph.canvas")


# Colours of a picture between two shares of its height.
COLOURS = """async ([png, from, to]) => {
  const image = Object.assign(new Image(), { src: `data:image/png;base64,${png}` });
  await image.decode();
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const high = Math.ceil((to - from) * image.height);
  const { data } = context.getImageData(0, Math.floor(from * image.height), image.width, high);
  const found = new Set();
  for (let k = 0; k < data.length; k += 4) found.add(`rgb(${data.slice(k, k + 3).join(", ")})`);
  return [...found];
}"""


def test_picture_is_saved_with_title_and_legend(finished: Any, until: Any) -> None:
    page = finished
    page.evaluate("player.seek(4)")
    until(page, AT_REST)
    title = "<b>any & name</b> " + "x" * 300
    page.evaluate("(title) => { player.headline.textContent = title; }", title)
    watch_painting(page)
    page.get_by_role("button", name="missing").click()
    with page.expect_download() as download:
        page.locator(".gv-graph .gv-save").press("Enter")
    assert download.value.suggested_filename == "graph-step-4.png"
    texts = painted(page)
    text = "".join(texts).replace(" ", "")
    assert title.replace(" ", "") in text, "the title is incomplete"
    assert page.inner_text(".gv-head p").replace(" ", "") in text
    assert "step4of40" in text
    # The legend has a word for every drawn colour and none for colours that are not drawn.
    lines = page.locator(".gv-graph .gv-key[aria-pressed] .gv-line").evaluate_all(
        "all => all.map((line) => getComputedStyle(line).borderTopColor)"
    )
    words = ("true", "false", "missing")
    assert [word in texts for word in words] == [True, True, False]
    png = base64.b64encode(download.value.path().read_bytes()).decode()
    assert len(page.evaluate(COLOURS, [png, 0, 0.01])) == 1, "only paper above the title"
    assert set(lines[:2]) <= set(page.evaluate(COLOURS, [png, 0.9, 1])), "the legend"
    with page.expect_download() as download:
        page.locator(".gv-curves .gv-save").press("Enter")
    file = download.value
    assert file.suggested_filename == "curves-step-4.png"
    data = file.path().read_bytes()
    assert data.startswith(b"\x89PNG")
    width = int.from_bytes(data[16:20], "big")
    assert width >= 3 * page.evaluate("player.curves.body.clientWidth")
    until(page, "player.curves.parts[0].ratio === devicePixelRatio")
    # A picture that cannot be drawn leaves the view unchanged.
    page.evaluate(
        "() => { const [panel] = player.panels, { draw } = panel;"
        " panel.draw = () => { panel.draw = draw; throw new Error('no picture'); };"
        " addEventListener('error', (event) => event.preventDefault(), { once: true }); }"
    )
    page.locator(".gv-curves .gv-save").press("Enter")
    until(page, "player.panels[0].draw.name === 'draw'")
    until(page, "player.curves.parts[0].ratio === devicePixelRatio")
