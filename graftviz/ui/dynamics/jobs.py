"""Jobs of the Dynamics page, shared between sessions of equal options.

One job learns the system of the view, one measures a method of the comparison, and one computes the
curves over k and |S|, for which every series is regressed once. Jobs of uploaded series belong to
their session and live as long as the series.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, NamedTuple

import streamlit as st

from graftviz.dynamics import (
    LEARNERS,
    DynamicsLearner,
    DynamicsResult,
    LinearSystem,
    NodeStep,
    ScalableStructure,
    SparsityEnforcing,
    coefficient_error,
    prediction_error,
    structure_precision,
    structure_recall,
)
from graftviz.dynamics.all_regressions import AllRegressions, regress_all
from graftviz.dynamics.learning import build_result
from graftviz.dynamics.solving import SolverOptions
from graftviz.narrative.dynamics import end_words, start_words
from graftviz.player.dynamics_records import row_record
from graftviz.ui.background import Background
from graftviz.ui.caches import cached_for, clearable_cache
from graftviz.ui.dynamics.material import (
    DynamicsMaterial,
    UploadedSeries,
    generated,
    sampled,
    uploaded_material,
)
from graftviz.ui.dynamics.options import (
    OF_SYSTEM,
    RANDOM,
    DynamicsOptions,
    learner_of,
    needs_parents,
)
from graftviz.ui.services import scheduler
from graftviz.ui.url_state import UPLOAD

_REPEATS = 3
_QUICK = 0.5  # seconds


class Plan(NamedTuple):
    """Settings of a run on given series.

    Attributes
    ----------
    learner : DynamicsLearner
    seed : int
    wiring : str
        Source of the parents, for learners that need given parents; empty for all others.
    source : DynamicsLearner or None
        The learner whose parents these are, where it is one.
    """

    learner: DynamicsLearner
    seed: int
    wiring: str = ""
    source: DynamicsLearner | None = None


@dataclass(frozen=True)
class RunProgress:
    """A run so far.

    Attributes
    ----------
    opening : str
        What is about to happen.
    steps : tuple of dict
        The records of the rows.
    closing : str
        How it ended; empty while it goes on.
    notes : tuple of str
    result : DynamicsResult or None
        Once it has ended.
    """

    opening: str = ""
    steps: tuple[dict[str, Any], ...] = ()
    closing: str = ""
    notes: tuple[str, ...] = ()
    result: DynamicsResult | None = None


@dataclass(frozen=True)
class Measured:
    """Quality of a learned system; `recall` and later fields only if the truth is known."""

    learner: str
    parents: int | None
    seeds: int | None
    pred_error_train: float
    pred_error_test: float
    entries: int
    wiring: str = ""
    seconds: float = 0.0
    recall: float | None = None
    precision: float | None = None
    coefficient_error: float | None = None


def plan_of(options: DynamicsOptions, material: DynamicsMaterial, name: str | None = None) -> Plan:
    """Return the run that settings lead to, or that of another learner.

    Parents that are not available, of an unknown truth or a file that was not uploaded,
    are those of sparsity inducing learning.

    Raises
    ------
    InputError
        When options do not go together, or there are too few rows for them.
    """
    learner = learner_of(options, material.n, name)
    if not needs_parents(learner):
        learner.check(material.train)
        return Plan(learner, options.seed)
    wiring = options.wiring
    if (wiring == "truth" and material.truth is None) or (
        wiring == "file" and material.parents is None
    ):
        wiring = "inducing"
    source = None
    if wiring in LEARNERS:
        source = learner_of(options, material.n, wiring)
        source.check(material.train)
    return Plan(learner, options.seed, wiring, source)


def scalable_of(options: DynamicsOptions, material: DynamicsMaterial) -> ScalableStructure:
    """Return scalable learning with the settings' k and |S|, whatever method they chose.

    Raises
    ------
    InputError
        When options do not go together, or there are too few rows for them.
    """
    learner = learner_of(options, material.n, ScalableStructure.name)
    assert isinstance(learner, ScalableStructure)  # by its name
    learner.check(material.train)
    return learner


def run_progress(material: DynamicsMaterial, plan: Plan) -> Iterator[RunProgress]:
    """Learn row by row, and yield the steps as they come."""
    names = material.series.names
    learner, k, seeds = plan.learner, 0, 0
    if isinstance(learner, SolverOptions):
        k = learner.parent_count(material.n)
        seeds = int(getattr(learner, "seeds", 0))
    progress = RunProgress(start_words(learner, k, seeds, wiring_words(plan)))
    yield progress
    speakers: dict[int, int] = {}
    unspoken = str(getattr(learner, "unspoken", ""))
    result = None
    for step in _learning(material, plan):
        if isinstance(step, DynamicsResult):
            result = step
            continue
        if step is None:
            yield progress
            continue
        if step.kind == "seed":
            for j in step.parents.tolist():
                speakers[j] = speakers.get(j, 0) + 1
        record = row_record(step, names, speakers.get(step.node, 0), unspoken)
        progress = replace(progress, steps=(*progress.steps, record))
        yield progress
    assert result is not None  # it has ended
    left_out = [names[i] for i in result.unspoken]
    closing = end_words(result.pred_error_test, result.seconds, left_out)
    yield replace(progress, closing=closing, notes=result.notes, result=result)


def measuring(material: DynamicsMaterial, plan: Plan) -> Iterator[Measured | None]:
    """Learn to the end and yield its measures as the last value; until then None.

    A quick run is repeated, and the shortest time is reported: the first may include other work
    of the machine.
    """
    result = None
    seconds: list[float] = []
    while not seconds or (len(seconds) < _REPEATS and sum(seconds) < _QUICK):
        for step in _learning(material, plan):
            result = step if isinstance(step, DynamicsResult) else None
            yield None
        assert result is not None  # it has ended
        seconds.append(result.seconds)
    assert result is not None  # it has run at least once
    yield replace(measured(material, plan, result), seconds=min(seconds))


@dataclass(frozen=True)
class Curves:
    """Results for other k and |S| so far.

    Attributes
    ----------
    by_parents : tuple of Measured
        Of scalable and of inducing learning, for several k.
    by_seeds : tuple of Measured
        Of scalable learning, for several |S|.
    """

    by_parents: tuple[Measured, ...] = ()
    by_seeds: tuple[Measured, ...] = ()


class CurveRequest(NamedTuple):
    """Settings of the curves: the learner with its k and |S|, and the k and |S| to compare."""

    learner: ScalableStructure
    parents: tuple[int, ...]
    seeds: tuple[int, ...]


def curving(
    material: DynamicsMaterial, survey: AllRegressions, request: CurveRequest
) -> Iterator[Curves]:
    """Measure the systems that follow from one survey, seeds and parents in turn."""
    curves = Curves()
    for k, seeds in zip_longest(request.parents, request.seeds):
        if k is not None:
            system = survey.inducing(k)
            one = _judged(material, system, "inducing", k, None)
            curves = replace(curves, by_parents=(*curves.by_parents, one))
            yield curves
            system = survey.scalable(replace(request.learner, parents=k))
            one = _judged(material, system, "scalable", k, int(request.learner.seeds))
            curves = replace(curves, by_parents=(*curves.by_parents, one))
            yield curves
        if seeds is not None:
            system = survey.scalable(replace(request.learner, seeds=float(seeds)))
            one = _judged(material, system, "scalable", request.learner.parents, seeds)
            curves = replace(curves, by_seeds=(*curves.by_seeds, one))
            yield curves


def measured(material: DynamicsMaterial, plan: Plan, result: DynamicsResult) -> Measured:
    """Return what `result` is worth."""
    learner = plan.learner
    seeds = getattr(learner, "seeds", None)
    measured = _judged(
        material,
        result.system,
        learner.name,
        learner.parent_count(material.n) if isinstance(learner, SolverOptions) else None,
        None if seeds is None else int(seeds),
    )
    return replace(measured, wiring=plan.wiring, seconds=result.seconds)


def _judged(
    material: DynamicsMaterial,
    system: LinearSystem,
    learner: str,
    parents: int | None,
    seeds: int | None,
) -> Measured:
    """Return what a system is worth, without the time it took."""
    truth = material.truth
    measured = Measured(
        learner,
        parents,
        seeds,
        prediction_error(system, material.train),
        prediction_error(system, material.test),
        int(system.coefficients.nnz),
    )
    if truth is None:
        return measured
    return replace(
        measured,
        recall=structure_recall(system, truth),
        precision=structure_precision(system, truth),
        coefficient_error=coefficient_error(system, truth),
    )


def wiring_words(plan: Plan) -> str:
    """Describe the source of given parents; empty for learners that find them."""
    if not plan.wiring:
        return ""
    if plan.source is not None:
        return f"The parents come from {plan.source.title.lower()} learning."
    origin = "true system" if plan.wiring == "truth" else "file"
    return f"The parents come from the {origin}."


def _learning(material: DynamicsMaterial, plan: Plan) -> Iterator[NodeStep | DynamicsResult | None]:
    """Yield every step, None while something else is learned first, and the result at the end."""
    learner = plan.learner
    if isinstance(learner, SparsityEnforcing):
        adjacency = None
        if plan.source is not None:
            for step in _learning(material, Plan(plan.source, plan.seed)):
                if isinstance(step, DynamicsResult):
                    adjacency = parents_of(step.system)
                yield None
        elif plan.wiring == "file":
            adjacency = material.parents
        elif material.truth is not None:
            adjacency = parents_of(material.truth)
        learner = replace(learner, adjacency=adjacency)
    train = material.train
    generator = learner.steps(train, seed=plan.seed)
    steps: list[NodeStep] = []
    seconds = 0.0
    while True:
        began = time.perf_counter()
        try:
            step = next(generator)
        except StopIteration as end:
            outcome = end.value
            seconds += time.perf_counter() - began
            break
        seconds += time.perf_counter() - began
        steps.append(step)
        yield step
    yield build_result(train, learner, steps, outcome, seconds, seed=plan.seed, test=material.test)


def parents_of(system: LinearSystem) -> tuple[tuple[int, ...], ...]:
    """Return the parents of every series of a system."""
    return tuple(tuple(system.parents(i).tolist()) for i in range(system.n_series))


def rehearse_dynamics_page() -> None:
    """Do once, on a small system, whatever the page asks for: to have it compiled."""
    for solver in ("sgd", "coordinate"):
        options = DynamicsOptions(size=6, density=0.3, rows=60, solver=solver)
        small = generated(options)
        for name in LEARNERS:
            deque(run_progress(small, plan_of(options, small, name)), maxlen=0)
        learner = scalable_of(options, small)
        for survey in regress_all(small.train, learner):
            if survey is not None:
                deque(curving(small, survey, CurveRequest(learner, (1, 2), (1, 2))), maxlen=0)


_BY_IDENTITY: dict[str | type[Any], Callable[[Any], Any]] = {
    DynamicsMaterial: lambda material: material.identity,
    Plan: repr,
    CurveRequest: repr,
    ScalableStructure: repr,
}


def source(options: DynamicsOptions, files: UploadedSeries | None) -> DynamicsMaterial | None:
    """Return what settings say is learned from; None while a file is awaited."""
    if options.data == UPLOAD:
        return None if files is None else _of_upload(files, options.held_out)
    if options.data == RANDOM:
        decided = tuple(getattr(options, name) for name in OF_SYSTEM)
        return _generated(decided, options.held_out, options.seed)
    return _sampled(options.data, options.held_out)


@clearable_cache
@st.cache_resource(show_spinner="Simulating…", max_entries=24)
def _generated(decided: tuple[Any, ...], held_out: float, seed: int) -> DynamicsMaterial:
    chosen = dict(zip(OF_SYSTEM, decided, strict=True))
    return generated(DynamicsOptions(**chosen, held_out=held_out, seed=seed))


@clearable_cache
@st.cache_resource(show_spinner="Loading the series…", max_entries=24)
def _sampled(key: str, held_out: float) -> DynamicsMaterial:
    return sampled(key, held_out)


def _of_upload(files: UploadedSeries, held_out: float) -> DynamicsMaterial:
    def make() -> DynamicsMaterial:
        with st.spinner("Loading the series…"):
            return uploaded_material(files, held_out)

    return files.materials.get(held_out, make)


def run(material: DynamicsMaterial, plan: Plan) -> Background[RunProgress]:
    """Return a run for the picture; it begins when it is started."""
    return cached_for(_run, material, plan)


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=100, hash_funcs=_BY_IDENTITY)
def _run(material: DynamicsMaterial, plan: Plan) -> Background[RunProgress]:
    return Background(run_progress(material, plan), scheduler())


def measure(material: DynamicsMaterial, plan: Plan) -> Background[Measured | None]:
    """Return the measurement of a method; it begins when it is started."""
    return cached_for(_measure, material, plan)


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=200, hash_funcs=_BY_IDENTITY)
def _measure(material: DynamicsMaterial, plan: Plan) -> Background[Measured | None]:
    return Background(measuring(material, plan), scheduler())


def survey(
    material: DynamicsMaterial, learner: ScalableStructure, seed: int
) -> Background[AllRegressions | None]:
    """Return the regressions of all series, which neither k nor seeds change."""
    plain = replace(learner, parents=None, seeds=1.0, seed_choice="random", unspoken="common")
    return cached_for(_survey, material, plain, seed)


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=12, hash_funcs=_BY_IDENTITY)
def _survey(
    material: DynamicsMaterial, learner: ScalableStructure, seed: int
) -> Background[AllRegressions | None]:
    return Background(regress_all(material.train, learner, seed=seed), scheduler())


def curves(material: DynamicsMaterial, request: CurveRequest, seed: int) -> Background[Curves]:
    """Return the curves that follow from a survey that has ended."""
    return cached_for(_curves, material, request, seed)


@clearable_cache
@st.cache_resource(show_spinner=False, max_entries=200, hash_funcs=_BY_IDENTITY)
def _curves(material: DynamicsMaterial, request: CurveRequest, seed: int) -> Background[Curves]:
    regressions = survey(material, request.learner, seed).latest
    assert regressions is not None  # it has ended
    return Background(curving(material, regressions, request), scheduler())
