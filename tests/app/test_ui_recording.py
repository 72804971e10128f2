"""The recorded run that is shown while the engine is compiled."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable, Iterator

import pytest
from app_pages import is_compiling, page_at, run_while
from fakes import Idle
from streamlit.testing.v1 import AppTest

from graftviz import InputError, load_dataset
from graftviz.app import engine as engine_module
from graftviz.app.engine import WarmUp
from graftviz.app.grow import GrowState
from graftviz.app.jobs import Executor
from graftviz.app.material import Material, prepare
from graftviz.app.recording import COMPILING, RecordedRun, record_run, recording
from graftviz.app.runs import PlayerRun, recorded_model
from graftviz.app.warming import KernelJob
from graftviz.reports.results import Run
from graftviz.reports.texts import catalogue, page_text
from tests.golden.comparison import comparable, differences

QUESTION = {"kind": "node", "i": 0, "t": 5}


Open = Callable[[Callable[[str, int], Material]], GrowState]


@pytest.fixture
def open_state() -> Iterator[Open]:
    """Return a function that opens a page without an engine on loaded data."""
    pool = Executor(1)

    def open_it(load: Callable[[str, int], Material]) -> GrowState:
        state = GrowState(load, pool.queue())
        state.has_engine = False
        state.refresh()
        return state

    yield open_it
    pool.close()


@pytest.fixture
def opened(open_state: Open) -> GrowState:
    """Return the state of the page when it is opened."""
    return open_state(lambda key, seed: prepare(load_dataset(key), seed))


def test_recording_equals_run_of_engine() -> None:
    recorded, found = (
        comparable(json.loads(json.dumps(one._asdict()))) for one in (recording(), record_run())
    )
    assert len(recorded["records"]) > 20
    assert list(differences(recorded, found)) == []


def test_the_page_opens_with_the_recorded_run(opened: GrowState) -> None:
    assert isinstance(opened.run, RecordedRun)
    assert not opened.awaits_engine
    opened.values["step"] = 7
    assert opened.is_recorded


@pytest.mark.parametrize(
    ("name", "value"),
    [("alpha", 0.5), ("seed", 1), ("data", "karate"), ("learner", "chow-liu"), ("compare", True)],
)
def test_other_settings_wait_for_the_engine(opened: GrowState, name: str, value: object) -> None:
    before = opened.run
    opened.choose(name, value)
    opened.refresh()
    assert opened.awaits_engine
    assert opened.run is before
    opened.has_engine = True
    opened.refresh()
    assert not opened.awaits_engine
    assert opened.run is not before
    assert not isinstance(opened.run, RecordedRun)


def test_recording_is_not_shown_for_changed_data(open_state: Open) -> None:
    def load(key: str, seed: int) -> Material:
        return prepare(dataclasses.replace(load_dataset(key), truth=None), seed)

    assert not isinstance(open_state(load).run, RecordedRun)


def test_answers_of_recording_equal_those_of_run(opened: GrowState) -> None:
    recorded = opened.run
    assert list(recorded.records())
    assert recorded.answer(QUESTION) == {"error": COMPILING, "again": True}
    for ask in (recorded.result, lambda: recorded_model(recorded, 5)):
        with pytest.raises(InputError, match="being compiled"):
            ask()
    opened.has_engine = True
    run = Run(recorded.run.table, recorded.run.learner, test=recorded.run.test)
    plain = PlayerRun(run, recorded.material, "", Idle())
    steps = list(plain.records())
    assert recorded.answer(QUESTION) == plain.answer(QUESTION)
    assert recorded.result().model.edges.tolist() == plain.result().model.edges.tolist()
    assert recorded_model(recorded, 5).model.edges.tolist() == run.steps[4].active_edges().tolist()
    assert len(steps) == len(recording().records)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Return an event that ends the compilation of the engine."""
    gate = threading.Event()
    engine = WarmUp([KernelJob("", gate.wait)])
    monkeypatch.setattr(engine_module, "warm_up", lambda *_page: engine)
    monkeypatch.setattr(engine_module, "QUIET_SECONDS", 0.0)
    yield gate
    gate.set()


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.caption)


def test_a_page_plays_the_recorded_run_and_a_moved_control_waits(
    compiler: threading.Event,
) -> None:
    app = page_at("grow").run()
    assert "Recorded run · engine" in captions(app)
    state = app.session_state["grow"]
    recorded = state.run
    assert recorded.wait_for_end(60)
    assert recorded.computed == len(recording().records)
    app.slider(key="option.alpha").set_value(0.5).run()
    assert app.info[0].value == catalogue("grow")["engine"]["awaiting"]
    assert state.run is recorded
    compiler.set()
    run_while(app, lambda: is_compiling(app))
    assert not app.info
    assert "Recorded" not in captions(app)
    assert state.run is not recorded
    assert state.run.run.learner.alpha == 0.5


@pytest.mark.parametrize("page", ["race", "reservoir", "regions", "prune", "budget", "dynamics"])
def test_other_pages_show_explanation_while_engine_compiles(
    compiler: threading.Event, page: str
) -> None:
    app = page_at(page).run()
    assert app.get("progress")
    assert page_text(page).explanation.strip() in [element.value for element in app.markdown]
