"""Browser of the tests and the pages opened in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE

BROWSER_COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRE_BROWSER = "GRAFTVIZ_REQUIRE_BROWSER"
LOCAL = ("http://127.0.0.1:", "ws://127.0.0.1:", "https://127.0.0.1:", "wss://127.0.0.1:")
LOCAL += ("file:", "data:", "blob:", "about:")


def no_browser(reason: str) -> None:
    if os.environ.get(REQUIRE_BROWSER, "0") not in ("", "0"):
        pytest.fail(f"{reason}, and {REQUIRE_BROWSER} is set")
    pytest.skip(f"{reason}: install Chromium to run the browser tests")


class Pages:
    """Pages of a headless Chromium: the one of the system, or else Playwright's.

    Tests share pages one after the other: opening one takes as long as loading the app in it,
    and it keeps the scripts of the app.
    """

    def __init__(self, driver: Any, arguments: Sequence[str] = ()) -> None:
        path = next(filter(None, map(shutil.which, BROWSER_COMMANDS)), None)
        path = path or driver.chromium.executable_path
        if not Path(path).exists():
            no_browser("no Chromium found")
        # Containers have a small /dev/shm and root cannot use the sandbox. Without a
        # graphics card, emulating one takes a fifth longer.
        needed = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        self.browser = driver.chromium.launch(executable_path=path, args=[*needed, *arguments])
        self._unused: list[Any] = []

    def new(self, **options: Any) -> Any:
        """Return a page in a new context with these options."""
        context = self.browser.new_context(**options)
        context.set_default_timeout(PATIENCE * 1000)
        return context.new_page()

    def take(self) -> Any:
        """Return an unused page or a new one."""
        return self._unused.pop() if self._unused else self.new()

    def give_back(self, page: Any) -> None:
        """Clear a page for use by another test."""
        if not page.url.startswith("about:"):
            page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.context.clear_cookies()
        page.mouse.move(0, 0)
        page.goto("about:blank")
        self._unused.append(page)


# Streamlit requests its own files below the address of a page first, and then at the root.
ITS_OWN = "Failed to load resource: the server responded with a status of 404"


class PageFactory:
    """Factory of pages that records their errors.

    Attributes
    ----------
    troubles : list of str
        Console errors, uncaught exceptions, dialogs, and requests that left the machine.
    requests : list of str
        The address of every request and websocket.
    """

    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self.troubles: list[str] = []
        self.requests: list[str] = []
        self._reusable: list[Any] = []
        self._others: list[Any] = []
        self._listeners = {
            "console": self._on_console,
            "pageerror": lambda error: self.troubles.append(f"uncaught: {error}"),
            "dialog": self._on_dialog,
            "request": lambda request: self._on_request(request.url),
            "websocket": lambda socket: self._on_request(socket.url),
        }

    def __call__(
        self,
        width: int = 1400,
        height: int = 900,
        *,
        dark: bool = False,
        reduced_motion: bool = False,
        touch: bool = False,
        **context: Any,
    ) -> Any:
        """Return a page of the given size; one of its own if options of its context are given."""
        if touch:
            context["has_touch"] = True
        page = self.pages.new(**context) if context else self.pages.take()
        (self._others if context else self._reusable).append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if reduced_motion else "no-preference",
        )
        for event, listener in self._listeners.items():
            page.on(event, listener)
        return page

    def _on_console(self, message: Any) -> None:
        if message.type == "error" and not message.text.startswith(ITS_OWN):
            self.troubles.append(f"console: {message.text}")

    def _on_dialog(self, dialog: Any) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_request(self, url: str) -> None:
        self.requests.append(url)
        if not url.startswith(LOCAL):
            self.troubles.append(f"request: {url}")

    def close(self, *, keep: bool) -> None:
        """Close all pages, or clear those that other tests can use."""
        for page in self._reusable if keep else ():
            for event, listener in self._listeners.items():
                page.remove_listener(event, listener)
            self.pages.give_back(page)
        for page in self._others if keep else (*self._others, *self._reusable):
            page.context.close()
