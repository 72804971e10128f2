"""What one visitor of the Grow page has in hand: settings, the run on show, and what to say.

Controls change the settings; :meth:`GrowState.refresh` makes the run follow. What cannot be used
becomes a sentence, and the run on show stays as it is. Nothing here knows Streamlit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from graftviz.errors import InputError
from graftviz.learners.base import Learner
from graftviz.runs import Branch
from graftviz.ui.material import Material, default_options
from graftviz.ui.recording import Plan, start_run
from graftviz.ui.scheduler import Scheduler
from graftviz.ui.session_run import EVERYTHING, SessionRun
from graftviz.ui.url_state import (
    UPLOAD,
    BranchPoint,
    Settings,
    UploadOptions,
    Vocabulary,
    parse,
    write,
)

KEPT_RUNS = 4
FIRST_CREDIT = 400  # steps computed before anybody presses play
REMEMBERED_LINKS = 50


class GrowState:
    """Settings and runs of one session.

    Parameters
    ----------
    vocabulary : Vocabulary
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    scheduler : Scheduler

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
        ``uploaded(seed)`` returns the material of the file that was brought.
    complaints : list of str
        About the link; shown until the settings change.
    problem : str
        Why the run on show does not follow the controls; empty if it does.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        load: Callable[[str, int], Material],
        scheduler: Scheduler,
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
        self._load = load
        self._scheduler = scheduler
        self._plan: Plan | None = None
        self._runs: dict[Plan, SessionRun] = {}
        self._links: list[dict[str, str]] = []

    # ------------------------------------------------------------------------------ the address

    def follow(self, query: Mapping[str, str], *, is_history: bool = False) -> None:
        """Take settings from the address, unless it is one we wrote ourselves.

        A message from the browser may carry an address that is a moment old; that must not undo
        what has been changed meanwhile, the shown step least of all: the player itself says where
        it is (`look_at`). Going back in the history (`is_history`) may.
        """
        link = {name: text for name, text in query.items() if name != "step"}
        if link in self._links and not is_history:
            return
        parsed = parse(query, self.vocabulary)
        self.settings = parsed.settings
        self.complaints = list(parsed.complaints)
        self._remember(link)

    def link(self) -> dict[str, str]:
        """Return the query parameters of what is shown, and remember them as ours."""
        shown = dataclasses.replace(self.shown or self.settings, step=self.settings.step)
        query = write(shown, self.vocabulary)
        self._remember({name: text for name, text in query.items() if name != "step"})
        return query

    def look_at(self, step: int) -> None:
        """Note which step the visitor is looking at."""
        self._set(step=step)

    def _remember(self, link: dict[str, str]) -> None:
        if link in self._links:
            self._links.remove(link)
        self._links = [*self._links, link][-REMEMBERED_LINKS:]

    # ------------------------------------------------------------------------------ the controls

    def choose_data(self, key: str) -> None:
        """Show another data set; options that were chosen by hand stay."""
        self._set(data=key, branch=None, step=0, fingerprint="", reading={})

    def choose_learner(self, name: str) -> None:
        """Show another learner; it keeps the chosen options it knows."""
        known = default_options(self.vocabulary.learners[name], {})
        kept = {key: value for key, value in self.settings.options.items() if key in known}
        self._set(learner=name, options=kept, branch=None)

    def choose_seed(self, seed: int | None) -> None:
        """Show another run of the same settings."""
        self._set(seed=seed or 0, branch=None)

    def choose_option(self, name: str, value: Any) -> None:
        """Change an option of the run, or of its branch while there is one."""
        branch = self.settings.branch
        if branch is None:
            self._set(options=_changed(self.settings.options, name, value, self.defaults()))
        else:
            options = _changed(branch.options, name, value, self.options())
            self._set(branch=BranchPoint(branch.at, options))

    def begin_branch(self, at: int) -> None:
        """Let options apply from step `at` on."""
        self._set(branch=BranchPoint(at), step=at)

    def end_branch(self) -> None:
        """Return to the run without its branch."""
        self._set(branch=None)

    def choose_reading(self, name: str, value: Any) -> None:
        """Read the upload in another way."""
        defaults = default_options(UploadOptions, {})
        self._set(reading=_changed(self.settings.reading, name, value, defaults))

    def accept(self, uploaded: Callable[[int], Material], fingerprint: str) -> None:
        """Take a file that was brought as the data of the page."""
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
        material = self._wanted_material()
        return (material.description or None) if material else None

    def defaults(self) -> dict[str, Any]:
        """Return every option's value where nobody has chosen one."""
        material = self._wanted_material()
        return default_options(self.learner_class, material.suggested if material else {})

    def options(self) -> dict[str, Any]:
        """Return every option's value, without a branch."""
        return {**self.defaults(), **self.settings.options}

    def shown_options(self) -> dict[str, Any]:
        """Return what the controls show: the options of the branch while there is one."""
        branch = self.settings.branch
        return {**self.options(), **(branch.options if branch else {})}

    # ----------------------------------------------------------------------------------- the run

    def refresh(self) -> bool:
        """Make the run follow the settings; True if another run is on show now.

        Refused settings leave the run on show alone and :attr:`problem` says why.
        """
        self.problem = ""
        try:
            material = self._wanted_material()
            if material is None:
                return False
            plan = self._plan_for(material)
            if plan != self._plan:
                self._show(plan, material)
                return True
        except InputError as error:
            self.problem = str(error)
            return False
        self.shown = self.settings
        return False

    def revoke(self) -> None:
        """Stop all computing of this session; nothing that was computed is lost."""
        for run in self._runs.values():
            run.revoke()

    def _wanted_material(self) -> Material | None:
        if self.settings.data != UPLOAD:
            return self._load(self.settings.data, self.settings.seed)
        return self.uploaded(self.settings.seed) if self.uploaded else None

    def _plan_for(self, material: Material) -> Plan:
        cls, options, branch = self.learner_class, self.options(), self.settings.branch
        taking_over = None
        if branch is not None and branch.options:
            taking_over = Branch(branch.at, cls(**{**options, **branch.options}))
        return Plan(material.identity, cls(**options), self.settings.seed, taking_over)

    def _show(self, plan: Plan, material: Material) -> None:
        is_first = self.run is None
        base = self._run_of(plan.base, material) if plan.branch is not None else None
        run = self._run_of(plan, material, base.token if base is not None else "")
        for other in self._runs.values():
            if other is not run and other is not base:
                other.revoke()
        self.run, self.ghost, self._plan = run, base or self.run, plan
        self.shown, self.material = self.settings, material
        # The first picture needs a few steps; a change of options is to be felt as a whole.
        run.grant(max(FIRST_CREDIT, self.settings.step) if is_first else EVERYTHING)
        if base is not None:
            base.grant()

    def _run_of(self, plan: Plan, material: Material, continues: str = "") -> SessionRun:
        run = self._runs.pop(plan, None)
        if run is None or run.failure:
            run = start_run(plan, material, self._scheduler, continues)
        self._runs[plan] = run
        for old in list(self._runs)[:-KEPT_RUNS]:
            self._runs.pop(old).revoke()
        return run


def _changed(
    chosen: Mapping[str, Any], name: str, value: Any, defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `chosen` with one more choice; choosing the default is no choice."""
    options = {key: kept for key, kept in chosen.items() if key != name}
    return options if value == defaults[name] else {**options, name: value}
