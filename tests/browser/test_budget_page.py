"""The Budget page in a browser: playing, scrubbing, and learning again under another τ."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from waiting import eventually

pytestmark = pytest.mark.browser

SMALL = "budget?data=survey&bound=1"


@pytest.fixture
def budget(opener: Any) -> Callable[..., Any]:
    """Open the page with a query and wait until it shows a run."""
    return opener(SMALL, ".gv-budget-body:not([hidden])")


def position(page: Any) -> tuple[int, int | None]:
    """Return the shown step and the number of steps (None while unknown)."""
    text = str(page.locator(".gv-budget-view .gv-position").inner_text())
    found = re.search(r"step (\d+) of (\d+)(\+?)", text)
    assert found, text
    return int(found.group(1)), None if found.group(3) else int(found.group(2))


def search(page: Any) -> str:
    return str(page.evaluate("location.search"))


def test_page_plays_to_the_end_and_can_be_scrubbed(budget: Any) -> None:
    page = budget()
    eventually(page, lambda: position(page) == (10, 10))
    text = page.locator(".gv-budget-view").inner_text()
    assert "treewidth ≤ 1" in text
    assert "No further edge keeps the treewidth at or below 1" in text
    assert "10 edges of 55 pairs" in text
    # The sentence and the fact beside it count the same pairs.
    assert "all 45 remaining pairs" in text
    assert "45 of 45" in text
    page.keyboard.press("Home")
    eventually(page, lambda: position(page)[0] == 0)
    assert "Any of the 55 pairs can be added" in page.locator(".gv-words").inner_text()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: position(page)[0] == 2)
    eventually(page, lambda: "step=2" in search(page))
    assert "No added cost" in page.locator(".gv-words").inner_text()
    label = page.locator(".gv-budget-tree canvas").get_attribute("aria-label")
    assert "widest: 2 variables (width 1)" in label
    box = page.locator(".gv-budget-course canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    eventually(page, lambda: position(page)[0] == 5)


def test_another_bound_learns_again_and_shows_previous_run(budget: Any) -> None:
    page = budget()
    eventually(page, lambda: position(page) == (10, 10))
    page.get_by_role("slider", name="Bound τ").first.focus()
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: "bound=2" in search(page))
    eventually(page, lambda: (position(page)[1] or 0) > 10)
    before = page.locator(".gv-budget-before")
    eventually(page, before.is_visible)
    assert "τ = 1 (treewidth): 10 edges" in before.inner_text()
    steps = eventually(page, lambda: position(page)[1])
    eventually(page, lambda: position(page) == (steps, steps))
    assert "(width 2)" in page.locator(".gv-budget-tree").inner_text()


def test_pointing_to_a_clique_shows_its_variables(budget: Any) -> None:
    page = budget("budget?data=survey&bound=1&step=0")
    canvas = page.locator(".gv-budget-tree canvas")
    box = eventually(page, canvas.bounding_box)
    tip = page.locator(".gv-budget-tree .gv-tip")
    grid = [(a / 24, b / 24) for b in range(1, 24) for a in range(1, 24)]

    def points_to_a_box() -> bool:
        for across, down in grid:
            page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
            if tip.is_visible():
                return True
        return False

    assert points_to_a_box()
    assert tip.inner_text().startswith("1 variable · ")
