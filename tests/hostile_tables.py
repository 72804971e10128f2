"""Generated tables that are small as files and large in memory.

``TABLE_CORPUS`` and ``SERIES_CORPUS`` map a description to a file name and a function that makes
its content. Nothing is stored.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
from hostile_files import parquet_of

ROWS = 6_000_000
_DAY = dt.date(2020, 1, 31)
_MOMENT = dt.datetime(2020, 1, 31, 12, 30)

# Some values of every type that a column of a parquet file can have.
COLUMNS: Mapping[str, pa.Array] = {
    "bool": pa.array([True, False, None]),
    "int8": pa.array([1, -2, 3], pa.int8()),
    "int64": pa.array([1, 2**40, None]),
    "uint64": pa.array([1, 2**60, 5], pa.uint64()),
    "half": pa.array([0.5, 1.5, None], pa.float16()),
    "float": pa.array([0.1, -0.0, 0.0], pa.float32()),
    "double": pa.array([0.1, float("nan"), None]),
    "decimal32": pa.array([Decimal("1.50"), Decimal("-2.25"), None], pa.decimal32(5, 2)),
    "decimal128": pa.array([Decimal("1.50"), Decimal("2.00"), None], pa.decimal128(21, 2)),
    "decimal256": pa.array([Decimal("1.50"), Decimal("2.00"), None], pa.decimal256(50, 2)),
    "date32": pa.array([_DAY, _DAY + dt.timedelta(1), None]),
    "date64": pa.array([_DAY, _DAY + dt.timedelta(1), None], pa.date64()),
    "time32": pa.array([dt.time(1, 2, 3), dt.time(4), None], pa.time32("ms")),
    "time64": pa.array([dt.time(1, 2, 3, 4), dt.time(4), None], pa.time64("us")),
    "timestamp": pa.array([_MOMENT, dt.datetime(2021, 1, 1), None], pa.timestamp("us")),
    "timestamp, fractions": pa.array([1, 10**9, None], pa.timestamp("ns")),
    "timestamp, zone": pa.array([_MOMENT, None, _MOMENT], pa.timestamp("ms", "UTC")),
    "timestamp, far zone": pa.array([_MOMENT, None], pa.timestamp("s", "Asia/Tokyo")),
    "timestamp, ancient": pa.array([-62_000_000_000, 300_000_000_000], pa.timestamp("s")),
    "duration": pa.array([1, 86_400_000_000, None], pa.duration("us")),
    "text": pa.array(["x", " y ", None, "NA", ""]),
    "large text": pa.array(["x", "y", None], pa.large_string()),
    "text of numbers": pa.array(["1", "1.0", "+1", "2e3", "007"]),
    "bytes": pa.array([b"x", b"y", None]),
    "fixed bytes": pa.array([b"xy", b"zz", None], pa.binary(2)),
    "categories": pa.array(["x", "y", None]).dictionary_encode(),
    "categories of numbers": pa.array([3, 4, None]).dictionary_encode(),
    "null": pa.nulls(3),
    "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1", "2", None])),
}


def repeated(values: pa.Array, rows: int = ROWS) -> pa.Array:
    """Return `rows` rows that go through `values` again and again."""
    return values.take(pa.array(np.arange(rows) % len(values)))


def twice(values: pa.Array, **options: object) -> bytes:
    """Return a parquet file with a column two times."""
    return parquet_of(pa.table({"a": values, "b": values}), **options)


def packed_numbers(numbers: np.ndarray, names: Sequence[str] = ("a", "b")) -> bytes:
    """Return a parquet file of columns that differ in every row and still take little space."""
    column = pa.array(numbers)
    return parquet_of(
        pa.table(dict.fromkeys(names, column)),
        compression="zstd",
        use_dictionary=False,
        column_encoding="DELTA_BINARY_PACKED",
    )


def shared_beginnings() -> bytes:
    """Return texts of a megabyte each that are stored as their few last characters."""
    texts = pa.array(["x" * 1_000_000 + str(k) for k in range(200)])
    encoding = dict.fromkeys("ab", "DELTA_BYTE_ARRAY")
    return twice(texts, compression="zstd", use_dictionary=False, column_encoding=encoding)


def wide_parquet(columns: int) -> bytes:
    names = [f"v{i}" for i in range(columns)]
    return parquet_of(pa.table({name: pa.array([k % 3, 2]) for k, name in enumerate(names)}))


def wide_csv(columns: int, rows: int) -> bytes:
    names = b",".join(b"v%d" % i for i in range(columns))
    return names + b"\n" + (b"0," * (columns - 1) + b"1\n" + b"1," * (columns - 1) + b"0\n") * rows


def random_csv(columns: int, rows: int) -> bytes:
    """Return rows of random digits 0 … 3."""
    text = np.full((rows, 2 * columns), ord(","), dtype=np.uint8)
    text[:, ::2] = ord("0") + np.random.default_rng(0).integers(0, 4, (rows, columns))
    text[:, -1] = ord("\n")
    return b",".join(b"v%d" % i for i in range(columns)) + b"\n" + text.tobytes()


def long_series(moments: np.ndarray) -> bytes:
    """Return a long table of eight series."""
    rows = len(moments)
    series = repeated(pa.array(list("abcdefgh")), rows)
    value = pa.array((np.arange(rows) % 7).astype(np.int8))
    return parquet_of(
        pa.table({"time": pa.array(moments), "series": series, "value": value}),
        compression="zstd",
    )


def _repeated_file(kind: str) -> tuple[str, Callable[[], bytes]]:
    return "t.parquet", lambda: twice(repeated(COLUMNS[kind]))


TABLE_CORPUS: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    **{
        f"{kind}, few values": _repeated_file(kind)
        for kind in (
            *("bool", "int64", "double", "decimal128", "decimal32", "date32", "time64"),
            *("timestamp", "timestamp, zone", "text", "fixed bytes", "null"),
        )
    },
    "run lengths": ("t.parquet", lambda: twice(pa.array(np.zeros(12_000_000, np.int8)))),
    "all numbers differ": ("t.parquet", lambda: packed_numbers(np.arange(ROWS))),
    "all dates differ": (
        "t.parquet",
        lambda: packed_numbers(np.arange(700_000).astype("datetime64[D]")),
    ),
    "all times differ": (
        "t.parquet",
        lambda: packed_numbers(np.arange(2_000_000).astype("datetime64[us]")),
    ),
    "all texts differ": (
        "t.parquet",
        lambda: twice(pa.array([f"k{k}" for k in range(700_000)]), compression="zstd"),
    ),
    "wide cells of one value": (
        "t.parquet",
        lambda: twice(repeated(pa.array([b"x" * 20_000], pa.binary(20_000)), 30_000)),
    ),
    "shared beginnings": ("t.parquet", shared_beginnings),
    "nested": ("t.parquet", lambda: twice(pa.array([[1], [2]] * 3))),
    "structures": ("t.parquet", lambda: twice(pa.array([{"x": 1}, {"x": 2}]))),
    "10,000 columns of parquet": ("t.parquet", lambda: wide_parquet(10_000)),
    "50,000 columns of text": ("t.csv", lambda: wide_csv(49_999, 300)),
    "20,000 columns of text": ("t.csv", lambda: wide_csv(20_000, 5)),
    "many columns and rows of text": ("t.csv", lambda: random_csv(1000, 15_000)),
    "many rows of text": ("t.csv", lambda: b"a,b\n" + b"0,1\n1,0\n" * 5_000_000),
    "a missing value far down": (
        "t.csv",
        lambda: b"a,b\n" + b"0,1\n1,0\n" * 2_000_000 + b"NA,1\n",
    ),
    "a ragged line far down": ("t.csv", lambda: b"a,b\n" + b"0,1\n1,0\n" * 2_000_000 + b"1\n"),
    "a wrong byte far down": (
        "t.csv",
        lambda: b"a,b\n\xc3\xa4,1\n" + b"0,1\n1,0\n" * 2_000_000 + b"\xff,1\n",
    ),
}

SERIES_CORPUS: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "decimals": TABLE_CORPUS["decimal128, few values"],
    "dates": TABLE_CORPUS["date32, few values"],
    "all numbers differ": TABLE_CORPUS["all numbers differ"],
    "many rows of text": TABLE_CORPUS["many rows of text"],
    "long, few times": ("s.parquet", lambda: long_series(np.arange(ROWS) % 3)),
    "long, many times": ("s.parquet", lambda: long_series(np.arange(4_000_000) // 8)),
    "long, all times differ": (
        "s.parquet",
        lambda: long_series(np.arange(1_000_000).astype("datetime64[s]")),
    ),
    "long text": (
        "s.csv",
        lambda: (
            b"time,series,value\n"
            + b"".join(b"%d,%d,%d\n" % (k // 10, k % 10, k % 7) for k in range(700_000))
        ),
    ),
    "wide, a time that repeats": (
        "s.parquet",
        lambda: parquet_of(
            pa.table(
                {
                    "time": repeated(pa.array([1, 2], pa.timestamp("s"))),
                    "v": pa.array((np.arange(ROWS) % 7).astype(np.int8)),
                }
            )
        ),
    ),
}
