"""Forced pruning fed step by step: whoever stands at a step of one run stands there in another."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from painting import painted, watch_painting

from graftviz import load_dataset
from graftviz.material import prepare
from graftviz.player.assets import view_script, view_style
from graftviz.serving.scheduler import Scheduler
from graftviz.ui.frame.live import runs_message
from graftviz.ui.frame.view import Mailbox
from graftviz.ui.prune.state import PruneState

pytestmark = pytest.mark.browser

STROKES = """() => {
  const { stroke } = CanvasRenderingContext2D.prototype;
  const styles = [];
  CanvasRenderingContext2D.prototype.stroke = function () { styles.push(this.strokeStyle); };
  player.graph.draw();
  CanvasRenderingContext2D.prototype.stroke = stroke;
  return styles.join(" ");
}"""
Told = Callable[[str, Mapping[str, int]], None]


@pytest.fixture(scope="module")
def everything() -> Any:
    """The message that tells all of three runs, at a link to step 2."""
    state = PruneState(lambda key, _: prepare(load_dataset(key), 0), Scheduler().share())
    state.follow({"data": "survey", "exchanges": "4", "exchange": "2", "step": "2"})
    state.refresh()
    for run in state.runs.values():
        run.grant()
        assert run.wait_for_end(60)
    return json.loads(runs_message(state, Mailbox(), "token"))


@pytest.fixture
def tell(browser_page: Any, show_html: Any, everything: Any) -> Told:
    """Tell the player which run is shown, and as many steps of each as are said."""
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

    def tell_it(heuristic: str, steps: Mapping[str, int]) -> None:
        message = {**everything, "heuristic": heuristic, "feeds": [], "replies": True}
        if any(known.values()):
            del message["header"]
        for told in everything["feeds"]:
            run, records = told["feed"]["run"], told["feed"]["records"]
            count = steps.get(named[run], known[run])
            feed = {**told["feed"], "from": known[run] + 1, "records": records[known[run] : count]}
            if count < len(records):
                feed["outcome"] = None
            known[run] = count
            message["feeds"].append({**told, "feed": feed})
        browser_page.evaluate("(message) => player.show(message)", message)

    return tell_it


def shown(page: Any) -> int:
    return int(page.evaluate("player.shown"))


def test_a_run_that_lags_behind_is_followed_to_the_step_one_stood_at(
    tell: Told, browser_page: Any, until: Any
) -> None:
    tell("greedy", {"greedy": 3, "mcmc": 1})
    assert shown(browser_page) == 2
    tell("mcmc", {})
    assert shown(browser_page) == 1, "there is no more of it yet"
    tell("mcmc", {"mcmc": 2})
    assert shown(browser_page) == 2
    browser_page.keyboard.press("ArrowRight")
    assert shown(browser_page) == 2
    tell("rejection", {"rejection": 1})
    assert shown(browser_page) == 1
    tell("rejection", {"rejection": 5})
    assert shown(browser_page) == 3, "the step asked for is still the one wanted"
    until(browser_page, "places.length > 0")
    assert browser_page.evaluate("places") == [3], "what was passed on the way is no place"


def test_the_end_of_one_run_is_no_place_in_another_that_goes_on(
    tell: Told, browser_page: Any
) -> None:
    tell("greedy", {"greedy": 5, "mcmc": 1})
    browser_page.keyboard.press("End")
    assert shown(browser_page) == 5
    tell("mcmc", {})
    assert shown(browser_page) == 1
    tell("mcmc", {"mcmc": 4})
    assert shown(browser_page) == 4
    tell("mcmc", {"mcmc": 5})
    assert shown(browser_page) == 5


def test_a_saved_picture_says_what_it_is_of(tell: Told, browser_page: Any) -> None:
    tell("greedy", {"greedy": 3})
    watch_painting(browser_page)
    for card in (".gv-prune-graph", ".gv-prune-ranking"):
        before = len(painted(browser_page))
        with browser_page.expect_download():
            browser_page.locator(f"{card} .gv-save").click()
        text = " ".join(painted(browser_page)[before:])
        for told in (".gv-prune-head h2", ".gv-prune-head .gv-muted", ".gv-position span"):
            assert browser_page.locator(told).first.inner_text() in text, card


def test_the_removed_edge_of_an_exchange_is_drawn(tell: Told, browser_page: Any) -> None:
    tell("greedy", {"greedy": 2})
    browser_page.wait_for_function("player.graph.at.length > 0")  # placed with the first drawing
    strokes = browser_page.evaluate(STROKES)
    palette = browser_page.evaluate("player.palette")
    for kind in ("leaving", "arriving"):
        colour = palette[kind]
        assert f"#{bytes(colour).hex()}" in strokes or ", ".join(map(str, colour)) in strokes, kind


def test_a_click_on_a_node_marks_its_edges_and_lists_their_contributions(
    tell: Told, browser_page: Any, everything: Any
) -> None:
    page = browser_page
    tell("greedy", {"greedy": 2})
    record = everything["feeds"][0]["feed"]["records"][1]
    i, j, worth = record["rank"][-1]  # the edge that contributes most
    page.wait_for_function(f"player.graph.at.length > {i}")  # placed with the first drawing
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


def test_a_step_without_an_exchange_has_a_ranking_and_the_truth_is_compared(
    tell: Told, browser_page: Any, everything: Any
) -> None:
    start = everything["feeds"][0]["feed"]["records"][0]
    assert start["kind"] == "start"
    tell("greedy", {"greedy": 1})
    edges = len(start["rank"])
    assert edges == start["edges"] > 0
    label = browser_page.locator(".gv-prune-bars canvas").get_attribute("aria-label")
    assert label == f"{edges} edges by contribution."
    recall, precision = start["recall"], start["precision"]
    assert browser_page.locator(".gv-prune-truth").inner_text() == (
        f"Compared with the true edges: recall {recall:.2f}, precision {precision:.2f}"
    )
