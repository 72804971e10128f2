"""Records of the Dynamics page: the run on show, and what it is compared with.

One job learns the system of the view, one measures a method of the comparison, and one computes the
curves over k and |S|, for which every series is regressed once.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, NamedTuple

from graftviz import dynamics
from graftviz.dynamics import DynamicsResult, NodeStep, ScalableStructure, SparsityEnforcing
from graftviz.dynamics.all_regressions import AllRegressions, regress_all
from graftviz.dynamics.learning import build_result
from graftviz.dynamics.solving import SolverOptions
from graftviz.narrative.dynamics import end_words, start_words
from graftviz.player.dynamics_records import row_record
from graftviz.ui.background import Background
from graftviz.ui.dynamics.options import DynamicsOptions, learner_of
from graftviz.ui.dynamics.source import DynamicsMaterial, generated
from graftviz.ui.frame.jobs import shared_job

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

    learner: dynamics.DynamicsLearner
    seed: int
    wiring: str = ""
    source: dynamics.DynamicsLearner | None = None

    @property
    def costly(self) -> dynamics.DynamicsLearner:
        """The learner that most of the time is spent on."""
        return self.source or self.learner


def plan_of(options: DynamicsOptions, material: DynamicsMaterial, name: str | None = None) -> Plan:
    """Return the run that settings lead to, or that of another learner.

    Parents that are not available, of an unknown truth or a file that was not uploaded,
    are those of sparsity inducing learning.

    Raises
    ------
    InputError
        When options do not go together, or there are too few rows for them.
    """
    plan = Plan(learner_of(options, material.n, name), options.seed)
    if isinstance(plan.learner, SparsityEnforcing):
        is_known = {"truth": material.truth, "file": material.parents}.get(options.wiring, True)
        wiring = "inducing" if is_known is None else options.wiring
        source = learner_of(options, material.n, wiring) if wiring in dynamics.LEARNERS else None
        plan = plan._replace(wiring=wiring, source=source)
    if not isinstance(plan.costly, SparsityEnforcing):
        plan.costly.check(material.train)
    return plan


def wiring_words(plan: Plan) -> str:
    """Describe the source of given parents; empty for learners that find them."""
    if plan.source is not None:
        return f"The parents come from {plan.source.title.lower()} learning."
    origins = {"truth": "true system", "file": "file"}
    return f"The parents come from the {origins[plan.wiring]}." if plan.wiring else ""


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
    result : DynamicsResult or None
        Once it has ended.
    """

    opening: str = ""
    steps: tuple[dict[str, Any], ...] = ()
    closing: str = ""
    result: DynamicsResult | None = None


def run_progress(material: DynamicsMaterial, plan: Plan) -> Iterator[RunProgress]:
    """Learn row by row, and yield the steps as they come."""
    names, learner = material.series.names, plan.learner
    k = learner.parent_count(material.n) if isinstance(learner, SolverOptions) else 0
    seeds, unspoken = int(getattr(learner, "seeds", 0)), str(getattr(learner, "unspoken", ""))
    progress = RunProgress(start_words(learner, k, seeds, wiring_words(plan)))
    yield progress
    voters: Counter[int] = Counter()  # number of seeds by each of their parents
    for step in _learning(material, plan):
        if isinstance(step, NodeStep):
            if step.kind == "seed":
                voters.update(step.parents.tolist())
            record = row_record(step, names, voters[step.node], unspoken)
            progress = replace(progress, steps=(*progress.steps, record))
        elif step is not None:
            left_out = [names[i] for i in step.unspoken]
            closing = end_words(step.pred_error_test, step.seconds, left_out)
            progress = replace(progress, closing=closing, result=step)
        yield progress


def _learning(material: DynamicsMaterial, plan: Plan) -> Iterator[NodeStep | DynamicsResult | None]:
    """Yield every step, None while something else is learned first, and the result at the end."""
    learner, train = plan.learner, material.train
    if isinstance(learner, SparsityEnforcing):
        truth, adjacency = material.truth, material.parents
        if plan.source is not None:
            for found in _learning(material, Plan(plan.source, plan.seed)):
                truth = found.system if isinstance(found, DynamicsResult) else None
                yield None
        if plan.wiring != "file":
            assert truth is not None  # the plan has made sure
            adjacency = tuple(tuple(truth.parents(i).tolist()) for i in range(truth.n_series))
        learner = replace(learner, adjacency=adjacency)
    generator = learner.steps(train, seed=plan.seed)
    steps: list[NodeStep] = []
    seconds = 0.0
    outcome = None
    while outcome is None:
        began = time.perf_counter()
        try:
            steps.append(next(generator))
        except StopIteration as end:
            outcome = end.value
        seconds += time.perf_counter() - began
        if outcome is None:
            yield steps[-1]
    yield build_result(train, learner, steps, outcome, seconds, seed=plan.seed, test=material.test)


@dataclass(frozen=True)
class Measured:
    """Quality of a learned system.

    `parents` and `seeds` are those of the points of curves; `recall` and later fields are available
    only if the truth is known.
    """

    learner: str
    pred_error_train: float
    pred_error_test: float
    entries: int
    parents: int = 0
    seeds: int = 0
    wiring: str = ""
    seconds: float = 0.0
    recall: float | None = None
    precision: float | None = None
    coefficient_error: float | None = None


def measuring(material: DynamicsMaterial, plan: Plan) -> Iterator[Measured | None]:
    """Learn to the end and yield its measures as the last value; until then None.

    A quick run is repeated, and the shortest time is reported: the first may include other work
    of the machine.
    """
    seconds: list[float] = []
    while not seconds or (len(seconds) < _REPEATS and sum(seconds) < _QUICK):
        for step in _learning(material, plan):
            if isinstance(step, DynamicsResult):
                system = step.system
                seconds.append(step.seconds)
            yield None
    facts = {"wiring": plan.wiring, "seconds": min(seconds)}
    yield _measured(material, system, learner=plan.learner.name, **facts)


def _measured(material: DynamicsMaterial, system: dynamics.LinearSystem, **facts: Any) -> Measured:
    """Return what a system is worth."""
    if (truth := material.truth) is not None:
        facts["recall"] = dynamics.structure_recall(system, truth)
        facts["precision"] = dynamics.structure_precision(system, truth)
        facts["coefficient_error"] = dynamics.coefficient_error(system, truth)
    return Measured(
        pred_error_train=dynamics.prediction_error(system, material.train),
        pred_error_test=dynamics.prediction_error(system, material.test),
        entries=int(system.coefficients.nnz),
        **facts,
    )


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


class Counts(NamedTuple):
    """Numbers of parents and of seeds that are compared with those of a learner."""

    learner: ScalableStructure
    parents: tuple[int, ...]
    seeds: tuple[int, ...]


def curving(material: DynamicsMaterial, survey: AllRegressions, counts: Counts) -> Iterator[Curves]:
    """Measure the systems that follow from one survey, seeds and parents in turn."""
    learner, curves = counts.learner, Curves()
    for k, seeds in zip_longest(counts.parents, counts.seeds):
        if k is not None:
            one = _measured(material, survey.inducing(k), learner="inducing", parents=k)
            curves = replace(curves, by_parents=(*curves.by_parents, one))
            yield curves
            system = survey.scalable(replace(learner, parents=k))
            one = _measured(material, system, learner="scalable", parents=k)
            curves = replace(curves, by_parents=(*curves.by_parents, one))
            yield curves
        if seeds is not None:
            system = survey.scalable(replace(learner, seeds=float(seeds)))
            one = _measured(material, system, learner="scalable", seeds=seeds)
            curves = replace(curves, by_seeds=(*curves.by_seeds, one))
            yield curves


def _regressing(
    material: DynamicsMaterial, learner: ScalableStructure, seed: int
) -> Iterator[AllRegressions | None]:
    return regress_all(material.train, learner, seed=seed)


def _curving(material: DynamicsMaterial, counts: Counts, seed: int) -> Iterator[Curves]:
    regressions = survey(material, counts.learner, seed).latest
    assert regressions is not None  # it has ended
    return curving(material, regressions, counts)


run = shared_job(run_progress, 100)
measure = shared_job(measuring, 200)
curves = shared_job(_curving, 200)
_survey = shared_job(_regressing, 12)


def survey(
    material: DynamicsMaterial, learner: ScalableStructure, seed: int
) -> Background[AllRegressions | None]:
    """Return the regressions of all series, which neither k nor seeds change."""
    plain = replace(learner, parents=None, seeds=1.0, seed_choice="random", unspoken="common")
    return _survey(material, plain, seed)


def rehearse_dynamics_page() -> None:
    """Run every kernel of the page once, on a small system, to compile it."""
    for solver in ("sgd", "coordinate"):
        options = DynamicsOptions(size=6, density=0.3, rows=60, solver=solver)
        small = generated(options)
        plans = [plan_of(options, small, name) for name in dynamics.LEARNERS]
        for plan in plans:
            deque(run_progress(small, plan), maxlen=0)
            if isinstance(learner := plan.learner, ScalableStructure):
                for regressions in regress_all(small.train, learner):
                    if regressions is not None:
                        deque(
                            curving(small, regressions, Counts(learner, (1, 2), (1, 2))), maxlen=0
                        )
