"""Settings, sources, answers and address of the Inspect page, without Streamlit."""

from __future__ import annotations

import dataclasses
import gc
import json
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from waiting import wait_until

from graftviz import PairwiseMRF, infer, load_dataset
from graftviz.app import inspect
from graftviz.app.grow import GrowState
from graftviz.app.inspect import MOST_TARGETS, InspectedModel, InspectState
from graftviz.app.inspect_groups import GroupState, GroupTables
from graftviz.app.inspect_panels import joint_frame, partition_words, query_formula
from graftviz.app.inspect_results import (
    inspect_message,
    inspected_files,
    matching_rows,
    state_names,
)
from graftviz.app.jobs import Executor
from graftviz.app.material import Upload, prepare
from graftviz.app.models import FILE
from graftviz.app.runs import Loaded, fingerprint_of
from graftviz.inference.inspection import mutual_informations
from graftviz.inference.queries import CHOICES, answer_steps
from graftviz.reports.files.tables import edge_frame

SOON = 300.0  # seconds; a first answer on a busy machine may have to be compiled


@pytest.fixture
def scheduler() -> Iterator[Executor]:
    pool = Executor(2)
    yield pool
    pool.close()


def load(key: str, seed: int) -> Any:
    return prepare(load_dataset(key), seed)


@pytest.fixture
def grow(scheduler: Executor) -> GrowState:
    return GrowState(load, scheduler.queue())


@pytest.fixture
def state(scheduler: Executor) -> InspectState:
    return InspectState(load, scheduler.queue(), lambda: None)


def pair_model(coupling: float = 1.0, n: int = 4, states: int = 2) -> PairwiseMRF:
    return PairwiseMRF.from_tables(
        [np.zeros(states)] * n,
        {(i, i + 1): coupling * np.eye(states) for i in range(n - 1)},
        names=tuple("abcdefgh"[:n]),
    )


def bring(state: InspectState, model: PairwiseMRF) -> None:
    state.first.choose_kind(FILE)
    state.first.accept(Loaded(model, "m.uai"))
    state.refresh()
    state.settle()


def settled(state: InspectState) -> None:
    """Wait for the models the settings describe."""

    def is_settled() -> bool:
        state.refresh()
        return not state.first.learning and not (state.compares and state.second.learning)

    wait_until(is_settled, pause=lambda: None)
    state.settle()


def uneven_model() -> PairwiseMRF:
    """Return a chain whose edge of larger norm has the smaller mutual information."""
    strong = np.array([[2.0, -2.0], [-2.0, 2.0]])
    return PairwiseMRF.from_tables(
        [np.array([9.0, 0.0]), np.zeros(2), np.zeros(2)], {(0, 1): strong, (1, 2): 0.4 * strong}
    )


def test_width_of_edges_is_mutual_information_and_layout_is_fixed(
    state: InspectState,
) -> None:
    model = uneven_model()
    bring(state, model)
    assert state.before is None
    first = state.picture(None)
    assert np.allclose(first.strengths, [1.0, 0.4])
    assert state.answer(SOON)
    picture = state.picture(None)
    information = mutual_informations(infer(model).edge)
    assert information[0] < information[1]
    assert np.allclose(picture.strengths, information / information.max())
    assert np.array_equal(picture.places, first.places)


def test_zero_potential_gives_undefined_norm_and_finite_information() -> None:
    model = PairwiseMRF.from_tables(
        [np.zeros(2)] * 3, {(0, 1): np.diag([-np.inf, 0.0]), (1, 2): np.eye(2)}
    )
    frame = edge_frame(model, infer(model))
    assert np.isnan(frame["weight"][0])
    assert frame["weight"][1] == pytest.approx(0.5 * 2**0.5 * 2**0.5)
    assert (frame["mutual information"] > 0.0).all()


# Sources


def test_run_of_grow_page_is_inspected_at_its_shown_step(
    grow: GrowState, scheduler: Executor
) -> None:
    state = InspectState(load, scheduler.queue(), lambda: grow)
    grow.choose("alpha", 0.5)
    grow.refresh()
    grow.values["step"] = 5
    state.follow({})
    settled(state)
    run = grow.run
    assert run is not None
    assert state.first.run is run
    assert state.first.learned.run is None  # no other run was started
    step = run.run.steps[4]
    assert state.loaded.model.weights.tolist() == step.model().weights.tolist()
    assert state.loaded.title.endswith("step 5")
    assert len(state.loaded.steps or ()) == state.loaded.model.n_edges
    # The same link in another session learns the same model.
    link = state.link()
    assert link == {"alpha": "0.5", "step": "5"}
    other = InspectState(load, scheduler.queue(), lambda: None)
    other.follow(link)
    settled(other)
    assert other.loaded.fingerprint == state.loaded.fingerprint
    # Another run of the Grow page is offered.
    assert not state.can_take_grow
    grow.choose("data", "grid-8x8")
    grow.refresh()
    assert state.can_take_grow
    state.take_grow()
    settled(state)
    assert state.loaded.model.n_variables == 64


def test_end_of_run_is_inspected_without_step(state: InspectState) -> None:
    state.follow({"data": "karate", "learner": "chow-liu"})
    settled(state)
    assert state.loaded.model.n_edges == 33
    run = state.first.run
    assert run.ended
    state.first.learned.values["step"] = 3
    settled(state)
    assert state.loaded.title.endswith("step 3")
    state.follow({"data": "karate", "learner": "chow-liu", "node": "1", "edge": "0-1"})
    assert "the edge is ignored" in state.complaints[0]


def test_uploaded_table_of_grow_page_is_used(grow: GrowState, scheduler: Executor) -> None:
    state = InspectState(load, scheduler.queue(), lambda: grow)
    link = {"data": "upload", "fingerprint": "0123456789abcdef", "learner": "chow-liu"}
    state.follow(link)
    state.refresh()
    assert state.loaded is None
    assert "Upload the same table on the Grow page" in state.first.problem
    grow.choose("data", "upload")
    grow.accept(Upload("f" * 16, partial(prepare, load_dataset("karate"))))
    state.refresh()
    assert "is not the one of the link" in state.first.problem
    grow.accept(Upload("0123456789abcdef", partial(prepare, load_dataset("karate"))))
    settled(state)
    assert state.first.problem == ""
    assert state.loaded.model.n_variables == 34
    assert state.link() == link
    # It can be chosen after its upload.
    state.first.learned.choose("data", "grid-8x8")
    assert state.first.data()[-1] == "upload"
    state.first.learned.choose("data", "upload")
    settled(state)
    assert state.link() == link


def test_released_models_are_restored_with_all_choices(state: InspectState) -> None:
    query = {"data": "karate", "learner": "chow-liu", "node": "3", "evidence": "0:1"}
    state.follow(query)
    state.compare(True)
    state.second.choose_kind(FILE)
    state.second.accept(Loaded(pair_model(), "m.uai"))
    settled(state)
    assert state.answer(SOON)
    assert state.after is not None
    assert state.loaded is not None
    state.certify()
    assert state.region.wait_for_end(SOON), "the engine still holds the model"
    link, known, run = state.link(), state.loaded.fingerprint, state.first.run
    parts = (state.loaded, state.picture(None), run.run)
    references = [weakref.ref(part) for part in parts]
    del parts
    state.forget()
    gc.collect()
    assert [part() for part in references] == [None] * len(references)
    assert (state.before, state.after, run.memory_bytes) == (None, None, 0)
    assert state.region is None
    state.follow({})  # navigation from another page
    settled(state)
    assert state.loaded.fingerprint == known
    assert state.second.loaded is not None
    assert state.answer(SOON)
    assert state.after is not None
    assert state.link() == link


def test_fingerprint_depends_on_every_part_of_model() -> None:
    model = pair_model()
    others = [
        pair_model(2.0),
        pair_model(n=5),
        pair_model(states=3),
        PairwiseMRF(model.cardinalities, model.edges, model.weights),
        PairwiseMRF(
            model.cardinalities, model.edges, model.weights, model.names, (("x", "y"),) * 4
        ),
    ]
    prints = {fingerprint_of(each) for each in (model, *others)}
    assert len(prints) == 1 + len(others)
    assert fingerprint_of(pair_model()) == fingerprint_of(model)


# Selection and evidence


def test_unknown_selection_and_evidence_are_ignored_with_a_note(state: InspectState) -> None:
    state.follow({"node": "9", "evidence": "0:1,1:7,99:0"})
    bring(state, pair_model())
    assert state.node is None
    assert state.evidence == {0: 1}
    assert len(state.complaints) == 3
    state.select(2, 0)
    state.settle()
    assert state.edge is None
    assert "no edge a – c" in state.complaints[0]
    state.select(2, 1)
    state.settle()
    assert state.edge == (1, 2)
    assert state.edge_number((1, 2)) == 1


@pytest.mark.parametrize("edge", [[None, 1], ["0", "1"], [0, 1e999], [0], {"0": 1}, [-1, 2]])
def test_click_on_missing_edge_clears_selection(state: InspectState, edge: Any) -> None:
    bring(state, pair_model())
    token = f"{state.loaded.fingerprint}.None"
    state.pick({"token": token, "edge": [1, 0]})
    assert state.edge == (0, 1)
    state.pick({"token": token, "edge": edge})
    assert (state.node, state.edge) == (None, None)


def test_posteriors_follow_the_evidence(state: InspectState) -> None:
    model = pair_model(0.7)
    bring(state, model)
    assert state.answer(SOON)
    assert np.allclose(state.before.beliefs.node[3], 0.5)
    assert state.after is None
    state.observe(0, 1)
    assert state.answer(SOON)
    assert state.after.beliefs.method == "exact"
    expected = infer(model, evidence={0: 1}).node  # a chain: belief propagation is exact
    for got, wanted in zip(state.after.beliefs.node, expected, strict=True):
        assert np.allclose(got, wanted, atol=1e-8)
    state.observe(0, None)
    assert state.answer(SOON)
    assert state.after is None


def test_contradictory_evidence_is_removed_with_a_note(state: InspectState) -> None:
    hard = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    model = PairwiseMRF.from_tables(
        [np.zeros(2)] * 3, {(0, 1): hard, (1, 2): np.zeros((2, 2))}, names=("a", "b", "c")
    )
    for method in CHOICES:
        bring(state, model)
        state.choose("method", method)
        state.choose("evidence", {})
        for i, k in ((2, 1), (0, 1), (1, 0)):
            state.observe(i, k)
        assert state.answer(SOON)
        assert list(state.evidence.items()) == [(2, 1), (0, 1)], method
        assert state.complaints == (
            "b = 0 has probability zero given the other evidence and was removed.",
        )
        assert np.allclose(state.after.beliefs.node[1], [0.0, 1.0], atol=1e-6)


def test_model_of_probability_zero_is_reported(state: InspectState) -> None:
    never = np.full((2, 2), -np.inf)
    bring(state, PairwiseMRF.from_tables([np.zeros(2)] * 2, {(0, 1): never}))
    assert state.answer(SOON)
    assert "Every joint state of this model has probability zero" in state.problem


def test_wide_model_is_answered_by_belief_propagation_with_a_note(
    state: InspectState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graftviz.inference.exact.structure.MOST_ENTRIES", 10)
    bring(state, pair_model(0.3, n=8))
    assert state.answer(SOON)
    assert state.before.beliefs.method == "bp"
    assert "exact inference would take" in state.before.reason
    state.choose("method", "exact")
    assert state.answer(SOON)
    assert state.before.beliefs.method == "exact"
    assert state.before.reason == ""


def test_nothing_is_computed_twice(state: InspectState, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[dict[int, int]] = []

    def counted(model: PairwiseMRF, evidence: dict[int, int], method: str) -> Iterator[Any]:
        begun.append(evidence)
        yield from answer_steps(model, evidence, method)

    monkeypatch.setattr(inspect, "answer_steps", counted)
    bring(state, pair_model())
    for _ in range(3):
        assert state.answer(SOON)
    state.observe(0, 1)
    for _ in range(3):
        assert state.answer(SOON)
    state.choose("evidence", {})
    assert state.answer(SOON)
    assert begun == [{}, {0: 1}]


def test_region_certifies_marginal_of_selected_node(state: InspectState) -> None:
    bring(state, pair_model(0.3, n=8))
    state.select(3)
    assert state.region is None
    state.certify()
    work = state.region
    assert work.wait_for_end(SOON)
    assert work.latest is not None
    assert state.answer(SOON)
    gap = np.abs(work.latest.marginal - state.before.beliefs.node[3]).max()
    assert gap <= work.latest.bound
    state.select(2)
    assert state.region is None


# Comparison


def test_models_without_common_variables_are_reported(state: InspectState) -> None:
    bring(state, pair_model())
    state.compare(True)
    state.second.choose_kind(FILE)
    state.second.accept(Loaded(PairwiseMRF.from_tables([np.zeros(2)] * 9, {}), "other.uai"))
    difference, trouble = state.difference()
    assert difference is None
    assert "nothing to compare" in trouble


# Tables, files, the message to the browser


def test_every_file_is_built(state: InspectState) -> None:
    bring(state, pair_model())
    state.answer(SOON)
    assert state.loaded is not None
    assert state.before is not None
    shown = state.inspected()
    assert shown is not None
    contents = {file.name: file.build() for file in inspected_files(shown)}
    assert all(contents.values())
    unanswered = inspected_files(InspectedModel(state.loaded, state.picture(None)))
    assert len(unanswered) == len(contents)
    for file in unanswered:
        assert isinstance(file.build(), str | bytes)
        assert file.disabled == file.name.startswith("marginals")


def test_a_query_is_the_joint_distribution_given_the_evidence(state: InspectState) -> None:
    model = pair_model(n=5, states=3)
    bring(state, model)
    state.observe(4, 2)
    state.choose("targets", (3, 0))
    job = state.joint
    assert job is not None
    assert job.wait_for_end(SOON)
    assert job.latest is not None
    assert job.latest.method == "exact"
    tables = [model.node_weights(i) for i in range(5)]
    joint = np.zeros((3,) * 5)
    for states in np.ndindex(joint.shape):
        weight = sum(tables[i][k] for i, k in enumerate(states))
        weight += sum(states[i] == states[i + 1] for i in range(4))
        joint[states] = np.exp(weight)
    given = joint[..., 2].sum(axis=(1, 2)).T
    assert np.allclose(job.latest.table, given / given.sum())
    frame = joint_frame(model, state.values["targets"], job.latest.table, "p")
    assert frame.columns.tolist() == ["d", "a", "p"]
    assert frame.iloc[0].tolist()[:2] == ["2", "2"]
    assert query_formula(model, state.values["targets"], state.evidence) == "P(d, a | e = 2)"
    state.choose("method", "mean-field")
    assert state.joint is not job
    assert state.joint.wait_for_end(SOON)
    assert state.joint.latest.method == "mean-field"
    state.choose("targets", (4,))
    assert state.joint.wait_for_end(SOON)
    assert "e is observed" in state.joint.failure
    bring(state, pair_model(states=9))
    state.choose("targets", (0, 1, 2, 3)[:MOST_TARGETS])
    assert state.joint.wait_for_end(SOON)
    bring(state, pair_model(states=90))
    state.choose("targets", (0, 1))
    assert state.joint.wait_for_end(SOON)
    assert "8,100 joint states" in state.joint.failure


@pytest.mark.parametrize(
    ("method", "words"),
    [("exact", "exact."), ("bp", "estimated by belief"), ("trbp", "log Z ≤"), ("mean-field", "≥")],
)
def test_log_z_is_labelled_with_its_method(state: InspectState, method: str, words: str) -> None:
    loop = {(0, 1): np.eye(2), (1, 2): np.eye(2), (0, 2): np.eye(2)}
    bring(state, PairwiseMRF.from_tables([np.zeros(2)] * 3, loop))
    state.choose("method", method)
    state.observe(0, 1)
    assert state.answer(SOON)
    free, given = partition_words(state.before, state.after)
    assert words in free
    assert given.startswith("Given the evidence: log Z")
    if method == "exact":
        assert f"{np.log(2 * np.exp(3) + 6 * np.e):.6g}" in free
        assert f"{np.log(np.exp(3) + 3 * np.e):.6g}" in given


def test_nodes_are_coloured_by_community_and_by_state(state: InspectState) -> None:
    bring(state, pair_model(3.0, n=4))
    state.observe(0, 1)
    assert state.answer(SOON)

    def record() -> dict[str, Any]:
        shown = state.inspected()
        assert shown is not None
        return json.loads(inspect_message(state, shown))

    assert record()["groups"] == []
    state.choose("colour", "state")
    assert record()["groups"] == [1] * 4
    assert record()["legend"]["groups"] == [[0, "0"], [1, "1"]]
    state.choose("colour", "community")
    found = record()
    assert len(set(found["groups"])) == len(found["legend"]["groups"]) >= 1
    assert found["legend"]["groups"][0][1].startswith("community 1: ")
    many = PairwiseMRF.from_tables(
        [np.zeros(2)] * 20, {(i, i + 1): np.eye(2) for i in range(0, 18, 2)}
    )
    bring(state, many)
    assert state.answer(SOON)
    found = record()
    assert found["groups"].count(-1) == 20 - 2 * 6
    assert found["legend"]["groups"][-1] == [-1, "other"]


def test_edges_are_filtered_by_information(state: InspectState) -> None:
    weak, strong = 0.2 * np.eye(2), 2.0 * np.eye(2)
    skewed = np.array(
        [0.0, 9.0]
    )  # a strong edge of nearly constant variables has little information
    model = PairwiseMRF.from_tables(
        [np.zeros(2), np.zeros(2), skewed, skewed], {(0, 1): weak * 5, (2, 3): strong}
    )
    bring(state, model)
    assert state.answer(SOON)
    state.choose("weight_from", 0.6)
    assert state.inspected().picture.edges.tolist() == [[2, 3]]
    state.choose("filter_by", "information")
    assert state.inspected().picture.edges.tolist() == [[0, 1]]


def test_a_comparison_of_groups_beyond_the_limits_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = GroupState()
    tables = GroupTables(load_dataset("survey").table)
    groups.begin(tables)
    job = groups.job()
    assert job is not None
    assert groups.job() is job
    groups.choose("permutations", 999)
    assert groups.job() is None
    assert job.ended or not job.has_credit  # paused
    monkeypatch.setattr("graftviz.app.inspect_groups.MOST_SECONDS", 1.0)
    groups.begin(tables)
    assert "for 999 permutations; the limit" in groups.problem
    assert groups.job() is None


def test_message_to_browser_is_plain_json(state: InspectState) -> None:
    names = ("<script>", "\ud800", "c", "d")
    model = dataclasses.replace(pair_model(), names=names)
    bring(state, model)
    state.observe(1, 1)
    for selection in ((), (2,), (0, 1)):
        state.select(*selection)
        shown = state.inspected()
        assert shown is not None
        text = inspect_message(state, shown)
        text.encode("utf-8", "replace")
        message = json.loads(text)
        assert message["names"] == list(names)
        assert message["observed"] == {"1": "1"}
        ends = dict(zip("ij", selection, strict=False))
        kind = {1: "node", 2: "edge"}.get(len(selection))
        assert message["selected"] == ({"kind": kind, **ends} if kind else None)


def test_search_matches_parts_of_names_in_any_case() -> None:
    names = pd.DataFrame({"source": ["Valjean", "Javert", "Cosette"]})
    assert matching_rows(names, ["source"], "JAV").index.tolist() == [1]
    assert matching_rows(names, ["source"], " ").index.tolist() == [0, 1, 2]
    both = names.assign(target=["a", "b", "valley"])
    assert matching_rows(both, ["source", "target"], "val").index.tolist() == [0, 2]
    assert matching_rows(both, ["source"], "nobody").index.tolist() == []


def test_states_of_same_name_are_distinguished() -> None:
    assert state_names(("no", "yes")) == ["no", "yes"]
    for labels in (("a", "a"), ("x" * 30 + "1", "x" * 30 + "2"), ("", " ", "(empty)")):
        names = state_names(labels)
        assert len(set(names)) == len(labels)
        assert all(len(name) < 30 for name in names)


def test_evidence_is_kept_between_steps_but_not_for_other_variables(state: InspectState) -> None:
    bring(state, pair_model())
    state.observe(0, 1)
    state.select(2)
    bring(state, pair_model(0.5))
    assert (state.node, state.evidence) == (2, {0: 1})
    bring(state, pair_model(n=6))
    assert (state.node, state.evidence) == (None, {})
