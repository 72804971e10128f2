"""Reduction of findings, and storage as files that the tests read again."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.fuzz.cases import Case

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
