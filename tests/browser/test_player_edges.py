"""Edges that are removed, return, or are dropped by the final fit, and edge stability."""

from __future__ import annotations

from typing import Any

import pytest
from sample_records import sample_run
from served_player import served_page

pytestmark = pytest.mark.browser

LEAVES, COMES_BACK = 3, 5  # steps


@pytest.fixture
def run() -> tuple[Any, Any, Any]:
    """Run whose first edge is removed in step 3 and returns in step 5; its second is dropped."""
    header, records, outcome = sample_run(14, max_steps=7)
    edges = [pair for record in records for pair in record["activated"]]
    first = edges[0]
    for record in records:
        record["removed"] = []
        # A removed edge has no weight.
        if LEAVES <= record["t"] < COMES_BACK:
            record["weights"] = [w for w in record["weights"] if w[:2] != first[:2]]
            record["edges"] -= 1
    records[LEAVES - 1]["removed"] = [first[:2]]
    records[COMES_BACK - 1]["activated"].append([*first[:2], 0.02])
    records[COMES_BACK - 1]["weights"].append([*first[:2], 0.77])
    outcome["dropped"] = [edges[1][:2]]
    outcome["edges"] -= 1
    header["objective"] = "Bethe likelihood"
    return header, records, outcome


@pytest.fixture
def page(browser_page: Any, show_html: Any, until: Any, run: tuple[Any, Any, Any]) -> Any:
    show_html(browser_page, served_page([run]))
    browser_page.evaluate("server.open('run-1', {step: 0, playing: false})")
    browser_page.evaluate("player.seek(Infinity)")
    until(browser_page, "player.log.finished")
    return browser_page


def show(page: Any, until: Any, t: int) -> None:
    page.evaluate(f"player.seek({t})")
    until(page, "player.raf === 0")


def test_removed_edge_is_absent_until_it_returns(
    page: Any, until: Any, run: tuple[Any, Any, Any]
) -> None:
    _, records, _ = run
    i, j, _ = records[0]["activated"][0]
    for t in [*range(len(records) + 1), *reversed(range(len(records) + 1))]:
        active = 1 <= t < LEAVES or t >= COMES_BACK
        assert page.evaluate(f"player.log.edgeAt({i}, {j}, {t}) >= 0") is active, t
        count = records[t - 1]["edges"] if t else 0
        assert page.evaluate(f"player.log.counts[{t}]") == count
        degrees = page.evaluate(f"[...player.log.snapshot({t}).degrees]")
        assert sum(degrees) == 2 * count
    show(page, until, COMES_BACK)
    page.evaluate(f"player.selectPair({i}, {j})")
    assert "since step 5" in page.locator(".gv-inspector").inner_text()
    assert "came back" in page.locator(".gv-inspector").inner_text()
    assert page.evaluate(f"player.log.normAt(player.log.edgeAt({i}, {j}, 5), 5)") == 0.77


def test_removed_edge_is_marked_and_described(
    page: Any, until: Any, run: tuple[Any, Any, Any]
) -> None:
    _, records, _ = run
    i, j, _ = records[0]["activated"][0]
    show(page, until, LEAVES)
    legend = page.locator(".gv-graph .gv-legend").inner_text()
    assert "removed 1" in " ".join(legend.split())
    assert "1 edge removed" in page.locator(".gv-graph canvas").get_attribute("aria-label")
    page.evaluate(f"player.selectPair({i}, {j})")
    text = page.locator(".gv-inspector").inner_text()
    assert "It was an edge from step 1 until it was removed in step 3." in text
    assert "It is activated later, in step 5." in text
    # The mark disappears after a moment.
    page.evaluate("player.select(null)")
    box = (
        "(() => { const g = player.graph; const s = g.at.flat(), r = devicePixelRatio;"
        f" const x = (s[{2 * i}] + s[{2 * j}]) / 2, y = (s[{2 * i + 1}] + s[{2 * j + 1}]) / 2;"
        " const c = g.canvas.getContext('2d');"
        " return [...c.getImageData((x - 5) * r, (y - 5) * r, 10 * r, 10 * r).data]"
        ".filter((_, k) => k % 4 === 3).reduce((a, b) => a + b, 0) })()"
    )
    page.wait_for_timeout(100)
    marked = page.evaluate(box)
    show(page, until, LEAVES + 1)
    page.wait_for_timeout(100)
    assert page.evaluate(box) != marked


def test_edge_dropped_by_final_fit_is_shown_at_last_step_only(
    page: Any, until: Any, run: tuple[Any, Any, Any]
) -> None:
    _, records, outcome = run
    last = len(records)
    [[i, j]] = outcome["dropped"]
    show(page, until, last)
    assert page.evaluate("player.log.snapshot(player.shown).dropped") == 1
    text = page.locator(".gv-words").inner_text()
    assert "removed 1 edge" in text
    assert f"x{i + 1} – x{j + 1}" in text
    position = " ".join(page.locator(".gv-position").inner_text().split())
    assert f"{outcome['edges']} edges" in position
    page.evaluate(f"player.selectPair({i}, {j})")
    assert "removed by the final fit" in page.locator(".gv-inspector").inner_text()
    show(page, until, last - 1)
    assert page.evaluate("player.log.snapshot(player.shown).dropped") == 0
    assert "removed by the final fit" not in page.locator(".gv-inspector").inner_text()


def test_last_step_shows_reliability_of_the_fit(page: Any, until: Any) -> None:
    show(page, until, 7)
    text = page.locator(".gv-trust").inner_text()
    assert "KKT" not in text, "terms belong to the tooltip"
    assert "a second computation of the probabilities gave the same" in text
    assert "KKT residual" in page.get_attribute(".gv-trust", "title")
    page.evaluate("(player.log.outcome.bp_restart_gap = 0.2, player.changed())")
    assert "Caution" in page.locator(".gv-trust").inner_text()
    page.evaluate("(player.log.header.objective = 'pseudo-likelihood', player.changed())")
    assert "The fit is not affected" in page.locator(".gv-trust").inner_text()


def test_stability_fades_edges_and_is_described(
    page: Any, until: Any, run: tuple[Any, Any, Any]
) -> None:
    _, records, _ = run
    pairs = [pair[:2] for record in records[-2:] for pair in record["activated"]]
    (a, b), (c, d) = pairs[0], pairs[-1]
    assert page.locator(".gv-legend", has_text="subsamples").count() == 0 or not (
        page.get_by_role("button", name="Show or hide: found in").is_visible()
    )
    found = {"run": "run-1", "of": 50, "rows": 100, "edges": [[a, b, 46], [c, d, 3]]}
    page.evaluate("(found) => player.stabilise(found)", found)
    legend = " ".join(page.locator(".gv-graph .gv-legend").inner_text().split())
    assert "found in 0 … 50 subsamples" in legend
    opacity = (
        "([i, j]) => { const { edges } = player.graph;"
        " return edges.opacity(edges.sureness(player.log.edgeAt(i, j, player.log.last))); }"
    )
    sure, unsure = page.evaluate(opacity, [a, b]), page.evaluate(opacity, [c, d])
    assert sure > 0.8 > 0.3 > unsure
    page.evaluate(f"player.selectPair({a}, {b})")
    assert "in 46 of 50 subsamples" in page.locator(".gv-inspector").inner_text()
    page.locator(".gv-graph .gv-key", has_text="found in").click()
    assert page.evaluate(opacity, [c, d]) == 1
    # Stability of another run is ignored.
    page.evaluate("player.stabilise({run: 'other', of: 2, rows: 9, edges: []})")
    assert page.evaluate("player.log.stability.of") == 50
