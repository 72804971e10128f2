"""Settings of the Inspect page, and its address.

A learned model is written as on the Grow page (data, learner, options, seed, step), so that a link
of that page opens the same model here. ``model=true`` is the model a sample was drawn from,
``model=<fingerprint>`` an uploaded file. Further keys: ``node``, ``edge=3-7``,
``evidence=2:1,5:0`` (variable:state), ``method``, and ``with``, the model to compare with, written
like the first with semicolons: ``with=learner=chow-liu;seed=3``. What is drawn is chosen by
``picture``, ``filter_by``, ``weight_from``, ``steps=3-20``, ``depth`` and ``colour``; ``query=2,5``
are the variables of the query.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graftviz.app.models import SourceOptions, inner_query, inner_text
from graftviz.app.url import LinkReader, parse_options_of, part, write_options_of
from graftviz.inference.queries import AUTOMATIC, Choice
from graftviz.utils.options import option
from graftviz.utils.wording import quoted

GRAPH, MATRIX = "graph", "matrix"
WEIGHT, INFORMATION = "weight", "information"
DEGREE, COMMUNITY, STATE = "degree", "community", "state"
MOST_TARGETS = 3
MOST_DEPTH = 12
_LONGEST = 2_000
_NUMBER = r"(\d{1,7})"


def _read_selection(link: LinkReader, _: Mapping[str, Any]) -> tuple[int, ...]:
    def read(text: str) -> tuple[int, ...] | None:
        found = re.fullmatch(f"{_NUMBER}-{_NUMBER}", text, re.ASCII)
        ends = sorted({int(end) for end in found.groups()}) if found else []
        return tuple(ends) if len(ends) == 2 else None

    def number(text: str) -> int | None:
        return int(text) if re.fullmatch(_NUMBER, text, re.ASCII) else None

    node = link.take("node", None, number, "A node is given by its number, not by {}; ignored.")
    edge = link.take("edge", None, read, "An edge is written as 3-7, not {}; ignored.")
    if node is not None and edge is not None:
        link.complaints.append("A link selects a node or an edge; the edge is ignored.")
    return (edge or ()) if node is None else (node,)


def _read_steps(link: LinkReader, _: Mapping[str, Any]) -> tuple[int, ...]:
    def read(text: str) -> tuple[int, ...] | None:
        found = re.fullmatch(f"{_NUMBER}-{_NUMBER}", text, re.ASCII)
        return tuple(sorted(int(end) for end in found.groups())) if found else None

    return link.take("steps", (), read, "Steps are written as 3-20, not {}; ignored.")


def _read_evidence(link: LinkReader, _: Mapping[str, Any]) -> dict[int, int]:
    evidence: dict[int, int] = {}
    for text in filter(None, link.left.pop("evidence", "").split(",")):
        found = re.fullmatch(f"{_NUMBER}:{_NUMBER}", text.strip(), re.ASCII)
        if not found:
            link.complaints.append(
                f"Evidence is written as variable:state, both as numbers, not {quoted(text)}; "
                "ignored."
            )
        elif evidence.setdefault(int(found[1]), int(found[2])) != int(found[2]):
            link.complaints.append(
                f"The evidence gives variable {found[1]} two different states; using the first."
            )
    return evidence


def _read_targets(link: LinkReader, _: Mapping[str, Any]) -> tuple[int, ...]:
    def read(text: str) -> tuple[int, ...] | None:
        found = re.fullmatch(rf"{_NUMBER}(?:,\d{{1,7}}){{0,{MOST_TARGETS - 1}}}", text, re.ASCII)
        return tuple(dict.fromkeys(map(int, text.split(",")))) if found else None

    rule = f"A query has at most {MOST_TARGETS} variables, written as 2,5, not {{}}; ignored."
    return link.take("query", (), read, rule)


def _read_second(link: LinkReader, _: Mapping[str, Any]) -> SourceOptions | None:
    text = link.left.pop("with", "").strip()
    if not text:
        return None
    values, complaints = parse_options_of(SourceOptions, inner_query(text))
    link.complaints += [f"Model to compare with: {sentence}" for sentence in complaints]
    return SourceOptions(**values)


def _write_second(source: SourceOptions) -> dict[str, str]:
    query = write_options_of(SourceOptions, vars(source))
    query.setdefault("data", source.data)  # the default alone would give an empty file
    ordered = dict(sorted(query.items(), key=lambda item: item[0] != "model"))
    return {"with": inner_text(ordered)}


@dataclass(frozen=True)
class InspectOptions(SourceOptions):
    """Settings of the page: model, selection and evidence.

    Attributes
    ----------
    selection : tuple of int
        Empty, a node, or both ends of an edge.
    evidence : mapping
        State by variable.
    second : SourceOptions or None
        The model to compare with.
    picture : str
        "graph", or "matrix": the adjacency matrix.
    weight_from : float
        Smallest weight norm, or information, of the drawn edges, relative to the largest one.
    steps : tuple of int
        First and last step in which a drawn edge was activated; empty for all.
    filter_by : str
        "weight", or "information": the mutual information of both ends, for `weight_from`.
    colour : str
        "degree" (with evidence, the change by it), "community" or "state", the most likely one.
    targets : tuple of int
        Variables of the query.
    depth : int
        Number of edges up to which nodes around the selected one are drawn; 0 for all nodes.
    """

    selection: tuple[int, ...] = part(
        (),
        _read_selection,
        lambda ends: {("node", "edge")[len(ends) - 1]: "-".join(map(str, ends))},
    )
    evidence: Mapping[int, int] = part(
        {},
        _read_evidence,
        lambda evidence: {"evidence": ",".join(f"{i}:{k}" for i, k in evidence.items())},
        {"evidence": _LONGEST},
    )
    picture: str = option(
        GRAPH,
        "Graph, or adjacency matrix with the variables ordered by communities",
        label="Show as",
        choices=(GRAPH, MATRIX),
        titles=("Graph", "Matrix"),
    )
    filter_by: str = option(
        WEIGHT,
        "Norm of the weights, or mutual information of both variables",
        label="Filter edges by",
        choices=(WEIGHT, INFORMATION),
    )
    weight_from: float = option(
        0.0,
        "Draw the edges whose weight norm, or information, has at least this share of the largest",
        label="Edges from",
        minimum=0.0,
        maximum=1.0,
    )
    steps: tuple[int, ...] = part(
        (), _read_steps, lambda ends: {"steps": "-".join(map(str, ends))} if ends else {}
    )
    depth: int = option(
        0,
        "Draw the nodes at most this many edges away from the selected node; 0 draws all nodes",
        label="Neighbourhood of the selected node",
        minimum=0,
        maximum=MOST_DEPTH,
    )
    colour: str = option(
        DEGREE,
        "Degree (with evidence: change by it), community, or most likely state",
        label="Colour nodes by",
        choices=(DEGREE, COMMUNITY, STATE),
    )
    targets: tuple[int, ...] = part(
        (),
        _read_targets,
        lambda targets: {"query": ",".join(map(str, targets))} if targets else {},
    )
    method: Choice = option(AUTOMATIC, "Inference method", label="Method")
    second: SourceOptions | None = part(  # noqa: RUF009 (a field)
        None, _read_second, _write_second, {"with": _LONGEST}
    )
