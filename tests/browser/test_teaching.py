"""Teaching in a browser: the tour, presenter mode, and lessons."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urljoin

import pytest
from waiting import eventually

from graftviz.reports.words.lessons import GUIDES, TOUR, Lesson, Stop, begin_address

pytestmark = [pytest.mark.browser, pytest.mark.slow]

COMPILING = 400_000  # ms of the first start, which compiles the engine
CARD, DONE = ".card", ".task.done"
FOCUSED = """(() => {
    let node = document.activeElement;
    while (node.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    return node.className || node.textContent;
})()"""


def open_grow(page: Any, address: str, query: str = "?data=karate") -> None:
    page.goto(address + query)
    page.locator(".gv-player .gv-body:not([hidden])").wait_for(timeout=COMPILING)


def begin(page: Any, address: str, guide: Lesson, more: str = "") -> None:
    page.goto(f"{address}{begin_address(guide)}{more}")
    page.locator(CARD).wait_for(timeout=COMPILING)


def title(page: Any) -> str:
    return str(page.inner_text(f"{CARD} h2"))


def go_to(page: Any, stops: Sequence[Stop], to: int) -> None:
    while (before := title(page)) != stops[to].title:
        page.locator(".next").click()  # shows the answer or the next stop
        if title(page) == before:
            page.locator(".next").click()
        eventually(page, lambda before=before: title(page) != before)


def test_tour_detects_actions_and_leaves_keys_to_player(open_page: Any, address: str) -> None:
    stops = GUIDES[TOUR].stops
    page = open_page(1280, 720)
    open_grow(page, address)
    step = page.get_by_role("slider", name="Step", exact=True)
    page.get_by_role("button", name="Tour", exact=True).click()
    page.locator(CARD).wait_for()
    assert page.evaluate(FOCUSED) == "card"
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: step.get_attribute("aria-valuenow") == "1")
    page.locator(DONE).wait_for()
    assert title(page) == stops[0].title
    go_to(page, stops, 5)
    slider = page.locator(".st-key-option-alpha input")

    def is_changed() -> bool:
        # A run of the page in between may undo a press.
        if float(slider.input_value()) > 0.5:
            slider.press("ArrowLeft")
        return "alpha=0.5" in page.evaluate("location.search")

    eventually(page, is_changed)
    page.locator(DONE).wait_for()
    # The run of the page writes its address; the reached stop stays in it.
    eventually(page, lambda: "lesson=tour.6" in page.evaluate("location.search"))
    go_to(page, stops, 6)
    light, lit = page.locator(".light"), page.locator(stops[6].lit)
    eventually(page, lambda: _covers(light.bounding_box(), lit.bounding_box()))
    page.keyboard.press("Escape")
    assert page.locator(CARD).count() == 0
    eventually(page, lambda: "lesson" not in page.evaluate("location.search"))


def test_tour_that_begins_does_not_load_view_again(open_page: Any, address: str) -> None:
    page = open_page(1280, 720)

    def send_slowly(socket: Any) -> None:
        # Messages that arrive one by one are drawn one by one.
        def send(message: str | bytes) -> None:
            time.sleep(0.03)
            socket.send(message)

        socket.connect_to_server().on_message(send)

    page.route_web_socket(re.compile("_stcore/stream"), send_slowly)
    open_grow(page, address)
    step = page.get_by_role("slider", name="Step", exact=True).element_handle()
    page.get_by_role("button", name="Tour", exact=True).click()
    page.locator(CARD).wait_for()
    page.wait_for_timeout(1000)
    assert step.evaluate("element => element.isConnected")


def _covers(light: dict[str, float], lit: dict[str, float]) -> bool:
    return (
        light["x"] <= lit["x"]
        and light["y"] <= lit["y"]
        and light["x"] + light["width"] >= lit["x"] + lit["width"]
        and light["y"] + light["height"] >= lit["y"] + lit["height"]
    )


def test_tour_on_phone_points_to_side_bar(open_page: Any, address: str) -> None:
    page = open_page(390, 844, dark=True, reduced_motion=True)
    begin(page, address, GUIDES[TOUR])
    go_to(page, GUIDES[TOUR].stops, 5)
    eventually(page, lambda: "Open the side bar" in page.inner_text(CARD))
    page.get_by_test_id("stExpandSidebarButton").click()
    eventually(page, lambda: "Open the side bar" not in page.inner_text(CARD))
    box = page.locator(CARD).bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert box["y"] > 844 / 2


def test_lesson_shows_answer_after_prediction_and_has_link(open_page: Any, address: str) -> None:
    lesson = GUIDES["step"]
    first, second, third = lesson.stops
    page = open_page(1400, 900)
    begin(page, address, lesson)
    page.locator(".gv-player .gv-body:not([hidden])").wait_for(timeout=COMPILING)
    choice, reveal = page.locator(".choices button"), page.locator(".reveal")
    assert not page.locator(".task").is_visible(), "the answer is shown before the prediction"
    choice.nth(1 - first.right).click()
    assert page.locator(".task").inner_text() == first.wish
    assert not reveal.is_visible()
    page.keyboard.press("ArrowRight")
    reveal.wait_for()
    assert first.reveal in reveal.inner_text()
    assert "Not as predicted" in reveal.inner_text()
    assert choice.nth(first.right).get_attribute("class") == "right"
    # The card covers nothing of the page.
    graph, card = (page.locator(name).bounding_box() for name in (".gv-stage", CARD))
    assert graph["x"] + graph["width"] <= card["x"]
    go_to(page, lesson.stops, 2)
    eventually(page, lambda: "lesson=step.3" in page.evaluate("location.search"))
    page.reload()
    page.locator(CARD).wait_for(timeout=COMPILING)
    assert title(page) == third.title
    choice.nth(third.right).click()
    page.locator(".gv-player .gv-body:not([hidden])").wait_for(timeout=COMPILING)
    page.keyboard.press("End")
    reveal.wait_for()
    assert "As predicted" in reveal.inner_text()
    assert second.reveal not in reveal.inner_text()


# One lesson of each page: lessons of Grow outline the same controls as the tour.
@pytest.mark.parametrize("key", ["rows", "reservoir", "regions", "series"])
def test_controls_of_lesson_are_on_its_page(open_page: Any, address: str, key: str) -> None:
    lesson = GUIDES[key]
    page = open_page(1400, 900, reduced_motion=True)
    begin(page, address, lesson)
    for number, stop in enumerate(lesson.stops, 1):
        assert title(page) == stop.title
        if stop.opens:
            page.locator("a.open").click()
            eventually(page, lambda stop=stop: stop.opens.partition("?")[2] in page.url, 60_000)
            page.locator(CARD).wait_for(timeout=COMPILING)
            assert title(page) == stop.title
        if stop.lit:
            page.locator(".light:not([hidden])").wait_for(timeout=60_000)
        if number < len(lesson.stops):
            go_to(page, lesson.stops, number)


def test_unknown_lesson_shows_one_sentence(open_page: Any, address: str) -> None:
    page = open_page(1280, 720)
    page.goto(f"{address}?lesson=flying")
    page.get_by_text("There is no lesson 'flying'").wait_for(timeout=COMPILING)
    assert page.locator(CARD).count() == 0


def test_presenter_mode_persists_across_pages_until_escape(open_page: Any, address: str) -> None:
    page = open_page(1280, 720)
    open_grow(page, address)
    for width in (390, 800, 960, 1280):
        page.set_viewport_size({"width": width, "height": 720})
        # Nothing covers the button at any width.
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
    page.get_by_role("heading", name="Red edges").wait_for()
    eventually(page, lambda: "present=1" in page.evaluate("location.search"))
    tour = page.get_by_role("link", name="Begin with the tour").get_attribute("href")
    page.goto(urljoin(page.url, tour))
    page.locator(CARD).wait_for()
    page.locator(".gv-player .gv-body:not([hidden])").wait_for()
    assert page.evaluate(size) == f"{1.35 * usual:g}px"
    page.keyboard.press("Escape")
    assert page.locator(CARD).count() == 0
    page.keyboard.press("Escape")
    eventually(page, lambda: page.evaluate(size) == f"{usual:g}px")
    eventually(page, lambda: "present" not in page.evaluate("location.search"))
