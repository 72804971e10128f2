"""Partially active edges: their line, legend, count and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fakes import finished_run
from served_player import served_page

from graftviz import DiscreteTable, FeatureGrafting, Run
from graftviz.reports.replay.records import answer, recorded_run

pytestmark = pytest.mark.browser


def learned() -> Run:
    """Run on a chain of variables of three states whose edges get features one by one."""
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, size=(900, 6))
    for i in range(1, 6):
        copies = rng.random(900) < 0.5
        codes[copies, i] = codes[copies, i - 1]
    return finished_run(DiscreteTable.from_codes(codes), FeatureGrafting(lam=0.02, lam2=0.02))


@pytest.fixture(scope="module")
def run() -> Run:
    return learned()


@pytest.fixture
def page(browser_page: Any, show_html: Any, until: Any, run: Run) -> Any:
    header, records, outcome = recorded_run(run, title="A chain")
    show_html(browser_page, served_page([({**header, "run": "run-1"}, records, outcome)]))
    browser_page.evaluate("server.open('run-1', {step: 0, playing: false})")
    browser_page.evaluate("player.seek(Infinity)")
    until(browser_page, "player.log.finished")
    return browser_page


def show(page: Any, until: Any, t: int) -> None:
    page.evaluate(f"player.seek({t})")
    until(page, "player.raf === 0")


def test_partial_edges_are_counted_at_every_step(page: Any, until: Any, run: Run) -> None:
    seen = set()
    for step in run.steps:
        counts_at_step = step.feature_counts()
        partial = int((counts_at_step[:, 0] < counts_at_step[:, 1]).sum())
        seen.add(partial)
        assert page.evaluate(f"player.log.snapshot({step.index}).partial") == partial
        for (i, j), (active, possible) in zip(
            step.active_edges().tolist(), counts_at_step.tolist(), strict=True
        ):
            edge = f"player.log.edgeAt({i}, {j}, {step.index})"
            counts = page.evaluate(f"player.log.features[{edge}].at({step.index})")
            assert counts == {"active": active, "possible": possible}
    assert len(seen) > 2
    last = len(run.steps)
    show(page, until, last)
    legend = " ".join(page.locator(".gv-graph .gv-legend").inner_text().split())
    partial_at_end = page.evaluate(f"player.log.snapshot({last}).partial")
    assert f"partially active {partial_at_end}" in legend
    described = page.locator(".gv-graph canvas").get_attribute("aria-label")
    assert f"{partial_at_end} of them partially active" in described


def test_a_partial_edge_is_drawn_with_gaps(page: Any, until: Any, run: Run) -> None:
    """Check that the line of a partial edge has gaps and that of a whole edge has none."""
    page.evaluate("player.log.features[0].steps = [1]")
    page.evaluate("player.log.features[0].values = [{active: 9, possible: 9}]")
    last = len(run.steps)
    show(page, until, last)
    page.evaluate("player.log.cache.clear()")
    i, j = run.steps[0].activated[0][:2]
    broken = (
        "(() => { player.graph.draw(); const g = player.graph, s = g.at.flat();"
        " const r = devicePixelRatio, c = g.canvas.getContext('2d'); let gaps = 0;"
        f" for (let k = 300; k <= 700; k++) {{ const f = k / 1000;"
        f" const x = s[{2 * i}] + f * (s[{2 * j}] - s[{2 * i}]);"
        f" const y = s[{2 * i + 1}] + f * (s[{2 * j + 1}] - s[{2 * i + 1}]);"
        " gaps += c.getImageData(Math.round(x * r), Math.round(y * r), 1, 1).data[3] < 90; }"
        " return gaps; })()"
    )
    whole = page.evaluate(broken)
    page.evaluate("player.log.features[0].values[0].active = 3")
    page.evaluate("player.log.cache.clear()")
    assert page.evaluate(broken) > whole + 40


def test_inspector_marks_inactive_features(page: Any, until: Any, run: Run) -> None:
    step = run.steps[-1]
    counts = step.feature_counts()
    at = int(np.argmax(counts[:, 1] - counts[:, 0]))
    i, j = step.active_edges()[at].tolist()
    show(page, until, step.index)
    page.evaluate(f"player.selectPair({i}, {j})")
    active, possible = counts[at].tolist()
    assert active < possible
    inspector = page.locator(".gv-inspector")
    assert f"{active} of {possible} features active" in inspector.inner_text()
    question = {"kind": "edge", "i": i, "j": j, "t": step.index}
    reply = answer(run, question)
    message = {"question": question, "answer": reply}
    page.evaluate("(message) => player.answer(message)", message)
    cells = inspector.locator(".gv-heat td.gv-off")
    assert cells.count() == possible - active
    assert "not active" in cells.first.get_attribute("title")
    assert "hatched: not active" in inspector.locator("caption").last.inner_text()
    assert f"partially active: {active} of its {possible} features" in inspector.inner_text()


def test_new_feature_highlights_its_edge(page: Any, until: Any, run: Run) -> None:
    step = next(step for step in run.steps if not step.activated)
    i, j = step.features[0][:2]
    show(page, until, step.index)
    page.wait_for_timeout(100)
    lit = page.evaluate(
        "player.graph.edges.fresh.map((e) => [player.log.sources[e], player.log.targets[e]])"
    )
    assert lit == [[i, j]]
    assert "features" in page.locator(".gv-words").inner_text()


def test_legend_of_whole_edges_has_no_entry_for_partial_ones(player_page: Any) -> None:
    player_page.evaluate("player.seek(Infinity)")
    assert "partially" not in player_page.locator(".gv-graph .gv-legend").inner_text()
