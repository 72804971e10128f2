"""Session state of the pages that learn from a table: settings, link, data, and runs."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar

from graftviz.app.executor import Queue
from graftviz.app.frame.class_data import import_options, is_upload
from graftviz.app.frame.runs import RunPlan, RunStore, new_run
from graftviz.app.frame.state import OptionsPage
from graftviz.app.frame.url_state import (
    DataOptions,
    LearnerChoice,
    default_values,
    write_options_of,
)
from graftviz.app.material import Material, UploadedTable, automatic_values, default_options
from graftviz.app.player.recorders import Recorder, to_json
from graftviz.app.run_limits import judge
from graftviz.app.session_run import SessionRun
from graftviz.data.sets.generated import GENERATED, generated
from graftviz.learning.base import Learner
from graftviz.learning.registry import learner_class
from graftviz.reports.results import Run
from graftviz.utils.errors import InputError

MOST_RUNS = 12  # that a page of runs side by side keeps for a session
S = TypeVar("S", bound=DataOptions)
Load = Callable[[str, int], Material]
MakeRecorder = Callable[[Run, Material, str], Recorder]


class Entry(NamedTuple):
    """One of the runs that the settings describe.

    Attributes
    ----------
    name : str
    plan : RunPlan or None
    problem : str
        Why it cannot run; empty if it can.
    run : SessionRun or None
        None until it is shown.
    """

    name: str
    plan: RunPlan | None
    problem: str = ""
    run: SessionRun | None = None

    @property
    def trouble(self) -> str:
        """Why it did not start, or why it stopped before its end; empty if neither."""
        return self.problem or (self.run.failure if self.run is not None else "")


class LearningPage(OptionsPage[S]):
    """Settings and runs of a page in one session.

    Settings that cannot be used become a sentence, and the runs shown before remain.

    Parameters
    ----------
    cls : type
        Options of the page.
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    queue : Queue
        Queue of the runs.
    places : collection of str
        Options that the browser writes into the URL, such as the step.

    Attributes
    ----------
    shown : DataOptions or None
        Settings of the shown runs, which the URL contains.
    material : Material or None
        Data of the shown runs.
    is_beyond : bool
        Whether question or problem refer to the cost of the runs.
    """

    shown: S | None
    uploaded: UploadedTable | None

    def __init__(self, cls: type[S], load: Load, queue: Queue, places: Collection[str]) -> None:
        super().__init__(cls, places)
        self.queue = queue
        self.material: Material | None = None
        self.is_beyond = False
        self._load_data = load
        self._runs = RunStore()
        self._planned: tuple[Entry, ...] = ()

    def _write(self) -> dict[str, str]:
        values = dict(self.values)
        if self.shown is not None:
            values.update(vars(self.shown), **{name: values[name] for name in self._places})
        return write_options_of(self._cls, values)

    # --------------------------------------------------------------------------------- settings

    def choose(self, name: str, value: Any) -> None:
        """Set an option of the page, of the import or of the learner; None is its default."""
        name, value = with_reading(self.values, name, value)
        defaults = self._defaults()
        if name not in defaults:
            self._choose_option(name, value)
            return
        super().choose(name, defaults[name] if value is None else value)

    def _choose_option(self, name: str, value: Any) -> None:
        """Set an option of the learner that the controls show."""
        options = with_choice(self.values["options"], name, value, self.defaults(self.choice))
        super().choose("options", options)

    @property
    def choice(self) -> LearnerChoice:
        """Learner and options that the controls show."""
        raise NotImplementedError

    def defaults(self, choice: LearnerChoice) -> dict[str, Any]:
        """Return the default value of every option of a learner."""
        material = self.current_material()
        return default_options(
            learner_class(choice.learner),
            material.suggested if material else {},
            choice.options.get("preset"),
        )

    def learner_options(self, choice: LearnerChoice) -> dict[str, Any]:
        """Return the value of every option of a learner: the chosen one, or the default."""
        return {**self.defaults(choice), **choice.options}

    def learner(self, choice: LearnerChoice) -> Learner:
        """Return a learner with its options."""
        return learner_class(choice.learner)(**self.learner_options(choice))

    def automatic(self, choice: LearnerChoice) -> dict[str, Any]:
        """Return the values of automatic options; empty while they cannot be computed."""
        material = self.current_material()
        try:
            return automatic_values(self.learner(choice), material) if material else {}
        except InputError:
            return {}  # the page shows why

    # ------------------------------------------------------------------------------------- data

    def take_data(self, other: LearningPage[Any]) -> None:
        """Use the data of another page, uploaded ones included."""
        self.values.update({key: other.values[key] for key in ("data", "fingerprint", "reading")})
        self.uploaded = other.uploaded

    def current_material(self) -> Material | None:
        """Return the data of the settings; None before an upload."""
        data, seed = self.values["data"], self.values["seed"]
        if not is_upload(data):
            key = generated(self.values["reading"]).key if data == GENERATED else data
            return self._load_data(key, seed)
        return self.uploaded(seed) if self.uploaded else None

    # ------------------------------------------------------------------------------------- runs

    def _resolve(self) -> tuple[tuple[Entry, ...], Material] | None:
        self.is_beyond = False
        material = self.current_material()
        if material is None:
            return None
        planned = self._planned_runs(material)
        if planned == self._planned or self._may_begin_all(planned, material):
            return planned, material
        return None

    def _adopt(self, found: tuple[tuple[Entry, ...], Material]) -> None:
        planned, material = found
        if planned != self._planned:
            self._start_runs(planned, material)
        self._planned, self.shown, self.material = planned, self.options, material

    def _planned_runs(self, material: Material) -> tuple[Entry, ...]:
        """Return the runs that the settings describe; raises InputError if there is none."""
        raise NotImplementedError

    def _start_runs(self, planned: tuple[Entry, ...], material: Material) -> None:
        """Start these runs, and show them instead of the present ones."""
        raise NotImplementedError

    def _plan(self, learner: Learner, material: Material, **more: Any) -> RunPlan:
        """Return the plan of a run; raises InputError if learner and data do not fit together."""
        learner.check(material.train)
        return RunPlan(material.identity, learner, self.values["seed"], **more)

    def _may_begin_all(self, planned: tuple[Entry, ...], material: Material) -> bool:
        """Return whether the new runs are within the limits or confirmed."""
        plans = dict.fromkeys(one.plan for one in planned if one.plan is not None)
        new = [plan.learner for plan in plans if plan not in self._runs]
        if new and not self._may_begin(planned, judge(material.train, *new)):
            self.is_beyond = True
        return not self.is_beyond

    def _run_of(self, plan: RunPlan, material: Material, make: MakeRecorder) -> SessionRun:
        """Return the run of a plan, started if there is none or if it has failed."""

        def start() -> SessionRun:
            token = secrets.token_hex(4)
            recorder = make(new_run(plan, material), material, token)
            return SessionRun(recorder, token, self.queue)

        return self._runs.get(plan, start)

    def plan_of(self, run: SessionRun) -> RunPlan | None:
        """Return the plan of a run of this session; None if it was removed."""
        return self._runs.plan_of(run)

    def revoke(self) -> None:
        """Pause all computing of this session; computed steps remain."""
        super().revoke()
        self._runs.revoke()

    def forget(self) -> None:
        """Release all runs; they are computed again when the page is opened."""
        super().forget()
        self._runs.forget()
        self.material = None
        self._planned = ()


class SideBySidePage(LearningPage[S]):
    """Page that shows several runs on the same data side by side.

    Attributes
    ----------
    recorder : callable
        Return the recorder of a run.
    first_credit : int
        Number of steps of every run that are computed before the first request.
    entries : tuple of Entry
        The shown runs.
    token, header_json : str
        Identifier of these runs, and the header sent to the browser.
    """

    recorder: ClassVar[type[Recorder]]
    first_credit: ClassVar[int]

    def __init__(self, cls: type[S], load: Load, queue: Queue, places: Collection[str]) -> None:
        super().__init__(cls, load, queue, places)
        self.entries: tuple[Entry, ...] = ()
        self.token = ""
        self.header_json = ""

    @property
    def front(self) -> str:
        """Name of the run that is computed first; empty for any."""
        return ""

    @property
    def runs(self) -> Mapping[str, SessionRun]:
        """The shown runs by name, without those that could not start."""
        return {entry.name: entry.run for entry in self.entries if entry.run is not None}

    def _start_runs(self, planned: tuple[Entry, ...], material: Material) -> None:
        entries = tuple(self._started(entry, material) for entry in planned)
        token = secrets.token_hex(4)
        header = self._header(entries, token, material)  # first: an error changes nothing
        self.entries, self.token, self.header_json = entries, token, to_json(header)
        self._runs.keep_active([entry.run for entry in entries], MOST_RUNS)
        for entry in sorted(entries, key=lambda entry: entry.name != self.front):
            if entry.run is not None:
                entry.run.grant(self.first_credit)

    def _started(self, entry: Entry, material: Material) -> Entry:
        if entry.plan is None:
            return entry
        try:
            return entry._replace(run=self._run_of(entry.plan, material, self.recorder))
        except InputError as error:
            return entry._replace(problem=str(error))

    def _header(
        self, entries: tuple[Entry, ...], token: str, material: Material
    ) -> Mapping[str, Any]:
        """Return the header of the runs."""
        raise NotImplementedError

    def place(self) -> Mapping[str, Any]:
        """Return the part of a message that describes the shown runs."""
        raise NotImplementedError

    def check_place(self) -> bool:
        """Replace a place of a link by the end if runs that have ended do not have it.

        Return whether it did, so that a sentence about it must be shown.
        """
        raise NotImplementedError

    def forget(self) -> None:
        """Release all runs; they are computed again when the page is opened."""
        super().forget()
        self.entries = ()


def with_reading(values: Mapping[str, Any], name: str, value: Any) -> tuple[str, Any]:
    """Return the option of a page that a control sets, and its value.

    Import options are entries of the option "reading".
    """
    reading = default_values(import_options(values["data"]))
    if name not in reading:
        return name, value
    return "reading", with_choice(values["reading"], name, value, reading)


def with_choice(
    chosen: Mapping[str, Any], name: str, value: Any, defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `chosen` with one more entry; a value equal to the default is removed."""
    options = {key: old for key, old in chosen.items() if key != name}
    return options if value == defaults[name] else {**options, name: value}
