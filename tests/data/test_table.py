"""DiscreteTable, its shape, and options of reading."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from table_cases import refusal

from graftviz import DiscreteTable, InputError, read_table
from graftviz.data.labels import MISSING_TOKENS, plain_label


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame(columns)


def random_table(seed: int, rows: int = 50) -> DiscreteTable:
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 6, size=7)
    return DiscreteTable.from_codes(
        np.stack([generator.integers(0, size, rows) for size in sizes], axis=1), cardinalities=sizes
    )


class TestDiscreteTable:
    def test_codes_are_frozen_contiguous_and_one_row_per_variable(self):
        table = read_table(frame(a=["x", "y", "x"], b=[3, 1, 2]))
        assert table.codes.tolist() == [[0, 1, 0], [2, 0, 1]]
        assert table.codes.dtype == np.uint8
        assert table.codes.flags.c_contiguous
        assert (table.n_variables, table.n_rows) == (2, 3)
        assert table.cardinalities.tolist() == [2, 3]
        assert table.cardinalities.dtype == np.int64
        for array in (table.codes, table.cardinalities):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1

    def test_later_changes_of_the_array_do_not_affect_table(self):
        codes = np.zeros((2, 3), dtype=np.uint8)
        table = DiscreteTable(codes, ("a", "b"), (("0", "1"), ("0",)))
        codes[0] = 1
        assert not table.codes.any()

    @pytest.mark.parametrize(("states", "dtype"), [(256, np.uint8), (257, np.uint16)])
    def test_codes_are_two_bytes_wide_only_above_256_states(self, states, dtype):
        column = np.arange(states)
        table = read_table(np.stack([column, column], axis=1), max_states=1000)
        assert table.codes.dtype == dtype
        assert (table.codes == column).all()

    def test_pickle_round_trip(self):
        table = random_table(0)
        copy = pickle.loads(pickle.dumps(table))
        assert copy.fingerprint == table.fingerprint
        assert not copy.codes.flags.writeable

    @pytest.mark.parametrize(
        ("codes", "names", "labels"),
        [
            ([[0, 2]], ("a",), (("x", "y"),)),
            ([[0, -1]], ("a",), (("x", "y"),)),
            ([[0, 1]], ("a",), (("x", "x"),)),
            ([[0], [0]], ("a", "a"), (("x",), ("x",))),
            ([[0]], ("a",), ()),
            ([[0]], ("a", "b"), (("x",), ("x",))),
            ([0], ("a",), (("x",),)),
            ([[0.0]], ("a",), (("x",),)),
            ([[]], ("a",), (("x",),)),
            ([[0]], ("a",), ((),)),
            ([], (), ()),
        ],
    )
    def test_inconsistent_parts_are_refused(self, codes, names, labels):
        with pytest.raises(InputError):
            DiscreteTable(np.array(codes), names, labels)

    def test_fingerprint_is_the_same_in_another_process(self):
        table = random_table(3)
        program = "import pickle, sys; print(pickle.load(sys.stdin.buffer).fingerprint)"
        run = subprocess.run(
            [sys.executable, "-c", program],
            input=pickle.dumps(table),
            capture_output=True,
            check=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": "12345"},
        )
        assert run.stdout.decode().strip() == table.fingerprint

    def test_fingerprint_depends_on_names_labels_codes_and_order(self):
        codes = np.array([[0, 1], [1, 0], [1, 1]])
        tables = [
            DiscreteTable.from_codes(codes),
            DiscreteTable.from_codes(codes, names=["x0", "y"]),
            DiscreteTable.from_codes(codes, cardinalities=[2, 3]),
            DiscreteTable.from_codes(codes, labels=[["0", "1"], ["0", "2"]]),
            DiscreteTable.from_codes(codes[::-1]),
            DiscreteTable.from_codes(codes[:2]),
        ]
        assert len({table.fingerprint for table in tables}) == len(tables)

    def test_fingerprint_ignores_warnings(self):
        table = random_table(1)
        warned = DiscreteTable(table.codes, table.names, table.labels, ("careful",))
        assert warned.fingerprint == table.fingerprint


class TestFromCodes:
    def test_defaults(self):
        table = DiscreteTable.from_codes(np.array([[0, 1], [2, 0]]))
        assert table.names == ("x0", "x1")
        assert table.labels == (("0", "1", "2"), ("0", "1"))
        assert table.codes.tolist() == [[0, 2], [1, 0]]

    def test_booleans_are_codes(self):
        assert DiscreteTable.from_codes(np.eye(2, dtype=bool)).codes.tolist() == [[1, 0], [0, 1]]

    @pytest.mark.parametrize(
        ("codes", "options", "words"),
        [
            ([[0, 0], [0, -1]], {}, "Row 2, column 'x1' holds -1"),
            ([[0, 10**9]], {}, "Row 1, column 'x1' holds 1000000000"),
            ([[0, 3]], {"cardinalities": [2, 3]}, "below 3"),
            ([[0, 1]], {"labels": [["a"], ["b"]]}, "Row 1, column 'x1'"),
            ([[0, 1]], {"names": ["a"]}, "2 names"),
            ([[0, 1]], {"cardinalities": [2]}, "2 columns"),
            ([[0, 1]], {"cardinalities": [2, 10**9]}, "more than 65536"),
            ([[0, 1]], {"cardinalities": [1, 2], "labels": [["a"], ["b"]]}, "as many labels"),
            ([[0.5, 1]], {}, "integers"),
            ([0, 1], {}, "shape"),
            ([[], []], {}, "shape"),
        ],
    )
    def test_invalid_codes_are_refused(self, codes, options, words):
        with pytest.raises(InputError, match=words):
            DiscreteTable.from_codes(np.array(codes), **options)

    def test_unsigned_integers_beyond_int64_do_not_overflow(self):
        with pytest.raises(InputError, match=str(2**64 - 1)):
            DiscreteTable.from_codes(np.array([[0, 2**64 - 1]], dtype=np.uint64))


class TestRowsAndSplit:
    @pytest.mark.parametrize("seed", range(5))
    def test_split_is_a_partition_that_keeps_order_and_labels(self, seed):
        table = read_table(np.stack([np.arange(200), np.arange(200) % 3], axis=1), max_states=300)
        train, test = table.split(0.1, seed)
        assert (train.n_rows, test.n_rows) == (180, 20)
        rows = np.concatenate([train.codes[0], test.codes[0]])
        assert np.array_equal(np.sort(rows), np.arange(200))
        for part in (train, test):
            assert (np.diff(part.codes[0].astype(int)) > 0).all()
            assert part.labels == table.labels
            assert part.names == table.names
            assert part.codes.flags.c_contiguous

    def test_split_depends_on_the_seed_alone(self):
        table = random_table(2)
        first, repeated, other = (table.split(0.3, seed)[1].fingerprint for seed in (1, 1, 2))
        assert first == repeated != other

    def test_a_smaller_sample_is_a_subset_in_order(self):
        table = read_table(np.stack([np.arange(200), np.arange(200) % 3], axis=1), max_states=300)
        rows = [table.sample(size, 3).codes[0].astype(int) for size in (1, 20, 50, 200)]
        for fewer, more in itertools.pairwise(rows):
            assert set(fewer) < set(more)
            assert (np.diff(more) > 0).all()
        assert table.sample(20, 3).labels == table.labels
        assert np.array_equal(rows[-1], np.arange(200))
        assert not np.array_equal(rows[1], table.sample(20, 4).codes[0])

    @pytest.mark.parametrize("rows", [0, 201, -1])
    def test_sample_of_more_rows_than_exist_is_refused(self, rows):
        with pytest.raises(InputError, match="from 1 to 200"):
            random_table(0, rows=200).sample(rows)

    @pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, 2.0, float("nan")])
    def test_fraction_outside_0_to_1_is_refused(self, fraction):
        with pytest.raises(InputError, match="between 0 and 1"):
            random_table(0).split(fraction)

    @pytest.mark.parametrize(("fraction", "part"), [(0.1, "test"), (0.9, "training")])
    def test_part_without_rows_is_refused(self, fraction, part):
        with pytest.raises(InputError, match=f"no {part} row"):
            random_table(0, rows=3).split(fraction)

    def test_rows_take_index_mask_and_slice(self):
        table = random_table(4)
        mask = np.zeros(50, dtype=bool)
        mask[[2, 5]] = True
        for index in ([2, 5], mask, slice(2, 6, 3)):
            part = table.rows(index)
            assert np.array_equal(part.codes, table.codes[:, [2, 5]])
            assert part.labels == table.labels
        assert table.rows(3).n_rows == 1

    @pytest.mark.parametrize("index", [[50], np.zeros(3, dtype=bool), [], "a"])
    def test_missing_rows_are_refused(self, index):
        with pytest.raises(InputError):
            random_table(4).rows(index)


class TestShape:
    @pytest.mark.parametrize(
        ("source", "words"),
        [
            (frame(a=[1, 2]), "only one column ('a')"),
            (frame(), "no columns"),
            (frame(a=[1], b=[2]), "only 1 row"),
            (frame(a=[], b=[]), "no rows"),
            (np.zeros((0, 3), dtype=int), "no rows"),
            (np.zeros((3, 0), dtype=int), "no columns"),
            (np.zeros((5, 1), dtype=int), "only one column"),
            (np.zeros(3, dtype=int), "two-dimensional"),
            (np.zeros((2, 2, 2), dtype=int), "two-dimensional"),
            (np.zeros((2, 2), dtype=complex), "not complex128"),
            (
                pd.DataFrame([[1, 2, 3]] * 2, columns=["a", "b", "a"]),
                "columns 1 and 3 have the same name 'a'",
            ),
            (
                pd.DataFrame([[1, 2]] * 2, columns=[1, "1"]),
                "columns 1 and 2 have the same name '1'",
            ),
            (pd.DataFrame([[1, 2]] * 2, columns=["a", " "]), "column 2 has an empty name"),
            ([[1, 2], [3, 4]], "cannot be read from a list"),
            (None, "cannot be read from a NoneType"),
        ],
    )
    def test_invalid_shapes_are_refused(self, source, words):
        assert words in refusal(source)

    @pytest.mark.parametrize(
        "options",
        [
            {"missing": "ignore"},
            {"continuous": "yes"},
            {"header": "maybe"},
            {"max_states": 1},
            {"max_states": 10**6},
            {"max_states": 3.5},
            {"bins": 1},
            {"bins": True},
            {"max_bytes": 0},
        ],
    )
    def test_options_out_of_range_are_refused(self, options):
        assert f"Option {next(iter(options))} must be" in refusal(np.eye(3, dtype=int), **options)

    def test_constant_columns_are_kept_with_a_warning(self):
        table = read_table(frame(a=[1, 2], b=["x", "x"], c=[0, 0]))
        assert table.cardinalities.tolist() == [2, 1, 1]
        assert len(table.warnings) == 1
        assert "'b', 'c'" in table.warnings[0]
        assert read_table(frame(a=[1, 2], b=[1, 2])).warnings == ()

    def test_frame_is_not_modified(self):
        data = frame(a=[" x", None, "y"], b=[1.5, 2, 3])
        before = data.copy(deep=True)
        read_table(data, missing="state")
        pd.testing.assert_frame_equal(data, before)


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=4).map(str.strip)
LABELS = words.filter(lambda word: word not in MISSING_TOKENS and "inf" not in word.lower())


@st.composite
def label_frames(draw) -> pd.DataFrame:
    # Names with NUL are refused; labels may have it.
    without_nul = LABELS.filter(lambda label: "\0" not in label)
    names = draw(st.lists(without_nul, min_size=2, max_size=4, unique=True))
    rows = draw(st.integers(2, 8))
    labels = st.one_of(LABELS, st.integers(-20, 20).map(str), st.sampled_from(["0.5", "missing"]))
    column = st.lists(labels, min_size=rows, max_size=rows)
    return pd.DataFrame({name: draw(column) for name in names}, dtype=object)


class TestRoundTrip:
    @given(label_frames())
    def test_table_read_from_its_frame_has_same_codes(self, data):
        table = read_table(data, bins=8)  # so that up to 8 fractions are states
        restored = read_table(table.to_frame(), bins=8)
        assert restored.fingerprint == table.fingerprint
        for name, column in table.to_frame().items():
            assert [plain_label(text) for text in data[name]] == list(map(plain_label, column))

    @given(label_frames(), st.integers(0, 3))
    def test_part_of_rows_coded_like_whole_table_has_same_codes(self, data, start):
        table = read_table(data, bins=8)
        part = read_table(data.iloc[start % len(data) :], like=table)
        assert part.fingerprint == table.rows(slice(start % len(data), None)).fingerprint

    def test_table_of_parts_equals_whole_table(self):
        whole = random_table(9)
        for part in whole.split(0.3):
            assert read_table(part.to_frame(), like=whole).fingerprint == part.fingerprint
