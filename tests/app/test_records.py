"""Records of a run: strict JSON with documented keys, sufficient to redraw the run."""

from __future__ import annotations

import dataclasses
import itertools
import re
from typing import Any

import numpy as np
import pytest
from fakes import finished_run
from learner_cases import followers_table
from record_checks import PLAYER, check_types, documented_keys, strict

from graftviz import BestChoice, EdgeGrafting, FeatureGrafting, FirstHit, InputError, Run
from graftviz.reports.layout import GrowingLayout
from graftviz.reports.replay.records import answer, recorded_run, run_header, step_record

TRUTH = [(0, 1), (1, 2), (2, 3), (0, 4)]


TABLE = followers_table(30, 500)
TRAIN, TEST = TABLE.split(test_fraction=0.2, seed=0)


def finished(learner: Any = BestChoice(max_edges=60), **settings: Any) -> Run:  # noqa: B008
    return finished_run(settings.pop("table", TRAIN), learner, **settings)


LEARNERS = [
    BestChoice(max_edges=60),
    BestChoice(alpha=0.0),
    EdgeGrafting(max_edges=40),
    FirstHit(max_edges=40),
    FeatureGrafting(max_features=40),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
@pytest.mark.parametrize("knows", [True, False], ids=["truth", "no truth"])
def test_records_are_strict_json_with_the_documented_keys(learner: Any, knows: bool) -> None:
    run = finished(learner, test=TEST if knows else None, truth=TRUTH if knows else None)
    header, records, outcome = recorded_run(run, title="Sample")
    for part in (header, *records, outcome):
        strict(part)
        check_types(part)
    assert set(header) | {"ghost", "objective", "penalty"} == documented_keys("Header")
    wanted = documented_keys("Record")
    for record in records:
        assert set(record) | {"layout", "threshold"} == wanted
        assert record["words"].endswith(".")
    assert outcome is not None
    outcome_keys = re.search(r"^`\{(.+)\}`\.\n", PLAYER.split("## Outcome")[1], re.MULTILINE)
    assert outcome_keys
    assert set(outcome) == set(re.sub(r": \{.*?\}", "", outcome_keys[1]).split(", "))
    assert (records[0]["nlpl"] is None) != knows
    assert (records[0]["recall"] is None) != knows
    assert header["start"]["objective"] == pytest.approx(run.steps[0].previous_objective, rel=1e-5)
    assert [record["t"] for record in records] == list(range(1, outcome["steps"] + 1))


def test_records_suffice_to_redraw_the_run() -> None:
    run = finished(BestChoice(alpha=0.25, max_edges=60))
    active: list[list[int]] = []
    norms: dict[tuple[int, int], float] = {}
    for step, record in zip(run.steps, recorded_run(run, title="")[1], strict=True):
        active += [[i, j] for i, j, _ in record["activated"]]
        norms.update({(i, j): norm for i, j, norm in record["weights"]})
        assert active == step.active_edges().tolist()
        assert len(active) == record["edges"]
        model = step.model()
        reply = [norms[i, j] for i, j in model.edges.tolist()]
        np.testing.assert_allclose(reply, model.edge_norms(), rtol=1e-5, atol=1e-9)


def test_reservoir_records_taken_and_skipped_edges() -> None:
    run = finished(BestChoice(alpha=0.0, max_edges=60))
    skipped = 0
    for step, record in zip(run.steps, recorded_run(run, title="")[1], strict=True):
        reservoir = record["reservoir"]
        taken = [reservoir["edges"][k] for k in reservoir["taken"]]
        assert taken == [[edge.source, edge.target] for edge in step.activated]
        passed = [reservoir["edges"][k] for k in reservoir["skipped"]]
        assert passed == step.skipped_adjacent.tolist()
        assert reservoir["scores"] == sorted(reservoir["scores"], reverse=True)
        skipped += len(passed)
    assert skipped > 0


def test_key_frames_become_less_frequent() -> None:
    run = finished(EdgeGrafting(max_edges=90, preset="paper", lam=1e-6))
    header, records, _ = recorded_run(run, title="")
    frames = [record["t"] for record in records if "layout" in record]
    assert frames[0] == 1
    assert frames[-1] == 90
    assert 40 <= len(frames) <= 80
    assert max(b - a for a, b in itertools.pairwise(frames)) <= 3
    for xy in (header["layout"], *(records[t - 1]["layout"] for t in frames)):
        assert len(xy) == 2 * 30
        assert all(type(value) is int and 0 <= value <= 10_000 for value in xy)


def test_unfinished_runs_end_without_outcome() -> None:
    run = Run(TRAIN, BestChoice())
    with pytest.raises(ValueError, match="before its first step"):
        run_header(run, title="")
    run.advance()
    run.advance()
    _, records, outcome = recorded_run(run, title="")
    assert outcome is None
    assert len(records) == 2


def test_runs_that_activate_nothing_have_header_and_outcome() -> None:
    header, records, outcome = recorded_run(finished(BestChoice(lam=0.9)), title="")
    assert records == []
    assert outcome["steps"] == 0
    assert header["start"]["objective"] == outcome["objective"]


def test_true_graph_is_skeleton_of_every_layout() -> None:
    first, records, _ = recorded_run(finished(truth=TRUTH), title="")
    second, _, _ = recorded_run(finished(FirstHit(max_edges=9), truth=TRUTH), title="")
    assert first["positions"] == second["positions"]
    assert first["layout"] is None
    assert first["truth"] == sorted(map(list, TRUTH))
    assert not any("layout" in record for record in records)
    # A given layout is used nevertheless.
    run = finished(truth=TRUTH)
    assert "layout" not in step_record(run, 1, GrowingLayout(30))


def test_given_positions_take_precedence() -> None:
    places = np.linspace(0, 10_000, 60).reshape(30, 2)
    header, records, _ = recorded_run(finished(truth=TRUTH), title="", positions=places)
    np.testing.assert_allclose(header["positions"], places, rtol=1e-5)
    assert not any("layout" in record for record in records)


def test_an_empty_truth_gives_no_skeleton() -> None:
    header, records, _ = recorded_run(finished(truth=np.zeros((0, 2), dtype=int)), title="")
    assert header["truth"] == []
    assert header["positions"] is None
    assert "layout" in records[0]


def test_first_record_of_branch_has_changed_lambda() -> None:
    options = {"max_edges": 20, "group_weight": "sqrt"}
    branch = (2, BestChoice(lam=0.004, **options))
    run = finished(BestChoice(lam=0.01, **options), branch=branch)
    records = [step_record(run, t) for t in range(1, len(run.steps) + 1)]
    changed = {
        record["t"]: record["threshold"]["value"] for record in records if "threshold" in record
    }
    assert changed == {3: 0.004}


def test_header_shows_the_options_in_force() -> None:
    branch = (2, BestChoice(alpha=0.125, max_edges=20, group_weight="sqrt", lam=0.01))
    run = finished(BestChoice(max_edges=20, group_weight="sqrt", lam=0.01), branch=branch)
    text = {"t": 2, "run": "before", "text": "α 0.125"}
    header = run_header(run, title="", token="after", branch=text)
    assert header["run"] == "after"
    assert header["branch"] == text
    assert header["learner"]["options"]["alpha"] == 0.125
    assert header["learner"]["options"]["group_weight"] == "sqrt"
    assert "penalise_nodes" not in header["learner"]["options"]
    assert header["lam"] == 0.01
    assert header["learner"]["pseudocode"][0] == branch[1].code_lines[0]._asdict()
    assert "α = 0.95" in step_record(run, 2)["words"]
    assert "α = 0.125" in step_record(run, 3)["words"]


def test_nan_becomes_null() -> None:
    run = finished()
    run.metrics[0] = run.metrics[0]._replace(nlpl_test=float("inf"))
    run.steps[0] = dataclasses.replace(run.steps[0], kkt_residual=float("nan"))
    record = strict(step_record(run, 1))
    assert record["nlpl"] is None
    assert record["kkt"] is None


def test_answers_have_the_documented_keys() -> None:
    run = finished(truth=TRUTH)
    i, j = run.steps[0].activated[0][:2]
    documented_questions = {
        "node": {"kind": "node", "i": i, "t": 3},
        "edge (active)": {"kind": "edge", "i": i, "j": j, "t": 3},
        "pair (inactive)": {"kind": "pair", "i": i, "j": j, "t": 0},
    }
    for title, question in documented_questions.items():
        reply = strict(answer(run, question))
        check_types(reply)
        listed = PLAYER.split(f"* {title}: `{{")[1].split("}`")[0]
        flat = re.sub(r"\{[^{}]*\}|\[[^\[\]]*\]", "", re.sub(r"\[[^\[\]]*\]", "", listed))
        keys = {part.split(":")[0].strip() for part in flat.split(",")}
        assert set(reply) == keys | {"t"}
        assert reply["t"] == question["t"]


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"kind": "graph", "i": 0, "t": 1},
        {"kind": "node", "i": "0", "t": 1},
        {"kind": "node", "i": True, "t": 1},
        {"kind": "node", "i": 0},
        {"kind": "pair", "i": 0, "t": 1},
        {"kind": "pair", "i": 0, "j": 1.5, "t": 1},
        {"kind": "edge", "i": 0, "j": 10**9, "t": 1},
    ],
)
def test_invalid_questions_are_refused(question: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        answer(finished(), question)
