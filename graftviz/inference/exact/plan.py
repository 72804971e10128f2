"""Plan of exact inference on a model: elimination order, time and memory, before any allocation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from graftviz.inference.evidence import Evidence, checked_evidence, conditioned
from graftviz.inference.exact.layout import Layout, lay_out
from graftviz.inference.exact.ordering import MOST_BITS, Elimination, best_scopes, scopes_along
from graftviz.model.pairwise import HasModel, PairwiseModel, model_of
from graftviz.utils.errors import InputError
from graftviz.utils.memory import free_bytes, size_text

SHARE = 0.8  # share of the free memory that tables may take by default
_ENTRY = 8  # bytes
# Limits up to which exact inference is the automatic choice: about two seconds of an engine thread,
# and memory that thirty sessions may take at once.
MOST_ENTRIES = 3 * 10**7
MOST_BYTES = 500_000_000


@dataclass(frozen=True, eq=False)
class EliminationPlan:
    """Elimination order with its time and memory requirements.

    Attributes
    ----------
    order : int64 array, shape (n,)
        Variables in the order of elimination. Empty if no order is affordable.
    width : int
        Largest number of neighbours of a variable when it is eliminated: an upper bound on the
        treewidth. Without an order, a lower bound on the width of every order that was tried.
    largest_clique : int
        Number of joint states of the largest clique: a variable and its neighbours when it is
        eliminated. No table of this size is stored, because the variable is summed out in blocks.
    largest_table : int
        Number of entries of the largest table that is stored.
    total_entries : int
        Number of joint states of all cliques together, which one pass processes.
    bytes : int
        Peak memory of all tables that exist at the same time.
    segments : int
        If above 1, messages are discarded and recomputed to save memory.
    scopes, layout : Elimination, Layout or None
        Structure and memory layout of the junction tree; None without an order.

    Examples
    --------
    >>> from graftviz.inference.exact.plan import plan_elimination
    >>> plan = plan_elimination(model)
    >>> plan.width, plan.is_affordable, sorted(plan.order.tolist()) == list(range(11))
    (2, True, True)
    """

    order: np.ndarray
    width: int
    largest_clique: int
    largest_table: int
    total_entries: int
    bytes: int
    segments: int = 1
    scopes: Elimination | None = field(default=None, repr=False)
    layout: Layout | None = field(default=None, repr=False)

    @property
    def is_affordable(self) -> bool:
        """Whether an order with tables of at most 2⁶² entries was found."""
        return self.scopes is not None


def plan_elimination(
    model: HasModel,
    evidence: Evidence | None = None,
    *,
    max_memory: int | None = None,
    order: Sequence[int] | np.ndarray | None = None,
) -> EliminationPlan:
    """Find an elimination order and its requirements, without allocating tables.

    Parameters
    ----------
    model : PairwiseMRF, Result or MarkovNetwork
    evidence : mapping, optional
        Observed variables, which are in no table.
    max_memory : int, optional
        Memory limit in bytes: the plan trades time for memory to meet it, if possible. Default:
        80 % of the free memory.
    order : sequence of int, optional
        All variables, in the order of elimination; default: the best one found.

    Raises
    ------
    InputError
        For evidence that is not in the model, and an order that is not a permutation.

    Examples
    --------
    >>> from graftviz.inference.exact.plan import plan_elimination
    >>> plan = plan_elimination(model)
    >>> plan.width
    2
    """
    own: PairwiseModel = model_of(model)
    conditional = conditioned(own, checked_evidence(own, evidence)).model
    return plan_for(conditional, allowed_bytes(max_memory), order)


def plan_for(
    model: PairwiseModel, allowed: int, order: Sequence[int] | np.ndarray | None = None
) -> EliminationPlan:
    """Return the plan for a model without evidence; `allowed` is the memory limit in bytes."""
    if order is None:
        scopes = best_scopes(model)
    else:
        variables = np.asarray(order, dtype=np.int64)
        if not np.array_equal(np.sort(variables), np.arange(model.n_variables)):
            raise InputError("An elimination order must contain every variable exactly once.")
        scopes = scopes_along(model, variables)
    beyond = 2 ** int(MOST_BITS)
    if scopes is None:
        narrowest = int(MOST_BITS / math.log2(max(int(model.cardinalities.max()), 2)))
        no_order = np.zeros(0, dtype=np.int64)
        return EliminationPlan(no_order, narrowest, beyond, beyond, beyond, beyond * _ENTRY)
    states = model.cardinalities[scopes.order]
    messages = np.rint(scopes.clique_sizes / states).astype(np.int64)
    # Potentials and their marginals are stored in the same array.
    fixed = 2 * len(model.weights)
    layout = lay_out(scopes.parent, messages, allowed / _ENTRY - fixed)
    scopes.order.flags.writeable = False
    return EliminationPlan(
        order=scopes.order,
        width=scopes.width,
        largest_clique=round(scopes.clique_sizes.max()),
        largest_table=int(messages.max()),
        total_entries=round(scopes.entries),
        bytes=_ENTRY * (layout.entries + fixed),
        segments=len(layout.bounds) - 1,
        scopes=scopes,
        layout=layout,
    )


def too_expensive(plan: EliminationPlan) -> str:
    """Return why exact inference is not the automatic choice; empty if it is.

    It is if it takes at most about two seconds.
    """
    if not plan.is_affordable:
        return f"exact inference is infeasible: every elimination order exceeds width {plan.width}"
    if plan.bytes > MOST_BYTES:
        return f"exact inference would need {size_text(plan.bytes)} at width {plan.width}"
    if plan.total_entries > MOST_ENTRIES:
        entries = f"{plan.total_entries:,} table entries"
        return f"exact inference would take {entries} at width {plan.width}"
    return ""


def allowed_bytes(max_memory: int | None) -> int:
    """Return the memory limit of tables: `max_memory`, or most of the free memory."""
    if max_memory is not None:
        return max_memory
    return int(SHARE * free_bytes())


def refuse_if_too_large(plan: EliminationPlan, max_memory: int | None) -> None:
    """Raise an InputError for a plan that exceeds the memory limit.

    Raises
    ------
    InputError
        The message contains the width, the sizes, the limit and an alternative.
    """
    allowed = allowed_bytes(max_memory)
    if not plan.is_affordable:
        raise InputError(
            f"Every elimination order that was tried reaches width {plan.width} or more, and a "
            f'clique of more than 2^{MOST_BITS:g} joint states; try method="bp".'
        )
    if plan.bytes <= allowed:
        return
    bound = "(max_memory)" if max_memory is not None else f"({SHARE:.0%} of the free memory)"
    raise InputError(
        f"The largest table would need {power_text(plan.largest_table)} entries "
        f"({size_text(plan.largest_table * _ENTRY)}) at width {plan.width}, and all tables "
        f"at their peak {size_text(plan.bytes)}; the limit is {size_text(allowed)} {bound}; "
        'try method="bp".'
    )


def power_text(number: int) -> str:
    """Format a number, with an equal power if there is one: 2^30 = 1,073,741,824."""
    for exponent in range(62, 1, -1):
        root = round(number ** (1.0 / exponent))
        if root > 1 and root**exponent == number:
            return f"{root}^{exponent} = {number:,}"
    return f"{number:,}"
