"""Teaching in a real browser: the tour at real controls, presenter mode, lessons in tabs."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

import pytest
from waiting import eventually

from graftviz.narrative.tour import tour_records

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STOPS = tour_records()
COMPILING = 400_000  # ms the very first start may take
CARD, DONE = ".card", ".task.done"
FOCUSED = """(() => {
    let node = document.activeElement;
    while (node.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    return node.className || node.textContent;
})()"""


def open_grow(page: Any, address: str, query: str = "?data=karate") -> None:
    page.goto(address + query)
    page.locator(".gv-player .gv-body:not([hidden])").wait_for(timeout=COMPILING)


def go_to(page: Any, stop: int) -> None:
    while (title := page.inner_text(f"{CARD} h2")) != STOPS[stop]["title"]:
        page.get_by_role("button", name="Next", exact=True).click()
        eventually(page, lambda before=title: page.inner_text(f"{CARD} h2") != before)


def test_the_tour_stops_at_real_controls_and_notices_what_is_tried(
    open_page: Any, address: str
) -> None:
    page = open_page(1280, 720)
    open_grow(page, address)
    page.get_by_role("button", name="Take the tour").click()
    assert page.evaluate(FOCUSED) == "card"
    assert page.inner_text(".count") == f"1 of {len(STOPS)}"
    # The keys of the player work while the card has the focus.
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    step = page.get_by_role("slider", name="Step", exact=True)
    eventually(page, lambda: step.get_attribute("aria-valuenow") == "1")
    page.keyboard.press(" ")
    page.get_by_role("button", name="Pause", exact=True).wait_for()
    page.keyboard.press(" ")
    assert page.inner_text(f"{CARD} h2") == STOPS[0]["title"]
    # The light lies around the control and takes no click from it.
    page.get_by_role("button", name="Play", exact=True).click()
    page.locator(DONE).wait_for()
    page.get_by_role("button", name="Pause", exact=True).click()
    go_to(page, 5)
    slider = page.locator(".st-key-option-alpha input")
    for _ in range(5):
        slider.press("ArrowLeft")
    page.locator(DONE).wait_for()
    # The run of the page has mounted the button anew; the tour goes on.
    eventually(page, lambda: "alpha=0.5" in page.evaluate("location.search"))
    go_to(page, 6)
    light, lit = page.locator(".light"), page.locator(".st-key-grow-tools")
    # The page is laid out anew while its run goes on, and the light follows.
    eventually(page, lambda: _covers(light.bounding_box(), lit.bounding_box()))
    page.keyboard.press("Escape")
    assert page.locator(CARD).count() == 0
    assert page.evaluate(FOCUSED) == "Tour"


def test_the_card_stays_under_the_finger(open_page: Any, address: str) -> None:
    page = open_page(1280, 720, reduced_motion=True)
    open_grow(page, address, "?data=karate&tour=1")
    page.locator(CARD).wait_for()
    go_to(page, 1)
    # The card is placed in the next frames; the pointer waits until its button rests.
    page.get_by_role("button", name="Next", exact=True).hover()
    where = page.locator(CARD).bounding_box()
    page.mouse.down()
    page.set_viewport_size({"width": 1280, "height": 620})
    page.wait_for_timeout(300)
    assert page.locator(CARD).bounding_box() == where
    page.mouse.up()
    assert page.inner_text(f"{CARD} h2") == STOPS[2]["title"]
    eventually(page, lambda: page.locator(CARD).bounding_box() != where)


def _covers(light: dict[str, float], lit: dict[str, float]) -> bool:
    return (
        light["x"] <= lit["x"]
        and light["y"] <= lit["y"]
        and light["x"] + light["width"] >= lit["x"] + lit["width"]
        and light["y"] + light["height"] >= lit["y"] + lit["height"]
    )


def test_on_a_phone_the_tour_shows_the_way_to_the_side_bar_and_ends_with_the_page(
    open_page: Any, address: str
) -> None:
    page = open_page(390, 844, dark=True, reduced_motion=True)
    open_grow(page, address, "?data=karate&tour=1")
    page.locator(CARD).wait_for()
    go_to(page, 5)
    eventually(page, lambda: "Open the side bar" in page.inner_text(CARD))
    page.get_by_test_id("stExpandSidebarButton").click()
    eventually(page, lambda: "Open the side bar" not in page.inner_text(CARD))
    box = page.locator(CARD).bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert "tour" not in page.evaluate("location.search")


def test_presenter_mode_goes_along_and_ends_with_escape(open_page: Any, address: str) -> None:
    page = open_page(1280, 720)
    open_grow(page, address)
    for width in (390, 800, 960, 1280):
        page.set_viewport_size({"width": width, "height": 720})
        # Nothing lies above it, at any width.
        page.get_by_role("button", name="Present", exact=True).click(trial=True)
    size = "getComputedStyle(document.documentElement).fontSize"
    usual = float(page.evaluate(size).removesuffix("px"))
    words = page.locator(".gv-sentence")
    before = float(words.evaluate("node => parseFloat(getComputedStyle(node).fontSize)"))
    page.get_by_role("button", name="Present", exact=True).click()
    eventually(page, lambda: "present=1" in page.evaluate("location.search"))
    eventually(page, lambda: page.evaluate(size) == f"{1.35 * usual:g}px")
    grown = float(words.evaluate("node => parseFloat(getComputedStyle(node).fontSize)"))
    assert grown > 1.3 * before
    assert not page.get_by_test_id("stSidebar").is_visible()
    assert not page.locator(".st-key-page_header").is_visible()
    for width in (800, 1100, 1280):
        page.set_viewport_size({"width": width, "height": 720})
        page.get_by_role("button", name="Leave").click(trial=True)
    page.get_by_role("link", name="Lessons", exact=True).click()
    page.get_by_role("heading", name="What α does").wait_for()
    eventually(page, lambda: "present=1" in page.evaluate("location.search"))
    tour = page.get_by_role("link", name="Start with the tour").get_attribute("href")
    page.goto(urljoin(page.url, tour))
    page.locator(CARD).wait_for()
    eventually(page, lambda: "tour" not in page.evaluate("location.search"))
    page.reload()
    page.locator(".gv-player .gv-body:not([hidden])").wait_for()
    assert page.evaluate(size) == f"{1.35 * usual:g}px"
    assert page.locator(CARD).count() == 0
    page.keyboard.press("Escape")
    eventually(page, lambda: page.evaluate(size) == f"{usual:g}px")
    eventually(page, lambda: "present" not in page.evaluate("location.search"))
