"""Models of the Regions page: a grid, a learned model, that of a run, or one from a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import streamlit as st

from graftviz.errors import InputError
from graftviz.formats.model_records import ModelFile
from graftviz.layout import static_layout
from graftviz.learners.best_choice import BestChoice
from graftviz.material import UPLOAD, Material, SourceCache
from graftviz.model import PairwiseMRF
from graftviz.regions.overview import promising_query
from graftviz.runs import Run
from graftviz.sampling.graphs import grid_graph
from graftviz.sampling.ising import ising_grid
from graftviz.ui.frame.jobs import BUSY, LONGEST_WAIT, last_value
from graftviz.ui.grow.options import GrowOptions
from graftviz.ui.grow.state import GrowState, opened_grow_state
from graftviz.ui.model_source import (
    ModelSource,
    SourceOptions,
    fingerprint_of,
    inner_query,
    inner_text,
)
from graftviz.ui.services import material, scheduler
from graftviz.ui.url_state import parse_options_of
from graftviz.ui.visits import clearable_cache

MOST_VARIABLES = 3_000  # beyond, the region is too small to be seen
_JOBS = 60  # kept of a model that is not shared
_USUAL_RUN = "default"  # the link of a run whose address is empty


@dataclass(frozen=True, eq=False)
class ShownModel:
    """Model together with its positions, title and default query.

    Attributes
    ----------
    identity : str
        Equal for equal models.
    picture : str
        Equal for models with the same graph at the same positions.
    model : PairwiseMRF
    positions : array, shape (n, 2)
        0 … 10000, y downwards.
    given : bool
        Whether the positions come with the model, so that their aspect ratio is preserved.
    usual_query : int
        The query until one is chosen.
    note : str
        Sentences under the picture.
    own : SourceCache or None
        Cache of the results for an uploaded model, or a model learned from an uploaded table;
        None for models whose results are shared.
    """

    identity: str
    picture: str
    model: PairwiseMRF
    positions: np.ndarray
    given: bool
    usual_query: int
    note: str = ""
    own: SourceCache | None = None

    @property
    def fingerprint(self) -> str:
        """Hash of an uploaded model, as in links."""
        return self.identity.partition(":")[2]


def grid_model(side: int, field: float, coupling: float, seed: int) -> ShownModel:
    """Return an Ising grid; its picture does not depend on the strengths."""
    positions = grid_graph(side, side).positions
    assert positions is not None  # a grid has places
    return ShownModel(
        identity=f"grid:{side}:{field!r}:{coupling!r}:{seed}",
        picture=f"grid:{side}:{seed}",
        model=ising_grid(side, side, field=field, coupling=coupling, seed=seed),
        positions=positions,
        given=True,
        usual_query=((side - 1) // 2) * (side + 1),  # in the middle
    )


@clearable_cache
@st.cache_resource(show_spinner="Learning the model…", max_entries=24)
def learned(data: str) -> ShownModel:
    """Return what best-choice edge grafting learns from a data set."""
    found = last_value(_learning(material(data, 0)))
    assert found is not None  # the run has ended
    return found


def _learning(material: Material) -> Iterator[ShownModel | None]:
    run = Run(material.train, BestChoice(preset="best"), seed=0)
    while run.advance():
        yield None
    identity, model = f"learned:{material.identity}", run.result().model
    is_given = material.positions is not None
    yield placed_model(identity, model, material.places, given=is_given)


def uploaded_model(found: ModelFile) -> ShownModel:
    """Return an uploaded model."""
    identity, note = f"upload:{fingerprint_of(found.model)}", " ".join(found.notes)
    return placed_model(identity, found.model, note=note, is_own=True)


def placed_model(
    identity: str,
    model: PairwiseMRF,
    places: np.ndarray | None = None,
    *,
    given: bool = False,
    note: str = "",
    is_own: bool = False,
) -> ShownModel:
    """Return a model at the places of its variables, or laid out by its edges.

    Parameters
    ----------
    identity, model, given, note
        See :class:`ShownModel`.
    places : array, shape (n, 2), optional
    is_own : bool
        Whether its results belong to the session.

    Raises
    ------
    InputError
        When it is too large to be drawn.
    """
    check_size(model)
    if places is None:
        places = static_layout(model.n_variables, model.edges)
    own = SourceCache(_JOBS) if is_own else None
    return ShownModel(identity, identity, model, places, given, promising_query(model), note, own)


def link_of_grow_page() -> str:
    """Return the address of the run on this session's Grow page; empty if there is none."""
    state = opened_grow_state()
    return "" if state is None or state.run is None else inner_text(state.link()) or _USUAL_RUN


def model_of_run(link: str) -> ShownModel:
    """Return the model of a run, which is repeated unless it is the one on the Grow page.

    Raises
    ------
    InputError
        When there is no run, or it cannot be repeated.
    """
    if not link:
        raise InputError("The Grow page has no run yet. Learn a model there, then choose it here.")
    return _load(link, opened_grow_state()) if link == link_of_grow_page() else _repeated(link)


@clearable_cache
@st.cache_resource(show_spinner="Repeating the run of the link…", max_entries=24)
def _repeated(link: str) -> ShownModel:
    return _load(link, None)


def _load(link: str, grow: GrowState | None) -> ShownModel:
    """Return the model of the step in a link, or of the end of the run, where it has none."""
    query = {} if link == _USUAL_RUN else inner_query(link)
    values, complaints = parse_options_of(GrowOptions, query)
    source = ModelSource(GrowState(material, scheduler().share()), lambda: grow)
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
        given=loaded.keeps_shape,
        note=note,
        is_own=values["data"] == UPLOAD,
    )


def check_size(model: PairwiseMRF) -> None:
    """Raise :class:`InputError` for a model too large to be looked at."""
    if model.n_variables > MOST_VARIABLES:
        raise InputError(
            f"This model has {model.n_variables:,} variables; the page draws at most "
            f"{MOST_VARIABLES:,}. Use the command line: python -m graftviz local."
        )
