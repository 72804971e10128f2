"""Files of true edges: one line per edge, source and target by name or by column number."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np

from graftviz.data.sets.files import csv_rows, read_text
from graftviz.utils.arrays import read_only
from graftviz.utils.csv_text import csv_text
from graftviz.utils.errors import InputError

HEADER = ("source", "target")
MAX_BYTES = 50_000_000


def truth_csv(edges: np.ndarray, names: Sequence[str]) -> str:
    """Return edges as CSV with columns source and target, by name."""
    return csv_text([HEADER, *((names[i], names[j]) for i, j in np.asarray(edges).tolist())])


def read_truth(source: str | os.PathLike[str] | IO[Any], names: Sequence[str]) -> np.ndarray:
    r"""Read true edges between variables with the given `names`.

    Only the first two columns are used; further ones (as in edges.csv of a learned model) and empty
    lines are ignored. A first line ``source,target`` is optional. Variables are specified either
    all by name or all by column number from 0; names take precedence. Repeated edges, in either
    direction, count once.

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
        to itself; the message names the row, counted from 1 including the header.

    Examples
    --------
    >>> import io
    >>> from graftviz.data.sets.truth import read_truth
    >>> read_truth(io.StringIO("home,commute\nhome,garden\n"), survey.names)
    array([[0, 1],
           [0, 7]])
    """
    title, text = read_text(source, "the file of true edges", MAX_BYTES)
    edges: dict[tuple[int, int], None] = {}
    for row, i, j in named_pairs(title, text, names):
        if i == j:
            raise InputError(
                f"Row {row} of {title} joins {names[i]!r} to itself; remove that line."
            )
        edges[min(i, j), max(i, j)] = None
    return read_only(np.array(list(edges), dtype=np.int64))


def named_pairs(
    title: str, text: str, names: Sequence[str], what: str = "edges"
) -> list[tuple[int, int, int]]:
    """Return the pairs of a file as (row, source, target), with the rules of :func:`read_truth`.

    Direction and repetitions are preserved, and a variable may be paired with itself. `what` is the
    word for the pairs in messages.
    """
    rows = list(_rows(title, text))
    if rows and tuple(cell.lower() for cell in rows[0][1]) == HEADER:
        rows = rows[1:]
    if not rows:
        raise InputError(f"{title} holds no {what}; it needs one line source,target for each.")
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
    """Return the variable of every cell, as a column number; raise for the first invalid cell."""
    numbers = {str(i): i for i in range(len(names))}
    cells = [(row, cell) for row, pair in rows for cell in pair]
    if all(cell in numbers for _, cell in cells):
        return numbers
    # The message is about the interpretation, names or numbers, that fits more cells.
    by_name = sum(cell in index for _, cell in cells) >= sum(cell in numbers for _, cell in cells)
    valid = index if by_name else numbers
    row, cell = next((row, cell) for row, cell in cells if cell not in valid)
    expected = "one of the column names" if by_name else f"a column number 0 … {len(names) - 1}"
    raise InputError(f"Row {row} of {title} names the variable {cell!r}, which is not {expected}.")


def _rows(title: str, text: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield row number (from 1) and first two cells of every row that is not empty."""
    for row, cells in enumerate(csv_rows(title, text), start=1):
        if not any(cells):
            continue
        if len(cells) < 2:
            raise InputError(
                f"Row {row} of {title} has one column; an edge needs two, source and target."
            )
        yield row, (cells[0], cells[1])
