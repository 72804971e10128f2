"""Computations of the Inspect page: marginals, with and without evidence, and local bounds.

Everything runs on the engine threads; results are cached while their session may return.
Streamlit is not imported here.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from graftviz.inference import METHODS as INFERENCE, Beliefs, infer
from graftviz.inference.exact import EliminationPlan, JunctionTree, plan_elimination
from graftviz.memory import size_text
from graftviz.model import PairwiseMRF
from graftviz.regions import LocalMarginal, local_marginal
from graftviz.ui.background import Background
from graftviz.ui.scheduler import Turns

AUTOMATIC = "automatic"
METHODS = (AUTOMATIC, *sorted(INFERENCE, key=lambda name: name != "exact"))
# What one may wait for at a click: about two seconds of an engine thread, and memory that thirty
# visitors may take at once.
MOST_ENTRIES = 3 * 10**7
MOST_BYTES = 500_000_000
_KEPT = 12
T = TypeVar("T")


class Question(NamedTuple):
    """Model, evidence and options that determine a set of marginals.

    Attributes
    ----------
    model : str
        Fingerprint.
    evidence : tuple of (variable, state)
    method : str
        One of `METHODS`.
    """

    model: str
    evidence: tuple[tuple[int, int], ...]
    method: str


@dataclass(frozen=True, eq=False)
class Answer:
    """Marginals, or the reason for their absence.

    Attributes
    ----------
    beliefs : Beliefs or None
        None when the evidence has probability zero.
    width : int or None
        Width of the elimination order; None if no order was computed.
    reason : str
        Why the method is not exact inference; empty if it is, or was chosen by hand.
    """

    beliefs: Beliefs | None
    width: int | None
    reason: str = ""


def answer_steps(
    model: PairwiseMRF, evidence: Mapping[int, int], method: str
) -> Iterator[Answer | None]:
    """Compute marginals; yields None where another task may run, and the answer last.

    "automatic" is exact inference if it is fast, otherwise belief propagation.

    Raises
    ------
    InputError
        When the method refuses the model.
    """
    yield None
    if method not in (AUTOMATIC, "exact"):
        yield _approximate(model, evidence, method, None, "")
        return
    plan = plan_elimination(model, _as_evidence(evidence))
    yield None
    is_cheap = (
        plan.is_affordable and plan.total_entries <= MOST_ENTRIES and plan.bytes <= MOST_BYTES
    )
    if method == AUTOMATIC and not is_cheap:
        yield _approximate(model, evidence, "bp", plan.width, _too_wide(plan))
        return
    tree = JunctionTree(model, _as_evidence(evidence))
    is_possible = bool(np.isfinite(tree.log_partition))
    yield Answer(tree.beliefs() if is_possible else None, tree.plan.width)


def _approximate(
    model: PairwiseMRF, evidence: Mapping[int, int], method: str, width: int | None, reason: str
) -> Answer:
    beliefs = infer(model, method, evidence=_as_evidence(evidence))
    is_possible = np.isfinite(beliefs.log_partition) and all(
        np.isfinite(marginal).all() for marginal in beliefs.node
    )
    return Answer(beliefs if is_possible else None, width, reason)


def _as_evidence(evidence: Mapping[int, int]) -> dict[int | str, int | str]:
    """Return evidence by numbers as evidence by numbers or names."""
    return dict(evidence.items())


def _too_wide(plan: EliminationPlan) -> str:
    if not plan.is_affordable:
        return f"exact inference is infeasible: every elimination order exceeds width {plan.width}"
    if plan.bytes > MOST_BYTES:
        return f"exact inference would need {size_text(plan.bytes)} at width {plan.width}"
    return f"exact inference would take {plan.total_entries:,} table entries at width {plan.width}"


def region_steps(
    model: PairwiseMRF, evidence: Mapping[int, int], query: int
) -> Iterator[LocalMarginal | None]:
    """Compute a local marginal with its bound; yields None before, and the answer last."""
    yield None
    yield local_marginal(model, query, evidence=_as_evidence(evidence))


def inspect_jobs() -> list[Callable[[], object]]:
    """Return the jobs that compile the engine for this page, the most likely first."""
    soft, hard = (_square(corner) for corner in (0.5, -np.inf))
    return [
        *(partial(_rehearse, model, method) for method in METHODS for model in (soft, hard)),
        *(partial(local_marginal, model, 0, evidence={1: 1}) for model in (soft, hard)),
        *(partial(local_marginal, model, 0) for model in (soft, hard)),
    ]


def _square(corner: float) -> PairwiseMRF:
    """Return four variables in a circle; a corner of −∞ is a zero potential."""
    table = np.array([[corner, 0.0, -0.5], [0.0, 0.2, 0.0]])
    tables = {(0, 1): table, (1, 2): table.T, (2, 3): table, (0, 3): table}
    return PairwiseMRF.from_tables([np.zeros(2), np.zeros(3), np.zeros(2), np.zeros(3)], tables)


def _rehearse(model: PairwiseMRF, method: str) -> None:
    for evidence in ({}, {0: 1}):
        deque(answer_steps(model, evidence, method), maxlen=0)


class Desk(Generic[T]):
    """Work by what it answers: begun once, kept while it may be wanted again.

    Parameters
    ----------
    scheduler : Turns
    """

    def __init__(self, scheduler: Turns) -> None:
        self._scheduler = scheduler
        self._works: dict[Hashable, Background[T]] = {}

    def ask(self, question: Hashable, values: Iterator[T], patience: float = 0.0) -> Background[T]:
        """Return the work on a question, begun now (it draws from `values`) or before.

        Parameters
        ----------
        question : hashable
        values : iterator
            Its last value is the answer; not touched when the question was asked before.
        patience : float
            Seconds to wait for the end.
        """
        work = self._works.pop(question, None)
        if work is None:
            work = Background(values, self._scheduler)
        self._works[question] = work
        for old in list(self._works)[:-_KEPT]:
            self._works.pop(old).revoke()
        work.grant()
        if patience > 0:
            work.wait_for_end(patience)
        return work

    def find(self, question: Hashable) -> Background[T] | None:
        """Return the work on a question that was asked before."""
        return self._works.get(question)

    def revoke(self) -> None:
        """Stop all work for now; what is finished stays."""
        for work in list(self._works.values()):
            work.revoke()

    def forget(self) -> None:
        """Stop all work and let go of it."""
        self.revoke()
        self._works.clear()


def wait_for_all(works: list[Background[Answer | None]], patience: float) -> bool:
    """Wait for the end of several works; False after `patience` seconds in all."""
    deadline = time.monotonic() + patience
    return all(work.wait_for_end(max(0.0, deadline - time.monotonic())) for work in works)
