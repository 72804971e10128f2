"""Complete learning runs: run a learner to the end, evaluate the system, collect the steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np

from graftviz.data.series.series import TimeSeries, Transitions
from graftviz.dynamics.base import (
    DynamicsLearner,
    DynamicsOutcome,
    NodeStep,
    Work,
    system_of_steps,
    transition_count,
)
from graftviz.dynamics.system import LinearSystem, prediction_error
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError
from graftviz.utils.wording import quoted

_ROUNDING = 1e-9  # of a spectral radius; a constant series has one of 1


@dataclass(frozen=True, eq=False, repr=False)
class DynamicsResult:
    """Learned system with the record of the run.

    Attributes
    ----------
    learner : DynamicsLearner
    seed : int
    system : LinearSystem
    steps : tuple of NodeStep
        One step per series, in the order of learning.
    transitions : int
        Number of pairs of consecutive states in the training data.
    seeds : int array, read-only
        Seed series.
    uncovered : int array, read-only
        Series that are not parents of any seed.
    work : Work
    seconds : float
        Wall time of learning, without the time of `callback`.
    pred_error_train : float
    pred_error_test : float or None
        One step ahead; None without held-out data.
    notes : tuple of str
        Warnings, for instance that the system is unstable.
    complete : bool
        False if learning was interrupted; the remaining rows are zero.

    Examples
    --------
    >>> learned = dynamics.learn(series, dynamics.SparsityInducing(parents=3))
    >>> learned.system.parents(0), round(learned.pred_error_train, 2), learned.complete
    (array([0, 1, 3]), 0.53, True)
    """

    learner: DynamicsLearner
    seed: int
    system: LinearSystem
    steps: tuple[NodeStep, ...]
    transitions: int
    seeds: np.ndarray
    uncovered: np.ndarray
    work: Work
    seconds: float
    pred_error_train: float
    pred_error_test: float | None
    notes: tuple[str, ...]
    complete: bool = True

    def __repr__(self) -> str:
        held_out = ""
        if self.pred_error_test is not None:
            held_out = f", {self.pred_error_test:.3g} on held-out rows"
        return (
            f"<DynamicsResult of {self.learner.name}: {self.system.n_series:,} series, PredError "
            f"{self.pred_error_train:.3g}{held_out}>"
        )


def learn(
    data: TimeSeries | Transitions,
    learner: DynamicsLearner,
    *,
    seed: int = 0,
    test: TimeSeries | Transitions | None = None,
    jobs: int | None = None,
    callback: Callable[[NodeStep], object] | None = None,
) -> DynamicsResult:
    """Learn a system from `data` and compute its prediction errors.

    Parameters
    ----------
    data : TimeSeries or Transitions
    learner : DynamicsLearner
    seed : int
    test : TimeSeries or Transitions, optional
        Held-out data of the same series.
    jobs : int, optional
        See :meth:`DynamicsLearner.steps`.
    callback : callable, optional
        Called with every step.

    Raises
    ------
    InputError
        When the arguments have other types, or there are too few rows for the options of the
        learner.
    KeyboardInterrupt
        When interrupted before the first step; later, the incomplete result is returned.

    Examples
    --------
    >>> learned = dynamics.learn(series, dynamics.SparsityInducing(parents=3))
    >>> learned.system.coefficients.shape
    (8, 8)
    """
    run = learning_steps(data, learner, seed=seed, test=test, jobs=jobs)
    while True:
        try:
            found = next(run)
            if isinstance(found, NodeStep) and callback is not None:
                callback(found)
        except KeyboardInterrupt as interrupt:
            found = run.throw(interrupt)
        if isinstance(found, DynamicsResult):
            return found


def _check_types(data: object, learner: object, test: object) -> None:
    """Raise an InputError unless the arguments of :func:`learn` have its types."""
    for name, value in (("data", data), ("test", test)):
        if not isinstance(value, TimeSeries | Transitions) and (
            name == "data" or value is not None
        ):
            raise InputError(
                f"The argument {name} must be a TimeSeries, not an object of type "
                f"{type(value).__name__}; TimeSeries.from_array and read_series make one."
            )
    if not isinstance(learner, DynamicsLearner):
        found = f"the class {learner.__name__}" if isinstance(learner, type) else quoted(learner)
        raise InputError(
            "The learner must be a learner of dynamics, such as dynamics.SparsityInducing("
            f"parents=3), not {found}."
        )


def learning_steps(
    data: TimeSeries | Transitions,
    learner: DynamicsLearner,
    *,
    seed: int = 0,
    test: TimeSeries | Transitions | None = None,
    jobs: int | None = None,
) -> Generator[NodeStep | DynamicsResult, None, None]:
    """Yield the steps of :func:`learn`, then its result."""
    _check_types(data, learner, test)
    steps: list[NodeStep] = []
    generator = learner.steps(data, seed=seed, jobs=jobs)
    seconds, complete = 0.0, True
    outcome: DynamicsOutcome | None = None
    while outcome is None:
        started = time.perf_counter()
        try:
            try:
                step = next(generator)
            finally:
                seconds += time.perf_counter() - started
            steps.append(step)
            yield step
        except StopIteration as end:
            outcome = end.value
        except KeyboardInterrupt:
            if not steps:
                raise
            generator.close()
            outcome, complete = _interrupted_outcome(data, steps), False
    system = outcome.system
    yield DynamicsResult(
        learner,
        seed,
        system,
        tuple(steps),
        transition_count(data),
        outcome.seeds,
        outcome.uncovered,
        outcome.work,
        seconds,
        prediction_error(system, data),
        None if test is None else prediction_error(system, test),
        (*outcome.notes, *stability_notes(system), *_error_notes(data, test)),
        complete,
    )


def _interrupted_outcome(data: TimeSeries | Transitions, steps: list[NodeStep]) -> DynamicsOutcome:
    """Return the outcome of an interrupted run."""
    of_kind = {
        kind: read_only(np.array(sorted(s.node for s in steps if s.kind == kind), dtype=np.int64))
        for kind in ("seed", "uncovered")
    }
    note = (
        f"Interrupted after {len(steps)} of {len(data.names)} series; rows of the others are zero."
    )
    return DynamicsOutcome(
        system_of_steps(data.names, steps),
        of_kind["seed"],
        of_kind["uncovered"],
        steps[-1].work,
        (note,),
    )


def _error_notes(*parts: TimeSeries | Transitions | None) -> tuple[str, ...]:
    """Return a warning if PredError is undefined, as a tuple; otherwise an empty tuple."""
    for name, part in zip(("training", "held-out"), parts, strict=True):
        if part is None:
            continue
        expected = part.values[1:] if isinstance(part, TimeSeries) else part.after
        if not np.any(expected):
            return (
                f"All {name} values to predict are zero, so their PredError is undefined (nan).",
            )
    return ()


def stability_notes(system: LinearSystem) -> tuple[str, ...]:
    """Return a warning if `system` is unstable, as a tuple; otherwise an empty tuple."""
    radius = system.spectral_radius
    if radius <= 1.0 + _ROUNDING:
        return ()
    return (
        f"The learned system is unstable: its spectral radius is {radius:.4f}, above 1, so "
        "predictions over many steps grow without bound.",
    )
