"""Hostile files, generated when a test needs them; none is stored in the repository.

``TABLES``, ``SERIES``, ``MODELS`` and ``PAIRS`` are uploaded as a table, time series, a model,
and true edges or positions of the variables a and b: description → file name, content.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
from pyarrow import parquet

LONG = 1_000_000  # characters
BAD_NAMES = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "<svg/onload=alert(3)>",
    "javascript:alert(4)",
    "${alert(5)}{{7*7}}",
    "![a](http://example.com/a.png) **bold** [b](javascript:alert(6))",
    "$\\frac{1}{2}$ :red[x] :material/home:",
    '"><b>bold</b><a href="http://example.com/b">link</a><sup>9</sup>',
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1:A9)",
    "\u202egnp.exe\u202c",
    "z\u0335\u0321\u0358\u0334a\u0489l\u0488go\u0300\u0301\u0302",
    "zero\u200bwidth\u200d\u2060\ufeffjoin",
    "\u05d0\u05d1\u0627\u0644 mixed \u0645\u0631",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\U000e0041\U0010ffff",
    "line\u2028end\u2029\x85\x0b\x0cend",
    "'; DROP TABLE runs; --",
    "%n%s%p ../../etc/passwd C:\\x",
    "__proto__",
    "constructor",
    "NaN null undefined",
)


def csv_of(names: tuple[str, ...], rows: int = 40) -> bytes:
    """Return a table with `names` as names and, in another order, as labels."""

    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    lines = [",".join(map(quoted, names))]
    lines += [
        ",".join(quoted(names[(i * i + k) % (2 + i % 2)]) for i in range(len(names)))
        for k in range(rows)
    ]
    return "\n".join(lines).encode()


def parquet_of(table: pa.Table, **options: object) -> bytes:
    file = io.BytesIO()
    parquet.write_table(table, file, **options)
    return file.getvalue()


def sixty_million_zeros() -> pa.Array:
    return pa.DictionaryArray.from_arrays(np.zeros(60_000_000, dtype=np.int8), [0])


@functools.cache
def many_rows_of_nothing() -> bytes:
    """Return a few kilobytes that stand for two columns of sixty million numbers each."""
    column = sixty_million_zeros()
    return parquet_of(pa.table({"a": column, "b": column}))


def wide_cells() -> bytes:
    """Return cells that unpack to two hundred megabytes of text."""
    texts = pa.array(["x" * 2_000_000 + str(k) for k in range(60)])
    return parquet_of(pa.table({"a": texts, "b": texts}), compression="zstd", use_dictionary=False)


def long_lists() -> bytes:
    """Return two rows whose lists hold thirty million numbers."""
    lists = pa.ListArray.from_arrays([0, 30_000_000, 60_000_000], sixty_million_zeros())
    return parquet_of(pa.table({"a": lists, "b": pa.array([0, 1])}))


def deflated(files: Mapping[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as content:
        for name, data in files.items():
            content.writestr(name, data)
    return archive.getvalue()


@functools.cache
def gzipped_zeros(megabytes: int) -> bytes:
    """Return a table of `megabytes` of zeros, compressed, made without holding them."""
    piece = b"0,0\n" * 250_000
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        for _ in range(megabytes):
            packed.write(piece)
    return file.getvalue()


@functools.cache
def zeros(megabytes: int) -> bytes:
    """Return an archive with one model file of `megabytes` of zeros, made without holding them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece, checksum, packed = b"0" * 1_000_000, 0, bytearray()
    for _ in range(megabytes):
        checksum = zlib.crc32(piece, checksum)
        packed += packer.compress(piece)
    packed += packer.flush()
    name, size = b"m.uai", megabytes * 1_000_000
    local = struct.pack(
        "<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 8, 0, 0x21, checksum, len(packed), size, len(name), 0
    )
    entry = struct.pack(
        "<4sHHHHHHIIIHHHHHII",
        *(b"PK\1\2", 20, 20, 0, 8, 0, 0x21, checksum, len(packed), size, len(name)),
        *(0, 0, 0, 0, 0, 0),
    )
    body = local + name + bytes(packed)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(entry) + len(name), len(body), 0)
    return body + entry + name + end


def nested_zip() -> bytes:
    inner = deflated({"m.uai": b"0" * 10_000_000})
    return deflated({"inner.zip": inner, "m.json": b"[" * 5_000_000})


TABLES: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "hostile names and labels": ("t.csv", lambda: csv_of(BAD_NAMES)),
    "100,000 columns": ("t.csv", lambda: b",".join([b"a"] * 100_000) + b"\n"),
    "5,000 columns": (
        "t.csv",
        lambda: b",".join(b"v%d" % i for i in range(5000)) + b"\n" + (b"0," * 4999 + b"1\n") * 3,
    ),
    "a name of a million characters": (
        "t.csv",
        lambda: b"a" * LONG + b",b\n" + b"0,1\n1,0\n" * 20,
    ),
    "a label of a million characters": (
        "t.csv",
        lambda: b"a,b\n" + b"0,1\n1,0\n" * 20 + b"x" * LONG + b",1\n",
    ),
    "a number of a million digits": (
        "t.csv",
        lambda: b"a,b\n" + b"0,1\n1,0\n" * 20 + b"9" * LONG + b",1\n",
    ),
    "numbers of five thousand digits as names": (
        "t.csv",
        lambda: b"1" * 5000 + b"," + b"2" * 5000 + b"\n" + b"0,1\n1,0\n" * 20,
    ),
    "NUL bytes": ("t.csv", lambda: b"a,b\n0,1\n\0,0\n"),
    "nothing but NUL bytes": ("t.csv", lambda: b"\0" * 1_000_000),
    "lone surrogates": ("t.csv", lambda: b"a,b\n0,\xed\xa0\x80\n1,1\n"),
    "overlong UTF-8": ("t.csv", lambda: b"a,b\n0,\xc0\xaf\n1,1\n"),
    "an unbalanced quotation mark": (
        "t.csv",
        lambda: b'a,b\n"0,1\n' + b"1,0\n" * 500_000,
    ),
    "nothing but quotation marks": ("t.csv", lambda: b'"' * 1_000_001),
    "a billion as a state": (
        "t.csv",
        lambda: b"a,b\n1000000000,-1\n0,1\n1,-99999999999999999999\n",
    ),
    "only line ends": ("t.csv", lambda: b"\r\n" * 500_000),
    "line ends of old": ("t.csv", lambda: b"a,b\r0,1\r1,0\r"),
    "a million short lines and a long one": (
        "t.csv",
        lambda: b"a,b\n" + b"0,1\n" * 1_000_000 + b"0,1,2\n",
    ),
    "a gzip bomb of 400 MB": ("t.data.gz", lambda: gzipped_zeros(400)),
    "a gzip file that ends early": ("t.csv.gz", lambda: gzipped_zeros(2)[:-9]),
    "gzip in gzip": ("t.csv.gz", lambda: gzip.compress(gzipped_zeros(2))),
    "a table that calls itself gzip": ("t.csv.gz", lambda: b"a,b\n0,1\n1,0\n"),
    "parquet: many rows of nothing": ("t.parquet", many_rows_of_nothing),
    "parquet: cells that unpack": ("t.parquet", wide_cells),
    "parquet: long lists": ("t.parquet", long_lists),
    "parquet: only a magic word": ("t.parquet", lambda: b"PAR1" * 1000),
    "parquet: a footer of four gigabytes": (
        "t.parquet",
        lambda: b"PAR1" + b"\0" * 100 + b"\xff\xff\xff\xff" + b"PAR1",
    ),
    "parquet: a pickle": ("t.parquet", lambda: b"\x80\x04\x95" + b"cos\nsystem\n(S'exit'\ntR."),
    "a pickle that calls itself CSV": ("t.csv", lambda: b"cos\nsystem\n(S'touch here'\ntR."),
}

SERIES: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "100,000 columns": TABLES["100,000 columns"],
    "parquet: many rows of nothing": TABLES["parquet: many rows of nothing"],
    "a number of a million digits": TABLES["a number of a million digits"],
    "numbers beyond all bounds": ("s.csv", lambda: b"a,b\n1e999,0\n0,1\n1,2\n"),
    "times a thousand years apart": (
        "s.csv",
        lambda: b"time,a,b\n0,1,2\n1,2,3\n1000000000000,3,4\n",
    ),
    "dates beyond the calendar": ("s.csv", lambda: b"time,a,b\n99999-01-01,1,2\n99999-01-02,2,3\n"),
    "a billion series in a long table": (
        "s.csv",
        lambda: b"time,series,value\n" + b"".join(b"%d,s%d,1\n" % (k, k) for k in range(20_000)),
    ),
}

MODELS: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "a zip bomb of 250 MB": ("m.zip", lambda: zeros(250)),
    "a zip bomb that says less than it holds": (
        "m.zip",
        lambda: zeros(250).replace(struct.pack("<I", 250_000_000), struct.pack("<I", 1000)),
    ),
    "a zip bomb just below a limit": ("m.zip", lambda: zeros(45)),
    "zips in a zip": ("m.zip", nested_zip),
    "a billion variables": ("m.uai", lambda: b"MARKOV 1000000000 2 2"),
    "a billion states": ("m.uai", lambda: b"MARKOV 2 1000000000 1000000000 0"),
    "a billion tables": ("m.uai", lambda: b"MARKOV 2 2 2 1000000000 2 0 1"),
    "a table of 10^15 entries": (
        "m.uai",
        lambda: b"MARKOV 2 60000 60000 1 2 0 1 3600000000 1 1 1",
    ),
    "negative states": ("m.uai", lambda: b"MARKOV 2 -2 2 0"),
    "a number of a million digits": ("m.uai", lambda: b"MARKOV " + b"9" * LONG),
    "numbers that are none": ("m.uai", lambda: b"MARKOV 1 2 1 1 0 2 nan inf"),
    "twenty million words": ("m.uai", lambda: b"MARKOV 2 2 2 0 " + b"10 " * 10_000_000),
    "brackets without end": ("m.json", lambda: b"[" * LONG),
    "a number of JSON without end": (
        "m.json",
        lambda: b'{"nodes": [{"id": ' + b"9" * LONG + b"}], " + b'"edges": []}',
    ),
    "a billion laughs": (
        "m.graphml",
        lambda: (
            b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha">'
            + b"".join(b'<!ENTITY %c "%s">' % (98 + k, b"&%c;" % (97 + k) * 10) for k in range(9))
            + b"]><graphml>&j;</graphml>"
        ),
    ),
    "a file of the machine": (
        "m.graphml",
        lambda: (
            b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><graphml><graph>'
            b'<node id="&e;"/></graph></graphml>'
        ),
    ),
    "elements without end": ("m.graphml", lambda: b"<a>" * 300_000),
    "prototypes": (
        "m.json",
        lambda: json.dumps(
            {
                "__proto__": {"x": 1},
                "nodes": [{"id": "__proto__"}, {"id": "constructor"}],
                "edges": [{"source": "__proto__", "target": "constructor", "weight": 1e308}],
            }
        ).encode(),
    ),
}

PAIRS: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "a billion as a column": ("p.csv", lambda: b"source,target\n0,1000000000\n"),
    "a million digits": ("p.csv", lambda: b"source,target\n0," + b"9" * LONG + b"\n"),
    "an unbalanced quotation mark": (
        "p.csv",
        lambda: b'source,target\n"a,b\n' + b"a,b\n" * 100_000,
    ),
    "a cell of a million characters": ("p.csv", lambda: b"a," + b"x" * LONG + b"\n"),
    "NUL bytes": ("p.csv", lambda: b"a,b\n\0,\0\n"),
    "many pairs": ("p.csv", lambda: b"a,b\n" * 300_000),
}
