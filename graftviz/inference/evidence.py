"""Evidence: variables whose state is known, and the model of the others.

A model conditioned on evidence keeps all its variables under their own indices: an observed one is
left with the single state it has, and what its edges say goes into the weights of its neighbours.
So every method of inference takes evidence without knowing of it.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from graftviz.errors import InputError
from graftviz.inference.beliefs import Beliefs
from graftviz.model import PairwiseMRF

Evidence = (
    Mapping[int, int | str] | Mapping[str, int | str] | Mapping[int | str, int | str]
)  # by index, by name, or both: a mapping is particular about the type of its keys


class Conditioned(NamedTuple):
    """A model given evidence.

    Attributes
    ----------
    original : PairwiseMRF
    model : PairwiseMRF
        Of the same variables; observed ones have one state and no edges. Its log Z is that of the
        original summed over the joint states that agree with the evidence.
    evidence : dict
        State index by variable index.
    kept_edges : int64 array
        Which edges of the original the model has, in its order.
    """

    original: PairwiseMRF
    model: PairwiseMRF
    evidence: dict[int, int]
    kept_edges: np.ndarray

    def extended(self, beliefs: Beliefs) -> Beliefs:
        """Return beliefs about the conditioned model as beliefs about the original one."""
        if not self.evidence:
            return beliefs
        nodes = list(beliefs.node)
        for i, state in self.evidence.items():
            nodes[i] = _point_mass(int(self.original.cardinalities[i]), state)
        edges: list[np.ndarray | None] = [None] * self.original.n_edges
        for e, pair in zip(self.kept_edges.tolist(), beliefs.edge, strict=True):
            edges[e] = pair
        filled = []
        for e, (i, j) in enumerate(self.original.edges.tolist()):
            known = edges[e]
            pair = known if known is not None else np.outer(nodes[i], nodes[j])
            pair.flags.writeable = False
            filled.append(pair)
        return dataclasses.replace(
            beliefs, node=tuple(nodes), edge=tuple(filled), evidence=dict(self.evidence)
        )


def checked_evidence(model: PairwiseMRF, evidence: Evidence | None) -> dict[int, int]:
    """Return evidence as {variable index: state index}, in ascending order of variables.

    Parameters
    ----------
    evidence : mapping, optional
        Variables by index or name, states by index or label.

    Raises
    ------
    InputError
        For a variable or state the model does not have, and for a variable that is given twice,
        by index and by name, with different states.
    """
    observed: dict[int, int] = {}
    for variable, state in (evidence or {}).items():
        i = model.index_of(variable)
        k = _state_index(model, i, state)
        if observed.setdefault(i, k) != k:
            raise InputError(f"The evidence gives {model.names[i]!r} two different states.")
    return dict(sorted(observed.items()))


def conditioned(model: PairwiseMRF, evidence: Mapping[int, int]) -> Conditioned:
    """Return `model` given checked evidence (see :func:`checked_evidence`)."""
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
    is_kept_state = np.repeat(~is_observed, model.cardinalities)
    for i, state in observed.items():
        is_kept_state[offsets[i] + state] = True
    is_kept_edge = ~is_observed[model.edges].any(axis=1)
    is_kept_weight = np.repeat(is_kept_edge, np.diff(model.edge_offsets))
    sizes = model.cardinalities.copy()
    sizes[is_observed] = 1
    labels = list(model.labels)
    for i, state in observed.items():
        labels[i] = (model.labels[i][state],)
    rest = PairwiseMRF(
        cardinalities=sizes,
        edges=model.edges[is_kept_edge],
        weights=np.concatenate(
            [nodes[is_kept_state], model.weights[n_node_weights:][is_kept_weight]]
        ),
        names=model.names,
        labels=tuple(labels),
    )
    return Conditioned(model, rest, observed, np.flatnonzero(is_kept_edge))


def _state_index(model: PairwiseMRF, i: int, state: int | str) -> int:
    name, labels = model.names[i], model.labels[i]
    if isinstance(state, str):
        if state not in labels:
            near = difflib.get_close_matches(state, labels, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(labels[:8])}."
            raise InputError(f"Variable {name!r} has no state {state!r}; {hint}")
        return labels.index(state)
    if isinstance(state, bool) or not isinstance(state, (int, np.integer)):
        raise InputError(f"A state is given by its index or its label, not by {state!r}.")
    if not 0 <= state < len(labels):
        raise InputError(
            f"Variable {name!r} has the states 0 … {len(labels) - 1}; {state} is not one."
        )
    return int(state)


def _point_mass(states: int, state: int) -> np.ndarray:
    belief = np.zeros(states)
    belief[state] = 1.0
    belief.flags.writeable = False
    return belief
