"""The Prune page in a browser: playing, scrubbing and linking to exchanges."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from fakes import finished_run
from held_socket import HeldSocket
from waiting import eventually

from graftviz import ForcedPruning, load_dataset
from graftviz.app.material import prepare

pytestmark = pytest.mark.browser

QUICK = "prune?exchanges=4&exchange=2"


@pytest.fixture
def prune(opener: Any) -> Callable[..., Any]:
    """Open the page with a query and wait until it shows a run."""
    return opener(QUICK, ".gv-prune-body:not([hidden])")


@pytest.fixture(scope="module")
def steps() -> list[Any]:
    """Return the steps of the run that the page shows."""
    table = prepare(load_dataset("survey"), 0).train
    run = finished_run(table, ForcedPruning(exchanges=4, exchange=2), seed=0)
    return list(run.steps)


def position(page: Any) -> str:
    return str(page.locator(".gv-position").inner_text())


def at_step(page: Any, t: int) -> Callable[[], bool]:
    return lambda: position(page).startswith(f"step {t} of")


def search(page: Any) -> str:
    return str(page.evaluate("location.search"))


def marked(page: Any, what: str) -> set[tuple[int, ...]]:
    """Return the pairs drawn as leaving or arriving."""
    text = page.locator(".gv-stage canvas").get_attribute(f"data-{what}")
    return {tuple(int(i) for i in pair.split(",")) for pair in text.split()}


def pairs(edges: Any) -> set[tuple[int, ...]]:
    return {tuple(sorted(edge)) for edge in edges.tolist()}


def test_page_plays_to_the_end_and_shows_stop_reason(prune: Any, steps: list[Any]) -> None:
    page = prune()
    eventually(page, lambda: f"step {len(steps)} of {len(steps)}" in position(page))
    eventually(page, lambda: "finished" in position(page))
    text = page.locator(".gv-words").inner_text()
    assert "Reached the limit of 4 exchanges." in text
    rows = page.locator(".gv-racers tbody tr")
    assert rows.count() == 3
    eventually(page, lambda: "%" in rows.nth(2).inner_text())
    assert "greedy" in page.locator(".gv-racers .gv-chosen").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_steps_mark_removed_and_added_edges(prune: Any, steps: list[Any]) -> None:
    page = prune(f"{QUICK}&step=3")
    eventually(page, at_step(page, 3))
    exchange = steps[2].exchange
    assert marked(page, "leaving") == pairs(exchange.removed)
    assert marked(page, "arriving") == pairs(exchange.added)
    assert "2 edges out, 2 in" in page.locator(".gv-prune-head h2").inner_text()
    page.keyboard.press("ArrowLeft")
    eventually(page, at_step(page, 2))
    assert marked(page, "arriving") == pairs(steps[1].exchange.added)
    page.keyboard.press("Home")
    eventually(page, at_step(page, 0))
    assert marked(page, "leaving") == marked(page, "arriving") == set()
    assert position(page).split("\n")[1].startswith("10 edges")
    box = page.locator(".gv-prune .gv-track").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 9, box["y"] + box["height"] / 2)
    eventually(page, lambda: re.match(r"step [45] of", position(page)))


def test_rule_chosen_in_table_is_restored_by_link(prune: Any) -> None:
    page = prune(f"{QUICK}&step=2")
    eventually(page, at_step(page, 2))
    page.locator(".gv-racers").get_by_role("button", name="MCMC").click()
    eventually(page, lambda: "heuristic=mcmc" in search(page))
    eventually(page, lambda: "MCMC" in page.locator(".gv-racers .gv-chosen").inner_text())
    words = page.locator(".gv-words .gv-sentence")
    eventually(page, lambda: "the last state of" in words.inner_text())
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: "step=3" in search(page))
    leaving, sentence = marked(page, "leaving"), words.inner_text()
    restored = prune(f"prune{search(page)}")
    eventually(restored, at_step(restored, 3))
    assert marked(restored, "leaving") == leaving
    assert restored.locator(".gv-words .gv-sentence").inner_text() == sentence


def test_choice_survives_message_sent_before_its_confirmation(
    prune: Any,
) -> None:
    page = prune(f"{QUICK}&step=2", offline=False)  # a page that no other test uses
    socket = HeldSocket(page)
    page.reload()
    eventually(page, lambda: page.locator(".gv-prune-body:not([hidden])").count())
    eventually(page, at_step(page, 2))
    page.wait_for_timeout(1000)  # until it sends nothing more
    socket.hold_after_run()
    page.locator(".gv-racers").get_by_role("button", name="MCMC").click()
    eventually(page, lambda: socket.is_holding)
    # The list in the side bar is still at "greedy" and is sent with the next step.
    before = socket.sent
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: socket.sent > before)
    page.wait_for_timeout(300)
    socket.release()
    eventually(page, lambda: "MCMC" in page.locator(".gv-racers .gv-chosen").inner_text())
    eventually(page, at_step(page, 3))
    page.wait_for_timeout(1000)
    assert "MCMC" in page.locator(".gv-racers .gv-chosen").inner_text()
    assert "heuristic=mcmc" in search(page)


def test_fallback_of_sampler_is_shown(prune: Any) -> None:
    page = prune(f"{QUICK}&heuristic=rejection&tries=1&step=2")
    eventually(page, at_step(page, 2))
    eventually(page, lambda: "Fallback" in page.locator(".gv-prune-fallback").inner_text())
    row = page.locator(".gv-racers tr", has_text="rejection")
    assert row.inner_text().endswith("0 of 1\t1 of 1")
