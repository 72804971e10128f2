"""Corpus of inputs that have failed, by cause of failure, which the tests read again.

Inputs that the fuzzer found and made smaller are files in the folder ``found``; add those it saves.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import functools
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.fuzz.archives import Entry, zip_of
from tests.fuzz.cases import Case, encoded
from tests.fuzz.models import model_files
from tests.fuzz.parquet_files import flipped
from tests.fuzz.smaller import read_case
from tests.hostile_files import parquet_of

FOUND = Path(__file__).parent / "found"
_ROWS = 12_000_000
# Columns a (1, 2, 1) and b (x, y, x) as pyarrow 25 writes them: 708 bytes.
_SMALL_PARQUET = (
    "eNqVUs1OwkAQ3q1kg6aHQtzNNumhB2gwKSgmEGPwMMXyE1EpF8+FENREwaICiUcfwMfy4NGDBx/Bh3C3P0LEi1/SncnM"
    "t/PNdLYLvTJNUZPmOsKgLEJaDaMISmwpolnKbEqoJj5i8HSS4emEy1Dhj2gmI45NUyYIxhuKkNimPFHaykneXB6L3xpV"
    "VMALjufrFfRaBXEyHVwOb3yaQjSVVzj2EVWl7edRx5DtEN3QbQsZgl9BRNMFhSqMsDfM3rHVstL/m0K3Zc9Ukf9CE6a2"
    "Q3QLEZGUGmqi0Q81ntgztl4U6xOvjrFWQvSYFGGv4p6VZh8K0g2uQq93fnEYjci/8K5EdQQCHkQ4AZiBM4IGwAjqYQoc"
    "B+BUOnWAdhhYWojcyAvPs2tR9EA4bsMNg2ERF34gXecq5ruxtAeOJ+s3AQZwvExG8NohqQWrrcZu042bmMn7Ldl3DGeF"
    "eYS4OfGDu4fhfXEwmRT9IBjPzMdhML0a35r71dJeqazbYsNyyapYVVe8329FFnCd"
)


def small_parquet() -> bytes:
    """Return a parquet file of three rows."""
    return zlib.decompress(base64.b64decode(_SMALL_PARQUET))


def _table(content: bytes, name: str = "t.parquet", target: str = "table") -> Case:
    return Case(target, ((name, content),), {})


def _flips(bit: int) -> Case:
    return Case("flips", (("t.parquet", small_parquet()),), {"bit": bit})


def _repeated(value: pa.Scalar) -> Case:
    """Return two columns that repeat a value twelve million times in a few kilobytes."""
    indices = pa.array(np.zeros(_ROWS, dtype=np.int8))
    column = pa.DictionaryArray.from_arrays(indices, pa.array([value.as_py()], value.type))
    table = pa.table({"a": column, "b": column})
    # Without the schema of arrow, the columns are read as what is in the dictionary.
    return _table(parquet_of(table, store_schema=False))


def _archive(name: str) -> Case:
    """Return a result folder whose model has a hostile name."""
    entries = [
        Entry(encoded(name), model_files()["model.uai"], flags=0x800),
        Entry(b"model.names.json", model_files()["model.names.json"]),
    ]
    return Case("model", (("m.zip", zip_of(entries)),), {})


def _model(name: str) -> Case:
    return Case("model", ((name, model_files()["model.uai"]),), {})


def _command(*arguments: str, full: bool = False) -> Case:
    files = (
        ("model.uai", model_files()["model.uai"]),
        ("t.csv", b"a,b\n" + b"0,1\n1,0\n1,1\n" * 9),
    )
    return Case("command", files, {"arguments": list(arguments), "full": full})


def _learn(*arguments: str, full: bool = False) -> Case:
    return _command("learn", *arguments, "--learner", "chow-liu", "--out", "out", full=full)


def _infer(*arguments: str, full: bool = False) -> Case:
    return _command("infer", *arguments, "--out", "out", full=full)


def _request(head: str, body: bytes = b"") -> Case:
    lines = head.strip().replace("\n", "\r\n")
    return Case("request", (("request", encoded(lines) + b"\r\n\r\n" + body),), {})


_LONG = "x" * 60_000
_NINES = "9" * 400

# Failure → kind, input.
RECIPES: Mapping[str, tuple[str, Callable[[], Case]]] = {
    "abort: one bit of a footer": ("parquet", lambda: _table(flipped(small_parquet(), 195, 0))),
    "abort: the same in chunks": (
        "parquet",
        lambda: _table(flipped(small_parquet(), 195, 0), target="chunked"),
    ),
    "abort: the same as series": (
        "parquet",
        lambda: _table(flipped(small_parquet(), 195, 0), target="series"),
    ),
    **{
        f"abort: bit {bit} of any byte": ("parquet", functools.partial(_flips, bit))
        for bit in range(8)
    },
    "memory: decimals": (
        "parquet",
        lambda: _repeated(pa.scalar(decimal.Decimal(1), pa.decimal128(20, 2))),
    ),
    "memory: times": (
        "parquet",
        lambda: _repeated(pa.scalar(datetime.time(1), pa.time64("us"))),
    ),
    "memory: dates": (
        "parquet",
        lambda: _repeated(pa.scalar(datetime.date(2020, 1, 1), pa.date32())),
    ),
    "a name of 300 characters in an archive": ("zip", lambda: _archive("x" * 300 + ".uai")),
    "a name of 10,000 characters in an archive": ("zip", lambda: _archive("x" * 10_000 + ".uai")),
    "a NUL in a name in an archive": ("zip", lambda: _archive("a\0b.uai")),
    "a lone surrogate in a name in an archive": ("zip", lambda: _archive("\ud800.uai")),
    "names that are a way out of an archive": ("zip", lambda: _archive("../../../x.uai")),
    "a model's name of 300 characters": ("uai", lambda: _model("x" * 300 + ".uai")),
    "a NUL in a model's name": ("uai", lambda: _model("a\0b.uai")),
    "a lone surrogate in a model's name": ("uai", lambda: _model("\ud800.uai")),
    "a line end in a model's name": ("uai", lambda: _model("a\nb.uai")),
    "learn: a name of 300 characters": ("command", lambda: _learn("x" * 300)),
    "learn: a name of 5,000 characters": ("command", lambda: _learn("x" * 5000)),
    "learn: a NUL in a name": ("command", lambda: _learn("a\0b.csv")),
    "infer: a name of 300 characters": ("command", lambda: _infer("x" * 300)),
    "infer: a name of 5,000 characters": ("command", lambda: _infer("x" * 5000 + ".uai")),
    "infer: a NUL in a name": ("command", lambda: _infer("a\0b.uai")),
    "infer: memory of 400 nines": (
        "command",
        lambda: _infer("model.uai", "--max-memory", _NINES),
    ),
    "learn: memory of 400 nines": ("command", lambda: _learn("t.csv", "--max-memory", _NINES)),
    "learn: memory of 400 nines of gigabytes": (
        "command",
        lambda: _learn("t.csv", "--max-memory", _NINES + "G"),
    ),
    "learn: standard output is full": ("command", lambda: _learn("t.csv", full=True)),
    "infer: standard output is full": ("command", lambda: _infer("model.uai", full=True)),
    "learn: a value of 5,000 characters": (
        "command",
        lambda: _learn("t.csv", "--max-edges", "9" * 5000),
    ),
    "learn: an option of 5,000 characters": ("command", lambda: _learn("t.csv", "--" + "x" * 5000)),
    "learn: a folder of 5,000 characters": (
        "command",
        lambda: _command("learn", "t.csv", "--out", "x" * 5000),
    ),
    "link: a late position of a race": (
        "link",
        lambda: Case("link", (), {"query": "at=1e15&axis=tests"}),
    ),
    "log: a long host": ("request", lambda: _request(f"GET / HTTP/1.1\nHost: {_LONG}")),
    "log: a long origin": (
        "request",
        lambda: _request(f"POST / HTTP/1.1\nHost: @HOST@\nOrigin: {_LONG}\nContent-Length: 0"),
    ),
    "log: a host with line ends": (
        "request",
        lambda: _request("GET / HTTP/1.1\nHost: a\x0bb\x85c\u2028d"),
    ),
}


def _saved_case(path: Path) -> Case:
    return read_case(path)[1]


def corpus() -> dict[str, tuple[str, Callable[[], Case]]]:
    """Return all inputs: kind and a function that makes the case, by name."""
    saved = {
        path.stem: (read_case(path)[0], functools.partial(_saved_case, path))
        for path in sorted(FOUND.glob("*.json"))
    }
    return {**RECIPES, **saved}
