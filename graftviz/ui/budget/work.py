"""Background jobs of the Budget page, shared between sessions with the same options."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from graftviz.learners.bounded_inference import BoundedInference
from graftviz.ui.background import Background
from graftviz.ui.budget.jobs import Path, RunProgress, pathing, run_progress
from graftviz.ui.budget.material import BudgetMaterial, dense_material, with_places
from graftviz.ui.budget.options import BOUNDS, DENSE, BudgetOptions
from graftviz.ui.caches import clearable_cache
from graftviz.ui.services import material, scheduler


class RunKey(NamedTuple):
    """Key of a run."""

    data: str
    seed: int
    complexity: str
    bound: float
    lam2: float


def run_key(options: BudgetOptions, bound: float | None = None) -> RunKey:
    """Return the run that settings lead to, or the same one under another bound."""
    tau = options.tau if bound is None else bound
    return RunKey(options.data, options.seed, options.complexity, float(tau), options.lam2)


@clearable_cache
@st.cache_resource(show_spinner="Loading the data…", max_entries=24)
def source(data: str, seed: int) -> BudgetMaterial:
    """Return what is learned from, and where its variables are drawn."""
    return dense_material(seed) if data == DENSE else with_places(material(data, seed))


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=200)
def bounded_run(key: RunKey) -> Background[RunProgress]:
    """Return a run under a bound; it begins when it is started."""
    learner = BoundedInference(complexity=key.complexity, bound=key.bound, lam2=key.lam2)
    return Background(run_progress(source(key.data, key.seed), learner), scheduler())


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=60)
def l1_path(data: str, seed: int, lam2: float, method: str) -> Background[Path]:
    """Return the λ path of nodewise ℓ₁ on the same data; it begins when it is started."""
    return Background(pathing(source(data, seed), lam2, method), scheduler())


def path_of(options: BudgetOptions) -> Background[Path]:
    """Return the λ path that the models of a page are compared with."""
    method = BOUNDS[options.complexity].method
    return l1_path(options.data, options.seed, options.lam2, method)
