"""Series, jobs and session state of the Dynamics page.

One job learns the system of the view, one measures a method of the comparison, and one computes the
curves over k and |S|, for which every series is regressed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from graftviz.app.dynamics.options import (
    OF_SYSTEM,
    PLACES,
    RANDOM,
    RESETS,
    DynamicsOptions,
    judge_system,
    parent_count,
    plan_of,
    seeds_of,
)
from graftviz.app.jobs import Job
from graftviz.app.material import UPLOAD, RunCheck, UploadedSeries
from graftviz.app.player.dynamics_records import (
    RunProgress,
    influence_graph,
    learning_record,
    prediction_record,
    run_progress,
)
from graftviz.app.session import shared_job
from graftviz.app.state import RunPage
from graftviz.dynamics.base import DynamicsLearner
from graftviz.dynamics.learners import LEARNERS, ScalableStructure, has_seeds
from graftviz.dynamics.measuring import (
    AllRegressions,
    Counts,
    Curves,
    DynamicsPlan,
    Measured,
    PreparedSeries,
    counts_near,
    generated_series,
    measuring,
    measuring_curves,
    regress_all,
    sampled_series,
)
from graftviz.dynamics.system import Baseline, baseline, coefficient_deviations, season
from graftviz.reports.files.dynamics_files import coefficient_frame
from graftviz.utils.errors import InputError

_SYSTEM = (*OF_SYSTEM, "seed")
TOO_LONG = "No curves over k and |S|: regressing each of these series takes too long."

# -------------------------------------------------------------------------------------- the series


def source(options: DynamicsOptions, files: UploadedSeries | None) -> PreparedSeries | None:
    """Return the series that settings select; None while a file is awaited.

    Raises
    ------
    InputError
        When sizes make no sense, or there are too few training rows.
    """
    held_out = options.held_out
    if options.data != UPLOAD:
        is_random = options.data == RANDOM
        system = {name: getattr(options, name) for name in _SYSTEM} if is_random else {}
        return built_in(options.data, held_out, system)
    if files is None:
        return None
    with st.spinner("Loading the series…"):
        return files(held_out)


@st.cache_resource(show_spinner="Loading the series…", max_entries=48)
def built_in(data: str, held_out: float, system: Mapping[str, Any]) -> PreparedSeries:
    """Return a sample, or a simulation with the arguments `system`."""
    if data == RANDOM:
        return generated_series(**system, test_fraction=held_out)
    return sampled_series(data, held_out)


# ---------------------------------------------------------------------------------------- the jobs


def _regressing(
    material: PreparedSeries, learner: ScalableStructure, seed: int
) -> Iterator[AllRegressions | None]:
    return regress_all(material.train, learner, seed=seed)


def _curving(material: PreparedSeries, counts: Counts, seed: int) -> Iterator[Curves]:
    regressions = survey(material, counts.learner, seed).latest
    assert regressions is not None  # it has ended
    return measuring_curves(material, regressions, counts)


def _comparing(material: PreparedSeries, period: int | None) -> Iterator[tuple[Baseline, ...]]:
    """Yield the errors of persistence and, if there is a season, of the seasonal prediction."""
    train, test = material.train, material.test
    period = season(train) if period is None else period
    lags = [1] if period is None or period >= train.n_rows else [1, period]
    yield tuple(baseline(train, test, lag) for lag in lags)


def _deviating(material: PreparedSeries, plan: DynamicsPlan) -> Iterator[pd.DataFrame]:
    """Yield the coefficients of a run that has ended, with their standard errors."""
    found = run(material, plan).value()
    if found.result is None:
        raise InputError("The run has not ended yet; try again.")
    system, centre = found.result.system, plan.learner.centre
    errors = coefficient_deviations(system, material.train, centre=centre)
    yield coefficient_frame(system, errors)


run = shared_job(run_progress, 100)
measure = shared_job(measuring, 200)
curves = shared_job(_curving, 200)
naive = shared_job(_comparing, 50)
coefficients = shared_job(_deviating, 50)
_survey = shared_job(_regressing, 12)


def survey(
    material: PreparedSeries, learner: ScalableStructure, seed: int
) -> Job[AllRegressions | None]:
    """Return the regressions of all series, which are independent of k and seeds."""
    plain = replace(learner, parents=None, seeds=1.0, seed_choice="random", uncovered="common")
    return _survey(material, plain, seed)


# --------------------------------------------------------------------------------------- the state


class ShownDynamics(NamedTuple):
    """The shown run with its settings and data."""

    options: DynamicsOptions
    source: PreparedSeries
    plan: DynamicsPlan

    def verdict(self, learner: DynamicsLearner) -> RunCheck:
        """Return whether a learner may begin on these series, with the estimate if not."""
        return judge_system(self.source.n, self.source.train.n_rows, learner)


class ComparedMethods(NamedTuple):
    """Results for other settings, as far as they are available.

    Attributes
    ----------
    curves : Curves
    race : list of Measured
        One of each method, of those that have finished.
    baselines : tuple of Baseline
        Persistence, and the seasonal prediction if there is a season.
    is_complete : bool
    missing : str
        Why something will not come; empty otherwise.
    """

    curves: Curves = Curves()
    race: Sequence[Measured] = ()
    is_complete: bool = True
    missing: str = ""
    baselines: tuple[Baseline, ...] = ()


class DynamicsState(RunPage[DynamicsOptions, ShownDynamics, RunProgress]):
    """Choices of one session, and the runs they led to."""

    resets = RESETS

    def __init__(self) -> None:
        super().__init__(DynamicsOptions, PLACES)

    def _resolve(self) -> ShownDynamics | None:
        options = self.options
        material = source(options, self.uploaded)
        if material is None:
            return None
        plan = plan_of(options, material)
        found = ShownDynamics(options, material, plan)
        if self.is_on_show(found):
            return found
        key = (material.identity, plan)
        return found if self._may_begin(key, found.verdict(plan.costly)) else None

    def job_of(self, shown: ShownDynamics) -> Job[RunProgress]:
        """Return the run of a plan."""
        return run(shown.source, shown.plan)

    def _adopt(self, found: ShownDynamics) -> None:
        """Show a run; ignore a series of a link that does not exist, with a sentence."""
        super()._adopt(found)
        options, n = self.options, found.source.n
        if self.is_from_link and options.node is not None and options.node >= n:
            self.ignore("node", f"No series {options.node}: the series are 0 … {n - 1}; ignored.")
        self.check_step(n)  # one step per series

    # ------------------------------------------------------------------------------- the view

    @property
    def node(self) -> int | None:
        """The clicked series, if the shown data contain it."""
        node = self.values["node"]
        exists = self.shown is not None and node is not None and node < self.shown.source.n
        return int(node) if exists else None

    def graph(self, shown: ShownDynamics) -> dict[str, Any]:
        """Return names and places of the series, and the true system."""
        return influence_graph(shown.source)

    def last_step(self, found: RunProgress) -> int:
        """Return the number of learned rows."""
        return len(found.steps)

    def message_parts(
        self, shown: ShownDynamics, found: RunProgress, failure: str
    ) -> dict[str, Any]:
        """Return the parts of a message other than steps and graph."""
        material, node = shown.source, self.node
        return {
            "run": learning_record(material, shown.plan, found, node=node, failure=failure),
            "series": prediction_record(material, found, node, self.options.horizon),
        }

    def notes(self) -> tuple[str, ...]:
        """Return notes on settings that were filled in or clipped."""
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

    def compared(self) -> ComparedMethods:
        """Return the available results of the four methods, of other k and of other |S|.

        Missing results are computed after the end of the shown run: the methods one by one, so that
        their times can be compared, then the regressions, then what follows from them.
        """
        job, shown = self.run, self.shown
        if shown is None or job is None:
            return ComparedMethods()
        simple = naive(shown.source, shown.options.period)
        baselines = simple.latest or ()
        race = [measure(shown.source, plan) for plan in self._race(shown)]
        needed: list[Job[Any]] = [*race, simple]
        missing = [one for one in needed if not one.ended]
        results = [one.final for one in race if one.final is not None]
        failures = " ".join(dict.fromkeys(one.failure for one in race if one.failure))
        if missing:
            if job.ended:
                self.jobs.begin(missing[0])
            return ComparedMethods(
                race=results, is_complete=False, missing=failures, baselines=baselines
            )
        compared = self._curves(shown)
        why = " ".join(filter(None, [failures, compared.missing]))
        found = self.coefficients
        is_complete = compared.is_complete and (found is None or found.ended)
        return compared._replace(
            race=results, missing=why, baselines=baselines, is_complete=is_complete
        )

    @property
    def coefficients(self) -> Job[pd.DataFrame] | None:
        """Job on the coefficients with their standard errors; None before the run has ended."""
        job, shown = self.run, self.shown
        if job is None or shown is None or job.latest is None or job.latest.result is None:
            return None
        found = coefficients(shown.source, shown.plan)
        self.jobs.begin(found)
        return found

    def _race(self, shown: ShownDynamics) -> list[DynamicsPlan]:
        """Return the plans of the four methods, without those that would take too long."""
        plans = []
        for name in LEARNERS:
            try:
                plan = plan_of(shown.options, shown.source, name)
            except InputError:
                continue
            if plan == shown.plan or shown.verdict(plan.costly) == RunCheck():
                plans.append(plan)
        return plans

    def _curves(self, shown: ShownDynamics) -> ComparedMethods:
        """Return the curves so far."""
        options, material, _ = shown
        n, seed = material.n, options.seed
        try:
            learner = plan_of(options, material, ScalableStructure.name).learner
        except InputError as error:
            return ComparedMethods(missing=f"No curves: {error}")
        assert has_seeds(learner)  # by its name
        if shown.verdict(replace(learner, seeds=float(n))) != RunCheck():
            return ComparedMethods(missing=TOO_LONG)
        regressions = survey(material, learner, seed)
        self.jobs.begin(regressions)
        if not regressions.finished:
            return ComparedMethods(is_complete=regressions.ended, missing=regressions.failure)
        counts = counts_near(learner, material)
        job = curves(material, counts, seed)
        self.jobs.begin(job)
        return ComparedMethods(job.latest or Curves(), (), job.ended, job.failure)
