"""The Race page in a browser: playing, scrubbing, and agreement with Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest
from waiting import eventually

from graftviz import load_dataset
from graftviz.app.jobs import Executor
from graftviz.app.material import prepare
from graftviz.app.race import RaceState
from graftviz.evaluation.race import COLUMNS, Race, column_results

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
    """Return the race of the page on the karate club, run in Python."""
    pool = Executor(threads=1)
    state = RaceState(lambda key, seed: prepare(load_dataset(key), seed), pool.queue())
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
    """Press Pause until it takes effect: a click may miss while the page is laid out."""

    def paused() -> bool:
        if page.get_by_role("button", name="Play", exact=True).count() == 0:
            press(page, "Pause")
        return bool(page.get_by_role("button", name="Play", exact=True).count())

    eventually(page, paused)


def table(page: Any) -> dict[str, list[str]]:
    """Return the cells of the table of standings by heading."""
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


def test_race_plays_pauses_and_restarts(race: Callable[..., Any]) -> None:
    page = race()
    assert page.get_by_role("link", name="Grow").count() == 1, "no navigation"
    assert page.locator(".gv-race-tile").count() == 6
    assert share(page) == 0
    assert leader(page) == "Press play."
    press(page, "Play")
    eventually(page, lambda: share(page) >= 10)
    pause(page)
    before, text = share(page), leader(page)
    assert re.search(r"(lead|leads|level): recall 0\.\d\d after", text)
    eventually(page, lambda: "at=" in page.evaluate("location.search"))
    eventually(page, lambda: page.locator(".gv-live").inner_text().replace("\u00a0", " ") == text)
    eventually(page, lambda: page.get_by_text("still being compiled").count() == 0, 120)
    page.wait_for_timeout(500)
    page.evaluate(COUNT_MESSAGES)
    page.wait_for_timeout(1500)
    assert page.evaluate("sent") == 0, "a paused race sent messages"
    assert (share(page), leader(page)) == (before, text)
    page.keyboard.press("Home")
    eventually(page, lambda: share(page) == 0)
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: leader(page) != "Press play.")
    first = position(page)
    page.keyboard.press("Shift+ArrowRight")
    eventually(page, lambda: position(page) != first)
    # By keyboard: buttons, and the table of keys.
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
    assert "all finished" in position(page), "the table did not capture the keys"
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    eventually(page, lambda: share(page) > 0)
    page.keyboard.press("Space")
    page.get_by_role("button", name="Play", exact=True).wait_for()


@pytest.mark.parametrize(("axis", "at"), [("edges", 40.0), ("tests", 700.0)])
def test_standings_agree_with_python(race: Callable[..., Any], axis: str, at: float) -> None:
    page = race(f"{KARATE}&axis={axis}&at={at:g}")
    expected = same_race_in_python()
    assert leader(page) == expected.sentence(axis, at)
    moments = [c.moments[k] for c, k in zip(expected.courses, expected.at(axis, at), strict=True)]
    cells = table(page)
    assert cells["Edges"] == [f"{moment.edges:,}" for moment in moments]
    assert cells["Edge tests"] == [f"{moment.tests:,}" for moment in moments]
    assert cells["Recall"] == [f"{moment.recall:.3f}" for moment in moments]
    agreed = page.locator(".gv-race-keys b").inner_text()
    places = zip(expected.courses, expected.at(axis, at), strict=True)
    graphs = [set(map(tuple, course.edges_at(moment).tolist())) for course, moment in places]
    assert agreed == str(len(set.intersection(*graphs)))


def test_winners_agree_with_python(race: Callable[..., Any]) -> None:
    page = race()
    to_the_end(page)
    with page.expect_download() as download:
        page.locator(".gv-race-charts .gv-save").first.click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    expected = {result.column.title: result for result in column_results(same_race_in_python())}
    standings = table(page)
    starred = 0
    for column in COLUMNS:
        cells = standings[column.title]
        winners = tuple(k for k, cell in enumerate(cells) if cell.startswith("★"))
        if column.name == "seconds":
            best = min(float(cell.removeprefix("★ ")) for cell in cells)
            assert winners == tuple(
                k for k, cell in enumerate(cells) if float(cell.removeprefix("★ ")) == best
            )
            continue
        assert winners == expected[column.title].winners, column.title
        starred += len(winners)
    assert starred > 0


def test_chosen_axis_is_restored_by_link(
    race: Callable[..., Any],
) -> None:
    page = race()
    press(page, "edges")
    track = page.get_by_role("slider", name="Position in the race", exact=True)
    box = track.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + box["height"] / 2)
    eventually(page, lambda: "axis=edges" in page.evaluate("location.search"))
    eventually(page, lambda: "at=" in page.evaluate("location.search"))
    sentence, cells = leader(page), table(page)
    link = KARATE.split("?", maxsplit=1)[0] + page.evaluate("location.search")
    restored = race(link)
    eventually(restored, lambda: leader(restored) == sentence)
    clockless = [
        {k: v for k, v in t.items() if k != "Engine seconds"} for t in (cells, table(restored))
    ]
    assert clockless[0] == clockless[1]
    to_the_end(restored)
    eventually(restored, lambda: "at=end" in restored.evaluate("location.search"))
    ended = race("race" + restored.evaluate("location.search"))
    eventually(ended, lambda: "all finished" in position(ended))
    assert page.locator(".gv-wins").count() == 0
    assert ended.locator(".gv-wins").count() > 0


def test_layout_fits_phone_and_projector(race: Callable[..., Any]) -> None:
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
