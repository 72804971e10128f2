"""Background jobs of the Dynamics page, shared between sessions with the same options.

What is computed of somebody's own series lasts as long as these, and nobody else comes to see it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from graftviz.dynamics import ScalableStructure
from graftviz.dynamics.all_regressions import AllRegressions, regress_all
from graftviz.ui.background import Background
from graftviz.ui.dynamics.jobs import (
    Asked,
    Curves,
    Measured,
    Plan,
    Told,
    curving,
    measuring,
    telling,
)
from graftviz.ui.dynamics.material import (
    BroughtSeries,
    DynamicsMaterial,
    brought,
    generated,
    sampled,
)
from graftviz.ui.dynamics.options import OF_SYSTEM, RANDOM, DynamicsOptions
from graftviz.ui.kept import own_or_shared
from graftviz.ui.services import scheduler
from graftviz.ui.shared import made_again
from graftviz.ui.url_state import UPLOAD

_BY_IDENTITY: dict[str | type[Any], Callable[[Any], Any]] = {
    DynamicsMaterial: lambda material: material.identity,
    Plan: repr,
    Asked: repr,
    ScalableStructure: repr,
}


def source(options: DynamicsOptions, files: BroughtSeries | None) -> DynamicsMaterial | None:
    """Return what settings say is learned from; None while a file is awaited."""
    if options.data == UPLOAD:
        return None if files is None else _brought(files, options.held_out)
    if options.data == RANDOM:
        decided = tuple(getattr(options, name) for name in OF_SYSTEM)
        return _generated(decided, options.held_out, options.seed)
    return _sampled(options.data, options.held_out)


@made_again
@st.cache_resource(show_spinner="Simulating…", max_entries=24)
def _generated(decided: tuple[Any, ...], held_out: float, seed: int) -> DynamicsMaterial:
    chosen = dict(zip(OF_SYSTEM, decided, strict=True))
    return generated(DynamicsOptions(**chosen, held_out=held_out, seed=seed))


@made_again
@st.cache_resource(show_spinner="Loading the series…", max_entries=24)
def _sampled(key: str, held_out: float) -> DynamicsMaterial:
    return sampled(key, held_out)


def _brought(files: BroughtSeries, held_out: float) -> DynamicsMaterial:
    def make() -> DynamicsMaterial:
        with st.spinner("Loading the series…"):
            return brought(files, held_out)

    return files.materials.get(held_out, make)


def told(material: DynamicsMaterial, plan: Plan) -> Background[Told]:
    """Return a run for the picture; it begins when it is started."""
    return own_or_shared(_told, material, plan)


@made_again
@st.cache_resource(show_spinner=False, max_entries=100, hash_funcs=_BY_IDENTITY)
def _told(material: DynamicsMaterial, plan: Plan) -> Background[Told]:
    return Background(telling(material, plan), scheduler())


def measure(material: DynamicsMaterial, plan: Plan) -> Background[Measured | None]:
    """Return the measurement of a method; it begins when it is started."""
    return own_or_shared(_measure, material, plan)


@made_again
@st.cache_resource(show_spinner=False, max_entries=200, hash_funcs=_BY_IDENTITY)
def _measure(material: DynamicsMaterial, plan: Plan) -> Background[Measured | None]:
    return Background(measuring(material, plan), scheduler())


def survey(
    material: DynamicsMaterial, learner: ScalableStructure, seed: int
) -> Background[AllRegressions | None]:
    """Return the regressions of all series, which neither k nor seeds change."""
    plain = replace(learner, parents=None, seeds=1.0, seed_choice="random", unspoken="common")
    return own_or_shared(_survey, material, plain, seed)


@made_again
@st.cache_resource(show_spinner=False, max_entries=12, hash_funcs=_BY_IDENTITY)
def _survey(
    material: DynamicsMaterial, learner: ScalableStructure, seed: int
) -> Background[AllRegressions | None]:
    return Background(regress_all(material.train, learner, seed=seed), scheduler())


def curves(material: DynamicsMaterial, asked: Asked, seed: int) -> Background[Curves]:
    """Return the curves that follow from a survey that has ended."""
    return own_or_shared(_curves, material, asked, seed)


@made_again
@st.cache_resource(show_spinner=False, max_entries=200, hash_funcs=_BY_IDENTITY)
def _curves(material: DynamicsMaterial, asked: Asked, seed: int) -> Background[Curves]:
    known = survey(material, asked.learner, seed).latest
    assert known is not None  # it has ended
    return Background(curving(material, known, asked), scheduler())
