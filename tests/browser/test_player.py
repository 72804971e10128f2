"""The player in a real browser: transport, keys, demand for records, questions, new runs."""

from __future__ import annotations

from typing import Any

import pytest
from sample_records import sample_run
from served_player import served_page

pytestmark = pytest.mark.browser

STEPS = 40
POSITION = ".gv-position"
PLAY = ".gv-play"


@pytest.fixture(scope="module")
def runs() -> list[Any]:
    """Two runs on the same data, and one on other data."""
    first = sample_run(30, max_steps=STEPS)
    second = sample_run(30, alpha=0.5, max_steps=30, run="run-2")
    other = sample_run(9, run="run-3", max_steps=12)
    branch = sample_run(30, max_steps=STEPS, run="run-4")
    branch[0]["branch"] = {"t": 10, "run": "run-1", "text": "α 0.5 from step 10"}
    return [first, second, other, branch]


@pytest.fixture
def page(browser_page: Any, show_html: Any, runs: list[Any]) -> Any:
    """A page whose player has opened the first run at its start."""
    show_html(browser_page, served_page(runs))
    browser_page.evaluate("server.open('run-1', {step: 0, playing: false})")
    return browser_page


@pytest.fixture
def finished(page: Any, until: Any) -> Any:
    """The same, once all records have arrived."""
    page.evaluate("player.seek(Infinity)")
    until(page, "player.log.finished")
    page.evaluate("player.seek(0)")
    until(page, "player.p === 0")
    return page


def rest(page: Any, until: Any) -> None:
    until(page, "player.raf === 0 && !player.playing")


# ------------------------------------------------------------------------------------ transport


def test_space_plays_and_pauses(finished: Any, until: Any) -> None:
    finished.hover(".gv-stage canvas")
    finished.keyboard.press("Space")
    until(finished, "player.playing && player.shown >= 2")
    assert finished.get_attribute(PLAY, "aria-label") == "Pause"
    finished.keyboard.press("Space")
    assert not finished.evaluate("player.playing")
    rest(finished, until)
    at = finished.evaluate("player.shown")
    assert finished.evaluate("player.p") == at
    assert f"step {at} of {STEPS}" in finished.inner_text(POSITION).replace("\n", " ")


def test_playing_stops_at_the_end_and_starts_over(finished: Any, until: Any) -> None:
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


def test_keys_are_left_alone_elsewhere(finished: Any) -> None:
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
    finished.evaluate("document.activeElement.blur()")
    finished.mouse.move(700, 5)
    finished.evaluate("player.transport.over = false")
    finished.keyboard.press("ArrowRight")
    assert finished.evaluate("player.shown") == 0


def test_a_button_reached_by_tab_keeps_its_space_bar(finished: Any) -> None:
    finished.focus("button[aria-label='To the start']")
    finished.keyboard.press("Tab")
    finished.keyboard.press("Tab")
    finished.keyboard.press("Tab")
    assert finished.evaluate("document.activeElement.ariaLabel") == "Step forward"
    finished.keyboard.press("Space")
    assert finished.evaluate("[player.shown, player.playing]") == [1, False]
    # Pressed with the mouse it gives the space bar back to playing.
    finished.click("button[aria-label='Step forward']")
    finished.keyboard.press("Space")
    assert finished.evaluate("player.playing")


def test_dragging_the_timeline_scrubs_back_without_asking(finished: Any, until: Any) -> None:
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


def test_steps_are_the_same_forwards_and_backwards(finished: Any, until: Any) -> None:
    def picture() -> Any:
        until(finished, "player.raf === 0")
        return finished.evaluate(
            "[...player.graph.screen, ...player.graph.radius].map(x => Math.round(x * 100))"
        )

    finished.evaluate("player.seek(17)")
    before = picture()
    finished.evaluate("player.seek(31)")
    assert picture() != before
    finished.evaluate("player.seek(17)")
    assert picture() == before


def test_positions_never_jump_while_playing(finished: Any, until: Any) -> None:
    finished.evaluate(
        """() => {
          globalThis.leaps = [];
          const place = player.graph.placeNodes.bind(player.graph);
          let last = null;
          player.graph.placeNodes = (p) => {
            const now = place(p).slice();
            const far = (x, k) => Math.abs(x - last.now[k]);
            if (last) leaps.push([Math.abs(p - last.p), Math.max(...now.map(far))]);
            last = { p, now };
            return player.graph.world;
          };
          player.setSpeed(32);
          player.toggle();
        }"""
    )
    until(finished, "!player.playing")
    steps, leaps = zip(*finished.evaluate("leaps"), strict=True)
    assert max(steps) < 5
    # The fastest a node travels between two key frames of the sample is some thousands a step.
    assert all(leap <= 4000 * step + 1 for step, leap in zip(steps, leaps, strict=True))


def test_speed_is_remembered(page: Any, show_html: Any, runs: list[Any]) -> None:
    page.select_option(".gv-speed select", "16")
    page.reload()
    assert page.evaluate("player.speed") == 16
    assert page.input_value(".gv-speed select") == "16"


def test_at_rest_nothing_is_drawn(finished: Any, until: Any) -> None:
    rest(finished, until)
    finished.evaluate("globalThis.drawn = 0; const d = player.draw.bind(player);"
                      "player.draw = () => { drawn += 1; d(); }; 0")  # fmt: skip
    finished.mouse.move(5, 5)
    finished.wait_for_timeout(400)
    assert finished.evaluate("drawn") == 0


def test_reduced_motion_moves_in_whole_steps(
    open_page: Any, show_html: Any, runs: list[Any], until: Any
) -> None:
    page = open_page(reduced_motion=True)
    show_html(page, served_page(runs))
    page.evaluate("server.open('run-1', {step: 0, playing: true}), player.setSpeed(32)")
    page.evaluate(
        "globalThis.playheads = []; const a = player.draw.bind(player);"
        "player.draw = () => { playheads.push(player.p); a(); }; 0"
    )
    until(page, f"player.shown === {STEPS} && !player.playing")
    assert page.evaluate("playheads.every(Number.isInteger)")


# --------------------------------------------------------------------------------------- demand


def test_a_paused_player_is_quiet(page: Any, until: Any) -> None:
    until(page, "player.log.ready >= 24")
    rest(page, until)
    assert page.evaluate("server.calls.map(c => [c.from, c.count])") == [[1, 24]]
    page.wait_for_timeout(600)
    assert page.evaluate("server.calls.length") == 1


def test_playing_asks_before_it_runs_dry(page: Any, until: Any) -> None:
    page.evaluate("server.delay = 300, player.setSpeed(16)")
    until(page, "player.log.ready >= 24")
    page.evaluate(
        "globalThis.dry = 0; const a = player.advance.bind(player);"
        "player.advance = (s) => { a(s); if (player.playing && player.p >= player.log.ready"
        " && !player.log.finished) dry += 1; }; 0"
    )
    page.evaluate("player.toggle()")
    until(page, f"player.shown === {STEPS}")
    assert page.evaluate("dry") == 0
    assert 2 <= page.evaluate("server.calls.length") <= 4


def test_the_end_is_asked_for_far_ahead(page: Any, until: Any) -> None:
    until(page, "player.log.ready >= 24")
    page.evaluate("player.seek(Infinity)")
    until(page, f"player.shown === {STEPS}")
    assert page.evaluate("server.calls.at(-1).count") == 400


def test_what_trickles_in_is_shown_as_it_comes(page: Any, until: Any) -> None:
    page.evaluate("server.limit = 7, player.seek(Infinity)")
    until(page, f"player.shown === {STEPS}")
    froms = page.evaluate("server.calls.map(c => c.from)")
    assert froms == sorted(froms)


def test_a_lost_request_is_made_again_after_four_seconds(page: Any, until: Any) -> None:
    until(page, "player.log.ready >= 24")
    page.evaluate("server.lose = 1, player.seek(Infinity)")
    until(page, "player.log.finished", seconds=8)
    calls = page.evaluate("server.calls.slice(-2)")
    assert calls[0]["from"] == calls[1]["from"] == 25
    assert 3900 < calls[1]["at"] - calls[0]["at"] < 6000


def test_a_gap_is_asked_for_again(page: Any, until: Any) -> None:
    until(page, "player.log.ready >= 24")
    page.evaluate(
        """() => {
          const { records, outcome } = server.runs['run-1'];
          player.feed({ run: 'run-1', from: 31, records: records.slice(30), outcome });
          player.seek(Infinity);
        }"""
    )
    until(page, "player.log.finished")
    assert page.evaluate("server.calls.slice(1).map(c => c.from)") == [25]
    until(page, f"player.shown === {STEPS}")


def test_records_of_another_run_and_repeats_change_nothing(page: Any, until: Any) -> None:
    until(page, "player.log.ready >= 24")
    page.evaluate("server.send('run-2', 1, 30), server.send('run-1', 1, 24)")
    assert page.evaluate("[player.log.ready, player.log.header.run]") == [24, "run-1"]


# -------------------------------------------------------------------------------------- new runs


def test_a_new_run_keeps_the_view_and_leaves_a_ghost(finished: Any, until: Any) -> None:
    finished.evaluate("player.graph.zoomBy(2), player.graph.panBy(30, 10), player.seek(12)")
    finished.click(".gv-curves button:text('edges')")
    camera = finished.evaluate("player.graph.camera")
    finished.evaluate("server.open('run-2', {step: null})")
    until(finished, "player.log.header.run === 'run-2' && player.shown === 12")
    assert finished.evaluate("player.graph.camera") == camera
    assert finished.evaluate("player.curves.axis") == "edges"
    assert finished.evaluate("player.curves.ghost.header.run") == "run-1"
    assert finished.is_visible("text=previous run")


def test_nodes_glide_from_old_places_to_new(finished: Any, until: Any) -> None:
    finished.evaluate("player.seek(20)")
    rest(finished, until)
    old = finished.evaluate("[...player.graph.world]")
    finished.evaluate("server.open('run-2', {step: 20})")
    until(finished, "player.log.header.run === 'run-2'")
    assert finished.evaluate("player.graph.moving")
    until(finished, "!player.graph.moving")
    new = finished.evaluate("[...player.graph.world]")
    assert max(abs(a - b) for a, b in zip(old, new, strict=True)) > 300


def test_from_the_end_a_new_run_opens_at_its_end(finished: Any, until: Any) -> None:
    finished.evaluate("player.seek(Infinity), server.open('run-2', {step: null})")
    until(finished, "player.log.header.run === 'run-2' && player.shown === player.log.last")


def test_the_old_picture_stays_until_the_new_one_is_there(finished: Any, until: Any) -> None:
    finished.evaluate("player.seek(20), server.delay = 300, server.open('run-2', {step: null})")
    assert finished.evaluate("player.log.header.run") == "run-1"
    assert "learning" in finished.evaluate("(player.changed(), player.stateWords())")
    until(finished, "player.log.header.run === 'run-2'")
    assert finished.evaluate("player.shown") == 20


def test_other_data_start_afresh(finished: Any, until: Any) -> None:
    finished.evaluate("player.graph.zoomBy(3), player.select({kind: 'node', i: 20})")
    finished.evaluate("server.open('run-3', {step: 5})")
    until(finished, "player.log.header.run === 'run-3' && player.shown === 5")
    assert finished.evaluate("[player.selection, player.ghost, player.graph.camera.zoom]") == [
        None,
        None,
        1,
    ]


def test_a_branch_takes_over_the_steps_it_shares(finished: Any, until: Any) -> None:
    finished.evaluate("player.seek(10)")
    until(finished, "server.moved.at(-1) === 10")
    finished.click("text=Branch here")
    assert finished.evaluate("server.branched") == [10]
    finished.evaluate("server.calls.length = 0, server.open('run-4', {step: 10})")
    assert finished.evaluate("[player.log.header.run, player.shown]") == ["run-4", 10]
    until(finished, "server.calls.length === 1")
    assert finished.evaluate("server.calls[0].from") == 11
    assert finished.is_visible(".gv-branch-mark")
    assert "α 0.5 from step 10" in finished.inner_text(".gv-head")


def test_where_it_rests_is_told_once(page: Any, until: Any) -> None:
    until(page, "player.log.ready >= 24")
    for _ in range(5):
        page.evaluate("player.stepBy(1)")
    until(page, "server.moved.length > 0")
    page.wait_for_timeout(500)
    assert page.evaluate("server.moved") == [5]


# ------------------------------------------------------------------------------------- questions

REPLY = """server.reply = ({kind, i, j, t}) => ({
  node: () => ({...player.log.nodeFacts(i, t), labels: ['<b>no</b>', 'yes'],
         marginal: [0.25, 0.75], data: [0.3, 0.7]}),
  edge: () => ({...player.log.edgeFacts(i, j ?? 0, t), labels: [['no', 'yes'], ['no', 'yes']],
         weights: [[0.5, -0.5], [-0.25, 1]], attract: [['yes', 'yes', 1]],
         repel: [['no', 'yes', -0.5]], tests: 3, words: 'because'}),
  pair: () => ({t, names: ['a', 'b'], score: 0.0006, threshold: 0.001, violates: false, tests: 2,
         last_test: {t: 1, score: 0.0007, verdict: 'did not violate'}, truth: false,
         words: 'It is explained already.'}),
}[kind]());"""


def test_clicking_a_node_asks_at_the_shown_step(finished: Any, until: Any) -> None:
    finished.evaluate(f"() => {{ {REPLY} }}")
    finished.evaluate("player.seek(15)")
    rest(finished, until)
    x, y = finished.evaluate("[player.graph.screen[6], player.graph.screen[7]]")
    finished.locator(".gv-stage canvas").click(position={"x": x, "y": y})
    until(finished, "server.asked.length > 0")
    assert finished.evaluate("server.asked[0]") == {"kind": "node", "i": 3, "t": 15}
    until(finished, "document.querySelector('.gv-inspected').innerText.includes('<b>no</b>')")
    assert "0.750" in finished.inner_text(".gv-inspected")
    # Scrubbing asks again, and what is shown meanwhile says which step it is from.
    finished.evaluate("server.delay = 500, player.stepBy(-3)")
    assert "as of step 15" in finished.inner_text(".gv-inspected")
    until(finished, "server.asked.at(-1).t === 12")
    until(finished, "!document.querySelector('.gv-inspected').innerText.includes('as of step')")


def test_an_edge_shows_its_weights_and_a_pair_its_reason(finished: Any, until: Any) -> None:
    finished.evaluate(f"() => {{ {REPLY} }}")
    finished.evaluate("player.seek(15)")
    i, j = finished.evaluate("[player.log.sources[0], player.log.targets[0]]")
    finished.fill(".gv-ask input >> nth=0", f"x{i + 1}")
    finished.fill(".gv-ask input >> nth=1", f"x{j + 1}")
    finished.click("text=Why (not)?")
    until(finished, "document.querySelector('.gv-heat') !== null")
    cells = finished.locator(".gv-heat td[title]")
    assert cells.all_inner_texts() == ["0.50", "−0.50", "−0.25", "1.00"]
    assert "yes with yes" in finished.inner_text(".gv-states >> nth=0")
    # Before it was activated, the same two are a pair without an edge.
    finished.evaluate("player.seek(0)")
    until(
        finished, "document.querySelector('.gv-inspected').innerText.includes('explained already')"
    )
    assert finished.evaluate("server.asked.at(-1).kind") == "pair"
    assert finished.locator(".gv-score .gv-meter-tick").count() == 1


def test_shift_click_on_a_second_node_asks_about_the_pair(finished: Any, until: Any) -> None:
    rest(finished, until)
    places = finished.evaluate(
        "[0, 5].map(i => [player.graph.screen[2*i], player.graph.screen[2*i+1]])"
    )
    canvas = finished.locator(".gv-stage canvas")
    canvas.click(position={"x": places[0][0], "y": places[0][1]})
    canvas.click(position={"x": places[1][0], "y": places[1][1]}, modifiers=["Shift"])
    assert finished.evaluate("player.selection") == {"kind": "pair", "i": 0, "j": 5}
    finished.keyboard.press("Escape")
    assert finished.evaluate("player.selection") is None


def test_an_unknown_name_is_answered_with_a_sentence(finished: Any) -> None:
    finished.fill(".gv-ask input >> nth=0", "nobody")
    finished.click("text=Why (not)?")
    assert "no variable called “nobody”" in finished.inner_text(".gv-message")


# ------------------------------------------------------------------------------------- the view


def test_wheel_zooms_only_when_asked_for(finished: Any) -> None:
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
    assert finished.evaluate("player.graph.camera.zoom") > zoomed
    finished.click("button[aria-label='Show the whole graph']")
    assert finished.evaluate("player.graph.camera") == {"zoom": 1, "x": 0, "y": 0}


def test_the_step_is_told_to_screen_readers(finished: Any, until: Any) -> None:
    finished.evaluate("player.seek(3)")
    until(finished, "document.querySelector('[aria-live]').textContent.startsWith('Step 3 of 40')")
    label = finished.get_attribute(".gv-stage canvas", "aria-label")
    assert label.startswith("Graph after step 3: 30 variables")
    for button in finished.locator(".gv-player button").all():
        assert button.get_attribute("aria-label") or button.inner_text()


def test_pseudo_code_marks_the_lines_that_ran(finished: Any) -> None:
    finished.evaluate("player.seek(1)")
    ran = finished.evaluate("player.log.records[1].lines.length")
    assert finished.locator(".gv-code li.gv-ran[aria-current=step]").count() == ran
    finished.evaluate("player.seek(0)")
    assert finished.locator(".gv-code li.gv-ran").count() == 0


def test_destroying_leaves_nothing_behind(finished: Any) -> None:
    finished.evaluate("player.toggle(), player.destroy()")
    finished.keyboard.press("Space")
    assert finished.evaluate("document.querySelectorAll('.gv-player').length") == 0
    finished.wait_for_timeout(200)
    assert finished.evaluate("player.raf && player.gone") in (0, False, True)
