"""Reading stays within limits of memory and time."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hostile_files import parquet_of
from hostile_tables import COLUMNS, repeated
from pyarrow import csv as arrow_csv, parquet
from table_cases import refusal, upload

from graftviz import DiscreteTable, InputError, read_table
from graftviz.data.coding import TableOptions, code_table
from graftviz.data.reading import delimited, files, raw
from graftviz.data.reading.raw import from_frame
from graftviz.data.series.reading import read_series
from graftviz.data.sets.files import reading
from graftviz.utils.wording import quoted


def read_as_frame(content: bytes, **options: Any) -> DiscreteTable:
    """Return the table of a parquet file read with a Python object per cell."""
    frame = parquet.read_table(io.BytesIO(content)).to_pandas(ignore_metadata=True)
    return code_table(from_frame(frame, "t.parquet"), TableOptions(missing="state", **options))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", COLUMNS)
def test_labels_equal_those_of_python_objects(
    monkeypatch: pytest.MonkeyPatch, kind: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = pa.array(rng.integers(0, len(COLUMNS[kind]), 40))
    other = pa.array(rng.integers(0, 3, 40))
    column = COLUMNS[kind].take(rows)
    content = parquet_of(pa.table({"a": column, "b": other}), row_group_size=17)
    expected = read_as_frame(content)
    monkeypatch.setattr(files, "_BLOCK_BYTES", [2**26, 400, 1][seed])
    monkeypatch.setattr(raw, "_SLICE", [40, 7, 1][seed])
    table = read_table(upload("t.parquet", content), missing="state")
    assert table.labels == expected.labels
    assert table.fingerprint == expected.fingerprint


@pytest.mark.parametrize("kind", ["int64", "double", "text of numbers"])
def test_many_numbers_have_same_bins_from_text_and_parquet(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    numbers = np.random.default_rng(1).integers(-500, 500, 3000)
    column = pa.array(numbers / (1 if kind == "int64" else 8))
    if kind == "text of numbers":
        column = pa.array([f" {text}" for text in column.to_pylist()])
    content = parquet_of(pa.table({"a": column, "b": column}))
    expected = read_as_frame(content, continuous="bin")
    monkeypatch.setattr(raw, "_MANY", 10)  # texts are parsed without an object each
    monkeypatch.setattr(raw, "_SLICE", 100)
    table = read_table(upload("t.parquet", content), continuous="bin")
    assert table.fingerprint == expected.fingerprint


@pytest.mark.parametrize(
    "texts",
    [
        ["1", "01", "2"],
        ["1", "-0.5", "1e3", "NA", ""],
        ["inf", "2", "3"],
        ["9007199254740993", "9007199254740992", "1"],
        ["+1", "2", "1.0"],
        ["nan", "NAN", "1"],
        ["1", "x", "3"],
        [".5", "5.", "1"],
        ["1", "0x10", "1_0"],
    ],
)
def test_texts_parsed_at_once_have_same_labels_as_parsed_singly(
    monkeypatch: pytest.MonkeyPatch, texts: list[str]
) -> None:
    content = ("a,b\n" + "".join(f"{text},{k % 2}\n" for k, text in enumerate(texts))).encode()

    def outcome() -> object:
        try:
            table = read_table(upload("t.csv", content), missing="state")
        except InputError as error:
            return str(error)
        return table.labels, table.codes.tolist()

    expected = outcome()
    monkeypatch.setattr(raw, "_MANY", 1)
    assert outcome() == expected


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_text_in_pieces_equals_whole_text(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    lines = ["a,b", *(f"{k % 5},{'xyz'[k * k % 3]}" for k in range(200))]
    content = end.join([*lines, ""]).encode()
    wrong = end.join([*lines, "1", "2,x"]).encode()
    missing = end.join([*lines, ",x", "2,x"]).encode()
    whole = read_table(upload("t.csv", content))
    for size in (16, 50, 333):
        monkeypatch.setattr(delimited, "_BLOCK", size)
        assert read_table(upload("t.csv", content)).fingerprint == whole.fingerprint
        assert "line 202 has 1 field" in refusal(upload("t.csv", wrong))
        assert "line 202, column 'a'" in refusal(upload("t.csv", missing))


def test_quotation_mark_inside_field_does_not_change_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = b'a,b\n5"x,"p\nq"\n6"y,"r\ns"\n' * 1 + b'5"x,"p\nq"\n' * 20
    whole = read_table(upload("t.csv", content))
    monkeypatch.setattr(delimited, "_BLOCK", 16)
    assert read_table(upload("t.csv", content)).fingerprint == whole.fingerprint


def test_record_longer_than_a_block_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_BLOCK", 2**20)
    content = b"a,b\n" + b"x,1\ny,2\n" * 20 + b'"' + b"z\n" * 2**20 + b'",1\n'
    sentence = refusal(upload("t.csv", content))
    assert "a record of more than 1 MB" in sentence
    assert "quotation mark" in sentence


def test_the_number_of_different_values_is_limited_by_max_bytes() -> None:
    dates = pa.array(np.arange(200_000).astype("datetime64[D]"))
    content = parquet_of(pa.table({"when": dates, "b": repeated(pa.array([0, 1]), 200_000)}))
    sentence = refusal(upload("t.parquet", content), max_bytes=4_000_000)
    assert "would take more than 34 MB of memory (column 'when' has" in sentence
    assert "use fewer rows or columns" in sentence


@pytest.mark.parametrize("columns", [2, 40])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_too_many_values_of_series_are_refused_before_they_are_read(
    monkeypatch: pytest.MonkeyPatch, suffix: str, columns: int
) -> None:
    rows = reading._SMALL * 11 // 10 // max(1, columns - 2)
    frame = pa.table({f"x{i}": repeated(pa.array([0, 1]), rows) for i in range(columns)})
    text = io.BytesIO()
    arrow_csv.write_csv(frame, text)
    content = parquet_of(frame) if suffix == "parquet" else text.getvalue()
    monkeypatch.setattr(files, "read_delimited", None)
    monkeypatch.setattr(files, "_read_block", None)
    with pytest.raises(InputError, match="more than the maximum of"):
        read_series(upload(f"t.{suffix}", content), max_bytes=10_000_000)


def test_fewer_rows_than_claimed_are_refused() -> None:
    content = parquet_of(pa.table({"a": [1, 2, 1], "b": ["x", "y", "x"]}))
    file = parquet.ParquetFile(io.BytesIO(content))
    claimed = SimpleNamespace(reader=file.reader, metadata=SimpleNamespace(num_rows=4))
    with pytest.raises(InputError, match="holds 3 rows instead of 4"):
        files._read_block("t.parquet", claimed, [0])


LONG_TEXT = "n" * 10_000


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_names_that_cannot_be_written_to_files_are_refused(name: str) -> None:
    names = pd.Index([name, "b"], dtype=object)
    frame = pd.DataFrame([[0, 1], [1, 0]], columns=names)
    sentence = refusal(frame)
    assert "the name of column 1" in sentence
    assert sentence.isprintable()
    with pytest.raises(InputError, match="the name of column 1"):
        read_series(frame)


@pytest.mark.parametrize(
    ("frame", "options"),
    [
        ({LONG_TEXT: [0, None], "b": [0, 1]}, {}),
        ({LONG_TEXT: range(50), "b": [0, 1] * 25}, {}),
        ({LONG_TEXT: [0, np.inf], "b": [0, 1]}, {}),
        ({LONG_TEXT: [0, 1]}, {}),
        ({"a": [0, 1], "b": [0, 1]}, {"missing": LONG_TEXT}),
        ({"a": [LONG_TEXT, "y"], "b": [0, 1]}, {"like": "other"}),
        ({LONG_TEXT: ["x", "y"], "b": [0, 1]}, {"like": "other"}),
        ({LONG_TEXT: [f"k{k}" for k in range(50)], "b": [0, 1] * 25}, {}),
    ],
)
def test_long_names_and_values_are_shortened(
    frame: dict[str, Any], options: dict[str, Any]
) -> None:
    if "like" in options:
        options = {"like": read_table(pd.DataFrame({"a": ["x", "y"], "b": [0, 1]}))}
    sentence = refusal(pd.DataFrame(frame), **options)
    assert len(sentence) < 500
    assert "n" * 90 not in sentence


@pytest.mark.parametrize(
    "text",
    [
        f"time,{LONG_TEXT}\n0,1\n1,\n2,3\n",
        f"time,{LONG_TEXT}\n0,1\n1,1\n",
        f"time,{LONG_TEXT}\n0,x\n1,1\n",
        f"time,a\n{LONG_TEXT},1\n1,2\n",
        f"time,series,value\n0,{LONG_TEXT},1\n0,{LONG_TEXT},2\n",
        f"a,{LONG_TEXT},{LONG_TEXT}\n0,1,2\n1,2,3\n",
    ],
)
def test_long_names_and_values_of_series_are_shortened(text: str) -> None:
    with pytest.raises(InputError) as refused:
        read_series(upload("s.csv", text.encode()))
    assert len(str(refused.value)) < 500
    assert "n" * 90 not in str(refused.value)


@pytest.mark.parametrize("value", ["x" * 5000, 10**4000, "\ud800" * 5000, "short"])
def test_quoted_values_are_short_and_printable(value: object) -> None:
    text = quoted(value)
    assert len(text) < 600
    assert text.isprintable()
    assert value != "short" or text == "'short'"
