"""Delimited text: comma, semicolon or tab between fields, UTF-8, with or without a line of names.

pyarrow parses the text, in columns. Python's own reader finds the delimiter in the first records,
and the lines of errors.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import csv as arrow_csv

from graftviz.data.labels import is_number, is_whole_number
from graftviz.data.reading.raw import NO_LIMIT, RawTable, check_names, from_columns
from graftviz.data.table import default_names
from graftviz.utils.errors import InputError
from graftviz.utils.wording import shortened

MAX_COLUMNS = 20_000
_DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma"}  # in order of preference
_SAMPLE = 20  # records that must agree on a delimiter
_BLOCK = 2**22  # bytes parsed at a time, and the least that a record may have
_FIRST_LINE = re.compile(rb"[^\r\n]+")
_CONTENT = re.compile(rb"\S")
_BLANK_LINE = re.compile(rb"\A(\xef\xbb\xbf)?[\r\n]|\n[\r\n]|\r\r")


class _Record(NamedTuple):
    """Fields of a record, and the line in which it starts, counted from 1."""

    line: int
    fields: list[str]


def read_delimited(
    data: bytes,
    title: str,
    header: bool | None,
    expected: tuple[str, ...] | None,
    limit: int = NO_LIMIT,
) -> RawTable:
    """Read delimited text.

    Parameters
    ----------
    data : bytes
    title : str
        Source name for messages.
    header : bool or None
        Whether the first line holds names; None: see :func:`first_line_has_names`.
    expected : tuple of str or None
        Names the columns should have, if known.
    limit : int
        Maximum number of bytes of the distinct values.

    Raises
    ------
    InputError
        For an empty file, a wrong encoding, NUL bytes, ragged rows (with the line), a first line
        that could be names as well as values, or values that exceed the limit.
    """
    _check_text(data, title)
    delimiter = _find_delimiter(data, title, expected)
    first = next(_records(data, title, delimiter))
    fields = tuple(field.strip() for field in first.fields)
    table = _parse(data, title, delimiter, first)
    if header is None:
        header = first_line_has_names(fields, _recurs(table), expected, title, first.line)
    if header:
        advice = f", or choose header=False if line {first.line} holds values"
        # A first column without a name may be that of row names.
        check_names(title, (fields[0] or "index", *fields[1:]), advice)
        table = table.slice(1)
    names = fields if header else default_names(len(fields))
    note = (
        f"{title}: line {first.line} was read as values, not as names; the columns are called "
        f"x0 to x{len(fields) - 1}."
    )
    return from_columns(title, names, table.columns, table.num_rows, limit)._replace(
        place=lambda row: f"line {_line_of(data, title, delimiter, row + int(header))}",
        named=header,
        notes=() if header else (note,),
    )


def estimated_shape(data: bytes) -> tuple[int, int]:
    """Return the likely numbers of rows and columns of a text with a line of names.

    Blank lines, and line ends inside quotation marks, count as rows.
    """
    return _count_line_ends(data) - 1, max(_first_widths(data).values())


def first_line_has_names(
    fields: Sequence[str],
    recurs: Iterable[bool],
    expected: Sequence[str] | None,
    title: str,
    line: int,
) -> bool:
    """Return whether the first line holds names; raise :class:`InputError` if it is ambiguous.

    ==========================================================  ==========
    first line                                                  read as
    ==========================================================  ==========
    the expected names, in any order                            names
    some field is not a number                                  names ¹
    numbers, with a repetition, a fraction or a sign            values
    0, 1, 2, … or 1, 2, 3, …                                    names ¹
    other whole numbers, each of which recurs in its column     values
    other whole numbers                                         an error
    ==========================================================  ==========

    ¹ an error if every field recurs as a value in its own column.

    Parameters
    ----------
    fields : sequence of str
        The stripped fields of the first line.
    recurs : iterable of bool
        Whether each field occurs in its column below the first line; evaluated only if needed.
    expected : sequence of str or None
        Names the columns should have, if known.
    title : str
        Source name for messages.
    line : int
        Number of the line for messages.

    Raises
    ------
    InputError
        If both names and values are plausible; the message explains how to decide.
    """
    if expected is not None and sorted(fields) == sorted(expected):
        return True
    distinct = len(set(fields)) == len(fields)
    whole = all(is_whole_number(field) and field[0] not in "+-" for field in fields)
    if all(is_number(field) for field in fields) and not (whole and distinct):
        return False
    if not whole and not (distinct and all(fields)):
        return True  # rejected later as invalid names
    n = len(fields)
    counted = whole and [int(field) for field in fields] in ([*range(n)], [*range(1, n + 1)])
    if all(recurs):
        if whole and not counted:
            return False
    elif counted or not whole:
        return True
    raise InputError(
        f"{title}: line {line} "
        f"({', '.join(map(shortened, fields[:4]))}{', …' * (len(fields) > 4)}) could be names "
        "or values; choose header=True if it holds names, header=False if it holds values."
    )


def _check_text(data: bytes, title: str) -> None:
    if _CONTENT.search(data) is None:
        raise InputError(f"{title}: the file is empty.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{title}: the text is in UTF-16; save it as UTF-8.")
    if (nul := data.find(b"\0")) >= 0:
        raise InputError(
            f"{title}: line {_count_line_ends(data, nul) + 1} holds a NUL byte, so this is not a "
            "text file; save the table as CSV (UTF-8)."
        )
    try:
        if not data.isascii():
            data.decode()
    except UnicodeDecodeError as problem:
        wrong = problem.start
        start = max(data.rfind(b"\n", 0, wrong), data.rfind(b"\r", 0, wrong)) + 1
        raise InputError(
            f"{title}: byte {wrong - start + 1} of line {_count_line_ends(data, wrong) + 1} "
            f"(0x{data[wrong]:02x}) is not UTF-8; save the file with the encoding UTF-8."
        ) from None


def _count_line_ends(data: bytes, end: int | None = None) -> int:
    r"""Return the number of ``\n``, ``\r`` and ``\r\n`` in the first `end` bytes."""
    counts = [data.count(mark, 0, end) for mark in (b"\n", b"\r", b"\r\n")]
    return counts[0] + counts[1] - counts[2]


def _records(data: bytes, title: str, delimiter: str, strict: bool = False) -> Iterator[_Record]:
    """Yield the records, skipping blank lines."""
    stream = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    reader = csv.reader(stream, delimiter=delimiter, strict=strict)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield _Record(line, fields)
            line = reader.line_num + 1
    except csv.Error as problem:
        raise InputError(
            f"{title}: the record that starts in line {line} cannot be read ({problem}); look for "
            "a quotation mark that is never closed."
        ) from None


def _line_of(data: bytes, title: str, delimiter: str, record: int) -> int:
    """Return the line in which a record starts, both counted from 1 and 0."""
    if b'"' not in data and _BLANK_LINE.search(data) is None:
        return record + 1  # every line is a record
    return next(islice(_records(data, title, delimiter), record, None)).line


def _first_widths(data: bytes) -> dict[str, int]:
    """Return the number of fields of the first line that is not blank, by delimiter."""
    line = _FIRST_LINE.search(data)
    return {mark: line[0].count(mark.encode()) + 1 if line else 1 for mark in _DELIMITERS}


def _find_delimiter(data: bytes, title: str, expected: tuple[str, ...] | None) -> str:
    """Return the delimiter that divides the first lines into equally many fields.

    A delimiter that gives the expected names is preferred. Otherwise tab and semicolon are tried
    before the comma, which also occurs in text and in decimal numbers. If no delimiter qualifies,
    the file is ragged, and the one that gives the most fields in the first line is returned.
    """
    widths = _first_widths(data)
    agreed = []
    for delimiter in _DELIMITERS:
        if widths[delimiter] > MAX_COLUMNS:
            raise InputError(f"{title}: there are more than {MAX_COLUMNS:,} columns; use fewer.")
        try:
            sample = list(islice(_records(data, title, delimiter), _SAMPLE))
        except InputError:
            continue  # an error only if this is the delimiter, and then parsing reports it
        counts = [len(record.fields) for record in sample]
        if len(sample) > 1 and min(counts) == max(counts) > 1:
            names = [field.strip() for field in sample[0].fields]
            if expected is None or sorted(names) == sorted(expected):
                return delimiter
            agreed.append(delimiter)
    if agreed:
        return agreed[0]
    return max(reversed(widths), key=lambda delimiter: widths[delimiter])


def _parse(data: bytes, title: str, delimiter: str, first: _Record) -> pa.Table:
    """Parse all records, including the first, into columns of text.

    All records must have as many fields as the first one.
    """
    if data.count(b'"') % 2:  # pyarrow would end an open field with the file
        for _ in _records(data, title, delimiter, strict=True):
            pass
    names = [str(i) for i in range(len(first.fields))]
    # Dictionaries store each distinct text once, so that later steps work on few values.
    kind = pa.dictionary(pa.int32(), pa.string())
    # pyarrow reads ahead in its own thread. If that thread releases a Python object while the
    # process exits, the process aborts, so the thread reads a copy that pyarrow owns.
    copy = pa.allocate_buffer(len(data))
    memoryview(copy).cast("B")[:] = data
    ragged = []

    def note(row: Any) -> str:
        ragged.append(row)
        return "error"

    try:
        return arrow_csv.read_csv(
            pa.BufferReader(copy),
            # With threads, rows would not be numbered.
            arrow_csv.ReadOptions(column_names=names, block_size=_BLOCK, use_threads=False),
            arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=b'"' in data, invalid_row_handler=note
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, kind), null_values=[], check_utf8=False
            ),
        )
    except pa.ArrowInvalid as problem:
        reason = str(problem).splitlines()[0][:200]
    if not ragged and reason.startswith("straddling"):
        reason = f"a record of more than {_BLOCK // 2**20} MB"
    if not ragged:
        raise InputError(
            f"{title}: the file cannot be read as CSV ({reason}); look for a quotation mark that "
            "is never closed."
        )
    count = ragged[0].actual_columns
    line = _line_of(data, title, delimiter, ragged[0].number - 1)
    raise InputError(
        f"{title}: line {line} has {count} field{'s' * (count != 1)}, but line {first.line} has "
        f"{len(names)} (the delimiter is a {_DELIMITERS[delimiter]})."
    )


def _recurs(table: pa.Table) -> Iterator[bool]:
    """Yield for every column whether its first value occurs again."""
    for column in table.columns:
        # The first value has the index 0 in the dictionary.
        chunks = column.unify_dictionaries().chunks
        yield sum(int((chunk.indices.to_numpy() == 0).sum()) for chunk in chunks) > 1
