"""Links with unusable parts: each page opens, with one sentence for each such part."""

from __future__ import annotations

import pytest
from app_pages import QUICK, open_page, query_of, sentences
from waiting import wait_until


@pytest.mark.parametrize("page", QUICK)
def test_page_opens_with_one_sentence_for_each_unusable_parameter(page: str) -> None:
    app = open_page(page, **QUICK[page], seed="x", huh="<b>[x](y)")
    text = sentences(app)
    assert "seed" in text
    assert "'huh'" in text
    assert len(app.warning) == 1
    assert len(app.warning[0].value.split("\n\n")) == 2
    assert "](" not in app.warning[0].value.replace("\\", "\0"), "shown as text"
    assert not app.error
    assert query_of(app) == QUICK[page]
    assert app.get("bidi_component") or app.get("plotly_chart") or page == "lessons"


# Page, its address, words of each sentence, and the remaining address. The values are valid, but
# refer to something that the model or run of the address does not have.
ABSENT: tuple[tuple[str, dict[str, str], tuple[str, ...], dict[str, str]], ...] = (
    (
        "",
        {"data": "survey", "learner": "chow-liu", "step": "99"},
        ("No step 99: the run has 10 steps",),
        {"data": "survey", "learner": "chow-liu", "step": "10"},
    ),
    (
        "",
        {"data": "survey", "alpha": "1", "max_edges": "3", "branch": "99:lam=0.01", "step": "98"},
        ("No step 98", "No step 99 to branch from"),
        {"data": "survey", "alpha": "1", "max_edges": "3", "step": "3"},
    ),
    (
        "race",
        {"data": "survey", "r1": "chow-liu", "at": "5000"},
        ("No position 5,000: the race has",),
        {"data": "survey", "r1": "chow-liu", "at": "end"},
    ),
    (
        "prune",
        {"exchanges": "1", "step": "77"},
        ("No step 77: the run has 2 steps",),
        {"exchanges": "1", "step": "2"},
    ),
    (
        "budget",
        {"data": "survey", "bound": "1", "step": "99"},
        ("No step 99: the run has",),
        {"data": "survey", "bound": "1"},
    ),
    (
        "regions",
        {"side": "3", "size": "4", "query": "9", "state": "5", "step": "4"},
        ("No variable 9", "No state 5", "No step 4: the region has"),
        {"side": "3", "size": "4"},
    ),
    (
        "reservoir",
        {"n": "30", "trials": "1", "data": "karate", "step": "99999"},
        ("No step 99,999: the run has",),
        {"n": "30", "trials": "1", "data": "karate"},
    ),
    (
        "dynamics",
        {"size": "8", "rows": "60", "node": "8", "step": "9", "parents": "51"},
        ("at most 50; got 51", "No series 8", "No step 9: the run has 8 steps"),
        {"size": "8", "rows": "60", "step": "8"},
    ),
    (
        "inspect",
        {"data": "survey", "learner": "chow-liu", "node": "99", "evidence": "1:7", "step": "99"},
        ("no node 99", "no variable 1 with a state 7", "No step 99: the run has 10 steps"),
        {"data": "survey", "learner": "chow-liu"},
    ),
)


@pytest.mark.parametrize(("page", "query", "words", "left"), ABSENT)
def test_reference_to_missing_part_of_model_or_run_is_named(
    page: str, query: dict[str, str], words: tuple[str, ...], left: dict[str, str]
) -> None:
    app = open_page(page, **query)
    wait_until(
        lambda: all(word in sentences(app) for word in words),
        60.0,
        pause=app.run,
        state=lambda: sentences(app),
    )
    assert not app.error
    assert sum(len(warning.value.split("\n\n")) for warning in app.warning) == len(words)
    address = query_of(app)
    assert {name: text for name, text in address.items() if name in left} == left
    assert set(address) - set(left) <= {"step"}, "the last step is not fixed"
