"""The app's pages without a browser: opened, and read as a person reads them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from tests.waiting import wait_until

APP = str(Path(__file__).resolve().parent.parent / "app.py")
COMPILING = 400.0  # seconds the engine may take where nothing is compiled yet
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")  # a sign that Markdown would take for its own

# Page → address of a quick view.
QUICK: dict[str, dict[str, str]] = {
    "grow": {"data": "survey", "learner": "chow-liu"},
    "budget": {"data": "survey", "bound": "1"},
    "dynamics": {"rows": "60", "size": "8"},
    "prune": {"exchanges": "1"},
    "race": {"data": "survey", "r1": "chow-liu"},
    "regions": {"side": "3", "size": "4"},
    "reservoir": {"data": "karate", "n": "30", "trials": "1"},
    "inspect": {"data": "survey", "learner": "chow-liu"},
    "lessons": {},
}


def _run_and_check(app: AppTest, *arguments: Any, **options: Any) -> AppTest:
    """Run the page, which fails the test where it raises."""
    _run(app, *arguments, **options)
    assert not app.exception
    return app


_run, AppTest._run = AppTest._run, _run_and_check


def _begin_after_others(self: PagesManager, *arguments: Any, **options: Any) -> None:
    """Manage the pages as on a server that has opened one before; AppTest forgets that it has."""
    PagesManager.uses_pages_directory = FIRST_OF_SERVER.get()
    _begin(self, *arguments, **options)


FIRST_OF_SERVER: ContextVar[bool | None] = ContextVar("first", default=False)  # None: the first
_begin, PagesManager.__init__ = PagesManager.__init__, _begin_after_others


def run_while(app: AppTest, is_waiting: Callable[[], object]) -> AppTest:
    """Run the page, and again for as long as it waits."""
    app.run()
    wait_until(lambda: not is_waiting(), COMPILING, pause=app.run, state=lambda: sentences(app))
    return app


@functools.cache
def installed_components() -> BidiComponentManager:
    """Return the components that the installed distributions have for Streamlit."""
    manager = BidiComponentManager()
    manager.discover_and_register_components(start_file_watching=False)
    return manager


def page_at(page: str, /, **query: str) -> AppTest:
    """Return the page of this name, "" for the first one, not yet run."""
    app = AppTest.from_file(APP, default_timeout=120)
    # Looking for installed components is most of the work of opening a page.
    app._bidi_component_manager = installed_components()
    if page:
        app.switch_page(f"pages/{page}.py")
    for name, text in query.items():
        app.query_params[name] = text
    return app


def open_page(page: str, /, **query: str) -> AppTest:
    """Return the page of this name once its engine is compiled."""
    app = page_at(page, **query)
    return run_while(app, lambda: is_compiling(app))


def is_compiling(app: AppTest) -> bool:
    """Return whether the page waits for the engine, or shows the recorded run until it is ready."""
    return shows_recorded(app) or bool(app.get("progress"))


def shows_recorded(app: AppTest) -> bool:
    """Return whether the Grow page shows the recorded run until the engine is ready."""
    return "grow" in app.session_state and not app.session_state["grow"].has_engine


def read(markdown: str) -> str:
    """Return Markdown as it is read on the screen."""
    return ESCAPED.sub(r"\1", markdown)


def sentences(app: AppTest) -> str:
    """Return what the page complains about, as it is read on the screen."""
    return "\n".join(read(element.value) for element in (*app.error, *app.warning))


def query_of(app: AppTest) -> dict[str, str]:
    """Return the address's parameters; AppTest keeps some as texts, some as lists."""
    pairs = dict(app.query_params).items()
    return {name: text if isinstance(text, str) else text[-1] for name, text in pairs}


def add_files(app: AppTest, key: str, *files: tuple[str, bytes]) -> None:
    """Upload files beside those uploaded before, which keep their identity as in a browser."""
    uploader = app.file_uploader(key=key)
    uploader._files = uploader._get_files_to_register()
    for name, content in files:
        uploader.upload(name, content)
