"""Delimited text: comma, semicolon or tab between fields, UTF-8, with or without a line of names.

A good file is parsed by pyarrow, whole columns at a time. Only when something is wrong is it read
again, record by record, to say in which line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from graftviz.errors import InputError
from graftviz.table.discrete import default_names
from graftviz.table.header import first_line_has_names
from graftviz.table.raw import RawColumn, RawTable, check_names, text_column

MAX_COLUMNS = 50_000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma"}  # in order of preference
_FIRST_LINE = re.compile(rb"[^\r\n]+")
_SAMPLE = 20  # records that must agree on a delimiter
_BLOCK = 2**26  # bytes parsed at a time; a record must fit


class Record(NamedTuple):
    """The fields of one record and the line it starts in, counted from 1."""

    line: int
    fields: list[str]


def read_delimited(
    data: bytes, title: str, header: bool | None, expected: tuple[str, ...] | None
) -> RawTable:
    """Read delimited text.

    Parameters
    ----------
    data : bytes
    title : str
        What messages call it.
    header : bool or None
        Whether the first line holds names; None: see :func:`first_line_has_names`.
    expected : tuple of str or None
        Names the columns should have, if known.

    Raises
    ------
    InputError
        For an empty file, a wrong encoding, NUL bytes, ragged rows (each with its line), or a
        first line that could be names as well as values.
    """
    data = data.removeprefix(_BYTE_ORDER_MARK)
    _check_text(data, title)
    delimiter = _find_delimiter(data, title)
    first = next(_records(data, delimiter, title))
    columns = _parse(data, delimiter, title, width=len(first.fields))
    fields = tuple(field.strip() for field in first.fields)
    if header is None:
        below = (bool((column.codes[1:] == column.codes[0]).any()) for column in columns)
        header = first_line_has_names(fields, below, expected, title, first.line)
    if header:
        advice = f", or choose header=False if line {first.line} holds values"
        check_names(title, fields, advice)
    skip = int(header)
    note = (
        f"{title}: line {first.line} was read as values, not as names; the columns are called "
        f"x0 to x{len(fields) - 1}."
    )
    return RawTable(
        title,
        fields if header else default_names(len(fields)),
        tuple(RawColumn(column.codes[skip:], column.values) for column in columns),
        len(columns[0].codes) - skip,
        lambda row: f"line {_line_of(data, delimiter, title, row + skip)}",
        named=header,
        notes=() if header else (note,),
    )


def _check_text(data: bytes, title: str) -> None:
    if not data.strip():
        raise InputError(f"{title}: the file is empty.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{title}: the text is in UTF-16; save it as UTF-8.")
    nul = data.find(b"\0")
    if nul >= 0:
        raise InputError(
            f"{title}: line {_line_at(data, nul)} holds a NUL byte, so this is no text file; save "
            "the table as CSV (UTF-8)."
        )
    if data.isascii():
        return
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        start = max(data.rfind(b"\n", 0, problem.start), data.rfind(b"\r", 0, problem.start)) + 1
        raise InputError(
            f"{title}: byte {problem.start - start + 1} of line {_line_at(data, problem.start)} "
            f"(0x{data[problem.start]:02x}) is no UTF-8; save the file with the encoding UTF-8."
        ) from None


def _line_at(data: bytes, position: int) -> int:
    return len(data[: position + 1].splitlines())


def _records(data: bytes, delimiter: str, title: str, strict: bool = False) -> Iterator[Record]:
    """Yield the records that are not blank lines, one by one."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=delimiter, strict=strict)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield Record(line, fields)
            line = reader.line_num + 1
    except csv.Error as problem:
        raise InputError(
            f"{title}: the record that starts in line {line} cannot be read ({problem}); look for "
            "a quotation mark that is never closed."
        ) from None


def _line_of(data: bytes, delimiter: str, title: str, row: int) -> int:
    return next(islice(_records(data, delimiter, title), row, None)).line


def _find_delimiter(data: bytes, title: str) -> str:
    """Return the delimiter on whose number the first lines agree.

    Tab and semicolon are asked before the comma, which stands in text and in decimals too. When
    the lines agree on none, the file is ragged, and what divides the first line most is taken.
    """
    line = _FIRST_LINE.search(data)
    widths = {}
    for delimiter in _DELIMITERS:
        widths[delimiter] = line[0].count(delimiter.encode()) + 1 if line else 1
        if widths[delimiter] > MAX_COLUMNS:
            raise InputError(f"{title}: there are more than {MAX_COLUMNS} columns; use fewer.")
        try:
            sample = list(islice(_records(data, delimiter, title), _SAMPLE))
        except InputError:
            continue  # wrong only if this is the delimiter, and then parsing says so
        counts = [len(record.fields) for record in sample]
        if len(sample) > 1 and min(counts) == max(counts) > 1:
            return delimiter
    return max(reversed(widths), key=lambda delimiter: widths[delimiter])


def _parse(data: bytes, delimiter: str, title: str, width: int) -> tuple[RawColumn, ...]:
    """Parse all records, the first included, into columns of text."""
    quoted = b'"' in data
    if quoted and data.count(b'"') % 2:
        _explain(data, delimiter, title, width, strict=True)
    names = [str(i) for i in range(width)]
    # Dictionaries keep each different text once, so all that follows works on few values.
    text = pa.dictionary(pa.int32(), pa.string())
    try:
        table = arrow_csv.read_csv(
            io.BytesIO(data),
            read_options=arrow_csv.ReadOptions(column_names=names, block_size=_BLOCK),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=quoted),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, text), null_values=[], check_utf8=False
            ),
        ).unify_dictionaries()
    except pa.ArrowInvalid as problem:
        _explain(data, delimiter, title, width)
        reason = str(problem).splitlines()[0]
        raise InputError(f"{title}: the file cannot be read as CSV ({reason}).") from None
    return tuple(_text_column(column) for column in table.columns)


def _text_column(column: pa.ChunkedArray) -> RawColumn:
    codes = [chunk.indices.to_numpy() for chunk in column.chunks]
    return text_column(np.concatenate(codes), column.chunk(0).dictionary.to_pylist())


def _explain(data: bytes, delimiter: str, title: str, width: int, strict: bool = False) -> None:
    """Raise for the first record that is not as wide as the first one, if there is one."""
    wanted = 1
    for k, record in enumerate(_records(data, delimiter, title, strict)):
        if k == 0:
            wanted = record.line
        if len(record.fields) != width:
            count = len(record.fields)
            raise InputError(
                f"{title}: line {record.line} has {count} field{'s' * (count != 1)}, but line "
                f"{wanted} has {width} (the delimiter is a {_DELIMITERS[delimiter]})."
            )
