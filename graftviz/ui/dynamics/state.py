"""What one visitor of the Dynamics page has in hand: choices, series, the run on show.

Nothing here knows Streamlit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from graftviz.dynamics import LEARNERS
from graftviz.errors import InputError
from graftviz.ui.background import Background
from graftviz.ui.dynamics.jobs import Measured, Plan, Told, measured, plan_of
from graftviz.ui.dynamics.limits import judge_system
from graftviz.ui.dynamics.material import BroughtSeries, DynamicsMaterial
from graftviz.ui.dynamics.options import PLACES, DynamicsOptions, parent_count, seeds_of
from graftviz.ui.page_options import PageOptions
from graftviz.ui.run_limits import Verdict
from graftviz.ui.url_state import UPLOAD

AT_ONCE = 2  # systems of the curves and the race that are learned side by side
LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  # of the series that are seeds
RACE = ("dense", "enforcing", "inducing", "scalable")
_PRINT = "fingerprint"
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_ANOTHER_PICTURE = ("data", "size", "density", "rows", "noise", "seed")

SourceOf = Callable[[DynamicsOptions, BroughtSeries | None], DynamicsMaterial | None]
RunOf = Callable[[DynamicsMaterial, Plan], Background[Told]]
MeasureOf = Callable[[DynamicsMaterial, Plan], Background[Measured | None]]


class Shown(NamedTuple):
    """The run on show, and what led to it."""

    options: DynamicsOptions
    material: DynamicsMaterial
    plan: Plan


class Compared(NamedTuple):
    """What is measured of other settings, as far as that is known.

    Attributes
    ----------
    by_parents, by_seeds : list of Measured
        Of scalable and inducing learning, by k; of scalable learning, by |S|.
    race : list of Measured
        One of each method, in the order in which they finished.
    is_complete : bool
    """

    by_parents: list[Measured]
    by_seeds: list[Measured]
    race: list[Measured]
    is_complete: bool


class DynamicsState:
    """Choices of one session, and the runs they led to.

    Parameters
    ----------
    source_of : callable
        Returns the series that settings lead to; None while a file is awaited.
    run_of, measure_of : callable
        Return the run of a plan, for the picture and for a number; the same ones when asked again.

    Attributes
    ----------
    page : PageOptions
    uploaded : BroughtSeries or None
    shown : Shown or None
    problem, question : str
        Why what is shown does not follow the choices; what is to be agreed to before it does.
    visit : int
        Grows when a link is followed: then the browser goes where it says.
    """

    def __init__(self, source_of: SourceOf, run_of: RunOf, measure_of: MeasureOf) -> None:
        self.page: PageOptions[DynamicsOptions] = PageOptions(DynamicsOptions, PLACES, (_PRINT,))
        self.uploaded: BroughtSeries | None = None
        self.shown: Shown | None = None
        self.problem = self.question = ""
        self.visit = 0
        self._source_of, self._run_of, self._measure_of = source_of, run_of, measure_of
        self._agreed: list[tuple[str, Plan]] = []
        self._asked: tuple[str, Plan] | None = None
        self._finished: list[tuple[str, Plan]] = []

    @property
    def options(self) -> DynamicsOptions:
        """The choices as an instance of their dataclass."""
        return self.page.options

    @property
    def complaints(self) -> tuple[str, ...]:
        """About the link; until something is chosen."""
        return self.page.complaints

    @property
    def expected(self) -> str:
        """Fingerprint of the files a link was made with; empty when any will do."""
        return "" if self.uploaded is not None else self.page.others.get(_PRINT, "")

    # ------------------------------------------------------------------------------ the address

    def follow(self, query: Mapping[str, str], *, is_history: bool = False) -> None:
        """Take the choices from the address, unless it is one we wrote ourselves."""
        if not self.page.follow(query, is_history=is_history):
            return
        self.visit += 1
        given = self.page.others
        is_good = self.page.values["data"] == UPLOAD and _FINGERPRINT.fullmatch(
            given.get(_PRINT, "")
        )
        if _PRINT in given and not is_good:
            del given[_PRINT]

    def link(self) -> dict[str, str]:
        """Return the query parameters of the choices, and remember them as ours."""
        return self.page.link()

    def choose(self, name: str, value: Any) -> None:
        """Set one option; another run is watched from its start."""
        self.page.choose(name, value)
        if name == "data":
            self.page.others.pop(_PRINT, None)
            if value == UPLOAD and self.uploaded is not None:
                self.page.others[_PRINT] = self.uploaded.fingerprint
        if name in _ANOTHER_PICTURE:
            self.page.values["node"] = None
        if name not in PLACES and name != "horizon":
            self.page.values["step"] = None

    def accept(self, files: BroughtSeries) -> None:
        """Take files that were brought as the series of the page."""
        if self.uploaded is None or self.uploaded.fingerprint != files.fingerprint:
            if self.uploaded is not None:
                self.page.values["node"] = self.page.values["step"] = None
            self.uploaded = files
        self.page.others[_PRINT] = files.fingerprint

    # -------------------------------------------------------------------------------- the run

    def refresh(self) -> None:
        """Make the run on show follow the choices; one that cannot be had leaves the last."""
        self.problem = self.question = ""
        options = self.options
        try:
            material = self._source_of(options, self.uploaded)
            if material is None:
                return
            plan = plan_of(options, material)
        except InputError as error:
            self.problem = str(error)
            return
        if self._is_on_show(material, plan) or self._may_begin(material, plan):
            self._take(Shown(options, material, plan))

    def agree(self) -> None:
        """Let the run begin that was asked about."""
        if self._asked is not None:
            self._agreed.append(self._asked)

    @property
    def run(self) -> Background[Told] | None:
        """The run on show, at work unless it has ended; None before there is any."""
        if self.shown is None:
            return None
        work = self._run_of(self.shown.material, self.shown.plan)
        work.start()
        return work

    @property
    def node(self) -> int | None:
        """The series that was clicked, if the data on show have it."""
        node = self.page.values["node"]
        known = self.shown is not None and node is not None and node < self.shown.material.n
        return int(node) if known else None

    def notes(self) -> tuple[str, ...]:
        """Return what should be known about the choices: what was filled in, what was clipped."""
        if self.shown is None:
            return ()
        options, material, plan = self.shown
        told = [*material.series.notes]
        for label, asked, used in (
            ("k", options.parents, parent_count(options, material.n)),
            ("|S|", options.seeds, seeds_of(options, material.n)),
        ):
            if asked is not None and asked > used:
                told.append(f"{label} = {asked:,} is more than the series there are; it is {used}.")
        if plan.wiring and plan.wiring != options.wiring:
            lacks = "true system is not known" if options.wiring == "truth" else "file is not there"
            told.append(f"The {lacks}, so the parents are those of sparsity inducing learning.")
        return tuple(told)

    def _is_on_show(self, material: DynamicsMaterial, plan: Plan) -> bool:
        shown = self.shown
        return shown is not None and (shown.material.identity, shown.plan) == (
            material.identity,
            plan,
        )

    def _may_begin(self, material: DynamicsMaterial, plan: Plan) -> bool:
        key = (material.identity, plan)
        if key in self._agreed:
            return True
        verdict = judge_system(material.n, material.train.n_rows, plan.source or plan.learner)
        self.problem, self.question = verdict.refusal, verdict.question
        self._asked = key
        return verdict == Verdict()

    def _take(self, shown: Shown) -> None:
        if self.shown is not None and not self._is_on_show(shown.material, shown.plan):
            self._run_of(self.shown.material, self.shown.plan).revoke()
        self.shown = shown

    # ----------------------------------------------------------------------- curves and the race

    def compared(self) -> Compared:
        """Return what is known of other k, other |S| and the other methods.

        What is missing is begun, two systems at a time, once the run on show has ended.
        """
        work = self.run
        if self.shown is None or work is None:
            return Compared([], [], [], False)
        by_k, by_s, race = self._plans()
        known = self._measured([*race, *by_s, *by_k], work.ended)
        for plan in race:
            if plan in known and (self._key(plan) not in self._finished):
                self._finished.append(self._key(plan))
        order = [plan for plan in race if plan in known]
        order.sort(key=lambda plan: self._finished.index(self._key(plan)))
        return Compared(
            [known[plan] for plan in by_k if plan in known],
            [known[plan] for plan in by_s if plan in known],
            [known[plan] for plan in order],
            all(plan in known or self._failure(plan) for plan in {*by_k, *by_s, *race}),
        )

    def failures(self) -> list[str]:
        """Return why methods of the race could not be measured."""
        return [text for plan in self._plans()[2] if (text := self._failure(plan))]

    def revoke(self) -> None:
        """Let nothing more be computed for this session; what was computed stays."""
        if self.shown is None:
            return
        self._run_of(self.shown.material, self.shown.plan).revoke()
        for plan in {plan for group in self._plans() for plan in group}:
            self._measure_of(self.shown.material, plan).revoke()

    def _plans(self) -> tuple[list[Plan], list[Plan], list[Plan]]:
        """Return what the curves by k and by |S| and the race are made of."""
        assert self.shown is not None
        options, material, _ = self.shown
        n, rows = material.n, material.train.n_rows
        own_k, own_s = parent_count(options, n), seeds_of(options, n)
        most = min(n, rows - 3, max(3 * own_k, 20))
        all_k = sorted({k for k in LADDER if k <= most} | {own_k})
        all_s = sorted({max(1, round(share * n)) for share in SHARES} | {own_s})
        found = (
            [(name, k, None) for name in ("scalable", "inducing") for k in all_k],
            [("scalable", None, s) for s in all_s],
            [(name, None, None) for name in RACE],
        )
        by_k, by_s, race = ([self._plan(*one) for one in group] for group in found)
        return ([p for p in by_k if p], [p for p in by_s if p], [p for p in race if p])

    def _plan(self, name: str, parents: int | None, seeds: int | None) -> Plan | None:
        """Return a plan of the curves; None for one that cannot be had, or takes too long."""
        assert self.shown is not None
        options, material, _ = self.shown
        try:
            plan = plan_of(options, material, name, parents=parents, seeds=seeds)
        except InputError:
            return None
        is_own = parents is None and seeds is None
        verdict = judge_system(material.n, material.train.n_rows, plan.source or plan.learner)
        return plan if verdict == Verdict() or (is_own and name == options.learner) else None

    def _measured(self, plans: list[Plan], may_begin: bool) -> dict[Plan, Measured]:
        assert self.shown is not None
        material, shown_plan = self.shown.material, self.shown.plan
        told = self._run_of(material, shown_plan).latest
        known: dict[Plan, Measured] = {}
        if told is not None and told.result is not None:
            known[shown_plan] = measured(material, shown_plan, told.result)
        waiting = []
        for plan in dict.fromkeys(plans):
            if plan in known:
                continue
            work = self._measure_of(material, plan)
            if work.latest is not None and work.finished:
                known[plan] = work.latest
            elif not work.ended:
                waiting.append(work)
        if may_begin:
            for work in waiting[:AT_ONCE]:
                work.start()
        return known

    def _failure(self, plan: Plan) -> str:
        assert self.shown is not None
        if plan == self.shown.plan:
            return self._run_of(self.shown.material, plan).failure
        work = self._measure_of(self.shown.material, plan)
        title = LEARNERS[plan.learner.name].title
        return f"{title}: {work.failure}" if work.failure else ""

    def _key(self, plan: Plan) -> tuple[str, Plan]:
        assert self.shown is not None
        return self.shown.material.identity, plan
