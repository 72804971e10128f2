"""Explanations of edges, trial thresholds and effects of activations in the player."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graftviz.learning.grafting.reservoir import activation

pytestmark = pytest.mark.browser

HANDLE = ".gv-threshold"
EFFECT = {
    "method": "exact inference",
    "cells": [["a", "b", 0.1, 0.2, 0.25], ["a", "a", 0.4, 0.3, 0.25]],
    "left": 7,
    "gap": [0.2, 0.1],
    "words": "Distance of the pair marginal from the data: 0.2 before the step, 0.1 after it.",
}
FALSE_EDGE = """() => {
  const { log } = player;
  return log.snapshot(log.last).active.map((e) => [log.sources[e], log.targets[e]])
    .find((pair) => !log.isTrue(...pair));
}"""


def why(i: int, third: int, j: int, *, is_true: bool = True) -> dict[str, Any]:
    """Return the part of a reply about a third variable."""
    tables = [{"state": state, "rows": 8, "counts": [[2, 2], [2, 2]]} for state in (None, "s")]
    return {
        "third": third,
        "name": f"x{third + 1}",
        "path": [i, third, j],
        "known": is_true,
        "raw": 0.01,
        "given": 0.002,
        "noise": 0.001,
        "limit": 0.003,
        "symbol": "λ",
        "labels": [["s", "t"], ["s", "t"]],
        "tables": tables,
        "more": 0,
        "best": True,
        "words": "They are correlated through a third variable.",
    }


def reply(page: Any, answer: dict[str, Any]) -> None:
    page.evaluate(
        "(answer) => { server.reply = (question) => ({ t: question.t, ...answer }); }", answer
    )


def chosen_edge(page: Any, until: Any, *, is_true: bool = True) -> tuple[int, int, int]:
    """Select a false edge that a third variable explains; return all three."""
    page.evaluate("player.seek(Infinity)")
    i, j = page.evaluate(FALSE_EDGE)
    third = next(k for k in range(30) if k not in (i, j))
    reply(page, {"names": [f"x{i + 1}", f"x{j + 1}"], "why": why(i, third, j, is_true=is_true)})
    page.evaluate(f"player.selectPair({i}, {j})")
    until(page, "document.querySelector('.gv-why') !== null")
    return i, third, j


@pytest.mark.parametrize(("is_true", "colour"), [(True, "right"), (False, "plain")])
def test_false_edge_highlights_path_that_explains_it(
    finished: Any, until: Any, is_true: bool, colour: str
) -> None:
    i, third, j = chosen_edge(finished, until, is_true=is_true)
    path = finished.evaluate("player.graph.edges.path.edges")
    assert path == [[i, third], [third, j]]
    drawn, line = finished.evaluate(
        f"""(() => {{
          const layers = player.graph.edges.lightPath(player.palette);
          const same = layers.every(({{ line }}) => line === player.palette.{colour});
          return [layers.slice(1).flatMap(({{ edges }}) => edges).length, same];
        }})()"""
    )
    assert (drawn, line) == (2, True)
    text = finished.inner_text(".gv-inspected")
    assert "They are correlated through a third variable." in text
    assert "0.0100" in text or "0.01" in text
    assert finished.locator(".gv-inspected .gv-bars .gv-meter-tick").count() == 2
    finished.evaluate("player.select(null)")
    assert finished.evaluate("player.graph.edges.path") is None


def test_tables_stay_open_between_steps(finished: Any, until: Any) -> None:
    chosen_edge(finished, until)
    assert not finished.locator(".gv-counts table").first.is_visible()
    finished.click(".gv-counts summary")
    assert finished.locator(".gv-counts table").count() == 2
    finished.evaluate("player.seek(player.log.last - 1)")
    until(finished, "document.querySelector('.gv-counts')?.open")
    assert "8" in finished.inner_text(".gv-counts caption")


def test_preset_best_shows_same_number_of_edges(finished: Any, until: Any) -> None:
    chosen_edge(finished, until)
    finished.evaluate("player.seek(20)")
    edges = finished.evaluate("player.log.edgesAt(20)")
    finished.get_by_role("button", name="See it with pseudo-likelihood").click()
    assert finished.evaluate("server.switched") == 1
    finished.evaluate(
        "server.runs['run-2'].header.ghost = 'paper', server.limit = 5, server.delay = 200,"
        " server.open('run-2', {step: null, playing: false})"
    )
    until(finished, "player.log.header.run === 'run-2' && player.sameEdges === null")
    counts = finished.evaluate("player.log.counts")
    shown = finished.evaluate("player.shown")
    assert shown == next(t for t, count in enumerate(counts) if count >= edges)
    assert finished.evaluate("player.selection.kind") == "pair"


def test_missing_edge_shows_number_of_rows_needed(finished: Any, until: Any) -> None:
    reply(
        finished, {"names": ["x1", "x2"], "words": "Tested.", "needs": "It needs about 900 rows."}
    )
    i, j = finished.evaluate("player.log.missingAt(0)[0]")
    finished.evaluate(f"player.selectPair({i}, {j})")
    until(finished, "document.querySelector('.gv-needs')?.textContent.includes('900')")


# ---------------------------------------------------------------------------------- activation


def test_paused_step_shows_effect_of_first_new_edge(finished: Any, until: Any) -> None:
    reply(finished, {"names": ["x1", "x2"], "effect": EFFECT, "words": ""})
    finished.evaluate("player.seek(3)")
    until(finished, "document.querySelector('.gv-effect') !== null")
    i, j, _ = finished.evaluate("player.log.records[3].activated[0]")
    question = finished.evaluate("server.asked.at(-1)")
    assert (question["kind"], question["i"], question["j"], question["t"]) == ("edge", i, j, 3)
    assert question["effect"] is True
    rows = finished.locator(".gv-effect tbody tr").all_inner_texts()
    assert [row.split()[-3:] for row in rows] == [
        ["0.100", "0.200", "0.250"],
        ["0.400", "0.300", "0.250"],
    ]
    assert "exact inference · 7 more" in finished.inner_text(".gv-effect caption")
    finished.click(".gv-inspected .gv-link")
    assert finished.evaluate("[player.selection.i, player.selection.j]") == [i, j]
    until(finished, "document.querySelector('.gv-effect') !== null")


def test_playing_sends_no_question_about_new_edges(finished: Any, until: Any) -> None:
    finished.evaluate(
        "player.seek(0), server.asked.length = 0, player.setSpeed(8), player.toggle()"
    )
    until(finished, "player.shown >= 4")
    assert finished.evaluate("server.asked") == []


def test_quick_seeks_send_question_of_last_step_only(finished: Any, until: Any) -> None:
    finished.evaluate("server.asked.length = 0")
    for step in (3, 7, 11):
        finished.evaluate(f"player.seek({step})")
        finished.wait_for_timeout(100)
    until(finished, "server.asked.length > 0")
    assert finished.evaluate("server.asked.map(({t}) => t)") == [11]


def test_paused_page_does_not_repeat_unanswered_question(finished: Any, until: Any) -> None:
    reply(finished, {"names": ["x1", "x2"], "effect": {"error": "Compiling.", "again": True}})
    finished.evaluate("server.asked.length = 0, player.seek(3)")
    until(finished, "server.asked.length > 0")
    finished.wait_for_timeout(2500)
    assert finished.evaluate("server.asked.length") == 1
    assert finished.locator(".gv-effect").count() == 0
    reply(finished, {"names": ["x1", "x2"], "effect": EFFECT, "words": ""})
    finished.evaluate("player.seek(4)")
    until(finished, "document.querySelector('.gv-effect') !== null")


# ----------------------------------------------------------------------------------- threshold


@pytest.mark.parametrize("step", [1, 5, 20])
def test_trial_threshold_chooses_as_learner_does(finished: Any, step: int) -> None:
    finished.evaluate(f"player.seek({step})")
    view = finished.evaluate("player.reservoir.viewAt(player.shown)")
    skips = 0
    for alpha in np.linspace(0.0, 1.0, 21).round(2).tolist():
        finished.evaluate(f"player.reservoir.threshold.attempt({alpha})")
        trial = finished.evaluate("player.reservoir.threshold.trial")
        expected = activation(np.array(view["edges"]), np.array(view["scores"]), alpha)
        assert trial["taken"] == list(expected.chosen), alpha
        assert trial["skipped"] == list(expected.skipped), alpha
        skips += len(trial["skipped"])
    assert skips > 0
    finished.evaluate("player.reservoir.threshold.end()")
    assert finished.evaluate("player.reservoir.trial") is None


def test_trial_at_first_step_equals_run_with_that_alpha(finished: Any) -> None:
    other = finished.evaluate("server.runs['run-2'].records[0].reservoir")
    finished.evaluate("player.seek(1), player.reservoir.threshold.attempt(0.5)")
    assert finished.evaluate("player.reservoir.viewAt(1).edges") == other["edges"]
    trial = finished.evaluate("player.reservoir.threshold.trial")
    assert (trial["taken"], trial["skipped"]) == (other["taken"], other["skipped"])


def drag_threshold(page: Any, until: Any) -> tuple[float, float]:
    """Drag the threshold of step 1 down, without release; return where the drag began."""
    page.evaluate("player.seek(1)")
    until(page, f"document.querySelector('{HANDLE}').style.top !== ''")
    box = page.locator(HANDLE).bounding_box()
    x, y = box["x"] + box["width"] - 15, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 30, steps=3)
    return x, y


def test_dragging_threshold_highlights_edges_and_learns_again(finished: Any, until: Any) -> None:
    drag_threshold(finished, until)
    alpha, taken, drawn = finished.evaluate(
        """[player.reservoir.threshold.trial.alpha, player.reservoir.trial.taken,
          player.graph.edges.trial(player.palette, player.reservoir.trial).flat()
            .filter(({ line }) => line === player.palette.step).flatMap(({ edges }) => edges)]"""
    )
    assert alpha < 0.75
    assert drawn == taken
    assert len(taken) >= len(finished.evaluate("player.log.records[1].activated"))
    assert finished.evaluate("server.alphas") == []
    assert f"α {alpha:.2f}" in finished.inner_text(".gv-trial")
    finished.mouse.up()
    assert finished.evaluate("server.alphas") == [alpha]
    # The choice stays highlighted until the new run arrives.
    assert finished.evaluate("player.reservoir.trial.taken") == taken
    finished.evaluate("server.open('run-2', {step: null, playing: false})")
    until(finished, "player.log.header.run === 'run-2'")
    assert finished.evaluate("player.reservoir.trial") is None


def test_threshold_dragged_back_starts_no_run(finished: Any, until: Any) -> None:
    x, y = drag_threshold(finished, until)
    finished.mouse.move(x, y, steps=3)
    finished.mouse.up()
    assert finished.evaluate("server.alphas") == []
    assert finished.evaluate("player.reservoir.trial") is None


def test_threshold_is_moved_by_keyboard(finished: Any) -> None:
    finished.evaluate("player.seek(1)")
    finished.focus(HANDLE)
    assert finished.get_attribute(HANDLE, "aria-valuenow") == "0.75"
    finished.keyboard.press("ArrowDown")
    finished.keyboard.press("ArrowDown")
    assert finished.get_attribute(HANDLE, "aria-valuenow") == "0.65"
    assert "would be activated" in finished.get_attribute(HANDLE, "aria-valuetext")
    assert "Enter" in finished.inner_text(".gv-trial")
    finished.keyboard.press("Escape")
    assert finished.get_attribute(HANDLE, "aria-valuenow") == "0.75"
    assert finished.evaluate("[player.shown, server.alphas.length]") == [1, 0]
    finished.keyboard.press("ArrowUp")
    finished.keyboard.press("Enter")
    assert finished.evaluate("server.alphas") == [0.8]


def test_steps_without_choice_have_no_threshold_handle(finished: Any) -> None:
    assert finished.locator(HANDLE).is_hidden()
    finished.evaluate("player.seek(1)")
    assert finished.locator(HANDLE).is_visible()
    finished.evaluate("player.seek(2), player.reservoir.threshold.attempt(0)")
    finished.evaluate("player.seek(3)")
    assert finished.evaluate("player.reservoir.trial") is None
