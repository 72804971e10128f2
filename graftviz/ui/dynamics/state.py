"""Session state of the Dynamics page: options, the run on show, and what it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from graftviz.dynamics import DynamicsLearner, ScalableStructure
from graftviz.errors import InputError
from graftviz.narrative.phrases import plural
from graftviz.player.dynamics_records import influence_graph, series_record
from graftviz.ui.background import Background
from graftviz.ui.dynamics import records
from graftviz.ui.dynamics.options import (
    PLACES,
    RESETS,
    DynamicsOptions,
    judge_system,
    parent_count,
    seeds_of,
)
from graftviz.ui.dynamics.records import Counts, Curves, Measured, Plan, RunProgress, plan_of
from graftviz.ui.dynamics.source import DynamicsMaterial, source
from graftviz.ui.frame.live import RunPage
from graftviz.ui.run_limits import Verdict

LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  # of the series that are seeds
RACE = ("dense", "enforcing", "inducing", "scalable")
TOO_LONG = "No curves over k and |S|: regressing each of these series takes too long."


class Shown(NamedTuple):
    """The run on show, and what led to it."""

    options: DynamicsOptions
    source: DynamicsMaterial
    plan: Plan

    def verdict(self, learner: DynamicsLearner) -> Verdict:
        """Return whether a learner may begin on these series, with the estimate if not."""
        return judge_system(self.source.n, self.source.train.n_rows, learner)


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

    curves: Curves = Curves()
    race: Sequence[Measured] = ()
    is_complete: bool = True
    missing: str = ""


class DynamicsState(RunPage[DynamicsOptions, Shown, RunProgress]):
    """Choices of one session, and the runs they led to."""

    resets = RESETS

    def __init__(self) -> None:
        super().__init__(DynamicsOptions, PLACES)

    def _load(self) -> Shown | None:
        options = self.options
        material = source(options, self.uploaded)
        if material is None:
            return None
        plan = plan_of(options, material)
        found = Shown(options, material, plan)
        if self.is_on_show(found):
            return found
        key = (material.identity, plan)
        return found if self._may_begin(key, found.verdict(plan.costly)) else None

    def job_of(self, shown: Shown) -> Background[RunProgress]:
        """Return the run of a plan."""
        return records.run(shown.source, shown.plan)

    def _show(self, found: Shown) -> None:
        """Show a run; ignore a series or step of a link that does not exist, with a sentence."""
        super()._show(found)
        options, n = self.options, found.source.n
        if self.is_from_link and options.node is not None and options.node >= n:
            self.ignore("node", f"No series {options.node}: the series are 0 … {n - 1}; ignored.")
        if self.is_from_link and options.step is not None and options.step > n:
            self.ignore(
                "step",
                f"No step {options.step}: the run has {plural(n, 'step')}, one per series; "
                "ignored.",
            )

    # ------------------------------------------------------------------------------- the view

    @property
    def node(self) -> int | None:
        """The series that was clicked, if the data on show have it."""
        node = self.values["node"]
        exists = self.shown is not None and node is not None and node < self.shown.source.n
        return int(node) if exists else None

    def graph(self, shown: Shown) -> dict[str, Any]:
        """Return names and places of the series, and the true system."""
        material = shown.source
        return influence_graph(
            material.series.names,
            material.places,
            material.identity,
            has_natural_positions=material.given,
            sizes=material.train.values.std(axis=0),
            truth=material.truth,
        )

    def message_parts(self, shown: Shown, found: RunProgress, failure: str) -> dict[str, Any]:
        """Return the parts of a message other than steps and graph."""
        learner = shown.plan.learner
        course = {
            "title": f"{shown.source.title}: {learner.title.lower()}",
            "seeded": isinstance(learner, ScalableStructure),
            "code": [line._asdict() for line in learner.pseudocode],
            "opening": found.opening,
            "closing": failure or found.closing,
            "notes": [] if found.result is None else list(found.result.notes),
            "done": bool(found.closing or failure),
            "node": self.node,
        }
        return {"run": course, "series": self._series(shown.source, found)}

    def _series(self, material: DynamicsMaterial, found: RunProgress) -> dict[str, Any] | None:
        """Return the record of the predicted series; None until the system is learned.

        By default, it is the series with the largest variance.
        """
        if found.result is None:
            return None
        train, node = material.train, self.node
        if node is None:
            node = int(train.values.std(axis=0).argmax())
        try:
            return series_record(
                found.result.system, train, material.test, node, self.options.horizon
            )
        except InputError as error:
            return {"node": node, "problem": str(error)}

    def notes(self) -> tuple[str, ...]:
        """Return notes on the settings: what was filled in, what was clipped."""
        if self.shown is None:
            return ()
        options, material, plan = self.shown
        notes = [*material.series.notes]
        for name, label, requested, used in (
            ("parents", "k", options.parents, parent_count(options, material.n)),
            ("seeds", "|S|", options.seeds, seeds_of(options, material.n)),
        ):
            if hasattr(plan.costly, name) and requested is not None and requested > used:
                notes.append(f"{label} = {requested:,} exceeds the number of series; using {used}.")
        if plan.wiring and plan.wiring != options.wiring:
            lacks = "true system" if options.wiring == "truth" else "file of parents"
            notes.append(
                f"No {lacks} available: using the parents from sparsity inducing learning."
            )
        return tuple(notes)

    # ----------------------------------------------------------------------- curves and the race

    def compared(self) -> Compared:
        """Return what is known of the four methods, of other k and of other |S|.

        What is missing is begun once the run on show has ended: the methods one by one, so that
        their times can be compared, then the regressions, then what follows from them.
        """
        job, shown = self.run, self.shown
        if shown is None or job is None:
            return Compared()
        race = [records.measure(shown.source, plan) for plan in self._race(shown)]
        missing = [one for one in race if not one.ended]
        results = [one.latest for one in race if one.finished and one.latest is not None]
        failures = " ".join(dict.fromkeys(one.failure for one in race if one.failure))
        if missing:
            if job.ended:
                self.jobs.begin(missing[0])
            return Compared(race=results, is_complete=False, missing=failures)
        compared = self._curves(shown)
        why = " ".join(filter(None, [failures, compared.missing]))
        return compared._replace(race=results, missing=why)

    def _race(self, shown: Shown) -> list[Plan]:
        """Return the plans of the four methods; those that would take too long are left out."""
        plans = []
        for name in RACE:
            try:
                plan = plan_of(shown.options, shown.source, name)
            except InputError:
                continue
            if plan == shown.plan or shown.verdict(plan.costly) == Verdict():
                plans.append(plan)
        return plans

    def _curves(self, shown: Shown) -> Compared:
        """Return the curves so far."""
        options, material, _ = shown
        n, seed = material.n, options.seed
        try:
            learner = plan_of(options, material, ScalableStructure.name).learner
        except InputError as error:
            return Compared(missing=f"No curves: {error}")
        assert isinstance(learner, ScalableStructure)  # by its name
        if shown.verdict(replace(learner, seeds=float(n))) != Verdict():
            return Compared(missing=TOO_LONG)
        regressions = records.survey(material, learner, seed)
        self.jobs.begin(regressions)
        if not regressions.finished:
            return Compared(is_complete=regressions.ended, missing=regressions.failure)
        k = learner.parent_count(n)
        most = min(n, material.train.n_rows - 4, max(3 * k, 20))
        counts = Counts(
            learner,
            tuple(sorted({one for one in LADDER if one <= most} | {k})),
            tuple(sorted({max(1, round(share * n)) for share in SHARES} | {int(learner.seeds)})),
        )
        job = records.curves(material, counts, seed)
        self.jobs.begin(job)
        return Compared(job.latest or Curves(), (), job.ended, job.failure)
