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
from graftviz.ui.background import EVERYTHING, Background
from graftviz.ui.command_line import learn_command
from graftviz.ui.frame.learning import LearningPage
from graftviz.ui.limits import limits
from graftviz.ui.material import PAGE_PRESET, Material, default_options, with_choice
from graftviz.ui.recording import Plan, start_run
from graftviz.ui.run_limits import fewer_edges, judge
from graftviz.ui.scheduler import Turns
from graftviz.ui.services import material, opened_state, page_state, share, vocabulary
from graftviz.ui.session_run import SessionRun
from graftviz.ui.url_state import (
    BEST,
    BranchPoint,
    Parsed,
    Settings,
    Vocabulary,
    has_presets,
    parse,
    write,
)

COMPARED_OPTIONS = ("alpha", "reservoir", "max_edges")  # the rest is left to the preset
LENDS_PLACES = 3.0  # seconds to wait for the layout of the run that another is compared with
_KEY = "grow"
FIRST_CREDIT = 400  # steps computed before anybody presses play


class GrowState(LearningPage[Settings]):
    """Settings and runs of the Grow page in one session.

    Parameters
    ----------
    vocabulary : Vocabulary
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    scheduler : Turns

    Attributes
    ----------
    run : SessionRun or None
    ghost : SessionRun or None
        The run to show beside it: the one `run` branched from, or else the one before.
    paths : dict
        Work on paths over λ, by what decides them.
    is_beyond : bool
        Whether question or problem are about what the run would take.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        load: Callable[[str, int], Material],
        scheduler: Turns,
    ) -> None:
        super().__init__(
            Settings(vocabulary.default_data, vocabulary.default_learner), load, places=("step",)
        )
        self.vocabulary = vocabulary
        self.run: SessionRun | None = None
        self.ghost: SessionRun | None = None
        self.is_beyond = False
        self.scheduler = scheduler
        self.paths: dict[Hashable, Background[LamPath]] = {}
        self._plan: Plan | None = None

    # ---------------------------------------------------------------------------------- address

    def _parse(self, query: Mapping[str, str]) -> Parsed:
        return parse(query, self.vocabulary)

    def _write(self) -> dict[str, str]:
        shown = dataclasses.replace(self.shown or self.settings, step=self.settings.step)
        return write(shown, self.vocabulary)

    def look_at(self, step: int) -> None:
        """Record the step that the browser shows."""
        self.settings = self._with(step=step)

    # --------------------------------------------------------------------------------- controls

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

    @property
    def learner_class(self) -> type[Learner]:
        """The learner the controls show."""
        cls: type[Learner] = self.vocabulary.learners[self.settings.learner]
        return cls

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
            learner = self.learner_class(**self.shown_options())
            return automatic_values(learner, material) if material else {}
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
                if not self._may_show(plan, material):
                    return False
                self._show(plan, material)
                return True
        except InputError as error:
            self.problem = str(error)
            return False
        self.shown = self.settings
        return False

    def _may_show(self, plan: Plan, material: Material) -> bool:
        """Return whether a plan is within the limits or confirmed; set problem and question."""
        if plan in self._runs:
            return True
        for part in filter(None, (plan, plan.base)):
            part.learner.check(material.train)
            if not self._may_begin(plan, judge(material.train, part.learner)):
                self.is_beyond = True
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
        """Pause all computing of this session; computed steps remain."""
        super().revoke()
        for path in list(self.paths.values()):
            path.revoke()

    def forget(self) -> None:
        """Release all runs; they are computed again when the page is opened."""
        super().forget()
        for path in list(self.paths):
            self.drop_path(path)
        self.run = self.ghost = self._plan = None

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
            base.wait_for_end(LENDS_PLACES)
        run = self._run_of(plan, material, base)
        if base is None and self.run is not None and self.run is not run:
            self.run.revoke()  # it stays on show beside the new one
        self.run, self.ghost, self._plan = run, base or self.run, plan
        self.shown, self.material = self.settings, material
        self._runs.show((self.run, self.ghost), limits().kept_runs)
        # The first picture needs a few steps; a change of options is shown as a whole.
        run.grant(max(FIRST_CREDIT, self.settings.step) if is_first else EVERYTHING)
        if base is not None:
            base.grant()

    def _run_of(
        self, plan: Plan, material: Material, beside: SessionRun | None = None
    ) -> SessionRun:
        return self._runs.get(plan, lambda: start_run(plan, material, self.scheduler, beside))


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
