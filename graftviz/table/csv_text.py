"""Rows as CSV text that every reader divides into the same fields again."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Any


class _Lines(list[str]):
    write = list.append  # called once a row


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    r"""Return rows as CSV, lines ending with ``\n``, fields quoted only where need be.

    None becomes an empty field, and a float its shortest exact text. Fields with a carriage return
    are quoted too: it ends a line for many readers.
    """
    lines = _Lines()
    # Python quotes what occurs in its line end; with "\n" alone a carriage return would stay bare.
    csv.writer(lines, lineterminator="\r\n").writerows(rows)
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)
