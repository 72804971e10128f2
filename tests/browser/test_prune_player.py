"""The player of forced pruning: the step is kept when another run is shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from painting import painted, watch_painting

from graftviz import load_dataset
from graftviz.app.jobs import Executor
from graftviz.app.material import prepare
from graftviz.app.prune import PruneState
from graftviz.app.view import Inbox, runs_message
from graftviz.reports.replay.bundle import view_script, view_style

pytestmark = pytest.mark.browser

STROKES = """() => {
  const { stroke } = CanvasRenderingContext2D.prototype;
  const styles = [];
  CanvasRenderingContext2D.prototype.stroke = function () { styles.push(this.strokeStyle); };
  player.graph.draw();
  CanvasRenderingContext2D.prototype.stroke = stroke;
  return styles.join(" ");
}"""
Show = Callable[[str, Mapping[str, int]], None]


@pytest.fixture(scope="module")
def everything() -> Any:
    """Message with all records of three runs, at a link to step 2."""
    state = PruneState(lambda key, _: prepare(load_dataset(key), 0), Executor().queue())
    state.follow({"data": "survey", "exchanges": "4", "exchange": "2", "step": "2"})
    state.refresh()
    for run in state.runs.values():
        run.grant()
        assert run.wait_for_end(60)
    return json.loads(runs_message(state, Inbox(), "token"))


@pytest.fixture
def show(browser_page: Any, show_html: Any, everything: Any) -> Show:
    """Return a function that shows a run, with the given numbers of known steps of each."""
    script = view_script("prune")
    show_html(
        browser_page,
        f'<!DOCTYPE html><meta charset="utf-8"><style>{view_style("prune")}</style>'
        '<div id="here"></div>'
        f"<script>{script}</script><script>globalThis.places = [];"
        "globalThis.player = GraftvizPrune.mount(here, {moved: (step) => places.push(step)});"
        "</script>",
    )
    named = {run["run"]: run["heuristic"] for run in everything["header"]["runs"]}
    known = dict.fromkeys(named, 0)

    def show_steps(heuristic: str, steps: Mapping[str, int]) -> None:
        message = {**everything, "heuristic": heuristic, "feeds": [], "replies": True}
        if any(known.values()):
            del message["header"]
        for entry in everything["feeds"]:
            run, records = entry["feed"]["run"], entry["feed"]["records"]
            count = steps.get(named[run], known[run])
            feed = {**entry["feed"], "from": known[run] + 1, "records": records[known[run] : count]}
            if count < len(records):
                feed["outcome"] = None
            known[run] = count
            message["feeds"].append({**entry, "feed": feed})
        browser_page.evaluate("(message) => player.show(message)", message)

    return show_steps


def shown(page: Any) -> int:
    return int(page.evaluate("player.shown"))


def test_slower_run_is_followed_to_the_step_of_the_previous_run(
    show: Show, browser_page: Any, until: Any
) -> None:
    show("greedy", {"greedy": 3, "mcmc": 1})
    assert shown(browser_page) == 2
    show("mcmc", {})
    assert shown(browser_page) == 1, "an unknown step is shown"
    show("mcmc", {"mcmc": 2})
    assert shown(browser_page) == 2
    browser_page.keyboard.press("ArrowRight")
    assert shown(browser_page) == 2
    show("rejection", {"rejection": 1})
    assert shown(browser_page) == 1
    show("rejection", {"rejection": 5})
    assert shown(browser_page) == 3, "the requested step was lost"
    until(browser_page, "places.length > 0")
    assert browser_page.evaluate("places") == [3], "a step in between was sent"


def test_player_at_the_end_follows_end_of_unfinished_run(show: Show, browser_page: Any) -> None:
    show("greedy", {"greedy": 5, "mcmc": 1})
    browser_page.keyboard.press("End")
    assert shown(browser_page) == 5
    show("mcmc", {})
    assert shown(browser_page) == 1
    show("mcmc", {"mcmc": 4})
    assert shown(browser_page) == 4
    show("mcmc", {"mcmc": 5})
    assert shown(browser_page) == 5


def test_saved_picture_has_title_and_step(show: Show, browser_page: Any) -> None:
    show("greedy", {"greedy": 3})
    watch_painting(browser_page)
    for card in (".gv-prune-graph", ".gv-prune-ranking"):
        before = len(painted(browser_page))
        with browser_page.expect_download():
            browser_page.locator(f"{card} .gv-save").click()
        text = " ".join(painted(browser_page)[before:])
        for selector in (".gv-prune-head h2", ".gv-prune-head .gv-muted", ".gv-position span"):
            assert browser_page.locator(selector).first.inner_text() in text, card


def test_removed_edge_of_exchange_is_drawn(show: Show, browser_page: Any) -> None:
    show("greedy", {"greedy": 2})
    browser_page.wait_for_function("player.graph.at.length > 0")
    strokes = browser_page.evaluate(STROKES)
    palette = browser_page.evaluate("player.palette")
    for kind in ("leaving", "arriving"):
        colour = palette[kind]
        assert f"#{bytes(colour).hex()}" in strokes or ", ".join(map(str, colour)) in strokes, kind


def test_clicked_node_marks_edges_and_lists_contributions(
    show: Show, browser_page: Any, everything: Any
) -> None:
    page = browser_page
    show("greedy", {"greedy": 2})
    record = everything["feeds"][0]["feed"]["records"][1]
    i, j, worth = record["rank"][-1]  # the edge that contributes most
    page.wait_for_function(f"player.graph.at.length > {i}")
    x, y = page.evaluate(f"player.graph.at[{i}]")
    canvas = page.locator(".gv-stage canvas")
    plain = canvas.evaluate("(canvas) => canvas.toDataURL()")
    canvas.click(position={"x": x, "y": y})
    names = everything["header"]["names"]
    listed = page.locator(".gv-prune-chosen")
    assert listed.inner_text().startswith(f"{names[i]}: contributions of its edges")
    assert f"{names[j]} {worth:.2g}"[: len(names[j]) + 3] in listed.inner_text()
    page.mouse.move(0, 0)
    page.wait_for_function(
        "(before) => document.querySelector('.gv-stage canvas').toDataURL() !== before", arg=plain
    )
    canvas.click(position={"x": x, "y": y})
    assert not listed.is_visible()


def test_first_step_has_ranking_and_comparison_with_truth(
    show: Show, browser_page: Any, everything: Any
) -> None:
    start = everything["feeds"][0]["feed"]["records"][0]
    assert start["kind"] == "start"
    show("greedy", {"greedy": 1})
    edges = len(start["rank"])
    assert edges == start["edges"] > 0
    label = browser_page.locator(".gv-prune-bars canvas").get_attribute("aria-label")
    assert label == f"{edges} edges by contribution."
    recall, precision = start["recall"], start["precision"]
    assert browser_page.locator(".gv-prune-truth").inner_text() == (
        f"Compared with the true edges: recall {recall:.2f}, precision {precision:.2f}"
    )
