"""Data, jobs and session state of the Budget page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from graftviz.app.budget.options import PLACES, RESETS, BudgetOptions, slider_of
from graftviz.app.jobs import Job
from graftviz.app.material import (
    UPLOAD,
    Material,
    RunCheck,
    SourceCache,
    UploadedTable,
    judge,
    prepare,
)
from graftviz.app.player.budget_records import (
    BoundedProgress,
    Budget,
    bounded_run,
    budget_graph,
    run_record,
)
from graftviz.app.session import material, shared_job
from graftviz.app.state import RunPage, with_reading
from graftviz.data.sets.registry import DENSE, dense_network
from graftviz.data.table import DiscreteTable
from graftviz.evaluation.tradeoff import BOUNDS, MeasuredPath, measuring_path
from graftviz.inference.methods import Method
from graftviz.learning.bounded.bounded_inference import BoundedInference
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.layout import level_layout

MODELS_AT_A_TIME = 2  # models of the charts that are learned side by side


@dataclass(frozen=True, eq=False)
class BudgetMaterial:
    """Training rows, held-out rows, and positions of the variables.

    Attributes
    ----------
    material : Material
    model : PairwiseMRF or None
        The model that the rows were drawn from, where it is known.
    """

    material: Material
    model: PairwiseModel | None = None

    @property
    def own(self) -> SourceCache | None:
        """Cache of the jobs on an uploaded table; None for built-in data."""
        return self.material.own

    @property
    def identity(self) -> str:
        """Equal for equal data."""
        return self.material.identity

    @property
    def judged(self) -> DiscreteTable:
        """The held-out rows; where there are none, the training rows."""
        return self.material.test or self.material.train

    @cached_property
    def places(self) -> np.ndarray:
        """Positions of the variables, shape (n, 2); 0 … 10000."""
        places, is_natural = self.material.places, self.material.positions is not None
        return places if is_natural else level_layout(places)


@st.cache_resource(show_spinner="Loading the data…", max_entries=24)
def source(data: str, seed: int) -> BudgetMaterial:
    """Return the data to learn from."""
    return dense_material(seed) if data == DENSE else BudgetMaterial(material(data, seed))


def dense_material(seed: int, **size: int) -> BudgetMaterial:
    """Return a dense network; `size` are arguments of :func:`dense_network`."""
    data, model = dense_network(seed, **size)
    return BudgetMaterial(prepare(data, seed), model)


def run_progress(source: BudgetMaterial, learner: BoundedInference) -> Iterator[BoundedProgress]:
    """Learn step by step, then measure the model."""
    return bounded_run(source.material.train, source.judged, source.places, learner)


def pathing(source: BudgetMaterial, lam2: float, method: Method) -> Iterator[MeasuredPath]:
    """Measure the true model where it is known, and the λ path."""
    train, truth = source.material.train, source.model
    return measuring_path(train, source.judged, lam2=lam2, method=method, truth=truth)


bounded_job = shared_job(run_progress, 200)
l1_path = shared_job(pathing, 60)


class ComparedBudgets(NamedTuple):
    """Finished runs of the ladder, the λ path so far, and whether that is all."""

    runs: list[BoundedProgress]
    path: MeasuredPath
    is_complete: bool


class ShownBudget(NamedTuple):
    """Settings and data of the shown run."""

    options: BudgetOptions
    source: BudgetMaterial

    @property
    def budget(self) -> Budget:
        """Measure of complexity, and its bound."""
        return Budget(self.options.complexity, self.options.tau)


class BudgetState(RunPage[BudgetOptions, ShownBudget, BoundedProgress]):
    """Choices of one session, and the runs they led to."""

    resets = RESETS
    uploaded: UploadedTable | None

    def __init__(self) -> None:
        super().__init__(BudgetOptions, PLACES)

    def _check_link(self) -> None:
        options = self.options
        spec = slider_of(options.complexity)
        assert spec.minimum is not None
        assert spec.maximum is not None
        is_whole = spec.kind != "int" or float(options.tau).is_integer()
        if not (spec.minimum <= options.tau <= spec.maximum and is_whole):
            kind = "a whole number" if spec.kind == "int" else "a number"
            self.ignore(
                "bound",
                f"τ = {options.tau:g} is invalid for {options.complexity}: it must be {kind} from "
                f"{spec.minimum:g} to {spec.maximum:g}. Using {spec.default:g}.",
            )

    def choose(self, name: str, value: Any) -> None:
        """Set one option; another run is watched from its start."""
        if self.values["data"] == UPLOAD:
            name, value = with_reading(self.values, name, value)
        is_usual = name == "bound" and value == BOUNDS[self.values["complexity"]].usual
        super().choose(name, None if is_usual else value)

    def _resolve(self) -> ShownBudget | None:
        options = self.options
        data, learner = self._source(options), self.learner_of(options)
        if data is None:
            return None
        learner.check(data.material.train)
        shown = ShownBudget(options, data)
        if data.own is None or self.is_on_show(shown):
            return shown
        verdict = judge(data.material.train, learner)
        return shown if self._may_begin((data.identity, learner), verdict) else None

    def _source(self, options: BudgetOptions) -> BudgetMaterial | None:
        """Return the data of the settings; None before an upload."""
        if options.data != UPLOAD:
            return source(options.data, options.seed)
        if self.uploaded is None:
            return None
        prepared = self.uploaded(options.seed)
        assert prepared.own is not None  # it is uploaded
        return prepared.own.get(("budget", prepared.identity), lambda: BudgetMaterial(prepared))

    def learner_of(self, options: BudgetOptions, bound: float | None = None) -> BoundedInference:
        """Return the learner of settings, or the same one under another bound."""
        return BoundedInference(
            options.complexity,
            float(options.tau if bound is None else bound),
            lam2=options.lam2,
            lam1=options.lam1,
            norm=options.norm,
        )

    def job_of(self, shown: ShownBudget, bound: float | None = None) -> Job[BoundedProgress]:
        """Return the run of settings, or the same one under another bound."""
        return bounded_job(shown.source, self.learner_of(shown.options, bound))

    def path_of(self, shown: ShownBudget) -> Job[MeasuredPath]:
        """Return the λ path that the models of settings are compared with."""
        options = shown.options
        return l1_path(shown.source, options.lam2, BOUNDS[options.complexity].method)

    # ------------------------------------------------------------------------------- the view

    def graph(self, shown: ShownBudget) -> dict[str, Any]:
        """Return names and places of the variables."""
        data, places = shown.source.material, shown.source.places
        is_natural = data.positions is not None
        return budget_graph(
            data.train.names, places, data.identity, has_natural_positions=is_natural
        )

    def last_step(self, found: BoundedProgress) -> int:
        """Return the number of added edges; step 0 is the model without edges."""
        return len(found.steps) - 1

    def message_parts(
        self, shown: ShownBudget, found: BoundedProgress, failure: str
    ) -> dict[str, Any]:
        """Return the parts of a message other than steps and graph."""
        before, ghost = self.before, self.ghost
        title = shown.source.material.title
        previous = (before.budget, ghost) if before is not None and ghost is not None else None
        return {"run": run_record(title, shown.budget, found, failure=failure, before=previous)}

    @property
    def ghost(self) -> BoundedProgress | None:
        """State of the previous run; None if its data were different."""
        before, shown = self.before, self.shown
        if before is None or shown is None or before.source.identity != shown.source.identity:
            return None
        return self.job_of(before).latest

    # ------------------------------------------------------------------------------- the charts

    def ladder(self, options: BudgetOptions) -> list[float]:
        """Return the bounds of the compared models, that of the shown run first.

        On an uploaded table, bounds whose models would take too long are left out.
        """
        others = [tau for tau in BOUNDS[options.complexity].ladder if tau != options.tau]
        shown = self.shown
        if shown is not None and shown.source.own is not None:
            table = shown.source.material.train
            others = shown.source.own.get(
                ("ladder", self.learner_of(options)),
                lambda: [
                    tau
                    for tau in others
                    if judge(table, self.learner_of(options, tau)) == RunCheck()
                ],
            )
        return [options.tau, *others]

    def compared(self) -> ComparedBudgets:
        """Return the models of the charts.

        Missing ones are started, two at a time: the shown run first, then the other bounds from
        the smallest on, then the path.
        """
        shown = self.shown
        if shown is None:
            return ComparedBudgets([], MeasuredPath(), False)
        runs = [self.job_of(shown, bound) for bound in self.ladder(shown.options)]
        path = self.path_of(shown)
        jobs: list[Job[Any]] = [*runs, path]
        missing = [job for job in jobs if not job.ended]
        for job in missing[:MODELS_AT_A_TIME]:
            self.jobs.begin(job)
        finished = [job.latest for job in runs if job.ended and job.latest is not None]
        return ComparedBudgets(finished, path.latest or MeasuredPath(), not missing)
