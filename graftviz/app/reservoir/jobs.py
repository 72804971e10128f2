"""Jobs of the Reservoir page, shared between sessions of equal options."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from graftviz.app.session import last_value
from graftviz.data.sets.registry import load_dataset
from graftviz.data.table import DiscreteTable
from graftviz.evaluation.reservoir import (
    RankedStep,
    RankSimulation,
    ranked_learner,
    ranked_steps,
    simulated_ranks,
)
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.results import Run

RUN_ALPHA = 0.75  # of the run itself; the chart applies other α to its reservoirs


@st.cache_resource(show_spinner="Simulating…", max_entries=32)
def simulation(variables: int, largest: int, trials: int, seed: int) -> RankSimulation:
    """Return the finished simulation."""
    found = last_value(simulated_ranks(variables, largest, trials, seed))
    assert found is not None  # there is at least one trial
    return found


@st.cache_resource(show_spinner="Learning and ranking all pairs…", max_entries=64)
def run(data: str, reservoir: int, tests: int, seed: int) -> tuple[RankedStep, ...]:
    """Return all steps of a run; one place in R and one test per step give first hit."""
    loaded = load_dataset(data)
    lam = loaded.suggested.get("lam")
    steps = ranked_steps(
        loaded.table, reservoir=reservoir, t_max=tests, alpha=RUN_ALPHA, lam=lam, seed=seed
    )
    return last_value(steps) or ()


def learner_of(data: str, reservoir: int, tests: int) -> BestChoice:
    """Return the learner of a run."""
    return ranked_learner(reservoir, tests, RUN_ALPHA, load_dataset(data).suggested.get("lam"))


@st.cache_resource(show_spinner="Learning the model…", max_entries=24)
def model(data: str, reservoir: int, tests: int, seed: int) -> PairwiseModel:
    """Return the model that a run learns."""
    found = last_value(_learned(load_dataset(data).table, learner_of(data, reservoir, tests), seed))
    assert found is not None  # the run has ended
    return found


def _learned(
    table: DiscreteTable, learner: BestChoice, seed: int
) -> Iterator[PairwiseModel | None]:
    run = Run(table, learner, seed=seed)
    while run.advance():
        yield None
    yield run.result().model
