"""Jobs of the Reservoir page, shared between sessions of equal options."""

from __future__ import annotations

import streamlit as st

from graftviz.datasets import load_dataset
from graftviz.ranks import RankedStep, RankSimulation, ranked_steps, simulated_ranks
from graftviz.ui.frame.jobs import last_value
from graftviz.ui.visits import clearable_cache

RUN_ALPHA = 0.75  # of the run itself; the chart applies other α to its reservoirs


@clearable_cache
@st.cache_resource(show_spinner="Simulating…", max_entries=32)
def simulation(variables: int, largest: int, trials: int, seed: int) -> RankSimulation:
    """Return the finished simulation."""
    found = last_value(simulated_ranks(variables, largest, trials, seed))
    assert found is not None  # there is at least one trial
    return found


@clearable_cache
@st.cache_resource(show_spinner="Learning and ranking all pairs…", max_entries=64)
def run(data: str, reservoir: int, tests: int, seed: int) -> tuple[RankedStep, ...]:
    """Return all steps of a run; one place in R and one test per step give first hit."""
    loaded = load_dataset(data)
    lam = loaded.suggested.get("lam")
    steps = ranked_steps(
        loaded.table, reservoir=reservoir, t_max=tests, alpha=RUN_ALPHA, lam=lam, seed=seed
    )
    return last_value(steps) or ()
