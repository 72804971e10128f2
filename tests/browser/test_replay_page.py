"""replay.html opened as a file, with ordinary and with unusual runs."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from fakes import finished_run
from sample_records import sample_run

import graftviz as gv
from graftviz.reports.files import run_folder
from graftviz.reports.files.run_folder import replay_page
from graftviz.reports.replay.records import recorded_run

pytestmark = pytest.mark.browser

NAMES = [
    "<script>alert(1)</script>",
    "x" * 300,
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u65e5\u672c\u8a9e\u306e\u5909\u6570 \U0001f989",
    "</title><img src=x onerror=alert(2)>",
    "a\u2028b",
    "\u202ereversed",
    "&amp;",
    "'\"`${1}`",
    "  spaced  ",
    "%s{}{data}{script}",
    "naïve café",
]


@pytest.fixture
def replayed(browser_page: Any, show_html: Any, until: Any) -> Any:
    """Return a function that opens a run as a replay page."""

    def show(output: Any, page: Any = browser_page) -> Any:
        show_html(page, replay_page(*output))
        until(page, "globalThis.replay !== undefined && replay.log.finished")
        return page

    return show


def to_end(page: Any, until: Any) -> None:
    page.evaluate("replay.seek(Infinity)")
    until(page, "replay.raf === 0 && replay.p === replay.log.last")


def real_run(max_edges: int = 12) -> Any:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, (400, 8))
    for parent, child in ((0, 1), (1, 2), (0, 3), (3, 4), (5, 6)):
        same = rng.random(400) < 0.6
        codes[same, child] = codes[same, parent]
    run = finished_run(
        gv.DiscreteTable.from_codes(codes), gv.BestChoice(max_edges=max_edges), seed=1
    )
    return recorded_run(run, title="Eight variables")


def test_real_run_plays_to_its_end(replayed: Any, until: Any) -> None:
    output = real_run()
    page = replayed(output)
    assert "Eight variables" in page.inner_text(".gv-head")
    page.evaluate("replay.setSpeed(32)")
    page.hover(".gv-stage canvas")
    page.keyboard.press("Space")
    until(page, "!replay.playing && replay.shown === replay.log.last")
    assert output[2]["stop_reason"] in page.inner_text(".gv-outcome")
    assert page.locator("text=Branch here").count() == 0
    i, j, _ = output[1][0]["activated"][0]
    page.evaluate(f"replay.selectPair({i}, {j})")
    assert "since step 1" in page.inner_text(".gv-inspector")
    assert "Open this run in the app" in page.inner_text(".gv-inspector")


def test_description_of_pair_comes_from_records(replayed: Any) -> None:
    header, records, outcome = sample_run(12, max_steps=6)
    page = replayed((header, records, outcome))
    view = records[2]["reservoir"]
    place = next(k for k in range(len(view["edges"])) if k not in view["taken"])
    i, j = view["edges"][place]
    page.evaluate(f"replay.seek(3), replay.selectPair({i}, {j})")
    text = page.inner_text(".gv-inspector")
    assert f"in the reservoir in step 3: place {place + 1} of {len(view['edges'])}" in text


def test_names_and_words_are_shown_as_text(replayed: Any, until: Any) -> None:
    header, records, outcome = copy.deepcopy(sample_run(12, max_steps=9))
    header["names"] = NAMES
    header["labels"] = [[f"<b>{k}</b>" for k in range(5)]] * 12
    header["title"] = "</title><script>alert('t')</script> " + "long title " * 30
    header["note"] = "<img src=x onerror=alert(3)>" + "n" * 500
    header["learner"]["options"]["<i>"] = "</script><script>alert(9)</script>"
    records[0]["words"] = "</script><script>alert(4)</script>"
    records[0]["notes"] = ["<b>note</b>" * 30]
    outcome["stop_reason"] = "<i>stopped</i>"
    page = replayed((header, records, outcome))
    assert page.title() == header["title"].strip()
    page.evaluate("replay.seek(1)")
    assert page.inner_text(".gv-sentence") == records[0]["words"]
    to_end(page, until)
    assert "<i>stopped</i>" in page.inner_text(".gv-outcome")
    for i in range(12):
        page.evaluate(f"replay.select({{kind: 'node', i: {i}}})")
        assert page.text_content(".gv-heading b")[:20] == NAMES[i][:20]
    assert page.locator(".gv-player :is(script, img, i > b)").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 1400


def test_run_without_steps_shows_stop_reason(replayed: Any) -> None:
    header, _, outcome = sample_run(20)
    reason = "Nothing passed: the largest score, 0.0261, is not above λ = 0.5."
    outcome |= {"steps": 0, "edges": 0, "converged": True, "stop_reason": reason}
    page = replayed(({**header, "lam": 0.5}, [], outcome))
    assert reason in page.inner_text(".gv-outcome")
    assert "converged" in page.inner_text(".gv-badge")
    assert "step 0 of 0" in page.inner_text(".gv-position")
    for key in ("ArrowRight", "End", "ArrowLeft", "Space"):
        page.keyboard.press(key)
    page.wait_for_timeout(100)
    assert page.evaluate("replay.shown") == 0


@pytest.mark.parametrize("n", [2, 3])
def test_smallest_runs_are_shown(replayed: Any, until: Any, n: int) -> None:
    header, records, outcome = sample_run(n)
    page = replayed((header, records, outcome))
    to_end(page, until)
    assert f"{outcome['edges']} edge" in page.inner_text(".gv-position")


def big_run(n: int, steps: int, edges_a_step: int) -> Any:
    header, records, outcome = sample_run(4, max_steps=1)
    rng = np.random.default_rng(0)
    header |= {"names": [f"v{i}" for i in range(n)], "labels": [["0", "1"]] * n, "truth": None}
    header["possible"] = n * (n - 1) // 2
    header["layout"] = rng.integers(0, 10000, 2 * n).tolist()
    pairs = {(min(p), max(p)) for p in rng.integers(0, n, (3 * steps * edges_a_step, 2)).tolist()}
    pairs = [[i, j] for i, j in sorted(pairs) if i != j]
    pairs = [pairs[k] for k in rng.permutation(len(pairs))[: steps * edges_a_step]]
    long_records = []
    for t in range(1, steps + 1):
        new = pairs[(t - 1) * edges_a_step : t * edges_a_step]
        long_records.append(
            {
                **records[0],
                "t": t,
                "reservoir": None,
                "activated": [[i, j, 0.01] for i, j in new],
                "weights": [[i, j, float(rng.random())] for i, j in new],
                "edges": t * edges_a_step,
                "layout": rng.integers(0, 10000, 2 * n).tolist(),
                "recall": None,
                "precision": None,
            }
        )
    return header, long_records, {**outcome, "steps": steps}


def test_run_of_a_thousand_variables(replayed: Any, until: Any) -> None:
    page = replayed(big_run(1000, 30, 100))
    page.evaluate("replay.seek(28)")
    until(page, "replay.p === 28 && replay.raf === 0")
    page.evaluate(
        """() => {
          globalThis.frames = [];
          const draw = replay.draw.bind(replay);
          replay.draw = () => {
            const start = performance.now();
            draw();
            frames.push(performance.now() - start);
          };
          replay.setSpeed(1);
          replay.toggle();
        }"""
    )
    until(page, "!replay.playing")
    frames = sorted(page.evaluate("frames"))
    # Time of the script for a frame; painting depends on the machine.
    assert frames[len(frames) // 2] < 40
    assert page.evaluate("replay.graph.now.count") == 3000


def test_compressed_run_is_unpacked(replayed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "_PLAIN_LIMIT", 1000)
    page = replayed(sample_run(12, max_steps=6))
    assert page.evaluate("document.getElementById('run').type") == "application/gzip"
    assert page.evaluate("replay.log.ready") == 6


def test_light_and_dark_theme(open_page: Any, replayed: Any) -> None:
    page = open_page(dark=True)
    replayed(sample_run(12, max_steps=6), page)
    assert page.evaluate("replay.palette.dark")
    page.click("#theme")
    assert not page.evaluate("replay.palette.dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [320, 768, 1920])
def test_page_does_not_overflow_and_shows_transport(
    open_page: Any, replayed: Any, until: Any, width: int
) -> None:
    page = open_page(width, 844)
    replayed(sample_run(60, max_steps=5), page)
    to_end(page, until)
    page.evaluate("replay.select({kind: 'node', i: 0})")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        "[...document.querySelectorAll('.gv-player *')].filter(e => e.clientWidth &&"
        " !e.closest('.gv-live, datalist, .gv-heat-box') && e.getBoundingClientRect().right >"
        f" {width} + 0.5).map(e => e.className)"
    )
    assert wide == []
    play = page.locator(".gv-play").bounding_box()
    assert play["y"] + play["height"] <= 844
