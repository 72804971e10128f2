"""True edges as files: a line per edge, source and target by name or by column number."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from typing import IO, Any

import numpy as np

from graftviz.datasets.text import read_text
from graftviz.errors import InputError
from graftviz.table.csv_text import csv_text

HEADER = ("source", "target")
MAX_BYTES = 50_000_000


def truth_csv(edges: np.ndarray, names: Sequence[str]) -> str:
    """Return the CSV file of some edges: columns source and target, by name."""
    return csv_text([HEADER, *((names[i], names[j]) for i, j in np.asarray(edges).tolist())])


def read_truth(source: str | os.PathLike[str] | IO[Any], names: Sequence[str]) -> np.ndarray:
    """Read true edges, for a table whose variables have these `names`.

    The first two columns count; further ones (as in edges.csv of a learned model) are ignored, and
    so are empty lines. A first line ``source,target`` is optional. Variables are given by name
    throughout or by column number from 0 throughout; names win where both could be meant. An edge
    given twice, in whatever direction, counts once.

    Parameters
    ----------
    source : path, or file opened as text or binary
    names : sequence of str

    Returns
    -------
    int64 array, shape (k, 2), read-only
        Edges i < j in the order of the file.

    Raises
    ------
    InputError
        For a file that cannot be read, has no edges, names an unknown variable or joins a variable
        to itself; the row is named, counted from 1 with the header.
    """
    title, text = read_text(source, "the file of true edges", MAX_BYTES)
    edges: dict[tuple[int, int], None] = {}
    for row, i, j in named_pairs(title, text, names):
        if i == j:
            raise InputError(
                f"Row {row} of {title} joins {names[i]!r} to itself; take that line out."
            )
        edges[min(i, j), max(i, j)] = None
    result = np.array(list(edges), dtype=np.int64)
    result.flags.writeable = False
    return result


def named_pairs(
    title: str, text: str, names: Sequence[str], what: str = "edges"
) -> list[tuple[int, int, int]]:
    """Return the pairs of a file as (row, source, target), with the rules of :func:`read_truth`.

    Pairs keep their direction and their repetitions; a variable may be paired with itself.
    `what` is the word for them in messages.
    """
    rows = list(_rows(title, text))
    if rows and tuple(cell.lower() for cell in rows[0][1]) == HEADER:
        rows = rows[1:]
    if not rows:
        raise InputError(f"{title} holds no {what}; it needs a line source,target for each.")
    index = {name: i for i, name in enumerate(names)}
    if not all(cell in index for _, pair in rows for cell in pair):
        index = _column_numbers(title, rows, names, index)
    return [(row, index[source], index[target]) for row, (source, target) in rows]


def _column_numbers(
    title: str,
    rows: list[tuple[int, tuple[str, str]]],
    names: Sequence[str],
    index: dict[str, int],
) -> dict[str, int]:
    """Return the meaning of all cells as column numbers, or complain about the first bad one."""
    numbers = {str(i): i for i in range(len(names))}
    cells = [(row, cell) for row, pair in rows for cell in pair]
    if all(cell in numbers for _, cell in cells):
        return numbers
    # Complain about the reading that fits better.
    by_name = sum(cell in index for _, cell in cells) >= sum(cell in numbers for _, cell in cells)
    known = index if by_name else numbers
    row, cell = next((row, cell) for row, cell in cells if cell not in known)
    wanted = "one of the table's columns" if by_name else f"a column number 0 … {len(names) - 1}"
    raise InputError(f"Row {row} of {title} names the variable {cell!r}, which is not {wanted}.")


def _rows(title: str, text: str) -> Iterable[tuple[int, tuple[str, str]]]:
    """Yield row number (from 1) and the first two cells of every row that is not empty."""
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        for row, cells in enumerate(reader, start=1):
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) < 2:
                raise InputError(
                    f"Row {row} of {title} has one column; an edge needs two, source and target."
                )
            yield row, (cells[0].strip(), cells[1].strip())
    except csv.Error as problem:
        raise InputError(f"{title} is no CSV file: {problem}.") from None
