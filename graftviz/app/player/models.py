"""Models with their positions, titles and notes for a view."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from graftviz.app.material import FINGERPRINT_DIGITS, UPLOAD, Material, SourceCache
from graftviz.app.player.recorders import Recorder
from graftviz.data.synthetic.graphs import grid_graph, ising_grid
from graftviz.inference.local.marginal import promising_query
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.layout import static_layout
from graftviz.reports.results import Run
from graftviz.reports.words.outcomes import quality_words
from graftviz.utils.errors import InputError

MOST_VARIABLES = 3_000  # beyond, a region is too small to recognise


@dataclass(frozen=True, eq=False)
class Loaded:
    """Model together with its title and positions.

    Attributes
    ----------
    model : PairwiseMRF
    title : str
    notes : tuple of str
        How its file was understood, or warnings about its data.
    places : array, shape (n, 2), or None
        Positions of the variables, 0 … 10000.
    keeps_shape : bool
        Whether these are positions as on a map.
    steps : sequence of int or None
        The step that activated each edge.
    own : SourceCache
        Cache of the results for the model.
    """

    model: PairwiseModel
    title: str
    notes: tuple[str, ...] = ()
    places: np.ndarray | None = None
    keeps_shape: bool = False
    steps: tuple[int, ...] | None = None
    own: SourceCache = field(default_factory=SourceCache, init=False, repr=False)

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of everything about the model."""
        return fingerprint_of(self.model)

    @property
    def identity(self) -> str:
        """Equal for equal models."""
        return self.fingerprint


def model_after(run: Run, step: int) -> PairwiseModel:
    """Return the model after a step of a run, or before the first; the last one is that of its end.

    Raises
    ------
    InputError
        When the run has no step.
    """
    if step == len(run.steps) and run.outcome is not None:
        return run.outcome.model()
    if not run.steps:
        raise InputError("This run has no steps yet.")
    return run.steps[-1].history.state_at(step).model


def recorded_model(recorder: Recorder, step: int) -> Loaded:
    """Return the model after a step of a run; that of the last step is the model of its end.

    Raises
    ------
    InputError
        When the run has no such step.
    """
    run, material = recorder.learned(), recorder.material
    if step == len(run.steps) and run.outcome is not None:
        history = run.outcome.history
        recorded, where = len(history.counts), f"end of the run, step {step}"
    elif step < 1:
        raise InputError("This run has no steps yet.")
    else:
        history, recorded, where = run.steps[step - 1].history, step, f"step {step}"
    notes = material.warnings
    if run.outcome is not None and step == len(run.steps):
        quality = run.result().quality
        notes = (*notes, quality_words(quality)) if quality else notes
    places: np.ndarray | list[int] | None = material.positions
    if places is None and recorder.header_json:
        places = json.loads(recorder.header_json).get("positions")
    if places is None:
        places = recorder.places
    preset = getattr(run.learner, "preset", None)
    learner = run.learner.title if preset is None else f"{run.learner.title} ({preset})"
    return Loaded(
        model=model_after(run, step),
        title=" · ".join((material.name, learner, where)),
        notes=notes,
        places=None if places is None else np.reshape(places, (-1, 2)),
        keeps_shape=material.positions is not None,
        steps=tuple(history.activated_in(e) for e in history.ids_at(recorded).tolist()),
    )


def fingerprint_of(model: PairwiseModel) -> str:
    """Return a fingerprint of everything about a model."""
    digest = hashlib.sha256()
    for array in (model.cardinalities, model.edges, model.weights):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(json.dumps([model.names, model.labels]).encode())
    return digest.hexdigest()[:FINGERPRINT_DIGITS]


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


def learned_model(material: Material) -> Iterator[ShownModel | None]:
    """Learn from a data set with the preset best; yield None after every step, the model last."""
    run = Run(material.train, BestChoice(preset="best"), seed=0)
    while run.advance():
        yield None
    identity, model = f"learned:{material.identity}", run.result().model
    is_natural = material.positions is not None
    yield placed_model(identity, model, material.places, has_natural_positions=is_natural)


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
    check_size(model)
    if places is None:
        places = static_layout(model.n_variables, model.edges)
    own = SourceCache() if is_own else None
    return ShownModel(
        identity, identity, model, places, has_natural_positions, promising_query(model), note, own
    )


def check_size(model: PairwiseModel) -> None:
    """Raise :class:`InputError` for a model too large to be drawn."""
    if model.n_variables > MOST_VARIABLES:
        raise InputError(
            f"This model has {model.n_variables:,} variables; the page draws at most "
            f"{MOST_VARIABLES:,}. Use the command line: python -m graftviz local."
        )
