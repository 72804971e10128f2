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
from graftviz.model import PairwiseMRF
from graftviz.player.recorders import RunRecorder
from graftviz.regions.overview import promising_query
from graftviz.runs import Run
from graftviz.sampling.graphs import grid_graph
from graftviz.sampling.ising import ising_grid
from graftviz.ui.frame.jobs import BUSY, EVERYTHING, LONGEST_WAIT, last_value
from graftviz.ui.grow.state import GrowState, opened_grow_state
from graftviz.ui.material import Material
from graftviz.ui.model_source import fingerprint_of
from graftviz.ui.services import material, scheduler
from graftviz.ui.url_state import UPLOAD
from graftviz.ui.visits import SourceCache, clearable_cache

MOST_VARIABLES = 3_000  # beyond, the region is too small to be seen
_WORKS = 60  # kept of a model that is not shared
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
    yield learned_model(run.result().model, material, f"learned:{material.identity}")


def learned_model(
    model: PairwiseMRF, material: Material, identity: str, note: str = ""
) -> ShownModel:
    """Return a learned model at the places its variables have on the Grow page."""
    own = SourceCache(_WORKS) if material.is_uploaded else None
    return _shown_model(identity, model, note, own, material.positions, material.truth)


def uploaded_model(found: ModelFile) -> ShownModel:
    """Return an uploaded model."""
    identity = f"upload:{fingerprint_of(found.model)}"
    return _shown_model(identity, found.model, " ".join(found.notes), SourceCache(_WORKS))


def _shown_model(
    identity: str,
    model: PairwiseMRF,
    note: str,
    own: SourceCache | None,
    positions: np.ndarray | None = None,
    truth: np.ndarray | None = None,
) -> ShownModel:
    """Return a model with its known positions, or laid out by the true or else its own edges.

    Raises
    ------
    InputError
        When it is too large to be drawn.
    """
    check_size(model)
    edges = model.edges if truth is None or len(truth) == 0 else truth
    places = static_layout(model.n_variables, edges) if positions is None else positions
    is_given, query = positions is not None, promising_query(model)
    return ShownModel(identity, identity, model, places, is_given, query, note, own)


def link_of_grow_page() -> str:
    """Return the address of the run on this session's Grow page; empty if there is none."""
    state = opened_grow_state()
    return "" if state is None or state.run is None else _query_text(state)


def _query_text(state: GrowState) -> str:
    # One value of our address; what is in it has no semicolons, and needs no escapes of its own.
    return ";".join(f"{name}={text}" for name, text in state.link().items()) or _USUAL_RUN


def model_of_run(link: str) -> ShownModel:
    """Return the model of a run, which is repeated unless it is the one on the Grow page.

    Raises
    ------
    InputError
        When there is no run, or it cannot be repeated.
    """
    if not link:
        raise InputError("The Grow page has no run yet. Learn a model there, then choose it here.")
    here = opened_grow_state()
    is_here = here is not None and here.run is not None and _query_text(here) == link
    return _model_of(here, link) if here and is_here else _run_again(link)


@clearable_cache
@st.cache_resource(show_spinner="Repeating the run of the link…", max_entries=24)
def _run_again(link: str) -> ShownModel:
    pairs = [] if link == _USUAL_RUN else [part.partition("=") for part in link.split(";")]
    if not all(name and text for name, _, text in pairs):
        raise InputError("The run in the link is truncated or damaged.")
    state = GrowState(material, scheduler().share())
    state.follow({name: text for name, _, text in pairs})
    state.refresh()
    if state.values["data"] == UPLOAD:
        raise InputError(
            "This link refers to a model learned from an uploaded table. Upload the same table on "
            "the Grow page, learn from it, and choose its run here."
        )
    trouble = " ".join(filter(None, [*state.complaints, state.problem, state.question]))
    if state.run is None or trouble:
        raise InputError(trouble or "No run available.")
    return _model_of(state, link)


def _model_of(state: GrowState, link: str) -> ShownModel:
    """Return the model of the step on show, or of the end where that is the start."""
    run, at = state.run, state.values["step"]
    assert run is not None
    assert state.material is not None
    run.grant(EVERYTHING)
    if not run.wait_for_end(LONGEST_WAIT):
        raise InputError(BUSY)
    identity = f"run:{link}:{run.computed}"
    if not (isinstance(run.recorder, RunRecorder) and 0 < at < run.computed):
        return learned_model(run.result().model, state.material, identity)
    model = run.recorder.run.steps[at - 1].model()
    return learned_model(model, state.material, identity, f"Model of step {at} of the run.")


def check_size(model: PairwiseMRF) -> None:
    """Raise :class:`InputError` for a model too large to be looked at."""
    if model.n_variables > MOST_VARIABLES:
        raise InputError(
            f"This model has {model.n_variables:,} variables; the page draws at most "
            f"{MOST_VARIABLES:,}. Use the command line: python -m graftviz local."
        )
