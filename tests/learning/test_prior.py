"""Required edges are in every model and forbidden edges in none."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import graftviz as gv
from graftviz.__main__ import main
from graftviz.learning.base import Learner
from graftviz.learning.prior import PriorOptions, pairs_text, parsed_pairs
from graftviz.learning.registry import learner_class, learner_names
from graftviz.reports.words.answers import why_edge, why_not
from graftviz.reports.words.steps import step_words
from graftviz.utils.errors import InputError
from graftviz.utils.options import option_specs
from tests.learner_cases import scale_free_table

NAMES = tuple("abcde")
WITH_PRIOR = [name for name in learner_names() if issubclass(learner_class(name), PriorOptions)]
BOUNDS = {"circuit-size": None, "bp-sweeps": 15}  # that leave pairs out


def having(option: str) -> list[str]:
    """Return the names of learners with an option."""
    return [
        name
        for name in WITH_PRIOR
        if option in {spec.name for spec in option_specs(learner_class(name))}
    ]


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in WITH_PRIOR},
    **{f"{name}-sample": (name, {"screening": "sample"}) for name in having("screening")},
    **{f"{name}-paper": (name, {"preset": "paper"}) for name in having("preset")},
    "best-choice-full": ("best-choice", {"preset": "paper", "full_queue": True}),
    "nodewise-l1-and": ("nodewise-l1", {"rule": "and"}),
    **{
        f"bounded-inference-{name}": ("bounded-inference", {"complexity": name, "bound": bound})
        for name, bound in BOUNDS.items()
    },
    "forced-pruning-random": (
        "forced-pruning",
        {"heuristic": "rejection", "restarts": 1, "exchanges": 8},
    ),
    "forced-pruning-mcmc": (
        "forced-pruning",
        {"heuristic": "mcmc", "sample_additions": True, "exchanges": 8},
    ),
}
# A bound, or the exchanges that it allows, depend on the order of the edges.
BY_ORDER = ("bounded-inference-", "forced-pruning")


EVERY_PAIR = (
    *("best-choice", "edge-grafting", "nodewise-l1", "nodewise-l1-and"),
    *(case for case in CASES if case.startswith("bounded-inference")),
)


def learner_of(case: str, **prior: Any) -> Learner:
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
    free = gv.learn(table, learner_of(case))
    found = edges(free)
    graph = nx.Graph(list(found))
    weak = [pair for pair in nx.non_edges(graph) if not set(pair) & {0, 1}][:2]
    required = {(min(pair), max(pair)) for pair in weak}
    forbidden = set(sorted(found)[:3])
    learner = learner_of(case, required=sorted(required), forbidden=sorted(forbidden))
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
    for step in run.steps:
        assert step.required or required <= set(map(tuple, step.model().edges.tolist()))
        assert not forbidden & {edge[:2] for edge in step.activated}
    certificate = result.certificate
    if case in EVERY_PAIR:
        assert certificate.possible == 66 - len(forbidden) - len(result.model.edges)
        assert certificate.scored == certificate.possible
    assert certificate.worst_edge not in required | forbidden
    last = len(run.steps)
    assert "required" in step_words(first, run.learner, table.names)
    assert all(step_words(step, run.learner, table.names) for step in run.steps)
    assert why_edge(run, *min(required), last)["words"]
    assert "forbidden" in why_not(run, *min(forbidden), last)["words"]


@pytest.mark.parametrize(
    "case",
    [
        case
        for case, (_, options) in CASES.items()
        if "preset" not in options and not case.startswith(BY_ORDER)
    ],
)
def test_required_edges_of_the_free_run_change_only_the_order(case: str) -> None:
    table = scale_free_table(12, 3, 800)
    free = gv.learn(table, learner_of(case))
    required = sorted(edges(free))[:4]
    assert edges(gv.learn(table, learner_of(case, required=required))) == edges(free)


def test_sentences_name_required_and_forbidden_edges() -> None:
    learner = gv.BestChoice(required="#0 -- #7", forbidden="#1 -- #2")
    run = ended(gv.Run(scale_free_table(8, 3, 500), learner))
    assert "required" in step_words(run.steps[0], run.learner, run.table.names)
    assert "required" in why_edge(run, 0, 7, 1)["words"]
    assert "tested" in step_words(run.steps[1], run.learner, run.table.names)
    assert "forbidden" in why_not(run, 1, 2, len(run.steps))["words"]


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
def test_invalid_pairs_are_refused_in_one_sentence(options: dict[str, Any], sentence: str) -> None:
    table = gv.DiscreteTable.from_codes(np.eye(5, dtype=int), NAMES)
    with pytest.raises(InputError, match=sentence):
        gv.learn(table, gv.BestChoice(**options))


def test_required_cycle_is_refused_for_tree() -> None:
    table = gv.DiscreteTable.from_codes(np.eye(5, dtype=int), NAMES)
    with pytest.raises(InputError, match="cycle"):
        gv.learn(table, gv.ChowLiu(required="a, b, c"))


def test_a_bound_below_the_required_edges_is_refused() -> None:
    table = scale_free_table(6, 3, 300)
    learner = gv.BoundedInference(bound=1, required=[{0, 1, 2}])
    with pytest.raises(InputError, match=r"with the required edges exceeds the bound τ = 1, at"):
        gv.learn(table, learner)
    assert gv.learn(table, gv.BoundedInference(bound=2, required=[{0, 1, 2}])).model.n_edges > 3


def test_a_budget_of_features_below_the_required_ones_is_refused() -> None:
    table = scale_free_table(6, 3, 300)
    with pytest.raises(InputError, match="The required edges have 9 features, more than"):
        gv.learn(table, gv.FeatureGrafting(max_features=8, required="#0 -- #1"))
    found = gv.learn(table, gv.FeatureGrafting(max_features=9, required="#0 -- #1"))
    assert found.model.edges.tolist() == [[0, 1]]


def test_forced_pruning_refuses_a_required_edge_of_a_constant() -> None:
    codes = np.array([[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
    table = gv.DiscreteTable.from_codes(codes.T, tuple("abc"), [2, 2, 2])
    with pytest.raises(InputError, match="a – c has a variable that is constant"):
        gv.learn(table, gv.ForcedPruning(required="a -- c"))


@pytest.mark.parametrize("name", WITH_PRIOR)
def test_learner_for_warm_up_has_no_prior_edges(name: str) -> None:
    learner = learner_class(name)(required="a -- b", forbidden="c -- d").for_warm_up()
    assert isinstance(learner, PriorOptions)
    assert (learner.required, learner.forbidden) == (None, None)


def test_command_accepts_pairs(tmp_path):
    pairs = ("--set", "required=home -- pet", "--set", "forbidden=home -- garden")
    command = ["learn", "survey", "--learner", "chow-liu", "--out", str(tmp_path), *pairs]
    assert main(command) == 0
    model = gv.read_result(tmp_path).model
    names = [{model.names[i], model.names[j]} for i, j in model.edges.tolist()]
    assert {"home", "pet"} in names
    assert {"home", "garden"} not in names
