"""Session state of the Budget page: links, the shown run, the previous run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
from fakes import Idle

from graftviz import InputError, NodewiseL1
from graftviz.app.budget import (
    MODELS_AT_A_TIME,
    BoundedProgress,
    BudgetMaterial,
    BudgetOptions,
    BudgetState,
    ShownBudget,
    dense_material,
    pathing,
    slider_of,
)
from graftviz.app.jobs import Job
from graftviz.evaluation.tradeoff import BOUNDS, MeasuredPath
from graftviz.learning.bounded.bounded_inference import MEASURES


class Engine:
    """Runs by their settings; a bound of 7 is refused, a bound of 8 fails at its start."""

    def __init__(self) -> None:
        self.scheduler = Idle()
        self.runs: dict[Any, Job[BoundedProgress]] = {}
        self.path: Job[MeasuredPath] = Job(iter([MeasuredPath()]), self.scheduler.queue())

    def run_of(self, options: BudgetOptions, bound: float | None) -> Job[BoundedProgress]:
        tau = options.tau if bound is None else bound
        if tau == 7:
            raise InputError("That cannot be had.")
        key = (options.data, options.complexity, tau, options.lam2, options.seed)
        if key not in self.runs:
            self.runs[key] = Job(_progress(tau), self.scheduler.queue())
        return self.runs[key]


def _progress(tau: float) -> Iterator[BoundedProgress]:
    if tau == 8:
        raise InputError("There are no rows.")
    yield BoundedProgress(({"edge": None},))
    yield BoundedProgress(({"edge": None}, {"edge": [0, int(tau)]}), stop="done")


class State(BudgetState):
    """State with jobs of the engine of the test."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine

    def job_of(self, shown: ShownBudget, bound: float | None = None) -> Job[BoundedProgress]:
        return self._engine.run_of(shown.options, bound)

    def path_of(self, shown: ShownBudget) -> Job[MeasuredPath]:
        return self._engine.path


@pytest.fixture
def engine() -> Engine:
    return Engine()


def opened(engine: Engine, **query: str) -> BudgetState:
    state = State(engine)
    state.follow(query)
    state.refresh()
    assert state.run is not None  # as in the page
    return state


def test_every_measure_has_bounds_and_a_ladder_within_them() -> None:
    assert set(BOUNDS) == set(MEASURES)
    for measure, bounds in BOUNDS.items():
        assert all(bounds.least <= tau <= bounds.most for tau in (*bounds.ladder, bounds.usual))
        assert slider_of(measure).default == bounds.usual
        assert BudgetOptions(complexity=measure).tau == bounds.usual


def test_another_bound_keeps_previous_run_and_other_data_do_not(engine: Engine) -> None:
    state = opened(engine)
    engine.scheduler.work_all()
    state.choose("bound", 2)
    state.refresh()
    assert state.before.options.tau == 3
    assert state.ghost.steps[-1]["edge"] == [0, 3]
    engine.scheduler.work_all()
    state.choose("seed", 1)
    state.refresh()
    assert state.ghost is None


@pytest.mark.parametrize(("tau", "message"), [(7, "cannot be had"), (8, "no rows")])
def test_refused_run_leaves_shown_run_unchanged(engine: Engine, tau: int, message: str) -> None:
    state = opened(engine)
    engine.scheduler.work_all()
    state.choose("bound", tau)
    state.refresh()
    if state.run is not None and not state.run.ended:
        state.run.work(0.0)
    state.refresh()
    assert state.run.latest.steps[-1]["edge"] == [0, 3]
    assert message in state.problem
    state.choose("bound", 4)
    state.refresh()
    assert state.problem == ""
    assert state.shown.options.tau == 4


def test_models_of_charts_are_learned_two_at_a_time(engine: Engine) -> None:
    state = opened(engine)
    looks = 0
    while not state.compared().is_complete:
        assert len(engine.scheduler.waiting) <= MODELS_AT_A_TIME
        engine.scheduler.work_all()
        looks += 1
    runs, path, _ = state.compared()
    assert len(runs) == len(state.ladder(state.shown))
    assert path is not None
    assert looks >= len(state.ladder(state.shown)) // MODELS_AT_A_TIME


# Records of the player of the Budget page.


@pytest.fixture(scope="module")
def source() -> BudgetMaterial:
    return dense_material(1, variables=7, rows=200)


def test_path_starts_with_truth_and_lambda_decreases(source: BudgetMaterial) -> None:
    path = deque(pathing(source, 0.0, "exact"), maxlen=1)[0]
    first, *rest = path.points
    assert first.family == "truth"
    assert first.edges == len(source.model.edges)
    lams = [point.setting for point in rest]
    assert lams == sorted(lams, reverse=True)
    assert all(point.family == "l1" for point in rest)
    assert NodewiseL1(lam=lams[-1])  # a λ that the learner accepts
