"""Session state of the Dynamics page: options, series, the current run.

Nothing here knows Streamlit.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from graftviz.dynamics import ScalableStructure
from graftviz.dynamics.all_regressions import AllRegressions
from graftviz.errors import InputError
from graftviz.narrative.phrases import plural
from graftviz.ui.background import Background
from graftviz.ui.dynamics.jobs import (
    CurveRequest,
    Curves,
    Measured,
    Plan,
    RunProgress,
    plan_of,
    scalable_of,
)
from graftviz.ui.dynamics.material import DynamicsMaterial, UploadedSeries
from graftviz.ui.dynamics.options import (
    PLACES,
    DynamicsOptions,
    judge_system,
    parent_count,
    seeds_of,
)
from graftviz.ui.frame.state import OptionsPage
from graftviz.ui.run_limits import Verdict
from graftviz.ui.url_state import UPLOAD

LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  # of the series that are seeds
RACE = ("dense", "enforcing", "inducing", "scalable")
TOO_LONG = "No curves over k and |S|: regressing each of these series takes too long."
_PRINT = "fingerprint"
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_ANOTHER_PICTURE = ("data", "size", "density", "rows", "noise", "seed")

SourceOf = Callable[[DynamicsOptions, UploadedSeries | None], DynamicsMaterial | None]
RunOf = Callable[[DynamicsMaterial, Plan], Background[RunProgress]]
MeasureOf = Callable[[DynamicsMaterial, Plan], Background[Measured | None]]
SurveyOf = Callable[[DynamicsMaterial, ScalableStructure, int], Background[AllRegressions | None]]
CurvesOf = Callable[[DynamicsMaterial, CurveRequest, int], Background[Curves]]


class Work(NamedTuple):
    """Functions that return shared jobs; equal arguments give the same job.

    Attributes
    ----------
    source : callable
        Returns the series that settings lead to; None while a file is awaited.
    run, measure : callable
        Return the run of a plan, for the picture and for its numbers.
    survey, curves : callable
        Return the regressions of all series, and what follows from them once they have ended.
    """

    source: SourceOf
    run: RunOf
    measure: MeasureOf
    survey: SurveyOf
    curves: CurvesOf


class Shown(NamedTuple):
    """The run on show, and what led to it."""

    options: DynamicsOptions
    material: DynamicsMaterial
    plan: Plan


class Compared(NamedTuple):
    """Results for other settings, as far as they are available.

    Attributes
    ----------
    curves : Curves
    race : list of Measured
        One of each method, of those that have finished.
    is_complete : bool
    missing : str
        Why something will not come; empty otherwise.
    """

    curves: Curves
    race: list[Measured]
    is_complete: bool
    missing: str = ""


class DynamicsState(OptionsPage[DynamicsOptions]):
    """Choices of one session, and the runs they led to.

    Parameters
    ----------
    work : Work

    Attributes
    ----------
    uploaded : UploadedSeries or None
    shown : Shown or None
    """

    def __init__(self, work: Work) -> None:
        super().__init__(DynamicsOptions, PLACES, (_PRINT,))
        self.uploaded: UploadedSeries | None = None
        self.shown: Shown | None = None
        self._work = work
        self._uploaded_on_show: UploadedSeries | None = None  # or last on show

    @property
    def expected(self) -> str:
        """Fingerprint of the files a link was made with; empty when any will do."""
        return "" if self.uploaded is not None else self.others.get(_PRINT, "")

    # ------------------------------------------------------------------------------ the address

    def _check_link(self) -> None:
        others = self.others
        is_good = self.values["data"] == UPLOAD and _FINGERPRINT.fullmatch(others.get(_PRINT, ""))
        if _PRINT in others and not is_good:
            self.ignore(_PRINT, f"Invalid {_PRINT} in the link; ignored.")

    def choose(self, name: str, value: Any) -> None:
        """Set one option; another run is watched from its start."""
        super().choose(name, value)
        if name == "data":
            self.others.pop(_PRINT, None)
            if value == UPLOAD and self.uploaded is not None:
                self.others[_PRINT] = self.uploaded.fingerprint
        if name in _ANOTHER_PICTURE:
            self.values["node"] = None
        if name not in PLACES and name != "horizon":
            self.values["step"] = None

    @property
    def awaits_file(self) -> bool:
        """Whether uploaded data are chosen, but no file has been uploaded."""
        return self.options.data == UPLOAD and self.uploaded is None

    def accept(self, files: UploadedSeries) -> None:
        """Use uploaded files as the series of the page."""
        if self.uploaded is not None and self.uploaded.fingerprint != files.fingerprint:
            self.values["node"] = self.values["step"] = None
        self.uploaded = files  # also with equal values: titles and times may differ
        self.others[_PRINT] = files.fingerprint

    def put_back(self) -> None:
        """Return to the previous files; the latest upload could not be used."""
        self.uploaded = self._uploaded_on_show
        if self.uploaded is not None:
            self.others[_PRINT] = self.uploaded.fingerprint
        else:
            self.others.pop(_PRINT, None)

    # -------------------------------------------------------------------------------- the run

    def refresh(self) -> None:
        """Make the run on show follow the choices; one that cannot be had leaves the last."""
        self.problem = self.question = ""
        options = self.options
        try:
            material = self._work.source(options, self.uploaded)
            if material is None:
                return
            plan = plan_of(options, material)
        except InputError as error:
            self.problem = str(error)
            return
        learner = plan.source or plan.learner
        verdict = judge_system(material.n, material.train.n_rows, learner)
        key = (material.identity, plan)
        if self._is_on_show(material, plan) or self._may_begin(key, verdict):
            self._take(Shown(options, material, plan))
            self._check_places(material)

    def _check_places(self, material: DynamicsMaterial) -> None:
        """Ignore a series or step of a link that does not exist, with a sentence."""
        if not self.is_from_link:
            return
        options, n = self.options, material.n
        if options.node is not None and options.node >= n:
            self.ignore("node", f"No series {options.node}: the series are 0 … {n - 1}; ignored.")
        if options.step is not None and options.step > n:
            self.ignore(
                "step",
                f"No step {options.step}: the run has {plural(n, 'step')}, one per series; "
                "ignored.",
            )

    @property
    def run(self) -> Background[RunProgress] | None:
        """The run on show, at work unless it has ended; None before there is any."""
        if self.shown is None:
            return None
        work = self._work.run(self.shown.material, self.shown.plan)
        self.jobs.begin(work)
        return work

    @property
    def node(self) -> int | None:
        """The series that was clicked, if the data on show have it."""
        node = self.values["node"]
        exists = self.shown is not None and node is not None and node < self.shown.material.n
        return int(node) if exists else None

    def notes(self) -> tuple[str, ...]:
        """Return what should be known about the choices: what was filled in, what was clipped."""
        if self.shown is None:
            return ()
        options, material, plan = self.shown
        notes = [*material.series.notes]
        learner = plan.source or plan.learner
        for name, label, requested, used in (
            ("parents", "k", options.parents, parent_count(options, material.n)),
            ("seeds", "|S|", options.seeds, seeds_of(options, material.n)),
        ):
            if hasattr(learner, name) and requested is not None and requested > used:
                notes.append(f"{label} = {requested:,} exceeds the number of series; using {used}.")
        if plan.wiring and plan.wiring != options.wiring:
            lacks = "true system" if options.wiring == "truth" else "file of parents"
            notes.append(
                f"No {lacks} available: using the parents from sparsity inducing learning."
            )
        return tuple(notes)

    def _is_on_show(self, material: DynamicsMaterial, plan: Plan) -> bool:
        shown = self.shown
        return shown is not None and (shown.material.identity, shown.plan) == (
            material.identity,
            plan,
        )

    def _take(self, shown: Shown) -> None:
        if self.shown is not None and not self._is_on_show(shown.material, shown.plan):
            self.jobs.leave()
        self.shown = shown
        if shown.options.data == UPLOAD:
            self._uploaded_on_show = self.uploaded

    # ----------------------------------------------------------------------- curves and the race

    def compared(self) -> Compared:
        """Return what is known of the four methods, of other k and of other |S|.

        What is missing is begun once the run on show has ended: the methods one by one, so that
        their times can be compared, then the regressions, then what follows from them.
        """
        run = self.run
        if self.shown is None or run is None:
            return Compared(Curves(), [], True)
        race = [self._work.measure(self.shown.material, plan) for plan in self._race()]
        missing = [one for one in race if not one.ended]
        if run.ended and missing:
            self.jobs.begin(missing[0])
        results = [one.latest for one in race if one.finished and one.latest is not None]
        failures = " ".join(dict.fromkeys(one.failure for one in race if one.failure))
        if missing:
            return Compared(Curves(), results, False, failures)
        curves, has_ended, why = self._curves()
        return Compared(curves, results, has_ended, " ".join(filter(None, [failures, why])))

    def _curves(self) -> tuple[Curves, bool, str]:
        """Return the curves so far, whether that is all, and why some may be missing."""
        assert self.shown is not None
        options, material, _ = self.shown
        try:
            request = self._curve_request()
        except InputError as error:
            return Curves(), True, f"No curves: {error}"
        everyone = dataclasses.replace(request.learner, seeds=float(material.n))
        if judge_system(material.n, material.train.n_rows, everyone) != Verdict():
            return Curves(), True, TOO_LONG
        survey = self._work.survey(material, request.learner, options.seed)
        self.jobs.begin(survey)
        if not survey.finished:
            return Curves(), survey.ended, survey.failure
        work = self._work.curves(material, request, options.seed)
        self.jobs.begin(work)
        return work.latest or Curves(), work.ended, work.failure

    def _curve_request(self) -> CurveRequest:
        assert self.shown is not None
        options, material, _ = self.shown
        learner = scalable_of(options, material)
        n, k = material.n, learner.parent_count(material.n)
        most = min(n, material.train.n_rows - 4, max(3 * k, 20))
        return CurveRequest(
            learner,
            tuple(sorted({one for one in LADDER if one <= most} | {k})),
            tuple(sorted({max(1, round(share * n)) for share in SHARES} | {int(learner.seeds)})),
        )

    def _race(self) -> list[Plan]:
        """Return the plans of the four methods; those that would take too long are left out."""
        assert self.shown is not None
        options, material, shown_plan = self.shown
        plans = []
        for name in RACE:
            try:
                plan = plan_of(options, material, name)
            except InputError:
                continue
            learner = plan.source or plan.learner
            verdict = judge_system(material.n, material.train.n_rows, learner)
            if verdict == Verdict() or plan == shown_plan:
                plans.append(plan)
        return plans

    def forget(self) -> None:
        """Let go of what is not shared; all is there again when the page is asked for."""
        self.revoke()
        for files in (self.uploaded, self._uploaded_on_show):
            if files is not None:
                files.materials.clear()
        self.shown = None
