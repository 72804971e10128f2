"""Accessibility of selections and of a replay by axe-core; test_page_layout.py checks all pages."""

from __future__ import annotations

from typing import Any

import pytest
from axe import (
    check_keys_announce_selection,
    pictures_without_name,
    serious_findings,
    wait_for_rest,
)
from sample_records import sample_run

from graftviz.reports.files.run_folder import replay_page

pytestmark = pytest.mark.browser

# States that pages do not show at first.
STATES = (
    "reservoir?data=karate&alpha=0.2&step=10",
    "prune?exchanges=2&exchange=2",
    "inspect?data=karate&learner=chow-liu&node=0",
)


@pytest.mark.slow
@pytest.mark.parametrize("query", STATES)
def test_state_of_page_has_no_serious_accessibility_violation(opener: Any, query: str) -> None:
    page = opener(query, "[data-testid=stApp]")(reduced_motion=True)
    wait_for_rest(page)
    assert serious_findings(page) == []
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.set_viewport_size({"width": 390, "height": 844})
    wait_for_rest(page)
    assert serious_findings(page) == []
    assert pictures_without_name(page) == []
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
    assert pictures_without_name(page) == []
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()
    assert serious_findings(page) == []
