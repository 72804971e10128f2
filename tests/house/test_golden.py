"""Results of learners, commands and pages against those in ``tests/golden/recorded``."""

from __future__ import annotations

import json

import pytest

from tests.golden.recording import computed, mismatches, path_of, recorded_names, recordings

NAMES = tuple(recordings())
TRACE = "learners/best-choice.survey"


@pytest.mark.parametrize("name", NAMES)
def test_result_is_as_recorded(name: str) -> None:
    messages = mismatches(name, computed(name))
    assert not messages, "\n".join(messages[:20])


def test_every_recorded_file_is_compared() -> None:
    assert recorded_names() == set(NAMES)


@pytest.fixture
def trace() -> dict:
    """Return a recorded run."""
    return json.loads(path_of(TRACE).read_text(encoding="utf-8"))


def test_a_changed_float_is_reported(trace: dict) -> None:
    recorded = trace["trace"]["objective"][3]
    trace["trace"]["objective"][3] = recorded + 1e-6
    (message,) = mismatches(TRACE, trace)
    assert message == (
        f"{TRACE}.json: trace.objective[3]: recorded {recorded!r}, found {recorded + 1e-6!r}"
    )
