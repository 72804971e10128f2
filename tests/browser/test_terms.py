"""Terms of the glossary in the sentence of a step of a replay page."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from sample_records import sample_run

from graftviz.reports.files.run_folder import replay_page
from graftviz.reports.words.lessons import GLOSSARY

pytestmark = pytest.mark.browser

TERM, NOTE = ".gv-term", ".gv-term-note"
TELLING = "Tested 3 edges at hubs; with α = 1 the reservoir, the λ₂ and a reservoir: violating."


@pytest.fixture
def run_output() -> Any:
    header, records, outcome = copy.deepcopy(sample_run(9, max_steps=6))
    records[0]["words"] = TELLING
    return header, records, outcome


@pytest.fixture
def replayed(browser_page: Any, show_html: Any, until: Any) -> Any:
    def show(run_output: Any) -> Any:
        show_html(browser_page, replay_page(*run_output))
        until(browser_page, "globalThis.replay !== undefined && replay.log.finished")
        browser_page.evaluate("replay.seek(1)")
        until(browser_page, "document.querySelector('.gv-words h3').textContent === 'Step 1'")
        return browser_page

    return show


def test_first_occurrence_of_term_opens_its_meaning(replayed: Any, run_output: Any) -> None:
    page = replayed(run_output)
    assert page.inner_text(".gv-sentence") == TELLING
    terms = page.locator(".gv-sentence .gv-term").all_inner_texts()
    assert terms == ["hubs", "α", "reservoir", "λ₂", "violating"]
    page.get_by_role("button", name="reservoir", exact=True).click()
    (meaning,) = [term.meaning for term in GLOSSARY if term.key == "reservoir"]
    assert meaning in page.inner_text(NOTE)
    page.get_by_role("button", name="hubs", exact=True).click()
    assert meaning not in page.inner_text(NOTE)
    assert page.locator(f"{TERM}[aria-expanded=true]").all_inner_texts() == ["hubs"]
    page.click(".gv-words h3")
    assert not page.is_visible(NOTE)


def test_keys_open_and_close_term_and_pause_run(replayed: Any, run_output: Any, until: Any) -> None:
    page = replayed(run_output)
    page.evaluate("() => { replay.setSpeed(0.5); replay.toggle(); }")
    page.locator(TERM).first.press("Enter")
    assert page.is_visible(NOTE)
    assert not page.evaluate("replay.playing")
    page.keyboard.press("Escape")
    assert not page.is_visible(NOTE)
    assert page.evaluate("document.activeElement.className") == "gv-term"
    page.keyboard.press("Enter")
    assert page.is_visible(NOTE)
    # The run may be paused at any step.
    other = page.evaluate("replay.shown") % 3 + 1
    page.evaluate(f"replay.seek({other})")
    until(page, f"document.querySelector('.gv-words h3').textContent === 'Step {other}'")
    assert not page.is_visible(NOTE)


def test_names_and_labels_are_not_linked_as_terms(replayed: Any, run_output: Any) -> None:
    header, records, outcome = run_output
    header["names"][0] = "the reservoir of Aswan"
    header["names"][1] = "<b>α</b>"
    header["labels"][2][0] = "hubs"
    records[0]["words"] = (
        "the reservoir of Aswan – <b>α</b> = hubs; score 1, the reservoir holds 2."
    )
    page = replayed((header, records, outcome))
    assert page.inner_text(".gv-sentence") == records[0]["words"]
    assert page.locator(".gv-sentence b").count() == 0
    links = page.locator(".gv-sentence .gv-term")
    assert links.all_inner_texts() == ["score", "reservoir"]
    assert links.nth(1).evaluate("node => node.nextSibling.textContent") == " holds 2."
