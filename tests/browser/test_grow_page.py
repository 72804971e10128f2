"""The Grow page in a browser: playing, scrubbing, learning again, branches and reloads."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from waiting import eventually

pytestmark = pytest.mark.browser

COMPILING = 400_000  # ms of the first start, which compiles the engine
KARATE = "?data=karate"


@pytest.fixture
def grow(open_page: Any, address: str) -> Callable[..., Any]:
    """Open the page with a query and wait until its player shows a run."""

    def open_grow(query: str = KARATE, **page_options: Any) -> Any:
        page = open_page(**page_options)
        page.goto(address + query)
        wait_for_player(page)
        return page

    return open_grow


def wait_for_player(page: Any) -> None:
    page.locator(".gv-player .gv-body:not([hidden])").wait_for(timeout=COMPILING)


@pytest.mark.parametrize("path", ["", "grow"])
def test_page_has_title_and_address(opener: Any, path: str) -> None:
    page = opener(path + KARATE, ".gv-player .gv-body:not([hidden])")()
    assert page.title() == "Grow · graftviz"
    assert "not found" not in page.inner_text("body")


def timeline(page: Any) -> Any:
    return page.get_by_role("slider", name="Step", exact=True)


def step(page: Any) -> int:
    return int(timeline(page).get_attribute("aria-valuenow"))


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def analyse(page: Any, entry: str) -> None:
    """Choose an entry of the menu Analyse."""
    press(page, "Analyse")
    page.get_by_role("menuitem", name=entry).click()


def step_in_address(page: Any) -> int:
    found = re.search(r"[?&]step=(\d+)", page.evaluate("location.search"))
    return int(found.group(1)) if found else 0


def heading(page: Any) -> str:
    return str(page.locator(".gv-head").inner_text())


def to_the_end(page: Any) -> int:
    press(page, "To the end")
    eventually(page, lambda: re.search(r"converged|finished", position(page)))
    return step(page)


def position(page: Any) -> str:
    """Return the text of the shown step, without the number of computed steps."""
    text = " ".join(page.locator(".gv-position").inner_text().split())
    return re.sub(r" of \d+\+?", "", text)


def change_alpha(page: Any, key: str = "ArrowLeft") -> None:
    page.get_by_role("slider", name=re.compile("^α")).first.press(key)


def test_a_paused_page_sends_nothing(grow: Any) -> None:
    page = grow("?data=karate&step=3")
    eventually(page, lambda: step(page) == 3)
    page.wait_for_timeout(1500)
    page.evaluate(
        "(() => { const send = WebSocket.prototype.send; globalThis.sent = 0;"
        " WebSocket.prototype.send = function (data) { sent += 1; return send.call(this, data); };"
        " })()"
    )
    page.wait_for_timeout(2000)
    assert page.evaluate("sent") == 0


def test_timeline_scrubs_back_and_forth(grow: Any) -> None:
    page = grow()
    last = to_the_end(page)
    box = timeline(page).bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 2)
    eventually(page, lambda: 0 < step(page) < last / 2)
    middle = step(page)
    eventually(page, lambda: step_in_address(page) == middle)
    page.keyboard.press("Home")
    eventually(page, lambda: step(page) == 0)
    assert " 0 edges" in position(page)
    press(page, "Step forward")
    eventually(page, lambda: step(page) == 1)
    page.keyboard.press("End")
    eventually(page, lambda: step(page) == last)


def test_changed_alpha_learns_again_beside_a_ghost(grow: Any) -> None:
    page = grow()
    to_the_end(page)
    assert "α 0.75" in heading(page)
    assert "previous run" not in page.locator(".gv-player").inner_text()
    change_alpha(page)
    eventually(page, lambda: "α 0.7 " in heading(page) + " ")
    eventually(page, lambda: "alpha=0.7" in page.evaluate("location.search"))
    eventually(page, lambda: "previous run" in page.locator(".gv-player").inner_text())
    eventually(page, lambda: re.search(r"converged|finished", position(page)))


def test_dragging_threshold_changes_alpha_in_side_bar(grow: Any) -> None:
    page = grow("?data=karate&step=2")
    handle = page.locator(".gv-threshold")
    eventually(page, handle.bounding_box)
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] - 15, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 25, steps=4)
    alpha = float(handle.get_attribute("aria-valuenow"))
    assert alpha < 0.75
    assert "would be activated" in page.inner_text(".gv-trial")
    page.mouse.up()
    eventually(page, lambda: f"α {alpha:g} " in heading(page) + " ")
    slider = page.get_by_test_id("stSlider").filter(has_text="α")
    eventually(page, lambda: f"{alpha:.2f}" in slider.inner_text())
    eventually(page, lambda: f"alpha={alpha:g}" in page.evaluate("location.search"))
    assert step(page) == 2


def test_false_edge_is_explained_and_best_has_as_many_edges(grow: Any) -> None:
    page = grow("?data=scale-free-60&step=60")
    eventually(page, lambda: step(page) == 60)
    edges = int(re.search(r"(\d+) edges", position(page)).group(1))
    fields = page.locator(".gv-ask input")
    fields.nth(0).fill("x9")
    fields.nth(1).fill("x14")
    press(page, "Why (not)?")
    page.locator(".gv-why").wait_for()
    assert "correlated through" in page.inner_text(".gv-why")
    press(page, "See it with pseudo-likelihood")
    eventually(page, lambda: "preset best" in heading(page))

    def shown() -> int:
        return int(re.search(r"(\d+) edges", position(page)).group(1))

    eventually(page, lambda: edges <= shown() < edges + 20)


def test_comparison_with_preset_best_opens_and_closes(grow: Any) -> None:
    page = grow()
    to_the_end(page)
    assert "preset paper" in heading(page)
    analyse(page, "Compare with preset best")
    eventually(page, lambda: "preset best" in heading(page))
    eventually(page, lambda: "compare=best" in page.evaluate("location.search"))
    table = page.locator("table", has_text="Recall").first
    table.wait_for()
    text = " ".join(table.inner_text().split())
    assert "paper (dashed)" in text
    assert "best (solid)" in text
    player = page.locator(".gv-player")
    eventually(
        page, lambda: "the paper's method, at its end; another objective" in player.inner_text()
    )
    curves = page.locator(".gv-curves").inner_text()
    assert re.search(r"recall\s+0\.\d+\s+was 0\.\d+", curves)
    assert re.search(r"NLPL on held-out rows\s+[\d.]+\s+was [\d.]+", curves)
    page.reload()
    wait_for_player(page)
    eventually(page, lambda: "preset best" in heading(page))
    analyse(page, "Back to the paper's method")
    eventually(page, lambda: "preset paper" in heading(page))
    eventually(page, lambda: "compare" not in page.evaluate("location.search"))
    eventually(page, lambda: page.locator("table", has_text="Recall").count() == 0)


def test_point_of_selection_path_sets_lambda(grow: Any) -> None:
    page = grow("?data=survey")
    analyse(page, "Choose λ…")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Click a point of a curve").wait_for(timeout=60_000)
    point = dialog.locator(".scatterlayer .trace path.point").nth(2)
    point.wait_for(timeout=30_000)
    page.wait_for_timeout(500)
    point.click(force=True)
    clicked = dialog.get_by_role("button", name=re.compile("clicked"))
    clicked.wait_for(timeout=20_000)
    lam = re.search(r"λ = ([\d.e-]+)", clicked.inner_text()).group(1)
    clicked.click()
    eventually(page, lambda: f"λ {float(lam):g}" in heading(page))
    eventually(page, lambda: f"lam={lam}" in page.evaluate("location.search"))
    eventually(page, lambda: dialog.count() == 0)


def test_link_keeps_shown_step_when_options_change(grow: Any) -> None:
    page = grow("?data=karate&seed=2&step=7")
    eventually(page, lambda: step(page) == 7)
    for _ in range(3):
        press(page, "Step forward")
    eventually(page, lambda: step_in_address(page) == 10)
    page.wait_for_timeout(600)  # the player sends its step to the server once it is at rest
    press(page, "Link")
    page.get_by_test_id("stPopoverBody").get_by_text("step=10").wait_for()
    page.keyboard.press("Escape")
    change_alpha(page, "ArrowLeft")
    eventually(page, lambda: "alpha=" in page.evaluate("location.search"))
    page.wait_for_timeout(1000)
    assert step(page) == step_in_address(page) == 10
    page.reload()
    wait_for_player(page)
    eventually(page, lambda: step(page) == 10)


def test_branch_survives_reload_and_can_be_ended(grow: Any) -> None:
    page = grow("?data=karate&step=4")
    eventually(page, lambda: step(page) == 4)
    player = page.locator(".gv-player")
    player.evaluate("player => { player.marked = true; }")
    press(page, "Branch here")
    page.get_by_text("Branching from step 4").wait_for()
    change_alpha(page, "Home")
    eventually(page, lambda: "from step 4" in heading(page))
    eventually(page, lambda: "alpha" in page.evaluate("location.search"))
    assert "branch=4" in page.evaluate("location.search")
    assert step(page) == 4
    assert player.evaluate("player => player.marked"), "the player was replaced"
    page.reload()
    wait_for_player(page)
    eventually(page, lambda: "from step 4" in heading(page))
    press(page, "End the branch")
    eventually(page, lambda: "from step 4" not in heading(page))
    eventually(page, lambda: "branch=" not in page.evaluate("location.search"))
    page.go_back()
    eventually(page, lambda: "from step 4" in heading(page))


def test_markup_in_link_is_shown_as_text(grow: Any) -> None:
    evil = "![a](http://example.com/a)<img src=//example.com/b>"
    page = grow(f"?data={urllib.parse.quote(evil)}")
    page.get_by_text("not '![a](http://example.com/a)<img").wait_for()
    page.wait_for_timeout(300)


def test_bad_upload_is_refused_and_good_upload_is_learned(grow: Any, tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.csv", tmp_path / "good.csv"
    bad.write_text("a,b\n0,1\n1\n")
    good.write_text("a,<b>,c\n" + "0,0,1\n1,1,0\n0,0,0\n1,1,1\n" * 30)
    page = grow()
    press(page, "Play")
    page.get_by_role("combobox").first.click()
    page.get_by_text("Your own data…").click()
    table = page.locator("input[type=file]").first
    table.set_input_files(bad)
    page.get_by_text("bad.csv: line 3").wait_for()
    at = step(page)
    assert at > 0
    eventually(page, lambda: step(page) > at)
    table.set_input_files(good)
    eventually(page, lambda: "good.csv" in heading(page))
    eventually(page, lambda: "fingerprint=" in page.evaluate("location.search"))
    eventually(page, lambda: re.search(r"1 edge · (converged|finished)", position(page)))


def test_downloaded_replay_opens_offline(grow: Any, open_page: Any, tmp_path: Path) -> None:
    page = grow()
    page.set_viewport_size({"width": 1280, "height": 720})
    press(page, "Download")
    menu = page.get_by_test_id("stPopoverBody")
    menu.get_by_role("button").first.wait_for()
    assert menu.evaluate("menu => menu.scrollHeight <= menu.clientHeight"), "the menu is cut off"
    with page.expect_download() as download:
        press(page, "Web page of this run (needs no server)")
    replay = tmp_path / "replay.html"
    download.value.save_as(replay)
    offline = open_page(offline=True)
    offline.goto(replay.as_uri())
    offline.locator(".gv-player .gv-body:not([hidden])").wait_for()
    assert "Karate club" in heading(offline)
