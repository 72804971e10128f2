"""Reader of parents from a file, for sparsity enforcing learning."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any

from graftviz.data.sets.files import csv_rows, read_text
from graftviz.data.sets.truth import named_pairs
from graftviz.utils.errors import InputError

MAX_BYTES = 200_000_000


def read_parents(
    source: str | os.PathLike[str] | IO[Any], names: Sequence[str]
) -> tuple[tuple[int, ...], ...]:
    r"""Read the parents of the series `names`.

    Two kinds of CSV files are supported: a list with one line ``source,target`` per arrow, by name
    or by number from 0, where source drives target; and a matrix like ``matrix.csv``, with the
    names in the first line and one row per series, whose non-zero entries are parents. Its first
    column may be the names of the rows, in the same order.

    Returns
    -------
    tuple of n tuples of int
        Parents of every series, ascending.

    Raises
    ------
    InputError
        For a file that cannot be read, unknown series, or a matrix of another shape.

    Examples
    --------
    >>> import io
    >>> dynamics.read_parents(io.StringIO("source,target\na,b\nb,c\n"), ["a", "b", "c"])
    ((), (0,), (1,))
    """
    title, text = read_text(source, "the file of parents", MAX_BYTES)
    rows = [row for row in csv_rows(title, text) if row]
    header = rows[0] if rows else []
    parents: list[set[int]] = [set() for _ in names]
    if header in ([*names], ["target", *names], ["", *names]):
        _read_matrix(title, rows, parents, names)
    else:
        for _, u, j in named_pairs(title, text, names, "arrows"):
            parents[j].add(u)
    return tuple(tuple(sorted(row)) for row in parents)


def _read_matrix(
    title: str, rows: list[list[str]], parents: list[set[int]], names: Sequence[str]
) -> None:
    header, *lines = rows
    if len(header) > len(names):  # the first column is the names of the rows
        if [line[0] for line in lines] != list(names):
            raise InputError(f"The rows of {title} must be named after the series, in their order.")
        lines = [line[1:] for line in lines]
    if len(lines) != len(names) or any(len(line) != len(names) for line in lines):
        raise InputError(
            f"{title} names {len(names)} series, so it needs {len(names)} rows of as many numbers."
        )
    for i, line in enumerate(lines):
        for u, cell in enumerate(line):
            try:
                if float(cell) != 0.0:
                    parents[i].add(u)
            except ValueError:
                raise InputError(
                    f"Row {i + 1} of {title} has {cell!r} for series {names[u]!r}, which is not a "
                    "number."
                ) from None
