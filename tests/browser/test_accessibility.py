"""Accessibility of every page by axe-core: wide and light, then narrow and dark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from axe import serious_findings
from sample_records import sample_run
from waiting import eventually

from graftviz.formats.replay import replay_page

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
PHONE = {"width": 390, "height": 844}
# Queries that are quick to learn; other pages are opened with their defaults.
QUICK = {
    "grow": "?data=karate",
    "race": "race?data=karate&racers=best-choice:alpha=0.5",
    "reservoir": "reservoir?data=karate&alpha=0.2&step=10",
    "regions": "regions?side=8",
    "prune": "prune?exchanges=2&exchange=2",
    "budget": "budget?data=survey&bound=1",
    "dynamics": "dynamics?size=12&rows=150&parents=3&seeds=4",
    "inspect": "inspect?data=karate&learner=chow-liu&node=0",
}
# Pictures without a name, and pictures that handle keys but cannot have the focus.
UNNAMED = """() => {
  const inside = (root) => [...root.querySelectorAll("*")].flatMap(
    (node) => [node, ...(node.shadowRoot ? inside(node.shadowRoot) : [])]);
  return inside(document).filter((node) => node.matches("canvas") && node.checkVisibility()
    && node.closest(".gv-player")
    && !(node.getAttribute("role") && node.getAttribute("aria-label")
      && (node.getAttribute("role") !== "application" || node.tabIndex === 0)))
    .map((node) => node.closest("section").getAttribute("aria-label"));
}"""


def page_names() -> list[str]:
    """Return the pages of the app's navigation."""
    app = (ROOT / "app.py").read_text(encoding="utf-8")
    return re.findall(r'st\.Page\("pages/(\w+)\.py"', app)


def wait_for_rest(page: Any) -> None:
    """Wait until the page is complete."""

    def rests() -> bool:
        app = page.locator("[data-testid=stApp]")
        if app.get_attribute("data-test-script-state") != "notRunning":
            return False
        waiting = page.locator(".gv-loading:visible, [data-testid=stSkeleton]:visible")
        return page.locator(".stMain h1, .stMain h2, .stMain button").count() > 0 and (
            waiting.count() == 0
        )

    page.locator("[data-testid=stApp]").wait_for()
    eventually(page, rests)
    page.wait_for_timeout(300)
    eventually(page, rests)


def check_keys_announce_selection(page: Any) -> None:
    """Select the next item in every picture and check that it is announced."""
    page.keyboard.press("End")
    page.wait_for_timeout(300)
    for picture in page.locator(".gv-player canvas[aria-keyshortcuts]:visible").all():
        live = page.locator(".gv-live")
        live.evaluate("(node) => { node.textContent = ''; }")
        picture.focus()
        page.keyboard.press("n")
        eventually(
            page,
            lambda live=live, picture=picture: (
                live.text_content() or picture.get_attribute("aria-label").startswith("No ")
            ),
        )


def test_page_names_match_page_files() -> None:
    assert set(page_names()) == {path.stem for path in (ROOT / "pages").glob("*.py")}
    assert set(QUICK) <= set(page_names())


@pytest.mark.slow
@pytest.mark.parametrize("name", page_names())
def test_page_has_no_serious_accessibility_violation(opener: Any, name: str) -> None:
    query = QUICK.get(name, "" if name == "grow" else name)
    page = opener(query, "[data-testid=stApp]")(reduced_motion=True)
    wait_for_rest(page)
    assert serious_findings(page) == []
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.set_viewport_size(PHONE)
    wait_for_rest(page)
    assert serious_findings(page) == []
    assert page.evaluate(UNNAMED) == []
    assert page.evaluate(
        "[document.documentElement, document.querySelector('.stMain')]"
        ".every((box) => box.scrollWidth <= innerWidth)"
    )
    check_keys_announce_selection(page)


@pytest.mark.parametrize("dark", [False, True])
def test_replay_has_no_serious_accessibility_violation(
    open_page: Any, show_html: Any, until: Any, dark: bool
) -> None:
    page = open_page(390 if dark else 1400, 844, dark=dark, reduced_motion=True)
    show_html(page, replay_page(*sample_run(12, max_steps=6)))
    until(page, "globalThis.replay !== undefined && replay.log.finished")
    page.evaluate("replay.seek(5), replay.select({kind: 'node', i: 0})")
    until(page, "replay.raf === 0")
    assert serious_findings(page) == []
    assert page.evaluate(UNNAMED) == []
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()
    assert serious_findings(page) == []
