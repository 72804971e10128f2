"""Layout and accessibility of all pages on a laptop, a tablet and a phone, and presenter mode."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from axe import (
    check_keys_announce_selection,
    pictures_without_name,
    serious_findings,
    wait_for_rest,
)
from waiting import eventually

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
LAPTOP, TABLET, PHONE = (1400, 900), (1024, 768), (390, 844)
LEAST_SHARE = 0.40  # shares of the window for the main picture or all main views
LEAST_PRESENTED = 0.65
WIDEST_SIDEBAR = 240  # px
UNDER_HEADER = 50  # px
LEAST_TILE = 80  # px, the height of each of several pictures
MENUS = ("Download", "Link", "Help")


class Contract(NamedTuple):
    """Elements of a page.

    Attributes
    ----------
    picture : str
        Selector of the main picture, or of the main views; empty if there is none.
    sentence : str
        Selector of the sentence; empty if there is none.
    panels : str
        Selector of the panels that a laptop shows beside the picture without scrolling.
    has_bar : bool
        Whether it has a playback bar, and panels beside the picture.
    scrolls : bool
        Whether there is more below the view.
    """

    picture: str
    sentence: str = ".gv-sentence"
    panels: str = ".gv-side > .gv-card"
    has_bar: bool = True
    scrolls: bool = False


PAGES = {
    "": Contract(".gv-stage", panels=".gv-words, .gv-reservoir, .gv-curves"),
    "race": Contract(
        ".gv-race-tile, .gv-race-charts > .gv-card", panels=".gv-race-charts, .gv-race-standings"
    ),
    "reservoir": Contract(".js-plotly-plot", "", ".js-plotly-plot", has_bar=False),
    "regions": Contract(".gv-stage", panels=".gv-answer, .gv-region-curves"),
    "prune?data=survey": Contract(".gv-stage"),
    "budget": Contract(".gv-main > .gv-card", scrolls=True),
    "dynamics": Contract(
        ".gv-main > .gv-card",
        panels=".gv-dynamics-evidence, .gv-dynamics-matrix, .gv-dynamics-window",
        scrolls=True,
    ),
    "inspect?data=survey": Contract(
        ".gv-stage",
        ".st-key-inspect_method p",
        ".st-key-inspect_panel",
        has_bar=False,
        scrolls=True,
    ),
    "lessons": Contract("", "", "", has_bar=False, scrolls=True),
}
BOXES = """(elements) => elements.map((element) => {
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const wide = element.scrollWidth - element.clientWidth;
  return { left, top, right, bottom, wide, tall: element.scrollHeight - element.clientHeight };
}).filter((box) => box.right > box.left && box.bottom > box.top)"""


class Measures:
    """Boxes of the parts of a page at rest."""

    def __init__(self, page: Any, contract: Contract) -> None:
        selectors = {
            "document": "html",
            "main": "[data-testid=stMain]",
            "sidebar": "[data-testid=stSidebar]",
            "menu": ".st-key-page_menu",
            "title": ".st-key-page_header p >> nth=0",
            "stages": ".gv-stage",
            "picture": contract.picture,
            "sentence": contract.sentence,
            "bar": ".gv-transport",
            "layout": ".gv-layout",
            "side": ".gv-side",
            "panels": contract.panels,
        }
        before: list[Any] = []

        def is_at_rest() -> bool:
            page.wait_for_timeout(150)
            found = {
                part: page.locator(selector).evaluate_all(BOXES) if selector else []
                for part, selector in selectors.items()
            }
            before.append(found)
            is_whole = found["menu"] or found["picture"]
            return bool(is_whole) and len(before) > 1 and before[-1] == before[-2]

        eventually(page, is_at_rest)
        self._found = before[-1]
        self.width, self.height = page.viewport_size.values()

    def __getattr__(self, part: str) -> list[dict[str, float]]:
        return list(self._found[part])

    def share(self) -> float:
        """Return the share of the window covered by pictures."""
        area = 0.0
        for box in self.picture:
            across = min(box["right"], self.width) - max(box["left"], 0.0)
            area += across * max(min(box["bottom"], self.height) - max(box["top"], 0.0), 0.0)
        return area / (self.width * self.height)

    def is_in_window(self, part: str) -> bool:
        box = self._found[part][0]
        fits_across = box["left"] >= 0 and box["right"] <= self.width
        return fits_across and box["top"] >= UNDER_HEADER and box["bottom"] <= self.height + 0.5

    def panels_are_whole(self) -> bool:
        """Return whether all panels end within the layout, or within the window without one."""
        lowest = self.layout[0]["bottom"] if self.layout else self.height
        return bool(self.panels) and all(box["bottom"] <= lowest + 0.5 for box in self.panels)

    def nothing_scrolls_across(self) -> bool:
        parts = ("document", "main", "layout", "side")
        return all(box["wide"] <= 0 for part in parts for box in self._found[part])

    def nothing_is_under_the_bar(self) -> bool:
        bar = self.bar[0]["top"] + 0.5
        return all(box["bottom"] <= bar for part in ("layout", "side") for box in self._found[part])


@pytest.fixture
def measured(opener: Any) -> Any:
    """Return a function that opens a page and returns it with a function that measures it."""

    def open_and_measure(
        name: str, size: tuple[int, int], query: str = "", *, dark: bool = False
    ) -> tuple[Any, Callable[..., Measures]]:
        contract = PAGES[name]
        shown = f"{contract.picture or '.st-key-page_menu'} >> nth=0"
        width, height = size
        open_it = opener(name + query, shown)
        touch = size == PHONE
        page = open_it(width=width, height=height, touch=touch, dark=dark, reduced_motion=True)

        def measure(is_so: Callable[[Measures], bool] = lambda _: True) -> Measures:
            def found() -> Measures | None:
                measures = Measures(page, contract)
                return measures if is_so(measures) else None

            return eventually(page, found)

        return page, measure

    return open_and_measure


def test_every_page_has_a_contract_and_is_in_the_navigation() -> None:
    files = {path.stem for path in (ROOT / "pages").glob("*.py")}
    assert {name.partition("?")[0] or "grow" for name in PAGES} == files
    app = (ROOT / "app.py").read_text(encoding="utf-8")
    assert set(re.findall(r'st\.Page\("pages/(\w+)\.py"', app)) == files


@pytest.mark.parametrize("name", PAGES)
def test_page_on_laptop_and_tablet(measured: Any, name: str) -> None:
    contract = PAGES[name]
    page, measure = measured(name, LAPTOP)
    found = measure(
        lambda m: not contract.picture or (m.share() >= LEAST_SHARE and m.panels_are_whole())
    )
    assert all(box["right"] - box["left"] <= WIDEST_SIDEBAR for box in found.sidebar)
    assert contract.scrolls or found.main[0]["tall"] <= 0
    wait_for_rest(page)
    assert serious_findings(page) == []
    for width, height in (LAPTOP, TABLET):
        page.set_viewport_size({"width": width, "height": height})
        found = measure(lambda m, width=width: m.width == width and m.nothing_scrolls_across())
        menu, title = found.menu[0], found.title[0]
        beside = found.sidebar[0]["right"] if found.sidebar else 0
        assert title["left"] - beside == pytest.approx(15, abs=1)
        assert title["top"] + title["bottom"] == pytest.approx(menu["top"] + menu["bottom"], abs=2)
        assert all(box["bottom"] - box["top"] >= LEAST_TILE for box in found.stages)
        assert width - menu["right"] == pytest.approx(15, abs=1)
        assert menu["top"] == pytest.approx(57, abs=1)
        assert menu["bottom"] - menu["top"] < 40, "one row"
        for label in MENUS:
            assert page.locator(".st-key-page_menu").get_by_role("button", name=label).is_visible()
        if contract.has_bar:
            assert found.is_in_window("sentence")
            assert found.is_in_window("bar")
            assert found.nothing_is_under_the_bar()


@pytest.mark.parametrize("name", PAGES)
def test_page_on_phone(measured: Any, name: str) -> None:
    contract = PAGES[name]
    page, measure = measured(name, PHONE, dark=True)
    found = measure(Measures.nothing_scrolls_across)
    assert found.menu[0]["bottom"] - found.menu[0]["top"] < 40, "one row"
    assert found.menu[0]["right"] <= PHONE[0]
    assert found.title[0]["wide"] <= 0, "nothing is cut off"
    if contract.has_bar:
        assert found.is_in_window("bar")
        assert found.bar[0]["bottom"] - found.bar[0]["top"] < 140
        assert found.nothing_is_under_the_bar()
        if ".gv-stage" in contract.picture or ".gv-main" in contract.picture:
            assert found.picture[0]["bottom"] <= found.sentence[0]["top"] < found.bar[0]["top"]
    wait_for_rest(page)
    assert serious_findings(page) == []
    assert pictures_without_name(page) == []
    check_keys_announce_selection(page)


@pytest.mark.parametrize("name", [name for name, contract in PAGES.items() if contract.picture])
def test_presenter_mode_shows_picture_sentence_and_bar(measured: Any, name: str) -> None:
    contract = PAGES[name]
    _, measure = measured(name, LAPTOP, f"{'&' if '?' in name else '?'}present=1")
    found = measure(lambda m: not contract.sentence or m.share() >= LEAST_PRESENTED)
    assert not found.sidebar
    assert not found.menu
    if not contract.sentence:
        return
    assert found.sentence[0]["tall"] <= 1, "nothing is cut off"
    assert found.is_in_window("sentence")
    assert not contract.has_bar or found.is_in_window("bar")


def test_charts_do_not_move_after_first_step(measured: Any) -> None:
    page, measure = measured("", LAPTOP)
    places = []
    for key in ("Home", "ArrowRight"):
        page.keyboard.press(key)
        eventually(page, lambda: page.locator(".gv-words h3").inner_text() != "")
        places.append(measure().panels[-1]["top"])
    assert places[0] == pytest.approx(places[1], abs=2)
