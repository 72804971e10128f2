"""Session state of the Grow page: links, options, branches and runs."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from learner_cases import followers_table

from graftviz import BestChoice, DiscreteTable, InputError
from graftviz.app import (
    grow,
    material,
    state as state_module,
)
from graftviz.app.grow import BranchPoint, GrowState, grow_message, row_stops
from graftviz.app.jobs import Executor
from graftviz.app.material import PAGE_DATA, UPLOAD, Material, Upload, prepare
from graftviz.app.runs import SessionRun
from graftviz.app.view import Inbox
from graftviz.data.sets.dataset import DataSet
from graftviz.learning.base import Learner
from graftviz.reports.replay.plain import share_of

FIRST, SECOND = PAGE_DATA, "karate"  # the rows below have these names


def load(key: str, seed: int) -> Material:
    suggested: dict[str, Any] = {"lam": 0.02} if key == FIRST else {"lam": 0.03, "alpha": 0.5}
    table = followers_table(6, 200, len(key))
    return prepare(DataSet(key, key, table, None, None, "", suggested), seed)


@pytest.fixture
def state() -> Iterator[GrowState]:
    pool = Executor(threads=1)
    yield GrowState(load, pool.queue())
    pool.close()


def test_suggestions_are_defaults_and_choices_override_them(state: GrowState) -> None:
    assert state.learner_options(state.own)["lam"] == 0.02
    state.choose("alpha", 0.25)
    state.choose("data", SECOND)
    assert state.learner_options(state.own)["lam"] == 0.03
    assert state.learner_options(state.own)["alpha"] == 0.25
    state.choose("alpha", 0.5)
    assert state.values["options"] == {}, "a suggested value is not a choice"


def with_rows(state: GrowState, **chosen: Any) -> Material:
    for name, value in chosen.items():
        state.choose(name, value)
    state.refresh()
    assert state.problem == ""
    assert state.material is not None
    return state.material


def test_fewer_rows_keep_the_held_out_rows(state: GrowState) -> None:
    whole = with_rows(state, held_out=0.25)
    fewer = with_rows(state, rows=60)
    assert (whole.train.n_rows, fewer.train.n_rows) == (150, 60)
    assert fewer.test is not None
    assert whole.test is not None
    assert fewer.test.fingerprint == whole.test.fingerprint
    assert fewer.identity != whole.identity
    assert "60 of 150 training rows" in fewer.title
    assert fewer.name == whole.name
    assert state.link() == {"rows": "60", "held_out": "0.25"}
    assert with_rows(state, rows=None).identity == whole.identity
    assert with_rows(state, held_out=0.0).test is None
    with_rows(state, rows=60, data=SECOND)
    assert state.link() == {"data": SECOND}, "the number of rows was kept for other data"


def test_more_rows_than_available_select_all(state: GrowState) -> None:
    state.follow({"rows": "5000"})
    state.refresh()
    assert state.complaints == ("There are 200 training rows, not 5,000; all are used.",)
    assert state.link() == {}
    state.follow({"rows": "3"})
    assert "at least 50" in state.complaints[0]


@pytest.mark.parametrize(("most", "shown"), [(40, 40), (51, 51), (180, 180), (2700, 333)])
def test_last_stop_of_slider_of_rows_selects_all(most: int, shown: int) -> None:
    stops = row_stops(most, shown)
    assert stops == sorted(set(stops))
    assert stops[-1] == most
    assert shown in stops
    assert all(stop >= 50 for stop in stops[:-1])


def test_another_learner_keeps_common_options(state: GrowState) -> None:
    state.choose("alpha", 0.25)
    state.choose("lam2", 0.1)
    state.choose("learner", "edge-grafting")
    assert state.values["options"] == {"lam2": 0.1}
    state.refresh()


def test_branch_shares_first_steps_and_has_base_as_ghost(state: GrowState) -> None:
    state.refresh()
    base = state.run
    state.begin_branch(1)
    state.refresh(), "nothing has changed yet"
    state.choose("alpha", 0.0)
    assert state.values["branch"] == BranchPoint(1, {"alpha": 0.0})
    assert state.learner_options(state.own)["alpha"] == 0.75
    assert state.learner_options(state.choice)["alpha"] == 0.0
    state.refresh()
    assert state.ghost is base
    state.choose("alpha", 0.5)
    state.refresh()
    assert state.ghost is base
    state.run.grant()
    assert state.run.wait_for_end(60)
    assert state.link()["branch"] == "1:alpha=0.5"
    state.choose("branch", None)
    state.refresh()
    assert state.run is base


def test_old_runs_are_released(state: GrowState) -> None:
    runs = []
    for k in range(3 * grow.MOST_RUNS):
        state.choose("seed", k)
        state.refresh()
        assert state.run.wait(1, 60)
        runs.append(state.run)
    assert len(list(state._runs.values())) == grow.MOST_RUNS
    assert state.run in list(state._runs.values())
    last = runs[-grow.MOST_RUNS :]
    assert [run.memory_bytes > 0 for run in runs] == [run in last for run in runs]


def upload(state: GrowState, seed: int, rows: int = 100) -> None:
    codes = np.random.default_rng(seed).integers(0, 2, size=(rows, 4))
    table = DiscreteTable.from_codes(codes)
    data = DataSet(UPLOAD, "mine", table, None, None, "", {"lam": 0.02})
    state.accept(Upload(table.fingerprint, partial(prepare, data)))


def test_another_file_resets_rows_and_branch(state: GrowState) -> None:
    state.choose("data", UPLOAD)
    state.choose("missing", "drop")
    state.choose("rows", 60)
    state.begin_branch(2)
    chosen = dict(state.values)
    upload(state, 1)
    upload(state, 1)
    assert state.values == {**chosen, "fingerprint": state.uploaded.fingerprint}, "the first file"
    upload(state, 2, rows=150)
    left = {name: state.values[name] for name in ("rows", "branch", "step")}
    assert left == {"rows": None, "branch": None, "step": 0}
    assert state.values["reading"] == {"missing": "drop"}, "options of reading were reset"


def test_runs_of_a_replaced_upload_are_evicted(state: GrowState) -> None:
    def show(**seed: int) -> SessionRun:
        if seed:
            state.choose("seed", seed["seed"])
        state.refresh()
        assert state.run is not None
        return state.run

    state.choose("data", UPLOAD)
    upload(state, 1)
    first, second = show(), show(seed=1)
    assert list(state._runs.values()) == [first, second]
    upload(state, 2)
    third = show()
    assert state.ghost is None, "a run on another table is shown as ghost"
    assert list(state._runs.values()) == [third]
    fourth = show(seed=2)
    assert state.ghost is third
    assert list(state._runs.values()) == [third, fourth]


def test_shown_runs_are_never_released(state: GrowState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grow, "MOST_RUNS", 2)
    monkeypatch.setattr(state_module, "MOST_MEGABYTES", 0.0)
    for alpha in (0.1, 0.2):
        for change in (
            lambda alpha=alpha: state.choose("alpha", alpha),
            lambda: state.choose("compare", True),
            lambda: state.choose("compare", False),
            lambda: state.begin_branch(3),
            lambda: state.choose("alpha", 0.9),
        ):
            change()
            state.refresh()
            for shown in (state.run, state.ghost):
                assert shown is None or (shown.wait(1, 60) and not shown.failure)
            assert set(state._runs.values()) <= {state.run, state.ghost}
    base, branch = state.ghost, state.run
    assert base is not None
    assert branch.wait_for_end(60)
    branch_header = json.loads(branch.header_json or "")["branch"]
    assert branch_header["run"] == base.token
    assert base.wait_for_end(60)
    reference = weakref.ref(base.run)
    base.forget()
    gc.collect()
    assert reference() is None, "the branch holds a reference to its base"


def test_released_run_is_computed_again_with_same_settings(state: GrowState) -> None:
    state.choose("alpha", 0.25)
    state.refresh()
    before = state.run
    before.grant()
    assert before.wait_for_end(60)
    records = json.loads(before.feed_json(1, 1000))["records"]
    state.forget()
    assert state.run is None
    assert before.memory_bytes == 0
    assert "was released" in before.failure
    assert "error" in json.loads(before.answer_json({"kind": "node", "i": 0, "t": 1}))["answer"]
    state.refresh(), "the page finds a run again"
    second = state.run
    second.grant()
    assert second.wait_for_end(60)
    steps = [record["activated"] for record in json.loads(second.feed_json(1, 1000))["records"]]
    assert steps == [record["activated"] for record in records]
    assert state.values["options"] == {"alpha": 0.25}


def test_both_runs_of_comparison_are_checked_before_start(
    state: GrowState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(self: Learner, table: DiscreteTable) -> None:
        if self.preset != "best":
            raise InputError("The paper's method has no such data.")

    monkeypatch.setattr(BestChoice, "check", check)
    state.choose("preset", "best")
    state.refresh()
    before = state.run
    state.choose("compare", True)
    state.refresh()
    assert "has no such data" in state.problem
    assert state.run is before
    assert list(state._runs.values()) == [before]


def test_run_beyond_limits_offers_command(
    state: GrowState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(material, "MOST_SECONDS", 0.0)
    state.refresh()
    assert state.is_beyond
    assert "Limits: " in state.problem
    assert state.command().startswith(f"python -m graftviz learn {FIRST} ")
    assert state.smaller() is None


def test_run_stopped_before_first_step_starts_on_request() -> None:
    pool = Executor(threads=1)
    queue = pool.queue()
    queue.close()
    state = GrowState(load, queue)
    state.refresh()
    state.run.revoke()
    queue.closed = False
    run, inbox = state.run, Inbox()
    assert not run.has_credit
    inbox.need, inbox.sent = {"run": run.token, "header": True}, run.token
    grow_message(state, run, inbox)
    assert run.wait(1, 60.0)
    pool.close()


def test_stability_is_sent_with_two_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = ['{"of":10}']
    monkeypatch.setattr(grow, "stability_json", lambda _: known[0])
    pool = Executor(threads=1)
    state = GrowState(load, pool.queue())
    state.refresh()
    inbox = Inbox(sent=state.run.token)

    def sent_stability() -> object:
        assert state.run is not None
        return json.loads(grow_message(state, state.run, inbox)).get("stability")

    assert [sent_stability() for _ in range(3)] == [{"of": 10}, {"of": 10}, None]
    known[0] = '{"of":50}'
    assert [sent_stability() for _ in range(3)] == [{"of": 50}, {"of": 50}, None], (
        "sent twice in case a message is lost"
    )
    pool.close()


def test_each_message_without_the_requested_header_differs_from_the_one_before() -> None:
    pool = Executor(threads=1)
    queue = pool.queue()
    queue.close()  # nothing is computed
    state = GrowState(load, queue)
    state.refresh()
    run, inbox = state.run, Inbox()
    messages = []
    for _ in range(3):
        messages.append(grow_message(state, run, inbox))
        inbox.need = {"run": run.token, "header": True}
    assert all("header" not in json.loads(message) for message in messages)
    assert len(set(messages)) == 3
    queue.closed = False
    run.grant(1)
    assert run.wait(1, 60.0)
    assert "header" in json.loads(grow_message(state, run, inbox))
    pool.close()


@pytest.mark.parametrize("value", [True, "0.5", -0.1, 1.1, float("nan"), None])
def test_alpha_outside_0_to_1_is_ignored(value: object) -> None:
    assert share_of(value) is None


@pytest.mark.parametrize("value", [0, 0.37, 1])
def test_alpha_of_reservoir_within_0_to_1_is_used(value: float) -> None:
    assert share_of(value) == value
