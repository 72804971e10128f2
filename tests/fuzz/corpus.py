"""Corpus of inputs that have failed, by cause of failure, which the tests read again.

Inputs that the fuzzer found and made smaller are files in the folder ``found``; add those it saves.
Causes that a test checks by a property are not repeated here: names of files and archive entries
(test_upload_names.py), arguments (test_command_line_input.py), small files that are large in memory
(test_hostile_files.py).
"""

from __future__ import annotations

import base64
import functools
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.fuzz.cases import Case, encoded
from tests.fuzz.parquet_files import flipped
from tests.fuzz.smaller import read_case

FOUND = Path(__file__).parent / "found"
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


def _request(head: str, body: bytes = b"") -> Case:
    lines = head.strip().replace("\n", "\r\n")
    return Case("request", (("request", encoded(lines) + b"\r\n\r\n" + body),), {})


_LONG = "x" * 60_000

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
