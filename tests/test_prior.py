"""Required edges are in every model, forbidden ones in none, and all others follow the data."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import graftviz as gv
from graftviz.errors import InputError
from graftviz.learners.base import Learner
from graftviz.learners.prior import PriorOptions, pairs_text, parsed_pairs
from graftviz.learners.registry import learner_class, learner_names
from graftviz.narrative import step_words, why_edge, why_not
from graftviz.texts import LANGUAGES
from tests.learner_cases import scale_free_table

NAMES = tuple("abcde")
WITH_PRIOR = [name for name in learner_names() if issubclass(learner_class(name), PriorOptions)]
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in WITH_PRIOR},
    **{f"{name}-sample": (name, {"screening": "sample"}) for name in WITH_PRIOR},
    **{f"{name}-paper": (name, {"preset": "paper"}) for name in WITH_PRIOR if name != "chow-liu"},
    "best-choice-full": ("best-choice", {"preset": "paper", "full_queue": True}),
}


def made(case: str, **prior: Any) -> Learner:
    name, options = CASES[case]
    return learner_class(name)(**options, **prior)


def ended(run: gv.Run) -> gv.Run:
    while run.advance():
        pass
    return run


def edges(result: gv.Result) -> set[tuple[int, int]]:
    return set(map(tuple, result.model.edges.tolist()))


@pytest.mark.parametrize("case", CASES)
def test_required_edges_are_in_the_model_and_forbidden_ones_are_not(case: str) -> None:
    table = scale_free_table(12, 3, 800)
    free = gv.learn(table, made(case))
    found = edges(free)
    graph = nx.Graph(list(found))
    weak = [pair for pair in nx.non_edges(graph) if not set(pair) & {0, 1}][:2]
    required = {(min(pair), max(pair)) for pair in weak}
    forbidden = set(sorted(found)[:3])
    learner = made(case, required=sorted(required), forbidden=sorted(forbidden))
    run = ended(gv.Run(table, learner))
    result = run.result()
    assert required <= edges(result)
    assert not forbidden & edges(result)
    first = run.steps[0]
    assert first.required
    assert first.tests in (0, 1)
    assert {edge[:2] for step in run.steps if step.required for edge in step.activated} == required
    tested = {tuple(pair) for step in run.steps for pair in step.tested.edges.tolist()}
    assert not tested & (required | forbidden)
    certificate = result.certificate
    if case in ("best-choice", "edge-grafting"):
        assert certificate.possible == 66 - len(forbidden) - len(result.model.edges)
        assert certificate.scored == certificate.possible


@pytest.mark.parametrize(
    "case", [case for case, (_, options) in CASES.items() if "preset" not in options]
)
def test_required_edges_that_would_be_found_change_the_order_only(case: str) -> None:
    table = scale_free_table(12, 3, 800)
    free = gv.learn(table, made(case))
    required = sorted(edges(free))[:4]
    assert edges(gv.learn(table, made(case, required=required))) == edges(free)


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_name_what_is_required_and_forbidden(language: str) -> None:
    learner = gv.BestChoice(required="#0 -- #7", forbidden="#1 -- #2")
    run = ended(gv.Run(scale_free_table(8, 3, 500), learner))
    name = {"en": "required", "de": "vorgeschrieben", "es": "obligatoria"}[language]
    assert name in step_words(run.steps[0], run.learner, run.table.names, language)
    assert name in why_edge(run, 0, 7, 1, language)["words"]
    assert "tested" in step_words(run.steps[1], run.learner, run.table.names) or language != "en"
    absent = {"en": "forbidden", "de": "ausgeschlossen", "es": "prohíben"}[language]
    assert absent in why_not(run, 1, 2, len(run.steps), language)["words"]


@pytest.mark.parametrize(
    ("given", "text", "pairs"),
    [
        ("a -- b;  ;c--d", "a -- b; c--d", [(0, 1), (2, 3)]),
        ([("b", "a"), (2, np.int64(4))], "b -- a; #2 -- #4", [(0, 1), (2, 4)]),
        ([(["a", "b"], ["c", "d"])], "a, b -- c, d", [(0, 2), (0, 3), (1, 2), (1, 3)]),
        ([{"a", "c", "e"}], "a, c, e", [(0, 2), (0, 4), (2, 4)]),
        (np.array([[3, 1]]), "#3 -- #1", [(1, 3)]),
        ("", "", []),
    ],
)
def test_pairs_and_groups_are_written_and_read(given: Any, text: str, pairs: list[Any]) -> None:
    assert pairs_text(given) == text
    assert parsed_pairs(text, NAMES).tolist() == [list(pair) for pair in pairs]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"required": "a -- x"}, "There is no variable 'x'"),
        ({"required": "alpha -- b"}, "There is no variable 'alpha'"),
        ({"required": "a"}, "'a' is no pair of different variables"),
        ({"forbidden": "a -- a"}, "is no pair of different variables"),
        ({"forbidden": "a -- b -- c"}, "is no pair of different variables"),
        ({"forbidden": "#9 -- a"}, "There is no variable '#9'"),
        ({"forbidden": 7}, "Pairs of variables are a list such as"),
        ({"forbidden": [("a;b", "c")]}, "use the index of the variable"),
        ({"required": "a -- b", "forbidden": "b -- a, c"}, "a – b is both required and forbidden"),
        (
            {"required": "a, b, c", "max_edges": 2},
            "3 edges are required, more than the edge budget",
        ),
    ],
)
def test_other_pairs_are_refused_in_one_sentence(options: dict[str, Any], sentence: str) -> None:
    table = gv.DiscreteTable.from_codes(np.eye(5, dtype=int), NAMES)
    with pytest.raises(InputError, match=sentence):
        gv.learn(table, gv.BestChoice(**options))


def test_a_tree_refuses_required_edges_in_a_cycle() -> None:
    table = gv.DiscreteTable.from_codes(np.eye(5, dtype=int), NAMES)
    with pytest.raises(InputError, match="cycle"):
        gv.learn(table, gv.ChowLiu(required="a, b, c"))
