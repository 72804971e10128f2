"""Delimited text: comma, semicolon or tab between fields, UTF-8, with or without a line of names.

Files are parsed by pyarrow, in columns. Only after an error is the text read again, record by
record, to find the line of the error.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO, NamedTuple

import pyarrow as pa
from pyarrow import csv as arrow_csv

from graftviz.errors import InputError
from graftviz.table.arrow import NO_LIMIT, ArrowColumns, ColumnBuilder
from graftviz.table.discrete import default_names
from graftviz.table.header import first_line_has_names
from graftviz.table.raw import RawTable, check_names

MAX_COLUMNS = 20_000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma"}  # in order of preference
_FIRST_LINE = re.compile(rb"[^\r\n]+")
_SAMPLE = 20  # records that must agree on a delimiter
_BLOCK = 2**26  # maximum bytes of a record
_PIECE, _SMALL_PIECE = 2**22, 2**18  # bytes parsed at a time; bytes searched for an error at a time
_WIDE, _WIDE_PIECE = 2000, 3 * 2**23  # from this many columns on, a piece has a high fixed cost
_DECODED = 2**20  # bytes decoded at a time
_CONTENT = re.compile(rb"\S")
_STRAY_QUOTE = re.compile(rb'[^\t;,\r\n"]"[^\t;,\r\n"]')


class Record(NamedTuple):
    """Fields of a record, and the line in which it starts, counted from 1."""

    line: int
    fields: list[str]


class Text(NamedTuple):
    """Piece of a delimited file.

    Attributes
    ----------
    data : bytes
    title : str
        Name of the file in messages.
    first_line : int
        The line of the file in which the piece starts, counted from 1.
    """

    data: bytes
    title: str
    first_line: int = 1


class Shape(NamedTuple):
    """Shape of a delimited file, determined from its first piece.

    Attributes
    ----------
    delimiter : str
    width : int
        Fields per record.
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
        Maximum number of bytes of all columns.

    Returns
    -------
    RawTable
        Its columns are :class:`graftviz.table.arrow.ArrowColumns`.

    Raises
    ------
    InputError
        For an empty file, a wrong encoding, NUL bytes, ragged rows (with the line), a first line
        that could be names as well as values, or columns that exceed the limit.
    """
    return read_start(Text(data, title), header, expected, limit)[0]


def estimated_shape(data: bytes) -> tuple[int, int]:
    """Return the likely numbers of rows and columns of a text with a line of names.

    Blank lines, and line ends inside quotation marks, count as rows.
    """
    return count_line_ends(data) - 1, max(_first_widths(data).values())


def read_start(
    text: Text, header: bool | None, expected: tuple[str, ...] | None, limit: int = NO_LIMIT
) -> tuple[RawTable, Shape]:
    """Read the first piece of a file, or all of it; :func:`read_more` reads further pieces.

    Parameters and errors are those of :func:`read_delimited`.
    """
    text = text._replace(data=text.data.removeprefix(_BYTE_ORDER_MARK))
    _check_text(text)
    delimiter = _find_delimiter(text, expected)
    title = text.title
    first = next(_records(text, delimiter))
    fields = tuple(field.strip() for field in first.fields)
    columns = _parse(text, delimiter, first.line, fields, limit)
    if header is None:
        below = (bool((column.codes[1:] == column.codes[0]).any()) for column in columns)
        header = first_line_has_names(fields, below, expected, title, first.line)
    if header:
        advice = f", or choose header=False if line {first.line} holds values"
        # A first column without a name may be that of row names.
        check_names(title, (fields[0] or "index", *fields[1:]), advice)
        columns = columns.without_first_row()
    skip = int(header)
    note = (
        f"{title}: line {first.line} was read as values, not as names; the columns are called "
        f"x0 to x{len(fields) - 1}."
    )
    names = fields if header else default_names(len(fields))
    raw = RawTable(
        title,
        names,
        columns,
        columns.n_rows,
        lambda row: f"line {_line_of(text, delimiter, row + skip)}",
        named=header,
        notes=() if header else (note,),
    )
    return raw, Shape(delimiter, len(fields), first.line, names, header)


def read_more(text: Text, shape: Shape) -> RawTable:
    """Read a further piece of the file with `shape`; the piece may hold no record."""
    if _CONTENT.search(text.data) is not None:
        _check_text(text)
    columns = _parse(text, shape.delimiter, shape.line, shape.names, NO_LIMIT)
    return RawTable(
        text.title,
        shape.names,
        columns,
        columns.n_rows,
        lambda row: f"line {_line_of(text, shape.delimiter, row)}",
        named=shape.named,
    )


def _check_text(text: Text) -> None:
    data, title = text.data, text.title
    if _CONTENT.search(data) is None:
        raise InputError(f"{title}: the file is empty.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{title}: the text is in UTF-16; save it as UTF-8.")
    nul = data.find(b"\0")
    if nul >= 0:
        raise InputError(
            f"{title}: line {_line_at(text, nul)} holds a NUL byte, so this is not a text file; "
            "save the table as CSV (UTF-8)."
        )
    if data.isascii():
        return
    wrong = _first_wrong_byte(data)
    if wrong is not None:
        start = _line_start(data, wrong)
        raise InputError(
            f"{title}: byte {wrong - start + 1} of line {_line_at(text, wrong)} "
            f"(0x{data[wrong]:02x}) is not UTF-8; save the file with the encoding UTF-8."
        )


def _first_wrong_byte(data: bytes) -> int | None:
    """Return the position of the first byte that is not UTF-8; None if there is none."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _DECODED):
        unfinished = len(decoder.getstate()[0])
        last = start + _DECODED >= len(data)
        try:
            decoder.decode(data[start : start + _DECODED], last)
        except UnicodeDecodeError as problem:
            return start - unfinished + problem.start
    return None


def count_line_ends(data: bytes, end: int | None = None) -> int:
    r"""Return the number of ``\n``, ``\r`` and ``\r\n`` in the first `end` bytes."""
    counts = [data.count(mark, 0, end) for mark in (b"\n", b"\r", b"\r\n")]
    return counts[0] + counts[1] - counts[2]


def _line_at(text: Text, position: int) -> int:
    return count_line_ends(text.data, position) + text.first_line


def _records(text: Text, delimiter: str, strict: bool = False) -> Iterator[Record]:
    """Yield the records, skipping blank lines."""
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
    data = text.data
    end = b"\r\n" if b"\r" in data else b"\n"
    blank = data.startswith(end) or b"\n" + end in data
    if b'"' not in data and not blank and data.count(b"\r") in (0, data.count(b"\r\n")):
        mixed = end == b"\r\n" and data.count(b"\n") != data.count(end)
        if not mixed:
            return text.first_line + row  # every line is a record
    return next(islice(_records(text, delimiter), row, None)).line


def _first_widths(data: bytes) -> dict[str, int]:
    """Return the number of fields of the first line that is not blank, by delimiter."""
    line = _FIRST_LINE.search(data)
    return {mark: line[0].count(mark.encode()) + 1 if line else 1 for mark in _DELIMITERS}


def _find_delimiter(text: Text, expected: tuple[str, ...] | None) -> str:
    """Return the delimiter that divides the first lines into equally many fields.

    A delimiter that gives the expected names is preferred. Otherwise tab and semicolon are tried
    before the comma, which also occurs in text and in decimal numbers. If no delimiter qualifies,
    the file is ragged, and the one that gives the most fields in the first line is returned.
    """
    widths = _first_widths(text.data)
    agreed = []
    for delimiter in _DELIMITERS:
        if widths[delimiter] > MAX_COLUMNS:
            raise InputError(
                f"{text.title}: there are more than {MAX_COLUMNS:,} columns; use fewer."
            )
        try:
            sample = list(islice(_records(text, delimiter), _SAMPLE))
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


def _parse(
    text: Text, delimiter: str, reference: int, names: tuple[str, ...], limit: int
) -> ArrowColumns:
    """Parse all records, including the first, into columns of text.

    All records must have as many fields as there are `names`; the first one, in line `reference`,
    does.
    """
    marks = text.data.count(b'"')
    if marks % 2:
        # The unbalanced quotation mark cannot be in a line before the first one.
        start = _line_start(text.data, text.data.index(b'"'))
        _explain(_from(text, start), delimiter, len(names), reference, strict=True)
    # With quotation marks inside unquoted fields, the ends of records cannot be found by counting.
    whole = marks > 0 and _STRAY_QUOTE.search(text.data) is not None
    builder = ColumnBuilder(text.title, names, limit)
    at = 0
    size = _PIECE if len(names) < _WIDE else _WIDE_PIECE
    pieces = iter([text.data]) if whole else cut(io.BytesIO(text.data), text.title, size)
    for piece in pieces:
        try:
            for arrays in _arrays(piece, delimiter, len(names)):
                builder.add(arrays)
        except pa.ArrowInvalid as problem:
            _explain_piece(_from(text, at, piece), delimiter, len(names), reference, whole)
            reason = str(problem).splitlines()[0][:200]
            raise InputError(f"{text.title}: the file cannot be read as CSV ({reason}).") from None
        at += len(piece)
    return builder.columns()


def _arrays(data: bytes, delimiter: str, width: int) -> Iterator[list[pa.Array]]:
    """Yield batches of columns of text, at least one."""
    names = [str(i) for i in range(width)]
    # Dictionaries store each distinct text once, so that later steps work on few values.
    kind = pa.dictionary(pa.int32(), pa.string())
    if _FIRST_LINE.search(data) is None:
        yield [pa.nulls(0, kind)] * width
        return
    table = arrow_csv.read_csv(
        _reader_of(data),
        read_options=arrow_csv.ReadOptions(column_names=names, block_size=_BLOCK),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in data),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, kind), null_values=[], check_utf8=False
        ),
    )
    for batch in table.to_batches():
        yield batch.columns


def _explain_piece(text: Text, delimiter: str, width: int, reference: int, whole: bool) -> None:
    """Raise for the first wrong record, searching only the pieces that pyarrow rejects."""
    if not whole:
        at = 0
        for piece in cut(io.BytesIO(text.data), text.title, _SMALL_PIECE):
            try:
                for _ in _arrays(piece, delimiter, width):
                    pass
            except pa.ArrowInvalid:
                _explain(_from(text, at, piece), delimiter, width, reference)
            at += len(piece)
    _explain(text, delimiter, width, reference)


def _from(text: Text, start: int, data: bytes | None = None) -> Text:
    """Return the part of a text from `start` on, or with `data`, which starts there."""
    line = text.first_line + count_line_ends(text.data, start)
    return Text(text.data[start:] if data is None else data, text.title, line)


def _line_start(data: bytes, position: int) -> int:
    return max(data.rfind(b"\n", 0, position), data.rfind(b"\r", 0, position)) + 1


def cut(file: BinaryIO, title: str, size: int) -> Iterator[bytes]:
    """Cut a text into pieces of about `size` bytes that end with a record.

    The first piece holds at least two records if the file does, because the records below the
    first line decide whether it holds names.

    Raises
    ------
    InputError
        For a record that is too long.
    """
    left = b""
    first = True
    while True:
        read = file.read(size)
        left += read
        if not read:
            if left:
                yield left
            return
        end = _last_record_end(left)
        if first and end and _last_record_end(left[: end - 1]) == 0:
            end = 0
        if end == 0:
            if len(left) > max(_BLOCK, 2 * size):
                raise InputError(
                    f"{title}: a record of more than {_BLOCK // 2**20} MB; look for a "
                    "quotation mark that is never closed."
                )
            continue
        first = False
        yield left[:end]
        left = left[end:]


def _last_record_end(data: bytes) -> int:
    """Return the end of the last complete record of `data`; 0 if there is none.

    Line ends inside quotation marks do not end a record: the number of marks before the end of a
    record is even. The last byte cannot be used, as it may be the first half of a line end.
    """
    mark = b"\n" if b"\n" in data else b"\r"
    end = data.rfind(mark, 0, len(data) - (mark == b"\r"))
    quotes = data.count(b'"', 0, end + 1)
    while end >= 0:
        if quotes % 2 == 0:
            return end + 1
        before = data.rfind(mark, 0, end)
        quotes -= data.count(b'"', before + 1, end)
        end = before
    return 0


def _reader_of(data: bytes) -> pa.BufferReader:
    """Return a reader of a copy in memory owned by pyarrow.

    pyarrow reads ahead in its own thread. If that thread calls Python or releases a Python object
    while the process exits, the process aborts.
    """
    own = pa.allocate_buffer(len(data))
    memoryview(own).cast("B")[:] = data
    return pa.BufferReader(own)


def _explain(text: Text, delimiter: str, width: int, reference: int, strict: bool = False) -> None:
    """Raise :class:`InputError` for the first record whose width is not `width`, if any."""
    for record in _records(text, delimiter, strict):
        if len(record.fields) != width:
            count = len(record.fields)
            raise InputError(
                f"{text.title}: line {record.line} has {count} field{'s' * (count != 1)}, but line "
                f"{reference} has {width} (the delimiter is a {_DELIMITERS[delimiter]})."
            )
