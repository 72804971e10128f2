"""Results of learners, commands and pages: the same as recorded in ``tests/golden/recorded``."""

from __future__ import annotations

import copy
import json

import pytest

from tests.golden.comparison import comparable, differences
from tests.golden.recording import computed, mismatches, path_of, recorded_names, recordings

NAMES = tuple(recordings())
TRACE = "learners/best-choice.survey"


@pytest.mark.parametrize("name", NAMES)
def test_result_is_as_recorded(name: str) -> None:
    messages = mismatches(name, computed(name))
    assert not messages, "\n".join(messages[:20])


def test_every_recorded_file_is_compared() -> None:
    assert recorded_names() == set(NAMES)


def test_computing_again_gives_the_same() -> None:
    assert computed(TRACE) == computed(TRACE)


@pytest.fixture
def trace() -> dict:
    """Return a recorded run."""
    return json.loads(path_of(TRACE).read_text(encoding="utf-8"))


def test_small_changes_of_floats_are_no_mismatch(trace: dict) -> None:
    changed = copy.deepcopy(trace)
    changed["result"]["objective"] *= 1 + 1e-10
    assert mismatches(TRACE, changed) == []


def test_a_changed_float_is_reported(trace: dict) -> None:
    recorded = trace["trace"]["objective"][3]
    trace["trace"]["objective"][3] = recorded + 1e-6
    (message,) = mismatches(TRACE, trace)
    assert message == (
        f"{TRACE}.json: trace.objective[3]: recorded {recorded!r}, found {recorded + 1e-6!r}"
    )


def test_a_missing_and_a_new_key_are_reported(trace: dict) -> None:
    recall = trace["result"].pop("recall")
    trace["result"]["recalled"] = recall
    assert mismatches(TRACE, trace) == [
        f"{TRACE}.json: result.recall: recorded {recall!r}, found nothing",
        f"{TRACE}.json: result.recalled: recorded nothing, found {recall!r}",
    ]


def test_a_changed_count_is_reported(trace: dict) -> None:
    steps = len(trace["trace"]["step"])
    trace["result"]["edges"] += 1
    trace["trace"]["step"].pop()
    edges = trace["result"]["edges"]
    assert mismatches(TRACE, trace) == [
        f"{TRACE}.json: result.edges: recorded {edges - 1}, found {edges}",
        f"{TRACE}.json: trace.step: recorded {steps} entries, found {steps - 1}",
    ]


@pytest.mark.parametrize(
    ("recorded", "found"),
    [(None, 0), (True, 1), ("1", 1), (0.0, None), ([], {}), ({}, None), ("a", "b"), (1, 2.0)],
)
def test_values_of_other_kinds_differ(recorded: object, found: object) -> None:
    assert len(list(differences({"at": [recorded]}, {"at": [found]}))) == 1


def test_fields_without_meaning_for_the_result_are_left_out() -> None:
    result = {"stop_reason": "Done.", "seconds": {"total": 0.1}, "edges": 3, "at": [{"notes": []}]}
    assert comparable(result) == {"edges": 3, "at": [{}]}
    assert comparable({"objective": 1 / 3, "bound": float("inf")}) == {
        "objective": 0.333333333333,
        "bound": "inf",
    }


def test_a_missing_file_is_reported() -> None:
    (message,) = mismatches("learners/unknown", {})
    assert "python -m tests.golden --record learners/unknown" in message
