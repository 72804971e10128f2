"""Run of a session: credit, feeds, questions and failures."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from waiting import wait_until

from graftviz import InputError
from graftviz.app import runs
from graftviz.app.jobs import Executor
from graftviz.app.runs import SessionRun, to_json


class CountingRun(SessionRun):
    """Run of `total` steps that stores the numbers of recorded steps."""

    def __init__(self, scheduler: Executor, total: int = 30, broken_at: int = -1) -> None:
        super().__init__(None, None, "r1", scheduler.queue())  # type: ignore[arg-type]
        self.total = total
        self.broken_at = broken_at
        self.steps = 0
        self.recorded: list[int] = []

    def advance(self) -> bool:
        if self.steps == self.broken_at:
            raise KeyError("a bug")
        if self.steps == self.total:
            return False
        self.steps += 1
        return True

    def header(self) -> Mapping[str, Any]:
        assert self.steps or self.total == 0
        return {"run": "r1", "names": ["α", "</script>"]}

    def record(self, t: int) -> Mapping[str, Any]:
        self.recorded.append(t)
        return {"t": t, "words": f"step {t}"}

    def outcome(self) -> Mapping[str, Any]:
        return {"steps": self.steps}

    def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        if question["i"] > 5:
            raise InputError("There is no variable 6.")
        return {"t": self.steps}


@pytest.fixture
def scheduler() -> Iterator[Executor]:
    pool = Executor(threads=2)
    yield pool
    pool.close()


def feed(run: SessionRun, start: int = 1, count: int = 1000) -> dict[str, Any]:
    return dict(json.loads(run.feed_json(start, count)))


def test_credit_limits_computed_steps(scheduler: Executor) -> None:
    run = CountingRun(scheduler)
    run.grant(12)
    assert run.wait(12, 60)
    assert not run.wait(13, 0.05)
    assert run.recorded == list(range(1, 13))
    run.grant(5)
    assert not run.wait(13, 0.05)
    run.grant(20)
    assert run.wait(20, 60)
    assert not run.ended
    assert feed(run)["outcome"] is None


def test_unlimited_credit_reaches_the_outcome(scheduler: Executor) -> None:
    run = CountingRun(scheduler)
    run.grant()
    assert run.wait_for_end(60)
    whole = feed(run)
    assert [record["t"] for record in whole["records"]] == list(range(1, 31))
    assert whole["outcome"] == {"steps": 30}
    assert json.loads(str(run.header_json))["names"] == ["α", "</script>"]


def test_a_run_without_steps_has_header_and_outcome(scheduler: Executor) -> None:
    run = CountingRun(scheduler, total=0)
    run.grant(1)
    assert run.wait(1, 60)
    assert run.header_json is not None
    assert feed(run) == {"run": "r1", "from": 1, "records": [], "outcome": {"steps": 0}}


def test_feeds_start_at_any_step_and_can_be_repeated(scheduler: Executor) -> None:
    run = CountingRun(scheduler)
    run.grant()
    run.wait_for_end(60)
    part = feed(run, 11, 5)
    assert [record["t"] for record in part["records"]] == [11, 12, 13, 14, 15]
    assert part["from"] == 11
    assert part["outcome"] is None
    assert feed(run, 11, 5) == part
    beyond = feed(run, 31, 10)
    assert beyond["records"] == []
    assert beyond["outcome"] == {"steps": 30}
    assert feed(run, -3, 2)["from"] == 1
    assert feed(run, 1, -2)["records"] == []


def test_a_feed_is_bounded_in_size(scheduler: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MAX_FEED_CHARACTERS", 100)
    run = CountingRun(scheduler)
    run.grant()
    run.wait_for_end(60)
    collected: list[int] = []
    while len(collected) < 30:
        part = feed(run, len(collected) + 1)
        assert 0 < len(part["records"]) < 10
        collected += [record["t"] for record in part["records"]]
    assert collected == list(range(1, 31))


@pytest.mark.parametrize("ends", ["with a step", "with an error"])
def test_forget_does_not_wait_for_the_current_step(scheduler: Executor, ends: str) -> None:
    begun, gate = threading.Event(), threading.Event()

    class Slow(CountingRun):
        def advance(self) -> bool:
            if self.steps == 3:
                begun.set()
                assert gate.wait(60)
            return super().advance()

    run = Slow(scheduler, broken_at=-1 if ends == "with a step" else 3)
    run.grant()
    assert begun.wait(60)
    waited = threading.Thread(target=run.wait, args=(5, 60))
    waited.start()
    run.forget()
    waited.join(60)
    assert not waited.is_alive(), "the thread still waits for a step"
    assert run.failure == runs.FORGOTTEN
    assert run.steps == 3, "the current step ended too early"
    gate.set()
    assert run.feed_json(1, 9).count('"t"') == 0
    wait_until(lambda: run._queue.running is None)
    assert run.failure == runs.FORGOTTEN
    assert run.computed == run.memory_bytes == 0
    assert run.header_json is None
    assert json.loads(run.answer_json({"kind": "node"}))["answer"] == {"error": runs.FORGOTTEN}
    run.grant()
    assert not run.has_credit


def test_answers_and_refused_questions(scheduler: Executor) -> None:
    run = CountingRun(scheduler)
    good = json.loads(run.answer_json({"kind": "node", "i": 1, "t": 3}))
    assert good["question"]["i"] == 1
    assert good["answer"] == {"t": 0}
    refused = json.loads(run.answer_json({"kind": "node", "i": 6, "t": 3}))
    assert refused["answer"] == {"error": "There is no variable 6."}


def test_number_that_json_cannot_hold_is_an_error() -> None:
    with pytest.raises(ValueError):
        to_json({"objective": float("nan")})
    assert to_json({"objective": None, "name": "α"}) == '{"objective":null,"name":"α"}'
