"""Session state of the Grow page: settings, the displayed run, and notices.

Controls change the settings; :meth:`GrowState.refresh` makes the run follow. What cannot be used
becomes a sentence, and the run on show stays as it is. Nothing here knows Streamlit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from graftviz.errors import InputError
from graftviz.learners.base import Learner
from graftviz.runs import Branch
from graftviz.selection import LamPath
from graftviz.ui.automatic import automatic_values
from graftviz.ui.background import Background
from graftviz.ui.command_line import learn_command
from graftviz.ui.limits import limits
from graftviz.ui.material import PAGE_PRESET, Material, default_options, with_choice
from graftviz.ui.own_links import OwnLinks
from graftviz.ui.recording import Plan, start_run
from graftviz.ui.run_eviction import evict_runs
from graftviz.ui.run_limits import Verdict, fewer_edges, judge
from graftviz.ui.scheduler import Turns
from graftviz.ui.services import material, opened_state, page_state, share, vocabulary
from graftviz.ui.session_run import EVERYTHING, SessionRun
from graftviz.ui.url_state import (
    BEST,
    UPLOAD,
    BranchPoint,
    Settings,
    UploadOptions,
    Vocabulary,
    has_presets,
    parse,
    write,
)

COMPARED_OPTIONS = ("alpha", "reservoir", "max_edges")  # the rest is left to the preset
LENDS_PLACES = 3.0  # seconds to wait for the layout of the run that another is compared with
_KEY = "grow"
FIRST_CREDIT = 400  # steps computed before anybody presses play


class GrowState:
    """Settings and runs of one session.

    Parameters
    ----------
    vocabulary : Vocabulary
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    scheduler : Turns

    Attributes
    ----------
    settings : Settings
        What the controls show.
    shown : Settings or None
        What the run on show was made from; this is what the address says.
    run : SessionRun or None
    ghost : SessionRun or None
        The run to show beside it: the one `run` branched from, or else the one before.
    material : Material or None
        Of the run on show.
    uploaded : callable or None
        ``uploaded(seed)`` returns the material of the uploaded file.
    complaints : list of str
        About the link; shown until the settings change.
    paths : dict
        Work on paths over λ, by what decides them.
    problem : str
        Why the run on show does not follow the controls; empty if it does.
    question : str
        What a run would take that has to be agreed to first; empty if none has.
    is_beyond : bool
        Whether question or problem are about what the run would take.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        load: Callable[[str, int], Material],
        scheduler: Turns,
    ) -> None:
        self.vocabulary = vocabulary
        self.settings = Settings(vocabulary.default_data, vocabulary.default_learner)
        self.shown: Settings | None = None
        self.run: SessionRun | None = None
        self.ghost: SessionRun | None = None
        self.material: Material | None = None
        self.uploaded: Callable[[int], Material] | None = None
        self.complaints: list[str] = []
        self.problem = ""
        self.question = ""
        self.is_beyond = False
        self._agreed: set[Plan] = set()
        self._asked: Plan | None = None
        self._load = load
        self.scheduler = scheduler
        self._plan: Plan | None = None
        self._runs: dict[Plan, SessionRun] = {}
        self._links = OwnLinks(("step",))
        self.paths: dict[Hashable, Background[LamPath]] = {}

    # ------------------------------------------------------------------------------ the address

    def follow(self, query: Mapping[str, str], *, is_history: bool = False) -> None:
        """Take settings from the address, unless it is one we wrote ourselves.

        A message from the browser may carry an address that is a moment old; that must not undo
        what has been changed meanwhile, the shown step least of all: the player itself says where
        it is (`look_at`). Going back in the history (`is_history`) may.
        """
        if query in self._links and not is_history:
            return
        parsed = parse(query, self.vocabulary)
        self.settings = parsed.settings
        self.complaints = list(parsed.complaints)
        self._links.add(query)

    def link(self) -> dict[str, str]:
        """Return the query parameters of what is shown, and remember them as ours."""
        shown = dataclasses.replace(self.shown or self.settings, step=self.settings.step)
        query = write(shown, self.vocabulary)
        self._links.add(query)
        return query

    def look_at(self, step: int) -> None:
        """Note which step the visitor is looking at."""
        self._set(step=step)

    # ------------------------------------------------------------------------------ the controls

    def choose_data(self, key: str) -> None:
        """Show another data set; options that were chosen by hand stay."""
        self._set(data=key, branch=None, step=0, fingerprint="", reading={})

    def choose_learner(self, name: str) -> None:
        """Show another learner; it keeps the chosen options it knows."""
        defaults = default_options(self.vocabulary.learners[name], {})
        options = {key: value for key, value in self.settings.options.items() if key in defaults}
        compare = self.settings.compare and has_presets(self.vocabulary.learners[name])
        self._set(learner=name, options=options, branch=None, compare=compare)

    def choose_seed(self, seed: int | None) -> None:
        """Show another run of the same settings."""
        self._set(seed=seed or 0, branch=None)

    def choose_option(self, name: str, value: Any) -> None:
        """Change an option of the run, or of its branch while there is one."""
        branch = self.settings.branch
        if branch is None:
            self._set(options=with_choice(self.settings.options, name, value, self.defaults()))
        else:
            options = with_choice(branch.options, name, value, self.options())
            self._set(branch=BranchPoint(branch.at, options))

    def begin_branch(self, at: int) -> None:
        """Let options apply from step `at` of the run in front on."""
        if self.settings.compare:
            self._set(options=self._method(BEST), compare=False)
        self._set(branch=BranchPoint(at), step=at)

    @property
    def can_compare(self) -> bool:
        """Whether the learner has a preset best to compare with."""
        return self.settings.branch is None and has_presets(self.learner_class)

    def compare(self, with_best: bool) -> None:
        """Show what best makes of the data in front of the run of the controls, or no longer."""
        self._set(compare=with_best and self.can_compare)

    def end_branch(self) -> None:
        """Return to the run without its branch."""
        self._set(branch=None)

    def choose_reading(self, name: str, value: Any) -> None:
        """Read the upload in another way."""
        defaults = default_options(UploadOptions, {})
        self._set(reading=with_choice(self.settings.reading, name, value, defaults))

    @property
    def awaits_file(self) -> bool:
        """Whether uploaded data are chosen, but no file has been uploaded."""
        return self.settings.data == UPLOAD and self.uploaded is None

    def accept(self, uploaded: Callable[[int], Material], fingerprint: str) -> None:
        """Use an uploaded file as the data of the page."""
        self.uploaded = uploaded
        self.settings = dataclasses.replace(self.settings, fingerprint=fingerprint)

    def _set(self, **changes: Any) -> None:
        if set(changes) - {"step"}:
            self.complaints = []
        self.settings = dataclasses.replace(self.settings, **changes)

    @property
    def learner_class(self) -> type[Learner]:
        """The learner the controls show."""
        cls: type[Learner] = self.vocabulary.learners[self.settings.learner]
        return cls

    def description(self) -> str | None:
        """Return what is worth knowing about the data; None when there is nothing to say."""
        material = self.current_material()
        return (material.description or None) if material else None

    def defaults(self) -> dict[str, Any]:
        """Return the default value of every option."""
        material = self.current_material()
        return default_options(
            self.learner_class,
            material.suggested if material else {},
            self.settings.options.get("preset"),
        )

    def options(self) -> dict[str, Any]:
        """Return every option's value, without a branch."""
        return {**self.defaults(), **self.settings.options}

    def shown_options(self) -> dict[str, Any]:
        """Return what the controls show: the options of the branch while there is one."""
        branch = self.settings.branch
        return {**self.options(), **(branch.options if branch else {})}

    def automatic(self) -> dict[str, Any]:
        """Return the values of automatic options; empty while they are not known."""
        try:
            material = self.current_material()
            return automatic_values(self.learner(), material) if material else {}
        except InputError:
            return {}  # what does not go together is said where the run should be

    # ----------------------------------------------------------------------------------- the run

    def refresh(self) -> bool:
        """Make the run follow the settings; True if another run is on show now.

        Refused settings leave the run on show alone and :attr:`problem` says why.
        """
        self.problem = self.question = ""
        self.is_beyond = False
        try:
            material = self.current_material()
            if material is None:
                return False
            plan = self._plan_for(material)
            if plan != self._plan:
                if not self._may_begin(plan, material):
                    return False
                self._show(plan, material)
                return True
        except InputError as error:
            self.problem = str(error)
            return False
        self.shown = self.settings
        return False

    def agree(self) -> None:
        """Let the run begin that was asked about."""
        if self._asked is not None:
            self._agreed.add(self._asked)

    def _may_begin(self, plan: Plan, material: Material) -> bool:
        """Whether what a plan takes is within the budget, or has been agreed to; say so if not."""
        if plan in self._agreed or plan in self._runs:
            return True
        for part in filter(None, (plan, plan.base)):
            part.learner.check(material.train)
            verdict = judge(material.train, part.learner)
            self._asked, self.problem, self.question = plan, verdict.refusal, verdict.question
            self.is_beyond = verdict != Verdict()
            if verdict != Verdict():
                return False
        return True

    def smaller(self) -> int | None:
        """Return an edge budget with which what was not begun would be within the budget."""
        material = self.current_material()
        return None if material is None else fewer_edges(material.train, self.learner())

    def command(self) -> str:
        """Return the command that does elsewhere what was not begun here."""
        chosen = self.settings
        return learn_command(chosen.data, self.learner(), chosen.seed, chosen.reading)

    def revoke(self) -> None:
        """Stop all computing of this session; nothing that was computed is lost."""
        for run in list(self._runs.values()):
            run.revoke()
        for path in list(self.paths.values()):
            path.revoke()

    def forget(self) -> None:
        """Let go of all runs; the page computes the one on show again when it is asked for."""
        self.revoke()
        for run in list(self._runs.values()):
            run.forget()
        self._runs.clear()
        self.paths.clear()
        self.run = self.ghost = self._plan = self.shown = self.material = None

    def keep_path(self, plan: Hashable, path: Background[LamPath]) -> None:
        """Remember the work on a path over λ; the oldest are forgotten, and others paused."""
        for other in self.paths.values():
            other.revoke()
        self.paths[plan] = path
        for old in list(self.paths)[: -limits().kept_runs]:
            self.drop_path(old)

    def drop_path(self, plan: Hashable) -> None:
        """Stop the work on a path and forget it."""
        if (path := self.paths.pop(plan, None)) is not None:
            path.revoke()

    def current_material(self) -> Material | None:
        """Return the data of the settings; None before an upload."""
        if self.settings.data != UPLOAD:
            return self._load(self.settings.data, self.settings.seed)
        return self.uploaded(self.settings.seed) if self.uploaded else None

    def learner(self) -> Learner:
        """Return the learner the controls describe, its branch aside."""
        return self.learner_class(**self.options())

    def _plan_for(self, material: Material) -> Plan:
        cls, options, branch = self.learner_class, self.options(), self.settings.branch
        if self.settings.compare:
            return self._comparison(material)
        taking_over = None
        if branch is not None and branch.options:
            taking_over = Branch(branch.at, cls(**{**options, **branch.options}))
        return Plan(material.identity, self.learner(), self.settings.seed, taking_over)

    def _comparison(self, material: Material) -> Plan:
        """Return the plan of best beside that of the controls (if that is best: the paper's)."""
        seed, own = self.settings.seed, self.learner()
        if getattr(own, "preset", None) == BEST:
            own = self._learner_with(self._method(PAGE_PRESET))
        best = self._learner_with(self._method(BEST))
        return Plan(material.identity, best, seed, beside=Plan(material.identity, own, seed))

    def _method(self, preset: str) -> dict[str, Any]:
        """Return the chosen options that do not belong to a method, and the preset."""
        chosen = self.settings.options
        options = {name: chosen[name] for name in COMPARED_OPTIONS if name in chosen}
        return options if preset == PAGE_PRESET else {**options, "preset": preset}

    def _learner_with(self, chosen: Mapping[str, Any]) -> Learner:
        material = self.current_material()
        suggested = material.suggested if material else {}
        defaults = default_options(self.learner_class, suggested, chosen.get("preset"))
        return self.learner_class(**{**defaults, **chosen})

    def _show(self, plan: Plan, material: Material) -> None:
        is_first = self.run is None and not plan.beside
        base = self._run_of(plan.base, material) if plan.base is not None else None
        if base is not None and plan.beside and not _has_places(material):
            base.grant()
            base.wait(EVERYTHING, LENDS_PLACES)
        run = self._run_of(plan, material, base)
        for other in self._runs.values():
            if other is not run and other is not base:
                other.revoke()
        self.run, self.ghost, self._plan = run, base or self.run, plan
        self.shown, self.material = self.settings, material
        evict_runs(self._runs, (self.run, self.ghost), limits().kept_runs)
        # The first picture needs a few steps; a change of options is shown as a whole.
        run.grant(max(FIRST_CREDIT, self.settings.step) if is_first else EVERYTHING)
        if base is not None:
            base.grant()

    def _run_of(
        self, plan: Plan, material: Material, beside: SessionRun | None = None
    ) -> SessionRun:
        run = self._runs.pop(plan, None)
        if run is None or run.failure:
            run = start_run(plan, material, self.scheduler, beside)
        self._runs[plan] = run
        return run


def _has_places(material: Material) -> bool:
    """Whether every run on the data has the same layout from its first step on."""
    return material.positions is not None or (
        material.truth is not None and len(material.truth) > 0
    )


def grow_state() -> GrowState:
    """Return the state of the Grow page in this session."""
    return page_state(_KEY, lambda: GrowState(vocabulary(), material, share()))


def opened_grow_state() -> GrowState | None:
    """Return the state of the Grow page in this session; None if it has not been opened."""
    return opened_state(_KEY)
