"""A link to any page, of which a part cannot be used: a sentence for each such part, and a page."""

from __future__ import annotations

import pytest
from app_pages import open_page, query_of, sentences

# Page, its address, words of each sentence, and the address that is left.
BAD_LINKS: tuple[tuple[str, dict[str, str], tuple[str, ...], dict[str, str]], ...] = (
    (
        "",
        {"data": "<b>[x](y)", "learner": "nobody", "alpha": "7", "seed": "x", "colour": "red"},
        (
            "data must be one of scale-free-60",
            "seed must be a whole number",
            "learner must be one of best-choice",
            "alpha must be at least 0",
            "Unknown setting 'colour'",
        ),
        {},
    ),
    (
        "",
        {"branch": "soon", "preset": "other", "compare": "worst"},
        (
            "A branch is written as step:option=value",
            "A run can be compared with best",
            "preset must be",
        ),
        {},
    ),
    ("", {"data": "upload", "fingerprint": "?"}, ("is not a fingerprint",), {"data": "upload"}),
    (
        "budget",
        {"data": "nothing", "bound": "99", "complexity": "beauty", "lam2": "-1", "colour": "red"},
        ("data must be", "complexity must be", "lam2 must be", "'colour'", "number from 1 to 8"),
        {},
    ),
    (
        "dynamics",
        {"rows": "150", "learner": "magic", "size": "3", "data": "nothing", "colour": "red"},
        ("data must be", "size must be", "learner must be", "'colour'"),
        {"rows": "150"},
    ),
    (
        "prune",
        {"exchanges": "1", "data": "mars", "heuristic": "guess", "beta": "-3", "branch": "2:a=1"},
        ("data must be", "heuristic must be", "beta must be", "'branch'"),
        {"exchanges": "1"},
    ),
    (
        "race",
        {"data": "karate", "r1": "nobody", "r2": "first-hit:lam=minus", "axis": "miles", "x": "1"},
        ("'nobody'; ignored", "r2: Option lam must be", "axis must be", "'x'"),
        {"data": "karate", "r1": "first-hit"},
    ),
    (
        "regions",
        {"side": "1", "t1": "-1", "t2": "inf", "cut": "knife", "query": "9" * 20, "state": "many"},
        ("side must", "t2 must", "t1 must", "cut must", "state must", "No variable 99999"),
        {},
    ),
    (
        "reservoir",
        {"n": "0", "largest": "1e9", "alpha": "inf", "logarithmic": "2", "step": "' or 1"},
        ("alpha must", "n must", "largest must", "logarithmic must", "step must"),
        {},
    ),
)


@pytest.mark.parametrize(("page", "query", "words", "left"), BAD_LINKS)
def test_what_cannot_be_used_costs_a_sentence_each_and_the_page_is_shown(
    page: str, query: dict[str, str], words: tuple[str, ...], left: dict[str, str]
) -> None:
    app = open_page(page, **query)
    said = sentences(app)
    assert [word for word in words if word not in said] == []
    assert len(app.warning) == 1
    assert len(app.warning[0].value.split("\n\n")) == len(words)
    assert "](" not in app.warning[0].value.replace("\\", "\0"), "shown as text"
    assert not app.error
    assert query_of(app) == left
    assert app.get("bidi_component") or app.get("plotly_chart") or left == {"data": "upload"}
