"""Waiting for what a page will show: pages follow a moment after what was done to them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

AT_REST = "player.raf === 0 && !player.playing"
PATIENCE = 60.0  # s a page may take on a machine that is busy with other tests


def eventually(page: Any, what: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Wait until `what` returns something true, and return that."""
    give_up = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < give_up, what_is_there(page)
        page.wait_for_timeout(40)
    return value


def what_is_there(page: Any) -> str:
    """Return the address, whether the page runs, its words, and those of its views."""
    script = page.locator("[data-testid=stApp]").evaluate_all(
        "apps => apps.map((app) => app.dataset.testScriptState).join()"
    )
    views = page.locator(".gv-place:not(style)").all_inner_texts()
    return "\n".join([page.url, script, page.locator("body").inner_text(), *views])


def jump_to(page: Any, step: int) -> None:
    """Let the player show a step at once, without the way there."""
    page.evaluate("(t) => { player.seek(t); player.p = t; }", step)
