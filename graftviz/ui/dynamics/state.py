"""What one visitor of the Dynamics page has in hand: choices, series, the run on show.

Nothing here knows Streamlit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from graftviz.errors import InputError
from graftviz.ui.background import Background
from graftviz.ui.dynamics.jobs import Measured, Plan, Told, plan_of
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
MeasureOf = Callable[[DynamicsMaterial, Plan, bool], Background[Measured | None]]


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
        One of each method, of those that have finished.
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
        Return the run of a plan, for the picture and for numbers, among them a fair time if the
        last argument says so; the same ones when asked again.

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
        timed = {plan: self._measure_of(self.shown.material, plan, True) for plan in race}
        curves = dict.fromkeys([*by_s, *by_k])
        others = {
            plan: self._measure_of(self.shown.material, plan, False)
            for plan in curves
            if plan not in timed
        }
        if work.ended:
            self._go_on(list(timed.values()), list(others.values()))
        known = {plan: one.latest for plan, one in {**timed, **others}.items() if one.finished}
        return Compared(
            _of(known, by_k),
            _of(known, by_s),
            _of(known, race),
            all(one.ended for one in (*timed.values(), *others.values())),
        )

    @staticmethod
    def _go_on(timed: list[Background[Any]], others: list[Background[Any]]) -> None:
        """Begin what is missing: methods that are timed one by one, then two at a time."""
        for group, at_once in ((timed, 1), (others, AT_ONCE)):
            if missing := [one for one in group if not one.ended]:
                for one in missing[:at_once]:
                    one.start()
                return

    def failures(self) -> list[str]:
        """Return why methods of the race could not be measured."""
        assert self.shown is not None
        race = {p.learner: self._measure_of(self.shown.material, p, True) for p in self._plans()[2]}
        return [f"{learner.title}: {one.failure}" for learner, one in race.items() if one.failure]

    def revoke(self) -> None:
        """Let nothing more be computed for this session; what was computed stays."""
        if self.shown is None:
            return
        self._run_of(self.shown.material, self.shown.plan).revoke()
        for plan in {plan for group in self._plans() for plan in group}:
            for is_timed in (True, False):
                self._measure_of(self.shown.material, plan, is_timed).revoke()

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


def _of(known: dict[Plan, Measured | None], plans: list[Plan]) -> list[Measured]:
    return [one for plan in plans if (one := known.get(plan)) is not None]
