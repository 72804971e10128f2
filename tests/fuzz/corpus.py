"""Corpus of inputs that have failed, by cause of failure, which the tests read again.

Inputs that the fuzzer found and made smaller are files in the folder ``found``; add those it saves.
Causes that a test checks by a property are not repeated here: names of files and archive entries
(test_upload_names.py), arguments (test_command_line_input.py), small files that are large in memory
(test_hostile_files.py).
"""

from __future__ import annotations

import base64
import functools
import json
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.fuzz.cases import Case, encoded
from tests.fuzz.parquet_files import flipped

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


# Reduction and storage.

_TRIES = 80
_SECONDS = 20.0


def smaller(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Return a case that still fails, with less in it.

    Pieces of the first file or of the query are taken out, halves first.
    """
    until = time.monotonic() + _SECONDS
    tries = 0
    piece = max(1, len(_content(case)) // 2)
    while True:
        at = 0
        while at < len(_content(case)):
            tries += 1
            if tries > _TRIES or time.monotonic() > until:
                return case
            content = _content(case)
            shorter = _with_content(case, content[:at] + content[at + piece :])
            if fails(shorter):
                case = shorter
            else:
                at += piece
        if piece == 1:
            return case
        piece //= 2


def _content(case: Case) -> Any:
    return case.options["query"] if "query" in case.options else case.files[0][1]


def _with_content(case: Case, content: Any) -> Case:
    if "query" in case.options:
        return case._replace(options={**case.options, "query": content})
    return case._replace(files=((case.files[0][0], content), *case.files[1:]))


def case_json(case: Case, kind: str, cause: str) -> str:
    """Return a case as JSON, files in base64; :func:`read_case` reads it back."""
    files = [[name, base64.b64encode(content).decode()] for name, content in case.files]
    record = {"kind": kind, "cause": cause, "target": case.target, "options": case.options}
    return json.dumps({**record, "files": files}, indent=1) + "\n"


def read_case(path: Path) -> tuple[str, Case]:
    """Return kind and case of a file."""
    record: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    files = tuple((name, base64.b64decode(content)) for name, content in record["files"])
    return record["kind"], Case(record["target"], files, record["options"])
