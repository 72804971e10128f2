"""Accessibility violations that axe-core finds in a page, except those of Streamlit itself."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

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
