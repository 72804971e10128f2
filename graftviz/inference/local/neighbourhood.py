"""A model as flat arrays for kernels, and the neighbours of a variable inside a region.

A *region* is a small set A of variables around a query. Kernels never traverse the whole graph:
they visit the neighbours of a few variables and test membership in A by bisection. A *slot* is a
position in the list of a variable's neighbours, a *place* a position in the list of the region.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import inner_kernel, kernel


class FlatModel(NamedTuple):
    """Arrays of a model that kernels read; the model caches them."""

    sizes: np.ndarray
    weights: np.ndarray
    node_offsets: np.ndarray
    edge_offsets: np.ndarray
    starts: np.ndarray
    neighbours: np.ndarray
    edges: np.ndarray


class Members(NamedTuple):
    """Set of variables: indices in ascending order, and the place of each in the original list."""

    sorted: np.ndarray
    places: np.ndarray


def flat_model(model: PairwiseModel) -> FlatModel:
    """Return the arrays of `model`."""
    starts, neighbours, edges = model.incidence
    offsets = model.node_offsets.astype(np.int64, copy=False), model.edge_offsets
    return FlatModel(model.cardinalities, model.weights, *offsets, starts, neighbours, edges)


def members(nodes: np.ndarray) -> Members:
    """Return `nodes`, in any order, as a set that kernels can search."""
    order = np.argsort(nodes)
    return Members(nodes[order], order)


def neighbours_of(model: PairwiseModel, i: int) -> np.ndarray:
    """Return the neighbours of variable i, ascending."""
    starts, neighbours, _ = model.incidence
    return neighbours[starts[i] : starts[i + 1]]


@inner_kernel
def place_of(inside, node):
    """Return the place of `node` among the members, or −1."""
    low, high = 0, len(inside.sorted)
    while low < high:
        middle = (low + high) // 2
        if inside.sorted[middle] < node:
            low = middle + 1
        else:
            high = middle
    if low < len(inside.sorted) and inside.sorted[low] == node:
        return inside.places[low]
    return -1


@kernel
def inside_slots(flat, i, inside):
    """Return which neighbours of i are members, as slots of its list, and their places."""
    start, end = flat.starts[i], flat.starts[i + 1]
    slots, places = np.empty(end - start, np.int64), np.empty(end - start, np.int64)
    count = 0
    for slot in range(end - start):
        place = place_of(inside, flat.neighbours[start + slot])
        if place >= 0:
            slots[count], places[count] = slot, place
            count += 1
    return slots[:count], places[:count]


@inner_kernel
def slot_of(flat, i, neighbour):
    """Return the slot of a neighbour in the list of i."""
    low, high = flat.starts[i], flat.starts[i + 1]
    while low < high:
        middle = (low + high) // 2
        if flat.neighbours[middle] < neighbour:
            low = middle + 1
        else:
            high = middle
    return low - flat.starts[i]


@inner_kernel
def table_of(flat, i, slot):
    """Return (start, own, other, states) of the weights between i and its neighbour k at a slot.

    The weight of states (x_i, x_k) is at ``start + x_i * own + x_k * other``, x_k < `states`.
    """
    k = flat.neighbours[flat.starts[i] + slot]
    start = flat.edge_offsets[flat.edges[flat.starts[i] + slot]]
    if i < k:
        return start, flat.sizes[k], 1, flat.sizes[k]
    return start, 1, flat.sizes[i], flat.sizes[k]
