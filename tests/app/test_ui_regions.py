"""Regions page: state, link, records, and their sentences."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from graftviz import (
    InputError,
    PairwiseMRF,
    dobrushin_coefficient,
    grow_region,
    infer,
    influence_matrix,
    local_marginal,
)
from graftviz.app import regions_records
from graftviz.app.material import UPLOAD
from graftviz.app.models import ShownModel, grid_model, uploaded_model
from graftviz.app.regions import GRID, RUN, RegionOptions, RegionState, question_of
from graftviz.app.regions_records import (
    AnsweredStep,
    Grown,
    RegionQuery,
    Whole,
    answering,
    bounds_of,
    curve_record,
    graph_record,
    growing,
    step_records,
)
from graftviz.app.runs import to_json
from graftviz.data.synthetic.graphs import grid_graph, ising_grid
from graftviz.data.synthetic.potentials import random_model
from graftviz.inference.local.influence import influence_of
from graftviz.inference.local.local_model import region_marginal
from graftviz.inference.local.marginal import promising_query
from graftviz.reports.files.uploads import read_uploaded_model
from graftviz.reports.words.regions import bound_text, headline, joining_words


def uploaded(files: dict[str, bytes]) -> ShownModel:
    found = read_uploaded_model(files)
    return uploaded_model(found.model, found.notes)


def opened(**query: str) -> RegionState:
    state = RegionState()
    state.follow(query)
    state.refresh()
    return state


def test_a_query_is_set_by_name_or_number() -> None:
    state = opened(side="4")
    state.set_query("r2c3")
    assert (state.query, state.options.step) == (11, None)
    state.set_query(" 5 ")
    assert state.query == 5
    for bad in ("r9c9", "16", "-1", "", "5.5", "99999999999999999999"):
        state.set_query(bad)
        assert state.query == 5
        assert len(state.complaints) == 1
    state.set_query("0")
    assert (state.query, state.complaints) == (0, ())


def test_another_query_starts_at_its_first_step() -> None:
    state = opened(step="3", state="0")
    state.choose("t2", 0.5)
    assert state.options.step == 3
    state.choose("query", 7)
    assert (state.options.step, state.options.state) == (None, None)
    state.choose("data", UPLOAD)
    assert state.options.query is None


def test_refused_model_leaves_shown_model_unchanged() -> None:
    state = opened(side="4")
    shown = state.shown
    state.choose("data", RUN)
    state.refresh()
    assert state.shown is shown
    assert "no run yet" in state.problem
    state.choose("data", GRID)
    state.refresh()
    assert state.problem == ""


def test_link_has_fingerprint_of_uploaded_model() -> None:
    state = opened(data=UPLOAD)
    assert state.shown is None
    text = b"MARKOV\n3\n2 3 2\n2\n2 0 1\n2 1 2\n6\n1 2 3 4 5 6\n6\n1 2 3 4 5 6\n"
    state.accept(uploaded({"small.uai": text}))
    state.refresh()
    shown = state.shown
    assert shown.model.n_variables == 3
    assert state.link() == {"data": UPLOAD, "fingerprint": state.options.fingerprint}
    assert len(state.options.fingerprint) == 16


def test_refusal_of_large_model_names_the_command_line() -> None:
    chain = np.stack([np.arange(3999), np.arange(1, 4000)], axis=1)
    model = grid_model(2, 1.0, 1.0, 0).model
    large = type(model)(np.full(4000, 1), chain, np.zeros(4000 + 3999))
    with pytest.raises(InputError, match="graftviz local"):
        uploaded_model(large)


def test_picture_depends_on_seed_and_not_on_strengths() -> None:
    one, other = grid_model(5, 0.2, 0.3, 1), grid_model(5, 0.9, 0.1, 1)
    assert one.picture == other.picture
    assert one.identity != other.identity
    relative = [m.model.edge_norms() / m.model.edge_norms().max() for m in (one, other)]
    np.testing.assert_allclose(*relative)
    assert grid_model(5, 0.2, 0.3, 2).picture != one.picture
    assert one.usual_query == 12


def test_default_query_is_in_weakly_coupled_part() -> None:
    # A chain of strong edges, 0 – 1 – 2, and a chain of weak edges, 3 – 4 – 5.
    tables = {(0, 1): 3.0, (1, 2): 3.0, (3, 4): 0.2, (4, 5): 0.2}
    edges = {pair: np.array([[w, -w], [-w, w]]) for pair, w in tables.items()}
    model = PairwiseMRF.from_tables([np.zeros(2)] * 6, edges)
    assert promising_query(model) == 4
    assert promising_query(PairwiseMRF.from_tables([np.zeros(2)] * 3, {})) == 0


def answered(model: object, query: int, **options: object) -> list[AnsweredStep]:
    steps = list(grow_region(model, query, **options))
    return [AnsweredStep(s, region_marginal(model, s.nodes, query), True) for s in steps]


@given(st.floats(min_value=1e-300, max_value=1.0))
def test_written_bound_is_never_below_the_bound(bound: float) -> None:
    written = float(bound_text(bound))
    assert bound * (1.0 - 1e-8) <= written <= min(1.0, 1.11 * bound)


def test_headlines_differ_and_only_certified_ones_say_certified() -> None:
    cases = {
        "certified": headline(0.0098, 9, 400),
        "vacuous": headline(None, 9, 400),
        "useless": headline(0.99, 9, 400, is_useless=True),
        "too wide": headline(None, 9, 400, is_exact=False),
        "complete": headline(0.0, 400, 400),
    }
    assert cases["certified"] == "Certified to ±0.0098 with 9 of 400 nodes"
    assert len(set(cases.values())) == len(cases)
    assert [name for name, text in cases.items() if text.startswith("Certified")] == ["certified"]
    assert all("±1" not in text for text in cases.values())


@pytest.mark.parametrize(
    ("bounds", "expansion", "words"),
    [
        ([0.2, 0.1, None], "greedy", "smallest bound among 3 candidates (0.1; runner-up 0.2)"),
        ([None, 0.1, None], "greedy", "the only one with a bound below 1"),
        ([0.1, 0.2, None], "greedy", "b has the most influence on the query"),
        ([0.1, None, None], "greedy", "b has the most influence on the query"),
        ([None, None, None], "greedy", "stays vacuous with each of the 3 candidates"),
        ([None, None, None], "random", "drawn at random from 3 candidates"),
        ([None, None, None], "norm", "strongest edge into the region among 3 candidates"),
    ],
)
def test_sentence_states_why_a_node_joined(
    bounds: list[float | None], expansion: str, words: str
) -> None:
    sentence = joining_words(["a", "b", "c"], 1, [0, 1, 2], bounds, expansion=expansion)
    assert sentence.startswith("Added b")
    assert words in sentence


def test_records_of_region_equal_its_steps() -> None:
    model = ising_grid(5, 5, field=0.5, coupling=0.6, seed=3)
    steps = answered(model, 12, tolerance=1e-4, max_size=7)
    records = json.loads(to_json(step_records(model, steps, expansion="greedy")))
    assert [record["added"] for record in records] == [step.step.added for step in steps]
    assert records[0]["added"] == 12
    for record, step, before in zip(records, steps, [None, *steps], strict=False):
        assert record["bound"] == pytest.approx(step.step.bound, rel=1e-6)
        assert record["candidates"] == step.step.candidates.tolist()
        assert len(record["bounds"]) == len(record["candidates"])
        assert set(record["boundary"]) <= set(step.step.nodes.tolist())
        assert np.sum(record["marginal"]) == pytest.approx(1.0)
        if before is not None:
            assert record["added"] in before.step.candidates
            assert model.names[record["added"]] in record["words"]


def with_bounds(*bounds: float) -> list[AnsweredStep]:
    """Return the steps of a region with the given bounds."""
    steps = answered(ising_grid(5, 5, field=0.5, coupling=0.2, seed=3), 12, max_size=len(bounds))
    return [
        one._replace(step=replace(one.step, bound=bound, is_vacuous=bound >= 1.0))
        for one, bound in zip(steps, bounds, strict=True)
    ]


def test_the_headline_gives_the_smallest_bound_so_far() -> None:
    model = ising_grid(5, 5, field=0.5, coupling=0.2, seed=3)
    steps = with_bounds(0.2, 0.3, 1.0, 0.1)
    assert not any(step.is_useless for step in steps)
    records = step_records(model, steps, expansion="greedy")
    assert [record["best"] for record in records] == [0, 0, 0, 3]
    assert [record["head"] for record in records] == [
        *["Certified to ±0.2 with 1 of 25 nodes"] * 3,
        "Certified to ±0.1 with 4 of 25 nodes",
    ]
    assert records[1]["bound"] == pytest.approx(0.3)
    assert records[1]["sub"].endswith("With the 2 nodes shown the bound is 0.3.")
    assert records[2]["sub"].endswith("With the 3 nodes shown the bound is vacuous.")
    assert "shown" not in records[3]["sub"]


def test_bound_written_as_1_is_not_certified() -> None:
    model = ising_grid(5, 5, field=0.5, coupling=0.2, seed=3)
    (record,) = step_records(model, with_bounds(0.9999), expansion="greedy")
    assert record["head"].startswith("Not certified with 1 of 25 nodes")
    assert not record["certified"]


def test_vacuous_bounds_are_null_and_not_certified() -> None:
    model = random_model(grid_graph(3, 3).edges, [3] * 9, edge_sigma=20.0, seed=2)
    steps = answered(model, 4, max_size=4)
    assert any(step.step.is_vacuous for step in steps)
    for record, step in zip(step_records(model, steps, expansion="greedy"), steps, strict=True):
        assert (record["bound"] is None) == step.step.is_vacuous
        assert record["certified"] is (record["bound"] is not None and not step.is_useless)
        assert all(b is None or b < 1.0 for b in record["bounds"])
    assert bounds_of(np.array([0.3, 1.0, np.nan, np.inf])) == [0.3, None, None, None]


@pytest.mark.parametrize(
    ("marginal", "bound", "useless"),
    [
        ([0.5, 0.5], 0.49, False),
        ([0.5, 0.5], 0.5, True),
        ([0.9, 0.1], 0.89, False),
        ([1, 0], 0.99, False),
        ([1, 0], 0.9951, True),  # written as ±1
    ],
)
def test_a_bound_is_useless_when_it_excludes_no_probability(
    marginal: list[float], bound: float, useless: bool
) -> None:
    first = next(iter(grow_region(ising_grid(2, 2, field=0.1, coupling=0.1), 0)))
    step = replace(first, bound=bound, is_vacuous=False)
    assert AnsweredStep(step, np.array(marginal), True).is_useless is useless
    assert AnsweredStep(step, np.array(marginal), False).bound is None


def test_errors_are_the_largest_over_the_states_and_within_the_bounds() -> None:
    model = random_model(grid_graph(3, 3).edges, [2, 3] * 4 + [2], edge_sigma=0.3, seed=2)
    steps = answered(model, 3, tolerance=0.0, max_size=9)
    truth = infer(model, "exact").node[3]
    curve = curve_record("k", "name", 0, steps, truth, chosen=True)
    for error, step in zip(curve["errors"], steps, strict=True):
        assert error == pytest.approx(np.abs(step.marginal - truth).max(), rel=1e-6, abs=1e-12)
        assert error <= step.step.bound + 1e-12
    assert curve["errors"][-1] == pytest.approx(0.0, abs=1e-12)
    assert curve_record("k", "name", 0, steps, None, chosen=False)["errors"] is None


def test_a_graph_with_zero_potentials_is_plain_json() -> None:
    model = random_model(grid_graph(2, 2).edges, [2] * 4, seed=0)
    weights = model.weights.copy()
    weights[-1] = -np.inf
    blocked = type(model)(model.cardinalities, model.edges, weights)
    record = json.loads(
        to_json(graph_record(blocked, np.zeros((4, 2)), "key", has_natural_positions=True))
    )
    assert len(record["norms"]) == len(record["edges"]) == 4
    assert record["positions"] == [[0, 0]] * 4


# The Regions page: same results as the engine, and refused models.


def grown(model: PairwiseMRF, question: RegionQuery) -> Grown:
    return deque(growing(model, question), maxlen=1)[0]


def whole_of(model: PairwiseMRF) -> Whole:
    return deque(answering(model), maxlen=1)[0]


def test_page_uses_growth_and_bound_of_the_paper() -> None:
    options = RegionOptions(growth="algorithm-1", bound="corollary-2", tolerance=1e-6, size=30)
    model = grid_model(8, 1.0, 0.6, 0).model
    found = grown(model, question_of(options, 27))
    forms = {"growth": "algorithm-1", "bound": "corollary-2"}
    steps = list(grow_region(model, 27, tolerance=1e-6, max_size=30, **forms))
    assert [s.step.bound for s in found.steps] == [s.bound for s in steps]
    assert "Algorithm 1 stops" in found.stop_reason


@pytest.mark.parametrize("cut", ["drop", "mean-field"])
@pytest.mark.parametrize("expansion", ["greedy", "random", "norm"])
def test_a_region_on_the_page_is_the_one_of_the_engine(expansion: str, cut: str) -> None:
    model = random_model(grid_graph(4, 4).edges, [2, 3] * 8, edge_sigma=0.3, seed=4)
    found = grown(model, RegionQuery(5, expansion, cut, 1e-3, 7, 2))
    wanted = local_marginal(
        model, 5, tolerance=1e-3, max_size=7, cut=cut, expansion=expansion, seed=2
    )
    on_the_way = found.steps[: len(wanted.history)]
    assert [s.step.added for s in on_the_way] == [s.added for s in wanted.history]
    assert min(s.step.bound for s in found.steps) == wanted.bound
    of_answer = found.steps[len(wanted.nodes) - 1]
    np.testing.assert_allclose(of_answer.marginal, wanted.marginal, atol=1e-12)
    assert of_answer.step.bound == wanted.bound
    assert found.stop_reason
    assert wanted.stop_reason.startswith(found.stop_reason)
    assert found.seconds > 0


def test_a_region_too_wide_for_exact_inference_is_not_certified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(regions_records, "MOST_REGION_BYTES", 1)
    model = grid_model(4, 0.5, 0.3, 0).model
    found = grown(model, RegionQuery(5, "greedy", "drop", 1e-4, 4, 0))
    assert not found.steps[-1].is_exact
    assert found.steps[-1].bound is None
    assert found.steps[-1].marginal.sum() == pytest.approx(1.0)


def test_exact_answer_of_whole_graph_if_affordable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = grid_model(5, 0.5, 0.5, 0).model
    found = whole_of(model)
    assert found.exact is not None
    for mine, theirs in zip(found.exact, infer(model, "exact").node, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)
    assert found.why == ""
    monkeypatch.setattr(regions_records, "MOST_ENTRIES", 10)
    refused = whole_of(model)
    assert refused.exact is None
    assert "limit 10" in refused.why
    assert len(refused.bp) == 25


def test_large_grid_is_refused_with_width_before_tables_are_built() -> None:
    found = whole_of(grid_model(30, 0.5, 0.3, 0).model)
    assert found.exact is None
    assert "width 30" in found.why or "width 31" in found.why


def test_glow_is_row_of_query_in_inverse() -> None:
    model = grid_model(4, 0.6, 0.2, 1).model
    found = influence_of(model)
    assert found.coefficient == pytest.approx(dobrushin_coefficient(model))
    matrix = influence_matrix(model).toarray()
    wanted = np.linalg.inv(np.eye(16) - matrix)[5]
    np.testing.assert_allclose(found.reach(5), wanted, atol=2e-3)
    strong = influence_of(grid_model(4, 0.0, 0.8, 1).model)
    assert strong.coefficient > 1.0
    assert strong.reach(5) is None
