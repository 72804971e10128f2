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


class Text(NamedTuple):
    """A piece of a delimited file.

    Attributes
    ----------
    data : bytes
    title : str
        What messages call the file.
    first_line : int
        The line of the file in which the piece starts, counted from 1.
    """

    data: bytes
    title: str
    first_line: int = 1


class Shape(NamedTuple):
    """What the start of a file tells about all of it.

    Attributes
    ----------
    delimiter : str
    width : int
        Fields a record.
    line : int
        Line of the first record.
    names : tuple of str
    named : bool
        Whether the first record holds the names.
    """

    delimiter: str
    width: int
    line: int
    names: tuple[str, ...]
    named: bool


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
    return read_start(Text(data, title), header, expected)[0]


def read_start(
    text: Text, header: bool | None, expected: tuple[str, ...] | None
) -> tuple[RawTable, Shape]:
    """Read the first piece of a file, or all of it; :func:`read_more` reads what follows.

    Parameters and errors are those of :func:`read_delimited`.
    """
    text = text._replace(data=text.data.removeprefix(_BYTE_ORDER_MARK))
    _check_text(text)
    delimiter = _find_delimiter(text, expected)
    title = text.title
    first = next(_records(text, delimiter))
    columns = _parse(text, delimiter, len(first.fields), first.line)
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
    names = fields if header else default_names(len(fields))
    raw = RawTable(
        title,
        names,
        tuple(RawColumn(column.codes[skip:], column.values) for column in columns),
        len(columns[0].codes) - skip,
        lambda row: f"line {_line_of(text, delimiter, row + skip)}",
        named=header,
        notes=() if header else (note,),
    )
    return raw, Shape(delimiter, len(fields), first.line, names, header)


def read_more(text: Text, shape: Shape) -> RawTable:
    """Read a further piece of the file whose start had `shape`; the piece may hold no record."""
    if not text.data.strip():
        columns = tuple(RawColumn(np.zeros(0, np.int32), np.array([])) for _ in shape.names)
    else:
        _check_text(text)
        columns = _parse(text, shape.delimiter, shape.width, shape.line)
    return RawTable(
        text.title,
        shape.names,
        columns,
        len(columns[0].codes),
        lambda row: f"line {_line_of(text, shape.delimiter, row)}",
        named=shape.named,
    )


def _check_text(text: Text) -> None:
    data, title = text.data, text.title
    if not data.strip():
        raise InputError(f"{title}: the file is empty.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{title}: the text is in UTF-16; save it as UTF-8.")
    nul = data.find(b"\0")
    if nul >= 0:
        raise InputError(
            f"{title}: line {_line_at(text, nul)} holds a NUL byte, so this is no text file; save "
            "the table as CSV (UTF-8)."
        )
    if data.isascii():
        return
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        start = max(data.rfind(b"\n", 0, problem.start), data.rfind(b"\r", 0, problem.start)) + 1
        raise InputError(
            f"{title}: byte {problem.start - start + 1} of line {_line_at(text, problem.start)} "
            f"(0x{data[problem.start]:02x}) is no UTF-8; save the file with the encoding UTF-8."
        ) from None


def _line_at(text: Text, position: int) -> int:
    return len(text.data[: position + 1].splitlines()) + text.first_line - 1


def _records(text: Text, delimiter: str, strict: bool = False) -> Iterator[Record]:
    """Yield the records that are not blank lines, one by one."""
    stream = io.TextIOWrapper(io.BytesIO(text.data), encoding="utf-8", newline="")
    reader = csv.reader(stream, delimiter=delimiter, strict=strict)
    line = text.first_line
    try:
        for fields in reader:
            if fields:
                yield Record(line, fields)
            line = reader.line_num + text.first_line
    except csv.Error as problem:
        raise InputError(
            f"{text.title}: the record that starts in line {line} cannot be read "
            f"({problem}); look for a quotation mark that is never closed."
        ) from None


def _line_of(text: Text, delimiter: str, row: int) -> int:
    return next(islice(_records(text, delimiter), row, None)).line


def _find_delimiter(text: Text, expected: tuple[str, ...] | None) -> str:
    """Return the delimiter on whose number the first lines agree.

    One with which the first line has the expected names comes first. Else tab and semicolon are
    asked before the comma, which stands in text and in decimals too. When the lines agree on none,
    the file is ragged, and what divides the first line most is taken.
    """
    line = _FIRST_LINE.search(text.data)
    widths = {}
    agreed = []
    for delimiter in _DELIMITERS:
        widths[delimiter] = line[0].count(delimiter.encode()) + 1 if line else 1
        if widths[delimiter] > MAX_COLUMNS:
            raise InputError(f"{text.title}: there are more than {MAX_COLUMNS} columns; use fewer.")
        try:
            sample = list(islice(_records(text, delimiter), _SAMPLE))
        except InputError:
            continue  # wrong only if this is the delimiter, and then parsing says so
        counts = [len(record.fields) for record in sample]
        if len(sample) > 1 and min(counts) == max(counts) > 1:
            names = [field.strip() for field in sample[0].fields]
            if expected is None or sorted(names) == sorted(expected):
                return delimiter
            agreed.append(delimiter)
    if agreed:
        return agreed[0]
    return max(reversed(widths), key=lambda delimiter: widths[delimiter])


def _parse(text: Text, delimiter: str, width: int, wanted: int) -> tuple[RawColumn, ...]:
    """Parse all records, the first included, into columns of text.

    `width` is the number of fields of the record in line `wanted`, and should be that of all.
    """
    data = text.data
    quoted = b'"' in data
    if quoted and data.count(b'"') % 2:
        _explain(text, delimiter, width, wanted, strict=True)
    names = [str(i) for i in range(width)]
    # Dictionaries keep each different text once, so all that follows works on few values.
    kind = pa.dictionary(pa.int32(), pa.string())
    try:
        table = arrow_csv.read_csv(
            _reader_of(data),
            read_options=arrow_csv.ReadOptions(column_names=names, block_size=_BLOCK),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=quoted),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, kind), null_values=[], check_utf8=False
            ),
        ).unify_dictionaries()
    except pa.ArrowInvalid as problem:
        _explain(text, delimiter, width, wanted)
        reason = str(problem).splitlines()[0]
        raise InputError(f"{text.title}: the file cannot be read as CSV ({reason}).") from None
    return tuple(_text_column(column) for column in table.columns)


def _reader_of(data: bytes) -> pa.BufferReader:
    """Return a reader of a copy that belongs to pyarrow.

    pyarrow reads ahead on a thread of its own. If that still had to call Python, or to give an
    object back to it, while the process ends, the process would be aborted.
    """
    own = pa.allocate_buffer(len(data))
    memoryview(own).cast("B")[:] = data
    return pa.BufferReader(own)


def _text_column(column: pa.ChunkedArray) -> RawColumn:
    codes = [chunk.indices.to_numpy() for chunk in column.chunks]
    return text_column(np.concatenate(codes), column.chunk(0).dictionary.to_pylist())


def _explain(text: Text, delimiter: str, width: int, wanted: int, strict: bool = False) -> None:
    """Raise for the first record that is not as wide as the one in line `wanted`, if any."""
    for record in _records(text, delimiter, strict):
        if len(record.fields) != width:
            count = len(record.fields)
            raise InputError(
                f"{text.title}: line {record.line} has {count} field{'s' * (count != 1)}, but line "
                f"{wanted} has {width} (the delimiter is a {_DELIMITERS[delimiter]})."
            )
