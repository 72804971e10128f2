"""Coding of data frames and arrays: labels, missing values, bins, and option `like`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from table_cases import refusal

from graftviz import read_table
from graftviz.data.coding import quantile_edges
from graftviz.data.labels import (
    MISSING_TOKENS,
    as_numbers,
    bin_edges,
    bin_labels,
    plain_label,
    sort_labels,
)


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame(columns)


class TestLabels:
    @pytest.mark.parametrize(
        ("values", "labels"),
        [
            (["b", "a", "B"], ("B", "a", "b")),
            ([10, 9, -1], ("-1", "9", "10")),
            ([0, 10**9, -(10**18)], (str(-(10**18)), "0", str(10**9))),
            ([True, False, True], ("False", "True")),
            ([1.0, 2.0, 1.0], ("1", "2")),
            ([0.5, 10.0, 2.0], ("0.5", "2", "10")),
            (np.array([0.1, 0.2, 0.1], dtype=np.float32), ("0.1", "0.2")),
            (np.array([2**64 - 1, 1, 2], dtype=np.uint64), ("1", "2", str(2**64 - 1))),
            (["10", "9", "9.0"], ("9", "10")),
            (["+1", "1", "-0"], ("0", "1")),
            (["007", "7", "10"], ("007", "10", "7")),
            (["1e3", "1000", "2"], ("2", "1000")),
            ([" a", "a ", "b\t"], ("a", "b")),
            (["None", "none", "N/A"], ("N/A", "None", "none")),
            (["10", "9", "missing"], ("9", "10", "missing")),
            (["z", "missing", "a"], ("a", "z", "missing")),
            ([1, "1", True], ("1", "True")),
            ([b"x", "y", "x"], ("x", "y")),
            (pd.Series([2, 10, 2], dtype="Int64"), ("2", "10")),
            (pd.Series([True, False, True], dtype="boolean"), ("False", "True")),
            (pd.Series(["b", "a", "b"], dtype="category"), ("a", "b")),
            (pd.Series([10, 9, 9], dtype="category"), ("9", "10")),
            (pd.Series([0, 1, 0], dtype=pd.SparseDtype(int)), ("0", "1")),
            (
                pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-01"]),
                ("2020-01-01 00:00:00", "2020-01-02 00:00:00"),
            ),
        ],
    )
    def test_labels_of_a_column(self, values, labels):
        table = read_table(pd.DataFrame({"a": values, "b": [1, 2, 3]}))
        assert table.labels[0] == labels
        assert set(table.codes[0].tolist()) == set(range(len(table.labels[0])))

    def test_unused_category_is_not_a_state(self):
        column = pd.Categorical(["a", "b", "a"], categories=["c", "b", "a"])
        assert read_table(frame(a=column, b=[1, 2, 3])).labels[0] == ("a", "b")

    def test_text_is_coded_as_pandas_factorizes_it(self):
        generator = np.random.default_rng(5)
        words = np.array(["ä", "B", "a b", "zz", "Z", "é", "日本", "a,b", '"'], dtype=object)
        data = pd.DataFrame(generator.choice(words, size=(100, 4))).add_prefix("w")
        table = read_table(data)
        for i, name in enumerate(data):
            codes, labels = pd.factorize(data[name], sort=True)
            assert table.codes[i].tolist() == codes.tolist()
            assert table.labels[i] == tuple(labels)

    def test_integers_are_coded_as_pandas_factorizes_them(self):
        array = np.random.default_rng(6).integers(-5, 6, size=(300, 5)) * 10**8
        table = read_table(array)
        for i in range(5):
            codes, labels = pd.factorize(array[:, i], sort=True)
            assert table.codes[i].tolist() == codes.tolist()
            assert table.labels[i] == tuple(map(str, labels))

    def test_integer_bool_and_text_arrays_get_default_names(self):
        assert read_table(np.array([[1, 0], [0, 1]])).names == ("x0", "x1")
        assert read_table(np.array([[True, False], [False, True]])).labels[0] == ("False", "True")
        assert read_table(np.array([["a", "b"], ["c", "d"]])).labels == (("a", "c"), ("b", "d"))

    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_plain_labels_are_exact_and_idempotent(self, number):
        label = plain_label(repr(number))
        assert float(label) == number
        assert plain_label(label) == label

    def test_order_of_labels_does_not_depend_on_order_of_rows(self):
        labels = ["[2, 10)", "< 2", ">= 10", "missing"]
        assert sort_labels(labels) == sort_labels(labels[::-1]) == ("< 2", *labels[::2], "missing")

    def test_invalid_unicode_is_refused(self):
        surrogates = np.array([["\ud800", "b"], ["c", "d"]], dtype=object)
        assert "column 'x0'" in refusal(surrogates)
        assert "column 'x0'" in refusal(surrogates.astype(str))
        category = pd.Series(
            pd.Categorical.from_codes([0, 1], pd.Index(surrogates[:, 0], dtype=object))
        )
        assert "column 'a'" in refusal(frame(a=category, b=[1, 2]))
        assert "column 'a'" in refusal(frame(a=[b"\xff", b"b"], b=[1, 2]))


class TestMissing:
    data = frame(a=["x", None, "y", "x"], b=[1.0, 2.0, np.nan, 2.0], c=["?", "no", "no", "no"])

    def test_missing_values_are_refused_with_count_and_first_place(self):
        sentence = refusal(self.data)
        assert "3 values are missing, the first in row 1, column 'c'" in sentence
        assert "1 value is missing, in row 2, column 'a'" in refusal(self.data[["a"]].assign(b=1))

    def test_first_place_is_leftmost_in_the_first_row(self):
        assert "row 2, column 'b'" in refusal(frame(a=[1, 2, None], b=[1, None, 3], c=[1, None, 3]))

    def test_rows_with_missing_values_are_dropped(self):
        table = read_table(
            frame(a=["x", None, "y", "x"], b=[1.0, 2.0, 3.0, np.nan]), missing="drop"
        )
        assert table.codes.tolist() == [[0, 1], [0, 1]]
        assert table.labels == (("x", "y"), ("1", "3"))
        assert any("dropped 2 of 4 rows" in warning for warning in table.warnings)

    def test_dropping_too_many_rows_is_refused(self):
        assert "leaves 1" in refusal(self.data, missing="drop")

    def test_missing_values_become_a_state(self):
        table = read_table(self.data, missing="state")
        assert table.labels == (("x", "y", "missing"), ("1", "2", "missing"), ("no", "missing"))
        assert table.codes.tolist() == [[0, 2, 1, 0], [0, 1, 2, 1], [1, 0, 0, 0]]

    def test_label_of_missing_state_avoids_existing_labels(self):
        table = read_table(frame(a=["missing", None, "z"], b=[1, 2, 3]), missing="state")
        assert table.labels[0] == ("z", "missing", "(missing)")
        data = frame(a=["missing", "(missing)", None], b=[1, 2, 3])
        assert "column 'a'" in refusal(data, missing="state")

    def test_column_of_missing_values_only(self):
        data = frame(a=[None, None], b=[1, 2])
        assert "column 'a' has no values; leave it out" in refusal(data)
        assert read_table(data, missing="state").labels[0] == ("missing",)
        assert "leaves 0" in refusal(frame(a=[1, None], b=[None, 2]), missing="drop")

    @pytest.mark.parametrize("token", sorted(MISSING_TOKENS))
    def test_tokens(self, token):
        assert "row 2, column 'a'" in refusal(frame(a=["x", f" {token} "], b=[1, 2]))

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, object, "Int64", "str"])
    def test_missing_of_every_type(self, dtype):
        column = pd.Series(["a", None] if dtype == "str" else [1, None], dtype=dtype)
        assert "row 2, column 'a'" in refusal(frame(a=column, b=[1, 2]))

    def test_nan_in_arrays_is_missing_and_infinity_is_refused(self):
        assert "row 2, column 'x1'" in refusal(np.array([[1.0, 2.0], [1.0, np.nan]]))
        assert "row 2, column 'x0' holds an infinite" in refusal(np.array([[1.0, 2], [-np.inf, 3]]))
        # Rows are counted before dropping.
        array = np.array([[1, np.nan], [1, 2], [np.inf, 3], [1, 3]])
        assert "row 3, column 'x0'" in refusal(array, missing="drop")


class TestContinuous:
    values = np.random.default_rng(7).normal(size=400)

    def data(self, **more) -> pd.DataFrame:
        return pd.DataFrame({"size": self.values, "kind": np.arange(400) % 2, **more})

    def test_too_many_numbers_are_refused_with_a_suggestion(self):
        sentence = refusal(self.data(other=self.values))
        assert "column 'size' has 400 different numbers, more than max_states = 32" in sentence
        assert "'other'" in sentence
        assert 'continuous="bin"' in sentence

    def test_max_states_is_inclusive(self):
        array = np.stack([np.arange(32), np.arange(32)], axis=1)
        assert read_table(array).cardinalities.tolist() == [32, 32]
        assert "32 different numbers" in refusal(array, max_states=31)

    def test_equal_numbers_written_differently_count_once(self):
        data = frame(a=[str(k) for k in range(9)] + [f"{k}.0" for k in range(9)], b=[1, 2] * 9)
        assert read_table(data, max_states=9).cardinalities[0] == 9

    def test_bins_are_equally_full_and_agree_with_their_labels(self):
        table = read_table(self.data(), continuous="bin", bins=5)
        assert np.bincount(table.codes[0]).tolist() == [80] * 5
        edges = bin_edges(table.labels[0])
        assert edges is not None
        assert np.array_equal(np.searchsorted(edges, self.values, side="right"), table.codes[0])
        assert table.labels[1] == ("0", "1")
        assert any("'size'" in warning for warning in table.warnings)

    @given(st.lists(st.text("01+-.eEinfty x", max_size=6), min_size=1, max_size=5))
    def test_column_is_numeric_if_most_texts_are_numbers(self, texts: list[str]) -> None:
        few, many = as_numbers(np.array(texts, object)), as_numbers(np.array(texts * 65, object))
        assert (few is None) == (many is None)
        if few is not None and many is not None:
            assert np.array_equal(few, many[: len(texts)])

    def test_missing_values_beside_bins(self):
        data = self.data()
        data.loc[3, "size"] = np.nan
        table = read_table(data, continuous="bin", bins=2, missing="state")
        assert table.labels[0][-1] == "missing"
        assert np.bincount(table.codes[0]).tolist() in ([199, 200, 1], [200, 199, 1])

    @pytest.mark.parametrize("share", [0.6, 0.95])
    @pytest.mark.parametrize("tied", [-10.0, 0.0, 10.0])
    def test_ties_give_fewer_bins_but_at_least_two(self, share, tied):
        values = self.values.copy()
        values[: int(share * 400)] = tied
        table = read_table(self.data(size=values), continuous="bin", max_states=10)
        assert 2 <= table.cardinalities[0] <= 4
        assert (np.bincount(table.codes[0]) > 0).all()
        assert any("instead of 4" in warning for warning in table.warnings)

    def test_text_cannot_be_binned(self):
        names = [f"person {k}" for k in range(400)]
        for continuous in ("reject", "bin"):
            sentence = refusal(self.data(size=names), continuous=continuous)
            assert "'size' has 400 different texts" in sentence
            assert "identifier" in sentence
        commas = [f"{k},5" for k in range(400)]
        assert "decimal point" in refusal(self.data(size=commas), continuous="bin")

    def test_keys_too_long_for_a_float_are_not_merged(self):
        keys = [str(10**19 + k) for k in range(50)]
        sentence = refusal(frame(a=keys, b=[1, 2] * 25), continuous="bin")
        assert "50 different" in sentence
        assert read_table(frame(a=keys, b=[1, 2] * 25), max_states=50).labels[0] == tuple(keys)

    @given(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=60),
        st.integers(2, 9),
    )
    def test_no_bin_is_empty_and_edges_round_trip_through_labels(self, numbers, bins):
        values = np.array(numbers) + 0.0
        if len(np.unique(values)) < 2:
            return
        edges = quantile_edges(values, bins)
        assert 1 <= len(edges) <= bins - 1
        assert (np.bincount(np.searchsorted(edges, values, side="right")) > 0).all()
        labels = bin_labels(edges.tolist())
        assert np.array_equal(bin_edges(labels), edges)
        assert sort_labels(labels[::-1]) == labels

    def test_bin_edges_have_few_digits_if_possible(self):
        assert quantile_edges(np.array([1.23456, 3.98765]), 2).tolist() == [3.0]
        assert quantile_edges(np.array([0.0013, 0.0019]), 2).tolist() == [0.0019]
        assert quantile_edges(np.array([-3.98765, 1.23456]), 2).tolist() == [1.0]


class TestLike:
    train = read_table(frame(a=["x", "y", "z"], b=[1, 2, 3], c=[True, False, True]))

    def test_columns_are_reordered_and_coded_alike(self):
        test = read_table(frame(c=[False], b=[3], a=["z"]), like=self.train)
        assert test.names == self.train.names
        assert test.labels == self.train.labels
        assert test.codes.tolist() == [[2], [2], [0]]

    def test_numbers_may_come_as_text_or_floats(self):
        for column in (["1.0", "3"], [1.0, 3.0], [1, 3]):
            test = read_table(frame(a=["x"] * 2, b=column, c=["True"] * 2), like=self.train)
            assert test.codes[1].tolist() == [0, 2]

    def test_missing_and_extra_columns_are_named(self):
        sentence = refusal(frame(a=["x"], c=[True], d=[0]), like=self.train)
        assert "lacks 'b'" in sentence
        assert "has the additional 'd'" in sentence

    def test_an_unseen_label_is_named_with_its_place(self):
        data = frame(a=["x", None, "q"], b=[1, 2, 3], c=[True] * 3)
        sentence = refusal(data, like=self.train, missing="drop")
        assert "row 3, column 'a' holds the label 'q'" in sentence

    def test_missing_values_require_a_state_in_training_table(self):
        data = frame(a=["x", None], b=[1, 2], c=[True] * 2)
        assert "1 value is missing" in refusal(data, like=self.train)
        assert "row 2, column 'a' holds a missing" in refusal(
            data, like=self.train, missing="state"
        )
        train = read_table(data, missing="state")
        assert read_table(data, like=train, missing="state").fingerprint == train.fingerprint

    def test_arrays_are_matched_by_position(self):
        train = read_table(frame(a=[0, 1, 2], b=[5, 6, 7]))
        assert read_table(np.array([[2, 5]]), like=train).codes.tolist() == [[2], [0]]
        assert "lacks" in refusal(np.array([[2, 5, 1]]), like=train)

    def test_bins_of_training_table_cover_any_number(self):
        generator = np.random.default_rng(8)
        data = pd.DataFrame(generator.normal(size=(200, 2)), columns=["a", "b"])
        train = read_table(data, continuous="bin")
        assert read_table(data, like=train).fingerprint == train.fingerprint
        assert read_table(train.to_frame(), like=train).fingerprint == train.fingerprint
        outside = read_table(frame(a=[-1e9, 1e9], b=[0.0, 0]), like=train)
        assert outside.codes[0].tolist() == [0, 3]

    def test_infinity_may_be_a_label_but_not_in_a_bin(self):
        train = read_table(frame(a=["inf", "few"], b=[1, 2]))
        assert read_table(frame(a=["inf"], b=[1]), like=train).codes.tolist() == [[1], [0]]
        binned = read_table(np.random.default_rng(8).normal(size=(99, 2)), continuous="bin")
        sentence = refusal(np.array([[0.0, np.inf]]), like=binned)
        assert "row 1, column 'x1' holds the label 'inf'" in sentence
