"""The local model of a region, and the marginal of the query in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.local.cuts import Cut, check_cut, field_of, fields_of
from graftviz.inference.local.neighbourhood import flat_model, inside_slots, members, neighbours_of
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError


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
    check_cut(cut)
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
