"""Elimination orders with small tables.

Finding the best order is NP-hard; several greedy orders are computed and the cheapest is used.
Eliminating a variable connects all its neighbours, and a good order adds few new edges (fill-in).
Only existing edges are stored, so the time for a forest of 100,000 variables is proportional to its
size. Where every remaining choice would create a table of more than 2⁶² entries, the search ends,
because such a table cannot be stored.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from graftviz.inference.exact.traversal import depth_first, sweeps
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import inner_kernel, kernel

MOST_BITS = 62.0  # log₂ of the largest table to consider
_MOST_NEIGHBOURS = 64  # with more, even a clique of binary variables exceeds MOST_BITS
_EMPTY = -1
_FIBONACCI = np.uint64(0x9E3779B97F4A7C15)
MIN_FILL, WEIGHTED_FILL, MIN_WEIGHT = 0, 1, 2
_HOPELESS = 1000  # remaining variables, all with too many neighbours: no other order is tried
_RESTARTS = 24
_RESTART_WORK = 3_000_000  # largest number of pairs to examine in all random restarts together


class Elimination(NamedTuple):
    """Elimination order of a graph, and the scopes of its messages.

    Places count along the order: place k is the k-th variable to be eliminated.

    Attributes
    ----------
    order : int64 array, shape (n,)
        The variable at each place.
    starts, scopes : int64 arrays, shapes (n + 1,) and (total,)
        ``scopes[starts[k] : starts[k + 1]]``: the places, ascending, of the variables in the
        message of place k.
    parent : int64 array, shape (n,)
        The first of these places, which receives the message; -1 if there are none.
    clique_sizes : float64 array, shape (n,)
        Number of joint states of the variable at each place and those of its scope.
    place : int64 array, shape (n,)
        The place of each variable.
    """

    order: np.ndarray
    starts: np.ndarray
    scopes: np.ndarray
    parent: np.ndarray
    clique_sizes: np.ndarray
    place: np.ndarray

    @property
    def width(self) -> int:
        """Number of variables of the largest scope."""
        return int(np.diff(self.starts).max())

    @property
    def entries(self) -> float:
        """Total number of entries of all cliques."""
        return float(self.clique_sizes.sum())

    def scope(self, k: int) -> np.ndarray:
        """Return the places of the variables in the message of place k, ascending."""
        return self.scopes[self.starts[k] : self.starts[k + 1]]

    def operations(self, cardinalities: np.ndarray, edges: np.ndarray) -> float:
        """Return the size of the arithmetic circuit of the elimination.

        Its nodes are the additions and multiplications of two numbers that compute Z. A clique of
        C joint states, whose variable has s states, multiplies its f factors (the node potential,
        the potentials of edges to variables eliminated later, and the messages it receives) entry
        by entry with (f − 1) C multiplications, and sums the variable out with C − C / s additions.
        The results of the connected components are multiplied at the end.

        Parameters
        ----------
        cardinalities : int64 array, shape (n,)
        edges : int64 array, shape (m, 2)
        """
        n = len(self.order)
        owners = self.place[edges].min(axis=1)
        targets = self.parent[self.parent >= 0]
        factors = np.bincount(owners, minlength=n) + np.bincount(targets, minlength=n)
        sizes, states = self.clique_sizes, cardinalities[self.order]
        roots = int(np.count_nonzero(self.parent < 0))
        return float((factors * sizes + sizes - sizes / states).sum()) + roots - 1


def best_scopes(model: PairwiseModel) -> Elimination | None:
    """Return the cheapest elimination found; None if all exceed 2⁶² entries.

    The candidates are: min-fill, ties broken by the size of the table; fill weighted by numbers of
    states; the smallest table first; the order of the variables and its reverse (models of time
    and space are often numbered along their narrow side); breadth-first sweeps from both ends of
    the graph; and, for small graphs, min-fill with random ties. The tree of the cheapest one is
    traversed depth first, so that few messages are stored at a time.
    """
    best = _cheapest(model)
    if best is None:
        return None
    order = best.order[depth_first(best.parent, best.clique_sizes)]
    return scopes_along(model, order)


def _cheapest(model: PairwiseModel) -> Elimination | None:
    # Copies, which are writable: numba compiles kernels apart for read-only arrays.
    starts, neighbours = model.incidence.starts.copy(), model.incidence.neighbours.copy()
    bits = np.log2(model.cardinalities.astype(np.float64))
    sizes = model.cardinalities.astype(np.float64)
    best: Elimination | None = None

    def consider(order: np.ndarray) -> None:
        nonlocal best
        most = np.inf if best is None else best.entries
        found = eliminate(order, starts, neighbours, sizes, most)
        if found[0]:
            best = Elimination(order, *found[1:])

    none, work = np.zeros(model.n_variables), 0
    for kind in (MIN_WEIGHT, MIN_FILL, WEIGHTED_FILL):
        done, order, looked = greedy_order(starts, neighbours, bits, kind, none, MOST_BITS)
        work = max(work, looked)
        if done:
            consider(order)
        if best is not None and best.width <= 1:
            return best  # no order is better
        if not done and model.n_variables - len(order) > _HOPELESS:
            break
    for order in sweeps(starts, neighbours):
        consider(order)
    if best is not None and work * _RESTARTS <= _RESTART_WORK:
        rng = np.random.default_rng(0)
        for _ in range(_RESTARTS):
            ties = rng.random(model.n_variables)
            done, order, _ = greedy_order(starts, neighbours, bits, MIN_FILL, ties, MOST_BITS)
            if done:
                consider(order)
    return best


def scopes_along(model: PairwiseModel, order: np.ndarray) -> Elimination | None:
    """Return the scopes of a given order; None if a table exceeds 2⁶² entries."""
    starts, neighbours = model.incidence.starts.copy(), model.incidence.neighbours.copy()
    sizes = model.cardinalities.astype(np.float64)
    order = np.array(order, dtype=np.int64)
    found = eliminate(order, starts, neighbours, sizes, np.inf)
    return Elimination(order, *found[1:]) if found[0] else None


@kernel(inline="always")
def _place_of(keys, key):
    """Return the position of a key in an open-addressing hash table, or its free position."""
    mask = len(keys) - 1
    at = np.int64((np.uint64(key) * _FIBONACCI) >> np.uint64(20)) & mask
    while keys[at] != _EMPTY and keys[at] != key:
        at = (at + 1) & mask
    return at


@kernel
def greedy_order(starts, neighbours, bits, kind, ties, most_bits):
    """Eliminate repeatedly the variable with the lowest cost.

    Parameters
    ----------
    starts, neighbours : int64 arrays
        Neighbour lists.
    bits : float64 array, shape (n,)
        log₂ of each variable's number of states.
    kind : int
        0: fewest new edges; 1: new edges weighted by the bits of their ends; 2: smallest table.
    ties : float64 array, shape (n,)
        Breaks remaining ties.
    most_bits : float
        log₂ of the largest table.

    Returns
    -------
    done : bool
        False if all remaining variables have tables beyond `most_bits`.
    order : int64 array, shape (n,)
        Shorter if not done.
    work : int
        Number of pairs of neighbours examined.
    """
    n = len(starts) - 1
    # Neighbours are stored in chunks that move to the end of the pool when they grow.
    begin, length = starts[:n].copy(), np.empty(n, dtype=np.int64)
    room = np.empty(n, dtype=np.int64)
    pool = np.empty(2 * len(neighbours) + 16, dtype=np.int64)
    used = len(neighbours)
    for at in range(used):
        pool[at] = neighbours[at]
    n_keys = 16
    while n_keys < 2 * len(neighbours) + 2:
        n_keys *= 2
    keys = np.full(n_keys, _EMPTY, dtype=np.int64)
    stored = 0
    degree = np.empty(n, dtype=np.int64)
    around = np.zeros(n)  # bits of all remaining neighbours
    for i in range(n):
        length[i] = degree[i] = room[i] = starts[i + 1] - starts[i]
        for k in range(starts[i], starts[i + 1]):
            around[i] += bits[neighbours[k]]
            if i < neighbours[k]:
                key = i * n + neighbours[k]
                keys[_place_of(keys, key)] = key
                stored += 1
    eliminated = np.zeros(n, dtype=np.bool_)
    fill = np.zeros(n)  # cost of connecting the neighbours; outdated where there are too many
    version = np.zeros(n, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    heap = [(0.0, 0.0, 0.0, np.int64(-1), np.int64(0))]
    heap.clear()
    due = np.empty(n, dtype=np.int64)  # nodes whose cost must be recomputed
    is_due = np.zeros(n, dtype=np.bool_)
    n_due = n
    for i in range(n):
        due[i], is_due[i] = i, True
    work = n
    for step in range(n):
        for at in range(n_due):
            i = due[at]
            is_due[i] = False
            if eliminated[i]:
                continue
            version[i] += 1
            size = bits[i] + around[i]
            if degree[i] > _MOST_NEIGHBOURS or size > most_bits:
                continue
            n_alive = 0
            for k in range(begin[i], begin[i] + length[i]):
                if not eliminated[pool[k]]:
                    pool[begin[i] + n_alive] = pool[k]
                    n_alive += 1
            length[i] = n_alive
            if kind == MIN_WEIGHT:
                heapq.heappush(heap, (size, 0.0, ties[i], i, version[i]))
                continue
            work += n_alive * n_alive
            total = 0.0
            for p in range(begin[i], begin[i] + n_alive):
                a = pool[p]
                for q in range(p + 1, begin[i] + n_alive):
                    b = pool[q]
                    key = a * n + b if a < b else b * n + a
                    if keys[_place_of(keys, key)] == _EMPTY:
                        total += 1.0 if kind == MIN_FILL else bits[a] * bits[b]
            fill[i] = total
            heapq.heappush(heap, (total, size, ties[i], i, version[i]))
        n_due = 0
        pivot = np.int64(-1)
        while len(heap) > 0:
            entry = heapq.heappop(heap)
            if not eliminated[entry[3]] and entry[4] == version[entry[3]]:
                pivot = entry[3]
                break
        if pivot < 0:
            return False, order[:step], work
        order[step] = pivot
        eliminated[pivot] = True
        first, last = begin[pivot], begin[pivot] + length[pivot]
        for p in range(first, last):
            a = pool[p]
            if eliminated[a]:
                continue
            degree[a] -= 1
            around[a] -= bits[pivot]
            if not is_due[a]:
                is_due[a] = True
                due[n_due] = a
                n_due += 1
        for p in range(first, last):
            a = pool[p]
            if eliminated[a]:
                continue
            for q in range(p + 1, last):
                b = pool[q]
                if eliminated[b]:
                    continue
                key = a * n + b if a < b else b * n + a
                place = _place_of(keys, key)
                if keys[place] == key:
                    continue
                keys[place] = key
                stored += 1
                if 2 * stored > len(keys):
                    larger = np.full(2 * len(keys), _EMPTY, dtype=np.int64)
                    for old in keys:
                        if old != _EMPTY:
                            larger[_place_of(larger, old)] = old
                    keys = larger
                for side in range(2):
                    i, j = (a, b) if side == 0 else (b, a)
                    if length[i] == room[i]:
                        capacity = 2 * room[i] + 2
                        if used + capacity > len(pool):
                            pool = _longer(pool, used, 2 * len(pool) + capacity)
                        for at in range(length[i]):
                            pool[used + at] = pool[begin[i] + at]
                        begin[i], room[i] = used, capacity
                        used += capacity
                    pool[begin[i] + length[i]] = j
                    length[i] += 1
                    degree[i] += 1
                    around[i] += bits[j]
                if kind == MIN_WEIGHT:
                    continue
                # Common neighbours of both ends have one pair less to connect.
                short, long = (a, b) if length[a] <= length[b] else (b, a)
                for k in range(begin[short], begin[short] + length[short]):
                    c = pool[k]
                    if eliminated[c] or is_due[c] or c == long:
                        continue
                    key = c * n + long if c < long else long * n + c
                    if keys[_place_of(keys, key)] == key:
                        fill[c] -= 1.0 if kind == MIN_FILL else bits[a] * bits[b]
                        if degree[c] <= _MOST_NEIGHBOURS and bits[c] + around[c] <= most_bits:
                            version[c] += 1
                            item = (fill[c], bits[c] + around[c], ties[c], c, version[c])
                            heapq.heappush(heap, item)
    return True, order, work


@kernel
def eliminate(order, starts, neighbours, sizes, most_work):
    """Return whether the work stays below `most_work`, and the fields of :class:`Elimination`."""
    n = len(order)
    place = np.empty(n, dtype=np.int64)
    for k in range(n):
        place[order[k]] = k
    begins = np.zeros(n + 1, dtype=np.int64)
    scopes = np.empty(2 * len(neighbours) + 16, dtype=np.int64)
    parent = np.full(n, -1, dtype=np.int64)
    clique_sizes = np.empty(n)
    first_child = np.full(n, -1, dtype=np.int64)
    next_child = np.full(n, -1, dtype=np.int64)
    mark = np.full(n, -1, dtype=np.int64)
    work, most_entries = 0.0, 2.0**MOST_BITS
    used = 0
    for k in range(n):
        i = order[k]
        begin, entries = used, sizes[i]
        mark[k] = k
        if used + n - k > len(scopes):
            scopes = _longer(scopes, used, 2 * len(scopes) + n)
        for at in range(starts[i], starts[i + 1]):
            p = place[neighbours[at]]
            if p > k and mark[p] != k:
                mark[p] = k
                scopes[used] = p
                used += 1
                entries *= sizes[order[p]]
        child = first_child[k]
        while child >= 0:
            for at in range(begins[child], begins[child + 1]):
                p = scopes[at]
                if mark[p] != k:
                    mark[p] = k
                    scopes[used] = p
                    used += 1
                    entries *= sizes[order[p]]
            child = next_child[child]
        clique_sizes[k] = entries
        work += entries
        if entries > most_entries or work >= most_work:
            return False, begins, scopes, parent, clique_sizes, place
        begins[k + 1] = used
        if used > begin:
            for at in range(begin + 1, used):
                p, q = scopes[at], at
                while q > begin and scopes[q - 1] > p:
                    scopes[q] = scopes[q - 1]
                    q -= 1
                scopes[q] = p
            parent[k] = scopes[begin]
            next_child[k] = first_child[parent[k]]
            first_child[parent[k]] = k
    return True, begins, _longer(scopes, used, used), parent, clique_sizes, place


@inner_kernel
def _longer(array, used, length):
    """Return an array of `length` that begins with the first `used` entries of `array`."""
    grown = np.empty(length, dtype=array.dtype)
    for at in range(used):
        grown[at] = array[at]
    return grown
