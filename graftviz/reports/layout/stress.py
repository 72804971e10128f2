"""Kernels of the layouts: hop distances, two methods to reduce stress, and node separation.

The stress of a layout is Σ w (|x_i − x_j| − unit · hops)² over pairs of nodes, w = 1 / hops².
:func:`anneal` follows Zheng, Pawar and Goodman, "Graph drawing by stochastic gradient descent"
(2018); :func:`settle` is stress majorisation after Gansner, Koren and North (2004), node by node.
"""

from __future__ import annotations

import math

import numpy as np

from graftviz.utils.compiling import inner_kernel, kernel

GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))
TOUCHING = 1e-9  # below this distance, two nodes coincide and have no direction of separation


@inner_kernel
def _direction(i: int, j: int) -> tuple[float, float]:
    """Return a vector of length `TOUCHING` for coincident nodes, antisymmetric in i and j."""
    angle = GOLDEN_ANGLE * (i + j)
    sign = 1.0 if i > j else -1.0
    return sign * TOUCHING * math.cos(angle), sign * TOUCHING * math.sin(angle)


@kernel
def hop_distances(
    offsets: np.ndarray, neighbours: np.ndarray, sources: np.ndarray, hops: np.ndarray
) -> None:
    """Set ``hops[a, i]`` to the length of a shortest path from ``sources[a]`` to i, or to -1."""
    n = len(offsets) - 1
    queue = np.empty(n, dtype=np.int64)
    for a in range(len(sources)):
        hops[a, :] = -1.0
        hops[a, sources[a]] = 0.0
        queue[0] = sources[a]
        head, tail = 0, 1
        while head < tail:
            i = queue[head]
            head += 1
            for at in range(offsets[i], offsets[i + 1]):
                j = neighbours[at]
                if hops[a, j] < 0.0:
                    hops[a, j] = hops[a, i] + 1.0
                    queue[tail] = j
                    tail += 1


@kernel
def anneal(positions: np.ndarray, hops: np.ndarray, rates: np.ndarray, orders: np.ndarray) -> None:
    """Reduce stress by stochastic gradient descent: move pairs towards their distances.

    One hop has length 1 here. The random order resolves folds of the initial layout.

    Parameters
    ----------
    positions : float64 array, shape (n, 2)
        Changed in place.
    hops : float64 array, shape (n, n)
        Distances; -h for a pair in different components whose minimum distance is h.
    rates : float64 array, shape (sweeps,)
        In hops squared; a pair h hops apart is moved by the fraction min(1, rate / h²).
    orders : int64 array, shape (sweeps, n)
        Order of the nodes in each sweep.
    """
    for sweep in range(len(rates)):
        for i in orders[sweep]:
            for j in range(i):
                hop = hops[i, j]
                dx = positions[i, 0] - positions[j, 0]
                dy = positions[i, 1] - positions[j, 1]
                distance = math.sqrt(dx * dx + dy * dy)
                if hop < 0.0 and distance > -hop:
                    continue
                hop = abs(hop)
                if distance < TOUCHING:
                    dx, dy = _direction(i, j)
                    distance = TOUCHING
                pull = 0.5 * min(1.0, rates[sweep] / (hop * hop)) * (distance - hop) / distance
                positions[i, 0] -= pull * dx
                positions[i, 1] -= pull * dy
                positions[j, 0] += pull * dx
                positions[j, 1] += pull * dy


@kernel
def settle(
    positions: np.ndarray,
    sources: np.ndarray,
    hops: np.ndarray,
    offsets: np.ndarray,
    neighbours: np.ndarray,
    unit: float,
    sweeps: int,
) -> None:
    """Reduce stress by majorisation: move each node to the weighted mean of its target positions.

    A converged layout does not change, as required for growing graphs. With pivots, the edges are
    added to the pairs, and each pivot represents n / k nodes.

    Parameters
    ----------
    positions : float64 array, shape (n, 2)
        Changed in place.
    sources : int64 array, shape (k,)
        Nodes from which distances are computed: all nodes, or a few pivots.
    hops : float64 array, shape (k, n)
        Distances from the sources; -h for a pair whose minimum distance is h.
    offsets, neighbours : int64 arrays, shapes (n + 1,) and (2m,)
        Node i has the neighbours ``neighbours[offsets[i]:offsets[i + 1]]``.
    unit : float
        Length of one hop.
    sweeps : int
    """
    n = len(positions)
    sparse = len(sources) < n
    weight_of_source = n / max(1, len(sources))
    for sweep in range(sweeps):
        for at in range(n):
            i = at if sweep % 2 == 0 else n - 1 - at
            x, y = positions[i, 0], positions[i, 1]
            total, sum_x, sum_y = 0.0, 0.0, 0.0
            count = offsets[i + 1] - offsets[i] if sparse else 0
            for partner in range(len(sources) + count):
                if partner < len(sources):
                    j, hop = sources[partner], hops[partner, i]
                    weight = weight_of_source
                else:
                    j, hop = neighbours[offsets[i] + partner - len(sources)], 1.0
                    weight = 1.0
                dx, dy = x - positions[j, 0], y - positions[j, 1]
                distance = math.sqrt(dx * dx + dy * dy)
                if i == j or (hop < 0.0 and distance > -hop * unit):
                    continue
                if distance < TOUCHING:
                    dx, dy = _direction(i, j)
                    distance = TOUCHING
                hop = abs(hop)
                weight /= hop * hop
                total += weight
                sum_x += weight * (positions[j, 0] + unit * hop * dx / distance)
                sum_y += weight * (positions[j, 1] + unit * hop * dy / distance)
            if total > 0.0:
                positions[i, 0], positions[i, 1] = sum_x / total, sum_y / total


@kernel
def farthest_spot(spots: np.ndarray, positions: np.ndarray, is_placed: np.ndarray) -> int:
    """Return the number of the spot with the largest distance from all nodes that are placed.

    Parameters
    ----------
    spots : float64 array, shape (k, 2)
    positions : float64 array, shape (n, 2)
    is_placed : bool array, shape (n,)
    """
    best, largest = 0, -1.0
    for k in range(len(spots)):
        gap = math.inf
        for i in range(len(positions)):
            if is_placed[i]:
                dx, dy = spots[k, 0] - positions[i, 0], spots[k, 1] - positions[i, 1]
                gap = min(gap, dx * dx + dy * dy)
                if gap <= largest:
                    break
        if gap > largest:
            best, largest = k, gap
    return best


@kernel
def push_apart(positions: np.ndarray, gap: float, sweeps: int) -> None:
    """Separate nodes closer than `gap`, in place, with at most `sweeps` sweeps.

    Each sweep sums the displacements over all close pairs, found by means of a grid of cells of
    size `gap`, and then moves every node once. A displacement is half of the missing distance;
    with all of it, dense groups oscillate.
    """
    n = len(positions)
    push = np.empty((n, 2))
    next_in_cell = np.empty(n, dtype=np.int64)
    cell_of = np.empty((n, 2), dtype=np.int64)
    for _ in range(sweeps):
        low_x, low_y = positions[:, 0].min(), positions[:, 1].min()
        width, height = positions[:, 0].max() - low_x, positions[:, 1].max() - low_y
        size = max(gap, width / 256, height / 256)
        first_in_cell = np.full((int(height / size) + 3, int(width / size) + 3), -1, dtype=np.int64)
        push[:] = 0.0
        moved = False
        for i in range(n):
            # With a border of empty cells, every node has eight neighbouring cells.
            line = int((positions[i, 1] - low_y) / size) + 1
            column = int((positions[i, 0] - low_x) / size) + 1
            cell_of[i, 0], cell_of[i, 1] = line, column
            next_in_cell[i] = first_in_cell[line, column]
            first_in_cell[line, column] = i
        for i in range(n):
            for cell in range(9):
                j = first_in_cell[cell_of[i, 0] + cell // 3 - 1, cell_of[i, 1] + cell % 3 - 1]
                while j >= 0:
                    dx = positions[i, 0] - positions[j, 0]
                    dy = positions[i, 1] - positions[j, 1]
                    if i != j and dx * dx + dy * dy < gap * gap:
                        moved = True
                        distance = math.sqrt(dx * dx + dy * dy)
                        if distance < TOUCHING:
                            dx, dy = _direction(i, j)
                            distance = TOUCHING
                        push[i, 0] += 0.25 * (gap - distance) / distance * dx
                        push[i, 1] += 0.25 * (gap - distance) / distance * dy
                    j = next_in_cell[j]
        if not moved:
            break
        positions += push
