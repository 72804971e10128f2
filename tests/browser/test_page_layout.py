"""Layout of the pages: a large picture, its sentence and the playback bar, nothing covered."""

from __future__ import annotations

from typing import Any

import pytest
from waiting import eventually

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PICTURE = {
    "": ".gv-stage",
    "regions": ".gv-stage",
    "prune?data=survey": ".gv-stage",
    "inspect?data=survey": ".gv-stage",
    "budget": ".gv-main",
    "dynamics": ".gv-main",
}
PLAYERS = [page for page in PICTURE if not page.startswith("inspect")]
LEAST_SHARE = 0.40  # of the window, for the picture
LEAST_PRESENTED = 0.65
WIDEST_SIDEBAR = 240  # px
UNDER_HEADER = 50  # px


def box_of(page: Any, selector: str) -> dict[str, float]:
    """Return the place of the first element, once the layout has come to rest."""
    element = page.locator(selector).first
    element.wait_for()
    before: list[Any] = []

    def is_at_rest() -> bool:
        before.append(element.bounding_box())
        return len(before) > 1 and before[-1] == before[-2]

    eventually(page, is_at_rest)
    return dict(before[-1])


def share(page: Any, selector: str) -> float:
    """Return the share of the window that an element covers."""
    box, window = box_of(page, selector), page.viewport_size
    return float(box["width"] * box["height"] / (window["width"] * window["height"]))


def is_in_window(page: Any, selector: str) -> bool:
    box, window = box_of(page, selector), page.viewport_size
    fits_across = box["x"] >= 0 and box["x"] + box["width"] <= window["width"]
    return fits_across and UNDER_HEADER <= box["y"] <= window["height"] - box["height"] + 0.5


def test_charts_keep_their_places_after_the_first_step(opener: Any) -> None:
    page = opener("", ".gv-player-body:not([hidden])")()
    places = []
    for key in ("Home", "ArrowRight"):
        page.keyboard.press(key)
        eventually(page, lambda: page.locator(".gv-words h3").inner_text() != "")
        places.append([box_of(page, part)["y"] for part in (".gv-reservoir", ".gv-curves")])
    assert places[0] == pytest.approx(places[1], abs=2)


@pytest.mark.parametrize("name", PICTURE)
def test_picture_sentence_and_bar_have_their_places(opener: Any, name: str) -> None:
    picture = PICTURE[name]
    page = opener(name, picture)()
    eventually(page, lambda: share(page, picture) >= LEAST_SHARE)
    assert box_of(page, "[data-testid=stSidebar]")["width"] <= WIDEST_SIDEBAR
    is_player = name in PLAYERS
    parts = (".gv-main", ".gv-sentence", ".gv-transport") if is_player else (picture,)
    for width, height in ((1400, 900), (1024, 768)):
        page.set_viewport_size({"width": width, "height": height})
        for part in parts:
            eventually(page, lambda part=part: is_in_window(page, part))
        if is_player:
            side, bar = box_of(page, ".gv-side"), box_of(page, ".gv-transport")
            assert side["y"] + side["height"] <= bar["y"], "the bar covers no panel"
    page.set_viewport_size({"width": 390, "height": 844})
    eventually(page, lambda: page.evaluate("document.documentElement.scrollWidth") <= 390)
    assert box_of(page, picture)["width"] <= 390
    if is_player:
        assert box_of(page, ".gv-main")["y"] < box_of(page, ".gv-sentence")["y"]
        assert is_in_window(page, ".gv-transport")


@pytest.mark.parametrize("name", ["?present=1", "regions?present=1", "prune?data=survey&present=1"])
def test_presenting_leaves_picture_sentence_and_bar(opener: Any, name: str) -> None:
    page = opener(name, ".gv-stage")()
    eventually(page, lambda: share(page, ".gv-stage") >= LEAST_PRESENTED)
    assert not page.get_by_test_id("stSidebar").is_visible()
    assert is_in_window(page, ".gv-sentence")
    assert is_in_window(page, ".gv-transport")
    assert not page.locator("[class*=curves]").first.is_visible()
