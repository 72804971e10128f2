"""Session state of the Grow page: settings, the displayed run, and notices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from graftviz.app.grow.options import BranchPoint, GrowOptions, has_presets, option_names
from graftviz.app.jobs import EVERYTHING, Queue
from graftviz.app.material import PAGE_PRESET, Material, fewer_edges, uploaded_table
from graftviz.app.recording import RecordedRun, recording
from graftviz.app.runs import RunRecorder, SessionRun
from graftviz.app.session import material, opened_state, page_state, queue
from graftviz.app.state import Entry, LearningPage, Load, MakeRecorder, with_choice
from graftviz.app.url import BEST, LearnerChoice
from graftviz.learning.run import Branch
from graftviz.reports.words.code import learn_command
from graftviz.reports.words.phrases import plural

MOST_RUNS = 3  # that the page keeps for a session, the shown one included
COMPARED_OPTIONS = ("alpha", "reservoir", "max_edges")  # the rest is left to the preset
_LAYOUT_WAIT = 3.0  # seconds to wait for the layout of the run that another is compared with
_KEY = "grow"
FIRST_CREDIT = 400  # steps computed before the first request


class GrowState(LearningPage[GrowOptions]):
    """Settings and runs of the Grow page in one session.

    Parameters
    ----------
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    queue : Queue

    Attributes
    ----------
    run : SessionRun or None
    ghost : SessionRun or None
        The run drawn with it: the one from which `run` branched, or else the previous one, unless
        the two are on different tables of which one is uploaded.
    has_engine : bool
        Whether the engine is compiled. Until then only the recorded run can be shown.
    awaits_engine : bool
        Whether the settings describe another run, which waits for the engine.
    """

    resets: ClassVar = {
        "data": ("fingerprint", "reading", "rows", "held_out", "branch", "step"),
        "fingerprint": ("rows", "branch", "step"),
        "reading": ("branch",),
        "learner": ("branch",),
        "seed": ("branch",),
        "rows": ("branch",),
        "held_out": ("branch",),
    }

    def __init__(self, load: Load, queue: Queue) -> None:
        super().__init__(GrowOptions, load, queue, places=("step",))
        self.run: SessionRun | None = None
        self.ghost: SessionRun | None = None
        self.has_engine = True
        self.awaits_engine = False

    # --------------------------------------------------------------------------------- settings

    def choose(self, name: str, value: Any) -> None:
        """Set an option; another learner keeps the chosen options that it has."""
        if name == "learner":
            names, options = option_names(value), self.values["options"]
            self.values["options"] = {key: options[key] for key in options if key in names}
            self.values["compare"] = self.values["compare"] and has_presets(value)
        super().choose(name, value)

    def _choose_option(self, name: str, value: Any) -> None:
        """Set an option of the learner, or of the branch while there is one."""
        branch = self.values["branch"]
        if branch is None:
            super()._choose_option(name, value)
        else:
            run = self.learner_options(self.own)
            options = with_choice(branch.options, name, value, run)
            self.choose("branch", BranchPoint(branch.at, options))

    @property
    def own(self) -> LearnerChoice:
        """Learner and options of the run, without a branch."""
        return LearnerChoice(self.values["learner"], self.values["options"])

    @property
    def choice(self) -> LearnerChoice:
        """Learner and options that the controls show: those of the branch while there is one."""
        branch = self.values["branch"]
        changes = branch.options if branch else {}
        return LearnerChoice(self.own.learner, {**self.own.options, **changes})

    def begin_branch(self, at: int) -> None:
        """Let options apply from step `at` of the run in front on."""
        if self.values["compare"]:
            self.values.update(options=self._method(BEST), compare=False)
        self.choose("step", at)
        self.choose("branch", BranchPoint(at))

    @property
    def can_compare(self) -> bool:
        """Whether the learner has a preset best to compare with."""
        return self.values["branch"] is None and has_presets(self.values["learner"])

    # ------------------------------------------------------------------------------------- data

    def current_material(self) -> Material | None:
        """Return the data of the settings, with the chosen rows; None before an upload."""
        whole = super().current_material()
        return whole and whole.divided(self.values["rows"], self.values["held_out"])

    def all_training_rows(self) -> int:
        """Return the number of rows that are not held out; 0 before an upload."""
        whole = self.with_all_rows()
        return whole.train.n_rows if whole else 0

    def with_all_rows(self) -> Material | None:
        """Return the data of the settings, with all training rows; None before an upload."""
        whole = super().current_material()
        return whole and whole.divided(None, self.values["held_out"])

    # ----------------------------------------------------------------------------------- the run

    def check_step(self, last: int, what: str = "run") -> bool:
        """Replace a step of a link that does not exist; ignore a branch at such a step."""
        branch, changes = self.values["branch"], super().check_step(last, what)
        if self.is_from_link and branch is not None and branch.at > last:
            steps = plural(last, "step")
            self.ignore(
                "branch", f"No step {branch.at:,} to branch from: the run has {steps}; ignored."
            )
            return True
        return changes

    @property
    def is_recorded(self) -> bool:
        """Whether the settings are those of the recorded run."""
        return {**self.values, "step": 0} == self._defaults()

    def _resolve(self) -> tuple[tuple[Entry, ...], Material] | None:
        self._check_rows()
        self.awaits_engine = not (self.has_engine or self.is_recorded)
        return None if self.awaits_engine else super()._resolve()

    def _check_rows(self) -> None:
        """Use all rows where the settings have more than there are."""
        rows, most = self.values["rows"], self.all_training_rows()
        if rows is not None and most and rows >= most:
            why = f"There are {most:,} training rows, not {rows:,}; all are used."
            self.values["rows"] = None
            self.complaints += (why,) if rows > most else ()

    def _planned_runs(self, material: Material) -> tuple[Entry, ...]:
        """Return the main run, and the one with which it is compared or from which it branched."""
        learner, branch = self.learner(self.own), self.values["branch"]
        if self.values["compare"]:
            if getattr(learner, "preset", None) == BEST:
                learner = self._by_preset(PAGE_PRESET)
            ghost = self._plan(learner, material)
            plan = self._plan(self._by_preset(BEST), material, ghost=ghost)
        elif branch is not None and branch.options:
            ghost = self._plan(learner, material)
            change = Branch(branch.at, self.learner(self.choice))
            plan = self._plan(learner, material, branch=change, ghost=ghost)
        else:
            return (Entry("", self._plan(learner, material)),)
        return Entry("", plan), Entry("ghost", ghost)

    def _by_preset(self, preset: str) -> Any:
        return self.learner(LearnerChoice(self.values["learner"], self._method(preset)))

    def _method(self, preset: str) -> Mapping[str, Any]:
        """Return the preset, and the chosen options that do not belong to a method."""
        chosen = self.values["options"]
        options = {name: chosen[name] for name in COMPARED_OPTIONS if name in chosen}
        return options if preset == PAGE_PRESET else {**options, "preset": preset}

    def _start_runs(self, planned: tuple[Entry, ...], material: Material) -> None:
        plan = planned[0].plan
        assert plan is not None
        is_compared = plan.ghost is not None and plan.branch is None
        is_first = self.run is None and not is_compared
        base = None if plan.ghost is None else self._run_of(plan.ghost, material, RunRecorder)
        if base is not None and is_compared and not _has_places(material):
            base.grant()
            base.wait_for_end(_LAYOUT_WAIT)
        ghost = None if base is None else base.recorder
        make: MakeRecorder = partial(RunRecorder, ghost=ghost)
        if not self.has_engine and recording().material == plan.material:
            make = partial(RecordedRun, is_ready=lambda: self.has_engine)
        run = self._run_of(plan, material, make)
        if base is None and self.run is not None and self.run is not run:
            self.run.revoke()  # the ghost stays visible, and only hidden runs are paused below
        before = None if self.run is None else self._runs.plan_of(self.run)
        tables = {uploaded_table(some.material) for some in (before, plan) if some}
        self.run, self.ghost = run, base or (self.run if len(tables) == 1 else None)
        self._runs.keep_active((self.run, self.ghost), MOST_RUNS)
        # The first picture needs a few steps; a change of options is shown as a whole.
        run.grant(max(FIRST_CREDIT, self.values["step"]) if is_first else EVERYTHING)
        if base is not None:
            base.grant()

    def smaller(self) -> int | None:
        """Return an edge budget within the limits for the run that was not begun."""
        material = self.current_material()
        return None if material is None else fewer_edges(material.train, self.learner(self.own))

    def command(self) -> str:
        """Return the command that performs the run of the page."""
        options, material = self.options, self.current_material()
        share = material.test_fraction if material else 0.0
        return learn_command(
            options.data,
            self.learner(self.own),
            options.seed,
            options.reading,
            rows=options.rows,
            test_fraction=share,
        )

    def forget(self) -> None:
        """Release all runs; they are computed again when the page is opened."""
        super().forget()
        self.run = self.ghost = None


def _has_places(material: Material) -> bool:
    """Return whether every run on the data has the same layout from its first step on."""
    return material.positions is not None or (
        material.truth is not None and len(material.truth) > 0
    )


def grow_state() -> GrowState:
    """Return the state of the Grow page in this session."""
    return page_state(_KEY, lambda: GrowState(material, queue()))


def opened_grow_state() -> GrowState | None:
    """Return the state of the Grow page in this session; None if it has not been opened."""
    return opened_state(_KEY)
