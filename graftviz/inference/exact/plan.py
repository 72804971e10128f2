"""What exact inference on a model will take, known before any table is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from graftviz.errors import InputError
from graftviz.inference.evidence import Evidence, checked_evidence, conditioned
from graftviz.inference.exact.layout import Layout, lay_out
from graftviz.inference.exact.ordering import MOST_BITS, Scopes, best_scopes, scopes_along
from graftviz.memory import free_bytes, size_text
from graftviz.model import PairwiseMRF

SHARE = 0.8  # of the free memory that tables may take without being asked for
_ENTRY = 8  # bytes


@dataclass(frozen=True, eq=False)
class EliminationPlan:
    """An elimination order and what it takes.

    Attributes
    ----------
    order : int64 array, shape (n,)
        Variables, first summed out first. Empty where no order is affordable.
    width : int
        Most variables any variable is still joined to when it is summed out: an upper bound on the
        treewidth; the proof is the order. Without an order, a width that every order tried reaches.
    largest_clique : int
        Joint states of such a variable and those it is joined to. No table of this size is ever
        stored: the variable is summed out while they are gone through.
    largest_table : int
        Entries of the largest table that is stored.
    total_entries : int
        Joint states of all cliques together: what one pass goes through.
    bytes : int
        Peak of all tables that live at once.
    segments : int
        Above 1, messages are forgotten and worked out again so that less memory is needed.
    scopes, layout : Scopes, Layout or None
        What the junction tree is built from; None without an order.
    """

    order: np.ndarray
    width: int
    largest_clique: int
    largest_table: int
    total_entries: int
    bytes: int
    segments: int = 1
    scopes: Scopes | None = field(default=None, repr=False)
    layout: Layout | None = field(default=None, repr=False)

    @property
    def is_affordable(self) -> bool:
        """Whether there is an order at all with tables of at most 2⁶² entries."""
        return self.scopes is not None


def plan_elimination(
    model: PairwiseMRF,
    evidence: Evidence | None = None,
    *,
    max_memory: int | None = None,
    order: Sequence[int] | np.ndarray | None = None,
) -> EliminationPlan:
    """Find an elimination order and say what it takes; no table is allocated.

    Parameters
    ----------
    model : PairwiseMRF
    evidence : mapping, optional
        Observed variables, which no table is about.
    max_memory : int, optional
        Bytes to plan for: the plan trades time for memory until it fits, where that is possible.
        Default: 80 % of what is free.
    order : sequence of int, optional
        All variables, in the order in which to sum them out; default: the best one found.

    Raises
    ------
    InputError
        For evidence the model knows nothing of, and an order that is none.
    """
    given = conditioned(model, checked_evidence(model, evidence)).model
    return plan_for(given, allowed_bytes(max_memory), order)


def plan_for(
    model: PairwiseMRF, allowed: int | None, order: Sequence[int] | np.ndarray | None = None
) -> EliminationPlan:
    """Return the plan for a model without evidence; `allowed` is in bytes, None: any number."""
    if order is None:
        scopes = best_scopes(model)
    else:
        wanted = np.asarray(order, dtype=np.int64)
        if not np.array_equal(np.sort(wanted), np.arange(model.n_variables)):
            raise InputError("An elimination order must hold every variable exactly once.")
        scopes = scopes_along(model, wanted)
    beyond = 2 ** int(MOST_BITS)
    if scopes is None:
        narrowest = int(MOST_BITS / math.log2(max(int(model.cardinalities.max()), 2)))
        nobody = np.zeros(0, dtype=np.int64)
        return EliminationPlan(nobody, narrowest, beyond, beyond, beyond, beyond * _ENTRY)
    states = model.cardinalities[scopes.order]
    messages = np.rint(scopes.clique_sizes / states).astype(np.int64)
    # Potentials stand in the same array, with room for their marginals.
    fixed = 2 * len(model.weights)
    most = np.inf if allowed is None else allowed / _ENTRY - fixed
    layout = lay_out(scopes.parent, messages, most)
    scopes.order.flags.writeable = False
    return EliminationPlan(
        order=scopes.order,
        width=scopes.width,
        largest_clique=round(scopes.clique_sizes.max()),
        largest_table=int(messages.max()),
        total_entries=round(scopes.work),
        bytes=_ENTRY * (layout.entries + fixed),
        segments=len(layout.bounds) - 1,
        scopes=scopes,
        layout=layout,
    )


def allowed_bytes(max_memory: int | None) -> int | None:
    """Return what tables may take: what was asked for, or most of what is free."""
    if max_memory is not None:
        return max_memory
    free = free_bytes()
    return None if free is None else int(SHARE * free)


def refuse_if_too_large(plan: EliminationPlan, max_memory: int | None) -> None:
    """Refuse a plan that does not fit, before anything is allocated.

    Raises
    ------
    InputError
        Names the width, the sizes, what is allowed, and what to do.
    """
    allowed = allowed_bytes(max_memory)
    if not plan.is_affordable:
        raise InputError(
            f"Every elimination order that was tried reaches width {plan.width} or more, and a "
            f'clique of more than 2^{MOST_BITS:g} joint states; try method="bp".'
        )
    if allowed is None or plan.bytes <= allowed:
        return
    bound = "(max_memory)" if max_memory is not None else f"({SHARE:.0%} of what is free)"
    raise InputError(
        f"The largest table would need {power_text(plan.largest_table)} entries "
        f"({size_text(plan.largest_table * _ENTRY)}) at width {plan.width}, and all tables that "
        f"live at once {size_text(plan.bytes)}, but they may take {size_text(allowed)} {bound}; "
        'try method="bp".'
    )


def power_text(number: int) -> str:
    """Write a number for people, as a power of its root where it is one: 2^30 = 1,073,741,824."""
    for exponent in range(62, 1, -1):
        root = round(number ** (1.0 / exponent))
        if root > 1 and root**exponent == number:
            return f"{root}^{exponent} = {number:,}"
    return f"{number:,}"
