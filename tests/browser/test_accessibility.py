"""Accessibility of a replay by axe-core; test_page_layout.py checks the pages."""

from __future__ import annotations

from typing import Any

import pytest
from axe import pictures_without_name, serious_findings
from sample_records import sample_run

from graftviz.formats.replay import replay_page

pytestmark = pytest.mark.browser


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
