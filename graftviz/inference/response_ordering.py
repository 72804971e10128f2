"""Elimination order for a sparse symmetric matrix, and the fill-in that it causes.

Minimum degree on the quotient graph, with the approximate degrees of Amestoy, Davis and Duff
("An approximate minimum degree ordering algorithm", 1996): an eliminated node becomes an *element*,
the clique of its neighbours, which is stored as a list of nodes instead of edges, so that only the
lists of the factor itself grow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from graftviz.kernels import inner_kernel


class FactorOrder(NamedTuple):
    """Elimination order and the structure of the resulting factor.

    Places are counted from the end: the node eliminated last has place 0. The column of place q
    holds a row block for every place that its elimination touches and, last, its own diagonal
    block; the largest of those other places is its parent in the elimination tree. Blocks have as
    many rows as the node has dimensions.

    Attributes
    ----------
    place : int64 array, shape (n,)
        -1: the node has no edge (or a single state) and is not in the matrix.
    node_at : int64 array, shape (N,)
    starts, rows : int64 arrays, shapes (N + 1,) and (fill,)
        ``rows[starts[q] : starts[q + 1]]`` are the places above q in column q, ascending.
    row_starts : int64 array, shape (fill,)
        Where each of those row blocks begins within the column.
    parent : int64 array, shape (N,)
        -1 at a root.
    width : int64 array, shape (N,)
        Dimensions of the node at each place, s - 1.
    height : int64 array, shape (N,)
        Number of rows of each column.
    depth : int64 array, shape (N,)
        Total width of the places on the path from the root to q, both included.
    columns : int64 array, shape (N + 1,)
        Start of each column's numbers: `width` scalar columns of `height` numbers each.
    component : int64 array, shape (n,)
        The place of the root of a node's connected component; -1 as in `place`.
    """

    place: np.ndarray
    node_at: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    row_starts: np.ndarray
    parent: np.ndarray
    width: np.ndarray
    height: np.ndarray
    depth: np.ndarray
    columns: np.ndarray
    component: np.ndarray


@njit(cache=True, nogil=True)
def incidence_lists(node_offsets, edge_nodes):
    """List neighbours and edges of every node, without edges at nodes of a single state.

    Returns
    -------
    starts : int64 array, shape (n + 1,)
    neighbours, incident : int64 arrays
        Per node the other ends of its edges, and 2 e + side (side 0: the node is first in e).
    """
    n, m = len(node_offsets) - 1, len(edge_nodes)
    starts = np.zeros(n + 1, dtype=np.int64)
    for e in range(m):
        i, j = edge_nodes[e, 0], edge_nodes[e, 1]
        if _has_dimensions(node_offsets, i) and _has_dimensions(node_offsets, j):
            starts[i + 1] += 1
            starts[j + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    neighbours = np.empty(starts[n], dtype=np.int64)
    incident = np.empty(starts[n], dtype=np.int64)
    filled = starts[:n].copy()
    for e in range(m):
        i, j = edge_nodes[e, 0], edge_nodes[e, 1]
        if _has_dimensions(node_offsets, i) and _has_dimensions(node_offsets, j):
            neighbours[filled[i]], incident[filled[i]] = j, 2 * e
            neighbours[filled[j]], incident[filled[j]] = i, 2 * e + 1
            filled[i] += 1
            filled[j] += 1
    return starts, neighbours, incident


@njit(cache=True, nogil=True, inline="always")
def _has_dimensions(node_offsets, i):
    return node_offsets[i + 1] - node_offsets[i] > 1


@njit(cache=True, nogil=True, inline="always")
def _link(heads, following, preceding, i, degree):
    following[i], preceding[i] = heads[degree], -1
    if heads[degree] >= 0:
        preceding[heads[degree]] = i
    heads[degree] = i


@njit(cache=True, nogil=True, inline="always")
def _unlink(heads, following, preceding, i, degree):
    if preceding[i] >= 0:
        following[preceding[i]] = following[i]
    else:
        heads[degree] = following[i]
    if following[i] >= 0:
        preceding[following[i]] = preceding[i]


@inner_kernel
def _longer(array, length):
    grown = np.empty(length, dtype=array.dtype)
    for k in range(len(array)):
        grown[k] = array[k]
    return grown


@njit(cache=True, nogil=True)
def minimum_degree(node_offsets, starts, neighbours):
    """Order the nodes by repeatedly eliminating one with (about) the smallest degree.

    The degree of a node is the number of dimensions of its neighbours.

    Parameters
    ----------
    node_offsets, starts, neighbours : int64 arrays
        See :func:`incidence_lists`.

    Returns
    -------
    order : int64 array, shape (N,)
        Nodes with at least one neighbour, in the order of elimination.
    begins : int64 array, shape (N + 1,)
    touched : int64 array
        ``touched[begins[k] : begins[k + 1]]`` are the remaining nodes that the elimination of
        ``order[k]`` connects to each other, in no particular order.
    """
    n = len(node_offsets) - 1
    count, remaining = 0, 0
    for i in range(n):
        if starts[i + 1] > starts[i]:
            count += 1
            remaining += node_offsets[i + 1] - node_offsets[i] - 1
    # Remaining neighbours of each node, and the elements it belongs to. Together they fit into the
    # list of neighbours, because an element replaces the entry of the eliminated node.
    nodes, n_nodes = neighbours.copy(), np.zeros(n, dtype=np.int64)
    elements, n_elements = np.empty_like(neighbours), np.zeros(n, dtype=np.int64)
    degree, width = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    heads = np.full(remaining + 1, -1, dtype=np.int64)
    following, preceding = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    for i in range(n):
        width[i] = node_offsets[i + 1] - node_offsets[i] - 1
    for i in range(n - 1, -1, -1):
        n_nodes[i] = starts[i + 1] - starts[i]
        if n_nodes[i] > 0:
            for k in range(starts[i], starts[i + 1]):
                degree[i] += width[neighbours[k]]
            degree[i] = min(degree[i], remaining)
            _link(heads, following, preceding, i, degree[i])
    order = np.empty(count, dtype=np.int64)
    begins = np.zeros(count + 1, dtype=np.int64)
    touched = np.empty(4 * len(neighbours) + 16, dtype=np.int64)
    element = np.full(n, -1, dtype=np.int64)  # step at which the node was eliminated
    mass = np.zeros(n, dtype=np.int64)  # dimensions of an element
    outside = np.zeros(n, dtype=np.int64)  # those of them that the current pivot does not touch
    absorbed = np.zeros(n, dtype=np.bool_)
    mark, compared = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    lowest, size = 0, 0
    for step in range(count):
        while heads[lowest] < 0:
            lowest += 1
        pivot = heads[lowest]
        _unlink(heads, following, preceding, pivot, lowest)
        order[step], element[pivot] = pivot, step
        remaining -= width[pivot]
        if size + count - step > len(touched):
            touched = _longer(touched, 2 * len(touched) + count)
        begin = size
        mark[pivot] = pivot
        for k in range(starts[pivot], starts[pivot] + n_nodes[pivot]):
            i = nodes[k]
            if mark[i] != pivot:
                mark[i] = pivot
                touched[size] = i
                size += 1
        for k in range(starts[pivot], starts[pivot] + n_elements[pivot]):
            old = elements[k]
            absorbed[old] = True
            for at in range(begins[element[old]], begins[element[old] + 1]):
                i = touched[at]
                if mark[i] != pivot:
                    mark[i] = pivot
                    touched[size] = i
                    size += 1
        begins[step + 1] = size
        total = 0
        for at in range(begin, size):
            i = touched[at]
            total += width[i]
            for k in range(starts[i], starts[i] + n_elements[i]):
                old = elements[k]
                if not absorbed[old]:
                    if compared[old] != pivot:
                        compared[old] = pivot
                        outside[old] = mass[old]
                    outside[old] -= width[i]
        mass[pivot] = total
        for at in range(begin, size):
            i = touched[at]
            _unlink(heads, following, preceding, i, degree[i])
            others = total - width[i]
            around, length = others, 0
            for k in range(starts[i], starts[i] + n_elements[i]):
                old = elements[k]
                # An element that is a subset of the new one is dropped.
                if not absorbed[old] and outside[old] > 0:
                    elements[starts[i] + length] = old
                    length += 1
                    around += outside[old]
            elements[starts[i] + length] = pivot
            n_elements[i] = length + 1
            length = 0
            for k in range(starts[i], starts[i] + n_nodes[i]):
                other = nodes[k]
                if mark[other] != pivot:
                    nodes[starts[i] + length] = other
                    length += 1
                    around += width[other]
            n_nodes[i] = length
            degree[i] = min(around, remaining - width[i], degree[i] + others)
            _link(heads, following, preceding, i, degree[i])
            lowest = min(lowest, degree[i])
    return order, begins, touched[:size].copy()


@njit(cache=True, nogil=True)
def lay_out(node_offsets, order, begins, touched):
    """Return the fields of :class:`FactorOrder` for an order and the nodes that it touches."""
    n, count, fill = len(node_offsets) - 1, len(order), len(touched)
    place = np.full(n, -1, dtype=np.int64)
    node_at = np.empty(count, dtype=np.int64)
    for k in range(count):
        node_at[count - 1 - k] = order[k]
        place[order[k]] = count - 1 - k
    # Transposing the lists twice sorts them.
    across = np.zeros(count + 1, dtype=np.int64)
    for at in range(fill):
        across[place[touched[at]] + 1] += 1
    starts = np.zeros(count + 1, dtype=np.int64)
    for q in range(count):
        across[q + 1] += across[q]
        starts[q + 1] = starts[q] + begins[count - q] - begins[count - 1 - q]
    by_row, filled = np.empty(fill, dtype=np.int64), across[:count].copy()
    for k in range(count):
        for at in range(begins[k], begins[k + 1]):
            r = place[touched[at]]
            by_row[filled[r]] = count - 1 - k
            filled[r] += 1
    rows, filled = np.empty(fill, dtype=np.int64), starts[:count].copy()
    for r in range(count):
        for at in range(across[r], across[r + 1]):
            rows[filled[by_row[at]]] = r
            filled[by_row[at]] += 1
    parent = np.full(count, -1, dtype=np.int64)
    width, height = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    depth, columns = np.empty(count, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
    row_starts = np.empty(fill, dtype=np.int64)
    component = np.full(n, -1, dtype=np.int64)
    for q in range(count):
        i = node_at[q]
        width[q] = node_offsets[i + 1] - node_offsets[i] - 1
        total = 0
        for at in range(starts[q], starts[q + 1]):
            row_starts[at] = total
            total += width[rows[at]]
        height[q] = total + width[q]
        columns[q + 1] = columns[q] + width[q] * height[q]
        depth[q], component[i] = width[q], q
        if starts[q + 1] > starts[q]:
            parent[q] = rows[starts[q + 1] - 1]
            depth[q] += depth[parent[q]]
            component[i] = component[node_at[parent[q]]]
    return (
        place,
        node_at,
        starts,
        rows,
        row_starts,
        parent,
        width,
        height,
        depth,
        columns,
        component,
    )
