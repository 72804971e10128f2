"""The base of views of steps, without a page of the app."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graftviz.reports.replay.bundle import bundle

pytestmark = pytest.mark.browser

PAGE = """<!DOCTYPE html><meta charset="utf-8"><div id="here"></div>
<script>
globalThis.isHidden = true;
Object.defineProperty(document, "hidden", { get: () => isHidden });
</script>
<script type="module">
SCRIPT
class Missing extends StepView {
  log = { ready: 0, last: 0 };
  transport = { moving: false };
  demand() { if (!globalThis.requests) this.requests.send("a step"); }
}
globalThis.requests = 0;
const need = () => { requests += 1; };
const options = { speedKey: "test.speed", speed: 1 };
globalThis.view = new Missing(here, { need }, "gv-test", "Test", options);
view.wake();
</script>"""


def test_hidden_tab_requests_missing_steps_when_shown(
    browser_page: Any, show_html: Callable[[Any, str], None], until: Any
) -> None:
    show_html(browser_page, PAGE.replace("SCRIPT", bundle("shared/step_view.js")))
    until(browser_page, "globalThis.view !== undefined")
    browser_page.wait_for_timeout(200)
    assert browser_page.evaluate("requests") == 0
    browser_page.evaluate("isHidden = false; document.dispatchEvent(new Event('visibilitychange'))")
    until(browser_page, "requests === 1")
