"""Data sets come with what is known about them; files of true edges are read, or refused."""

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

from graftviz.datasets import (
    DataSet,
    dataset_keys,
    dataset_title,
    load_dataset,
    noise_level,
    positions_from_names,
    read_truth,
    suggest_lam,
    truth_csv,
)
from graftviz.datasets.digits import digits_table
from graftviz.datasets.folders import ROOT, folder_keys, folder_title, load_folder
from graftviz.errors import InputError
from graftviz.formats.uai import read_uai
from graftviz.learners.best_choice import BestChoice
from graftviz.material import default_options, prepare
from graftviz.runs import learn
from graftviz.sampling import (
    grid_graph,
    karate_graph,
    random_graph,
    random_model,
    sample_exact,
    sample_gibbs,
    scale_free_graph,
    survey_model,
)
from graftviz.table import DiscreteTable

NAMES = ("age", "b,c", "Ω", "x3")
SAMPLES = ("scale-free-60", "survey", "grid-8x8", "random-30", "scale-free-200")
BUILT_IN = ("karate", "les-miserables", "digits-2", "digits-4")


# --- the data sets ----------------------------------------------------------------------------


def test_all_are_listed_in_order() -> None:
    assert dataset_keys() == SAMPLES + BUILT_IN


@pytest.mark.parametrize("key", SAMPLES + BUILT_IN)
def test_every_data_set_fits_together(key: str) -> None:
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
    # Threshold between what noise alone reaches in a typical pair and in no pair at all.
    # Neighbouring pixels depend strongly: a larger one keeps their graph readable.
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
        "import graftviz.datasets as d, graftviz.datasets.registry as r\n"
        "titles = [d.dataset_title(key) for key in d.dataset_keys()]\n"
        "import sys; print(r.load_dataset.cache_info().currsize, 'sklearn' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["0", "False"]


def test_unknown_key_is_refused_with_a_hint() -> None:
    with pytest.raises(InputError, match="did you mean karate"):
        load_dataset("karat")
    with pytest.raises(InputError, match="there are scale-free-60, survey"):
        dataset_title("zzz")


def test_network_samples_carry_the_real_structure() -> None:
    data = load_dataset("karate")
    assert data.truth is not None
    assert data.truth.tolist() == karate_graph().edges.tolist()
    assert data.table.names == karate_graph().names


@pytest.mark.parametrize(
    ("levels", "words"), [(2, ("light", "dark")), (4, ("white", "light", "dark", "black"))]
)
def test_digits_are_scikit_learn_s_images(levels: int, words: tuple[str, ...]) -> None:
    table = digits_table(levels)
    pixels = load_digits().data.astype(int)
    for i in range(64):
        assert table.names[i] == f"r{i // 8}c{i % 8}"
        level = np.array([words.index(label) for label in table.labels[i]])[table.codes[i]]
        assert (np.diff(level[np.argsort(pixels[:, i], kind="stable")]) >= 0).all()
        assert set(level.tolist()) == set((pixels[:, i] * levels // 17).tolist())
    assert table.cardinalities.min() == 1  # corners are never dark
    assert table.cardinalities.max() == levels


def test_strongest_pairs_of_digits_are_neighbouring_pixels() -> None:
    data = load_dataset("digits-2")
    assert data.positions is not None
    varying = np.flatnonzero(data.table.cardinalities == 2)
    correlation = np.abs(np.corrcoef(data.table.codes[varying]))
    first, second = np.triu_indices(len(varying), 1)
    best = np.argsort(-correlation[first, second])[:20]
    places = data.positions[varying]
    lengths = np.linalg.norm(places[first[best]] - places[second[best]], axis=1)
    step = np.linalg.norm(data.positions[1] - data.positions[0])
    assert np.median(lengths) < 1.5 * step


@pytest.mark.parametrize("name", ["digits-2", "digits-4"])
def test_the_default_run_on_digits_joins_pixels_that_are_near(name: str) -> None:
    material = prepare(load_dataset(name), 0)
    learner = BestChoice(**default_options(BestChoice, material.suggested))
    result = learn(material.train, learner)
    assert "No remaining pair" in result.stop_reason, "not all edges that the budget allows"
    ends = [np.divmod(result.model.edges[:, end], 8) for end in (0, 1)]
    across, down = (np.abs(ends[0][k] - ends[1][k]) for k in (0, 1))
    assert 64 <= len(across) <= 128
    assert np.mean(np.maximum(across, down) <= 2) > 0.7


def test_positions_from_names() -> None:
    graph = grid_graph(3, 4)
    assert graph.positions is not None
    shuffled = np.random.default_rng(0).permutation(12)
    found = positions_from_names(tuple(graph.names[k] for k in shuffled))
    assert found is not None
    np.testing.assert_allclose(found, graph.positions[shuffled])
    assert positions_from_names(("r0c0", "r0c1", "age")) is None
    assert positions_from_names(("r0c0", "r00c0")) is None


# --- the files of sample_data -----------------------------------------------------------------


def expected_sample(key: str) -> tuple[DiscreteTable, object]:
    """Make a sample anew, as sample_data/README.md says it was made."""
    if key == "survey":
        model = survey_model()
        return sample_exact(model, 2000, seed=1), model
    graph, states, rows, sigma = {
        "scale-free-60": (scale_free_graph(60, 1), 3, 3000, 0.5),
        "scale-free-200": (scale_free_graph(200, 1), 5, 3000, 0.6),
        "grid-8x8": (grid_graph(8, 8), 2, 4000, 0.6),
        "random-30": (random_graph(30, edges=45, seed=1), 4, 2000, 0.6),
    }[key]
    sizes = [states] * graph.n_nodes
    model = random_model(graph.edges, sizes, edge_sigma=sigma, seed=1, names=graph.names)
    return sample_gibbs(model, rows, seed=1).table, model


@pytest.mark.parametrize("key", SAMPLES)
def test_sample_data_is_what_the_generator_writes(key: str) -> None:
    table, model = expected_sample(key)
    data = load_dataset(key)
    assert data.table.fingerprint == table.fingerprint
    assert data.truth is not None
    assert sorted(data.truth.tolist()) == sorted(model.edges.tolist())  # type: ignore[attr-defined]
    stored = read_uai(ROOT / key / "model.uai")
    assert stored.names == data.table.names
    assert stored.labels == data.table.labels
    np.testing.assert_allclose(
        stored.log_scores(table.codes[:, :50]) - stored.log_scores(table.codes[:, :1]),
        model.log_scores(table.codes[:, :50]) - model.log_scores(table.codes[:, :1]),  # type: ignore[attr-defined]
        atol=1e-9,
    )


def test_sample_data_is_small() -> None:
    assert sum(path.stat().st_size for path in ROOT.rglob("*") if path.is_file()) < 3_000_000


def test_own_folders_are_data_sets(tmp_path: Path) -> None:
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


# --- suggestions ------------------------------------------------------------------------------


def test_noise_level_is_the_score_of_independent_variables() -> None:
    rng = np.random.default_rng(3)
    columns = [rng.choice(3, size=1000, p=[0.6, 0.3, 0.1]) for _ in range(40)]
    table = DiscreteTable.from_codes(np.stack([*columns, np.zeros(1000, dtype=int)], axis=1))
    squares = []
    for i in range(40):
        for j in range(i):
            counts = np.zeros((3, 3))
            np.add.at(counts, (table.codes[i], table.codes[j]), 1 / 1000)
            off = counts - np.outer(counts.sum(axis=1), counts.sum(axis=0))
            squares.append(np.sum(off**2) / 81)
    assert abs(np.sqrt(np.mean(squares)) / noise_level(table) - 1) < 0.05
    assert 2 * noise_level(table) < suggest_lam(table) < 4 * noise_level(table)
    assert np.sqrt(np.max(squares)) < suggest_lam(table)


def test_a_table_without_variation_has_a_suggestion_too() -> None:
    constant = DiscreteTable.from_codes(np.zeros((5, 3), dtype=int))
    assert noise_level(constant) == 0
    assert suggest_lam(constant) > 0


# --- files of true edges ----------------------------------------------------------------------


@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda e: e[0] < e[1])))
def test_truth_survives_writing_and_reading(edges: set[tuple[int, int]]) -> None:
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


def test_names_that_are_numbers_win_over_column_numbers() -> None:
    assert read_truth(io.StringIO("1,3\n"), ("1", "2", "3")).tolist() == [[0, 2]]
    # With a 0, which is no name, the whole file must mean column numbers.
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


def test_truth_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        read_truth(tmp_path / "none.csv", NAMES)
    with pytest.raises(InputError, match="cannot be read"):
        read_truth(tmp_path, NAMES)
