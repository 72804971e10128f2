"""Cora in all its published forms: the same graph from each, and refusals."""

from __future__ import annotations

import os
import pickle
import zipfile
from collections import defaultdict
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from graftviz import InputError
from graftviz.datasets.labelled_graph import LabelledGraph, bounded_degrees
from graftviz.datasets.pickled import unpickled_array
from graftviz.datasets.public_cora import FIELDS, read_cora
from graftviz.sampling import Graph, scale_free_graph

N, TESTED = 30, 9
RNG = np.random.default_rng(4)
GRAPH = scale_free_graph(N, seed=2)
CLASSES = np.concatenate([np.arange(len(FIELDS)), RNG.integers(0, len(FIELDS), N - len(FIELDS))])
PROTOCOLS = (0, 1, 2, 3, 4)


def directed() -> list[tuple[int, int]]:
    """Return every edge in both directions, one of them twice, and a self-citation."""
    pairs = [(int(i), int(j)) for i, j in GRAPH.edges]
    return [*pairs, *((j, i) for i, j in pairs), pairs[0], (3, 3)]


def as_python_2(content: object, protocol: int = 2) -> bytes:
    """Return a pickle with the names of Python 2 and numpy 1 for protocols up to 2."""
    data = pickle.dumps(content, protocol, fix_imports=True)
    if protocol > 2:
        return data
    return data.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def write_planetoid(folder: Path, *, protocol: int = 2, **changed: bytes) -> Path:
    near: dict[int, list[int]] = defaultdict(list)
    for node in range(N):
        near[node] = [j for i, j in directed() if i == node]
    one_hot = np.eye(len(FIELDS), dtype=np.int32)[CLASSES]
    order = N - TESTED + np.random.default_rng(1).permutation(TESTED)
    files = {
        "graph": as_python_2(near, protocol),
        "ally": as_python_2(one_hot[: N - TESTED], protocol),
        "ty": as_python_2(one_hot[order], protocol),
        "test.index": "".join(f"{paper}\n" for paper in order).encode(),
        **changed,
    }
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / f"ind.cora.{name}").write_bytes(content)
    return folder


def write_archive(folder: Path, *, content: str = "", cites: str = "") -> Path:
    words = RNG.integers(0, 2, (N, 5))
    lines = ["\t".join([str(1000 + k), *map(str, words[k]), FIELDS[CLASSES[k]]]) for k in range(N)]
    pairs = [f"{1000 + i}\t{1000 + j}" for i, j in directed()]
    folder.mkdir(exist_ok=True)
    (folder / "cora.content").write_text(content or "\n".join(lines) + "\n")
    (folder / "cora.cites").write_text(cites or "\n".join(pairs) + "\n")
    return folder


def write_tables(folder: Path, *, tag: str = "all", nodes: str = "", edges: str = "") -> Path:
    rows = [f"{k},{CLASSES[k]},{FIELDS[CLASSES[k]]}" for k in range(N)]
    pairs = [f"{i},{j}" for i, j in GRAPH.edges]
    folder.mkdir(exist_ok=True)
    table = "\n".join(["node,class,class_name", *rows])
    (folder / f"nodes_{tag}.csv").write_text(nodes or table)
    (folder / f"edges_{tag}.csv").write_text(edges or "\n".join(["u,v", *pairs]) + "\n")
    return folder


WRITERS = {"planetoid": write_planetoid, "archive": write_archive, "tables": write_tables}


def check(found: LabelledGraph) -> None:
    assert np.array_equal(found.graph.edges, GRAPH.edges)
    assert [found.class_names[k] for k in found.classes] == [FIELDS[k] for k in CLASSES]
    assert f"{N} papers and {GRAPH.n_edges} citations" in found.title


@pytest.mark.parametrize("form", WRITERS)
def test_every_form_gives_the_same_graph(form: str, tmp_path: Path) -> None:
    folder = WRITERS[form](tmp_path / form)
    check(read_cora(folder))
    for file in folder.iterdir():
        check(read_cora(file))
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        for file in folder.iterdir():
            packed.write(file, f"cora/{file.name}")
    check(read_cora(tmp_path / "packed.zip"))
    size = "30 papers were read; the published data have 2,708."
    assert (size in read_cora(folder).warnings) == (form != "tables")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pickles_of_every_protocol_are_read(protocol: int, tmp_path: Path) -> None:
    check(read_cora(write_planetoid(tmp_path / "cora", protocol=protocol)))


def test_file_selects_one_of_two_tables_and_folder_of_two_is_refused(tmp_path: Path) -> None:
    write_tables(tmp_path)
    write_tables(tmp_path, tag="other", nodes="node,class\na,x\nb,y", edges="u,v\na,b\n")
    check(read_cora(tmp_path / "nodes_all.csv"))
    other = read_cora(tmp_path / "edges_other.csv")
    assert (other.graph.names, other.class_names) == (("a", "b"), ("x", "y"))
    with pytest.raises(InputError, match="more than one graph: all, other"):
        read_cora(tmp_path)


# --- pickles that call functions ----------------------------------------------------------------


class Program:
    """Object whose pickle calls an arbitrary function."""

    def __init__(self, call: object, *arguments: object) -> None:
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("part", ["graph", "ally", "ty"])
def test_pickle_that_calls_a_function_is_refused_without_the_call(
    part: str, protocol: int, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    harmful = pickle.dumps([Program(os.mkdir, str(mark))], protocol)
    folder = write_planetoid(tmp_path / "cora", **{part: harmful})
    with pytest.raises(
        InputError, match=rf"ind\.cora\.{part} is not the published pickle of numbers .*mkdir"
    ):
        read_cora(folder)
    assert not mark.exists()
    pickle.loads(harmful)  # the call works without the check
    assert mark.exists()


@pytest.mark.parametrize("call", [eval, getattr, np.load, np.frombuffer, bytearray, Path])
def test_pickle_that_refers_to_other_names_is_refused(call: object) -> None:
    with pytest.raises(InputError, match="it refers to"):
        unpickled_array(pickle.dumps(Program(call, "1"), 2), "it")


def with_state(*state: object) -> bytes:
    """Return a pickle of an array with the given state."""
    data = np.zeros((2, 2)).__reduce__()
    return as_python_2(Reduced(data[0], data[1], state))


class Reduced:
    def __init__(self, *reduced: object) -> None:
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x02",
        b"no pickle at all",
        as_python_2([1, 2]),
        as_python_2(np.array([{}, "a"], dtype=object)),
        as_python_2(np.array(["a", "b"])),
        as_python_2(np.dtype("i4")),
        as_python_2(np.zeros(3))[:-8],
        with_state(1, (2, 2), np.dtype("f8"), False, b"\0" * 31),
        with_state(1, (10**9, 10**9), np.dtype("f8"), False, b"\0" * 32),
        with_state(1, (2, 2), np.dtype("f8"), False, 10**15),
        with_state(1, (2, 2), np.dtype("f8"), False, [0.0] * 4),
        with_state(1, (-4, -1), np.dtype("f8"), False, b"\0" * 32),
        with_state(1, ("a",), np.dtype("f8"), False, b""),
        with_state(1, (2, 2), "f8", False, b"\0" * 32),
        with_state(1, (2, 2)),
    ],
)
def test_pickle_that_is_not_a_numeric_array_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match=r"^it .*\.$"):
        unpickled_array(content, "it")


@given(st.binary(max_size=80))
def test_random_bytes_give_a_numeric_array_or_are_refused(noise: bytes) -> None:
    good = as_python_2(np.arange(6, dtype=np.int32).reshape(2, 3))
    for content in (noise, good[: len(noise)] + noise, noise + good):
        try:
            found = unpickled_array(content, "it")
        except InputError:
            continue
        assert found.dtype in (np.int64, np.float64)


# --- inconsistent files -------------------------------------------------------------------------


EYE = np.eye(len(FIELDS), dtype=np.int32)
BAD_PLANETOID = {
    "no numbers": ({"test.index": b"21\n22\nx\n"}, r"Row 3 of ind\.cora\.test\.index"),
    "long numbers": ({"test.index": b"9" * 5000}, r"Row 1 of ind\.cora\.test\.index"),
    "other papers": ({"test.index": b"1\n2\n"}, "each of the papers 21 … 29 once"),
    "nothing": ({"test.index": b"\n"}, "is empty"),
    "two classes": ({"ty": as_python_2(EYE[[1, 2]] + EYE[[1, 3]])}, r"Row 1 of ind\.cora\.ty"),
    "no class": ({"ally": as_python_2(EYE[[1, 2]] * [[1], [0]])}, r"Row 2 of ind\.cora\.ally"),
    "columns": ({"ally": as_python_2(EYE[:, :3])}, "7 columns, one per field"),
    "short": ({"graph": as_python_2({0: [1], 1: [0]})}, "neighbours of 2 papers"),
    "outside": ({"graph": as_python_2({k: [99] for k in range(N)})}, "names paper 99"),
    "no lists": (
        {"graph": as_python_2(dict.fromkeys(range(N), "a"))},
        "not hold lists of neighbours",
    ),
    "an array": ({"graph": as_python_2(EYE)}, "not hold lists of neighbours"),
}


@pytest.mark.parametrize(("changed", "complaint"), BAD_PLANETOID.values(), ids=BAD_PLANETOID)
def test_inconsistent_planetoid_files_are_refused(changed, complaint, tmp_path: Path) -> None:
    folder = write_planetoid(tmp_path, **changed)
    with pytest.raises(InputError, match=complaint):
        read_cora(folder)


BAD_ARCHIVE = {
    "columns": ({"content": "1\t0\tTheory\n2\tTheory\n"}, r"Row 2 of cora\.content has 2 columns"),
    "one column": ({"content": "1\n2\n"}, r"Row 1 of cora\.content has 1 columns"),
    "twice": ({"content": "1\t0\tA\n1\t1\tB\n"}, r"Row 2 .* repeats the paper '1'"),
    "unknown": ({"cites": "1000\t1001\n1000\t7\n"}, r"Row 2 of cora\.cites names '7'"),
    "three": ({"cites": "1000\t1001\t1002\n"}, r"Row 1 of cora\.cites should name two papers"),
    "binary": ({"content": "a\0b"}, "is not a text file"),
}


@pytest.mark.parametrize(("changed", "complaint"), BAD_ARCHIVE.values(), ids=BAD_ARCHIVE)
def test_inconsistent_archive_files_are_refused(changed, complaint, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=complaint):
        read_cora(write_archive(tmp_path, **changed))


BAD_TABLES = {
    "no class": ({"nodes": "node,field\n1,a\n"}, "needs a column class or class_name"),
    "no node": ({"nodes": "id,class\n1,a\n"}, r"nodes_all\.csv needs a column node; it has id"),
    "no rows": ({"nodes": "node,class\n"}, "a header but no rows"),
    "cells": ({"nodes": "node,class\n1,a\n2\n"}, r"Row 3 of nodes_all\.csv has 1 columns"),
    "twice": ({"nodes": "node,class\n1,a\n1,a\n"}, r"Row 3 .* repeats the node"),
    "unknown": ({"edges": "u,v\n0,1\n0,77\n"}, r"Row 3 of edges_all\.csv names '77'"),
    "no ends": ({"edges": "source,target\n0,1\n"}, "needs a column u"),
}


@pytest.mark.parametrize(("changed", "complaint"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_inconsistent_tables_are_refused(changed, complaint, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=complaint):
        read_cora(write_tables(tmp_path, **changed))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file or folder"):
        read_cora(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is not Cora, which is read from"):
        read_cora(tmp_path)
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(InputError, match=r"notes\.txt is not Cora"):
        read_cora(tmp_path / "notes.txt")
    for form, part in (("planetoid", "ind.cora.ty"), ("archive", "cora.cites")):
        folder = WRITERS[form](tmp_path / form)
        (folder / part).unlink()
        with pytest.raises(InputError, match=f"lacks {part}"):
            read_cora(folder)
    folder = write_tables(tmp_path / "tables")
    (folder / "edges_all.csv").unlink()
    with pytest.raises(InputError, match=r"lacks edges_\*\.csv"):
        read_cora(folder / "nodes_all.csv")


# --- degrees ------------------------------------------------------------------------------------


def labelled(graph: Graph) -> LabelledGraph:
    classes = np.arange(graph.n_nodes) % 3
    return LabelledGraph(graph, classes, ("a", "b", "c"), "some graph")


@pytest.mark.parametrize("bound", [1, 2, 5, 14])
@pytest.mark.parametrize("seed", [0, 1])
def test_deleting_edges_bounds_degrees_and_keeps_one_component(bound: int, seed: int) -> None:
    whole = labelled(scale_free_graph(300, seed=9))
    part = bounded_degrees(whole, bound, seed)
    network = nx.Graph(part.graph.edges.tolist())
    assert max(dict(network.degree).values()) <= bound
    assert nx.is_connected(network)
    assert network.number_of_nodes() == part.graph.n_nodes
    by_name = {name: k for k, name in enumerate(whole.graph.names)}
    nodes = [by_name[name] for name in part.graph.names]
    assert nodes == sorted(nodes)
    assert np.array_equal(part.classes, whole.classes[nodes])
    edges = {(nodes[i], nodes[j]) for i, j in part.graph.edges}
    assert edges < {tuple(edge) for edge in whole.graph.edges.tolist()}
    assert part.fingerprint == bounded_degrees(whole, bound, seed).fingerprint
    assert part.fingerprint != bounded_degrees(whole, bound, seed + 1).fingerprint


def test_spins_of_unknown_class_and_invalid_classes_are_refused() -> None:
    whole = labelled(scale_free_graph(9))
    assert whole.spins("b").tolist() == [-1, 1, -1] * 3
    with pytest.raises(InputError, match="no class 'd'; there are a, b, c"):
        whole.spins("d")
    with pytest.raises(InputError, match="9 nodes need as many classes"):
        LabelledGraph(whole.graph, np.zeros(3), ("a",), "")
    with pytest.raises(InputError, match="not one of the 1"):
        LabelledGraph(whole.graph, np.ones(9), ("a",), "")
    for bound, seed in ((0, 0), (3, -1)):
        with pytest.raises(InputError, match="at least 1"):
            bounded_degrees(whole, bound, seed)
