"""Waiting for what follows a moment later: in a page, in another thread, in a server."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

AT_REST = "player.raf === 0 && !player.playing"
PATIENCE = 60.0  # s anything may take on a machine that is busy with other tests


def wait_until(
    condition: Callable[[], Any],
    seconds: float = PATIENCE,
    *,
    pause: Callable[[], object] = lambda: time.sleep(0.01),
    state: Callable[[], object] = lambda: "",
) -> Any:
    """Return the first true value of `condition`; fail with `state` after a number of seconds."""
    give_up = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < give_up, f"not within {seconds:g} s: {state()}"
        pause()
    return value


def eventually(page: Any, what: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Wait until `what` returns something true in a page, and return that."""
    return wait_until(
        what,
        seconds,
        pause=lambda: page.wait_for_timeout(40),
        state=lambda: what_is_there(page),
    )


def what_is_there(page: Any) -> str:
    """Return the address, whether the page runs, its words, and those of its views."""
    script = page.locator("[data-testid=stApp]").evaluate_all(
        "apps => apps.map((app) => app.dataset.testScriptState).join()"
    )
    views = page.locator(".gv-place:not(style)").all_inner_texts()
    return "\n".join([page.url, script, page.locator("body").inner_text(), *views])


def jump_to(page: Any, step: int) -> None:
    """Let the player show a step at once, without the way there."""
    page.evaluate("(t) => { player.seek(t); player.age = Infinity; }", step)
