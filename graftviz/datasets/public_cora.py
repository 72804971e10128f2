"""Cora data set: citation graph of 2,708 papers on machine learning, with their fields.

Supported are the files of Planetoid, those of the Cora archive, and tables of nodes and edges. The
data set is a graph with classes, not a table: it is used for queries on models, not for learning
(paper on localized inference, section 6.2).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graftviz.datasets.labelled_graph import LabelledGraph
from graftviz.datasets.pickled import unpickled_adjacency, unpickled_array
from graftviz.datasets.public_base import other_size
from graftviz.datasets.public_files import FoundFile, decoded, files_inside, is_bare_file
from graftviz.datasets.text import csv_rows
from graftviz.errors import InputError
from graftviz.sampling import Graph

PAPERS, CITATIONS = 2_708, 5_278
# Planetoid numbers the classes; the fields were identified by the sizes of the classes.
FIELDS = (
    *("Theory", "Reinforcement_Learning", "Genetic_Algorithms", "Neural_Networks"),
    *("Probabilistic_Methods", "Case_Based", "Rule_Learning"),
)
_DIGITS = 10  # more digits than the number of any paper
FILES = (
    "ind.cora.graph, .ally, .ty and .test.index of Planetoid, or cora.content and cora.cites of "
    "the Cora archive, or nodes_NAME.csv and edges_NAME.csv: the folder or zip archive that "
    "contains them, or one of the files with the others in the same folder"
)


class _Format(NamedTuple):
    """Published format of Cora: names of its files, and their reader."""

    pattern: str
    parts: tuple[str, ...]
    read: Callable[[Mapping[str, FoundFile]], LabelledGraph]

    def part_of(self, name: str) -> str | None:
        """Return the part that a file with this name holds; None if it is none of them."""
        lowered = name.lower()
        return next((part for part in self.parts if _is_part(lowered, part)), None)


def _is_part(name: str, part: str) -> bool:
    head, star, tail = part.partition("*")
    return name.startswith(head) and name.endswith(tail) if star else name == part


def read_cora(path: str | os.PathLike[str]) -> LabelledGraph:
    """Read Cora in any of the supported formats.

    Citations in both directions and repeated citations count as one edge; self-citations are
    ignored. No edges are deleted; see
    :func:`graftviz.datasets.labelled_graph.bounded_degrees`.

    Parameters
    ----------
    path : path
        See :data:`FILES`.

    Raises
    ------
    InputError
        For files that are missing, truncated, damaged or not those of Cora; the message names file
        and row.
    """
    place = Path(path)
    folder, chosen = (place.parent, place.name) if is_bare_file(place) else (place, "")
    file_format, found = _find_format(folder, chosen, place)
    if "*" in file_format.parts[0]:
        found = _of_one_name(found, file_format.parts, chosen, folder)
    by_part: dict[str, FoundFile] = {}
    for file in found:
        by_part.setdefault(file_format.part_of(file.name) or "", file)
    missing = [part for part in file_format.parts if part not in by_part]
    if missing:
        raise InputError(f"{folder} lacks {', '.join(missing)}; Cora is read from {FILES}.")
    return file_format.read(by_part)


def _find_format(folder: Path, chosen: str, place: Path) -> tuple[_Format, list[FoundFile]]:
    """Return the format of the chosen file, or the first format with files in the folder."""
    for file_format in _FORMATS:
        if not chosen or file_format.part_of(chosen):
            found = files_inside(folder, file_format.pattern)
            if found:
                return file_format, found
    raise InputError(f"{place} is not Cora, which is read from {FILES}.")


def _of_one_name(
    found: list[FoundFile], parts: Sequence[str], chosen: str, folder: Path
) -> list[FoundFile]:
    """Return the pair of tables with the chosen name, or with the only name in the folder."""

    def tag(name: str) -> str:
        return next(
            name.lower()[len(head) : -len(tail)]
            for head, _, tail in (part.partition("*") for part in parts)
            if name.lower().startswith(head)
        )

    names = {tag(file.name) for file in found}
    if chosen:
        names = {tag(chosen)}
    if len(names) > 1:
        raise InputError(
            f"{folder} holds nodes and edges of more than one graph: {', '.join(sorted(names))}; "
            "pass the path of one file of nodes."
        )
    return [file for file in found if tag(file.name) in names]


# --- Planetoid --------------------------------------------------------------------------------


def _planetoid(files: Mapping[str, FoundFile]) -> LabelledGraph:
    """Read pickles with lists of neighbours and one-hot rows of classes."""
    lists = files["ind.cora.graph"]
    near = unpickled_adjacency(lists.load(), lists.title)
    classes = [_classes(files[f"ind.cora.{part}"]) for part in ("ally", "ty")]
    n = sum(len(part) for part in classes)
    tested = _test_index(files["ind.cora.test.index"], len(classes[0]), n)
    if set(near) != set(range(n)):
        raise InputError(
            f"{lists.title} has the neighbours of {len(near):,} papers, but there are classes of "
            f"{n:,}; the files do not belong together."
        )
    of_node = np.concatenate(classes)
    of_node[tested] = classes[1]  # row k of ty is the paper in line k of the index
    edges = [(i, j) for i, others in near.items() for j in others]
    outside = next((j for _, j in edges if not 0 <= j < n), None)
    if outside is not None:
        raise InputError(f"{lists.title} names paper {outside}; there are {n:,} papers.")
    return _with_warnings(_labelled([str(node) for node in range(n)], edges, of_node, FIELDS))


def _classes(file: FoundFile) -> np.ndarray:
    """Return the class of every row of a one-hot array."""
    rows = unpickled_array(file.load(), file.title)
    if rows.ndim != 2 or rows.shape[1] != len(FIELDS) or len(rows) == 0:
        raise InputError(
            f"{file.title} should have one row per paper and {len(FIELDS)} columns, one per field; "
            f"its shape is {rows.shape}."
        )
    if not (np.isin(rows, (0, 1)).all() and (rows.sum(axis=1) == 1).all()):
        bad = int(np.flatnonzero((rows == 1).sum(axis=1) != 1)[:1].sum())
        raise InputError(f"Row {bad + 1} of {file.title} does not have a single 1 for its class.")
    return rows.argmax(axis=1)


def _test_index(file: FoundFile, first: int, n: int) -> np.ndarray:
    """Return the papers of ty in the order of its rows, a permutation of the last papers."""
    lines = decoded(file.load(), file.title).split()
    for row, line in enumerate(lines, start=1):
        if not (line.isascii() and line.isdigit() and len(line) < _DIGITS):
            raise InputError(f"Row {row} of {file.title} is not the number of a paper.")
    papers = np.array([int(line) for line in lines], dtype=np.int64)
    if not np.array_equal(np.sort(papers), np.arange(first, n)):
        raise InputError(
            f"{file.title} should name each of the papers {first} … {n - 1} once; the files do not "
            "belong together."
        )
    return papers


# --- the Cora archive -------------------------------------------------------------------------


def _content_and_cites(files: Mapping[str, FoundFile]) -> LabelledGraph:
    """Read one line per paper (number, words, field) and one line per citation."""
    content, cites = files["cora.content"], files["cora.cites"]
    rows = _rows(content)
    width = len(rows[0][1])
    for row, cells in rows:
        if len(cells) != width or width < 2:
            raise InputError(
                f"Row {row} of {content.title} has {len(cells)} columns and the first row {width}; "
                "every row should hold the number of a paper, its words and its field."
            )
    papers = [(row, cells[0], cells[-1]) for row, cells in rows]
    citations = _rows(cites)
    for row, cells in citations:
        if len(cells) != 2:
            raise InputError(
                f"Row {row} of {cites.title} should name two papers: cited and citing."
            )
    return _with_warnings(_joined(content, papers, cites, citations, "paper"))


def _rows(file: FoundFile) -> list[tuple[int, list[str]]]:
    """Return the non-empty lines, split at white space, with their line numbers."""
    lines = enumerate(decoded(file.load(), file.title).splitlines(), start=1)
    return [(row, line.split()) for row, line in lines if line.strip()]


# --- tables -----------------------------------------------------------------------------------


def _tables(files: Mapping[str, FoundFile]) -> LabelledGraph:
    """Read a table of nodes with their classes, and a table of edges u, v."""
    nodes, edges = files["nodes_*.csv"], files["edges_*.csv"]
    rows = _records(nodes, ("node",))
    naming = "class_name" if "class_name" in rows[0][1] else "class"
    if naming not in rows[0][1]:
        raise InputError(f"{nodes.title} needs a column class or class_name.")
    named = [(row, cells["node"], cells[naming]) for row, cells in rows]
    pairs = [(row, [cells["u"], cells["v"]]) for row, cells in _records(edges, ("u", "v"))]
    return _joined(nodes, named, edges, pairs, "node")


def _records(file: FoundFile, required: tuple[str, ...]) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a table as mappings from column to cell, with their line numbers."""
    header, *lines = csv_rows(file.title, decoded(file.load(), file.title))
    missing = [name for name in required if name not in header]
    if missing:
        raise InputError(f"{file.title} needs a column {missing[0]}; it has {', '.join(header)}.")
    records = []
    for row, cells in enumerate(lines, start=2):
        if not cells:
            continue
        if len(cells) != len(header):
            raise InputError(
                f"Row {row} of {file.title} has {len(cells)} columns and the header {len(header)}."
            )
        records.append((row, dict(zip(header, cells, strict=True))))
    if not records:
        raise InputError(f"{file.title} has a header but no rows.")
    return records


# --- all formats ------------------------------------------------------------------------------


def _joined(
    nodes: FoundFile,
    named: Sequence[tuple[int, str, str]],
    edges: FoundFile,
    pairs: Sequence[tuple[int, Sequence[str]]],
    kind: str,
) -> LabelledGraph:
    """Return the graph of nodes (row, name, class) and of edges (row, names), by file.

    Raises
    ------
    InputError
        When two nodes have the same name, or an edge names an unknown node.
    """
    node: dict[str, int] = {}
    for row, name, _ in named:
        if name in node:
            raise InputError(f"Row {row} of {nodes.title} repeats the {kind} {name!r}.")
        node[name] = len(node)
    for row, ends in pairs:
        for name in ends:
            if name not in node:
                raise InputError(
                    f"Row {row} of {edges.title} names {name!r}, which is not a {kind} of "
                    f"{nodes.title}."
                )
    class_names = tuple(sorted({field for *_, field in named}))
    classes = [class_names.index(field) for *_, field in named]
    joined = [[node[name] for name in ends] for _, ends in pairs]
    return _labelled(list(node), joined, classes, class_names)


def _with_warnings(found: LabelledGraph) -> LabelledGraph:
    """Return the graph with warnings where it differs in size from the published one."""
    warnings = (
        *other_size("papers", found.graph.n_nodes, PAPERS),
        *other_size("citations", found.graph.n_edges, CITATIONS),
    )
    return replace(found, warnings=warnings)


def _labelled(
    names: Sequence[str],
    edges: Iterable[Sequence[int]],
    classes: Sequence[int] | np.ndarray,
    class_names: tuple[str, ...],
) -> LabelledGraph:
    pairs = np.array([(i, j) for i, j in edges if i != j], dtype=np.int64).reshape(-1, 2)
    graph = Graph(tuple(names), pairs)
    return LabelledGraph(
        graph=graph,
        classes=np.array(classes, dtype=np.int64),
        class_names=class_names,
        title=f"Cora, {graph.n_nodes:,} papers and {graph.n_edges:,} citations",
    )


_FORMATS = (
    _Format(
        r"ind\.cora\.(graph|ally|ty|test\.index)",
        ("ind.cora.graph", "ind.cora.ally", "ind.cora.ty", "ind.cora.test.index"),
        _planetoid,
    ),
    _Format(r"cora\.(content|cites)", ("cora.content", "cora.cites"), _content_and_cites),
    _Format(r"(nodes|edges)_.*\.csv", ("nodes_*.csv", "edges_*.csv"), _tables),
)
