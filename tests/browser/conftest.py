"""Pages for browser tests. A page that complains or reaches out of this machine fails its test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sample_records import sample_run
from served_app import served_app, strangers
from served_player import served_page
from waiting import AT_REST, PATIENCE, eventually, jump_to

FOLDER = Path(__file__).resolve().parent
# What needs much of the engine; the word after `test_`.
LATE = ("add", "app", "arena", "bench", "chunked", "cluster", "docs", "estimator", "readme")
LATE += ("fuzz", "reproduce", "served", "ui")
COMPILER = pytest.StashKey[subprocess.Popen[bytes]]()
PLAYER_STEPS = 40  # of the first run of `player_runs`
ROOT = FOLDER.parent.parent
COMPILE_ALL = """
from graftviz.ui.engine import every_job
from graftviz.ui.engine import WarmUp

# Backwards, as some tests go through the same jobs at the same time: they meet halfway.
WarmUp(every_job()[::-1]).finished.wait()
"""
COMPILING = 400_000  # ms the very first start may take
# Streamlit looks for its own addresses below the page's first, and then where they are.
ITS_OWN = "console: Failed to load resource: the server responded with a status of 404"
LOCAL = ("http://127.0.0.1:", "ws://127.0.0.1:", "https://127.0.0.1:", "wss://127.0.0.1:")
LOCAL += ("file:", "data:", "blob:", "about:")


class PageFactory:
    """Opens pages in the test's browser and remembers what went wrong in them.

    Attributes
    ----------
    troubles : list of str
        Console errors, uncaught exceptions, dialogs, and requests that left the machine.
    requests : list of str
        The address of every request and websocket.
    """

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.contexts: list[Any] = []
        self.troubles: list[str] = []
        self.requests: list[str] = []

    def __call__(
        self,
        width: int = 1400,
        height: int = 900,
        *,
        dark: bool = False,
        reduced_motion: bool = False,
        touch: bool = False,
        **more: Any,
    ) -> Any:
        """Return a new page of the given size in a context of its own, which `more` is said of."""
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if reduced_motion else "no-preference",
            has_touch=touch,
            **more,
        )
        self.contexts.append(context)
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.troubles.append(f"uncaught: {error}"))
        page.on("dialog", self._on_dialog)
        page.on("request", lambda request: self._on_request(request.url))
        page.on("websocket", lambda socket: self._on_request(socket.url))
        return page

    def _on_console(self, message: Any) -> None:
        if message.type == "error":
            self.troubles.append(f"console: {message.text}")

    def _on_dialog(self, dialog: Any) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_request(self, url: str) -> None:
        self.requests.append(url)
        if not url.startswith(LOCAL):
            self.troubles.append(f"request: {url}")

    def close(self) -> None:
        for context in self.contexts:
            context.close()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put last what needs all of the engine: by then it has been compiled beside the others.

    Of two processes, one begins with the browser: it waits while the engine is compiled.
    """

    def lateness(item: pytest.Item) -> int:
        if FOLDER in item.path.parents:
            return -1 if _is_one_of_several(item.config) else 2
        return int(item.path.stem.split("_")[1] in LATE)

    items.sort(key=lateness)


def _is_one_of_several(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _begin_to_compile(config: pytest.Config) -> subprocess.Popen[bytes]:
    compiler = subprocess.Popen([sys.executable, "-c", COMPILE_ALL], cwd=ROOT)
    config.stash[COMPILER] = compiler
    return compiler


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to compile the engine, if a test of this folder will be run by this process."""
    config = session.config
    if config.option.collectonly or _is_one_of_several(config):
        return
    if any(FOLDER in item.path.parents for item in session.items):
        _begin_to_compile(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave no compiler behind when the tests end before it does."""
    compiler = config.stash.get(COMPILER, None)
    if compiler is not None and compiler.poll() is None:
        compiler.terminate()
        compiler.wait()


@pytest.fixture(scope="session", autouse=True)
def compiled_engine(pytestconfig: pytest.Config) -> None:
    """Wait until the engine is in its cache on disk, so that no page waits for a compiler."""
    compiler = pytestconfig.stash.get(COMPILER, None) or _begin_to_compile(pytestconfig)
    assert compiler.wait(timeout=1200) == 0


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the app is served, by one server for all pages: its engine is loaded once.

    Whatever they do with it, it speaks to nobody who has not spoken to it.
    """
    log = tmp_path_factory.mktemp("app") / "server.log"
    with served_app(log) as url:
        yield url
    assert "Traceback" not in log.read_text(errors="replace")
    assert strangers(log) == []


@pytest.fixture
def open_page(browser: Any) -> Iterator[PageFactory]:
    """Factory of pages; fails the test when one of them had trouble."""
    factory = PageFactory(browser)
    yield factory
    factory.close()
    assert not factory.troubles, factory.troubles


@pytest.fixture
def opener(open_page: PageFactory, address: str) -> Iterator[Callable[..., Callable[..., Any]]]:
    """Make, of a page's usual query and what it shows in the end, the function that opens it.

    The pages below the app's own address forgive what Streamlit itself does not find there.
    """

    def opener_of(usual: str, shows: str) -> Callable[..., Any]:
        def open_it(query: str = usual, **page_options: Any) -> Any:
            page = open_page(**page_options)
            page.goto(address + query)
            page.locator(shows).wait_for(timeout=COMPILING)
            return page

        return open_it

    yield opener_of
    open_page.troubles[:] = [t for t in open_page.troubles if not t.startswith(ITS_OWN)]


@pytest.fixture
def browser_page(open_page: PageFactory) -> Any:
    """A page of 1400 × 900."""
    return open_page()


@pytest.fixture
def until() -> Callable[..., Any]:
    """Wait for an expression to become true in a page: works under any content policy."""

    def wait(page: Any, expression: str, seconds: float = PATIENCE) -> Any:
        return eventually(page, lambda: page.evaluate(expression), seconds)

    return wait


@pytest.fixture
def show_html(tmp_path: Path) -> Callable[[Any, str], None]:
    """Open HTML text in a page as a file, the way a double click does."""
    count = iter(range(1000))

    def show(page: Any, text: str) -> None:
        path = tmp_path / f"page{next(count)}.html"
        path.write_text(text, encoding="utf-8")
        page.goto(path.as_uri())

    return show


@pytest.fixture(scope="module")
def player_runs() -> list[Any]:
    """Two runs on the same data, one on other data, and one that branches off the first."""
    first = sample_run(30, max_steps=PLAYER_STEPS)
    second = sample_run(30, alpha=0.5, max_steps=30, run="run-2")
    other = sample_run(9, run="run-3", max_steps=12)
    branch = sample_run(30, max_steps=PLAYER_STEPS, run="run-4")
    branch[0]["branch"] = {"t": 10, "run": "run-1", "text": "α 0.5 from step 10"}
    return [first, second, other, branch]


@pytest.fixture
def player_page(browser_page: Any, show_html: Any, player_runs: list[Any]) -> Any:
    """A page whose player has opened the first run at its start."""
    show_html(browser_page, served_page(player_runs))
    browser_page.evaluate("server.open('run-1', {step: 0, playing: false})")
    return browser_page


@pytest.fixture
def finished(player_page: Any, until: Any) -> Any:
    """The same, once all records have arrived."""
    player_page.evaluate("player.seek(Infinity)")
    until(player_page, "player.log.finished")
    jump_to(player_page, 0)
    until(player_page, AT_REST)
    return player_page
