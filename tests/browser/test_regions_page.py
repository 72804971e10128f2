"""The Regions page in a browser: growth, other queries, and the map of strengths."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from painting import painted, watch_painting
from waiting import eventually

from graftviz import local_marginal
from graftviz.app.models import grid_model
from graftviz.reports.replay.bundle import view_script
from graftviz.reports.words.regions import bound_text

pytestmark = pytest.mark.browser

SMALL = "regions?side=8"


@pytest.fixture
def regions(opener: Any) -> Callable[..., Any]:
    """Open the page with a query and wait until it shows a region."""
    return opener(SMALL, ".gv-region-body:not([hidden])")


def headline(page: Any) -> str:
    return str(page.locator(".gv-region-head h2").inner_text())


def size(page: Any) -> int:
    label = page.locator(".gv-stage canvas").get_attribute("aria-label")
    found = re.search(r"([\d,]+) of them in the region", label)
    assert found
    return int(found.group(1))


def search(page: Any) -> str:
    return str(page.evaluate("location.search"))


def answer(page: Any) -> str:
    return str(page.locator(".gv-answer").inner_text())


def place(page: Any, row: int, column: int, side: int = 8) -> tuple[float, float]:
    """Return the position of a node of the grid in the window."""
    canvas = page.locator(".gv-stage canvas")
    box = canvas.bounding_box()
    x, y = canvas.evaluate("({ picture }, i) => picture.at[i]", row * side + column)
    return box["x"] + x, box["y"] + y


def test_page_plays_steps_and_rests(regions: Any) -> None:
    page = regions()
    model = grid_model(8, 1.0, 0.2, 0)
    wanted = local_marginal(model.model, model.usual_query, tolerance=0.01)
    last = len(wanted.history)
    eventually(page, lambda: size(page) == last)
    assert headline(page).startswith(f"Certified to ±{bound_text(wanted.bound)} with {last} of 64")
    eventually(page, lambda: search(page) == "?side=8")
    page.keyboard.press("Home")
    eventually(page, lambda: size(page) == 1)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: size(page) == 3)
    eventually(page, lambda: search(page) == "?side=8&step=2")
    page.wait_for_timeout(500)
    assert size(page) == 3
    label = page.locator(".gv-stage canvas").get_attribute("aria-label")
    assert "3 of them in the region around" in label
    assert bound_text(wanted.history[2].bound) in headline(page)
    page.keyboard.press("Space")
    eventually(page, lambda: size(page) == last)
    rules = page.locator(".gv-region-rules button")
    eventually(page, lambda: rules.count() == 4)
    rules.get_by_text("random").click()
    eventually(page, lambda: "expansion=random" in search(page))
    eventually(page, lambda: "drawn at random" in page.locator(".gv-words").inner_text())


def test_click_changes_query_and_shows_true_marginal(regions: Any) -> None:
    page = regions()
    eventually(page, lambda: "Actual error" in answer(page))
    page.mouse.click(*place(page, 1, 6))
    eventually(page, lambda: "r1c6" in answer(page))
    eventually(page, lambda: "query=14" in search(page))
    field = page.get_by_role("textbox", name="Query: name or number")
    eventually(page, lambda: field.input_value() == "r1c6")
    eventually(page, lambda: "Actual error" in answer(page))
    text = answer(page)
    assert page.locator(".gv-tip").is_hidden(), "the tooltip stays after the click"
    assert "times larger" in text or "Exact" in text
    assert "BP, whole graph" in text
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_link_shows_same_step(regions: Any) -> None:
    page = regions("regions?side=8&query=9&t2=0.5&step=4&expansion=norm")
    eventually(page, lambda: size(page) == 5)
    page.wait_for_timeout(800)
    assert size(page) == 5
    rule = page.locator(".gv-region-rules [aria-pressed=true]")
    eventually(page, lambda: rule.inner_text() == "strongest edge")
    eventually(page, lambda: "step=4" in search(page))


def test_dragged_point_on_map_changes_strengths(regions: Any) -> None:
    page = regions("regions?side=8&step=3", height=1300)
    canvas = page.locator(".gv-region-map canvas")
    before = page.locator(".gv-region-coupling .gv-count").inner_text()
    box = canvas.bounding_box()
    across, down = box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5
    page.mouse.move(across, down)
    page.mouse.down()
    page.mouse.move(across, down - 25, steps=4)
    count = page.locator(".gv-region-coupling .gv-count")
    eventually(page, lambda: count.inner_text() != before)
    assert "t2=" not in search(page)  # the address changes on release
    page.mouse.up()
    found = eventually(page, lambda: re.search(r"t2=([\d.]+)", search(page)))
    page.wait_for_timeout(1500)
    eventually(page, lambda: f"t2={found.group(1)}" in search(page))
    slider = page.get_by_role("slider", name=re.compile("^Couplings"))
    assert float(slider.get_attribute("aria-valuenow") or slider.input_value()) == float(
        found.group(1)
    )
    assert size(page) == 4
    canvas.focus()
    page.keyboard.press("ArrowDown")
    other = rf"t2=(?!{re.escape(found.group(1))}\b)([\d.]+)"
    lowered = eventually(page, lambda: re.search(other, search(page)))
    assert float(lowered.group(1)) < float(found.group(1))


def test_vacuous_bound_is_replaced_by_bound_of_smaller_region(regions: Any) -> None:
    page = regions("regions?side=6&t1=0&t2=0.8&query=14&step=3&expansion=random")
    eventually(page, lambda: size(page) == 4)
    # The bound of the shown size is vacuous; that of a smaller region is used.
    assert headline(page).startswith("Certified to ±0.44 with 1 of 36 nodes")
    assert "no guarantee" not in answer(page)


def test_estimate_and_error_belong_to_chosen_state(regions: Any) -> None:
    page = regions("regions?data=karate&cut=mean-field&tolerance=0.000001&step=15&state=0")
    eventually(page, lambda: "Actual error" in answer(page))
    errors = []
    for state in range(page.locator(".gv-answer option").count()):
        page.locator(".gv-answer select").select_option(str(state))
        # Read together: the page may still be moving to the step of the address.
        text, numbers = page.locator(".gv-answer").evaluate(
            """(answer) => [
                answer.innerText,
                Array.from(answer.querySelectorAll(".gv-answer-row b"), (b) => b.innerText),
            ]"""
        )
        local, exact = (float(number) for number in numbers[:2])
        found = re.search(r"Actual error ([\d.]+)", text)
        assert found
        errors.append(float(found.group(1)))
        assert errors[-1] == pytest.approx(abs(local - exact), abs=2e-3)
    assert max(errors) - min(errors) > 4e-3, "errors of the states do not differ"


def test_candidate_bounds_are_rounded_up_as_in_sentence(regions: Any) -> None:
    page = regions(f"{SMALL}&step=1")
    eventually(page, lambda: size(page) == 2)
    page.evaluate(
        """() => {
            const own = CanvasRenderingContext2D.prototype, { fillText } = own;
            globalThis.texts = [];
            own.fillText = function (text, ...place) {
                if (this.canvas.closest('.gv-stage')) texts.push(text);
                return fillText.call(this, text, ...place);
            };
        }"""
    )
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: size(page) == 3)
    model = grid_model(8, 1.0, 0.2, 0)
    history = local_marginal(model.model, model.usual_query, tolerance=0.01).history
    bounds = {bound_text(bound) for step in history[:3] for bound in step.candidate_bounds.tolist()}
    best = bound_text(min(history[2].candidate_bounds.tolist()))
    eventually(page, lambda: best in page.evaluate("texts"))
    assert {text for text in page.evaluate("texts") if text.startswith("0.")} <= bounds


def test_bounds_have_same_text_in_python_and_javascript(browser_page: Any) -> None:
    values = [0.0, 1.0, 0.999, 0.00987, 0.0101, 0.5, 0.123456, 1e-3, 9.99e-4, 1e-5, 3.21e-7]
    script = view_script("region").replace("return { mount, host };", "return { boundText };")
    browser_page.goto("about:blank")
    written = browser_page.evaluate(f"{script} {json.dumps(values)}.map(GraftvizRegion.boundText)")
    for value, text in zip(values, written, strict=True):
        assert float(text.replace("−", "-")) == float(bound_text(value)), value


def test_saved_answer_has_query_state_and_bound(regions: Any) -> None:
    page = regions(f"{SMALL}&step=2")
    eventually(page, lambda: size(page) == 3)
    watch_painting(page)
    with page.expect_download():
        page.locator(".gv-answer .gv-save").click()
    text = " ".join(painted(page))
    chosen = page.locator(".gv-answer select").evaluate("s => s.selectedOptions[0].text")
    for part in (headline(page), f"State: {chosen}", "from 3 nodes"):
        assert part in text
    row = page.locator(".gv-answer-row").first.inner_text()
    assert row.split()[-1] in text, "the bound is missing"
