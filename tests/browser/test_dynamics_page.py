"""The Dynamics page in a browser: playing, evidence of a row, and learning again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from waiting import eventually

from graftviz.app.dynamics import DynamicsOptions, plan_of, run_progress, source

pytestmark = pytest.mark.browser

SMALL = "dynamics?size=12&rows=150&parents=3&seeds=4"


@pytest.fixture
def dynamics(opener: Any) -> Callable[..., Any]:
    """Open the page with a query and wait until it shows a run."""
    return opener(SMALL, ".gv-dynamics-body:not([hidden])")


def position(page: Any) -> tuple[int, int | None]:
    """Return the shown step and the number of steps (None while unknown)."""
    text = str(page.locator(".gv-dynamics .gv-position").inner_text())
    found = re.search(r"step (\d+) of (\d+)(\+?)", text)
    assert found, text
    return int(found.group(1)), None if found.group(3) else int(found.group(2))


def search(page: Any) -> str:
    return str(page.evaluate("location.search"))


def words_of(page: Any) -> str:
    return str(page.locator(".gv-words").inner_text())


def text_of(page: Any, part: str) -> str:
    return str(page.locator(f".gv-dynamics-{part}").inner_text())


def bars_of(page: Any) -> list[str]:
    """Return the texts of the bars; empty before the layout is complete."""
    bars: list[str] = page.locator(".gv-dynamics-bars li").all_inner_texts()
    return bars if all(re.match(r"x\d+\s", bar) for bar in bars) else []


def label_of(page: Any, part: str) -> str:
    return str(page.locator(f".gv-dynamics-{part} canvas").first.get_attribute("aria-label"))


def inferred_row() -> dict[str, Any]:
    """Return a row of the run of :data:`SMALL` that was inferred from seeds."""
    options = DynamicsOptions(size=12, rows=150, parents=3, seeds=4)
    material = source(options, None)
    *_, final = run_progress(material, plan_of(options, material))
    return next(row for row in final.steps if row["kind"] == "inferred")


def clicked_row(page: Any, row: int, of: int) -> Any:
    """Click a row of the matrix until the page has it in its address."""
    canvas = page.locator(".gv-dynamics-matrix-stage canvas")

    def clicks() -> bool:
        if f"node={row}" in search(page):
            return True
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        # The left one of two squares, below 18 px of text.
        side = min((box["width"] - 34) / 2 - 18, box["height"] - 21)
        left = (box["width"] - 2 * (side + 18) - 26) / 2 + 18
        canvas.click(position={"x": left + side / 2, "y": 18 + side * (row + 0.5) / of})
        deadline = time.monotonic() + 5
        while f"node={row}" not in search(page) and time.monotonic() < deadline:
            page.wait_for_timeout(50)
        return f"node={row}" in search(page)

    eventually(page, clicks)


def test_page_plays_to_the_end_and_click_shows_evidence(dynamics: Any) -> None:
    page = dynamics()
    eventually(page, lambda: position(page) == (12, 12))
    assert "Finished." in words_of(page)
    assert "12 rows learned" in label_of(page, "matrix-stage")
    assert "the true matrix beside it" in label_of(page, "matrix-stage")
    eventually(page, lambda: "held-out values" in text_of(page, "series"))
    page.keyboard.press("Home")
    eventually(page, lambda: position(page)[0] == 0)
    assert "First, 4 seeds" in words_of(page)
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: position(page)[0] == 1)
    eventually(page, lambda: "step=1" in search(page))
    assert "Seed: regressed on all series" in words_of(page)
    assert "1 row learned" in page.locator(".gv-stage canvas").get_attribute("aria-label")
    page.keyboard.press("End")
    eventually(page, lambda: position(page) == (12, 12))
    row = inferred_row()
    clicked_row(page, row["node"], 12)
    eventually(page, lambda: "Candidate parents by score E" in text_of(page, "evidence"))
    eventually(page, lambda: text_of(page, "evidence").startswith(f"x{row['node']}\n"))
    bars = eventually(page, lambda: bars_of(page))
    chosen = {int(bar[1:].split()[0]) for bar in bars if re.search(r"(?<!not )chosen", bar)}
    assert chosen == set(row["parents"])
    assert "two-step ancestor" in page.locator(".gv-dynamics-network .gv-legend").inner_text()
    eventually(page, lambda: f"Prediction of x{row['node']}" in text_of(page, "series"))
    eventually(page, lambda: "of the held-out values" in text_of(page, "series"))
    live = page.locator(".gv-dynamics .gv-live")
    eventually(page, lambda: "Candidate parents" in str(live.text_content()))


def test_another_k_learns_again_and_its_link_shows_same_run(dynamics: Any) -> None:
    page = dynamics()
    eventually(page, lambda: position(page) == (12, 12))
    assert "36 edges" in text_of(page, "body")
    page.get_by_role("slider", name="k (parents)").first.focus()

    def has_moved() -> bool:
        if "parents=4" not in search(page):
            page.keyboard.press("ArrowRight")
            settle = time.monotonic() + 20
            while (
                "parents=" not in search(page).replace("parents=3", "")
                and time.monotonic() < settle
            ):
                page.wait_for_timeout(50)
        return "parents=4" in search(page)

    eventually(page, has_moved)
    eventually(page, lambda: "48 edges" in text_of(page, "body"))
    eventually(page, lambda: position(page) == (12, 12))
    clicked_row(page, 5, 12)
    eventually(page, lambda: "Prediction of x5" in text_of(page, "series"))
    # The methods and the curves arrive after the picture.
    table = page.get_by_test_id("stTable")
    eventually(page, lambda: table.count() and "…" not in table.inner_text())
    assert "Sparsity enforcing (true parents)" in table.inner_text()
    eventually(page, lambda: page.get_by_test_id("stPlotlyChart").count() == 2)
    link = "dynamics" + search(page)
    other = dynamics(link, reduced_motion=True)
    eventually(other, lambda: position(other) == (12, 12))
    assert "48 edges" in text_of(other, "body")
    assert text_of(other, "evidence") == text_of(page, "evidence")
    assert words_of(other) == words_of(page)
