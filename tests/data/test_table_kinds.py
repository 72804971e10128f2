"""Kinds of tables: fractions, rare and unseen values, order, row names, parts, Arrow."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

import graftviz as gv
from graftviz.learning.completion import read_table
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.utils.errors import InputError

ORDERED = pd.Categorical(
    ["low", "high", "mid", "low"], ["low", "mid", "high", "none"], ordered=True
)


def parquet(frame: pd.DataFrame) -> io.BytesIO:
    file = io.BytesIO()
    frame.to_parquet(file)
    return file


def arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame)


def saved_csv(frame: pd.DataFrame, folder: Path) -> Path:
    path = folder / "t.csv"
    frame.to_csv(path)  # with the index of pandas: a first column without a name
    return path


class TestFractions:
    def frame(self, rows: int, distinct: int) -> pd.DataFrame:
        codes = np.random.default_rng(0).integers(0, distinct, rows)
        codes[:distinct] = range(distinct)
        return pd.DataFrame({"x": codes / 2, "y": codes % 2})

    @pytest.mark.parametrize(("rows", "distinct", "binned"), [(2000, 9, 0), (60, 9, 1), (60, 4, 0)])
    def test_fractions_require_rows_for_each_state(
        self, rows: int, distinct: int, binned: int
    ) -> None:
        frame = self.frame(rows, distinct)
        assert ("binned" in str(read_table(frame, continuous="bin").warnings)) == bool(binned)
        whole = frame.assign(x=2 * frame["x"])  # floats, but whole numbers
        assert read_table(whole).cardinalities[0] == distinct

    def test_fractions_of_few_rows_are_refused_with_a_remedy(self) -> None:
        frame = self.frame(60, 9)
        with pytest.raises(InputError, match=r"too many fractions for so few rows.*as text"):
            read_table(frame)

    def test_iris_has_a_score_in_every_fold(self) -> None:
        iris = load_iris(as_frame=True).frame
        scores = cross_val_score(gv.MarkovNetwork(), iris, cv=5)
        assert np.isfinite(scores).all()


class TestRareAndUnseen:
    def test_rare_texts_become_state_other(self) -> None:
        town = ["A"] * 5 + ["B"] * 4 + ["C", "D"]
        table = read_table(pd.DataFrame({"town": town, "n": range(11)}), min_count=2)
        assert table.labels == (("A", "B", "other"), tuple(map(str, range(11))))
        assert table["town"].tolist() == ["A"] * 5 + ["B"] * 4 + ["other"] * 2

    def test_unseen_texts_become_state_other_if_present(self) -> None:
        rows = pd.DataFrame({"town": ["A", "B"] * 9, "n": [1, 2] * 9})
        new = pd.DataFrame({"town": ["Z", "A"], "n": [2, 9]})
        table = read_table(rows, min_count=1)
        found = read_table(new, like=table, unseen="nearest")
        assert found.to_frame().values.tolist() == [["other", "2"], ["A", "2"]]
        assert len(found.warnings) == 2
        with pytest.raises(InputError, match=r"holds the label 'Z'.*min_count = 1"):
            read_table(new, like=read_table(rows), unseen="nearest")
        with pytest.raises(InputError, match="holds the label 'Z'"):
            read_table(new, like=table)
        network = gv.MarkovNetwork(min_count=1).fit(rows)
        with pytest.warns(UserWarning, match="nearest state"):
            assert np.isfinite(network.score(new))

    @pytest.mark.parametrize("number", [-9, 0.4, 0.6, 1.6, 3, 9])
    def test_unseen_numbers_become_nearest_label(self, number: float) -> None:
        table = read_table(pd.DataFrame({"a": [0, 1, 3], "b": [0, 1, 0]}))
        new = pd.DataFrame({"a": [number], "b": [0]})
        found = float(read_table(new, like=table, unseen="nearest")["a"].iloc[0])
        assert abs(found - number) == min(abs(k - number) for k in (0, 1, 3))


class TestOrder:
    @pytest.mark.parametrize("source", [lambda frame: frame, parquet, arrow])
    def test_ordered_categories_keep_their_order(self, source: Any) -> None:
        frame = pd.DataFrame({"size": ORDERED, "n": [1, 2, 3, 4]})
        assert read_table(source(frame)).labels[0] == ("low", "mid", "high")
        if source is parquet:
            return  # the format stores numeric categories as numbers
        numbers = pd.Categorical([3, 1, 2, 3], categories=[3, 2, 1], ordered=True)
        assert read_table(source(frame.assign(n=numbers))).labels[1] == ("3", "2", "1")

    def test_declared_categories_keep_their_order(self) -> None:
        frame = pd.DataFrame({"size": np.tile(ORDERED.astype(object), 9), "n": [1, 2, 3, 4] * 9})
        frame["size"] = frame["size"].astype(ORDERED.dtype)
        labels = gv.MarkovNetwork().fit(frame).coding_.labels[0]
        assert labels == ("low", "mid", "high", "none")


class TestRowNames:
    frame = pd.DataFrame({"a": [0, 1, 1, 0], "b": [1, 1, 0, 0]})

    @pytest.mark.parametrize("index", [range(4), range(1, 5), list("wxyz")])
    def test_column_of_row_names_is_ignored(self, index: Any, tmp_path: Path) -> None:
        path = saved_csv(self.frame.set_axis(index, axis=0), tmp_path)
        table = read_table(path)
        assert table.names == ("a", "b")
        assert "left out the first column" in table.warnings[0]
        assert read_table(pd.read_csv(path)).fingerprint == table.fingerprint
        assert read_table(path, like=table).fingerprint == table.fingerprint

    def test_a_column_with_repeated_values_is_data(self, tmp_path: Path) -> None:
        path = saved_csv(self.frame.set_axis([0, 1, 1, 2], axis=0), tmp_path)
        with pytest.raises(InputError, match="column 1 has an empty name"):
            read_table(path)
        for values in ([2, 1, 1, 2], [0.5, 1.5, 2.5, 3.5]):  # repeated values, or measurements
            named = self.frame.assign(index=values)[["index", "a"]]
            assert read_table(named).names == ("index", "a")


class TestParts:
    def write(self, folder: Path, parts: list[pd.DataFrame]) -> Path:
        folder.mkdir()
        for k, part in enumerate(parts):
            part.to_parquet(folder / f"part-{k}.parquet")
        (folder / "_SUCCESS").touch()
        return folder

    def test_a_folder_of_parts_is_one_table(self, tmp_path: Path) -> None:
        generator = np.random.default_rng(0)
        whole = pd.DataFrame(generator.integers(0, 3, (3000, 3)), columns=list("abc"))
        whole["c"] = "s" + whole["c"].astype(str)
        folder = self.write(tmp_path / "t", [whole[:1000], whole[1000:1001], whole[1001:]])
        table = read_table(folder)
        assert table.fingerprint == read_table(whole).fingerprint
        with pytest.raises(InputError, match="above the limit"):
            read_table(folder, max_bytes=1000)

    def test_parts_together_stay_within_the_limit_of_cells(self, tmp_path: Path) -> None:
        part = pd.DataFrame({"a": np.arange(3000) % 2, "b": 1})
        folder = self.write(tmp_path / "t", [part, part])
        assert read_table(folder, max_bytes=50_000).n_rows == 6000
        with pytest.raises(InputError, match=r"t has 6,000 rows .* limit of 10,000 cells"):
            read_table(folder, max_bytes=40_000)

    def test_parts_must_have_the_same_columns(self, tmp_path: Path) -> None:
        first = pd.DataFrame({"a": [0, 1], "b": [0, 1]})
        folder = self.write(tmp_path / "t", [first, first.rename(columns={"b": "c"})])
        with pytest.raises(InputError, match=r"part-1.parquet has other columns"):
            read_table(folder)
        with pytest.raises(InputError, match="folder without parquet files"):
            read_table(tmp_path)


class TestArrow:
    @pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
    def test_arrow_tables_are_read_like_frames(self, kind: pa.DataType) -> None:
        frame = pd.DataFrame({"a": [1, 2, None], "b": ["x", "y", "x"], "c": [0.5, 1.0, 0.5]})
        table = arrow(frame)
        table = table.set_column(1, "b", table.column("b").cast(kind))
        table = pa.concat_tables([table, table])
        expected = read_table(pd.concat([frame, frame]), missing="state")
        assert read_table(table, missing="state").fingerprint == expected.fingerprint
        assert PairCounts(table.drop_columns("a")).n_rows == 6

    def test_large_integers_stay_exact_beside_gaps(self) -> None:
        numbers = [2**60, 2**60 + 1, None]
        table = read_table(pa.table({"a": numbers, "b": [1, 2, 1]}), missing="state")
        assert table.labels[0] == (str(2**60), str(2**60 + 1), "missing")

    def test_any_object_with_the_interface_is_a_table(self) -> None:
        class Stream:
            def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
                return arrow(TestRowNames.frame).__arrow_c_stream__(requested_schema)

        assert read_table(Stream()).fingerprint == read_table(TestRowNames.frame).fingerprint

    def test_nested_columns_are_refused(self) -> None:
        with pytest.raises(InputError, match="column 'b' is nested"):
            read_table(pa.table({"a": [1, 2], "b": [[1], [2]]}))
