"""Cora in its published forms: the same graph from each, refusals, and bounded degrees."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from graftviz import InputError
from graftviz.data.synthetic.graphs import Graph, scale_free_graph
from graftviz.reports.reproduction.data import read_cora
from graftviz.reports.reproduction.papers.localized_cora import bounded_degrees

N = 30
RNG = np.random.default_rng(4)
GRAPH = scale_free_graph(N, seed=2)
FIELDS = ("Theory", "Rule_Learning", "Case_Based")
CLASSES = RNG.integers(0, len(FIELDS), N)


def directed() -> list[tuple[int, int]]:
    """Return every edge in both directions, one of them twice, and a self-citation."""
    pairs = [(int(i), int(j)) for i, j in GRAPH.edges]
    return [*pairs, *((j, i) for i, j in pairs), pairs[0], (3, 3)]


def write_archive(folder: Path, *, content: str = "", cites: str = "") -> Path:
    words = RNG.integers(0, 2, (N, 5))
    lines = ["\t".join([str(1000 + k), *map(str, words[k]), FIELDS[CLASSES[k]]]) for k in range(N)]
    pairs = [f"{1000 + i}\t{1000 + j}" for i, j in directed()]
    folder.mkdir(exist_ok=True)
    (folder / "cora.content").write_text(content or "\n".join(lines) + "\n")
    (folder / "cora.cites").write_text(cites or "\n".join(pairs) + "\n")
    return folder


def write_tables(folder: Path, *, tag: str = "all", nodes: str = "", edges: str = "") -> Path:
    rows = [f"{k},{CLASSES[k]},{FIELDS[CLASSES[k]]},1" for k in range(N)]
    pairs = [f"{i},{j}" for i, j in GRAPH.edges]
    folder.mkdir(exist_ok=True)
    table = "\n".join(["node,class,class_name,spin", *rows])
    (folder / f"nodes_{tag}.csv").write_text(nodes or table)
    (folder / f"edges_{tag}.csv").write_text(edges or "\n".join(["u,v", *pairs]) + "\n")
    return folder


WRITERS = {"archive": write_archive, "tables": write_tables}


def edges_of(graph: nx.Graph) -> list[list[int]]:
    return sorted(map(sorted, graph.edges))


@pytest.mark.parametrize("form", WRITERS)
def test_every_form_gives_the_same_graph(form: str, tmp_path: Path) -> None:
    folder = WRITERS[form](tmp_path / form)
    (folder / "README").write_text("no data")
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        for file in folder.iterdir():
            packed.write(file, f"cora/{file.name}")
    for path in (folder, tmp_path / "packed.zip"):
        found = read_cora(path)
        assert edges_of(found) == GRAPH.edges.tolist()
        assert list(found.nodes(data="field")) == [(k, FIELDS[CLASSES[k]]) for k in range(N)]


BAD_ARCHIVE = {
    "twice": {"content": "1\t0\tA\n1\t1\tB\n"},
    "unknown": {"cites": "1000\t1001\n1000\t7\n"},
    "one column": {"cites": "1000\n1001\n"},
    "ragged": {"content": "1\tTheory\n2\t0\t1\tTheory\n"},
    "binary": {"content": "a\0b"},
}
BAD_TABLES = {
    "no node": {"nodes": "id,class\n1,a\n"},
    "no rows": {"nodes": "node,class\n"},
    "twice": {"nodes": "node,class\n1,a\n1,a\n"},
    "unknown": {"edges": "u,v\n0,1\n0,77\n"},
    "no ends": {"edges": "source,target\n0,1\n"},
}


@pytest.mark.parametrize("changed", BAD_ARCHIVE.values(), ids=BAD_ARCHIVE)
def test_inconsistent_archive_files_are_refused(changed: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cora\.cites and cora\.content is not .*\.$"):
        read_cora(write_archive(tmp_path, **changed))


@pytest.mark.parametrize("changed", BAD_TABLES.values(), ids=BAD_TABLES)
def test_inconsistent_tables_are_refused(changed: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"edges_all\.csv and nodes_all\.csv is not .*\.$"):
        read_cora(write_tables(tmp_path, **changed))


def test_row_and_column_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="see row 2"):
        read_cora(write_archive(tmp_path / "a", **BAD_ARCHIVE["unknown"]))
    with pytest.raises(InputError, match="missing: node"):
        read_cora(write_tables(tmp_path / "b", **BAD_TABLES["no node"]))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere cannot be read: No such file"):
        read_cora(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"holds no cora\.cites and cora\.content"):
        read_cora(tmp_path)
    folder = write_archive(tmp_path / "archive")
    (folder / "cora.cites").unlink()
    with pytest.raises(InputError, match=r"cora\.content is not cora\.cites and cora\.content"):
        read_cora(folder)
    write_tables(tmp_path / "tables")
    with pytest.raises(InputError, match="too many values"):
        read_cora(write_tables(tmp_path / "tables", tag="other"))


class Program:
    """Object whose pickle makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_pickles_of_planetoid_are_not_loaded(tmp_path: Path) -> None:
    folder, mark = tmp_path / "planetoid", tmp_path / "mark"
    folder.mkdir()
    for part in ("graph", "ally", "ty", "test.index"):
        (folder / f"ind.cora.{part}").write_bytes(pickle.dumps(Program(mark)))
    for path in (folder, folder / "ind.cora.graph"):
        with pytest.raises(InputError, match=r"cora\.content"):
            read_cora(path)
    assert not mark.exists()


# --- degrees ------------------------------------------------------------------------------------


def with_fields(graph: Graph) -> nx.Graph:
    found = nx.Graph()
    found.add_nodes_from((node, {"field": node}) for node in range(graph.n_nodes))
    found.add_edges_from(graph.edges.tolist())
    return found


@pytest.mark.parametrize("bound", [1, 2, 5, 14])
@pytest.mark.parametrize("seed", [0, 1])
def test_deleting_edges_bounds_degrees_and_keeps_one_component(bound: int, seed: int) -> None:
    whole = with_fields(scale_free_graph(300, seed=9))
    before = edges_of(whole)
    part = bounded_degrees(whole, bound, seed)
    assert edges_of(whole) == before
    assert max(dict(part.degree).values()) <= bound
    assert nx.is_connected(part)
    assert list(part) == list(range(len(part)))
    nodes = [part.nodes[node]["field"] for node in part]
    assert nodes == sorted(nodes)
    assert {(nodes[i], nodes[j]) for i, j in edges_of(part)} < set(map(tuple, before))
    assert edges_of(part) == edges_of(bounded_degrees(whole, bound, seed))
    other = bounded_degrees(whole, bound, seed + 1)
    assert bound == 1 or edges_of(part) != edges_of(other)


def test_connected_graph_within_the_bound_is_unchanged() -> None:
    graph = with_fields(GRAPH)
    largest = max(dict(graph.degree).values())
    same = bounded_degrees(graph, largest)
    assert edges_of(same) == edges_of(graph)
