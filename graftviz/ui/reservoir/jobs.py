"""Jobs of the Reservoir page, shared between sessions of equal options."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TypeVar

import streamlit as st

from graftviz.datasets import load_dataset
from graftviz.errors import InputError
from graftviz.ranks import RankedStep, RankSimulation, ranked_steps, simulated_ranks
from graftviz.ui.background import Background
from graftviz.ui.services import scheduler
from graftviz.ui.visits import clearable_cache
from graftviz.ui.warm_up import SAMPLED_DATA

RUN_ALPHA = 0.75  # of the run itself; the chart applies other α to its reservoirs
LONGEST_WAIT = 300.0  # seconds; a first run on a busy machine may have to be compiled
T = TypeVar("T")


def rehearse_reservoir_page() -> None:
    """Do once, on few variables, whatever the page asks for: what is compiled now is not later."""
    deque(simulated_ranks(3, 2, 1), maxlen=0)
    data = load_dataset(SAMPLED_DATA)
    for size, tests in ((20, 60), (1, 1)):
        steps = ranked_steps(data.table, reservoir=size, t_max=tests, lam=data.suggested.get("lam"))
        deque(steps, maxlen=0)


@clearable_cache
@st.cache_resource(show_spinner="Simulating…", max_entries=32)
def simulation(variables: int, largest: int, trials: int, seed: int) -> RankSimulation:
    """Return the finished simulation."""
    found = _last(simulated_ranks(variables, largest, trials, seed))
    assert found is not None  # there is at least one trial
    return found


@clearable_cache
@st.cache_resource(show_spinner="Learning and ranking all pairs…", max_entries=64)
def run(data: str, reservoir: int, tests: int, seed: int) -> tuple[RankedStep, ...]:
    """Return all steps of a run; one place in R and one test per step give first hit."""
    loaded = load_dataset(data)
    steps = ranked_steps(
        loaded.table,
        reservoir=reservoir,
        t_max=tests,
        alpha=RUN_ALPHA,
        lam=loaded.suggested.get("lam"),
        seed=seed,
    )
    return _last(steps) or ()


def _last(values: Iterator[T]) -> T | None:
    work = Background(values, scheduler())
    work.grant()
    if not work.wait_for_end(LONGEST_WAIT):
        work.revoke()
        raise InputError("The server is too busy to finish this now; try again later.")
    if work.failure:
        raise InputError(work.failure)
    return work.latest
