"""Data given to an experiment: assignment of paths, reading and truncation."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from graftviz.data.sets.public import read_public
from graftviz.data.table import DiscreteTable
from graftviz.evaluation.benchmarks.bench import Size
from graftviz.reports.reproduction.data import (
    GENERATED,
    SOURCES,
    Data,
    assigned,
    missing_data_sentence,
    most_frequent_columns,
    read_data,
    read_source,
)
from graftviz.utils.errors import InputError

CODES = np.random.default_rng(1).integers(0, 3, (60, 4))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.savez(tmp_path / "one.npz", X=CODES + 1, codes=np.array(["a", "b", "c", "d"]))
    np.savez(tmp_path / "two.npz", train=CODES[:40], valid=CODES[:5], test=CODES[40:])
    np.savetxt(
        tmp_path / "three.csv", CODES, fmt="%d", delimiter=",", header="a,b,c,d", comments=""
    )
    return tmp_path


def test_packed_arrays_and_tables_give_the_same_codes(folder: Path) -> None:
    packed, nothing = read_data(folder / "one.npz")
    assert nothing is None
    assert packed.names == ("a", "b", "c", "d")
    assert np.array_equal(packed.codes, CODES.T)
    train, test = read_data(folder / "two.npz")
    assert test is not None
    assert np.array_equal(np.hstack([train.codes, test.codes]), CODES.T)
    assert train.labels == test.labels
    table, _ = read_data(folder / "three.csv")
    assert np.array_equal(table.codes, CODES.T)


def test_dense_file_of_folder_is_read(folder: Path) -> None:
    assert np.array_equal(read_data(folder)[0].codes, CODES.T)
    np.savez(folder / "z_dense.npz", X=1 - CODES.clip(0, 1))
    assert read_data(folder)[0].cardinalities.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"Y": CODES}, "it should contain the array X"),
        ({"X": CODES[0]}, "are not rows of whole numbers"),
        ({"X": CODES / 2}, "are not rows of whole numbers"),
        ({"X": CODES - 1}, "do not hold states of the same variables"),
        ({"train": CODES, "test": CODES[:, :3]}, "do not hold states of the same variables"),
    ],
)
def test_other_arrays_are_refused(arrays, complaint: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(InputError, match=complaint):
        read_data(tmp_path / "bad.npz")


def test_invalid_array_files_and_empty_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no table"):
        read_data(tmp_path)
    (tmp_path / "broken.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="No table can be read"):
        read_data(tmp_path / "broken.npz")


def test_paths_are_assigned_by_key_name_or_position(tmp_path: Path) -> None:
    paths = {name: tmp_path / name for name in ("first.csv", "second.csv", "jester-1.csv")}
    for path in paths.values():
        path.touch()
    first, second, jester = map(str, paths.values())
    needs = ("jester", "yummly")
    assert assigned([first, second], needs) == {
        "jester": paths["first.csv"],
        "yummly": paths["second.csv"],
    }
    assert assigned([first, jester], needs)["yummly"] == paths["first.csv"]
    assert assigned([f"yummly={first}"], needs) == {"yummly": paths["first.csv"]}
    assert assigned([], needs) == {}


def test_missing_data_sentence_names_source() -> None:
    sentence = missing_data_sentence(["plants"])
    assert SOURCES["plants"].where in sentence
    assert "--data plants=FILE" in sentence
    assert missing_data_sentence([]) == ""


def test_most_frequent_columns_are_selected_in_order() -> None:
    shares = [0.1, 0.9, 0.5, 0.7]
    codes = (np.random.default_rng(2).random((2000, 4)) < shares).astype(int)
    table = DiscreteTable.from_codes(codes, names=["w", "x", "y", "z"])
    selected, nothing = most_frequent_columns(table, None, 2)
    assert nothing is None
    assert selected.names == ("x", "z")
    assert np.array_equal(selected.codes, codes.T[[1, 3]])
    assert most_frequent_columns(table, table, 4) == (table, table)


def test_data_are_truncated_to_requested_size(folder: Path) -> None:
    data = Data({"plants": folder / "three.csv", "jester": folder / "two.npz"})
    size = Size(3, 30, held_out=10, source="plants")
    problem = data.problem(size)
    assert (problem.train.n_variables, problem.train.n_rows, problem.test.n_rows) == (3, 30, 10)
    assert problem.truth is None
    assert data.problem(size) is problem
    assert data.digest("plants") != data.digest("jester")
    assert data.digest("yummly", GENERATED) == []
    other = data.problem(Size(3, 30, held_out=10, source="plants", seed=2))
    assert other.train.fingerprint != problem.train.fingerprint
    # Published test rows are not mixed with training rows.
    apart = data.problem(Size(4, 25, held_out=10, source="jester"))
    assert (apart.train.n_rows, apart.test.n_rows) == (25, 20)
    assert [data.has(name) for name in ("plants", "yummly", GENERATED)] == [True, False, True]


def test_published_files_of_a_data_set_are_read(tmp_path: Path) -> None:
    plants = tmp_path / "plants.data"
    plants.write_text("abies,ca,or\nacer,ny\nalnus,ca,ny,wa\n")
    recipes = tmp_path / "train.json"
    every = ["salt", "water", "rice"]
    rows = [
        {
            "id": k,
            "cuisine": "any",
            "ingredients": [name for j, name in enumerate(every) if (k + 1) % (j + 2)] or every,
        }
        for k in range(400)
    ]
    recipes.write_text(json.dumps(rows))
    for name, path in (("plants", plants), ("yummly", recipes)):
        wanted = read_public(SOURCES[name].reader, path).table
        for source in (path, path.parent):
            table, test = read_source(SOURCES[name], source)
            assert test is None
            assert table.names == wanted.names
            assert np.array_equal(table.codes, wanted.codes)


def test_a_graph_with_classes_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "nodes_all.csv").write_text("node,class\na,x\nb,y\n")
    (tmp_path / "edges_all.csv").write_text("u,v\nb,a\n")
    data = Data({"cora": tmp_path})
    graph = data.read("cora")
    assert list(graph.nodes(data="field")) == [(0, "x"), (1, "y")]
    assert list(graph.edges) == [(0, 1)]
    assert data.read("cora") is graph


def test_parts_of_the_twenty_data_sets_are_tables(folder: Path) -> None:
    part = folder / "plants.train.data"
    np.savetxt(part, CODES.clip(0, 1), fmt="%d", delimiter=",", header="a,b,c,d", comments="")
    table, _ = read_source(SOURCES["plants"], part)
    assert np.array_equal(table.codes, CODES.clip(0, 1).T)


def test_published_splits_are_found_in_a_folder_with_several(tmp_path: Path) -> None:
    bits = CODES.clip(0, 1)
    for k, name in enumerate(("msnbc", "plants")):
        for word, rows in (("ts", bits[k:40]), ("test", bits[40:])):
            text = "".join(",".join(map(str, row)) + "\n" for row in rows.tolist())
            (tmp_path / f"{name}.{word}.data.gz").write_bytes(gzip.compress(text.encode()))
    for k, name in enumerate(("msnbc", "plants")):
        for path in (tmp_path, tmp_path / f"{name}.ts.data.gz"):
            table, test = read_source(SOURCES[name], path)
            assert test is not None
            assert np.array_equal(table.codes, bits[k:40].T)
            assert np.array_equal(test.codes, bits[40:].T)
    with pytest.raises(InputError, match="There is no table"):
        read_source(SOURCES["nltcs"], tmp_path)
