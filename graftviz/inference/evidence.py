"""Evidence: observed states of variables, and models conditioned on them.

A model conditioned on evidence has the same variables with the same indices: an observed variable
has its observed state only, and the weights of its edges are added to the node weights of its
neighbours. So no inference method needs special treatment of evidence.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from graftviz.data.labels import bin_edges, is_number, plain_label, text_of
from graftviz.inference.beliefs import Beliefs
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError
from graftviz.utils.wording import nearest

Evidence = (
    Mapping[int, int | str] | Mapping[str, int | str] | Mapping[int | str, int | str] | pd.Series
)  # by index, by name, or both: Mapping is invariant in its key type


class Conditioned(NamedTuple):
    """Model conditioned on evidence.

    Attributes
    ----------
    original : PairwiseMRF
    model : PairwiseMRF
        Model of the same variables; observed ones have one state and no edges. Its log Z is that of
        the original restricted to the joint states that agree with the evidence.
    evidence : dict
        State index by variable index.
    edge_indices : int64 array
        Index in the original of each edge of `model`.
    """

    original: PairwiseModel
    model: PairwiseModel
    evidence: dict[int, int]
    edge_indices: np.ndarray

    def extended(self, beliefs: Beliefs) -> Beliefs:
        """Convert beliefs of the conditioned model to beliefs of the original model."""
        if not self.evidence:
            return beliefs
        nodes = list(beliefs.node)
        for i, state in self.evidence.items():
            states = np.arange(self.original.cardinalities[i])
            nodes[i] = read_only((states == state).astype(np.float64))
        edges: list[np.ndarray | None] = [None] * self.original.n_edges
        for e, pair in zip(self.edge_indices.tolist(), beliefs.edge, strict=True):
            edges[e] = pair
        filled = []
        for e, (i, j) in enumerate(self.original.edges.tolist()):
            belief = edges[e]
            pair = read_only(belief if belief is not None else np.outer(nodes[i], nodes[j]))
            filled.append(pair)
        return dataclasses.replace(
            beliefs, node=tuple(nodes), edge=tuple(filled), evidence=dict(self.evidence)
        )


def checked_evidence(model: PairwiseModel, evidence: Evidence | None) -> dict[int, int]:
    """Return evidence as {variable index: state index}, in ascending order of variables.

    Parameters
    ----------
    evidence : mapping or Series, optional
        Variables by index or name, states by index or label. The state of a variable by name may
        also be a value of its column, as in :meth:`PairwiseMRF.predict`: a number that is a label
        or that lies in a bin; other whole numbers are indices. In a series, such as a row of a
        frame, missing values are variables that are not observed.

    Raises
    ------
    InputError
        For another type, an unknown variable or state, and a variable that is listed both by
        index and by name, with different states.
    """
    observed: dict[int, int] = {}
    for variable, state in _pairs(evidence):
        i = model.index_of(variable)
        value = _value_index(model.labels[i], state) if isinstance(variable, str) else None
        k = _state_index(model, i, state) if value is None else value
        if observed.setdefault(i, k) != k:
            raise InputError(f"The evidence gives {model.names[i]!r} two different states.")
    return dict(sorted(observed.items()))


def _pairs(evidence: Evidence | None) -> Iterable[tuple[Any, Any]]:
    if evidence is None:
        return ()
    if isinstance(evidence, pd.Series):
        return evidence.dropna().items()
    if isinstance(evidence, Mapping):
        return evidence.items()
    raise InputError(
        "Evidence must be a mapping or a Series of states by variable, such as {'rain': 'yes'}, "
        f"not an object of type {type(evidence).__name__}."
    )


def conditioned(model: PairwiseModel, evidence: Mapping[int, int]) -> Conditioned:
    """Return `model` conditioned on checked evidence (see :func:`checked_evidence`)."""
    observed = dict(evidence)
    if not observed:
        return Conditioned(model, model, {}, np.arange(model.n_edges))
    offsets = model.node_offsets
    n_node_weights = int(offsets[-1])
    nodes = model.weights[:n_node_weights].copy()
    is_observed = np.zeros(model.n_variables, dtype=bool)
    is_observed[list(observed)] = True
    starts, neighbours, edges = model.incidence
    for i, state in observed.items():
        for at in range(int(starts[i]), int(starts[i + 1])):
            j, table = int(neighbours[at]), model.edge_weights(int(edges[at]))
            row = table[state] if i < j else table[:, state]
            if not is_observed[j]:
                nodes[offsets[j] : offsets[j + 1]] += row
            elif i < j:  # an edge between two observed variables is a constant, counted once
                nodes[offsets[i] + state] += row[observed[j]]
    state_mask = np.repeat(~is_observed, model.cardinalities)
    for i, state in observed.items():
        state_mask[offsets[i] + state] = True
    edge_mask = ~is_observed[model.edges].any(axis=1)
    weight_mask = np.repeat(edge_mask, np.diff(model.edge_offsets))
    sizes = model.cardinalities.copy()
    sizes[is_observed] = 1
    labels = list(model.labels)
    for i, state in observed.items():
        labels[i] = (model.labels[i][state],)
    rest = PairwiseModel(
        cardinalities=sizes,
        edges=model.edges[edge_mask],
        weights=np.concatenate([nodes[state_mask], model.weights[n_node_weights:][weight_mask]]),
        names=model.names,
        labels=tuple(labels),
    )
    return Conditioned(model, rest, observed, np.flatnonzero(edge_mask))


def _value_index(labels: tuple[str, ...], state: Any) -> int | None:
    """Return the index of the label of a value, or of its bin; None if there is none."""
    if isinstance(state, bool | np.bool_) or not isinstance(
        state, str | int | float | np.integer | np.floating
    ):
        return None
    text = state.strip() if isinstance(state, str) else text_of(float(state))
    if text in labels:
        return labels.index(text)
    plain, edges = plain_label(text), bin_edges(labels)
    if edges is not None and is_number(plain):
        return int(np.searchsorted(edges, float(plain), side="right"))
    return labels.index(plain) if plain in labels else None


def _state_index(model: PairwiseModel, i: int, state: int | str) -> int:
    name, labels = model.names[i], model.labels[i]
    if isinstance(state, str):
        if state not in labels:
            hint = nearest(state, labels, f"it has {', '.join(labels[:8])}.")
            raise InputError(f"Variable {name!r} has no state {state!r}; {hint}")
        return labels.index(state)
    if isinstance(state, bool) or not isinstance(state, (int, np.integer)):
        raise InputError(f"A state is given by its index or its label, not by {state!r}.")
    if not 0 <= state < len(labels):
        raise InputError(
            f"Variable {name!r} has the states 0 … {len(labels) - 1}; {state} is not one."
        )
    return int(state)
