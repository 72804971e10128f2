"""Marginals of a model by the inference method that suits it, computed in parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

import numpy as np

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.evidence import conditioned
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.structure import MOST_ENTRIES, plan_elimination, too_expensive
from graftviz.inference.methods import Method, infer
from graftviz.inference.queries import Query, answered, query_operations
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError

AUTOMATIC: Final = "automatic"
Choice = Literal["automatic", "exact", "bp", "trbp", "mean-field"]
METHODS: tuple[Choice, ...] = get_args(Choice)
MOST_CELLS = 5_000  # joint states of a query


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
    width: int | None = None
    reason: str = ""


def answer_steps(
    model: PairwiseModel, evidence: Mapping[int, int], method: Choice
) -> Iterator[Answer | None]:
    """Compute marginals; yields None where another task may run, and the answer last.

    "automatic" is exact inference if it is fast, otherwise belief propagation.

    Raises
    ------
    InputError
        When the method refuses the model.
    """
    yield None
    if method != AUTOMATIC and method != "exact":
        yield Answer(_approximate(model, evidence, method))
        return
    plan = plan_elimination(model, evidence)
    yield None
    reason = too_expensive(plan)
    if method == AUTOMATIC and reason:
        yield Answer(_approximate(model, evidence, "bp"), plan.width, reason)
        return
    tree = JunctionTree(model, evidence)
    is_possible = bool(np.isfinite(tree.log_partition))
    yield Answer(tree.beliefs() if is_possible else None, tree.plan.width)


class JointAnswer(NamedTuple):
    """Joint distribution of some variables given the evidence.

    Attributes
    ----------
    table : float64 array
        One axis per variable.
    method : str
        Key of an inference method.
    converged : bool
        Whether all of its runs converged.
    """

    table: np.ndarray
    method: Method
    converged: bool


def query_steps(
    model: PairwiseModel,
    evidence: Mapping[int, int],
    targets: tuple[int, ...],
    method: Choice,
) -> Iterator[JointAnswer | None]:
    """Compute P(targets | evidence); yields None where another task may run, and the answer last.

    "automatic" is exact inference if all its runs together are fast, otherwise belief propagation.

    Raises
    ------
    InputError
        For observed targets, too many joint states, and evidence of probability zero.
    """
    if both := [model.names[i] for i in targets if i in evidence]:
        raise InputError(f"{both[0]} is observed. Remove it from the evidence or from the query.")
    cells = math.prod(int(model.cardinalities[i]) for i in targets)
    if cells > MOST_CELLS:
        raise InputError(
            f"These variables have {cells:,} joint states together; a query may have at most "
            f"{MOST_CELLS:,}."
        )
    yield None
    rest, query = conditioned(model, evidence).model, Query(targets, {})
    if method == AUTOMATIC:
        plan = plan_elimination(rest)
        yield None
        is_fast = (
            not too_expensive(plan)
            and query_operations(rest.edges, rest.cardinalities, plan.order, query) <= MOST_ENTRIES
        )
        method = "exact" if is_fast else "bp"
        yield None
    found = answered(rest, query, method)
    yield JointAnswer(found.table, method, found.converged)


def _approximate(
    model: PairwiseModel, evidence: Mapping[int, int], method: Method
) -> Beliefs | None:
    beliefs = infer(model, method, evidence=evidence)
    parts = (np.atleast_1d(beliefs.log_partition), *beliefs.node)
    return beliefs if all(np.isfinite(part).all() for part in parts) else None
