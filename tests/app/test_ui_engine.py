"""Compilation ahead of use: coverage of later work, and pages during compilation."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable

import numba
import numpy as np
import pytest
from fakes import Idle, random_table
from streamlit.testing.v1 import AppTest

from graftviz import BestChoice, PairwiseMRF, load_dataset
from graftviz.app import (
    engine as engine_module,
    inspect,
    reservoir as reservoir_module,
)
from graftviz.app.engine import WarmUp
from graftviz.app.material import PAGE_PRESET, Material, prepare
from graftviz.app.models import grid_model
from graftviz.app.regions import COUPLINGS, FIELDS
from graftviz.app.regions_records import RegionQuery, answering, growing
from graftviz.app.runs import Loaded, PlayerRun, RunPlan, new_run
from graftviz.app.warming import (
    KernelJob,
    first_jobs,
    later_jobs,
    warm_inspection,
    warm_regions,
    warm_reservoir,
)
from graftviz.data.sets.dataset import DataSet
from graftviz.data.sets.registry import network_sample
from graftviz.data.synthetic.graphs import grid_graph, karate_graph, les_miserables_graph
from graftviz.data.synthetic.potentials import random_model
from graftviz.evaluation.reservoir import RankSimulation, ranked_steps, simulated_ranks
from graftviz.inference.local.influence import coefficient_map
from graftviz.inference.queries import CHOICES, answer_steps
from graftviz.learning.base import Learner
from graftviz.learning.registry import learner_class, learner_names
from graftviz.utils.options import option_specs
from tests.app_pages import page_at
from tests.compiled import signatures


def other_data(*, known: bool) -> DataSet:
    """Return variables of different sizes, some of them constant, without held-out rows."""
    return DataSet(
        key="other",
        title="",
        table=random_table(5, 12, 300),
        truth=np.array([(0, 1), (2, 3)]) if known else None,
        positions=None,
        description="",
    )


def jobs(*functions: Callable[[], object]) -> list[KernelJob]:
    """Return a job for each function."""
    return [KernelJob("a test", function) for function in functions]


@pytest.fixture(scope="module")
def warm() -> None:
    for job in (*first_jobs(), *later_jobs()):
        job()


def watch(learner: Learner, *, known: bool) -> None:
    """Compute a run as the page does."""
    material = prepare(other_data(known=known), seed=1)
    recorder = PlayerRun(new_run(RunPlan("other", learner, 1), material), material, "t", Idle())
    steps = 0
    while recorder.advance():
        steps += 1
        recorder.record(steps)
    recorder.header()
    recorder.outcome()
    recorder.result()
    recorder.answer({"kind": "pair", "i": 2, "j": 4, "t": 0})
    recorder.answer({"kind": "node", "i": 0, "t": steps})


def ask_for_regions() -> None:
    """Compute regions as the page does for a selected node."""
    material = prepare(other_data(known=False), seed=1)
    plan = RunPlan("other", BestChoice(lam=1e-6, lam2=0.01, preset="paper"), 1)
    recorder = PlayerRun(new_run(plan, material), material, "t", Idle())
    steps = 0
    while recorder.advance() and steps < 40:
        steps += 1
    for cut in ("drop", "mean-field"):
        for i in range(12):
            reply = recorder.answer({"kind": "node", "i": i, "t": steps, "region": {"cut": cut}})
            assert "error" not in reply["region"]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", learner_names())
def test_after_the_warm_up_nothing_is_left_to_compile(warm: None, name: str, known: bool) -> None:
    before = signatures()
    cls = learner_class(name)
    watch(cls(), known=known)
    if any(spec.name == "preset" for spec in option_specs(cls)):
        watch(cls(preset=PAGE_PRESET), known=known)
    ask_for_regions()
    assert signatures() == before


def test_the_page_opens_when_its_first_run_is_compiled() -> None:
    gate = threading.Event()
    done: list[int] = []
    behind = threading.Event()
    engine = WarmUp(
        jobs(lambda: done.append(1), gate.wait, lambda: done.append(2)), jobs(behind.wait)
    )
    assert not engine.ready.wait(0.05)
    gate.set()
    assert engine.ready.wait(60)
    assert done == [1, 2]
    assert not engine.finished.is_set()
    behind.set()
    assert engine.finished.wait(60)
    assert engine.seconds > 0


def test_the_time_left_is_that_of_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    monkeypatch.setattr(engine_module, "is_compiled", lambda _: False)
    engine = WarmUp([KernelJob("a test", gate.wait, 40.0)])
    assert engine.compiles
    assert engine.progress.share < 0.1
    assert engine.progress.seconds_left == pytest.approx(40, abs=1)
    engine._job_began -= 10
    assert engine.progress.share == pytest.approx(0.25, abs=0.05)
    assert engine.progress.seconds_left == pytest.approx(30, abs=2)
    engine._job_began -= 100
    assert engine.progress == (0.98, 1.0)
    gate.set()
    assert engine.finished.wait(60)
    assert engine.progress == (1.0, 0.0)


def test_opening_run_of_page_needs_first_jobs_only() -> None:
    for job in first_jobs():
        job()
    before = signatures()
    watch(BestChoice(preset=PAGE_PRESET), known=True)
    assert signatures() == before


def test_first_later_job_compiles_sampling() -> None:
    later_jobs()[0]()
    before = signatures()
    for graph in (karate_graph(), les_miserables_graph()):
        network_sample(graph, edge_sigma=0.5)
    assert signatures() == before


def test_failed_job_is_logged_and_others_continue(
    caplog: pytest.LogCaptureFixture,
) -> None:
    done: list[int] = []

    def broken() -> None:
        raise ArithmeticError("a bug")

    engine = WarmUp(jobs(broken), jobs(broken, lambda: done.append(1)))
    assert engine.finished.wait(60)
    assert engine.ready.is_set()
    assert done == [1]
    assert "ArithmeticError" in caplog.text


def page_of_engine(engine):
    """Show a page that needs an engine; Streamlit runs this source on its own."""
    import streamlit as st  # noqa: PLC0415

    from graftviz.app.engine import engine_is_ready  # noqa: PLC0415

    if engine_is_ready(engine, "race"):
        st.text("the page")


def test_compilation_error_is_shown_and_page_opens() -> None:
    def broken() -> None:
        raise numba.TypingError("cannot determine the type of 'x' in somebody/kernel.py")

    engine = WarmUp(jobs(broken))
    assert engine.finished.wait(60)
    page = AppTest.from_function(page_of_engine, args=(engine,), default_timeout=60).run()
    assert [text.value for text in page.text] == ["the page"]
    assert re.search(r"under reference [0-9a-f]{6}", page.warning[0].value)
    assert "somebody" not in page.warning[0].value


def use_reservoir() -> None:
    assert list(simulated_ranks(9, 5, 2))
    for data in ("scale-free-60", "les-miserables"):
        known = load_dataset(data)
        for reservoir, tests in ((5, 10), (1, 1)):
            lam = known.suggested["lam"]
            assert list(ranked_steps(known.table, reservoir=reservoir, t_max=tests, lam=lam))


def use_regions() -> None:
    model = random_model(grid_graph(5, 5).edges, [2, 4, 3, 2, 5] * 5, edge_sigma=0.4, seed=1)
    for expansion in ("greedy", "random", "norm"):
        for cut in ("drop", "mean-field"):
            assert list(growing(model, RegionQuery(3, expansion, cut, 0.0, 6, 0)))
    assert list(answering(model))
    next(coefficient_map(grid_model(4, 1.0, 1.0, 1).model, FIELDS, COUPLINGS))


def use_inspection() -> None:
    rng = np.random.default_rng(3)
    sizes = [1, 4, 2, 3, 2, 5]
    hard = np.where(rng.random((4, 2)) < 0.3, -np.inf, rng.normal(size=(4, 2)))
    model = PairwiseMRF.from_tables(
        [rng.normal(size=s) for s in sizes],
        {(1, 2): hard, (2, 3): rng.normal(size=(2, 3)), (1, 3): rng.normal(size=(4, 3))},
    )
    for method in CHOICES:
        for evidence in ({}, {1: 2, 4: 0}):
            assert list(answer_steps(model, evidence, method))
    assert list(inspect._region.__wrapped__(Loaded(model, ""), ((4, 1),), 2))


@pytest.mark.parametrize(
    ("warm_page", "use"),
    [
        (warm_reservoir, use_reservoir),
        (warm_regions, use_regions),
        (warm_inspection, use_inspection),
    ],
)
def test_after_its_job_a_page_has_nothing_left_to_compile(
    warm_page: Callable[[], None], use: Callable[[], None]
) -> None:
    warm_page()
    before = signatures()
    use()
    assert signatures() == before


@pytest.mark.parametrize("name", ["grow", "race", "prune", "reservoir"])
def test_link_opened_during_compilation_shows_progress(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    gate = threading.Event()
    engine = WarmUp(jobs(gate.wait))
    loaded: list[str] = []

    def load(key: str, seed: int) -> Material:
        loaded.append(key)
        return prepare(load_dataset(key), seed)

    def simulation(*options: int) -> RankSimulation:
        loaded.append("karate")
        return deque(simulated_ranks(*options), maxlen=1).pop()

    monkeypatch.setattr(engine_module, "warm_up", lambda *_page: engine)
    if name != "reservoir":
        monkeypatch.setattr(f"graftviz.app.{name}.material", load)
    monkeypatch.setattr(reservoir_module, "simulation", simulation)
    monkeypatch.setattr(engine_module, "QUIET_SECONDS", 0.0)
    page = page_at(name, data="karate").run()
    assert re.search(
        r"Compiling the engine, once per installation: \d+ %", page.get("progress")[0].proto.text
    )
    assert not loaded
    gate.set()
    assert engine.ready.wait(60)
    page.run()
    assert not page.get("progress")
    assert set(loaded) == {"karate"}


def test_page_can_be_opened_before_compilation_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "PATIENCE", 0.0)
    monkeypatch.setattr(engine_module, "QUIET_SECONDS", 0.0)
    gate = threading.Event()
    engine = WarmUp(jobs(gate.wait))
    page = AppTest.from_function(page_of_engine, args=(engine,), default_timeout=60).run()
    assert not page.text
    page.button(key="engine.open").click().run()
    assert [text.value for text in page.text] == ["the page"]
    gate.set()
