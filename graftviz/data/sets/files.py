"""Files of users: true edges, positions, archives, and CSV texts."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import IO, Any

import numpy as np

from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError
from graftviz.utils.files import csv_text
from graftviz.utils.wording import shortened

FileSource = str | os.PathLike[str] | Mapping[str, bytes]  # a path, or contents of files by name


def read_text(
    source: str | os.PathLike[str] | IO[Any], fallback_title: str, max_bytes: int
) -> tuple[str, str]:
    """Read a UTF-8 text file, with or without a byte order mark.

    Returns
    -------
    title, text : str
        Name of the file in messages, and its content.

    Raises
    ------
    InputError
        When the file is missing, unreadable, too large, not UTF-8, or contains NUL characters.
    """
    try:
        if isinstance(source, (str, os.PathLike)):
            title = Path(source).name
            with Path(source).open("rb") as file:
                content: Any = file.read(max_bytes + 1)
        else:
            title = str(getattr(source, "name", fallback_title))
            content = source.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise InputError(f"{title} is larger than {max_bytes // 1_000_000} MB.")
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else str(content)
    except FileNotFoundError:
        raise InputError(f"There is no file {source}.") from None
    except InputError:  # a subclass of ValueError, handled below
        raise
    except UnicodeDecodeError:
        raise InputError(f"{title} is not UTF-8 text; save it as CSV in UTF-8.") from None
    except (OSError, ValueError) as problem:  # ValueError: a name with NUL or a lone surrogate
        reason = getattr(problem, "strerror", None) or "the name is not a valid file name"
        raise InputError(f"{shortened(str(source))} cannot be read: {reason}.") from None
    if "\0" in text:
        raise InputError(f"{title} contains NUL characters, so it is not a CSV file.")
    return title, text.removeprefix("\ufeff")


def csv_rows(title: str, text: str) -> list[list[str]]:
    """Return the rows of a CSV text, without the blanks around cells.

    Raises
    ------
    InputError
        When the text is not CSV.
    """
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        return [[cell.strip() for cell in cells] for cells in reader]
    except csv.Error as problem:
        raise InputError(f"{title} is not a CSV file: {problem}.") from None


def found_files(source: FileSource, pattern: str, what: str) -> dict[str, bytes]:
    """Return the contents by name of the files in a source, unpacked, in the order of names.

    A source is a file, a zip archive, a folder of both, or contents by name. In folders and
    archives names must match `pattern`, in lower case. Files outside archives replace those of the
    same name, and files .csv those .xls. `what` describes the files in messages.
    """
    if isinstance(source, Mapping):
        found = dict(source)
    else:
        with reading(source_text(source), f"the place of {what}"):
            path, allowed = Path(source), re.compile(rf"{pattern}|.*\.zip")
            inside = sorted(path.iterdir()) if path.is_dir() else [path]
            files = [one for one in inside if one == path or allowed.fullmatch(one.name.lower())]
            found = {file.name: file.read_bytes() for file in files}
    for archive in [name for name in found if zipfile.is_zipfile(io.BytesIO(found[name]))]:
        with (
            reading(archive, "a zip archive"),
            zipfile.ZipFile(io.BytesIO(found.pop(archive))) as z,
        ):
            members = {PurePath(member).name: member for member in sorted(z.namelist())}
            names = [name for name in members if re.fullmatch(pattern, name.lower())]
            found = {name: z.read(members[name]) for name in names} | found
    found = {n: found[n] for n in sorted(found) if f"{n.removesuffix('.xls')}.csv" not in found}
    if not found:
        raise InputError(f"{source_text(source)} holds no {what}; pass its path, or its folder.")
    return found


@contextmanager
def reading(name: str, what: str) -> Iterator[None]:
    """Refuse a file, or a folder, of which the reading fails."""
    try:
        yield
    except InputError:
        raise
    except ImportError as problem:
        raise InputError(f"{name}: {problem} Or save the sheet as CSV.") from None
    except OSError as problem:
        raise InputError(f"{name} cannot be read: {problem.strerror or problem}.") from None
    except Exception as problem:  # noqa: BLE001 (what damaged files raise has no common class)
        words = f"missing: {problem.args[0]}" if isinstance(problem, KeyError) else str(problem)
        reason = " ".join(words.split())
        raise InputError(f"{name} is not {what} ({reason}); download it again.") from None


def source_text(source: FileSource) -> str:
    """Return a path, or the names of given files, as text."""
    return ", ".join(source) if isinstance(source, Mapping) else str(source)


MAX_BYTES = 50_000_000
_ACROSS = ("x", "lon", "longitude")
_DOWN = ("y", "lat", "latitude")
_UPWARDS = ("lat", "latitude")
_LARGEST = 1e100  # maximum coordinate; distances of larger ones overflow
_FRAME = 10_000.0
_MARGIN = 0.04


def read_positions(source: str | os.PathLike[str] | IO[Any], names: Sequence[str]) -> np.ndarray:
    """Read the positions of all variables of a table.

    The file is a CSV with a header. The names are read from the column with the most names of
    variables, the positions from columns ``x`` and ``y`` (y pointing down, as on a screen) or
    ``lon`` and ``lat`` (north on top). Other columns and unknown variables are ignored.

    Returns
    -------
    float64 array, shape (n, 2), read-only
        x and y in 0 … 10000, with equal scales, centred, y pointing down. Longitudes are multiplied
        by the cosine of the middle latitude, to preserve shapes on the map.

    Raises
    ------
    InputError
        For a file that cannot be read, a missing column, a coordinate that is not a number, a
        variable with two positions, or a variable of the table without a position.
    """
    title, text = read_text(source, "the file of positions", MAX_BYTES)
    rows = csv_rows(title, text)
    header = [cell.lower() for cell in rows[0]] if rows else []
    across, down = _column(title, header, _ACROSS), _column(title, header, _DOWN)
    index = {name: i for i, name in enumerate(names)}
    places = np.full((len(names), 2), np.nan)
    hits = [
        sum(column < len(cells) and cells[column] in index for cells in rows[1:])
        for column in range(len(header))
    ]
    name_column = hits.index(max(hits))
    for row, cells in enumerate(rows[1:], start=2):
        name = cells[name_column] if name_column < len(cells) else ""
        if name not in index:
            continue
        if not np.isnan(places[index[name]]).all():
            raise InputError(f"Row {row} of {title} has a second position for {name!r}.")
        places[index[name]] = [
            _number(title, row, header[column], cells, column) for column in (across, down)
        ]
    missing = np.flatnonzero(np.isnan(places[:, 0]))
    if len(missing):
        raise InputError(
            f"{title} has no position for {names[missing[0]]!r}"
            f"{f' and {len(missing) - 1} more variables' if len(missing) > 1 else ''}; "
            "every variable of the table needs one."
        )
    return framed(places, is_map=header[down] in _UPWARDS)


def _column(title: str, header: list[str], choices: tuple[str, ...]) -> int:
    for name in choices:
        if name in header:
            return header.index(name)
    raise InputError(
        f"{title} has no column {choices[0]!r} or {choices[1]!r}; its header should be name,x,y "
        "or name,lon,lat."
    )


def _number(title: str, row: int, column_name: str, cells: list[str], column: int) -> float:
    text = cells[column] if column < len(cells) else ""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) <= _LARGEST:  # True for NaN too
        raise InputError(f"Row {row} of {title} has no number in column {column_name!r}: {text!r}.")
    return value


def framed(places: np.ndarray, *, is_map: bool) -> np.ndarray:
    """Return positions, shape (n, 2), scaled to the frame of :func:`read_positions`.

    If `is_map`, `places` are longitudes and latitudes, otherwise x and y with y pointing down.
    """
    if is_map:
        middle = math.radians((places[:, 1].min() + places[:, 1].max()) / 2.0)
        places = places * [math.cos(middle), -1.0]
    low, high = places.min(axis=0), places.max(axis=0)
    span = float((high - low).max()) or 1.0
    inside = _FRAME * (1.0 - 2.0 * _MARGIN)
    return read_only((places - (low + high) / 2.0) / span * inside + _FRAME / 2.0)


HEADER = ("source", "target")


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
    >>> from graftviz.data.sets.files import read_truth
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
