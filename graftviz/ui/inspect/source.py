"""Where a model to inspect comes from: a run, the truth behind a sample, or a file.

Settings that cannot be used leave the model on show alone and say why. Nothing here knows
Streamlit.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graftviz.datasets import model_path
from graftviz.errors import InputError
from graftviz.formats.model_records import ModelFile
from graftviz.formats.models import read_model
from graftviz.learners.base import Learner
from graftviz.model import PairwiseMRF
from graftviz.narrative.phrases import plural
from graftviz.ui.background import EVERYTHING
from graftviz.ui.grow.state import GrowState
from graftviz.ui.inspect.url import FILE, LEARNED, TRUE, SourceSettings
from graftviz.ui.recording import RunRecorder
from graftviz.ui.session_run import SessionRun
from graftviz.ui.url_state import UPLOAD, Settings

FINGERPRINT_DIGITS = 16
PATIENCE = 0.8  # seconds to wait for a run before the page says that it is learning


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model to be looked at.

    Attributes
    ----------
    model : PairwiseMRF
    fingerprint : str
    title : str
    notes : tuple of str
        How it was understood, or what is special about it.
    places : array, shape (n, 2), or None
        Known places of the variables, 0 … 10000.
    keeps_shape : bool
        Whether these are places as on a map.
    steps : sequence of int or None
        The step that activated each edge.
    """

    model: PairwiseMRF
    fingerprint: str
    title: str
    notes: tuple[str, ...] = ()
    places: np.ndarray | None = None
    keeps_shape: bool = False
    steps: tuple[int, ...] | None = None


def fingerprint_of(model: PairwiseMRF) -> str:
    """Return a fingerprint of everything about a model."""
    digest = hashlib.sha256()
    for array in (model.cardinalities, model.edges, model.weights):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(json.dumps([model.names, model.labels]).encode())
    return digest.hexdigest()[:FINGERPRINT_DIGITS]


class ModelSource:
    """One place of the page that a model is chosen for.

    Parameters
    ----------
    learned : GrowState
        Settings and runs of its own.
    neighbour : callable
        Returns the state of the Grow page in this session, or None: its run is used where it is
        the one that is wanted, instead of learning it again.

    Attributes
    ----------
    kind : str
        "learned", "true" or "file".
    expected : str
        Fingerprint of the file a link was made with; empty accepts any.
    loaded : Loaded or None
        The last model that could be had.
    problem : str
        Why that does not follow the settings; empty if it does.
    learning : str
        A sentence while the run is on its way; empty otherwise.
    """

    def __init__(self, learned: GrowState, neighbour: Callable[[], GrowState | None]) -> None:
        self.learned = learned
        self.kind = LEARNED
        self.expected = ""
        self.loaded: Loaded | None = None
        self.problem = ""
        self.learning = ""
        self._neighbour = neighbour
        self._file: Loaded | None = None
        self._made: tuple[Any, Loaded] | None = None

    # ----------------------------------------------------------------------------------- settings

    @property
    def settings(self) -> SourceSettings:
        """Settings that the controls show."""
        fingerprint = self._file.fingerprint if self._file is not None else self.expected
        return SourceSettings(self.kind, self.learned.settings, fingerprint)

    def take(self, settings: SourceSettings) -> None:
        """Show what a link wants."""
        self.kind, self.learned.settings = settings.kind, settings.learned
        if settings.kind == FILE:
            self.expected = settings.fingerprint
            if self._file is not None and self._file.fingerprint != settings.fingerprint:
                self._file = None

    def choose_kind(self, kind: str) -> None:
        """Take models from elsewhere."""
        self.kind = kind
        if kind == TRUE and self.learned.settings.data not in self.true_data():
            self.learned.choose_data(self.true_data()[0])

    @property
    def has_table(self) -> bool:
        """Whether an uploaded table is available."""
        near = self._neighbour()
        return near is not None and near.uploaded is not None

    def choose_data(self, key: str) -> None:
        """Learn from other data."""
        self.learned.choose_data(key)
        near = self._neighbour()
        if key == UPLOAD and near is not None:
            self.learned.settings = dataclasses.replace(
                self.learned.settings,
                fingerprint=near.settings.fingerprint,
                reading=near.settings.reading,
            )

    def choose_step(self, step: int) -> None:
        """Show the model after a step of the run; 0 is its end."""
        self.learned.look_at(step)

    def true_data(self) -> tuple[str, ...]:
        """Return the data sets whose true model is known."""
        return tuple(key for key in self.learned.vocabulary.data if model_path(key) is not None)

    def accept(self, name: str, uploaded: ModelFile, *, any_file: bool = False) -> None:
        """Take an uploaded model.

        Raises
        ------
        InputError
            When it is not the model of the link, unless `any_file` is set.
        """
        fingerprint = fingerprint_of(uploaded.model)
        if self.expected and fingerprint != self.expected and not any_file:
            raise InputError(
                f"{name} is not the model of the link (fingerprint {fingerprint}, not "
                f"{self.expected}). Upload that file."
            )
        if self._file is None or self._file.fingerprint != fingerprint:
            self._file = Loaded(uploaded.model, fingerprint, name, uploaded.notes)
        self.expected = ""
        self.refresh()

    @property
    def awaits_file(self) -> bool:
        """Whether a model from a file is chosen, but no file has been uploaded."""
        return self.kind == FILE and self._file is None

    @property
    def awaits_file_of_link(self) -> bool:
        """Whether a link refers to a file that has not been uploaded."""
        return self.awaits_file and bool(self.expected)

    @property
    def has_file(self) -> bool:
        """Whether a file has been uploaded."""
        return self._file is not None

    # ---------------------------------------------------------------------------------- the model

    def refresh(self) -> None:
        """Load the model of the settings; on failure set `problem` and keep the previous model."""
        self.problem = self.learning = ""
        try:
            found = {LEARNED: self._learned, TRUE: self._true, FILE: lambda: self._file}[
                self.kind
            ]()
        except InputError as error:
            self.problem = str(error)
            return
        if found is not None:
            self.loaded = found

    def ignore_missing_step(self) -> list[str]:
        """Show the end of a run that lacks the step of a link; return a sentence on that."""
        run, step = self.run, self.learned.settings.step
        if self.kind != LEARNED or run is None or not run.ended or step <= run.computed:
            return []
        self.choose_step(0)
        return [f"No step {step:,}: the run has {plural(run.computed, 'step')}. Showing its end."]

    def forget(self) -> None:
        """Release runs and models except an uploaded one; `refresh` restores them."""
        self.learned.forget()
        self.loaded = self._made = None

    @property
    def run(self) -> SessionRun | None:
        """The run the settings describe; None while there is none."""
        near = self._neighbour()
        if near is not None and near.shown is not None and _same(near.shown, self.learned.settings):
            return near.run
        shown = self.learned.shown
        is_mine = shown is not None and _same(shown, self.learned.settings)
        return self.learned.run if is_mine else None

    def _true(self) -> Loaded:
        key = self.learned.settings.data
        path = model_path(key)
        if path is None:
            raise InputError(f"No true model is available for {key}.")
        if self._made is None or self._made[0] != (TRUE, key):
            material = self.learned.current_material()
            assert material is not None  # it has a model, so it is no upload
            model = read_model(path)
            title = f"True model of {_short_title(material.title)}"
            positions = material.positions
            places = None if positions is None else np.asarray(positions, dtype=np.float64)
            loaded = Loaded(model, fingerprint_of(model), title, (), places, positions is not None)
            self._made = ((TRUE, key), loaded)
        return self._made[1]

    def _learned(self) -> Loaded | None:
        run = self.run
        if run is None:
            if self.learned.settings.data == UPLOAD:
                self._borrow_table()
            self.learned.refresh()
            self.problem = self.learned.problem or self.learned.question
            run = self.run
            if run is None:
                return None
        step = self.learned.settings.step
        run.grant()  # also beyond the step, so that all steps can be chosen
        run.wait(step or EVERYTHING, PATIENCE)
        if run.failure and not run.computed:
            raise InputError(run.failure)
        if not run.ended and (not step or run.computed < step):
            self.learning = f"Learning this model: {plural(run.computed, 'step')} so far."
            return None
        return self._of_run(run, min(step or run.computed, run.computed))

    def _borrow_table(self) -> None:
        """Learn from the table uploaded on the Grow page."""
        near = self._neighbour()
        expected = self.learned.settings.fingerprint
        if near is None or near.uploaded is None:
            raise InputError(
                "This link refers to a model learned from an uploaded table. Upload the same table "
                "on the Grow page first (“Your own data…”)."
            )
        if expected and not near.settings.fingerprint.startswith(expected):
            raise InputError(
                f"The table on the Grow page (fingerprint {near.settings.fingerprint}) is not the "
                f"one of the link ({expected}). Upload that table there."
            )
        self.learned.uploaded = near.uploaded

    def _of_run(self, run: SessionRun, step: int) -> Loaded:
        recorder = run.recorder
        assert isinstance(recorder, RunRecorder)  # the only kind these pages make
        learning = recorder.run
        at_end = run.ended and step == run.computed and learning.outcome is not None
        key = (run.token, step, at_end)
        if self._made is not None and self._made[0] == key:
            return self._made[1]
        if at_end:
            assert learning.outcome is not None
            model, history = learning.outcome.model(), learning.outcome.history
            recorded = len(history.counts)
            where = f"end of the run, step {step}"
        else:
            if step < 1:
                raise InputError("This run has no steps yet.")
            taken = learning.steps[step - 1]
            model, history, recorded = taken.model(), taken.history, step
            where = f"step {step}"
        activated = tuple(history.activated_in(e) for e in history.ids_at(recorded).tolist())
        places, keeps_shape = _places(recorder, run)
        called = _called(learning.learner)
        loaded = Loaded(
            model=model,
            fingerprint=fingerprint_of(model),
            title=" · ".join((_short_title(recorder.material.title), called, where)),
            notes=recorder.material.warnings,
            places=places,
            keeps_shape=keeps_shape,
            steps=activated,
        )
        self._made = (key, loaded)
        return loaded


def _same(shown: Settings, settings: Settings) -> bool:
    """Whether two settings make the same run."""
    return dataclasses.replace(shown, step=0) == dataclasses.replace(settings, step=0)


def _short_title(title: str) -> str:
    """Return the part of a data set's title that is its name."""
    return title.split(" · ")[0]


def _called(learner: Learner) -> str:
    preset = getattr(learner, "preset", None)
    return learner.title if preset is None else f"{learner.title} ({preset})"


def _places(recorder: RunRecorder, run: SessionRun) -> tuple[np.ndarray | None, bool]:
    """Return where the variables stand in the picture of a run, and whether that is known."""
    if recorder.material.positions is not None:
        return np.asarray(recorder.material.positions, dtype=np.float64), True
    positions = json.loads(run.header_json)["positions"] if run.header_json else None
    latest = positions if positions is not None else recorder.places
    if latest is None:
        return None, False
    return np.array(latest, dtype=np.float64).reshape(-1, 2), False
