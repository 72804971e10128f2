"""Learned models of the Regions page: those of data sets and of runs of the Grow page."""

from __future__ import annotations

import streamlit as st

from graftviz.app.grow.options import GrowOptions
from graftviz.app.grow.state import GrowState, opened_grow_state
from graftviz.app.material import UPLOAD
from graftviz.app.models import (
    ModelSource,
    ShownModel,
    SourceOptions,
    inner_query,
    inner_text,
    learned_model,
    placed_model,
)
from graftviz.app.session import BUSY, LONGEST_WAIT, executor, last_value, material
from graftviz.app.url import parse_options_of
from graftviz.utils.errors import InputError

_USUAL_RUN = "default"  # the link of a run whose address is empty


@st.cache_resource(show_spinner="Learning the model…", max_entries=24)
def learned(data: str) -> ShownModel:
    """Return the result of best-choice edge grafting on a data set."""
    found = last_value(learned_model(material(data, 0)))
    assert found is not None  # the run has ended
    return found


def link_of_grow_page() -> str:
    """Return the address of the run on this session's Grow page; empty if there is none."""
    state = opened_grow_state()
    return "" if state is None or state.run is None else inner_text(state.link()) or _USUAL_RUN


def model_of_run(link: str) -> ShownModel:
    """Return the model of a run, which is repeated unless it is the run of the Grow page.

    Raises
    ------
    InputError
        When there is no run, or it cannot be repeated.
    """
    if not link:
        raise InputError("The Grow page has no run yet. Learn a model there, then choose it here.")
    return _load(link, opened_grow_state()) if link == link_of_grow_page() else _repeated(link)


@st.cache_resource(show_spinner="Repeating the run of the link…", max_entries=24)
def _repeated(link: str) -> ShownModel:
    return _load(link, None)


def _load(link: str, grow: GrowState | None) -> ShownModel:
    """Return the model of the step in a link, or of the end of the run, where it has none."""
    query = {} if link == _USUAL_RUN else inner_query(link)
    values, complaints = parse_options_of(GrowOptions, query)
    source = ModelSource(GrowState(material, executor().queue()), lambda: grow)
    source.take(SourceOptions(**values))
    source.refresh(LONGEST_WAIT)
    loaded, step = source.loaded, source.learned.values["step"]
    trouble = [*complaints, source.problem, source.learning and BUSY]
    if loaded is None or any(trouble):
        raise InputError(" ".join(filter(None, trouble)) or "No run available.")
    source.forget()
    note = f"Model of step {step} of the run." if step else source.warning
    return placed_model(
        f"run:{link}:{loaded.fingerprint}",
        loaded.model,
        loaded.places,
        has_natural_positions=loaded.keeps_shape,
        note=note,
        is_own=values["data"] == UPLOAD,
    )
