"""A joint state of positive probability, where zero potentials leave few of them.

Depth-first search that keeps arc consistency (Sabin and Freuder, "Contradicting conventional wisdom
in constraint satisfaction", 1994): the variable with the fewest states left for how often it has
been in the way is decided next, its most likely state first; what no longer has a partner is struck
out; a variable left without a state takes the last decision back.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numba import njit

from graftviz.inference.support import Support, support
from graftviz.model import PairwiseMRF

_ROUNDS, _FIRST_FAILURES = 6, 500  # every round starts afresh and may fail twice as often


def consistent_states(
    model: PairwiseMRF, states: Support, likely: np.ndarray
) -> tuple[np.ndarray | None, bool]:
    """Look for a joint state of `model` that meets no zero potential.

    Parameters
    ----------
    states : Support
        With a state for every variable.
    likely : float64 array, flat, laid out as the node weights
        Larger is tried first.

    Returns
    -------
    state : int64 array, shape (n,), or None
        None: none was found.
    is_settled : bool
        Whether that is for certain: either a state was found or there is none.
    """
    offsets = model.node_offsets
    forbidden = model.weights[int(offsets[-1]) :] == -np.inf
    starts, neighbours, edges = model.incidence
    places = model.edge_offsets - offsets[-1]
    found = np.empty(model.n_variables, dtype=np.int64)
    hindrance = np.ones(model.n_variables)
    for k in range(_ROUNDS):
        answer = _search(
            *(offsets, starts, neighbours, edges, places, forbidden, states.possible, likely),
            *(_FIRST_FAILURES * 2**k, hindrance, found),
        )
        if answer != 0:
            return (found, True) if answer > 0 else (None, True)
    return None, False


def is_possible(model: PairwiseMRF) -> bool:
    """Whether some joint state of `model` has a positive probability, as far as is found out.

    A search that had to give up counts as if it had found one.
    """
    if np.isfinite(model.weights).all():
        return True
    states = support(model)
    if states.empty_node >= 0:
        return False
    likely = model.weights[: int(model.node_offsets[-1])].copy()
    state, is_settled = consistent_states(model, states, likely)
    return state is not None or not is_settled


@njit(cache=True, nogil=True)
def _search(
    offsets,
    starts,
    neighbours,
    edges,
    places,
    forbidden,
    possible,
    likely,
    most_failures,
    hindrance,
    found,
):
    """Search until `most_failures`: 1 found one, -1 proved that there is none, 0 gave up.

    Parameters
    ----------
    hindrance : float64 array, shape (n,)
        How often each variable was left without a state, plus 1; goes on counting.
    found : int64 array, shape (n,)
        Written if one was found.
    """
    n = len(offsets) - 1
    alive = possible.copy()
    counts = np.zeros(n, dtype=np.int64)
    owner = np.empty(len(alive), dtype=np.int64)
    heap = [(0.0, np.int64(0))]
    for i in range(n):
        for x in range(offsets[i], offsets[i + 1]):
            counts[i] += alive[x]
            owner[x] = i
        heappush(heap, (counts[i] / hindrance[i], np.int64(i)))
    struck = np.empty(len(alive), dtype=np.int64)  # in order, to be taken back
    n_struck, depth, failures = 0, 0, 0
    marks = np.empty(n, dtype=np.int64)  # how many had been struck out before each decision
    chosen = np.empty(n, dtype=np.int64)
    graph = (offsets, starts, neighbours, edges, places, forbidden)
    waiting, is_waiting = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    while True:
        node = np.int64(-1)
        while len(heap) > 0:
            key, nearest = heappop(heap)
            # An entry that does not fit any more has been followed by another.
            if counts[nearest] > 1 and key == counts[nearest] / hindrance[nearest]:
                node = nearest
                break
        if node < 0:
            for x in range(len(alive)):
                if alive[x]:
                    found[owner[x]] = x - offsets[owner[x]]
            return 1
        best = -1
        for x in range(offsets[node], offsets[node + 1]):
            if alive[x] and (best < 0 or likely[x] > likely[best]):
                best = x
        marks[depth], chosen[depth] = n_struck, best
        depth += 1
        for x in range(offsets[node], offsets[node + 1]):
            if alive[x] and x != best:
                alive[x] = False
                struck[n_struck] = x
                n_struck += 1
        counts[node] = 1
        while True:
            before = n_struck
            empty, n_struck = _follow(
                graph, node, alive, counts, struck, n_struck, waiting, is_waiting
            )
            for k in range(before, n_struck):
                i = owner[struck[k]]
                if counts[i] > 1:
                    heappush(heap, (counts[i] / hindrance[i], i))
            if empty < 0:
                break
            failures += 1
            hindrance[empty] += 1.0
            while empty >= 0:
                if depth == 0:
                    return -1
                if failures > most_failures:
                    return 0
                depth -= 1
                while n_struck > marks[depth]:
                    n_struck -= 1
                    x = struck[n_struck]
                    alive[x] = True
                    i = owner[x]
                    counts[i] += 1
                    if counts[i] > 1:
                        heappush(heap, (counts[i] / hindrance[i], i))
                node = owner[chosen[depth]]
                alive[chosen[depth]] = False
                struck[n_struck] = chosen[depth]
                n_struck += 1
                counts[node] -= 1
                if counts[node] > 1:
                    heappush(heap, (counts[node] / hindrance[node], node))
                if counts[node] > 0:
                    empty = -1


@njit(cache=True, nogil=True)
def _follow(graph, node, alive, counts, struck, n_struck, waiting, is_waiting):
    """Strike out what has no partner since the states of `node` have changed.

    Returns
    -------
    empty : int
        A node left without a state, or -1.
    n_struck : int
    """
    offsets, starts, neighbours, edges, places, forbidden = graph
    n = len(offsets) - 1
    waiting[0], head, length = node, 0, 1
    is_waiting[node] = True
    empty = -1
    while length > 0:
        j = waiting[head]
        head = head + 1 if head + 1 < n else 0
        length -= 1
        is_waiting[j] = False
        if empty >= 0:
            continue  # only empties the ring
        start_j, states_j = offsets[j], offsets[j + 1] - offsets[j]
        for k in range(starts[j], starts[j + 1]):
            i, at = neighbours[k], places[edges[k]]
            start_i, states_i = offsets[i], offsets[i + 1] - offsets[i]
            step_i, step_j = (states_j, 1) if i < j else (1, states_i)
            changed = False
            for x in range(states_i):
                if not alive[start_i + x]:
                    continue
                has_partner = False
                for y in range(states_j):
                    if alive[start_j + y] and not forbidden[at + x * step_i + y * step_j]:
                        has_partner = True
                        break
                if not has_partner:
                    alive[start_i + x] = False
                    struck[n_struck] = start_i + x
                    n_struck += 1
                    counts[i] -= 1
                    changed = True
            if counts[i] == 0:
                empty = i
                break
            if changed and not is_waiting[i]:
                is_waiting[i] = True
                tail = head + length
                waiting[tail if tail < n else tail - n] = i
                length += 1
    return empty, n_struck
