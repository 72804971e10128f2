"""Replacements in a local model for the edges that leave its region.

The "drop" cut removes these edges. The "mean-field" cut replaces them by a field on each boundary
variable: the mean of the edge's weights under mean-field marginals of the outside neighbours,
computed by a mean-field run on the region and its rim (the outside neighbours). Every field gives
valid bounds; an accurate one gives small perturbations.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from graftviz.inference.local.conditionals import normalise
from graftviz.inference.local.neighbourhood import FlatModel, Members, members, place_of, table_of
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


def check_cut(cut: str) -> None:
    """Raise an InputError for an unknown cut."""
    if cut not in CUTS:
        raise InputError(f"A cut is one of {', '.join(CUTS)}, not {cut!r}.")


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
