"""The player in a browser: transport, keys, motion, the view."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from served_player import served_page
from waiting import AT_REST

pytestmark = pytest.mark.browser

STEPS = 40
POSITION = ".gv-position"
PLAY = ".gv-play"


# ------------------------------------------------------------------------------------ transport


def test_space_plays_and_pauses(finished: Any, until: Any) -> None:
    finished.hover(".gv-stage canvas")
    finished.keyboard.press("Space")
    until(finished, "player.playing && player.shown >= 2")
    assert finished.get_attribute(PLAY, "aria-label") == "Pause"
    finished.keyboard.press("Space")
    assert not finished.evaluate("player.playing")
    until(finished, AT_REST)
    at = finished.evaluate("player.shown")
    assert finished.evaluate("player.p") == at
    assert f"step {at} of {STEPS}" in finished.inner_text(POSITION).replace("\n", " ")


def test_playing_stops_at_end_and_restarts(finished: Any, until: Any) -> None:
    finished.evaluate(f"player.setSpeed(32), player.seek({STEPS - 4})")
    finished.click(PLAY)
    until(finished, f"!player.playing && player.shown === {STEPS}")
    assert "edge budget" in finished.inner_text(".gv-outcome")
    finished.select_option(".gv-speed select", "4")
    finished.click(PLAY)
    until(finished, "player.playing && player.shown > 0 && player.shown < 10")


def test_arrow_home_and_end_keys(finished: Any) -> None:
    finished.focus(".gv-track")
    for key, step in (
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", STEPS),
        ("ArrowRight", STEPS),
        ("ArrowLeft", STEPS - 1),
        ("Home", 0),
        ("ArrowLeft", 0),
    ):
        finished.keyboard.press(key)
        assert finished.evaluate("player.shown") == step, key
    assert finished.get_attribute(".gv-track", "aria-valuenow") == "0"


def test_keys_in_input_fields_do_not_act(finished: Any) -> None:
    finished.hover(".gv-stage canvas")
    finished.fill("#elsewhere", "")
    finished.focus("#elsewhere")
    finished.keyboard.type("a b")
    finished.keyboard.press("ArrowRight")
    assert finished.input_value("#elsewhere") == "a b"
    finished.focus(".gv-ask input")
    finished.keyboard.press("Space")
    finished.keyboard.press("End")
    assert finished.evaluate("[player.shown, player.playing]") == [0, False]


def test_keys_act_without_focus_elsewhere(finished: Any) -> None:
    finished.evaluate("document.activeElement.blur()")
    finished.mouse.move(700, 5)
    finished.evaluate("player.transport.over = false")
    finished.keyboard.press("ArrowRight")
    assert finished.evaluate("player.shown") == 1


def test_space_bar_presses_button_focused_by_tab(finished: Any) -> None:
    finished.focus("button[aria-label='To the start']")
    finished.keyboard.press("Tab")
    finished.keyboard.press("Tab")
    finished.keyboard.press("Tab")
    assert finished.evaluate("document.activeElement.ariaLabel") == "Step forward"
    finished.keyboard.press("Space")
    assert finished.evaluate("[player.shown, player.playing]") == [1, False]
    # After a press with the mouse, the space bar plays again.
    finished.click("button[aria-label='Step forward']")
    finished.keyboard.press("Space")
    assert finished.evaluate("player.playing")


def test_dragging_timeline_back_sends_no_request(finished: Any, until: Any) -> None:
    finished.keyboard.press("End")
    finished.evaluate("player.seek(Infinity), server.calls.length = 0")
    until(finished, "player.transport.extent === 40")
    box = finished.locator(".gv-track").bounding_box()
    y = box["y"] + box["height"] / 2
    finished.mouse.move(box["x"] + box["width"] - 8, y)
    finished.mouse.down()
    seen = []
    for share in (0.75, 0.5, 0.25):
        finished.mouse.move(box["x"] + 8 + share * (box["width"] - 16), y, steps=4)
        seen.append(finished.evaluate("player.shown"))
    finished.mouse.up()
    assert seen == [30, 20, 10]
    edges = finished.evaluate("player.log.records[10].edges")
    assert f"{edges} edges" in finished.inner_text(POSITION)
    until(finished, "player.p === 10")
    assert finished.evaluate("player.graph.now.count") == edges
    assert finished.evaluate("server.calls") == []


def test_step_looks_same_forwards_and_backwards(finished: Any, until: Any) -> None:
    def picture() -> Any:
        until(finished, "player.raf === 0")
        return finished.evaluate(
            "[...player.graph.at.flat(), ...player.graph.radius].map(x => Math.round(x * 100))"
        )

    finished.evaluate("player.seek(17)")
    before = picture()
    finished.evaluate("player.seek(31)")
    assert picture() != before
    finished.evaluate("player.seek(17)")
    assert picture() == before
    # During a transition, numbers are those of the target step; only lines move.
    texts, label = finished.evaluate(
        """() => {
          const { canvas, context } = player.reservoir;
          const said = [];
          context.fillText = (text) => said.push(text);
          player.seek(18);
          player.age = 0.1;
          player.reservoir.draw();
          delete context.fillText;
          return [said, canvas.getAttribute("aria-label")];
        }"""
    )
    numbers = dict(pairwise(texts))
    for words, symbol in (("mean score", "μ"), ("threshold τ", "τ"), ("maximum", "max")):
        assert f"{words} {numbers[symbol]}" in label


def test_positions_glide_while_playing(finished: Any, until: Any) -> None:
    finished.evaluate(
        """() => {
          globalThis.excesses = [];
          globalThis.distances = [];
          const { graph } = player;
          const advance = graph.advance.bind(graph);
          graph.advance = (seconds) => {
            const before = graph.world.values;
            const goals = player.log.positions(player.moment);
            const share = player.progress(graph.world.rate, seconds);
            advance(seconds);
            graph.world.values.forEach((value, k) => {
              const distance = Math.abs(value - before[k]);
              distances.push(distance);
              // Nodes near their goals reach them at once.
              const usual = share * Math.abs(goals[k] - before[k]) + graph.world.near(goals);
              excesses.push(distance - usual);
            });
          };
          player.setSpeed(32);
          player.toggle();
        }"""
    )
    until(finished, "!player.playing && !player.graph.moving")
    assert finished.evaluate("distances.reduce((a, b) => Math.max(a, b))") > 0
    # Per frame each node moves by a share of its distance; a jump would be all of it.
    assert finished.evaluate("excesses.reduce((a, b) => Math.max(a, b))") < 1e-3
    assert finished.evaluate("player.progress(player.graph.world.rate, 1 / 60)") < 0.25
    goal = finished.evaluate("[...player.log.positions(player.shown)]")
    assert finished.evaluate("[...player.graph.world.values]") == pytest.approx(goal, abs=0.01)


def test_speed_is_remembered(player_page: Any, show_html: Any, player_runs: list[Any]) -> None:
    player_page.select_option(".gv-speed select", "16")
    player_page.reload()
    assert player_page.evaluate("player.speed") == 16
    assert player_page.input_value(".gv-speed select") == "16"


def test_nothing_is_drawn_at_rest(finished: Any, until: Any) -> None:
    until(finished, AT_REST)
    finished.evaluate("globalThis.drawn = 0; const d = player.draw.bind(player);"
                      "player.draw = () => { drawn += 1; d(); }; 0")  # fmt: skip
    finished.mouse.move(5, 5)
    finished.wait_for_timeout(400)
    assert finished.evaluate("drawn") == 0


def test_reduced_motion_moves_in_whole_steps(
    open_page: Any, show_html: Any, player_runs: list[Any], until: Any
) -> None:
    page = open_page(reduced_motion=True)
    show_html(page, served_page(player_runs))
    page.evaluate("server.open('run-1', {step: 0, playing: true}), player.setSpeed(32)")
    page.evaluate(
        "globalThis.playheads = []; const a = player.draw.bind(player);"
        "player.draw = () => { playheads.push(player.head, player.moment); a(); }; 0"
    )
    until(page, f"player.shown === {STEPS} && !player.playing")
    assert page.evaluate("playheads.every(Number.isInteger)")


# ------------------------------------------------------------------------------------- the view


def test_wheel_zooms_only_with_control_key(finished: Any) -> None:
    finished.hover(".gv-stage canvas")
    finished.mouse.wheel(0, -200)
    assert finished.evaluate("player.graph.camera.zoom") == 1
    finished.keyboard.down("Control")
    finished.mouse.wheel(0, -200)
    finished.keyboard.up("Control")
    zoomed = finished.evaluate("player.graph.camera.zoom")
    assert zoomed > 1.3
    finished.locator(".gv-stage canvas").click(position={"x": 3, "y": 3})
    finished.mouse.wheel(0, -200)
    finished.wait_for_timeout(100)
    assert finished.evaluate("player.graph.camera.zoom") == zoomed, "the wheel zoomed after a click"
    finished.click("button[aria-label='Show the whole graph']")
    assert finished.evaluate("player.graph.camera") == {"zoom": 1, "x": 0, "y": 0}


def test_step_is_announced_to_screen_readers(finished: Any, until: Any) -> None:
    finished.evaluate("player.seek(3)")
    until(finished, "document.querySelector('[aria-live]').textContent.startsWith('Step 3 of 40')")
    label = finished.get_attribute(".gv-stage canvas", "aria-label")
    assert label.startswith("Graph after step 3: 30 variables")
    for button in finished.locator(".gv-player button").all():
        assert button.get_attribute("aria-label") or button.inner_text()


def test_pseudo_code_marks_executed_lines(finished: Any) -> None:
    finished.evaluate("player.seek(1)")
    ran = finished.evaluate("player.log.records[1].lines.length")
    assert finished.locator(".gv-code li.gv-ran[aria-current=step]").count() == ran
    finished.evaluate("player.seek(0)")
    assert finished.locator(".gv-code li.gv-ran").count() == 0


def test_destroyed_player_removes_its_elements(finished: Any) -> None:
    finished.evaluate("player.toggle(), player.destroy()")
    finished.keyboard.press("Space")
    assert finished.evaluate("document.querySelectorAll('.gv-player').length") == 0
    finished.wait_for_timeout(200)
    assert finished.evaluate("player.raf && player.gone") in (0, False, True)


def test_two_fingers_zoom_and_one_finger_pans_focused_graph(
    open_page: Any, show_html: Any, player_runs: list[Any], until: Any
) -> None:
    page = open_page(390, 844, touch=True)
    show_html(page, served_page(player_runs))
    page.evaluate("server.open('run-1', {step: 5})")
    until(page, "player.shown === 5 && player.raf === 0")
    box = page.locator(".gv-stage canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        at = [{"x": px, "y": py, "id": k} for k, (px, py) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    page.evaluate("player.graph.canvas.focus()")
    touch("touchStart", (x - 20, y), (x + 20, y))
    for gap in (30, 45, 60):
        touch("touchMove", (x - gap, y), (x + gap, y))
    touch("touchEnd")
    until(page, "player.graph.camera.zoom > 1.9")
    before = page.evaluate("player.graph.camera")
    touch("touchStart", (x, y))
    for far in (5, 20, 40):
        touch("touchMove", (x + far, y))
    touch("touchEnd")
    until(page, f"player.graph.camera.x > {before['x']} + 20")
    assert page.evaluate("player.selection") is None
