"""Parquet files of all column types, with mutations of footer, pages and lengths."""

from __future__ import annotations

import datetime
import decimal
import functools
import io
import struct
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tests.fuzz.cases import Case, encoded, hostile_name, hostile_text, mutated_bytes
from tests.fuzz.tables import series_options, table_options
from tests.hostile_files import parquet_of

_ROWS = 24
_MAGIC = b"PAR1"
_VARINTS = (
    *(0, 1, 2, 3, 7, 63, 64, 127, 128, 255, 1000, 2**14, 2**16, 2**21, 2**31 - 1, 2**31, 2**32 - 1),
    *(2**32, 2**40, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**70 - 1),
)


class Base(NamedTuple):
    """A valid file.

    Attributes
    ----------
    content : bytes
    fields : tuple of (int, int, bool)
        Start and end of every number and text of the footer, and whether it is a number.
    pages : tuple of (int, int, bool)
        The same of all page headers.
    """

    content: bytes
    fields: tuple[tuple[int, int, bool], ...]
    pages: tuple[tuple[int, int, bool], ...]

    @property
    def footer(self) -> int:
        """Place where the footer starts."""
        return len(self.content) - 8 - _footer_length(self.content)


def parquet_case(rng: Random) -> Case:
    """Return a damaged parquet file, read as a table, in chunks or as series."""
    bases = all_bases()
    base = bases[rng.randrange(len(bases))]
    name = hostile_name(rng, rng.choice((".parquet", ".parquet", ".pq")))
    target = rng.choice(("table", "table", "chunked", "series"))
    options = series_options(rng) if target == "series" else table_options(rng)
    return Case(target, ((name, mutated_parquet(rng, base, bases)),), options)


def mutated_parquet(rng: Random, base: Base, bases: tuple[Base, ...]) -> bytes:
    """Return `base` with one or two changes of its structure."""
    content = base.content
    match rng.randrange(12):
        case 0 | 1:
            return flipped(content, rng.randrange(len(content)), rng.randrange(8))
        case 2 | 3:
            return flipped(content, rng.randrange(base.footer, len(content)), rng.randrange(8))
        case 4 | 5 | 6:
            return _with_fields(rng, content, base.fields, rng.choice((1, 1, 2)))
        case 7:
            return _with_fields(rng, content, base.pages, 1) if base.pages else content
        case 8:
            length = rng.choice((0, 1, 8, 2**31, 2**32 - 1, len(content), rng.randrange(4096)))
            return content[:-8] + struct.pack("<I", length) + _MAGIC
        case 9:
            return mutated_bytes(rng, content)
        case 10:
            return _spliced(rng, base, bases[rng.randrange(len(bases))])
        case _:
            at = rng.randrange(4, base.footer)
            noise = rng.randbytes(rng.choice((1, 2, 4, 16)))
            return content[:at] + noise + content[at + len(noise) :]


def flipped(content: bytes, at: int, bit: int) -> bytes:
    """Return `content` with one bit changed."""
    data = bytearray(content)
    data[at] ^= 1 << bit
    return bytes(data)


def _with_fields(
    rng: Random, content: bytes, fields: tuple[tuple[int, int, bool], ...], most: int
) -> bytes:
    """Replace numbers and texts of the footer and update its length."""
    chosen = sorted((fields[rng.randrange(len(fields))] for _ in range(most)), reverse=True)
    footer = len(content) - 8 - _footer_length(content)
    moved = 0
    for start, end, is_number in dict.fromkeys(chosen):
        if is_number:
            new = _varint(rng.choice(_VARINTS) if rng.random() < 0.7 else rng.randrange(256))
        else:
            text = encoded(hostile_text(rng))
            new = _varint(len(text)) + text
        content = content[:start] + new + content[end:]
        moved += len(new) - (end - start) if start >= footer else 0
    if moved:
        content = content[:-8] + struct.pack("<I", _footer_length(content) + moved) + _MAGIC
    return content


def _spliced(rng: Random, first: Base, second: Base) -> bytes:
    if rng.random() < 0.5:  # the pages of one under the footer of the other
        return first.content[: first.footer] + second.content[second.footer :]
    cut = rng.randrange(len(first.content))
    return first.content[:cut] + second.content[min(cut, len(second.content) - 8) :]


def _footer_length(content: bytes) -> int:
    return int(struct.unpack("<I", content[-8:-4])[0])


def _varint(value: int) -> bytes:
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


# ------------------------------------------------------------------------------ compact protocol


class _Walk:
    """Walk over a struct of Thrift's compact protocol that notes places of numbers and texts."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at
        self.found: list[tuple[int, int, bool]] = []

    def number(self) -> int:
        start, value, shift = self.at, 0, 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                self.found.append((start, self.at, True))
                return value

    def struct(self) -> None:
        while (head := self.data[self.at]) != 0:
            self.at += 1
            if head >> 4 == 0:
                self.number()
            if head & 15 > 2:  # 1 and 2 are the booleans, which stand in the head
                self.value(head & 15)
        self.at += 1

    def value(self, kind: int) -> None:
        match kind:
            case 1 | 2 | 3:
                self.at += 1
            case 4 | 5 | 6:
                self.number()
            case 7:
                self.at += 8
            case 8:
                start = self.at
                length = self.number()
                self.found.pop()
                self.at += length
                self.found.append((start, self.at, False))
            case 9 | 10:
                self.items()
            case 12:
                self.struct()
            case _:
                raise ValueError(f"The files that are generated have no field of type {kind}.")

    def items(self) -> None:
        head = self.data[self.at]
        self.at += 1
        count = self.number() if head >> 4 == 15 else head >> 4
        for _ in range(count):
            self.value(head & 15)


def _fields(content: bytes, at: int) -> tuple[tuple[int, int, bool], ...]:
    walk = _Walk(content, at)
    walk.struct()
    return tuple(walk.found)


def _base(table: pa.Table, **options: Any) -> Base:
    content = parquet_of(table, **options)
    facts = parquet.read_metadata(io.BytesIO(content))
    pages: list[tuple[int, int, bool]] = []
    for group in range(facts.num_row_groups):
        for i in range(facts.num_columns):
            column = facts.row_group(group).column(i)
            for at in {column.data_page_offset, column.dictionary_page_offset} - {None}:
                pages += _fields(content, at)
    footer = len(content) - 8 - _footer_length(content)
    return Base(content, _fields(content, footer), tuple(pages))


# ---------------------------------------------------------------------------------------- bases


def columns_of_all_types() -> dict[str, pa.Array]:
    """Return a column of every type that parquet files can have, 24 values each."""
    k = np.arange(_ROWS)
    day = datetime.date(2020, 1, 1)
    noon = datetime.datetime(2020, 1, 1, 12)
    codes = (k % 3).tolist()
    columns: dict[str, pa.Array] = {
        str(kind): pa.array(codes, kind)
        for kind in (
            *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16()),
            *(pa.uint32(), pa.uint64(), pa.float32(), pa.float64()),
        )
    }
    columns["float16"] = pa.array(np.array(codes, dtype=np.float16))
    columns["bool"] = pa.array([c > 0 for c in codes])
    columns["string"] = pa.array([f"x{c}" for c in codes])
    columns["with null"] = pa.array([None if c == 2 else f"y{c}" for c in codes])
    columns["large_string"] = pa.array([f"x{c}" for c in codes], pa.large_string())
    columns["binary"] = pa.array([b"x%d" % c for c in codes], pa.binary())
    columns["fixed binary"] = pa.array([b"x%d" % c for c in codes], pa.binary(2))
    columns["decimal128"] = pa.array([decimal.Decimal(c) for c in codes], pa.decimal128(20, 2))
    columns["decimal256"] = pa.array([decimal.Decimal(c) for c in codes], pa.decimal256(50, 2))
    columns["date32"] = pa.array([day + datetime.timedelta(c) for c in codes])
    columns["date64"] = pa.array([day + datetime.timedelta(c) for c in codes], pa.date64())
    columns["time32"] = pa.array([datetime.time(c) for c in codes], pa.time32("s"))
    columns["time64"] = pa.array([datetime.time(c) for c in codes], pa.time64("us"))
    moments = [noon + datetime.timedelta(hours=int(i)) for i in k]
    for unit in ("s", "ms", "us", "ns"):
        columns[f"timestamp {unit}"] = pa.array(moments, pa.timestamp(unit))
    columns["timestamp with zone"] = pa.array(moments, pa.timestamp("us", "Europe/Berlin"))
    columns["duration"] = pa.array([datetime.timedelta(c) for c in codes])
    columns["dictionary"] = pa.array([f"x{c}" for c in codes]).dictionary_encode()
    columns["dictionary of int"] = pa.array(codes).dictionary_encode()
    columns["null"] = pa.nulls(_ROWS)
    columns["list"] = pa.array([[c] * c for c in codes])
    columns["struct"] = pa.array([{"p": c, "q": str(c)} for c in codes])
    columns["map"] = pa.array([[("p", c)] for c in codes], pa.map_(pa.string(), pa.int64()))
    return columns


def _writer_options() -> Iterator[dict[str, Any]]:
    """Yield options of the writer."""
    yield {"compression": "none", "use_dictionary": False}
    yield {"compression": "snappy", "row_group_size": 10}
    yield {"compression": "gzip", "data_page_version": "2.0", "data_page_size": 32}
    yield {"compression": "zstd", "write_page_index": True, "write_page_checksum": True}
    yield {"compression": "brotli", "version": "1.0", "write_statistics": False}
    yield {"compression": "lz4", "use_deprecated_int96_timestamps": True, "store_schema": False}


@functools.cache
def all_bases() -> tuple[Base, ...]:
    """Return files with every type beside a column of text, and some with many columns."""
    columns = columns_of_all_types()
    plain = pa.array([f"v{i % 2}" for i in range(_ROWS)])
    options = list(_writer_options())
    bases = [
        _base(pa.table({"a": column, "b": plain}), **options[i % len(options)])
        for i, column in enumerate(columns.values())
    ]
    # The smallest: the footer is most of the file.
    small = pa.table({"a": [1, 2, 1], "b": ["x", "y", "x"]})
    bases += [_base(small, **option) for option in (*options, {})]
    flat = {name: c for name, c in columns.items() if not pa.types.is_nested(c.type)}
    bases += [_base(pa.table(flat), **option) for option in options[:3]]
    frame = small.to_pandas().set_index("a")
    bases.append(_base(pa.Table.from_pandas(frame)))
    numbers = pa.array(np.arange(_ROWS) * 0.5)
    for encoding in ("DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "PLAIN"):
        whole = pa.array(np.arange(_ROWS, dtype=np.int32))
        table = pa.table({"a": whole if encoding.startswith("DELTA") else numbers})
        bases.append(_base(table, use_dictionary=False, column_encoding={"a": encoding}))
    texts = pa.table({"a": plain, "b": plain})
    for encoding in ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"):
        chosen = {"a": encoding, "b": "PLAIN"}
        bases.append(_base(texts, use_dictionary=False, column_encoding=chosen))
    # Time series, wide and long.
    bases.append(_base(pa.table({"time": numbers, "a": numbers, "b": columns["float"]})))
    series = {"time": columns["timestamp ms"], "series": plain, "value": numbers}
    bases.append(_base(pa.table(series)))
    return tuple(bases)
