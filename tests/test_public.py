"""Public data sets: reading of the published files, and refusals that name the place."""

from __future__ import annotations

import gzip
import json
import struct
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import graftviz as gv
from graftviz import InputError
from graftviz.__main__ import main
from graftviz.datasets import public_names
from graftviz.datasets.public_jester import JOKES, NOT_RATED, rating_states
from graftviz.datasets.regions import REGIONS


def zipped(archive: Path, *files: Path) -> Path:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in files:
            packed.write(file, f"folder/{file.name}")
            packed.writestr(f"__MACOSX/folder/._{file.name}", b"\0\1")
    return archive


def refused(*arguments: Any, **options: Any) -> str:
    with pytest.raises(InputError) as refusal:
        gv.read_public(*arguments, **options)
    message = str(refusal.value)
    assert message.endswith(".")
    return message


# --- Jester -----------------------------------------------------------------------------------


def jester_rows(seed: int, users: int, rated: float = 1.0) -> np.ndarray:
    """Return counts and ratings in hundredths, as the published sheets have them."""
    rng = np.random.default_rng(seed)
    ratings = rng.integers(-1000, 1001, size=(users, JOKES))
    ratings[rng.random(ratings.shape) >= rated] = NOT_RATED
    return np.column_stack([100 * (ratings != NOT_RATED).sum(axis=1), ratings])


def write_csv(path: Path, rows: np.ndarray) -> Path:
    path.write_text("\n".join(",".join(f"{x / 100:g}" for x in row) for row in rows) + "\n")
    return path


def write_xls(path: Path, rows: Sequence[Sequence[float | str]]) -> Path:
    """Write a sheet in Excel's oldest format, a record per cell."""

    def record(kind: int, content: bytes) -> bytes:
        return struct.pack("<HH", kind, len(content)) + content

    def cell(row: int, column: int, value: float | str) -> bytes:
        place = struct.pack("<HH3x", row, column)
        if isinstance(value, str):
            return record(4, place + bytes([len(value)]) + value.encode("latin-1"))
        return record(3, place + struct.pack("<d", value))

    cells = [cell(r, c, value) for r, row in enumerate(rows) for c, value in enumerate(row)]
    begin, end = record(9, struct.pack("<HH", 2, 16)), record(10, b"")
    path.write_bytes(begin + b"".join(cells) + end)
    return path


def states_by_the_rule(ratings: np.ndarray) -> np.ndarray:
    """Return states 0 … 4 by comparison with each of the bounds −6, −2, 2 and 6."""
    return np.sum([ratings >= 100 * bound for bound in (-6, -2, 2, 6)], axis=0)


def test_every_rating_has_the_state_of_the_rule() -> None:
    ratings = np.arange(-1000, 1001)
    assert np.array_equal(rating_states(ratings), states_by_the_rule(ratings))
    in_floats = np.minimum(np.floor((ratings / 100 + 10) / 4), 4)
    assert np.array_equal(rating_states(ratings), in_floats)


def test_only_users_who_rated_all_jokes_are_read(tmp_path: Path) -> None:
    rows = jester_rows(0, users=60, rated=0.995)
    complete = rows[:, 0] == 100 * JOKES
    assert 5 < complete.sum() < 55
    data = gv.read_public("jester", write_csv(tmp_path / "jester-data-1.csv", rows))
    assert np.array_equal(data.table.codes.T, states_by_the_rule(rows[complete, 1:]))
    assert data.table.names[99] == "joke 100"
    assert set(data.table.labels) == {("1", "2", "3", "4", "5")}
    assert data.table.warnings == ("60 users were read; the published data have 73,421.",)


def test_missing_ratings_may_be_a_separate_state(tmp_path: Path) -> None:
    rows = jester_rows(1, users=40, rated=0.4)
    path = write_csv(tmp_path / "jester.csv", rows)
    table = gv.read_public("jester", path, missing="state").table
    assert table.n_rows == 40
    expected = np.where(rows[:, 1:] == NOT_RATED, 5, states_by_the_rule(rows[:, 1:]))
    assert np.array_equal(table.codes.T, expected)
    assert table.labels[0] == ("1", "2", "3", "4", "5", "not rated")
    assert "None of the 40 users in jester.csv rated all 100 jokes" in refused("jester", path)


def test_spreadsheet_and_its_exports_give_same_table(tmp_path: Path) -> None:
    pytest.importorskip("xlrd")
    rows = jester_rows(2, users=12)
    wanted = gv.read_public("jester", write_csv(tmp_path / "a.csv", rows)).table
    names = ["count", *(f"joke {j}" for j in range(1, JOKES + 1))]
    sheets = {
        "bare.xls": write_xls(tmp_path / "bare.xls", (rows / 100).tolist()),
        "named.xls": write_xls(tmp_path / "named.xls", [names, *(rows / 100).tolist()]),
    }
    german = "\n".join(";".join(f"{x / 100:g}".replace(".", ",") for x in row) for row in rows)
    (tmp_path / "german.csv").write_text(";".join(names) + "\n" + german + "\n\n")
    paths = [*sheets.values(), tmp_path / "german.csv"]
    paths.append(zipped(tmp_path / "packed.zip", sheets["bare.xls"]))
    for path in paths:
        assert gv.read_public("jester", path).table.fingerprint == wanted.fingerprint, path


def test_three_parts_are_joined_in_order(tmp_path: Path) -> None:
    parts = [jester_rows(seed, users=5) for seed in (3, 4, 5)]
    loose = tmp_path / "loose"
    loose.mkdir()
    files = [write_csv(loose / f"jester-data-{k}.csv", part) for k, part in enumerate(parts, 1)]
    wanted = gv.read_public("jester", loose).table
    assert np.array_equal(
        wanted.codes.T, np.concatenate([states_by_the_rule(part[:, 1:]) for part in parts])
    )
    packed = tmp_path / "packed"
    packed.mkdir()
    for k, file in enumerate(files):
        zipped(packed / f"z{9 - k}.zip", file)  # archives in reverse order of names
    assert gv.read_public("jester", packed).table.fingerprint == wanted.fingerprint
    # A part that lies unpacked beside its archive is read once.
    (packed / files[1].name).write_bytes(files[1].read_bytes())
    assert gv.read_public("jester", packed).table.fingerprint == wanted.fingerprint
    together = zipped(tmp_path / "together.zip", *files)
    assert gv.read_public("jester", together).table.fingerprint == wanted.fingerprint


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda cells: cells[3].__setitem__(7, "1001"), "Row 4, column 8 of j.csv holds 1001; a"),
        (lambda cells: cells[3].__setitem__(7, "-10.01"), "Row 4, column 8 of j.csv holds -10.01"),
        (lambda cells: cells[3].__setitem__(7, "1.234"), "Row 4, column 8 of j.csv holds 1.234"),
        (lambda cells: cells[3].__setitem__(7, "nan"), "Row 4, column 8 of j.csv holds nan"),
        (lambda cells: cells[3].__setitem__(7, "good"), "Row 4, column 8 of j.csv holds 'good'"),
        (lambda cells: cells[3].__setitem__(7, ""), "Row 4, column 8 of j.csv holds ''"),
        (lambda cells: cells[3].__setitem__(7, "99"), "100 jokes were rated in row 4 of j.csv"),
        (lambda cells: cells[3].__setitem__(0, "99"), "column 1, 99 jokes"),
        (lambda cells: cells[5].pop(), "Row 6 of j.csv has 100 columns; it should have 101"),
        (lambda cells: cells.clear(), "j.csv is empty"),
        (lambda cells: cells.__setitem__(slice(None), [["a", "b"]]), "j.csv holds no ratings"),
    ],
)
def test_a_wrong_cell_is_named(
    change: Callable[[list[list[str]]], None], sentence: str, tmp_path: Path
) -> None:
    cells = [[f"{x / 100:g}" for x in row] for row in jester_rows(6, users=6)]
    change(cells)
    path = tmp_path / "j.csv"
    path.write_text("\n".join(",".join(row) for row in cells))
    assert sentence in refused("jester", path)


def test_invalid_spreadsheets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "jester-data-1.xls"
    path.write_bytes(b"no spreadsheet")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "xlrd", None)
        assert "pip install xlrd, or save the sheet as CSV" in refused("jester", path)
    pytest.importorskip("xlrd")
    assert "cannot be read as an .xls spreadsheet" in refused("jester", path)
    whole = write_xls(path, (jester_rows(0, users=2) / 100).tolist()).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refused("jester", path)
    write_xls(path, [[100.0, "funny", *[0.0] * 99]])
    assert "Row 1, column 2 of jester-data-1.xls holds 'funny'" in refused("jester", path)


# --- What's Cooking ---------------------------------------------------------------------------


def recipes_file(path: Path, recipes: Sequence[Sequence[str]]) -> Path:
    content = [
        {"id": 10_000 + k, "cuisine": "greek", "ingredients": list(recipe)}
        for k, recipe in enumerate(recipes)
    ]
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def random_recipes(seed: int, count: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    names = [f"i{k} crème" for k in range(30)]
    shares = np.linspace(0.02, 0.6, len(names))
    picked = [np.flatnonzero(rng.random(len(names)) < shares).tolist() for _ in range(count)]
    return [[names[k] for k in [*row, *row[:1]]] or ["water"] for row in picked]  # the first twice


def test_common_ingredients_become_columns(tmp_path: Path) -> None:
    recipes = random_recipes(0, 200)
    path = recipes_file(tmp_path / "train.json", recipes)
    counts = Counter(name for recipe in recipes for name in set(recipe))
    data = gv.read_public("recipes", path, min_recipes=40)
    table = data.table
    assert set(table.names) == {name for name, count in counts.items() if count >= 40}
    assert table.n_rows == 200
    sums = table.codes.sum(axis=1)
    assert sums.tolist() == [counts[name] for name in table.names] == sorted(sums)[::-1]
    for row, recipe in zip(table.codes.T, recipes, strict=True):
        present = {name for name, code in zip(table.names, row, strict=True) if code}
        assert present == set(recipe) & set(table.names)
    assert data.table.warnings == ("200 recipes were read; the published data have 39,774.",)
    few = gv.read_public("recipes", path, min_recipes=40, ingredients=5).table
    assert few.names == table.names[:5]
    assert np.array_equal(few.codes, table.codes[:5])


def test_sample_depends_on_seed(tmp_path: Path) -> None:
    recipes = random_recipes(1, 120)
    path = recipes_file(tmp_path / "train.json", recipes)
    whole = gv.read_public("recipes", path, min_recipes=1, rows=None).table
    first, repeated, other = (
        gv.read_public("recipes", path, min_recipes=1, rows=50, seed=seed).table
        for seed in (0, 0, 1)
    )
    assert first.fingerprint == repeated.fingerprint != other.fingerprint
    assert first.names == other.names == whole.names  # chosen before rows are drawn
    assert first.n_rows == 50
    left = Counter(map(bytes, whole.codes.T))
    assert not Counter(map(bytes, first.codes.T)) - left  # without replacement


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "train.json is empty"),
        ("[", "train.json is not a complete JSON file (Expecting value: line 1 column 2 (char 1))"),
        ('[{"id": 1, "ingredients": ["salt"', "is not a complete JSON"),
        ("[]", "is empty"),
        ('{"id": 1}', "holds other content"),
        ('[{"ingredients": ["a"]}, {"id": 2}]', "Recipe 2 of train.json has no list"),
        ('[{"ingredients": ["a"]}, {"ingredients": "b"}]', "Recipe 2 of train.json has no list"),
        ('[{"ingredients": ["a", 3]}]', "Recipe 1 of train.json has 3 as ingredient 2"),
        ('[{"ingredients": ["a", "b"]}]', "the most common, 'a', in 1; use a smaller"),
    ],
)
def test_invalid_recipe_file_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "train.json"
    path.write_text(text)
    assert sentence in refused("recipes", path)


# --- USDA plants ------------------------------------------------------------------------------


def plants_file(path: Path, plants: Sequence[Sequence[str]], encoding: str = "latin-1") -> Path:
    lines = [",".join([f"Abies × alba {k}", *codes]) for k, codes in enumerate(plants)]
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_every_region_is_a_column_with_position(encoding: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    present = rng.random((50, len(REGIONS))) < 0.3
    present[:, 0] |= ~present.any(axis=1)
    codes = list(REGIONS)
    plants = [[codes[k] for k in np.flatnonzero(row)] for row in present]
    for k, plant in enumerate(plants):
        rng.shuffle(plant)
        if k % 2:
            plants[k] = [{"dengl": "gl"}.get(code, code) for code in plant]
    data = gv.read_public("plants", plants_file(tmp_path / "plants.data", plants, encoding))
    assert data.table.names == tuple(sorted(REGIONS))
    assert data.table.n_variables == 69
    assert np.array_equal(data.table.codes.T, present)
    place = dict(zip(codes, data.positions.tolist(), strict=True))
    assert place["ca"][0] < place["co"][0] < place["me"][0]  # west to east
    assert place["fl"][1] > place["oh"][1] > place["nu"][1]  # y points down


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("abies,ca\nabelia,ca,zz\n", "Row 2, column 3 of plants.data holds 'zz'"),
        ("abies,ca\nabelia,c", "Row 2, column 2 of plants.data holds 'c'"),
        ("abies,ca\nabelia\n", "Row 2 of plants.data names no region"),
        ("abies,ca,pe,pe\n", "Row 1 of plants.data names the region 'pe' twice"),
        (" \n", "plants.data is empty"),
        ("a\0b", "plants.data is not a text file"),
    ],
)
def test_invalid_plants_file_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "plants.data"
    path.write_text(text)
    assert sentence in refused("plants", path)


# --- the twenty data sets ---------------------------------------------------------------------


def twenty_parts(seed: int, columns: int = 7) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = {"train": 30, "valid": 5, "test": 9}
    return {part: rng.integers(0, 2, size=(count, columns)) for part, count in rows.items()}


def write_parts(folder: Path, name: str, parts: dict[str, np.ndarray], end: str = "\n") -> Path:
    for part, rows in parts.items():
        text = end.join(",".join(map(str, row)) for row in rows.tolist()) + end
        (folder / f"{name}.{part}.data").write_bytes(text.encode())
    return folder / name


@given(seed=st.integers(0, 10**6), columns=st.integers(1, 12), end=st.sampled_from(["\n", "\r\n"]))
def test_parts_are_read_as_written(
    seed: int, columns: int, end: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("twenty")
    parts = twenty_parts(seed, columns)
    data = gv.read_public("twenty", write_parts(folder, "nltcs", parts, end))
    assert data.test is not None
    assert data.validation is not None
    read = {"train": data.table, "valid": data.validation, "test": data.test}
    for part, table in read.items():
        assert np.array_equal(table.codes.T, parts[part])
        assert set(table.labels) == {("0", "1")}


def write_gzipped(folder: Path, name: str, parts: dict[str, np.ndarray]) -> Path:
    """Write compressed parts; the training rows are those of NAME.ts.data.gz."""
    stem = write_parts(folder, name, parts)
    for part in parts:
        file = folder / f"{name}.{part}.data"
        word = "ts" if part == "train" else part
        (folder / f"{name}.{word}.data.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    return stem


@pytest.mark.parametrize("place", ["x", "x.ts.data.gz", "x.test.data.gz", ""])
def test_compressed_parts_are_read_from_any_of_their_paths(place: str, tmp_path: Path) -> None:
    parts = twenty_parts(3)
    write_gzipped(tmp_path, "x", parts)
    data = gv.read_public("twenty", tmp_path / place)
    assert data.validation is not None
    assert data.test is not None
    assert np.array_equal(data.table.codes.T, parts["train"])
    assert np.array_equal(data.validation.codes.T, parts["valid"])
    assert np.array_equal(data.test.codes.T, parts["test"])


def test_damaged_compressed_parts_are_refused(tmp_path: Path) -> None:
    stem = write_gzipped(tmp_path, "x", twenty_parts(4))
    file = tmp_path / "x.ts.data.gz"
    whole = file.read_bytes()
    for content in (whole[:30], whole[:-4], b"0,1\n", whole[:20] + bytes(8) + whole[28:]):
        file.write_bytes(content)
        assert "x.ts.data.gz is not a complete gzip file" in refused("twenty", stem)
    file.write_bytes(gzip.compress(b"0,2\n"))
    assert "Row 1, column 2 of x.ts.data.gz is not 0 or 1" in refused("twenty", stem)
    file.unlink()
    assert f"There is no x.train.data in {tmp_path}" in refused("twenty", stem)


def test_validation_rows_may_join_or_be_missing(tmp_path: Path) -> None:
    parts = twenty_parts(1)
    stem = write_parts(tmp_path, "dna", parts)
    joined = gv.read_public("twenty", stem, join_valid=True)
    assert joined.validation is None
    assert np.array_equal(joined.table.codes.T, np.concatenate([parts["train"], parts["valid"]]))
    (tmp_path / "dna.valid.data").unlink()
    assert gv.read_public("twenty", stem).validation is None
    assert "no validation rows to add to dna.train.data" in refused("twenty", stem, join_valid=True)
    (tmp_path / "dna.test.data").unlink()
    assert f"There is no dna.test.data in {tmp_path}" in refused("twenty", stem)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0,1,1\n1,0\n", "Row 2 of x.train.data has 2 columns and row 1 has 3"),
        ("0,1,1\n1,0,", "Row 2 of x.train.data is not a sequence of zeros and ones"),
        ("0,1,1\n1,0,2\n", "Row 2, column 3 of x.train.data is not 0 or 1"),
        ("0,1,\n", "Row 1, column 2 of x.train.data is not 0 or 1"),
        ("0,1,1\n1;0;1\n", "Row 2, column 1 of x.train.data is not 0 or 1"),
        ("a,b,c\n0,1,1\n", "Row 1, column 1 of x.train.data is not 0 or 1"),
        ("\n", "x.train.data is empty"),
        ("0,1\n1,1\n", "x.train.data has 2 columns and x.valid.data has 3"),
    ],
)
def test_values_other_than_zero_and_one_are_refused(
    text: str, sentence: str, tmp_path: Path
) -> None:
    stem = write_parts(tmp_path, "x", twenty_parts(2, columns=3))
    (tmp_path / "x.train.data").write_text(text)
    assert sentence in refused("twenty", stem)


def test_invalid_packed_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    train, test = np.zeros((4, 3), dtype=int), np.ones((2, 3), dtype=int)
    np.savez(path, train=train)
    assert "no array 'test'; it should hold train, valid and test, but holds train" in refused(
        "twenty", path
    )
    np.savez(path, train=train, test=test * 0.5)
    assert "'test' of x.npz should be a matrix of zeros and ones; it has type float64" in refused(
        "twenty", path
    )
    train[2, 1] = 7
    np.savez(path, train=train, test=test)
    assert "Row 3, column 2 of the array 'train' in x.npz holds 7" in refused("twenty", path)
    path.write_bytes(path.read_bytes()[:100])
    assert "x.npz is not a readable file of NumPy arrays" in refused("twenty", path)
    np.savez(path, train=np.array([object()]), test=test)
    assert "x.npz is not a readable file of NumPy arrays" in refused("twenty", path)


# --- all of them ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", public_names())
def test_missing_path_is_refused(name: str, tmp_path: Path) -> None:
    assert "There is no" in refused(name, tmp_path / "nothing" / "here")
    (tmp_path / "readme.txt").write_text("hello")
    message = refused(name, tmp_path)
    assert "holds no" in message or "There is no" in message


@pytest.mark.parametrize("name", ["jester", "recipes", "plants"])
def test_damaged_archives_are_refused(name: str, tmp_path: Path) -> None:
    file = {"jester": "jester-data-1.csv", "recipes": "train.json", "plants": "plants.data"}[name]
    inside = tmp_path / file
    inside.write_bytes(np.random.default_rng(0).bytes(5000))
    packed = zipped(tmp_path / "packed.zip", inside).read_bytes()
    inside.unlink()
    for damage in range(40, 5000, 700):
        (tmp_path / "packed.zip").write_bytes(packed[:damage] + bytes(20) + packed[damage + 20 :])
        assert "cannot be unpacked" in refused(name, tmp_path / "packed.zip")
    (tmp_path / "packed.zip").write_bytes(packed[:3000])
    assert "packed.zip is not a readable zip archive" in refused(name, tmp_path)


def test_archive_with_equal_file_names_is_read_once(tmp_path: Path) -> None:
    file = plants_file(tmp_path / "plants.data", [["ca"]])
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as packed:
        packed.write(file, "a/plants.data")
        packed.write(file, "b/plants.data")
    # Entries of the same name are the same file.
    assert gv.read_public("plants", tmp_path / "two.zip").table.n_rows == 1


# --- from the command line --------------------------------------------------------------------


def test_learn_uses_published_test_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    chain = [np.cumsum(rng.random((rows, 5)) < 0.2, axis=1) % 2 for rows in (300, 20, 60)]
    parts = dict(zip(("train", "valid", "test"), chain, strict=True))
    stem = write_parts(tmp_path, "nltcs", parts)
    for k, (extra, rows) in enumerate(
        [([], 300), (["--read", "join_valid=yes"], 320), (["--test-fraction", "0.1"], 270)]
    ):
        out = tmp_path / f"out{k}"
        assert main(["learn", f"twenty:{stem}", "--out", str(out), *extra]) == 0
        result = json.loads((out / "result.json").read_text())
        assert result["rows"] == rows
        assert result["nlpl_test"] > 0


def test_learn_refuses_options_that_do_not_apply_to_public_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = plants_file(tmp_path / "plants.data", [["ca"], ["ny"]])

    def complaint(*arguments: object) -> str:
        assert main(["learn", *map(str, arguments), "--out", str(tmp_path / "out")]) == 2
        return capsys.readouterr().err

    assert "--missing is for tables" in complaint(f"plants:{path}", "--missing", "state")
    assert "--max-states is for tables" in complaint(f"plants:{path}", "--max-states", 3)
    assert "--read needs OPTION=VALUE, for example names=" in complaint(
        f"plants:{path}", "--read", "names"
    )
    assert "no option 'rows'" in complaint(f"plants:{path}", "--read", "rows=3")
    assert "--read is for public data sets, jester:PATH" in complaint("karate", "--read", "rows=3")
    assert "There is no file or folder" in complaint(f"plants:{tmp_path / 'gone'}")
    assert "plants: needs a path; plants:PATH takes plants.data" in complaint("plants:")
    assert f"did you mean plants:{path}?" in complaint(f"plant:{path}")


def test_ten_parts_are_joined_in_numerical_order(tmp_path: Path) -> None:
    parts = [jester_rows(seed, users=1) for seed in range(10)]
    for k, part in enumerate(parts, 1):
        write_csv(tmp_path / f"part{k}.csv", part)
    codes = gv.read_public("jester", tmp_path).table.codes.T
    assert np.array_equal(codes, states_by_the_rule(np.concatenate(parts)[:, 1:]))
