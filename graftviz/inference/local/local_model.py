"""The local model of a region, and the marginal of the query in it.

The "drop" cut removes the edges that leave the region. The "mean-field" cut replaces them by a
field on each boundary variable: the mean of the edge's weights under mean-field marginals of the
outside neighbours, computed by a mean-field run on the region and its rim (the outside neighbours).
Every field gives valid bounds; an accurate one gives small perturbations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.local.star import (
    FlatModel,
    Members,
    flat_model,
    inside_slots,
    members,
    neighbours_of,
    normalise,
    place_of,
    table_of,
)
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import inner_kernel, kernel
from graftviz.utils.errors import InputError

Cut = Literal["drop", "mean-field"]
CUTS: tuple[Cut, ...] = get_args(Cut)
# Mean-field marginals may put mass on states that a zero potential forbids; fields must be finite.
_LEAST_WEIGHT = -50.0
_SWEEPS, _TOLERANCE = 200, 1e-9


class Fields(NamedTuple):
    """Mean-field marginals of the rim; empty, with all fields zero, when edges are dropped.

    Attributes
    ----------
    rim : Members
    offsets : int64 array
        The marginal of the member at place k is ``marginals[offsets[k] : offsets[k + 1]]``.
    marginals : float64 array
    """

    rim: Members
    offsets: np.ndarray
    marginals: np.ndarray


def fields_of(flat: FlatModel, nodes: np.ndarray, rim: np.ndarray, cut: Cut) -> Fields:
    """Return the fields of the local model of a region.

    Parameters
    ----------
    flat : FlatModel
    nodes : int64 array
        The region, in any order; for equal orders the fields are identical to the last bit.
    rim : int64 array
        The outside neighbours of the region, ascending.
    cut : {"drop", "mean-field"}
    """
    if cut == "drop":
        empty = np.zeros(0, dtype=np.int64)
        return Fields(members(empty), np.zeros(1, dtype=np.int64), np.zeros(0))
    both = np.concatenate([nodes, rim])
    offsets = np.concatenate([[0], np.cumsum(flat.sizes[both])]).astype(np.int64)
    marginals = _mean_field(flat, both, members(both), offsets, _SWEEPS, _TOLERANCE)
    return Fields(members(rim), offsets[len(nodes) :], marginals)


@kernel
def field_of(flat, i, inside, fields):
    """Return the field of variable i of a region; `inside` are slots, ascending.

    An outside neighbour without a mean-field marginal (a neighbour of a candidate that is not in
    the rim) gets the marginal of one update from i alone.
    """
    field = np.zeros(flat.sizes[i])
    if len(fields.rim.sorted) == 0:
        return field
    at = 0
    for slot in range(flat.starts[i + 1] - flat.starts[i]):
        if at < len(inside) and inside[at] == slot:
            at += 1
        else:
            added = field_from(flat, i, slot, fields)
            for a in range(len(field)):
                field[a] += added[a]
    return field


@inner_kernel
def field_from(flat, i, slot, fields):
    """Return the contribution of one outside neighbour to the field of i."""
    field = np.zeros(flat.sizes[i])
    if len(fields.rim.sorted) == 0:
        return field
    at = place_of(fields.rim, flat.neighbours[flat.starts[i] + slot])
    if at >= 0:
        marginal = fields.marginals[fields.offsets[at] : fields.offsets[at + 1]]
    else:
        marginal = _one_update(flat, i, slot, fields)
    start, own, other, others = table_of(flat, i, slot)
    for a in range(len(field)):
        for x in range(others):
            weight = flat.weights[start + a * own + x * other]
            field[a] += marginal[x] * max(weight, _LEAST_WEIGHT)
    return field


@inner_kernel
def _one_update(flat, i, slot, fields):
    k = flat.neighbours[flat.starts[i] + slot]
    logs = flat.weights[flat.node_offsets[k] : flat.node_offsets[k + 1]].copy()
    at = place_of(fields.rim, i)
    if at >= 0:
        marginal = fields.marginals[fields.offsets[at] : fields.offsets[at + 1]]
        start, own, other, others = table_of(flat, i, slot)
        for x in range(others):
            for a in range(len(marginal)):
                weight = flat.weights[start + a * own + x * other]
                logs[x] += marginal[a] * max(weight, _LEAST_WEIGHT)
    return _softmax(logs)


@inner_kernel
def _softmax(logs):
    row = np.empty((1, len(logs)))
    for a in range(len(logs)):
        row[0, a] = logs[a]
    normalise(row, 1)
    return row[0]


@kernel
def _mean_field(flat, nodes, inside, offsets, max_sweeps, tolerance):
    """Run naive mean field on the subgraph of `nodes`, updating one variable after the other."""
    marginals = np.empty(offsets[-1])
    for p in range(len(nodes)):
        own = flat.weights[flat.node_offsets[nodes[p]] : flat.node_offsets[nodes[p] + 1]]
        first = _softmax(own)
        for a in range(len(first)):
            marginals[offsets[p] + a] = first[a]
    for _ in range(max_sweeps):
        largest_change = 0.0
        for p in range(len(nodes)):
            i = nodes[p]
            logs = flat.weights[flat.node_offsets[i] : flat.node_offsets[i + 1]].copy()
            for slot in range(flat.starts[i + 1] - flat.starts[i]):
                at = place_of(inside, flat.neighbours[flat.starts[i] + slot])
                if at < 0:
                    continue
                start, own, other, others = table_of(flat, i, slot)
                for a in range(len(logs)):
                    for x in range(others):
                        weight = flat.weights[start + a * own + x * other]
                        logs[a] += marginals[offsets[at] + x] * max(weight, _LEAST_WEIGHT)
            fresh = _softmax(logs)
            for a in range(len(fresh)):
                change = abs(fresh[a] - marginals[offsets[p] + a])
                largest_change = max(largest_change, change)
                marginals[offsets[p] + a] = fresh[a]
        if largest_change <= tolerance:
            break
    return marginals


def rim_of(model: PairwiseModel, nodes: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the outside neighbours of a region, ascending."""
    inside = {int(i) for i in nodes}
    found = {int(k) for i in inside for k in neighbours_of(model, i)} - inside
    return np.array(sorted(found), dtype=np.int64)


def region_model(
    model: PairwiseModel, nodes: Sequence[int] | np.ndarray, cut: Cut = "drop"
) -> PairwiseModel:
    """Return the local model: the variables of a region, the edges between them, and its fields.

    Its variable k is ``nodes[k]``, with the same name and labels.

    Parameters
    ----------
    model : PairwiseMRF
    nodes : sequence of int
        The region.
    cut : {"drop", "mean-field"}
        Treatment of the edges that leave the region.

    Raises
    ------
    InputError
        For a variable that is not in the model or is repeated, and for an unknown cut.
    """
    if cut not in CUTS:
        raise InputError(f"A cut is one of {', '.join(CUTS)}, not {cut!r}.")
    indices = [model.index_of(int(i)) for i in nodes]
    if len(set(indices)) != len(indices) or not indices:
        raise InputError("A region needs at least one variable, and none twice.")
    region = np.array(indices, dtype=np.int64)
    flat, inside = flat_model(model), members(region)
    fields = fields_of(flat, region, rim_of(model, region), cut)
    starts, neighbours, edges = model.incidence
    node_weights, edge_weights = [], {}
    for at, i in enumerate(indices):
        slots, places = inside_slots(flat, i, inside)
        node_weights.append(model.node_weights(i) + field_of(flat, i, slots, fields))
        for slot, other in zip(slots.tolist(), places.tolist(), strict=True):
            e = int(edges[starts[i] + slot])
            if i < int(neighbours[starts[i] + slot]):
                edge_weights[at, other] = model.edge_weights(e)
    return PairwiseModel.from_tables(
        node_weights,
        edge_weights,
        names=tuple(model.names[i] for i in indices),
        labels=tuple(model.labels[i] for i in indices),
    )


def region_marginal(
    model: PairwiseModel,
    nodes: Sequence[int] | np.ndarray,
    query: int,
    cut: Cut = "drop",
    *,
    max_memory: int | None = None,
) -> np.ndarray:
    """Return the exact marginal of `query` in the local model of a region.

    Raises
    ------
    InputError
        When `query` is not in the region, or exact inference needs more than `max_memory` bytes.
    """
    places = [at for at, i in enumerate(nodes) if int(i) == query]
    if not places:
        raise InputError(f"Variable {query} is not in the region.")
    local = region_model(model, nodes, cut)
    return JunctionTree(local, max_memory=max_memory).node(places[0])
