"""The Reservoir page in a browser: opened by navigation and by link, with another α."""

from __future__ import annotations

import re
from typing import Any

import pytest
from waiting import eventually

pytestmark = pytest.mark.browser

COMPILING = 400_000  # ms of the first start, which compiles the engine


def alpha(page: Any) -> Any:
    # The accessible name ends with the text of the help beside it.
    return page.get_by_role("slider", name=re.compile("^α"))


def wait_for_figures(page: Any) -> None:
    page.get_by_text("eligible, and").wait_for(timeout=COMPILING)
    page.locator(".js-plotly-plot").nth(2).wait_for()


def test_link_opens_page_with_navigation(opener: Any) -> None:
    page = opener("reservoir?data=karate&alpha=0.2&step=10", "text=eligible, and")()
    wait_for_figures(page)
    assert page.get_by_role("link", name="Grow").is_visible()
    assert page.title() == "Reservoir · graftviz"
    eventually(page, lambda: alpha(page).input_value() == "0.2")
    assert page.evaluate("location.search") == "?data=karate&alpha=0.2&step=10"


@pytest.mark.parametrize("width", [1400, 390])
def test_alpha_changes_the_threshold(open_page: Any, address: str, until: Any, width: int) -> None:
    page = open_page(width=width)
    page.goto(address)
    if width == 1400:
        page.get_by_role("link", name="Reservoir").click(timeout=COMPILING)
    else:
        # On a phone the navigation is folded away.
        page.get_by_test_id("stExpandSidebarButton").click(timeout=COMPILING)
        page.get_by_role("link", name="Reservoir").click(timeout=COMPILING)
        page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
    wait_for_figures(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    before = page.locator(".js-plotly-plot").nth(2).inner_text()
    alpha(page).press("Home")
    page.get_by_text("takes all above the mean").wait_for()
    until(page, "location.search === '?alpha=0'")
    eventually(page, lambda: page.locator(".js-plotly-plot").nth(2).inner_text() != before)
