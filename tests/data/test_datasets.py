"""Data sets and what is known about them; files of true edges."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.datasets import load_digits

from docs.making.sample_survey import survey_model
from graftviz import DiscreteTable, InputError, load_dataset
from graftviz.data.sets.dataset import DataSet, noise_level
from graftviz.data.sets.files import read_truth, truth_csv
from graftviz.data.sets.registry import (
    ROOT,
    dataset_title,
    digits_table,
    folder_keys,
    folder_title,
    load_folder,
)
from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.synthetic.graphs import grid_graph, random_graph, scale_free_graph
from graftviz.data.synthetic.potentials import random_model, sample_exact
from graftviz.model.readwrite.uai import read_uai

NAMES = ("age", "b,c", "Ω", "x3")
SAMPLES = ("scale-free-40", "scale-free-60", "survey", "grid-8x8", "random-30", "scale-free-200")
BUILT_IN = ("karate", "les-miserables", "digits-2", "digits-4")


# --- the data sets ----------------------------------------------------------------------------


@pytest.mark.parametrize("key", SAMPLES + BUILT_IN)
def test_every_data_set_is_consistent(key: str) -> None:
    data = load_dataset(key)
    assert isinstance(data, DataSet)
    assert data.key == key
    assert data.title == dataset_title(key) != key
    assert data.description.endswith(".")
    assert 0 <= data.test_fraction < 0.5
    n = data.table.n_variables
    if data.truth is not None:
        assert (data.truth[:, 0] < data.truth[:, 1]).all()
        assert data.truth.max() < n
        assert not data.truth.flags.writeable
    if data.positions is not None:
        assert data.positions.shape == (n, 2)
        assert data.positions.min() >= 0
        assert data.positions.max() <= 10_000
    # The threshold is above the level of noise. Neighbouring pixels depend strongly, so theirs
    # is larger.
    lam, largest = data.suggested["lam"], 20 if key.startswith("digits") else 10
    assert 2 * noise_level(data.table) < lam < largest * noise_level(data.table)


@pytest.mark.parametrize("key", SAMPLES + BUILT_IN)
def test_suggested_threshold_passes_a_sensible_number_of_pairs(key: str) -> None:
    table = load_dataset(key).table
    lam = load_dataset(key).suggested["lam"]
    planes = [
        (codes == k).astype(np.float64)
        for codes, size in zip(table.codes, table.cardinalities, strict=True)
        for k in range(size)
    ]
    centred = np.array(planes) - np.mean(planes, axis=1)[:, None]
    covariance = centred @ centred.T / table.n_rows
    starts = np.concatenate([[0], np.cumsum(table.cardinalities)[:-1]])
    squares = np.add.reduceat(np.add.reduceat(covariance**2, starts, axis=0), starts, axis=1)
    scores = np.sqrt(squares) / np.outer(table.cardinalities, table.cardinalities)
    passing = int((scores[np.triu_indices(table.n_variables, 1)] > lam).sum())
    n = table.n_variables
    assert n - 1 <= passing <= 5 * n


def test_titles_and_keys_load_no_table() -> None:
    program = (
        "import graftviz.data.sets.registry as r\n"
        "titles = [r.dataset_title(key) for key in r.dataset_keys()]\n"
        "import sys; print(r.load_dataset.cache_info().currsize, 'sklearn' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["0", "False"]


def test_unknown_key_is_refused_with_a_hint() -> None:
    with pytest.raises(InputError, match="did you mean karate"):
        load_dataset("karat")
    with pytest.raises(InputError, match="there are scale-free-40, scale-free-60"):
        dataset_title("zzz")


@pytest.mark.parametrize(
    ("levels", "words"), [(2, ("light", "dark")), (4, ("white", "light", "dark", "black"))]
)
def test_digits_match_images_of_scikit_learn(levels: int, words: tuple[str, ...]) -> None:
    table = digits_table(levels)
    pixels = load_digits().data.astype(int)
    for i in range(64):
        assert table.names[i] == f"r{i // 8}c{i % 8}"
        level = np.array([words.index(label) for label in table.labels[i]])[table.codes[i]]
        assert (np.diff(level[np.argsort(pixels[:, i], kind="stable")]) >= 0).all()
        assert set(level.tolist()) == set((pixels[:, i] * levels // 17).tolist())
    assert table.cardinalities.min() == 1  # corners are never dark
    assert table.cardinalities.max() == levels


# --- the files of sample_data -----------------------------------------------------------------


def expected_sample(key: str) -> tuple[DiscreteTable, object]:
    """Generate a sample as described in sample_data/README.md."""
    if key == "survey":
        model = survey_model()
        return sample_exact(model, 2000, seed=1), model
    seed = 8 if key == "scale-free-40" else 1
    graph, states, rows, sigma = {
        "scale-free-40": (scale_free_graph(40, seed, edges=45), 3, 3000, 0.8),
        "scale-free-60": (scale_free_graph(60, 1), 3, 3000, 0.5),
        "scale-free-200": (scale_free_graph(200, 1), 5, 3000, 0.6),
        "grid-8x8": (grid_graph(8, 8), 2, 4000, 0.6),
        "random-30": (random_graph(30, edges=45, seed=1), 4, 2000, 0.6),
    }[key]
    sizes = [states] * graph.n_nodes
    model = random_model(graph.edges, sizes, edge_sigma=sigma, seed=seed, names=graph.names)
    joined = key != "scale-free-200"
    return sample_gibbs(model, rows, seed=seed, join_hubs=joined).table, model


@pytest.mark.parametrize("key", SAMPLES)
def test_sample_data_matches_generator(key: str) -> None:
    table, model = expected_sample(key)
    data = load_dataset(key)
    assert data.table.fingerprint == table.fingerprint
    assert sorted(data.truth.tolist()) == sorted(model.edges.tolist())
    stored = read_uai(ROOT / key / "model.uai")
    assert stored.names == data.table.names
    assert stored.labels == data.table.labels
    np.testing.assert_allclose(
        stored.log_scores(table.codes[:, :50]) - stored.log_scores(table.codes[:, :1]),
        model.log_scores(table.codes[:, :50]) - model.log_scores(table.codes[:, :1]),
        atol=1e-9,
    )


def test_folders_are_data_sets(tmp_path: Path) -> None:
    assert folder_keys(tmp_path / "nowhere") == ()
    for name, about in (("mine", None), ("first", {"rank": 1, "title": "First"})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "table.csv").write_text("a,b\nx,0\ny,1\n", encoding="utf-8")
        if about is not None:
            (tmp_path / name / "about.json").write_text(json.dumps(about), encoding="utf-8")
    (tmp_path / "not-a-data-set").mkdir()
    assert folder_keys(tmp_path) == ("first", "mine")
    assert [folder_title(key, tmp_path) for key in folder_keys(tmp_path)] == ["First", "mine"]
    data = load_folder("mine", tmp_path)
    assert data.table.labels == (("x", "y"), ("0", "1"))
    assert (data.truth, data.positions, data.description) == (None, None, "")
    (tmp_path / "mine" / "about.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(InputError, match=r"about\.json of data set mine"):
        load_folder("mine", tmp_path)


# --- files of true edges ----------------------------------------------------------------------


@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda e: e[0] < e[1])))
def test_truth_is_written_and_read_back(edges: set[tuple[int, int]]) -> None:
    text = truth_csv(np.array(sorted(edges), dtype=np.int64).reshape(-1, 2), NAMES)
    if not edges:
        with pytest.raises(InputError, match="no edges"):
            read_truth(io.StringIO(text), NAMES)
        return
    assert read_truth(io.StringIO(text), NAMES).tolist() == [list(e) for e in sorted(edges)]


@pytest.mark.parametrize(
    "text",
    [
        'source,target\n"b,c",age\nx3,Ω\n',
        'Source,Target,weight_norm,step\n"b,c",age,0.5,1\n\nx3,Ω,0.2,2\n',
        '\ufeff"b,c", age\r\nΩ,x3\r\nx3,Ω\r\nage,"b,c"\r\n',
        "1,0\n2,3\n",
        "source,target\n0,1\n3,2\n",
    ],
)
def test_truth_by_name_or_number(text: str, tmp_path: Path) -> None:
    expected = [[0, 1], [2, 3]]
    path = tmp_path / "truth.csv"
    path.write_bytes(text.encode("utf-8"))
    for source in (path, str(path), io.BytesIO(text.encode("utf-8")), io.StringIO(text)):
        truth = read_truth(source, NAMES)
        assert truth.tolist() == expected
        assert truth.dtype == np.int64
        assert not truth.flags.writeable


def test_numeric_names_take_precedence_over_column_numbers() -> None:
    assert read_truth(io.StringIO("1,3\n"), ("1", "2", "3")).tolist() == [[0, 2]]
    # 0 is not a name, so all numbers of the file are column numbers.
    assert read_truth(io.StringIO("1,2\n0,1\n"), ("1", "2", "3")).tolist() == [[1, 2], [0, 1]]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"source,target\nage,wat\n", "Row 2 .* 'wat', which is not one of the column names"),
        (b"0,1\n1,4\n", r"Row 2 .* '4', which is not a column number 0 … 3"),
        (b"source,target\nage,x3\nx3,x3\n", "Row 3 .* joins 'x3' to itself"),
        (b"source,target\nage\n", "Row 2 .* one column"),
        (b"source,target\n", "no edges"),
        (b"", "no edges"),
        (b"age,x3\n\0,x3\n", "NUL"),
        ("age,Ω\n".encode("utf-16"), "UTF-8"),
        ("age,\xe4\n".encode("latin-1"), "UTF-8"),
        (b'age,"x3\n' + b"y" * 200_000, "not a CSV file"),
    ],
)
def test_bad_truth_is_refused_in_one_sentence(content: bytes, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        read_truth(io.BytesIO(content), NAMES)
    assert "\n" not in str(caught.value)
