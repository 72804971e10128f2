"""Dynamics page: influence between time series, learned row by row.

One job learns the system of the view, one measures a method of the comparison, and one computes the
curves over k and |S|, for which every series is regressed once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from graftviz.app.jobs import Job
from graftviz.app.material import ASK_SECONDS, UPLOAD, RunCheck, UploadedSeries
from graftviz.app.session import shared_job
from graftviz.app.state import RunPage
from graftviz.app.url import fingerprint_part, seed_option, step_option
from graftviz.data.series.reading import SeriesOptions
from graftviz.data.series.series import TimeSeries
from graftviz.dynamics.base import DynamicsLearner, NodeStep
from graftviz.dynamics.learners import (
    LEARNERS,
    ScalableStructure,
    SolverOptions,
    has_seeds,
    takes_parents,
)
from graftviz.dynamics.learning import DynamicsResult
from graftviz.dynamics.measuring import (
    AllRegressions,
    Counts,
    Curves,
    DynamicsPlan,
    Measured,
    PreparedSeries,
    counts_near,
    generated_series,
    learning,
    measuring,
    measuring_curves,
    regress_all,
    sample_keys,
    sampled_series,
)
from graftviz.dynamics.search import seed_count
from graftviz.dynamics.system import (
    Baseline,
    LinearSystem,
    baseline,
    coefficient_deviations,
    predict,
    prediction_error,
    residual_deviation,
    season,
)
from graftviz.reports.files.dynamics_files import coefficient_frame
from graftviz.reports.layout import static_layout
from graftviz.reports.replay.plain import placed_nodes
from graftviz.reports.words.dynamics import end_words, row_words, start_words, wiring_words
from graftviz.utils.errors import InputError
from graftviz.utils.memory import size_text
from graftviz.utils.options import check_options, option, option_of, option_specs
from graftviz.utils.wording import duration_text

_NUMBER = 60  # bytes a number takes in steps, records and messages together
_MOST_NUMBERS = 700_000  # beyond, a message to the browser would be too large
RANDOM = "random"
DATA = (RANDOM, *sample_keys(), UPLOAD)
USUAL_PARENTS = 5
USUAL_SEEDS = 0.2  # of the series
FEW_SERIES = 10  # that are all regressed
MOST_PARENTS = 50


@dataclass(frozen=True)
class DynamicsOptions:
    """Settings of the page; all of them are part of its URL."""

    data: str = option(RANDOM, "data to learn from", label="Data", choices=DATA)
    fingerprint: str = fingerprint_part()
    size: int = option(
        30, "number of series of the random system", label="Series", minimum=4, maximum=120
    )
    density: float = option(
        0.1, "share of non-zero entries of A", label="Density", minimum=0.02, maximum=0.5
    )
    rows: int = option(
        600, "number of simulated time steps", label="Rows", minimum=50, maximum=5000
    )
    noise: float = option(
        0.2,
        "standard deviation of the observation noise; that of the noise driving the system is 1",
        label="Noise",
        minimum=0.0,
        maximum=2.0,
    )
    learner: str = option(
        "scalable",
        "the method that learns A",
        label="Method",
        choices=tuple(LEARNERS),
        titles=tuple(cls.title for cls in LEARNERS.values()),
    )
    parents: int | None = option(
        None,
        "largest number of parents of a series",
        label="k (parents)",
        minimum=1,
        maximum=MOST_PARENTS,
        none_means=f"{USUAL_PARENTS}, at most the number of series",
    )
    seeds: int | None = option(
        None,
        "number of series that are regressed; the parents of all others are inferred from these",
        label="|S| (seeds)",
        minimum=1,
        none_means=f"a fifth of the series; all of at most {FEW_SERIES}",
    )
    wiring: str = option(
        "truth",
        "parents used by sparsity enforcing learning: those of the true system, of another method, "
        "or of a file",
        label="Given parents",
        choices=("truth", "inducing", "scalable", "file"),
        titles=("true system", "sparsity inducing", "scalable structure", "uploaded file"),
    )
    horizon: int = option(
        1,
        "number of time steps that the predictions look ahead",
        label="Steps ahead",
        minimum=1,
        maximum=24,
    )
    held_out: float = option(
        0.2,
        "share of the rows, at the end, that are held out",
        label="Held out",
        minimum=0.05,
        maximum=0.5,
    )
    seed: int = seed_option(
        "random seed of the system, the choice of seeds, and the order of gradient descent"
    )
    seed_choice: str = option_of(ScalableStructure, "seed_choice")
    uncovered: str = option_of(ScalableStructure, "uncovered")
    solver: str = option_of(SolverOptions, "solver")
    lam: float | None = option_of(SolverOptions, "lam")
    path: int = option_of(SolverOptions, "path")
    tolerance: float = option_of(SolverOptions, "tolerance")
    two_hop_tolerance: float = option_of(ScalableStructure, "two_hop_tolerance")
    max_passes: int = option_of(SolverOptions, "max_passes")
    centre: bool = option_of(DynamicsLearner, "centre")
    layout: str = option_of(SeriesOptions, "layout")
    missing: str = option_of(SeriesOptions, "missing")
    longest_gap: int = option_of(SeriesOptions, "longest_gap")
    constant: str = option_of(SeriesOptions, "constant")
    difference: int = option_of(SeriesOptions, "difference")
    period: int | None = option(
        None,
        "rows of a season: its naive prediction is the value one season earlier",
        label="Season",
        minimum=2,
        maximum=100_000,
        none_means="the lag of the largest autocorrelation of the training rows",
    )
    step: int | None = step_option()
    node: int | None = option(
        None,
        "index of the selected series, from 0",
        label="Selected series",
        minimum=0,
        none_means="none",
    )

    def __post_init__(self) -> None:
        check_options(self)


OF_SYSTEM = ("size", "density", "rows", "noise")
OF_READING = tuple(spec.name for spec in option_specs(SeriesOptions))
OF_LEARNING = (
    *("seed_choice", "uncovered", "lam", "solver", "path", "tolerance", "max_passes"),
    *("two_hop_tolerance", "centre"),
)


def parent_count(options: DynamicsOptions, n: int) -> int:
    """Return k for n series: the choice or the default, at most n."""
    return min(USUAL_PARENTS if options.parents is None else options.parents, n)


def seeds_of(options: DynamicsOptions, n: int) -> int:
    """Return |S| for n series: the choice or the default, at most n."""
    if options.seeds is not None:
        return min(options.seeds, n)
    return n if n <= FEW_SERIES else seed_count(USUAL_SEEDS, n)


def learner_of(options: DynamicsOptions, n: int, name: str | None = None) -> DynamicsLearner:
    """Return the learner of the settings for n series.

    Parameters
    ----------
    options : DynamicsOptions
    n : int
    name : str, optional
        Another learner than the chosen one.

    Raises
    ------
    InputError
        When options do not go together.
    """
    cls = LEARNERS[name or options.learner]
    values = {option: getattr(options, option) for option in OF_LEARNING}
    values |= {"parents": parent_count(options, n), "seeds": float(seeds_of(options, n))}
    return cls(
        **{spec.name: values[spec.name] for spec in option_specs(cls) if spec.name in values}
    )


def plan_of(
    options: DynamicsOptions, material: PreparedSeries, name: str | None = None
) -> DynamicsPlan:
    """Return the run of the settings, or of another learner.

    Parents that are not available, of an unknown truth or a file that was not uploaded,
    are those of sparsity inducing learning.

    Raises
    ------
    InputError
        When options do not go together, or there are too few rows for them.
    """
    plan = DynamicsPlan(learner_of(options, material.n, name), options.seed)
    if takes_parents(plan.learner):
        parents = {"truth": material.truth, "file": material.parents}.get(options.wiring, True)
        wiring = "inducing" if parents is None else options.wiring
        source = learner_of(options, material.n, wiring) if wiring in LEARNERS else None
        plan = plan._replace(wiring=wiring, source=source)
    if not takes_parents(plan.costly):
        plan.costly.check(material.train)
    return plan


def judge_system(n: int, rows: int, learner: DynamicsLearner) -> RunCheck:
    """Return whether a run on n series may begin, with the estimate if not."""
    seconds, stored = learner.seconds(n, rows), learner.stored_numbers(n)
    estimate = (
        f"Estimated {duration_text(seconds)} and {size_text(_NUMBER * stored)} of memory for "
        f"{n:,} series and {rows:,} rows."
    )
    if stored > _MOST_NUMBERS:
        return RunCheck(
            refusal=f"{estimate} Too much to display. Not started. Reduce seeds or parents, upload "
            "fewer series, or use python -m graftviz dynamics."
        )
    if seconds <= ASK_SECONDS:
        return RunCheck()
    return RunCheck(
        question=f"{estimate} Limit: {ASK_SECONDS:g} s. Not started. Fewer seeds reduce the time."
    )


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


class DynamicsState(RunPage):
    """Choices of one session, and the runs they led to."""

    resets: ClassVar = {
        **{spec.name: ("step",) for spec in option_specs(DynamicsOptions)},
        **dict.fromkeys(_SYSTEM, ("step", "node")),  # they decide which series there are
        **dict.fromkeys(("step", "node", "horizon", "period"), ()),
        "data": ("step", "node", "fingerprint"),
        "fingerprint": ("step", "node"),
    }

    def __init__(self) -> None:
        super().__init__(DynamicsOptions, places=("step", "node"))

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


# -------------------------------------------------------------------------------------- the records


DIGITS = 5
BAND = 2.0  # residual standard deviations on either side of a prediction
MOST_MOMENTS = 2_000  # maximum number of points of a drawn series, the last of the window


@dataclass(frozen=True)
class RunProgress:
    """Run so far.

    Attributes
    ----------
    opening : str
        Sentence shown before the first step.
    steps : tuple of dict
        The records of the rows.
    closing : str
        Sentence shown at the end; empty before.
    result : DynamicsResult or None
        Once it has ended.
    """

    opening: str = ""
    steps: tuple[dict[str, Any], ...] = ()
    closing: str = ""
    result: DynamicsResult | None = None


def run_progress(material: PreparedSeries, plan: DynamicsPlan) -> Iterator[RunProgress]:
    """Learn row by row, and yield the steps as they come."""
    names, learner = material.series.names, plan.learner
    k = learner.parent_count(material.n) if isinstance(learner, SolverOptions) else 0
    seeds, uncovered = int(getattr(learner, "seeds", 0)), str(getattr(learner, "uncovered", ""))
    progress = RunProgress(start_words(learner, k, seeds, wiring_words(plan.wiring)))
    yield progress
    voters: Counter[int] = Counter()  # number of seeds by each of their parents
    for step in learning(material, plan):
        if isinstance(step, NodeStep):
            if step.kind == "seed":
                voters.update(step.parents.tolist())
            record = row_record(step, names, voters[step.node], uncovered)
            progress = replace(progress, steps=(*progress.steps, record))
        elif step is not None:
            left_out = [names[i] for i in step.uncovered]
            closing = end_words(step.pred_error_test, left_out)
            progress = replace(progress, closing=closing, result=step)
        yield progress


def influence_graph(material: PreparedSeries) -> dict[str, Any]:
    """Return the series, their positions (0 … 10000, y downwards) and the true A, if available.

    Known positions (a map) keep their aspect ratio. The standard deviations of the series are the
    units of the drawn coefficients.
    """
    positions, sizes = material.positions, material.train.values.std(axis=0)
    is_known = positions is not None
    if positions is None:
        positions = static_layout(material.n, material.neighbours)
    return {
        "id": material.identity,
        **placed_nodes(material.series.names, positions, has_natural_positions=is_known),
        "sizes": numbers(np.where(sizes > 0.0, sizes, 1.0)),
        "truth": None if material.truth is None else matrix_rows(material.truth),
    }


def matrix_rows(system: LinearSystem) -> list[list[list[float]]]:
    """Return the rows of A as [[sources], [coefficients]]."""
    matrix = system.coefficients
    rows = []
    for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        sources = matrix.indices[start:end].tolist()
        rows.append([sources, numbers(matrix.data[start:end])])
    return rows


def row_record(step: NodeStep, names: Sequence[str], voters: int, uncovered: str) -> dict[str, Any]:
    """Return the record of a row of A; the last two arguments are those of :func:`row_words`."""
    return {
        "node": step.node,
        "kind": step.kind,
        "parents": step.parents.tolist(),
        "weights": numbers(step.coefficients),
        "residual": number(step.residual),
        "twoHop": None if step.two_hop is None else numbers(step.two_hop),
        "lines": list(step.lines),
        "words": row_words(step, names, voters, uncovered),
    }


def series_record(
    system: LinearSystem, train: TimeSeries, test: TimeSeries, node: int, horizon: int
) -> dict[str, Any]:
    """Return the observed and predicted values of one series on the held-out rows.

    The band around a prediction is :data:`BAND` times the root mean square error of predictions
    with the same horizon on the training rows; ``error`` is PredError of all series.

    Raises
    ------
    InputError
        When the number of held-out rows does not exceed the horizon.
    """
    residual = float(residual_deviation(system, train.values, horizon)[node])
    predicted = predict(system, test.values, horizon)[:, node][-MOST_MOMENTS:]
    seen = test.values[horizon:, node][-MOST_MOMENTS:]
    times = test.times[horizon:][-MOST_MOMENTS:]
    inside = float(np.mean(np.abs(seen - predicted) <= BAND * residual))
    return {
        "node": node,
        "horizon": horizon,
        "seen": numbers(seen),
        "predicted": numbers(predicted),
        "band": number(BAND * residual),
        "inside": number(inside),
        "error": number(prediction_error(system, test, horizon=horizon)),
        "times": list(times),
        "first": train.n_rows + test.n_rows - len(seen) + 1,
    }


def learning_record(
    material: PreparedSeries,
    plan: DynamicsPlan,
    found: RunProgress,
    *,
    node: int | None,
    failure: str = "",
) -> dict[str, Any]:
    """Return a run without its steps.

    Parameters
    ----------
    material : PreparedSeries
    plan : DynamicsPlan
    found : RunProgress
    node : int or None
        Selected series.
    failure : str
        Reason if the run stopped before its end.
    """
    learner = plan.learner
    return {
        "title": f"{material.title}: {learner.title.lower()}",
        "seeded": has_seeds(learner),
        "code": [line._asdict() for line in learner.pseudocode],
        "opening": found.opening,
        "closing": failure or found.closing,
        "notes": [] if found.result is None else list(found.result.notes),
        "done": bool(found.closing or failure),
        "node": node,
    }


def prediction_record(
    material: PreparedSeries, found: RunProgress, node: int | None, horizon: int
) -> dict[str, Any] | None:
    """Return the record of a predicted series; None until the system is learned.

    By default, it is the series with the largest variance.
    """
    if found.result is None:
        return None
    train = material.train
    if node is None:
        node = int(train.values.std(axis=0).argmax())
    try:
        return series_record(found.result.system, train, material.test, node, horizon)
    except InputError as error:
        return {"node": node, "problem": str(error)}


def numbers(values: np.ndarray) -> list[float]:
    """Return numbers rounded to :data:`DIGITS` significant digits."""
    return [number(value) for value in values.tolist()]


def number(value: float) -> float:
    """Return a number rounded to :data:`DIGITS` significant digits; infinities become finite."""
    return float(f"{np.nan_to_num(value):.{DIGITS}g}")


# ---------------------------------------------------------------------------------------- the jobs


@shared_job(12)
def _survey(
    material: PreparedSeries, learner: ScalableStructure, seed: int
) -> Iterator[AllRegressions | None]:
    return regress_all(material.train, learner, seed=seed)


@shared_job(200)
def curves(material: PreparedSeries, counts: Counts, seed: int) -> Iterator[Curves]:
    """Measure the curves over k and |S|, from regressions that have ended."""
    regressions = survey(material, counts.learner, seed).latest
    assert regressions is not None  # it has ended
    return measuring_curves(material, regressions, counts)


@shared_job(50)
def naive(material: PreparedSeries, period: int | None) -> Iterator[tuple[Baseline, ...]]:
    """Yield the errors of persistence and, if there is a season, of the seasonal prediction."""
    train, test = material.train, material.test
    period = season(train) if period is None else period
    lags = [1] if period is None or period >= train.n_rows else [1, period]
    yield tuple(baseline(train, test, lag) for lag in lags)


@shared_job(50)
def coefficients(material: PreparedSeries, plan: DynamicsPlan) -> Iterator[pd.DataFrame]:
    """Yield the coefficients of a run that has ended, with their standard errors."""
    found = run(material, plan).value()
    if found.result is None:
        raise InputError("The run has not ended yet; try again.")
    system, centre = found.result.system, plan.learner.centre
    errors = coefficient_deviations(system, material.train, centre=centre)
    yield coefficient_frame(system, errors)


run = shared_job(100)(run_progress)
measure = shared_job(200)(measuring)


def survey(
    material: PreparedSeries, learner: ScalableStructure, seed: int
) -> Job[AllRegressions | None]:
    """Return the regressions of all series, which are independent of k and seeds."""
    plain = replace(learner, parents=None, seeds=1.0, seed_choice="random", uncovered="common")
    return _survey(material, plain, seed)
