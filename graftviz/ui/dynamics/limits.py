"""Estimated cost of a run on the Dynamics page, and limits."""

from __future__ import annotations

from graftviz.dynamics import Dense, DynamicsLearner, ScalableStructure, SparsityEnforcing
from graftviz.dynamics.solving import SolverOptions
from graftviz.forecasting import duration_text
from graftviz.memory import size_text
from graftviz.ui.limits import limits
from graftviz.ui.run_limits import Verdict

# Measured on one core of about 2.5 GHz, precise enough to distinguish seconds from minutes.
_TERM = 0.9e-9  # seconds for a coefficient at a row in a pass of gradient descent
_PASSES = 25  # easy data take half of that, hard ones twice as many
_MOMENT = 0.15e-9  # seconds for a product of two series at a row
_SWEEP = 40e-9  # seconds for a pair of coefficients in coordinate descent
_ROW = 60e-6  # seconds for a step and its record
_NUMBER = 60  # bytes a number takes in steps, records and messages together
_MOST_NUMBERS = 700_000  # beyond, a message to the browser would be too large


def judge_system(n: int, rows: int, learner: DynamicsLearner) -> Verdict:
    """Return whether a run on n series may begin, with the estimate if not."""
    seconds, stored = _seconds(n, rows, learner), _numbers(n, learner)
    estimate = (
        f"Estimated {duration_text(seconds)} and {size_text(_NUMBER * stored)} of memory for "
        f"{n:,} series and {rows:,} rows."
    )
    if stored > _MOST_NUMBERS:
        return Verdict(
            refusal=f"{estimate} Too much to display. Not started. Reduce seeds or parents, upload "
            "fewer series, or use python -m graftviz dynamics."
        )
    ask = limits().ask_seconds
    if seconds <= ask:
        return Verdict()
    return Verdict(
        question=f"{estimate} Limit: {ask:g} s. Not started. Fewer seeds reduce the time."
    )


def _seconds(n: int, rows: int, learner: DynamicsLearner) -> float:
    cost = n * _ROW
    if isinstance(learner, Dense):
        return cost + 4 * _MOMENT * rows * n * min(rows, n)
    if isinstance(learner, SparsityEnforcing):
        return cost
    assert isinstance(learner, SolverOptions)
    k = learner.parent_count(n)
    regressed = 2 * int(learner.seeds) if isinstance(learner, ScalableStructure) else n
    if learner.solver == "coordinate":
        cost += _MOMENT * rows * n * (n + regressed) + learner.path * regressed * n * k * _SWEEP
    else:
        cost += _TERM * _PASSES * rows * n * regressed
    if isinstance(learner, ScalableStructure) and learner.unspoken == "regress":
        cost += _TERM * _PASSES * rows * n * n
    return cost + n * rows * k**2 * _MOMENT


def _numbers(n: int, learner: DynamicsLearner) -> int:
    if isinstance(learner, SolverOptions):
        seeds = int(learner.seeds) if isinstance(learner, ScalableStructure) else 0
        return n * (2 * learner.parent_count(n) + seeds)
    return 2 * n * n
