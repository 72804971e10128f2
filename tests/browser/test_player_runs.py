"""The player and its server: demand for records, new runs and branches, questions."""

from __future__ import annotations

from typing import Any

import pytest
from waiting import AT_REST

pytestmark = pytest.mark.browser

STEPS = 40


# --------------------------------------------------------------------------------------- demand


def test_paused_player_sends_nothing(player_page: Any, until: Any) -> None:
    until(player_page, "player.log.ready >= 24")
    until(player_page, AT_REST)
    assert player_page.evaluate("server.calls.map(c => [c.from, c.count])") == [[1, 24]]
    player_page.wait_for_timeout(600)
    assert player_page.evaluate("server.calls.length") == 1


@pytest.mark.parametrize(("chance", "count"), [(0, 45), (0.5, 60), (1, 75)])
def test_first_steps_are_loaded_before_playing(
    player_page: Any, until: Any, chance: float, count: int
) -> None:
    until(player_page, "player.log.ready >= 24")
    player_page.evaluate(f"Math.random = () => {chance}, player.setSpeed(20), 0")
    until(player_page, "player.log.finished")
    assert player_page.evaluate("server.calls.at(-1).count") == count
    assert player_page.evaluate("player.shown") == 0


def test_playing_requests_records_before_they_run_out(player_page: Any, until: Any) -> None:
    player_page.evaluate("server.delay = 300, player.setSpeed(16)")
    until(player_page, "player.log.ready >= 24")
    player_page.evaluate(
        "globalThis.dry = 0; const a = player.advance.bind(player);"
        "player.advance = (s) => { a(s); if (player.playing && player.p >= player.log.ready"
        " && !player.log.finished) dry += 1; }; 0"
    )
    player_page.evaluate("player.toggle()")
    until(player_page, f"player.shown === {STEPS}")
    assert player_page.evaluate("dry") == 0
    assert 2 <= player_page.evaluate("server.calls.length") <= 4


def test_seek_to_end_requests_many_records(player_page: Any, until: Any) -> None:
    until(player_page, "player.log.ready >= 24")
    player_page.evaluate("player.seek(Infinity)")
    until(player_page, f"player.shown === {STEPS}")
    assert player_page.evaluate("server.calls.at(-1).count") == 400


def test_partial_replies_are_shown_as_they_arrive(player_page: Any, until: Any) -> None:
    player_page.evaluate("server.limit = 7, player.seek(Infinity)")
    until(player_page, f"player.shown === {STEPS}")
    froms = player_page.evaluate("server.calls.map(c => c.from)")
    assert froms == sorted(froms)


def test_lost_request_is_repeated_after_four_seconds(player_page: Any, until: Any) -> None:
    until(player_page, "player.log.ready >= 24")
    player_page.evaluate("server.lose = 1, player.seek(Infinity)")
    until(player_page, "player.log.finished")
    calls = player_page.evaluate("server.calls.slice(-2)")
    assert calls[0]["from"] == calls[1]["from"] == 25
    assert 3900 < calls[1]["at"] - calls[0]["at"] < 6000


def test_gap_in_records_is_requested_again(player_page: Any, until: Any) -> None:
    until(player_page, "player.log.ready >= 24")
    player_page.evaluate(
        """() => {
          const { records, outcome } = server.runs['run-1'];
          player.feed({ run: 'run-1', from: 31, records: records.slice(30), outcome });
          player.seek(Infinity);
        }"""
    )
    until(player_page, "player.log.finished")
    assert player_page.evaluate("server.calls.slice(1).map(c => c.from)") == [25]
    until(player_page, f"player.shown === {STEPS}")


def test_repeated_and_foreign_records_are_ignored(player_page: Any, until: Any) -> None:
    until(player_page, "player.log.ready >= 24")
    player_page.evaluate("server.send('run-2', 1, 30), server.send('run-1', 1, 24)")
    assert player_page.evaluate("[player.log.ready, player.log.header.run]") == [24, "run-1"]


# -------------------------------------------------------------------------------------- new runs


def test_new_run_keeps_view_and_shows_previous_run_as_ghost(finished: Any, until: Any) -> None:
    finished.evaluate("player.graph.zoomBy(2), player.graph.panBy(30, 10), player.seek(12)")
    finished.click(".gv-curves button:text('edges')")
    camera = finished.evaluate("player.graph.camera")
    title = "Data · 12 variables"
    finished.evaluate(f"player.log.header.title = '{title}'")
    fewer = f"{title} · 50 of 60 training rows"
    finished.evaluate(f"server.runs['run-2'].header.title = '{fewer}'")
    finished.evaluate("server.open('run-2', {step: null})")
    until(finished, "player.log.header.run === 'run-2' && player.shown === 12")
    assert finished.evaluate("player.graph.camera") == camera
    assert finished.evaluate("player.curves.axis") == "edges"
    assert finished.evaluate("player.curves.ghost.header.run") == "run-1"
    assert finished.is_visible("text=previous run")


def test_runs_of_different_length_are_compared_at_equal_edges(finished: Any, until: Any) -> None:
    finished.evaluate("player.seek(Infinity), server.open('run-2', {step: null})")
    until(finished, "player.log.header.run === 'run-2' && player.log.finished")
    found = finished.evaluate("""() => {
        const { log, curves } = player, { ghost } = curves;
        const edges = (run, t) => (t ? run.records[t].edges : 0);
        return Array.from({ length: log.last }, (_, t) => {
            const upTo = Array.from({ length: ghost.ready + 1 }, (_, s) => s)
                .filter((s) => edges(ghost, s) <= edges(log, t));
            return [curves.ghostValue("objective", t), ghost.curve("objective", upTo.at(-1)),
                ghost.curve("objective", Math.min(t, ghost.ready))];
        });
    }""")
    compared = [values for values in found if values[0] is not None]
    assert all(value == at_equal_edges for value, at_equal_edges, _ in compared)
    assert any(value != at_equal_steps for value, _, at_equal_steps in compared)


@pytest.mark.parametrize("key", ["objective", "penalty"])
def test_another_objective_is_named_and_not_compared(finished: Any, until: Any, key: str) -> None:
    finished.evaluate(f"player.log.header.{key} = 'mine'")
    finished.evaluate(f"server.runs['run-2'].header.{key} = 'another'")
    finished.evaluate("player.seek(12), server.open('run-2', {step: null})")
    until(finished, "player.log.header.run === 'run-2'")
    assert not finished.evaluate("player.curves.isCompared('objective')")
    assert finished.evaluate("player.curves.isCompared('recall')")
    assert f"another {key}" in finished.inner_text(".gv-curves")


def test_late_records_complete_the_ghost(finished: Any, until: Any) -> None:
    page = finished
    page.evaluate("server.open('run-2', {step: 0, playing: false})")
    until(page, "player.log.header.run === 'run-2' && player.ghost")
    page.evaluate(
        "(() => { const { header, records } = server.runs['run-1'];"
        " player.ghost = new player.ghost.constructor(header);"
        " player.feed({ run: 'run-1', from: 1, records: records.slice(0, 5), outcome: null }); })()"
    )
    assert page.evaluate("player.ghost.ready") == 5
    page.evaluate(
        "player.feed({ run: 'run-1', from: 6, records: server.runs['run-1'].records.slice(5),"
        " outcome: server.runs['run-1'].outcome })"
    )
    assert page.evaluate("player.ghost.finished")
    assert page.evaluate("player.log.header.run") == "run-2"


def test_nodes_move_smoothly_from_old_to_new_positions(finished: Any, until: Any) -> None:
    finished.evaluate("player.seek(20)")
    until(finished, AT_REST)
    old = finished.evaluate("[...player.graph.world.values]")
    finished.evaluate("server.open('run-2', {step: 20})")
    until(finished, "player.log.header.run === 'run-2'")
    assert finished.evaluate("player.graph.moving")
    until(finished, "!player.graph.moving")
    new = finished.evaluate("[...player.graph.world.values]")
    assert max(abs(a - b) for a, b in zip(old, new, strict=True)) > 300


def test_new_run_opens_at_its_end_if_previous_was_at_end(finished: Any, until: Any) -> None:
    finished.evaluate("player.seek(Infinity), server.open('run-2', {step: null})")
    until(finished, "player.log.header.run === 'run-2' && player.shown === player.log.last")


def test_previous_picture_stays_until_new_run_arrives(finished: Any, until: Any) -> None:
    run, state = finished.evaluate(
        "(player.seek(20), server.delay = 300, server.open('run-2', {step: null}),"
        " player.changed(), [player.log.header.run, player.stateWords()])"
    )
    assert run == "run-1"
    assert "learning" in state
    until(finished, "player.log.header.run === 'run-2'")
    assert finished.evaluate("player.shown") == 20


def test_run_on_other_data_resets_the_view(finished: Any, until: Any) -> None:
    finished.evaluate("player.graph.zoomBy(3), player.select({kind: 'node', i: 20})")
    finished.evaluate("server.open('run-3', {step: 5})")
    until(finished, "player.log.header.run === 'run-3' && player.shown === 5")
    assert finished.evaluate("[player.selection, player.ghost, player.graph.camera.zoom]") == [
        None,
        None,
        1,
    ]


def test_branch_reuses_shared_steps(finished: Any, until: Any) -> None:
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


def test_branch_may_change_the_threshold(finished: Any) -> None:
    found = finished.evaluate("""() => {
        const threshold = { symbol: "λ", value: 0.004 };
        const log = new player.log.constructor({ ...player.log.header, threshold });
        const records = player.log.records.slice(1, 7).map((record) => ({ ...record }));
        records[3].threshold = { symbol: "λ", value: 0.001 };
        log.feed(1, records, null);
        return [0, 1, 3, 4, 6].map((t) => log.limitAt(t).value);
    }""")
    assert found == [0.004, 0.004, 0.004, 0.001, 0.001]


def test_step_at_rest_is_sent_once(player_page: Any, until: Any) -> None:
    until(player_page, "player.log.ready >= 24")
    for _ in range(5):
        player_page.evaluate("player.stepBy(1)")
    until(player_page, "server.moved.length > 0")
    player_page.wait_for_timeout(500)
    assert player_page.evaluate("server.moved") == [5]


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


def test_clicked_node_sends_question_of_shown_step(finished: Any, until: Any) -> None:
    finished.evaluate(f"() => {{ {REPLY} }}")
    finished.evaluate("player.seek(15)")
    until(finished, AT_REST)
    x, y = finished.evaluate("player.graph.at[3]")
    finished.locator(".gv-stage canvas").click(position={"x": x, "y": y})
    until(finished, "server.asked.at(-1)?.kind === 'node'")
    question = finished.evaluate("server.asked.at(-1)")
    assert question.pop("region")
    assert question == {"run": "run-1", "kind": "node", "i": 3, "t": 15}
    until(finished, "document.querySelector('.gv-inspected').innerText.includes('<b>no</b>')")
    assert "0.750" in finished.inner_text(".gv-inspected")
    # Scrubbing sends a new question; the old reply is labelled with its step meanwhile.
    finished.evaluate("server.delay = 500, player.stepBy(-3)")
    assert "as of step 15" in finished.inner_text(".gv-inspected")
    until(finished, "server.asked.at(-1).t === 12")
    until(finished, "!document.querySelector('.gv-inspected').innerText.includes('as of step')")


def test_edge_shows_weights_and_pair_shows_reason(finished: Any, until: Any) -> None:
    finished.evaluate(f"() => {{ {REPLY} }}")
    finished.evaluate("player.seek(15)")
    i, j = finished.evaluate("[player.log.sources[0], player.log.targets[0]]")
    finished.fill(".gv-ask input >> nth=0", f"x{i + 1}")
    finished.fill(".gv-ask input >> nth=1", f"x{j + 1}")
    finished.click("text=Why (not)?")
    until(finished, "document.querySelector('.gv-heat') !== null")
    cells = finished.locator(".gv-heat td[title]")
    assert cells.all_inner_texts() == ["0.50", "−0.50", "−0.25", "1.00"]
    chosen = finished.evaluate("player.graph.edges.chosen(player.palette)[0].at(-1).line")
    kinds = finished.evaluate("['right', 'wrong', 'plain'].map((kind) => player.palette[kind])")
    assert chosen in kinds, "the selected edge has another colour"
    assert "yes with yes" in finished.inner_text(".gv-states >> nth=0")
    # Before its activation, the edge is a pair without an edge.
    finished.evaluate("player.seek(0)")
    until(
        finished, "document.querySelector('.gv-inspected').innerText.includes('explained already')"
    )
    assert finished.evaluate("server.asked.at(-1).kind") == "pair"
    assert finished.locator(".gv-score .gv-meter-tick").count() == 1


def test_rounded_score_stays_on_its_side_of_threshold(finished: Any, until: Any) -> None:
    reply = REPLY.replace("score: 0.0006, threshold: 0.001", "score: 0.0034952, threshold: 0.0035")
    finished.evaluate(f"() => {{ {reply} }}")
    finished.evaluate("player.seek(0)")
    finished.fill(".gv-ask input >> nth=0", "x1")
    finished.fill(".gv-ask input >> nth=1", "x2")
    finished.click("text=Why (not)?")
    until(finished, "document.querySelector('.gv-score') !== null")
    text = finished.inner_text(".gv-score")
    assert "0.003495" in text
    assert "= 0.0035 (not above" in text


def test_shift_click_on_second_node_sends_question_of_pair(finished: Any, until: Any) -> None:
    until(finished, AT_REST)
    places = finished.evaluate("[0, 5].map(i => player.graph.at[i])")
    canvas = finished.locator(".gv-stage canvas")
    canvas.click(position={"x": places[0][0], "y": places[0][1]})
    canvas.click(position={"x": places[1][0], "y": places[1][1]}, modifiers=["Shift"])
    assert finished.evaluate("player.selection") == {"kind": "pair", "i": 0, "j": 5}
    finished.keyboard.press("Escape")
    assert finished.evaluate("player.selection") is None


def test_unknown_name_shows_a_sentence(finished: Any) -> None:
    finished.evaluate("player.selectPair(0, 5)")
    assert finished.inner_text(".gv-inspector .gv-heading")
    finished.fill(".gv-ask input >> nth=0", "nobody")
    finished.click("text=Why (not)?")
    assert "no variable named “nobody”" in finished.inner_text(".gv-message")
    assert finished.locator(".gv-inspector .gv-heading").count() == 0, (
        "the last reply is still shown"
    )


def test_colours_of_degrees_keep_their_scale(finished: Any) -> None:
    limits = []
    for step in (1, 20, 40):
        finished.evaluate(f"player.seek({step})")
        limits.append(finished.evaluate("player.graph.degreeLimit"))
    other = "player.graph.setRun(new player.log.constructor(player.log.header), null)"
    limits.append(finished.evaluate(f"({other}, player.graph.degreeLimit)"))
    assert len(set(limits)) == 1, "the scale changed in a run without edges"
    assert limits[0] >= finished.evaluate("player.log.snapshot(40).topDegree")


def test_outcome_fades_while_next_run_is_loading(finished: Any) -> None:
    finished.evaluate("player.seek(Infinity)")
    opacity = "() => getComputedStyle(document.querySelector('.gv-outcome')).opacity"
    assert finished.evaluate(opacity) == "1"
    finished.evaluate("player.load({...player.log.header, run: 'next'}, {step: null})")
    assert float(finished.evaluate(opacity)) < 0.5
