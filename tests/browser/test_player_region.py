"""The certified region in the player: requests, highlighting, steps and the switch."""

from __future__ import annotations

from typing import Any

import pytest
from waiting import AT_REST, jump_to

pytestmark = pytest.mark.browser

# A region of the chosen node and its neighbours; its bound depends on the step.
REPLY = """() => { server.reply = ({kind, i, t, region}) => {
  const facts = player.log.nodeFacts(i, t);
  const nodes = [i, ...facts.partners.map((partner) => partner.node)];
  const bounds = nodes.map((_, k) => 1 / (k + 1 + t));
  return {...facts, labels: ['no', 'yes'], marginal: [0.25, 0.75], data: [0.3, 0.7],
    region: region && {...region, nodes, bounds, size: nodes.length,
      marginal: [0.26, 0.74, 0, 0, 0], bound: bounds.at(-1),
      bp: [0.25, 0.75, 0, 0, 0], exact: null, verdict: 'certified',
      headline: `Certified at step ${t} by ${region.cut}.`, words: 'BP says the same.'}};
}; }"""
LIT = "[...player.graph.region.glow].flatMap((glow, i) => glow > 0.5 ? [i] : [])"
OF_NODES = "server.asked.filter(({kind}) => kind === 'node')"
NODE = 3


@pytest.fixture
def chosen(finished: Any, until: Any) -> Any:
    """The first run at step 15 with the region of a selected node."""
    finished.evaluate(REPLY)
    jump_to(finished, 15)
    until(finished, AT_REST)
    x, y = finished.evaluate(f"player.graph.at[{NODE}]")
    finished.locator(".gv-stage canvas").click(position={"x": x, "y": y})
    until(finished, "document.querySelector('.gv-region').innerText.includes('at step 15')")
    until(finished, AT_REST)
    return finished


def region_at(page: Any, t: int) -> list[int]:
    """Return the nodes of the region in `REPLY`."""
    partners = page.evaluate(f"player.log.nodeFacts({NODE}, {t}).partners.map(p => p.node)")
    return sorted([NODE, *partners])


def test_selected_node_highlights_its_region(chosen: Any) -> None:
    assert chosen.evaluate(f"{OF_NODES}.map(({{region}}) => region)") == [
        {"cut": "drop", "tolerance": 0.01}
    ]
    assert chosen.evaluate(LIT) == region_at(chosen, 15)
    assert chosen.evaluate("player.graph.region.light") == 1
    outside = next(i for i in range(30) if i not in region_at(chosen, 15))
    assert chosen.evaluate(f"player.graph.region.opacity({outside})") < 0.6
    text = chosen.inner_text(".gv-region")
    assert "Certified at step 15 by drop." in text
    assert "0.740 ± 0.0" in text
    chart = chosen.get_by_role("slider", name="Nodes of the region to light")
    assert int(chart.get_attribute("aria-valuemax")) == len(region_at(chosen, 15))


def test_scrubbing_requests_region_once_per_step(chosen: Any, until: Any) -> None:
    for t in (14, 13, 14, 15):
        chosen.evaluate(f"player.seek({t})")
        until(chosen, f"document.querySelector('.gv-region').innerText.includes('at step {t} ')")
        until(chosen, AT_REST)
        assert chosen.evaluate(LIT) == region_at(chosen, t)
        chosen.wait_for_timeout(250)
    steps = chosen.evaluate("server.asked.filter(question => question.region).map(({t}) => t)")
    assert steps == [15, 14, 13]
    # Nothing is sent at rest.
    chosen.wait_for_timeout(1500)
    assert chosen.evaluate("server.asked.filter(question => question.region).length") == 3


def test_replies_for_other_steps_and_runs_are_not_shown(chosen: Any) -> None:
    before = chosen.inner_text(".gv-region"), chosen.evaluate(LIT)
    for question in (
        {"run": "run-1", "t": 7},
        {"run": "run-9", "t": 15},
        {"run": "run-1", "t": 15, "cut": "mean-field"},
    ):
        chosen.evaluate(
            """({run, t, cut}) => {
              const region = {cut: cut ?? 'drop', tolerance: 0.01};
              const question = {run, kind: 'node', i: 3, t, region};
              const answer = server.reply(question);
              answer.region.nodes = [3, 0, 1];
              answer.region.headline = 'wrong';
              player.answer({question, answer});
            }""",
            question,
        )
        chosen.wait_for_timeout(200)
        assert (chosen.inner_text(".gv-region"), chosen.evaluate(LIT)) == before


def test_playing_requests_few_regions_and_keeps_label(chosen: Any, until: Any) -> None:
    chosen.evaluate("server.asked.length = 0, server.delay = 60, player.setSpeed(8)")
    chosen.evaluate("player.toggle()")
    chosen.wait_for_timeout(2000)
    requests, shown = chosen.evaluate("[server.asked.length, player.shown]")
    assert shown > 20
    assert 2 <= requests <= 7
    assert "Certified at step" in chosen.inner_text(".gv-region")
    lit = chosen.evaluate("player.graph.region.shown")
    assert lit is None or lit["node"] == NODE
    chosen.evaluate("server.delay = 700, player.pause()")
    # A region of an older step is labelled with its step.
    if not chosen.evaluate("player.region.current().fresh"):
        assert "Step " in chosen.inner_text(".gv-region-headline")
    at = chosen.evaluate("player.shown")
    until(chosen, f"document.querySelector('.gv-region').innerText.includes('at step {at} ')")
    assert "Step " not in chosen.inner_text(".gv-region-headline")


def test_switch_hides_region_until_turned_on(chosen: Any, until: Any) -> None:
    switch = chosen.get_by_role("switch", name="Certified region")
    assert switch.is_checked()
    switch.focus()
    chosen.keyboard.press("Tab")  # the switch has the focus and takes the space bar
    switch.focus()
    chosen.keyboard.press("Space")
    until(chosen, AT_REST)
    assert chosen.evaluate("player.graph.region.light") == 0
    assert chosen.evaluate(LIT) == []
    assert not switch.is_checked()
    assert switch.evaluate("node => node.getRootNode().activeElement === node")
    assert not chosen.is_visible(".gv-region-content")
    chosen.evaluate("server.asked.length = 0, player.stepBy(-1)")
    until(chosen, "server.asked.length > 0")
    assert chosen.evaluate("'region' in server.asked[0]") is False
    assert chosen.evaluate("JSON.parse(localStorage['graftviz.region']).on") is False
    switch.click()
    until(chosen, "document.querySelector('.gv-region').innerText.includes('at step 14 ')")


def test_cut_and_closeness_can_be_chosen(chosen: Any, until: Any) -> None:
    chosen.click(".gv-region >> text=mean field")
    until(chosen, "document.querySelector('.gv-region').innerText.includes('by mean-field.')")
    chosen.click(".gv-region >> text=±0.1")
    until(chosen, "server.asked.at(-1).region?.tolerance === 0.1")
    assert chosen.evaluate("server.asked.at(-1).region.cut") == "mean-field"


def test_chart_highlights_region_at_each_size(chosen: Any, until: Any) -> None:
    chart = chosen.get_by_role("slider", name="Nodes of the region to light")
    chart.focus()
    chosen.keyboard.press("Home")
    until(chosen, AT_REST)
    assert chosen.evaluate(LIT) == [NODE]
    assert chart.get_attribute("aria-valuenow") == "1"
    assert chosen.evaluate("player.shown") == 15, "the key moved the timeline"
    chosen.keyboard.press("ArrowRight")
    until(chosen, AT_REST)
    assert len(chosen.evaluate(LIT)) == 2
    chosen.evaluate("document.activeElement.blur()")
    until(chosen, AT_REST)
    assert chosen.evaluate(LIT) == region_at(chosen, 15)


def test_lost_reply_is_requested_again(finished: Any, until: Any) -> None:
    finished.evaluate(f"player.select({{kind: 'node', i: {NODE}}})")
    until(finished, f"{OF_NODES}.length === 1")
    assert "Growing" in finished.inner_text(".gv-region")
    finished.evaluate(REPLY)
    until(finished, "document.querySelector('.gv-region').innerText.includes('at step 0 ')")
    assert finished.evaluate(f"{OF_NODES}.length") == 2


def test_reason_for_end_of_growth_is_shown(finished: Any, until: Any) -> None:
    finished.evaluate(
        "server.reply = () => ({t: 0, labels: [], partners: [], region: {error: 'No <b>such</b>'}})"
    )
    finished.evaluate(f"player.select({{kind: 'node', i: {NODE}}})")
    until(finished, "document.querySelector('.gv-region').innerText.includes('No <b>such</b>')")
    assert finished.evaluate(LIT) == []


def test_region_is_not_offered_without_server(finished: Any, until: Any) -> None:
    finished.evaluate(
        f"player.callbacks.ask = undefined, player.select({{kind: 'node', i: {NODE}}})"
    )
    assert "degree" in finished.inner_text(".gv-inspector")
    assert not finished.is_visible(".gv-region")
    until(finished, AT_REST)
    assert finished.evaluate(LIT) == []


def test_region_disappears_with_the_selection(chosen: Any, until: Any) -> None:
    chosen.keyboard.press("Escape")
    until(chosen, AT_REST)
    assert chosen.evaluate(LIT) == []
    assert not chosen.is_visible(".gv-region")
    chosen.evaluate("player.selectPair(0, 5)")
    assert not chosen.is_visible(".gv-region")
