"""Plan of exact inference: elimination order, time and memory, cliques, and the layout of tables.

All tables are stored in one array, whose layout is planned before any allocation. The upward pass
computes messages in the order of elimination; the downward pass computes marginals in reverse
order, and each of its steps needs the messages that its clique received. So either all messages are
stored, or, when memory is short, the order is cut into segments: only the messages that cross into
a segment are stored, and those inside it are recomputed when the downward pass reaches it. That
costs one more upward pass, for any number of segments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from graftviz.inference.evidence import Evidence, checked_evidence, conditioned
from graftviz.inference.exact.ordering import MOST_BITS, Elimination, best_scopes, scopes_along
from graftviz.model.pairwise import HasModel, PairwiseModel, model_of
from graftviz.utils.compiling import inner_kernel, kernel
from graftviz.utils.errors import InputError
from graftviz.utils.memory import free_bytes, size_text

SHARE = 0.8  # share of the free memory that tables may take by default
_ENTRY = 8  # bytes
# Limits up to which exact inference is the automatic choice: about two seconds of an engine thread,
# and memory that thirty sessions may take at once.
MOST_ENTRIES = 3 * 10**7
MOST_BYTES = 500_000_000
_MOST_LARGE = 4000  # largest number of tables that are stored in holes of variable size
_LEEWAYS = (0.0, 0.4)  # share of a segment by which a cut may be moved
_STEPS = 8  # slot sizes per power of two
_HOLES, _HOLE_END, _SLOTS, _SLOT_END, _SPARE = range(5)
_SEGMENTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


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
    >>> from graftviz.inference.exact import plan_elimination
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
    >>> from graftviz.inference.exact import plan_elimination
    >>> plan = plan_elimination(model)
    >>> plan.width
    2
    """
    own: PairwiseModel = model_of(model)
    conditional = conditioned(own, checked_evidence(own, evidence)).model
    return plan_for(conditional, max_memory, order)


def plan_for(
    model: PairwiseModel,
    max_memory: int | None,
    order: Sequence[int] | np.ndarray | None = None,
) -> EliminationPlan:
    """Return the plan for a model without evidence; see :func:`plan_elimination`."""
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
    layout = lay_out(scopes.parent, messages, allowed_bytes(max_memory) / _ENTRY - fixed)
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
    """Return the memory limit of tables: `max_memory`, or most of the free memory.

    Raises
    ------
    InputError
        For a limit below one byte.
    """
    if max_memory is not None and max_memory < 1:
        raise InputError(f"The memory limit must be at least 1 byte; got {max_memory}.")
    return int(SHARE * free_bytes()) if max_memory is None else max_memory


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


class Cliques(NamedTuple):
    """Cliques of an elimination order, their factors, and the offsets of the factors.

    Attributes
    ----------
    states : int64 array, shape (n,)
        Number of states of the variable at each place.
    starts, scopes, parent : int64 arrays
        See :class:`~graftviz.inference.exact.ordering.Elimination`.
    child_starts, children : int64 arrays
        Places that send messages to k: ``children[child_starts[k] : child_starts[k + 1]]``.
    potential_starts : int64 array, shape (n + 1,)
        Range of the potentials of k: its node potential first, then edges to later places.
    other : int64 array, shape (potentials,)
        The later place of each edge; -1 for nodes.
    value_at, marginal_at : int64 arrays, shape (potentials,)
        Start of each potential and of its marginal in the tables; the weights of a potential have
        the same start in the model.
    is_turned : bool array, shape (potentials,)
        Whether the other place varies fastest in the weights.
    message_sizes : int64 array, shape (n,)
    """

    states: np.ndarray
    starts: np.ndarray
    scopes: np.ndarray
    parent: np.ndarray
    child_starts: np.ndarray
    children: np.ndarray
    potential_starts: np.ndarray
    other: np.ndarray
    value_at: np.ndarray
    marginal_at: np.ndarray
    is_turned: np.ndarray
    message_sizes: np.ndarray


class Tables(NamedTuple):
    """All tables, their offsets and their scaling.

    Attributes
    ----------
    entries : float64 array
        All tables.
    message_at, belief_at : int64 arrays, shape (n,)
        Current offsets of the message of each place and of the belief of its scope.
    is_log : bool array, shape (n,)
        Whether the message is stored as its logarithm.
    in_logs : bool array, shape (n,)
        Whether the clique must be computed in logarithms.
    span : float64 array, shape (n,)
        Nats between the largest and the smallest positive entry of each message.
    log_scale : float64 array, shape (n,)
        Log of the scale that was divided out of the potentials and the message of each place.
    """

    entries: np.ndarray
    message_at: np.ndarray
    belief_at: np.ndarray
    is_log: np.ndarray
    in_logs: np.ndarray
    span: np.ndarray
    log_scale: np.ndarray


def empty_tables(n_weights: int, layout: Layout) -> Tables:
    """Allocate all tables of a layout, after the potentials and their marginals.

    Parameters
    ----------
    n_weights : int
        Number of weights of the model: the first entries hold potentials, the next ones marginals.
    layout : Layout
    """
    n, fixed = len(layout.first), 2 * n_weights
    return Tables(
        entries=np.empty(fixed + layout.entries),
        message_at=layout.first + fixed,
        belief_at=layout.belief + fixed,
        is_log=np.zeros(n, dtype=np.bool_),
        in_logs=np.zeros(n, dtype=np.bool_),
        span=np.zeros(n),
        log_scale=np.zeros(n),
    )


def cliques_of(model: PairwiseModel, scopes: Elimination) -> Cliques:
    """Assign the potentials of a model to the places that eliminate them."""
    n = model.n_variables
    order, parent = scopes.order, scopes.parent
    ends = scopes.place[model.edges]
    earlier, later = ends.min(axis=1), ends.max(axis=1)
    owner = np.concatenate([np.arange(n), earlier])
    other = np.concatenate([np.full(n, -1), later]).astype(np.int64)
    weight_at = np.concatenate([model.node_offsets[:-1][order], model.edge_offsets[:-1]])
    # In the model the second variable of an edge varies fastest.
    is_turned = np.concatenate([np.zeros(n, dtype=bool), ends[:, 0] < ends[:, 1]])
    sort = np.argsort(owner, kind="stable")
    value_at = weight_at[sort]
    children = np.argsort(parent, kind="stable")
    children = children[np.count_nonzero(parent < 0) :]
    states = model.cardinalities[order]
    return Cliques(
        states=states,
        starts=scopes.starts,
        scopes=scopes.scopes,
        parent=parent,
        child_starts=_starts(parent[parent >= 0], n),
        children=children,
        potential_starts=_starts(owner, n),
        other=other[sort],
        value_at=value_at,
        marginal_at=value_at + len(model.weights),
        is_turned=is_turned[sort],
        message_sizes=np.rint(scopes.clique_sizes / states).astype(np.int64),
    )


def _starts(owner: np.ndarray, n: int) -> np.ndarray:
    counts = np.bincount(owner, minlength=n)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


class Layout(NamedTuple):
    """Offsets of all tables in one array.

    Attributes
    ----------
    bounds : int64 array, shape (segments + 1,)
        Boundaries of the segments of the order.
    first, again, belief : int64 arrays, shape (n,)
        Offsets of the message of each place in the upward pass, of the message when it is
        recomputed (-1: it is not), and of the belief in the downward pass.
    entries : int
        Length of the array.
    """

    bounds: np.ndarray
    first: np.ndarray
    again: np.ndarray
    belief: np.ndarray
    entries: int


class _FreeList(NamedTuple):
    """Free space during allocation, for the kernels.

    Attributes
    ----------
    hole_at, hole_end : int64 arrays
        Bounds of the holes for large tables, ascending; the last hole is unbounded.
    free_slot : int64 array, one per kind of small table
        Index of the first free slot; -1: none.
    slot_at, next_slot : int64 arrays
        Offset of each free slot, and the next free slot of its kind.
    counts : int64 array, shape (5,)
        Number of holes, end of the space used by large tables, number of slot entries, end of the
        space used by slots, first spare slot entry.
    """

    hole_at: np.ndarray
    hole_end: np.ndarray
    free_slot: np.ndarray
    slot_at: np.ndarray
    next_slot: np.ndarray
    counts: np.ndarray


def lay_out(parent: np.ndarray, sizes: np.ndarray, most_entries: float) -> Layout:
    """Return the layout with the fewest segments that fits into `most_entries` entries.

    If none does, return the smallest one.

    Parameters
    ----------
    parent : int64 array, shape (n,)
        The place that receives each message, later in the order; -1 at roots.
    sizes : int64 array, shape (n,)
        Number of entries of each message.
    most_entries : float
    """
    cuts = ((segments, leeway) for segments in _SEGMENTS for leeway in _LEEWAYS)
    best = _layout(parent, sizes, 1, 0.0)
    for segments, leeway in cuts:
        if best.entries <= most_entries:
            break
        found = _layout(parent, sizes, segments, leeway)
        if found.entries < best.entries:
            best = found
    return best


def _layout(parent: np.ndarray, sizes: np.ndarray, segments: int, leeway: float) -> Layout:
    bounds = _cut(parent, sizes, segments, leeway)
    large = max(int(sizes.sum()) // _MOST_LARGE, 1)
    # Sizes of small tables are rounded up to few values, so that tables can reuse slots.
    exponent = np.maximum(np.ceil(np.log2(sizes) * _STEPS), 0).astype(np.int64)
    rounded = np.maximum(np.floor(2.0 ** (np.arange(exponent.max() + 1) / _STEPS)), 1)
    room = np.maximum(rounded[exponent].astype(np.int64), sizes)
    kinds, kind = np.unique(np.where(sizes <= large, room, -1), return_inverse=True)
    starts = np.searchsorted(np.sort(parent), np.arange(-1, len(parent) + 1))
    children = np.argsort(parent, kind="stable")
    kind = np.where(kinds[kind] < 0, -1, kind).astype(np.int64)
    first, again, belief, entries = _allocate(
        parent, sizes, bounds, starts.astype(np.int64), children, kinds, kind
    )
    return Layout(bounds, first, again, belief, int(entries))


@kernel
def _cut(parent, sizes, segments, leeway):
    """Cut the order into segments whose messages take about the same space.

    Each cut is moved, by at most `leeway` of a segment, to where the messages that cross it, which
    must be stored, are smallest.
    """
    n = len(parent)
    bounds = np.empty(segments + 1, dtype=np.int64)
    bounds[0], bounds[segments] = 0, n
    crossing, total = np.zeros(n + 1), 0.0
    for k in range(n):
        total += sizes[k]
        crossing[k + 1] += crossing[k] + (sizes[k] if parent[k] >= 0 else 0)
        if parent[k] >= 0:
            crossing[parent[k] + 1] -= sizes[k]
    done, at = 0.0, 0
    for g in range(1, segments):
        while at < n and done < total * (g - leeway) / segments:
            done += sizes[at]
            at += 1
        bounds[g] = at
        while at < n and done < total * (g + leeway) / segments:
            done += sizes[at]
            at += 1
            if crossing[at] <= crossing[bounds[g]]:
                bounds[g] = at
    return bounds


@kernel
def _allocate(parent, sizes, bounds, starts, children, kinds, kind):
    """Assign an offset to every table for its lifetime.

    Small tables, which have a kind, are stored in slots of their kind's size, large ones in holes.
    """
    n, last = len(parent), len(bounds) - 2
    segment = np.empty(n, dtype=np.int64)
    for g in range(last + 1):
        segment[bounds[g] : bounds[g + 1]] = g
    first, again = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    belief = np.full(n, -1, dtype=np.int64)
    free = _FreeList(
        np.empty(3 * n + 8, dtype=np.int64),
        np.empty(3 * n + 8, dtype=np.int64),
        np.full(len(kinds), -1, dtype=np.int64),
        np.empty(3 * n + 8, dtype=np.int64),
        np.empty(3 * n + 8, dtype=np.int64),
        np.zeros(5, dtype=np.int64),
    )
    free.hole_at[0], free.hole_end[0] = 0, np.int64(2**62)
    free.counts[_HOLES], free.counts[_SPARE] = 1, -1
    for k in range(n):
        first[k] = _reserve(free, kinds, kind[k], sizes[k])
        if segment[k] != last:
            for at in range(starts[k + 1], starts[k + 2]):
                c = children[at]
                if segment[c] == segment[k]:
                    _release(free, kind[c], first[c], sizes[c])
    for g in range(last, -1, -1):
        if g != last:
            for k in range(bounds[g], bounds[g + 1]):
                if parent[k] >= 0 and segment[parent[k]] == g:
                    again[k] = _reserve(free, kinds, kind[k], sizes[k])
        for k in range(bounds[g + 1] - 1, bounds[g] - 1, -1):
            if parent[k] < 0:
                belief[k] = _reserve(free, kinds, kind[k], sizes[k])
            for at in range(starts[k + 1], starts[k + 2]):
                belief[children[at]] = _reserve(
                    free, kinds, kind[children[at]], sizes[children[at]]
                )
            for at in range(starts[k + 1], starts[k + 2]):
                c = children[at]
                _release(free, kind[c], again[c] if again[c] >= 0 else first[c], sizes[c])
            _release(free, kind[k], belief[k], sizes[k])
    # Slots precede the holes, so large tables are shifted behind all slots.
    slots = free.counts[_SLOT_END]
    for k in range(n):
        if kind[k] < 0:
            first[k] += slots
            belief[k] += slots
            again[k] += slots if again[k] >= 0 else 0
    return first, again, belief, slots + free.counts[_HOLE_END]


@inner_kernel
def _reserve(free, kinds, kind, size):
    """Allocate space for a table; return its offset."""
    if kind >= 0:
        slot = free.free_slot[kind]
        if slot >= 0:
            free.free_slot[kind] = free.next_slot[slot]
            at = free.slot_at[slot]
            free.next_slot[slot] = free.counts[_SPARE]  # the entry itself can be reused
            free.counts[_SPARE] = slot
            return at
        at = free.counts[_SLOT_END]
        free.counts[_SLOT_END] += kinds[kind]
        return at
    hole_at, hole_end, holes = free.hole_at, free.hole_end, free.counts[_HOLES]
    h = 0
    while hole_end[h] - hole_at[h] < size:
        h += 1
    at = hole_at[h]
    hole_at[h] += size
    free.counts[_HOLE_END] = max(free.counts[_HOLE_END], at + size)
    if hole_at[h] == hole_end[h]:
        for later in range(h, holes - 1):
            hole_at[later], hole_end[later] = hole_at[later + 1], hole_end[later + 1]
        free.counts[_HOLES] = holes - 1
    return at


@inner_kernel
def _release(free, kind, at, size):
    """Free the space of a table."""
    if kind >= 0:
        slot = free.counts[_SPARE]
        if slot >= 0:
            free.counts[_SPARE] = free.next_slot[slot]
        else:
            slot = free.counts[_SLOTS]
            free.counts[_SLOTS] += 1
        free.slot_at[slot], free.next_slot[slot] = at, free.free_slot[kind]
        free.free_slot[kind] = slot
        return
    hole_at, hole_end, holes = free.hole_at, free.hole_end, free.counts[_HOLES]
    h = holes
    while h > 0 and hole_at[h - 1] > at:
        h -= 1
    end = at + size
    joins_before = h > 0 and hole_end[h - 1] == at
    if h < holes and hole_at[h] == end:
        if not joins_before:
            hole_at[h] = at
            return
        hole_end[h - 1] = hole_end[h]
        for later in range(h, holes - 1):
            hole_at[later], hole_end[later] = hole_at[later + 1], hole_end[later + 1]
        free.counts[_HOLES] = holes - 1
    elif joins_before:
        hole_end[h - 1] = end
    else:
        for later in range(holes, h, -1):
            hole_at[later], hole_end[later] = hole_at[later - 1], hole_end[later - 1]
        hole_at[h], hole_end[h] = at, end
        free.counts[_HOLES] = holes + 1
