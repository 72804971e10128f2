"""CSV text of rows, quoted so that every reader parses the same fields."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Any


class _Lines(list[str]):
    write = list.append  # called once per row


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    r"""Return rows as CSV, with lines that end with ``\n`` and fields quoted where necessary.

    None becomes an empty field, and a float its shortest exact text. Fields with a carriage return
    are quoted too, since it ends a line for many readers.
    """
    lines = _Lines()
    # Python quotes fields with characters of the line end; "\n" alone would not quote "\r".
    csv.writer(lines, lineterminator="\r\n").writerows(rows)
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)
