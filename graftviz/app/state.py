"""Session state of a page: its link, its notices, its settings, and the runs that these describe.

Streamlit is not imported here.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from graftviz.app.jobs import Job, Queue, Watching
from graftviz.app.material import (
    Material,
    RunCheck,
    automatic_values,
    default_options,
    judge,
    uploaded_table,
)
from graftviz.app.runs import RunPlan, SessionRun, new_run, to_json
from graftviz.app.url import (
    LearnerChoice,
    default_values,
    import_options,
    is_upload,
    parse_options_of,
    write_options_of,
)
from graftviz.data.sets.generated import GENERATED, generated
from graftviz.learning.base import Learner
from graftviz.learning.registry import learner_class
from graftviz.reports.replay.plain import whole_number
from graftviz.reports.results import Run
from graftviz.reports.words.phrases import plural
from graftviz.utils.errors import InputError
from graftviz.utils.options import option_specs

REMEMBERED_LINKS = 50
MOST_RUNS = 12  # that a page of runs side by side keeps for a session
MOST_MEGABYTES = 60.0  # of the records that a page keeps, besides those of the shown runs
Load = Callable[[str, int], Material]
MakeRun = Callable[[Run, Material, str, Queue], SessionRun]


class PageState:
    """Settings of a page in one session, its link and notices, and what its view shows.

    The settings are the options of one dataclass. The view follows them as far as they can be used.
    Pages with uploads have an option "fingerprint"; their uploads have a `fingerprint`, and a cache
    `own` of results.

    Parameters
    ----------
    cls : type
        Dataclass whose fields are options; see :mod:`graftviz.utils.options`.
    places : collection of str
        Options that the browser writes into the URL, such as the step.

    Attributes
    ----------
    resets : mapping
        Option → other options that return to their defaults when it is chosen; those of
        "fingerprint" when other files are uploaded.
    specs : dict
        Option → its specification.
    values : dict
        Option → value, of all options.
    complaints : sequence of str
        Ignored parts of the link; shown until the settings change.
    problem : str
        Why the view does not follow the settings; empty if it does.
    question : str
        Cost of a computation that must be confirmed first; empty if there is none.
    visit : int
        Number of links followed; the browser moves to the place of a new one.
    is_from_link : bool
        Whether nothing has been chosen since a link was followed.
    jobs : Watching
        Jobs that this session needs.
    shown, before : object or None
        The shown settings, and the previous ones.
    uploads : dict
        Value of the option "data" → the data that were uploaded for it last.
    """

    resets: ClassVar[Mapping[str, Collection[str]]] = {}

    def __init__(self, cls: type, places: Collection[str] = ()) -> None:
        self.specs = {spec.name: spec for spec in option_specs(cls)}
        self.values = default_values(cls)
        self.complaints: tuple[str, ...] = ()
        self.problem = self.question = ""
        self.visit = 0
        self.is_from_link = False
        self.jobs = Watching()
        self.shown: Any = None
        self.before: Any = None
        self.uploads: dict[str, Any] = {}
        self._cls = cls
        self._places = frozenset(places)
        self._links: list[dict[str, str]] = []  # the latest that the page wrote
        self._is_opened = False
        self._agreed: set[Hashable] = set()
        self._asked: Hashable = None
        self._uploaded_on_show: Any = None

    @property
    def options(self) -> Any:
        """The settings as an instance of the dataclass."""
        return self._cls(**self.values)

    # --------------------------------------------------------------------------------- the link

    def follow(self, query: Mapping[str, str], *, is_navigation: bool = False) -> bool:
        """Apply an address, unless the page wrote it itself; return whether it was applied.

        A message from the browser may contain an older address, which must not undo newer choices.
        Navigation in the history, or by a link on another page (`is_navigation`), may.
        """
        link = dict(query)
        is_first, self._is_opened = not self._is_opened, True
        is_own = self._without_places(link) in self._links and not (is_first and link)
        if is_own and not is_navigation:
            return False
        self.complaints = tuple(self._apply(link))
        self._check_link()
        self.visit += 1
        self._remember(link)
        return True

    def link(self) -> dict[str, str]:
        """Return the query parameters of the page, and record them as its own."""
        self._is_opened = True
        query = self._write()
        self._remember(query)
        return query

    def _remember(self, query: Mapping[str, str]) -> None:
        """Record an address as written by the page: following it would undo newer choices."""
        link = self._without_places(query)
        others = [other for other in self._links if other != link]
        self._links = [*others, link][-REMEMBERED_LINKS:]

    def _without_places(self, query: Mapping[str, str]) -> dict[str, str]:
        return {name: text for name, text in query.items() if name not in self._places}

    def agree(self) -> None:
        """Confirm the computation of the current question."""
        self._agreed.add(self._asked)

    def _may_begin(self, key: Hashable, verdict: RunCheck) -> bool:
        """Return whether a computation is within the limits or confirmed.

        Problem and question are set accordingly.
        """
        if key in self._agreed:
            return True
        self._asked, self.problem, self.question = key, verdict.refusal, verdict.question
        return verdict == RunCheck()

    def _apply(self, query: dict[str, str]) -> Iterable[str]:
        """Take the settings of an address; return its ignored parts."""
        self.values, complaints = parse_options_of(self._cls, query)
        self.is_from_link = True
        return complaints

    def _check_link(self) -> None:
        """Ignore further parts of an address that the page cannot use."""

    def _write(self) -> dict[str, str]:
        """Return the query parameters of the page."""
        return write_options_of(self._cls, self.values)

    # --------------------------------------------------------------------------------- settings

    def choose(self, name: str, value: Any) -> None:
        """Set one option, and set back those that depend on it."""
        self.values[name] = value
        self._reset(name)
        self.complaints = ()
        self.is_from_link = False
        if name == "data":
            self._name_upload()

    def ignore(self, name: str, why: str) -> None:
        """Set one option back, and add a sentence on why."""
        self.values[name] = default_values(self._cls)[name]
        self.complaints += (why,)

    def check_step(self, last: int, what: str = "run") -> bool:
        """Replace a step of a link by the last one if it does not exist; return whether it did.

        Parameters
        ----------
        last : int
            The last step of what is shown, which has ended.
        what : str
            Noun for that.
        """
        step = self.values["step"]
        if not self.is_from_link or step == default_values(self._cls)["step"] or step <= last:
            return False
        self.values["step"] = last
        self.complaints += (no_step_words(step, last, what),)
        return True

    def move(self, place: Mapping[str, Any]) -> None:
        """Record the place that the browser shows; the page itself does not change."""
        for name in self._places & set(place):
            value = place[name]
            self.values[name] = None if value is None else whole_number(value, 0)

    def _reset(self, changed: str) -> None:
        defaults = default_values(self._cls)
        self.values.update({name: defaults[name] for name in self.resets.get(changed, ())})

    # ---------------------------------------------------------------------------------- uploads

    @property
    def uploaded(self) -> Any:
        """The data that were uploaded last for the chosen data; None if there are none."""
        return self.uploads.get(self.values["data"])

    @uploaded.setter
    def uploaded(self, upload: Any) -> None:
        self.uploads[self.values["data"]] = upload

    @property
    def awaits_file(self) -> bool:
        """Whether uploaded data are chosen, but no file has been uploaded."""
        return is_upload(self.values["data"]) and self.uploaded is None

    @property
    def expected(self) -> str:
        """Fingerprint of the files that the link requires; empty if any will do."""
        return "" if self.uploaded is not None else str(self.values["fingerprint"])

    def accept(self, uploaded: Any) -> None:
        """Use uploaded files as the data of the page, also if only their titles differ."""
        if self.uploaded is not None and self.uploaded.fingerprint != uploaded.fingerprint:
            self._reset("fingerprint")
        self.uploaded = uploaded
        self._name_upload()

    def put_back(self) -> None:
        """Return to the previous files; the latest upload could not be used."""
        self.uploaded = self._uploaded_on_show
        self.values["fingerprint"] = ""
        self._name_upload()

    def _name_upload(self) -> None:
        """Add the fingerprint of the uploaded files to the link."""
        if is_upload(self.values["data"]) and self.uploaded is not None:
            self.values["fingerprint"] = self.uploaded.fingerprint

    # --------------------------------------------------------------------------------- the view

    def refresh(self) -> None:
        """Make the view follow the settings; where they cannot be used, it stays as it is."""
        self.problem = self.question = ""
        try:
            found = self._resolve()
            if found is not None:
                self._adopt(found)
        except InputError as error:
            self.problem = str(error)

    def forget(self) -> None:
        """Release results that are not shared; they are computed again when the page is opened."""
        self.jobs.leave()
        for source in (*self.uploads.values(), self.shown):
            if (own := getattr(source, "own", None)) is not None:
                own.clear()
        self.shown = self.before = None

    def _resolve(self) -> Any:
        """Return what the settings describe; None while a file or a confirmation is missing.

        Raises
        ------
        InputError
            When the settings cannot be used.
        """
        raise NotImplementedError

    def _adopt(self, found: Any) -> None:
        """Take a result of `_resolve` as the shown one."""
        self.shown = found
        if is_upload(self.values["data"]):
            self._uploaded_on_show = self.uploaded


class RunPage(PageState):
    """State of a page that shows one job, which follows the settings.

    If a job fails before its first value, the previous job is shown again.
    """

    def job_of(self, shown: Any) -> Job[Any]:
        """Return the job of the settings; equal settings have the same job."""
        raise NotImplementedError

    def graph(self, shown: Any) -> dict[str, Any]:
        """Return the graph for the browser."""
        raise NotImplementedError

    def last_step(self, found: Any) -> int:
        """Return the number of the last step of a job that has ended."""
        raise NotImplementedError

    def message_parts(self, shown: Any, found: Any, failure: str) -> dict[str, Any]:
        """Return the parts of a message other than the steps; "run" is that of the run."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Update the shown run to the settings; if they are invalid, it is unchanged."""
        if self.shown is not None and _has_failed(self.job_of(self.shown)):
            self.shown, self.before = self.before, None
        super().refresh()

    @property
    def run(self) -> Job[Any] | None:
        """The shown job, started unless it has ended; None before there is one."""
        if self.shown is None:
            return None
        job = self.job_of(self.shown)
        self.jobs.begin(job)
        return job

    def is_on_show(self, found: Any) -> bool:
        """Return whether the job of `found` is shown."""
        return self.shown is not None and self.job_of(self.shown) is self.job_of(found)

    def _adopt(self, found: Any) -> None:
        job = self.job_of(found)
        if _has_failed(job):
            raise InputError(job.failure)
        if not self.is_on_show(found):
            self.before = self.shown
            self.jobs.leave()
        super()._adopt(found)


def _has_failed(job: Job[Any]) -> bool:
    return bool(job.failure) and job.latest is None


def no_step_words(step: int, last: int, what: str = "run") -> str:
    """Return the sentence about a step after the last one, whose place the last one takes."""
    return f"No step {step:,}: the {what} has {plural(last, 'step')}. Showing its end."


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


class LearningPage(PageState):
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

    def __init__(self, cls: type, load: Load, queue: Queue, places: Collection[str]) -> None:
        super().__init__(cls, places)
        self.queue = queue
        self.material: Material | None = None
        self.is_beyond = False
        self._load_data = load
        self._runs: dict[RunPlan, SessionRun] = {}  # the latest last
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
        defaults = default_values(self._cls)
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

    def take_data(self, other: LearningPage) -> None:
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

    def _run_of(self, plan: RunPlan, material: Material, make: MakeRun) -> SessionRun:
        """Return the run of a plan, started if there is none or if it has failed."""
        run = self._runs.pop(plan, None)
        if run is None or run.failure:
            run = make(new_run(plan, material), material, secrets.token_hex(4), self.queue)
        self._runs[plan] = run
        return run

    def plan_of(self, run: SessionRun) -> RunPlan | None:
        """Return the plan of a run of this session; None if it was removed."""
        return next((plan for plan, other in self._runs.items() if other is run), None)

    def _keep_active(self, shown: Collection[SessionRun | None], most: int) -> None:
        """Pause all runs that are not shown, and evict those beyond the limits.

        Also evicted are runs of uploaded tables that were replaced by another.

        Parameters
        ----------
        shown : collection of SessionRun or None
        most : int
            Maximum number of runs; fewer if their records exceed `MOST_MEGABYTES` together.
        """
        on_show = {uploaded_table(p.material) for p, run in self._runs.items() if run in shown}
        tables = on_show - {""}
        count, size = 0, 0.0
        for plan, run in list(self._runs.items())[::-1]:
            count, size = count + 1, size + run.memory_bytes / 1e6
            if run in shown:
                continue
            run.revoke()
            is_replaced = bool(tables) and uploaded_table(plan.material) not in tables | {""}
            if is_replaced or count > most or size > MOST_MEGABYTES:
                del self._runs[plan]
                run.forget()

    def forget(self) -> None:
        """Release all runs; they are computed again when the page is opened."""
        super().forget()
        for run in self._runs.values():
            run.forget()
        self._runs.clear()
        self.material = None
        self._planned = ()


class SideBySidePage(LearningPage):
    """Page that shows several runs on the same data side by side.

    Parameters
    ----------
    make : callable
        Return a run.
    cls, load, queue, places
        See :class:`LearningPage`.

    Attributes
    ----------
    first_credit : int
        Number of steps of every run that are computed before the first request.
    entries : tuple of Entry
        The shown runs.
    token, header_json : str
        Identifier of these runs, and the header sent to the browser.
    """

    first_credit: ClassVar[int]

    def __init__(
        self, cls: type, make: MakeRun, load: Load, queue: Queue, places: Collection[str]
    ) -> None:
        super().__init__(cls, load, queue, places)
        self._make = make
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
        self._keep_active([entry.run for entry in entries], MOST_RUNS)
        for entry in sorted(entries, key=lambda entry: entry.name != self.front):
            if entry.run is not None:
                entry.run.grant(self.first_credit)

    def _started(self, entry: Entry, material: Material) -> Entry:
        if entry.plan is None:
            return entry
        try:
            return entry._replace(run=self._run_of(entry.plan, material, self._make))
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
