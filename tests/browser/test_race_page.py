"""The Race page in a real browser: it races, pauses, scrubs, and says what Python says."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest
from waiting import eventually

from graftviz import load_dataset
from graftviz.material import prepare
from graftviz.racing import COLUMNS, Race, column_results
from graftviz.serving.scheduler import Scheduler
from graftviz.ui.race.state import RaceState

pytestmark = pytest.mark.browser

KARATE = "race?data=karate"

COUNT_MESSAGES = (
    "(() => { const send = WebSocket.prototype.send; globalThis.sent = 0;"
    " WebSocket.prototype.send = function (data) { sent += 1; return send.call(this, data); }; })()"
)


@pytest.fixture
def race(opener: Any) -> Callable[..., Any]:
    """Open the page with a query and wait until it shows a race whose racers have all ended."""
    open_it = opener(KARATE, ".gv-race-body:not([hidden])")

    def open_race(*query: str, **page_options: Any) -> Any:
        page = open_it(*query, **page_options)
        eventually(page, lambda: "…" not in position(page))
        return page

    return open_race


@lru_cache(maxsize=1)
def same_race_in_python() -> Race:
    """Run what the page runs on the karate club."""
    pool = Scheduler(threads=1)
    state = RaceState(lambda key, seed: prepare(load_dataset(key), seed), pool.share())
    state.choose("data", "karate")
    state.refresh()
    for entry in state.entries:
        entry.run.grant()
        assert entry.run.wait_for_end(60)
    pool.close()
    found = state.race()
    assert found is not None
    return found


def position(page: Any) -> str:
    return " ".join(page.locator(".gv-position").inner_text().split())


def share(page: Any) -> int:
    track = page.get_by_role("slider", name="Position in the race", exact=True)
    return int(track.get_attribute("aria-valuenow"))


def leader(page: Any) -> str:
    return str(page.locator(".gv-race .gv-sentence").inner_text()).replace("\u00a0", " ")


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def pause(page: Any) -> None:
    """Press Pause until it is heeded: where a page is just being laid out, a click may miss."""

    def paused() -> bool:
        if page.get_by_role("button", name="Play", exact=True).count() == 0:
            press(page, "Pause")
        return bool(page.get_by_role("button", name="Play", exact=True).count())

    eventually(page, paused)


def table(page: Any) -> dict[str, list[str]]:
    """Return heading → cells of the table of standings."""
    heads = page.locator(".gv-racers thead th").all_inner_texts()
    rows = [row.locator("th, td").all_inner_texts() for row in page.locator("tbody tr").all()]
    return {head: [row[k].strip() for row in rows] for k, head in enumerate(heads)}


def cut_off(page: Any) -> list[str]:
    """Return the names of racers and captions of curves of which a part is hidden."""
    return page.locator(".gv-race-tile h3, .gv-race-charts .gv-count").evaluate_all(
        "nodes => nodes.filter((node) => node.scrollWidth > node.clientWidth"
        " || node.scrollHeight > node.clientHeight + 1).map((node) => node.textContent)"
    )


def to_the_end(page: Any) -> None:
    press(page, "To the end")
    eventually(page, lambda: "all finished" in position(page))


def test_it_plays_pauses_and_restarts(race: Callable[..., Any]) -> None:
    page = race()
    assert page.get_by_role("link", name="Grow").count() == 1, "a link opens the whole app"
    assert page.locator(".gv-race-tile").count() == 6
    assert share(page) == 0
    assert leader(page) == "Press play."
    press(page, "Play")
    eventually(page, lambda: share(page) >= 10)
    pause(page)
    there, told = share(page), leader(page)
    assert re.search(r"(lead|leads|level): recall 0\.\d\d after", told)
    eventually(page, lambda: "at=" in page.evaluate("location.search"))
    eventually(page, lambda: page.locator(".gv-live").inner_text().replace("\u00a0", " ") == told)
    eventually(page, lambda: page.get_by_text("still being compiled").count() == 0, 120)
    page.wait_for_timeout(500)
    page.evaluate(COUNT_MESSAGES)
    page.wait_for_timeout(1500)
    assert page.evaluate("sent") == 0, "a paused race sends nothing"
    assert (share(page), leader(page)) == (there, told)
    page.keyboard.press("Home")
    eventually(page, lambda: share(page) == 0)
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: leader(page) != "Press play.")
    one = position(page)
    page.keyboard.press("Shift+ArrowRight")
    eventually(page, lambda: position(page) != one)
    # Without a pointer: buttons are gone to and pressed, and the table of keys comes and goes.
    page.get_by_role("slider", name="Position in the race", exact=True).focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    eventually(page, lambda: "all finished" in position(page))
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    assert "play, pause" in keys.inner_text()
    page.keyboard.press("Home")
    page.keyboard.press("Escape")
    eventually(page, lambda: not keys.is_visible())
    assert "all finished" in position(page), "the table keeps the keys"
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    eventually(page, lambda: share(page) > 0)
    page.keyboard.press("Space")
    page.get_by_role("button", name="Play", exact=True).wait_for()


@pytest.mark.parametrize(("axis", "at"), [("edges", 40.0), ("tests", 700.0)])
def test_it_says_what_python_says(race: Callable[..., Any], axis: str, at: float) -> None:
    page = race(f"{KARATE}&axis={axis}&at={at:g}")
    known = same_race_in_python()
    assert leader(page) == known.sentence(axis, at)
    moments = [c.moments[k] for c, k in zip(known.courses, known.at(axis, at), strict=True)]
    told = table(page)
    assert told["Edges"] == [f"{moment.edges:,}" for moment in moments]
    assert told["Edge tests"] == [f"{moment.tests:,}" for moment in moments]
    assert told["Recall"] == [f"{moment.recall:.3f}" for moment in moments]
    agreed = page.locator(".gv-race-keys b").inner_text()
    places = zip(known.courses, known.at(axis, at), strict=True)
    graphs = [set(map(tuple, course.edges_at(moment).tolist())) for course, moment in places]
    assert agreed == str(len(set.intersection(*graphs)))


def test_the_winners_are_those_python_finds(race: Callable[..., Any]) -> None:
    page = race()
    to_the_end(page)
    with page.expect_download() as download:
        page.locator(".gv-race-charts .gv-save").first.click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    known = {result.column.title: result for result in column_results(same_race_in_python())}
    told = table(page)
    starred = 0
    for column in COLUMNS:
        cells = told[column.title]
        winners = tuple(k for k, cell in enumerate(cells) if cell.startswith("★"))
        if column.name == "seconds":
            best = min(float(cell.removeprefix("★ ")) for cell in cells)
            assert winners == tuple(
                k for k, cell in enumerate(cells) if float(cell.removeprefix("★ ")) == best
            )
            continue
        assert winners == known[column.title].winners, column.title
        starred += len(winners)
    assert starred > 0


def test_the_axis_changes_what_is_raced_by_and_the_link_opens_it_again(
    race: Callable[..., Any],
) -> None:
    page = race()
    press(page, "edges")
    track = page.get_by_role("slider", name="Position in the race", exact=True)
    box = track.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + box["height"] / 2)
    eventually(page, lambda: "axis=edges" in page.evaluate("location.search"))
    eventually(page, lambda: "at=" in page.evaluate("location.search"))
    here, told = leader(page), table(page)
    link = KARATE.split("?", maxsplit=1)[0] + page.evaluate("location.search")
    again = race(link)
    eventually(again, lambda: leader(again) == here)
    clockless = [
        {k: v for k, v in t.items() if k != "Engine seconds"} for t in (told, table(again))
    ]
    assert clockless[0] == clockless[1]
    to_the_end(again)
    eventually(again, lambda: "at=end" in again.evaluate("location.search"))
    ended = race("race" + again.evaluate("location.search"))
    eventually(ended, lambda: "all finished" in position(ended))
    assert page.locator(".gv-wins").count() == 0
    assert ended.locator(".gv-wins").count() > 0


def test_it_fits_phone_and_projector_and_moves_little_on_request(race: Callable[..., Any]) -> None:
    page = race(width=390, height=844, dark=True, touch=True, reduced_motion=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    press(page, "Play")
    eventually(page, lambda: share(page) >= 3)
    press(page, "Pause")
    stage = page.locator(".gv-race-tile .gv-stage").first.bounding_box()
    assert stage["width"] > 130
    page.set_viewport_size({"width": 1024, "height": 768})
    press(page, "Present")
    eventually(page, lambda: page.get_by_role("button", name="Leave").count())
    for width in (1024, 1366):
        page.set_viewport_size({"width": width, "height": 768})
        page.wait_for_timeout(300)
        assert cut_off(page) == []
