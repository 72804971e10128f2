"""Tables from files and uploads: delimited text, parquet, and refused files."""

from __future__ import annotations

import gzip
import io
import os
import time
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import table_cases
from hypothesis import given, strategies as st
from pyarrow import parquet

from graftviz import DiscreteTable, read_table

SMALL = "a,b\nx,1\ny,2\n"


def upload(text: str | bytes, name: str | None = None) -> io.BytesIO:
    """Return a file object like an upload; without a name, its kind is inferred from content."""
    file = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    if name is not None:
        file.name = name
    return file


def read(text: str | bytes, **options) -> DiscreteTable:
    return read_table(upload(text), **options)


def refusal(source, **options) -> str:
    """Return the sentence that refuses a file or its text."""
    source = upload(source) if isinstance(source, (str, bytes)) else source
    return table_cases.refusal(source, **options)


class TestCompressed:
    def test_compressed_table_equals_uncompressed_table(self, tmp_path):
        rows = "\n".join(["0,1,1", "1,0,1", "1,1,0"] * 20)
        plain, packed = tmp_path / "x.ts.data", tmp_path / "x.ts.data.GZ"
        plain.write_text(rows)
        packed.write_bytes(gzip.compress(rows.encode()))
        table = read_table(packed)
        assert table.names == ("x0", "x1", "x2")
        assert table.fingerprint == read_table(plain).fingerprint
        uploaded = upload(packed.read_bytes(), packed.name)
        assert read_table(uploaded).fingerprint == table.fingerprint

    def test_no_more_than_the_limit_is_unpacked(self):
        packed = gzip.compress(b"0,1\n1,0\n" * 500_000)
        sentence = refusal(upload(packed, "x.csv.gz"), max_bytes=1_000_000)
        assert "x.csv.gz unpacks to 1.0 MB or more, above the limit of 1.0 MB" in sentence
        bomb = upload(gzip.compress(bytes(50_000_000)), "x.csv.gz")
        tracemalloc.start()
        refusal(bomb, max_bytes=1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        tracemalloc.stop()

    @pytest.mark.parametrize(
        "content",
        [gzip.compress(SMALL.encode())[:-3], SMALL.encode(), b""],
        ids=["cut", "plain", "empty"],  # gzip writes the time: the bytes cannot be an id
    )
    def test_damaged_files_are_refused(self, content):
        sentence = refusal(upload(content, "x.csv.gz"))
        assert "x.csv.gz" in sentence
        assert not content or "not a complete gzip file" in sentence


class TestDelimited:
    def test_names_labels_and_codes(self):
        table = read(" kind ,size\n b,10\nb ,9\n a ,9\n")
        assert table.names == ("kind", "size")
        assert table.labels == (("a", "b"), ("9", "10"))
        assert table.codes.tolist() == [[1, 1, 0], [1, 0, 0]]
        assert table.warnings == ()

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("last", [True, False])
    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_line_ends_and_delimiters(self, end, last, delimiter):
        text = SMALL.replace(",", delimiter).replace("\n", end)
        table = read(text if last else text.removesuffix(end))
        assert table.fingerprint == read(SMALL).fingerprint

    @pytest.mark.parametrize(
        ("text", "labels"),
        [
            ("a;b\n1,5;2\n1,7;3\n", ("1,5", "1,7")),
            ("a,b\nu;v,2\nw;v,3\n", ("u;v", "w;v")),
            ("a\tb\nu,v;w\t2\nu,x;w\t3\n", ("u,v;w", "u,x;w")),
            ('"a","b"\n"u;v",2\n"w;v",3\n', ("u;v", "w;v")),
        ],
    )
    def test_other_delimiters_inside_fields(self, text, labels):
        assert read(text).labels[0] == labels

    def test_quoted_fields_hold_delimiters_quotes_and_line_ends(self):
        table = read('a,"b, c"\n"x\ny",1\n"say ""no""",2\n')
        assert table.names == ("a", "b, c")
        assert table.labels[0] == ('say "no"', "x\ny")

    def test_byte_order_mark_and_blank_lines(self):
        text = b"\xef\xbb\xbf\n" + SMALL.replace("\n", "\n\n").encode()
        assert read(text).fingerprint == read(SMALL).fingerprint

    def test_text_beyond_ascii(self):
        assert read("größe,b\n日本,1\né,2\n").labels[0] == ("é", "日本")

    def test_lines_longer_than_the_csv_field_limit_are_read(self):
        names = ",".join(f"column number {i}" for i in range(9000))
        zeros, ones = ",".join("0" * 9000), ",".join("1" * 9000)
        assert read(f"{names}\n{zeros}\n{ones}\n").n_variables == 9000

    @given(
        st.lists(
            st.lists(st.text("a,;\t\"'\n é0", max_size=4), min_size=3, max_size=3),
            min_size=2,
            max_size=6,
        )
    )
    def test_csv_of_pandas_is_read(self, rows):
        data = pd.DataFrame(rows, columns=["p", "q", "r"], dtype=object)
        text = data.to_csv(index=False, lineterminator="\n")
        expected = read_table(data, missing="state")
        assert read(text, missing="state", header=True).fingerprint == expected.fingerprint


class TestHeader:
    @pytest.mark.parametrize(
        "text",
        [
            "a,b\n1,2\n2,1\n",
            "a,1\n1,2\n2,1\n",
            "0,1,2\n5,5,5\n6,6,6\n",
            "1,2,3\n5,2,3\n6,2,3\n",
            "yes,size\nyes,no\nyes,yes\n",
        ],
    )
    def test_names(self, text):
        table = read(text)
        assert table.names == tuple(text.splitlines()[0].split(","))
        assert table.n_rows == 2

    @pytest.mark.parametrize(
        "text",
        [
            "0,1,0,1\n1,1,0,0\n",
            "0.5,1.5\n0.5,2.5\n",
            "-1,1\n1,0\n",
            "2,0\n1,0\n2,1\n",
            "3,4\n4,3\n3,4\n",
        ],
    )
    def test_values(self, text):
        table = read(text)
        assert table.n_rows == len(text.splitlines())
        assert table.names[:2] == ("x0", "x1")
        assert "line 1 was read as values" in table.warnings[0]

    @pytest.mark.parametrize(
        "text", ["0,1\n0,1\n1,0\n", "7,9\n1,2\n2,1\n", "yes,no\nyes,no\nno,yes\n"]
    )
    def test_ambiguous_header_is_refused_with_both_options(self, text):
        sentence = refusal(text)
        assert "line 1" in sentence
        assert "header=True" in sentence
        assert "header=False" in sentence
        assert read(text, header=True).names == tuple(text.splitlines()[0].split(","))
        assert read(text, header=False).n_rows == len(text.splitlines())

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("a,b,a\n1,2,3\n2,3,4\n", "columns 1 and 3 have the same name 'a'"),
            ("a, ,b\n1,2,3\n2,3,4\n", "column 2 has an empty name"),
        ],
    )
    def test_unusable_names(self, text, words):
        sentence = refusal(text)
        assert words in sentence
        assert "header=False" in sentence


class TestPlaces:
    """Places in files: lines are counted as in an editor."""

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("a,b\n1,2\n1,2,3\n4,5\n", "line 3 has 3 fields, but line 1 has 2"),
            ("a,b\n1,2\n\n1\n", "line 4 has 1 field, but line 1 has 2"),
            ('a,b\n"x\ny",2\n1,2,3\n', "line 4 has 3 fields"),
            ("a,b,c\n" + "1,2,3\n" * 50 + "1,2\n", "line 52 has 2 fields"),
            ("\na,b\n1,2\n3\n", "line 4 has 1 field, but line 2 has 2"),
            ("a,b\r1,2\r3,4,5\r", "line 3 has 3 fields"),
        ],
    )
    def test_ragged_rows(self, text, words):
        assert words in refusal(text)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("a,b\nx,1\n,2\n", "1 value is missing, in line 3, column 'a'"),
            ('a,b\n"x\ny",1\n\nz,NA\n', "line 5, column 'b'"),
            ("0,1,0\n1,?,0\n", "line 2, column 'x1'"),
            ("a,b\r\nx,1\r\ny,\r\n,2\r\n", "2 values are missing, the first in line 3, column 'b'"),
        ],
    )
    def test_missing_values(self, text, words):
        assert words in refusal(text)

    def test_infinite_numbers(self):
        assert "line 3, column 'b' holds an infinite" in refusal("a,b\nx,1\ny,-inf\n")
        assert read("a,b\nx,1\ny,inf\nz,many\n").labels[1] == ("1", "inf", "many")

    def test_unseen_label_after_dropped_rows(self):
        like = read(SMALL)
        text = "b,a\n1,x\n,y\n2,z\n"
        assert "line 4, column 'a' holds the label 'z'" in refusal(text, like=like, missing="drop")

    def test_nul_bytes(self):
        assert "line 3 holds a NUL byte" in refusal(b"a,b\n1,2\n1,\0\n")

    @pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
    def test_other_encodings(self, end):
        text = end.join([b"a,b", b"x,1", "é,caf\xe9".encode("latin-1"), b""])
        assert "byte 1 of line 3 (0xe9) is not UTF-8" in refusal(text)
        assert "UTF-16" in refusal(SMALL.encode("utf-16"))

    @pytest.mark.parametrize("text", ['a,b\n"x,1\ny,2\n', 'a,b\nx,1\ny,"2\nz,3\n'])
    def test_unclosed_quotation_mark_is_refused(self, text):
        sentence = refusal(text)
        assert f"line {2 + text.index(chr(34)) // 9}" in sentence
        assert "never closed" in sentence


class TestLikeFiles:
    def test_train_and_test_file(self, tmp_path):
        (tmp_path / "train.csv").write_text(SMALL)
        (tmp_path / "test.csv").write_text("b,a\n2,x\n")
        train = read_table(tmp_path / "train.csv")
        test = read_table(tmp_path / "test.csv", like=train)
        assert test.codes.tolist() == [[0], [1]]
        assert test.labels == train.labels

    def test_first_line_equal_to_expected_names_is_a_header(self):
        train = read("0,1\n0,1\n1,0\n", header=True)
        assert read("1,0\n1,0\n", like=train).codes.tolist() == [[0], [1]]

    def test_files_without_names_are_matched_by_position(self):
        train = read("0,1,0\n1,1,2\n")
        test = read("1,1,2\n0,1,0\n", like=train)
        assert test.codes.tolist() == [[1, 0], [0, 0], [1, 0]]
        assert "lacks 'x2'" in refusal("1,1\n0,0\n", like=train)


class TestFiles:
    @pytest.mark.parametrize("suffix", ["csv", "CSV", "tsv", "txt", "data"])
    def test_suffixes_of_text(self, tmp_path, suffix):
        path = tmp_path / f"table.{suffix}"
        path.write_text(SMALL)
        assert read_table(path).fingerprint == read_table(str(path)).fingerprint

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("table.xlsx", "unsupported file type '.xlsx'"),
            ("table", "has no suffix"),
            ("nothing.csv", "There is no file"),
            ("folder.csv", "is a folder"),
            ("empty.csv", "the file is empty"),
            ("blank.csv", "the file is empty"),
            ("names.csv", "no rows"),
            ("row.csv", "only 1 row"),
            ("column.csv", "only one column"),
            ("empty.parquet", "the file is empty"),
            ("text.parquet", "cannot be read as parquet"),
            ("n\0l.csv", "cannot be read"),
            ("n" * 300 + ".csv", "cannot be read"),
            ("lone\ud800.csv", "cannot be read"),
        ],
    )
    def test_unusable_files(self, tmp_path, name, words):
        for text_name, text in [
            ("table.xlsx", "PK"),
            ("table", SMALL),
            ("empty.csv", ""),
            ("blank.csv", "\n \n"),
            ("names.csv", "a,b\n"),
            ("row.csv", "a,b\n1,2\n"),
            ("column.csv", "a\n1\n2\n"),
            ("empty.parquet", ""),
            ("text.parquet", SMALL),
        ]:
            (tmp_path / text_name).write_text(text)
        (tmp_path / "folder.csv").mkdir()
        assert words in refusal(tmp_path / name)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    def test_named_pipe_is_refused_without_waiting(self, tmp_path):
        os.mkfifo(tmp_path / "pipe.csv")
        assert "not an ordinary file" in refusal(tmp_path / "pipe.csv")

    def test_size_is_checked_before_reading(self, tmp_path):
        path = tmp_path / "large.csv"
        with path.open("wb") as file:
            file.truncate(200_000_000)  # a sparse file of NUL bytes
        started = time.process_time()
        assert "above the limit of 100.0 MB" in refusal(path)
        assert time.process_time() - started < 0.1

    def test_size_of_an_upload_is_checked_before_reading(self):
        class Upload(io.BytesIO):
            def read(self, *arguments):
                raise AssertionError("the upload was read")

        assert "above the limit" in refusal(Upload(SMALL.encode()), max_bytes=11)

    def test_size_of_a_stream_is_checked_while_reading(self):
        class Stream(io.BytesIO):
            def seekable(self):
                return False

        assert "above the limit" in refusal(Stream(SMALL.encode()), max_bytes=11)
        assert read_table(Stream(SMALL.encode()), max_bytes=12).n_rows == 2

    def test_upload_is_read_from_its_start(self):
        file = upload(SMALL, "table.csv")
        assert read_table(file).fingerprint == read_table(file).fingerprint

    def test_names_of_uploads(self):
        assert "survey.csv: line 2" in refusal(upload("a,b\n1\n", "survey.csv"))
        assert "survey.csv: line 2" in refusal(upload("a,b\n1\n"), name="survey.csv")
        assert "unsupported file type '.xls'" in refusal(upload(SMALL, "survey.xls"))

    def test_unusable_uploads(self):
        assert "binary mode" in refusal(io.StringIO(SMALL))
        closed = upload(SMALL)
        closed.close()
        assert "cannot be read" in refusal(closed)


class TestParquet:
    data = pd.DataFrame(
        {
            "text": ["b", "a", "b"],
            "number": [10, 9, 9],
            "flag": [True, False, True],
            "part": pd.Categorical(["u", "v", "u"], categories=["v", "u", "w"]),
        },
        index=[5, 6, 7],
    )

    def parquet(self, data: pd.DataFrame, **options) -> io.BytesIO:
        file = io.BytesIO()
        data.to_parquet(file, **options)
        return file

    def test_equal_to_the_frame(self, tmp_path):
        expected = read_table(self.data)
        assert expected.labels == (("a", "b"), ("9", "10"), ("False", "True"), ("u", "v"))
        assert read_table(self.parquet(self.data)).fingerprint == expected.fingerprint
        assert read_table(self.parquet(self.data.rename_axis("key"))).names == expected.names
        for suffix in ("parquet", "pq"):
            self.data.to_parquet(tmp_path / f"table.{suffix}")
            path = tmp_path / f"table.{suffix}"
            assert read_table(path).fingerprint == expected.fingerprint

    def test_missing_values_are_named_by_row(self):
        data = self.data.assign(number=[10, None, 9], flag=[True, False, None])
        assert "2 values are missing, the first in row 2, column 'number'" in refusal(
            self.parquet(data)
        )
        assert read_table(self.parquet(data), missing="state").labels[1] == ("9", "10", "missing")

    def test_damaged_files(self):
        whole = self.parquet(self.data).getvalue()
        for data in (whole[:-20], whole[:4], whole[:4] + b"\xff" * 200 + whole[204:]):
            assert "cannot be read as parquet" in refusal(data)

    def test_many_cells_in_a_small_file(self):
        column = pa.array(np.zeros(200_000, dtype=np.int8)).dictionary_encode()
        file = io.BytesIO()
        parquet.write_table(pa.table({"a": column, "b": column}), file)
        assert len(file.getvalue()) < 10_000
        assert "above the limit of 25,000 cells" in refusal(file, max_bytes=100_000)

    def test_invalid_unicode_is_refused(self):
        file = io.BytesIO()
        column = pa.array([b"\xff", b"a"], type=pa.binary())
        parquet.write_table(pa.table({"a": column, "b": column}), file)
        assert "column 'a'" in refusal(file)


@pytest.mark.slow
def test_twelve_million_cells_are_read_within_seconds(tmp_path):
    codes = np.random.default_rng(0).integers(0, 5, size=(20_000, 600))
    path = tmp_path / "large.csv"
    lines = [
        ",".join(f"v{i}" for i in range(600)),
        *(",".join(map(str, row)) for row in codes.tolist()),
    ]
    path.write_text("\n".join(lines))
    started = time.process_time()
    table = read_table(path)
    assert time.process_time() - started < 5
    started = time.process_time()
    from_array = read_table(codes)
    assert time.process_time() - started < 2
    assert np.array_equal(table.codes, from_array.codes)
    assert np.array_equal(table.codes, codes.T)


class TestBlocks:
    """Tables read in blocks of columns, slices of rows and pieces of text."""

    @pytest.mark.parametrize("block", [1, 2, 64])
    @given(st.data())
    def test_every_kind_of_column_in_row_groups(self, block, data):
        rows = data.draw(st.integers(2, 60))
        low = data.draw(st.sampled_from([-128, -3, 0, 2, 120]))
        span = data.draw(st.integers(0, min(7, 127 - low)))
        seed = data.draw(st.integers(0, 99))
        numbers = np.random.default_rng(seed).integers(low, low + span, size=rows, endpoint=True)
        narrow = numbers.astype(np.int8)
        large = numbers.astype(np.int64) + data.draw(st.sampled_from([0, 2**40, -(2**62)]))
        frame = pd.DataFrame(
            {
                "narrow": narrow,
                "unsigned": (narrow.astype(np.int16) + 128).astype(np.uint8),
                "large": large,
                "far": np.where(numbers == low, 2**63 - 1, -(2**63)),
                "text": [f" s{k}" for k in numbers],
                "answer": pd.Categorical([f"s{k}" for k in numbers]),
                "gaps": pd.Series(numbers).where(numbers != low),
                "half": (numbers - low) // 2 / 2,
                "flag": numbers == low,
            }
        )
        file = io.BytesIO()
        frame.to_parquet(file, row_group_size=data.draw(st.integers(1, rows)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("graftviz.data.reading.files._BLOCK_BYTES", 8 * rows * block)
            patch.setattr("graftviz.data.reading.raw._SLICE", data.draw(st.integers(1, 70)))
            found = read_table(file, missing="state")
        plain = read_table(frame.astype(object), missing="state")
        assert found.names == plain.names
        assert [len(set(states)) for states in found.labels] == [len(s) for s in plain.labels]
        assert found.fingerprint == plain.fingerprint

    @pytest.mark.parametrize("repeated", [False, True])
    def test_more_columns_than_one_block(self, repeated):
        codes = np.random.default_rng(0).integers(0, 5, size=(200, 300)).astype(np.int8)
        names = ["x0" if repeated and i == 150 else f"x{i}" for i in range(300)]
        file = io.BytesIO()
        parquet.write_table(pa.Table.from_arrays(list(codes.T), names), file)
        if repeated:
            assert "columns 1 and 151 have the same name 'x0'" in refusal(file)
        else:
            expected = DiscreteTable.from_codes(codes)
            assert read_table(file).fingerprint == expected.fingerprint

    @given(st.lists(st.lists(st.sampled_from("abcde"), min_size=2, max_size=9), min_size=1))
    def test_table_read_in_pieces_of_text(self, groups):
        cells = [text for group in groups for text in group]
        frame = pd.DataFrame({"a": cells, "b": cells[::-1]})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("graftviz.data.reading.delimited._BLOCK", 16)
            found = read(frame.to_csv(index=False), header=True)
        assert found.fingerprint == read_table(frame).fingerprint
