"""Background jobs of the Dynamics page, shared between sessions of equal options.

Results of an uploaded series live as long as the series and are visible to its session only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from graftviz.dynamics import ScalableStructure
from graftviz.dynamics.all_regressions import AllRegressions, regress_all
from graftviz.ui.background import Background
from graftviz.ui.caches import cached_for, clearable_cache
from graftviz.ui.dynamics.jobs import (
    CurveRequest,
    Curves,
    Measured,
    Plan,
    RunProgress,
    curving,
    measuring,
    run_progress,
)
from graftviz.ui.dynamics.material import (
    DynamicsMaterial,
    UploadedSeries,
    generated,
    sampled,
    uploaded_material,
)
from graftviz.ui.dynamics.options import OF_SYSTEM, RANDOM, DynamicsOptions
from graftviz.ui.services import scheduler
from graftviz.ui.url_state import UPLOAD

_BY_IDENTITY: dict[str | type[Any], Callable[[Any], Any]] = {
    DynamicsMaterial: lambda material: material.identity,
    Plan: repr,
    CurveRequest: repr,
    ScalableStructure: repr,
}


def source(options: DynamicsOptions, files: UploadedSeries | None) -> DynamicsMaterial | None:
    """Return what settings say is learned from; None while a file is awaited."""
    if options.data == UPLOAD:
        return None if files is None else _of_upload(files, options.held_out)
    if options.data == RANDOM:
        decided = tuple(getattr(options, name) for name in OF_SYSTEM)
        return _generated(decided, options.held_out, options.seed)
    return _sampled(options.data, options.held_out)


@clearable_cache
@st.cache_resource(show_spinner="Simulating…", max_entries=24)
def _generated(decided: tuple[Any, ...], held_out: float, seed: int) -> DynamicsMaterial:
    chosen = dict(zip(OF_SYSTEM, decided, strict=True))
    return generated(DynamicsOptions(**chosen, held_out=held_out, seed=seed))


@clearable_cache
@st.cache_resource(show_spinner="Loading the series…", max_entries=24)
def _sampled(key: str, held_out: float) -> DynamicsMaterial:
    return sampled(key, held_out)


def _of_upload(files: UploadedSeries, held_out: float) -> DynamicsMaterial:
    def make() -> DynamicsMaterial:
        with st.spinner("Loading the series…"):
            return uploaded_material(files, held_out)

    return files.materials.get(held_out, make)


def run(material: DynamicsMaterial, plan: Plan) -> Background[RunProgress]:
    """Return a run for the picture; it begins when it is started."""
    return cached_for(_run, material, plan)


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=100, hash_funcs=_BY_IDENTITY)
def _run(material: DynamicsMaterial, plan: Plan) -> Background[RunProgress]:
    return Background(run_progress(material, plan), scheduler())


def measure(material: DynamicsMaterial, plan: Plan) -> Background[Measured | None]:
    """Return the measurement of a method; it begins when it is started."""
    return cached_for(_measure, material, plan)


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=200, hash_funcs=_BY_IDENTITY)
def _measure(material: DynamicsMaterial, plan: Plan) -> Background[Measured | None]:
    return Background(measuring(material, plan), scheduler())


def survey(
    material: DynamicsMaterial, learner: ScalableStructure, seed: int
) -> Background[AllRegressions | None]:
    """Return the regressions of all series, which neither k nor seeds change."""
    plain = replace(learner, parents=None, seeds=1.0, seed_choice="random", unspoken="common")
    return cached_for(_survey, material, plain, seed)


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=12, hash_funcs=_BY_IDENTITY)
def _survey(
    material: DynamicsMaterial, learner: ScalableStructure, seed: int
) -> Background[AllRegressions | None]:
    return Background(regress_all(material.train, learner, seed=seed), scheduler())


def curves(material: DynamicsMaterial, request: CurveRequest, seed: int) -> Background[Curves]:
    """Return the curves that follow from a survey that has ended."""
    return cached_for(_curves, material, request, seed)


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=200, hash_funcs=_BY_IDENTITY)
def _curves(material: DynamicsMaterial, request: CurveRequest, seed: int) -> Background[Curves]:
    regressions = survey(material, request.learner, seed).latest
    assert regressions is not None  # it has ended
    return Background(curving(material, regressions, request), scheduler())
