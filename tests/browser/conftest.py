"""Pages for browser tests. An error on a page or a connection to another machine fails its test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from open_pages import PageFactory, Pages, no_browser
from sample_records import sample_run
from served_app import foreign_hosts, served_app
from served_player import served_page
from waiting import AT_REST, PATIENCE, eventually, jump_to

try:
    from playwright.sync_api import sync_playwright
except ImportError:  # everything but the browser tests runs without it
    sync_playwright = None

FOLDER = Path(__file__).resolve().parent
DRIVER, PAGES = pytest.StashKey[Any](), pytest.StashKey[Any]()
FAILED = pytest.StashKey[bool]()
PLAYER_STEPS = 40  # of the first run of `player_runs`
ROOT = FOLDER.parent.parent
COMPILING = 400_000  # ms of the first start, which compiles the engine


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let each test of this folder be repeated once after a failure; the summary lists reruns.

    A browser, a server and other tests share two cores: a page can be late once.
    """
    item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Record for the fixtures whether the test has failed."""
    item.stash[FAILED] = call.excinfo is not None


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the app, served once for all tests: its engine is loaded once.

    Fails if the log has a traceback or the server contacted another machine.
    """
    log = tmp_path_factory.mktemp("app") / "server.log"
    with served_app(log) as url:
        yield url
    assert "Traceback" not in log.read_text(errors="replace")
    assert foreign_hosts(log) == []


def _of_folder(request: pytest.FixtureRequest, key: pytest.StashKey[Any], start: Any) -> Any:
    """Return an object that the tests of this folder share; it is closed after the last test.

    Playwright keeps an event loop running in this thread, and tests of other folders start theirs.
    A test that comes later, such as the last one when it is repeated, starts another object.
    """
    folder = next(node for node in request.node.listchain() if node.path == FOLDER)
    if key not in folder.stash:
        folder.stash[key], end = start()

        def finish() -> None:
            del folder.stash[key]
            end()

        folder.addfinalizer(finish)
    return folder.stash[key]


@pytest.fixture(scope="module")
def driver(request: pytest.FixtureRequest) -> Any:
    """Playwright."""
    if sync_playwright is None:
        no_browser("Playwright is not installed")

    def start() -> tuple[Any, Callable[[], None]]:
        started = sync_playwright().start()
        return started, started.stop

    return _of_folder(request, DRIVER, start)


@pytest.fixture(scope="module")
def pages(request: pytest.FixtureRequest, driver: Any) -> Pages:
    """The browser that the tests of this folder share."""

    def start() -> tuple[Pages, Callable[[], None]]:
        pages = Pages(driver)
        return pages, pages.browser.close

    return _of_folder(request, PAGES, start)


@pytest.fixture
def open_page(request: pytest.FixtureRequest, pages: Pages) -> Iterator[PageFactory]:
    """Factory of pages; fails the test if a page had an error."""
    factory = PageFactory(pages)
    yield factory
    factory.close(keep=not request.node.stash[FAILED])
    assert not factory.troubles, factory.troubles


@pytest.fixture
def opener(open_page: PageFactory, address: str) -> Callable[..., Callable[..., Any]]:
    """Return a function that makes an opener from a default query and a selector to wait for."""

    def opener_of(usual: str, shows: str) -> Callable[..., Any]:
        def open_it(query: str = usual, **page_options: Any) -> Any:
            page = open_page(**page_options)
            page.goto(address + query)
            page.locator(shows).wait_for(timeout=COMPILING)
            return page

        return open_it

    return opener_of


@pytest.fixture
def browser_page(open_page: PageFactory) -> Any:
    """A page of 1400 × 900."""
    return open_page()


@pytest.fixture
def until() -> Callable[..., Any]:
    """Wait for an expression to become true in a page, under any content policy."""

    def wait(page: Any, expression: str, seconds: float = PATIENCE) -> Any:
        return eventually(page, lambda: page.evaluate(expression), seconds)

    return wait


@pytest.fixture
def show_html(tmp_path: Path) -> Callable[[Any, str], None]:
    """Open HTML text in a page as a file, as a double click does."""
    count = iter(range(1000))

    def show(page: Any, text: str) -> None:
        path = tmp_path / f"page{next(count)}.html"
        path.write_text(text, encoding="utf-8")
        page.goto(path.as_uri())

    return show


@pytest.fixture(scope="module")
def player_runs() -> list[Any]:
    """Two runs on the same data, one on other data, and a branch of the first."""
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
    """Page of `player_page` after all records have arrived."""
    player_page.evaluate("player.seek(Infinity)")
    until(player_page, "player.log.finished")
    jump_to(player_page, 0)
    until(player_page, AT_REST)
    return player_page
