"""Accessibility violations that axe-core finds in a page, except those of Streamlit itself."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from waiting import eventually

PACKAGE = "axe_playwright_python"
SERIOUS = ("serious", "critical")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# Violations of Streamlit that cannot be changed: (rule, the element or its container, reason).
STREAMLITS_OWN = (
    (
        "scrollable-region-focusable",
        '[data-testid="stTable"]',
        "The box of a table that is wider than a phone; browsers let it be scrolled by keyboard.",
    ),
)
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
FIND = """async ([tags, own]) => {
  const results = await axe.run(document, { resultTypes: ["violations"], runOnly: tags });
  const inner = (target) => target.flat().reduce(
    (root, selector) => (root.shadowRoot ?? root).querySelector(selector), document);
  const isOwn = (id, target) => own.some(([rule, place]) => {
    const node = inner(target);
    return rule === id && node && (node.closest(place) || node.querySelector(place));
  });
  return results.violations.flatMap(({ id, impact, nodes }) => nodes
    .filter(({ target }) => !isOwn(id, target))
    .map(({ target, failureSummary }) => ({ id, impact, target: target.flat().join(" >> "),
      why: failureSummary })));
}"""


@cache
def _script() -> str:
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        reason = f"{PACKAGE}, which brings axe-core, is not installed"
        if os.environ.get("GRAFTVIZ_REQUIRE_BROWSER", "0") not in ("", "0"):
            pytest.fail(reason)
        pytest.skip(f'{reason}: pip install -e ".[test]"')
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


def serious_findings(page: Any) -> list[str]:
    """Return the accessibility violations of a page, shadow roots included."""
    # Run by the browser: a content policy of the page cannot forbid it.
    if not page.evaluate("globalThis.axe !== undefined"):
        page.evaluate(_script())
    own = [[rule, place] for rule, place, _ in STREAMLITS_OWN]
    return [
        f"{found['impact']} {found['id']}: {found['target']}: {found['why']}"
        for found in page.evaluate(FIND, [RULES, own])
        # The playback bar stays at the bottom while the page scrolls under it.
        if found["impact"] in SERIOUS and "partially obscured" not in found["why"]
    ]


def pictures_without_name(page: Any) -> list[str]:
    """Return the pictures of a page that have no name or cannot have the focus."""
    return list(page.evaluate(UNNAMED))


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
