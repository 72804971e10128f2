"""Conversion of models to and from records of nodes and edges, for GraphML and node-link JSON.

A node has ``id`` (its index), ``name``, ``states`` (their number), ``degree``, ``labels`` and
``weights`` (w_i); an edge ``source``, ``target``, ``weight_norm`` (‖w_ij‖₂ in the zero-sum gauge),
``weights`` (w_ij as they are, one row per state of the source) and, if available, the ``step`` of
its activation. The order of edges is preserved and numbers are exact, so that a model is restored
identically.

Graphs written by other programs have no such weights. If every edge has a number ``weight``, the
graph is read as an Ising model: x_i ∈ {−1, +1}; an edge contributes w·x_i·x_j, and a node with a
``field`` contributes h·x_i.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError
from graftviz.utils.wording import quoted

ISING_LABELS = ("-1", "+1")
MOST_STEPS = 2**31
Record = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class ModelFile:
    """Model read from a file, with notes.

    Attributes
    ----------
    model : PairwiseMRF
    notes : tuple of str
        Sentences about assumptions made in reading the file.
    steps : tuple of int, or None
        Step in which each edge was activated, if the file contains it.
    """

    model: PairwiseModel
    notes: tuple[str, ...] = ()
    steps: tuple[int, ...] | None = None


def model_records(
    model: PairwiseModel, steps: Sequence[int] | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the nodes and the edges of a model as records.

    Parameters
    ----------
    model : PairwiseMRF
    steps : sequence of int, optional
        Step in which each edge was activated.
    """
    degrees = model.degrees().tolist()
    nodes = [
        {
            "id": i,
            "name": model.names[i],
            "states": int(model.cardinalities[i]),
            "degree": degrees[i],
            "labels": list(model.labels[i]),
            "weights": model.node_weights(i).tolist(),
        }
        for i in range(model.n_variables)
    ]
    edges = []
    norms = model.edge_norms().tolist()
    for e, (i, j) in enumerate(model.edges.tolist()):
        step = {} if steps is None else {"step": int(steps[e])}
        edges.append(
            {
                "source": i,
                "target": j,
                "weight_norm": norms[e],
                **step,
                "weights": model.edge_weights(e).tolist(),
            }
        )
    return nodes, edges


def model_of_records(title: str, nodes: Sequence[Record], edges: Sequence[Record]) -> ModelFile:
    """Return the model that records describe.

    Parameters
    ----------
    title : str
        Name of the file in messages.
    nodes, edges : sequences of mappings
        Texts and numbers; ``weights`` and ``labels`` as lists or as text.

    Raises
    ------
    InputError
        When a value is missing, inconsistent or not a number; the message names the node or edge.
    """
    if not nodes:
        raise InputError(f"{title} has no nodes.")
    place = _places(title, nodes)
    names = _names(nodes)
    ends = [_ends(title, edge, place, names) for edge in edges]
    _check_unique(title, ends, names)
    if all("weights" in node for node in nodes):
        return ModelFile(_exact(title, nodes, edges, ends, names), steps=_steps(edges))
    return _ising(title, nodes, edges, ends, names)


def _places(title: str, nodes: Sequence[Record]) -> dict[Any, int]:
    place: dict[Any, int] = {}
    for k, node in enumerate(nodes):
        identity = node.get("id")
        if not isinstance(identity, str | int) or isinstance(identity, bool):
            raise InputError(f"In {title}, node number {k + 1} has no id.")
        if identity in place:
            raise InputError(f"In {title}, two nodes have the id {quoted(identity)}.")
        place[identity] = k
    return place


def _names(nodes: Sequence[Record]) -> tuple[str, ...]:
    """Return the names of the nodes: their name or label if all are unique, else their id."""
    for key in ("name", "label"):
        names = tuple(node.get(key) for node in nodes)
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return names  # type: ignore[return-value]
    return tuple(str(node["id"]) for node in nodes)


def _ends(
    title: str, edge: Record, place: Mapping[Any, int], names: Sequence[str]
) -> tuple[int, int]:
    found = []
    for key in ("source", "target"):
        end = edge.get(key)
        if not isinstance(end, str | int) or end not in place:
            raise InputError(
                f"In {title}, an edge has the {key} {quoted(end)}, which is not a node."
            )
        found.append(place[end])
    if found[0] == found[1]:
        raise InputError(f"In {title}, an edge joins {quoted(names[found[0]])} to itself.")
    return found[0], found[1]


def _check_unique(title: str, ends: Iterable[tuple[int, int]], names: Sequence[str]) -> None:
    seen: set[tuple[int, int]] = set()
    for i, j in ends:
        pair = (min(i, j), max(i, j))
        if pair in seen:
            raise InputError(
                f"In {title}, two edges join {quoted(names[i])} and {quoted(names[j])}; "
                "a model has at most one."
            )
        seen.add(pair)


# -------------------------------------------------------------------------- files of graftviz


def _steps(edges: Sequence[Record]) -> tuple[int, ...] | None:
    """Return the steps of the edges; None if one of them has no positive whole number."""
    steps = [as_number(edge.get("step")) for edge in edges]
    if not all(step is not None and step.is_integer() and 1 <= step < MOST_STEPS for step in steps):
        return None
    return tuple(int(step) for step in steps if step is not None)


def _exact(
    title: str,
    nodes: Sequence[Record],
    edges: Sequence[Record],
    ends: Sequence[tuple[int, int]],
    names: tuple[str, ...],
) -> PairwiseModel:
    node_weights = []
    labels = []
    for node, name in zip(nodes, names, strict=True):
        where = f"the weights of {quoted(name)}"
        weights = _numbers(title, node["weights"], where)
        if len(weights) == 0:
            raise InputError(f"In {title}, {where} are empty; a variable has at least one state.")
        node_weights.append(weights)
        labels.append(_labels(title, node, name, len(weights)))
    edge_weights = {}
    for edge, (i, j) in zip(edges, ends, strict=True):
        where = f"the weights of the edge {quoted(names[i])} – {quoted(names[j])}"
        if "weights" not in edge:
            raise InputError(f"In {title}, {where} are missing.")
        weights = _numbers(title, edge["weights"], where)
        shape = (len(node_weights[i]), len(node_weights[j]))
        if len(weights) != shape[0] * shape[1]:
            raise InputError(
                f"In {title}, {where} are {len(weights)} numbers, but its variables have "
                f"{shape[0]} × {shape[1]} states."
            )
        edge_weights[i, j] = weights.reshape(shape)
    return PairwiseModel.from_tables(node_weights, edge_weights, names=names, labels=tuple(labels))


def _labels(title: str, node: Record, name: str, states: int) -> tuple[str, ...]:
    if "labels" not in node:
        return tuple(str(k) for k in range(states))
    value = node["labels"]
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
        raise InputError(f"In {title}, the labels of {quoted(name)} are not a list of texts.")
    if len(value) != states:
        raise InputError(
            f"In {title}, {quoted(name)} has {len(value)} labels but weights for {states} states."
        )
    return tuple(value)


def _numbers(title: str, value: Any, where: str) -> np.ndarray:
    """Return a flat array of the numbers in a list or in a text separated by blanks.

    None means −∞, the weight of a zero potential, which JSON cannot represent.
    """
    items: list[Any] = value.split() if isinstance(value, str) else list(_flat(value))
    numbers = np.empty(len(items))
    for k, item in enumerate(items):
        number = -math.inf if item is None else as_number(item)
        if number is None or math.isnan(number) or number == math.inf:
            raise InputError(f"In {title}, {where} hold {quoted(item)}, which is not a number.")
        numbers[k] = number
    return numbers


def _flat(value: Any) -> Iterable[Any]:
    rows = value if isinstance(value, list) else [value]
    for row in rows:
        yield from row if isinstance(row, list) else [row]


# --------------------------------------------------------------------- graphs of other programs


def _ising(
    title: str,
    nodes: Sequence[Record],
    edges: Sequence[Record],
    ends: Sequence[tuple[int, int]],
    names: tuple[str, ...],
) -> ModelFile:
    if not any("weight" in edge for edge in edges):
        raise InputError(
            f"{title} holds a graph but no model: its nodes and edges have no potentials "
            "(weights), and its edges have no number called weight. The files graph.graphml and "
            "model.uai of this program contain the potentials."
        )
    edge_weights = {}
    for edge, (i, j) in zip(edges, ends, strict=True):
        where = f"the edge {quoted(names[i])} – {quoted(names[j])}"
        if "weight" not in edge:
            raise InputError(f"In {title}, {where} has no weight, but others have one.")
        weight = _finite(title, edge["weight"], f"the weight of {where}")
        edge_weights[i, j] = np.array([[weight, -weight], [-weight, weight]])
    fields = [
        _finite(title, node.get("field", 0.0), f"the field of {quoted(name)}")
        for node, name in zip(nodes, names, strict=True)
    ]
    model = PairwiseModel.from_tables(
        [np.array([-field, field]) for field in fields],
        edge_weights,
        names=names,
        labels=(ISING_LABELS,) * len(names),
    )
    has_fields = any("field" in node for node in nodes)
    fields_clause = " and a node with field h contributes h·xᵢ" if has_fields else ""
    note = (
        f"{title} has one number per edge and no potentials, so it is read as an Ising model: "
        f"every variable is −1 or +1, an edge of weight w contributes w·xᵢ·xⱼ{fields_clause}."
    )
    return ModelFile(model, (note,))


def _finite(title: str, value: Any, where: str) -> float:
    number = as_number(value)
    if number is None or not math.isfinite(number):
        raise InputError(f"In {title}, {where} is {quoted(value)}, which is not a finite number.")
    return number


def as_number(value: Any) -> float | None:
    """Return a number, or the text of a number, as a float; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
