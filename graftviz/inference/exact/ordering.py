"""Elimination orders with small tables.

Finding the best order is NP-hard; several greedy orders are computed and the cheapest is used.
Eliminating a variable connects all its neighbours, and a good order adds few new edges (fill-in).
Only existing edges are stored, so the time for a forest of 100,000 variables is proportional to its
size. Where every remaining choice would create a table of more than 2⁶² entries, the search ends,
because such a table cannot be stored.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

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
    # Copies, which are writable: numba compiles kernels apart for read-only arrays.
    starts, neighbours = model.incidence.starts.copy(), model.incidence.neighbours.copy()
    best = _cheapest(starts, neighbours, model.cardinalities)
    if best is None:
        return None
    order = best.order[depth_first(best.parent, best.clique_sizes)]
    return scopes_along(model, order)


def _cheapest(
    starts: np.ndarray,
    neighbours: np.ndarray,
    cardinalities: np.ndarray,
    cost: Callable[[Elimination], float] | None = None,
) -> Elimination | None:
    """Return the elimination of least cost that was found; by default, of fewest entries."""
    sizes = cardinalities.astype(np.float64)
    bits, n = np.log2(sizes), len(cardinalities)
    best: Elimination | None = None

    def consider(order: np.ndarray) -> None:
        nonlocal best
        most = np.inf if best is None or cost is not None else best.entries
        found = eliminate(order, starts, neighbours, sizes, most)
        if found[0]:
            new = Elimination(order, *found[1:])
            if best is None or cost is None or cost(new) < cost(best):
                best = new

    none, work = np.zeros(n), 0
    for kind in (MIN_WEIGHT, MIN_FILL, WEIGHTED_FILL):
        done, order, looked = greedy_order(starts, neighbours, bits, kind, none, MOST_BITS)
        work = max(work, looked)
        if done:
            consider(order)
        if best is not None and best.width <= 1:
            return best  # no order is better
        if not done and n - len(order) > _HOPELESS:
            break
    for order in sweeps(starts, neighbours):
        consider(order)
    if best is not None and work * _RESTARTS <= _RESTART_WORK:
        rng = np.random.default_rng(0)
        for _ in range(_RESTARTS):
            ties = rng.random(n)
            done, order, _ = greedy_order(starts, neighbours, bits, MIN_FILL, ties, MOST_BITS)
            if done:
                consider(order)
    return best


def smallest_circuit(edges: np.ndarray, cardinalities: np.ndarray) -> Elimination | None:
    """Return the elimination of the smallest circuit that was found.

    The orders are those of :func:`best_scopes`; in the best one neighbours are exchanged as long as
    the circuit shrinks.

    Parameters
    ----------
    edges : int64 array, shape (m, 2)
    cardinalities : int64 array, shape (n,)
    """
    starts, neighbours = neighbour_lists(len(cardinalities), edges)

    def cost(found: Elimination) -> float:
        return found.operations(cardinalities, edges)

    best = _cheapest(starts, neighbours, cardinalities, cost)
    tried, k = 0, 0  # exchanges tried since the last that helped
    while best is not None and tried < len(cardinalities) - 1:
        order = best.order.copy()
        order[[k, k + 1]] = order[[k + 1, k]]
        found = eliminated(edges, cardinalities, order)
        best, tried = (found, 0) if cost(found) < cost(best) else (best, tried + 1)
        k = (k + 1) % (len(cardinalities) - 1)
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
    used = np.int64(0)
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


def eliminated(edges: np.ndarray, cardinalities: np.ndarray, order: np.ndarray) -> Elimination:
    """Return the elimination of a graph in the given order.

    Parameters
    ----------
    edges : int64 array, shape (m, 2)
    cardinalities : int64 array, shape (n,)
    order : int64 array, shape (n,)
    """
    starts, neighbours = neighbour_lists(len(cardinalities), edges)
    order = np.array(order, dtype=np.int64)
    sizes = cardinalities.astype(np.float64)
    return Elimination(order, *eliminate(order, starts, neighbours, sizes, np.inf)[1:])


def greedy_elimination(
    edges: np.ndarray, cardinalities: np.ndarray, kind: int = MIN_FILL, most: float = np.inf
) -> Elimination | None:
    """Return a greedy elimination.

    Parameters
    ----------
    edges : int64 array, shape (m, 2)
    cardinalities : int64 array, shape (n,)
    kind : int
        MIN_FILL ignores numbers of states; WEIGHTED_FILL and MIN_WEIGHT use them.
    most : float
        Largest width; None is returned if the order exceeds it.
    """
    n = len(cardinalities)
    starts, neighbours = neighbour_lists(n, edges)
    sizes = np.full(n, 2) if kind == MIN_FILL else cardinalities
    bits = np.log2(sizes.astype(np.float64))
    done, order, _ = greedy_order(starts, neighbours, bits, kind, np.zeros(n), most + 1.0)
    return eliminated(edges, cardinalities, order) if done else None


def junction_tree_of(
    n: int, edges: np.ndarray, order: np.ndarray
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Return the junction tree of an elimination order (a forest if the graph is disconnected).

    Parameters
    ----------
    n : int
        Number of variables.
    edges : int array, shape (m, 2)
    order : int array, shape (n,)
        A permutation of the variables.

    Returns
    -------
    cliques : tuple of int32 arrays
        Maximal cliques of the triangulated graph, each ascending. A variable without edges forms
        its own clique.
    links : int32 array, shape (k, 2)
        Pairs of cliques (by index) that are adjacent in the tree. Cliques with a common variable
        are connected through cliques with that variable.
    """
    found = eliminated(edges.astype(np.int64), np.full(n, 2), order)
    members: list[set[int]] = []
    links: list[tuple[int, int]] = []
    clique_at = [-1] * n  # clique that contains each variable and its scope, by position
    # In reverse order, the clique of the first variable of a scope exists already. Either it equals
    # the scope, and the variable is added to it, or a new clique becomes its child.
    for k in range(n - 1, -1, -1):
        scope = set(found.order[found.scope(k)].tolist())
        parent, variable = int(found.parent[k]), int(found.order[k])
        if parent >= 0 and members[clique_at[parent]] == scope:
            clique_at[k] = clique_at[parent]
            members[clique_at[k]].add(variable)
            continue
        clique_at[k] = len(members)
        members.append(scope | {variable})
        if parent >= 0:
            links.append((clique_at[parent], clique_at[k]))
    cliques = tuple(np.array(sorted(clique), dtype=np.int32) for clique in members)
    return cliques, np.array(links, dtype=np.int32).reshape(-1, 2)


@kernel
def neighbour_lists(n, edges):
    """Return compressed neighbour lists of a graph."""
    starts = np.zeros(n + 1, dtype=np.int64)
    for e in range(len(edges)):
        starts[edges[e, 0] + 1] += 1
        starts[edges[e, 1] + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    free = starts[:n].copy()
    neighbours = np.empty(2 * len(edges), dtype=np.int64)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        neighbours[free[i]] = j
        neighbours[free[j]] = i
        free[i] += 1
        free[j] += 1
    return starts, neighbours


def sweeps(starts: np.ndarray, neighbours: np.ndarray) -> list[np.ndarray]:
    """Return the orders of the numbering and of breadth-first search, each from both ends."""
    natural = np.arange(len(starts) - 1)
    there = _breadth_first(starts, neighbours, natural)
    back = _breadth_first(starts, neighbours, there[::-1].copy())
    return [natural, natural[::-1].copy(), back, back[::-1].copy()]


@kernel
def _breadth_first(starts, neighbours, seeds):
    """Visit all nodes breadth first, each component from the first of its nodes in `seeds`."""
    n = len(starts) - 1
    order, seen = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    filled = 0
    for seed in seeds:
        if seen[seed]:
            continue
        seen[seed] = True
        order[filled] = seed
        at = filled
        filled += 1
        while at < filled:
            i = order[at]
            at += 1
            for k in range(starts[i], starts[i + 1]):
                j = neighbours[k]
                if not seen[j]:
                    seen[j] = True
                    order[filled] = j
                    filled += 1
    return order


def depth_first(parent: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the places in a depth-first order with small memory: children before parents.

    Of the children of a place, the first is the one whose subtree needs most memory beyond that of
    its message (Liu, "On the storage requirement in the out-of-core multifrontal method", 1986).
    """
    n = len(parent)
    needs = _subtree_needs(parent, sizes)
    by_parent = np.lexsort((np.arange(n), sizes - needs, parent))
    return _depth_first_order(parent, by_parent)


@kernel
def _subtree_needs(parent, sizes):
    """Return a bound on the memory of each subtree: its own table and those of its children."""
    n = len(parent)
    needs, waiting = sizes.copy(), np.zeros(n)
    for k in range(n):
        needs[k] = max(needs[k], sizes[k] + waiting[k])
        if parent[k] >= 0:
            p = parent[k]
            needs[p] = max(needs[p], needs[k] + waiting[p])
            waiting[p] += sizes[k]
    return needs


@kernel
def _depth_first_order(parent, by_parent):
    """Return all places depth first, children (in the order of `by_parent`) before parents."""
    n = len(parent)
    starts = np.zeros(n + 2, dtype=np.int64)
    for k in range(n):
        starts[parent[k] + 2] += 1
    for k in range(n + 1):
        starts[k + 1] += starts[k]
    order, stack = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    at, filled = starts.copy(), 0
    # The children of k begin at starts[k + 1]; the roots, which have parent -1, at starts[0].
    for r in range(starts[0], starts[1]):
        stack[0], depth = by_parent[r], 1
        while depth > 0:
            k = stack[depth - 1]
            if at[k + 1] < starts[k + 2]:
                stack[depth] = by_parent[at[k + 1]]
                at[k + 1] += 1
                depth += 1
            else:
                order[filled] = k
                filled += 1
                depth -= 1
    return order
