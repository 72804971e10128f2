"""Models that Inspect and Regions show: of a run, the true one of a data set, or from a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from graftviz.app.grow import GrowOptions, GrowState, opened_grow_state
from graftviz.app.jobs import EVERYTHING
from graftviz.app.material import FINGERPRINT_DIGITS, UPLOAD, SourceCache
from graftviz.app.runs import Loaded, SessionRun, fingerprint_of, recorded_model
from graftviz.app.session import BUSY, LONGEST_WAIT, executor, last_value, material
from graftviz.app.state import no_step_words
from graftviz.app.url import LinkReader, is_upload, parse_options_of, part
from graftviz.data.sets.registry import dataset_keys, model_path
from graftviz.data.synthetic.graphs import grid_graph, ising_grid
from graftviz.inference.local.marginal import promising_query
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.reading import read_model_file
from graftviz.reports.layout import static_layout
from graftviz.reports.results import Run
from graftviz.reports.words.phrases import plural
from graftviz.utils.errors import InputError

LEARNED, TRUE, FILE = "learned", "true", "file"
_FINGERPRINT = re.compile(rf"[0-9a-f]{{{FINGERPRINT_DIGITS}}}")
_MODELS = 4  # cached, so that one can return to a step
PATIENCE = 0.8  # seconds to wait for a run before the page shows its progress


def _read_model(link: LinkReader, values: Mapping[str, Any]) -> str:
    def read(text: str) -> str | None:
        text = text.lower()
        is_true = text == TRUE and not is_upload(values["data"])
        return text if is_true or _FINGERPRINT.fullmatch(text) else None

    rule = (
        f"The model must be {TRUE} (the model the data were sampled from) or the fingerprint of a "
        "file, not {}; showing a learned model."
    )
    return link.take("model", "", read, rule)


@dataclass(frozen=True)
class SourceOptions(GrowOptions):
    """Choice of a model: settings of a run on the Grow page, or another model instead.

    Attributes
    ----------
    model : str
        "true" is the true model of the data, a fingerprint the model of a file; empty for the run.
    """

    model: str = part("", _read_model, lambda text: {"model": text})


def inner_query(text: str) -> dict[str, str]:
    """Return the parameters of an address that is a value of another: ``name=value;name=value``."""
    parts = (part.partition("=") for part in text.split(";") if part)
    return {name.strip(): value for name, _, value in parts}


def inner_text(query: Mapping[str, str]) -> str:
    """Return the text that :func:`inner_query` reads."""
    return ";".join(f"{name}={text}" for name, text in query.items())


class ModelSource:
    """Source of one model of a page, and the model it gave last.

    Parameters
    ----------
    learned : GrowState
        Its own settings and runs.
    neighbour : callable
        Returns the state of the Grow page in this session, or None: its run is used if it has
        the same settings, instead of learning again.

    Attributes
    ----------
    kind : str
        "learned", "true" or "file".
    expected : str
        Fingerprint of the file that a link refers to, until a file is uploaded.
    loaded : Loaded or None
        The last model that could be loaded.
    problem : str
        Why that does not follow the settings; empty if it does.
    warning : str
        Sentence on a step that the run does not have; its end is shown instead.
    learning : str
        Sentence while the run is not long enough; empty otherwise.
    """

    def __init__(self, learned: GrowState, neighbour: Callable[[], GrowState | None]) -> None:
        self.learned = learned
        self.kind = LEARNED
        self.expected = ""
        self.loaded: Loaded | None = None
        self.problem = self.warning = self.learning = ""
        self._neighbour = neighbour
        self._file: Loaded | None = None
        self._cache = SourceCache(_MODELS)

    # ----------------------------------------------------------------------------------- settings

    @property
    def settings(self) -> SourceOptions:
        """Settings that the controls show."""
        if self.kind == TRUE:
            return SourceOptions(data=self.learned.values["data"], model=TRUE)
        if self.kind == FILE:
            fingerprint = self.expected if self._file is None else self._file.fingerprint
            return SourceOptions(model=fingerprint)
        return SourceOptions(**self.learned.values)

    def take(self, settings: SourceOptions) -> None:
        """Take the settings of a link."""
        self.kind = {"": LEARNED, TRUE: TRUE}.get(settings.model, FILE)
        self.learned.values = {name: getattr(settings, name) for name in self.learned.values}
        if self.kind == FILE:
            if self._file is not None and self._file.fingerprint != settings.model:
                self._file = None
            self.expected = settings.model if self._file is None else ""

    def choose_kind(self, kind: str) -> None:
        """Choose between a learned model, a true one, and a file."""
        self.kind = kind
        if kind == TRUE and self.learned.values["data"] not in self.true_data():
            self.learned.choose("data", self.true_data()[0])

    def data(self) -> tuple[str, ...]:
        """Return the data sets that can be chosen."""
        if self.kind == TRUE:
            return self.true_data()
        near, offered = self._neighbour(), dataset_keys()
        uploads = list(near.uploads) if near is not None else []
        uploads += [data for data in [self.learned.values["data"]] if data not in offered]
        return (*offered, *dict.fromkeys(uploads))

    def true_data(self) -> tuple[str, ...]:
        """Return the data sets that have a true model."""
        return tuple(key for key in dataset_keys() if model_path(key) is not None)

    def accept(self, file: Loaded) -> None:
        """Take an uploaded model."""
        if self._file is None or self._file.fingerprint != file.fingerprint:
            self._file = file
        self.expected = ""
        self.refresh()

    @property
    def awaits_file(self) -> bool:
        """Whether a model from a file is chosen, but no file has been uploaded."""
        return self.kind == FILE and self._file is None

    # ---------------------------------------------------------------------------------- the model

    def refresh(self, patience: float = PATIENCE) -> None:
        """Load the model of the settings; on failure set `problem` and keep the previous model.

        Parameters
        ----------
        patience : float
            Seconds to wait for a run before `learning` is set.
        """
        self.problem = self.warning = self.learning = ""
        try:
            if self.kind == LEARNED:
                found = self._learned(patience)
            else:
                found = self._true() if self.kind == TRUE else self._file
            self.loaded = found or self.loaded
        except InputError as error:
            self.problem = str(error)

    def forget(self) -> None:
        """Release runs and models except an uploaded one; `refresh` restores them."""
        self.learned.forget()
        if self._file is not None:
            self._file.own.clear()
        self.loaded = None
        self._cache.clear()

    @property
    def run(self) -> SessionRun | None:
        """The run of the settings; None while there is none."""
        settings = replace(self.learned.options, step=0)
        for page in (self._neighbour(), self.learned):
            if page and page.shown and replace(page.shown, step=0) == settings:
                return page.run
        return None

    def _true(self) -> Loaded:
        key = self.learned.values["data"]
        path = model_path(key)
        if path is None:
            raise InputError(f"No true model is available for {key}.")
        material = self.learned.current_material()
        assert material is not None  # the data have a model, so they are not uploaded
        title = f"True model of {material.name}"
        places = material.positions
        return self._cache.get(
            (TRUE, key),
            lambda: Loaded(read_model_file(path).model, title, (), places, places is not None),
        )

    def _learned(self, patience: float) -> Loaded | None:
        if self.run is None and is_upload(self.learned.values["data"]):
            self._borrow_table()
        if self.run is None:
            self.learned.refresh()
            self.problem = self.learned.problem or self.learned.question
        run, step = self.run, self.learned.values["step"]
        if run is None:
            return None
        run.grant()  # also beyond the step, so that all steps can be chosen
        run.wait(step or EVERYTHING, patience)
        if run.failure and not run.computed:
            raise InputError(run.failure)
        if not run.ended and (not step or run.computed < step):
            self.learning = f"Learning this model: {plural(run.computed, 'step')} so far."
            return None
        if step > run.computed:
            self.warning = no_step_words(step, run.computed)
            self.learned.values["step"] = 0
        at = min(step or run.computed, run.computed)
        return self._cache.get((run.token, at, run.ended), lambda: recorded_model(run, at))

    def _borrow_table(self) -> None:
        """Learn from the table uploaded on the Grow page."""
        near, learned = self._neighbour(), self.learned.values
        upload = near.uploads.get(learned["data"]) if near is not None else None
        expected = learned["fingerprint"]
        if near is None or upload is None:
            entry = self.learned.specs["data"].title_of(learned["data"])
            raise InputError(
                "This link refers to a model learned from an uploaded table. Upload the same table "
                f"on the Grow page first (“{entry}”)."
            )
        fingerprint = upload.fingerprint
        if expected and not fingerprint.startswith(expected):
            raise InputError(
                f"The table on the Grow page (fingerprint {fingerprint}) is not the one of the "
                f"link ({expected}). Upload that table there."
            )
        self.learned.uploaded = upload
        if not expected:
            reading = near.values["reading"] if near.values["data"] == learned["data"] else {}
            learned.update(fingerprint=fingerprint, reading=reading)


# ----------------------------------------------------------------------- models of the Regions page


MOST_VARIABLES = 3_000  # beyond, a region is too small to recognise
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
    has_natural_positions : bool
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
    model: PairwiseModel
    positions: np.ndarray
    has_natural_positions: bool
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
        has_natural_positions=True,
        usual_query=((side - 1) // 2) * (side + 1),  # in the middle
    )


def uploaded_model(model: PairwiseModel, notes: Sequence[str] = ()) -> ShownModel:
    """Return an uploaded model."""
    identity = f"{UPLOAD}:{fingerprint_of(model)}"
    return placed_model(identity, model, note=" ".join(notes), is_own=True)


def placed_model(
    identity: str,
    model: PairwiseModel,
    places: np.ndarray | None = None,
    *,
    has_natural_positions: bool = False,
    note: str = "",
    is_own: bool = False,
) -> ShownModel:
    """Return a model at the places of its variables, or laid out by its edges.

    Parameters
    ----------
    identity, model, has_natural_positions, note
        See :class:`ShownModel`.
    places : array, shape (n, 2), optional
    is_own : bool
        Whether its results belong to the session.

    Raises
    ------
    InputError
        When it is too large to be drawn.
    """
    if model.n_variables > MOST_VARIABLES:
        raise InputError(
            f"This model has {model.n_variables:,} variables; the page draws at most "
            f"{MOST_VARIABLES:,}. Use the command line: python -m graftviz local."
        )
    if places is None:
        places = static_layout(model.n_variables, model.edges)
    own = SourceCache() if is_own else None
    return ShownModel(
        identity, identity, model, places, has_natural_positions, promising_query(model), note, own
    )


@st.cache_resource(show_spinner="Learning the model…", max_entries=24)
def learned(data: str) -> ShownModel:
    """Return the result of best-choice edge grafting on a data set."""
    source = material(data, 0)
    run = Run(source.train, BestChoice(preset="best"), seed=0)
    last_value(iter(run.advance, False))
    return placed_model(
        f"learned:{source.identity}",
        run.result().model,
        source.places,
        has_natural_positions=source.positions is not None,
    )


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
        has_natural_positions=loaded.has_natural_positions,
        note=note,
        is_own=values["data"] == UPLOAD,
    )
