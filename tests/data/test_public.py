"""Public data sets: reading of the published files, and refusals that name the place."""

from __future__ import annotations

import gzip
import json
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import graftviz as gv
from graftviz import InputError
from graftviz.__main__ import main
from graftviz.data.sets.public import PUBLIC, REGIONS

JOKES, NOT_RATED = 100, 9900  # ratings are in hundredths here


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


def states_by_the_rule(ratings: np.ndarray) -> np.ndarray:
    """Return states 0 … 4 by comparison with each of the bounds −6, −2, 2 and 6."""
    return np.sum([ratings >= 100 * bound for bound in (-6, -2, 2, 6)], axis=0)


def test_every_rating_has_the_state_of_the_rule(tmp_path: Path) -> None:
    ratings = np.resize(np.arange(-1000, 1001), (21, JOKES))
    rows = np.column_stack([np.full(21, 100 * JOKES), ratings])
    states = gv.read_public("jester", write_csv(tmp_path / "j.csv", rows)).table.codes.T
    assert np.array_equal(states, states_by_the_rule(ratings))
    assert np.array_equal(states, np.minimum(np.floor((ratings / 100 + 10) / 4), 4))


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


def test_spreadsheet_and_its_exports_give_same_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = jester_rows(2, users=12)
    wanted = gv.read_public("jester", write_csv(tmp_path / "a.csv", rows)).table
    names = ["count", *(f"joke {j}" for j in range(1, JOKES + 1))]
    german = "\n".join(";".join(f"{x / 100:g}".replace(".", ",") for x in row) for row in rows)
    (tmp_path / "german.csv").write_text(";".join(names) + "\n" + german + "\n\n")
    (tmp_path / "sheet.xls").write_bytes(b"\xd0\xcf\x11\xe0; cells")
    sheets = {
        b"\xd0\xcf\x11\xe0; cells": pd.DataFrame([names, *(rows / 100).tolist()]),
    }
    monkeypatch.setattr(pd, "read_excel", lambda stream, header: sheets[stream.read()])
    zipped(tmp_path / "packed.zip", tmp_path / "sheet.xls")
    for name in ("german.csv", "sheet.xls", "packed.zip"):
        read = gv.read_public("jester", tmp_path / name).table
        assert read.fingerprint == wanted.fingerprint, name


def test_spreadsheets_say_what_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "jester-data-1.xls"
    path.write_bytes(b"no spreadsheet")
    assert "jester-data-1.xls is not a sheet of Jester" in refused("jester", path)
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000))
    for reader in ("xlrd", "python_calamine"):
        monkeypatch.setitem(sys.modules, reader, None)
    message = refused("jester", path)
    assert "install" in message
    assert "Or save the sheet as CSV" in message
    write_csv(path.with_suffix(".csv"), jester_rows(0, users=2))  # is read instead
    assert gv.read_public("jester", tmp_path).table.n_rows == 2


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
    ("change", "reason"),
    [
        *((lambda cells, text=text: cells[3].__setitem__(7, text), "see row 4")
          for text in ("1001", "-10.01", "1.234", "nan", "good", "", "99")),
        (lambda cells: cells[3].__setitem__(0, "99"), "see row 4"),
        (lambda cells: cells[5].pop(), "see row 6"),
        (lambda cells: cells[5].append("1"), "in line 6"),
        (lambda cells: [row.pop() for row in cells], "see row 1"),
        (lambda cells: cells.clear(), "No columns"),
        (lambda cells: cells.__setitem__(slice(None), [["a", "b"]]), "jester"),
    ],
)  # fmt: skip
def test_a_wrong_row_of_ratings_is_named(
    change: Callable[[list[list[str]]], None], reason: str, tmp_path: Path
) -> None:
    cells = [[f"{x / 100:g}" for x in row] for row in jester_rows(6, users=6)]
    change(cells)
    path = tmp_path / "jester.csv"
    path.write_text("\n".join(",".join(row) for row in cells))
    message = refused("jester", path)
    assert message.startswith("jester.csv is not a sheet of Jester")
    assert reason in message


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
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("[", "Expecting value: line 1 column 2 (char 1)"),
        ('[{"id": 1, "ingredients": ["salt"', "Expecting"),
        ("[]", "see row 1"),
        ('{"id": 1}', "train.json is not"),
        ('[{"ingredients": ["a"]}, {"id": 2}]', "missing: ingredients"),
        ('[{"ingredients": ["a"]}, {"ingredients": "b"}]', "see row 2"),
        ('[{"ingredients": ["a"]}, {"ingredients": []}]', "see row 2"),
        ('[{"ingredients": ["a", 3]}]', "see row 1"),
        ('[{"ingredients": ["a"]}, {"ingredients": ["a", " "]}]', "see row 2"),
    ],
)
def test_invalid_recipe_file_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "train.json"
    path.write_text(text)
    message = refused("recipes", path)
    assert message.startswith("train.json is not train.json of What's Cooking")
    assert reason in message


def test_too_large_minimum_of_recipes_is_refused(tmp_path: Path) -> None:
    path = recipes_file(tmp_path / "train.json", [["a", "b"], ["a"]])
    assert "in 150 of the 2 recipes, the most common in 2; use a smaller" in refused(
        "recipes", path
    )


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
    ("text", "row"),
    [
        ("abies,ca\nabelia,ca,zz\n", 2),
        ("abies,ca\nabelia,c", 2),
        ("abies,ca\nabelia\n", 2),
        ("abies,ca,pe,pe\n", 1),
        ("abies,ca,gl,dengl\n", 1),
        ("a\0b", 1),
        (" \n", 1),
    ],
)
def test_invalid_plants_file_is_refused(text: str, row: int, tmp_path: Path) -> None:
    path = tmp_path / "plants.data"
    path.write_text(text)
    message = refused("plants", path)
    assert message.startswith("plants.data is not plants.data of UCI")
    assert f"(see row {row})" in message


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


@pytest.mark.parametrize("place", ["x", "x.ts.data.gz", "x.test.data.gz"])
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
        assert "x " in refused("twenty", stem)
    file.write_bytes(gzip.compress(b"0,1\n0,2\n"))
    assert "train of x is not a table of zeros and ones (see row 2)" in refused("twenty", stem)
    file.unlink()
    assert f"{stem} does not hold rows train, test of one data set" in refused("twenty", stem)


def test_validation_rows_may_join_or_be_missing(tmp_path: Path) -> None:
    parts = twenty_parts(1)
    stem = write_parts(tmp_path, "dna", parts)
    joined = gv.read_public("twenty", stem, join_valid=True)
    assert joined.validation is None
    assert np.array_equal(joined.table.codes.T, np.concatenate([parts["train"], parts["valid"]]))
    (tmp_path / "dna.valid.data").unlink()
    assert gv.read_public("twenty", stem).validation is None
    assert "not hold rows train, test, valid" in refused("twenty", stem, join_valid=True)
    (tmp_path / "dna.test.data").unlink()
    assert "not hold rows train, test of" in refused("twenty", stem)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0,1,1\n1,0\n", "see row 2"),
        ("0,1,1\n1,0,", "see row 2"),
        ("0,1,1\n1,0,2\n", "see row 2"),
        ("0,1,\n", "see row 1"),
        ("0,1,1\n1;0;1\n", "see row 2"),
        ("a,b,c\n0,1,1\n", "see row 1"),
        ("0,1,1\n1,0,1,1\n", "in line 2"),
        ("\n", "No columns"),
        ("0,1\n1,1\n", "not hold rows train, test of one data set"),
    ],
)
def test_values_other_than_zero_and_one_are_refused(text: str, reason: str, tmp_path: Path) -> None:
    stem = write_parts(tmp_path, "x", twenty_parts(2, columns=3))
    (tmp_path / "x.train.data").write_text(text)
    assert reason in refused("twenty", stem)


def test_packed_arrays_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    parts = twenty_parts(5)
    np.savez(path, **parts)
    for place in (path, tmp_path / "x"):
        assert np.array_equal(gv.read_public("twenty", place).table.codes.T, parts["train"])
    np.savez(path, train=parts["train"])
    assert "not hold rows train, test of one data set" in refused("twenty", path)
    np.savez(path, train=parts["train"], test=parts["test"] * 0.5)
    assert "test of x.npz is not a table of zeros and ones" in refused("twenty", path)
    np.savez(path, train=np.array([object()]), test=parts["test"])
    assert "x.npz is not a data set of train, valid and test" in refused("twenty", path)
    path.write_bytes(path.read_bytes()[:100])
    assert "x.npz is not a data set of train, valid and test" in refused("twenty", path)


# --- all of them ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLIC)
def test_missing_path_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("hello")
    for path in (tmp_path / "nothing" / "here", tmp_path):
        assert str(path) in refused(name, path)


@pytest.mark.parametrize("name", ["jester", "recipes", "plants"])
def test_damaged_archives_are_refused(name: str, tmp_path: Path) -> None:
    file = {"jester": "jester-data-1.csv", "recipes": "train.json", "plants": "plants.data"}[name]
    inside = tmp_path / file
    inside.write_bytes(np.random.default_rng(0).bytes(5000))
    packed = zipped(tmp_path / "packed.zip", inside).read_bytes()
    inside.unlink()
    for damage in range(40, 5000, 700):
        (tmp_path / "packed.zip").write_bytes(packed[:damage] + bytes(20) + packed[damage + 20 :])
        assert "packed.zip is not a zip archive" in refused(name, tmp_path / "packed.zip")
    (tmp_path / "packed.zip").write_bytes(packed[:3000])
    assert "packed.zip is not" in refused(name, tmp_path)


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
    assert "gone cannot be read: No such file" in complaint(f"plants:{tmp_path / 'gone'}")
    assert "plants: needs a path; plants:PATH takes plants.data" in complaint("plants:")
    assert f"did you mean plants:{path}?" in complaint(f"plant:{path}")
