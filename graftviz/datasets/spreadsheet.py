"""Old Excel files (.xls) as rows of cells, by xlrd, which is asked for only by who needs it."""

from __future__ import annotations

import io
import struct

from graftviz.errors import InputError

try:
    import xlrd
except ModuleNotFoundError:
    xlrd = None

# Beside its own errors, xlrd fails at damaged files wherever it happens to stumble.
_STUMBLES = (
    *(struct.error, LookupError, ValueError, TypeError, AttributeError),
    *(AssertionError, OverflowError, MemoryError),
)


def spreadsheet_rows(content: bytes, title: str) -> list[list[object]]:
    """Return the cells of the first sheet, row by row: numbers as float, other cells as they are.

    Raises
    ------
    InputError
        When xlrd is not installed, or the file is no .xls spreadsheet, or a damaged one.
    """
    if xlrd is None:
        raise InputError(
            f"{title} is an .xls spreadsheet, and reading those needs xlrd: install it with "
            "pip install xlrd, or save the sheet as CSV."
        )
    try:
        book = xlrd.open_workbook(file_contents=content, logfile=io.StringIO())
        sheet = book.sheet_by_index(0)
        return [sheet.row_values(row) for row in range(sheet.nrows)]
    except (xlrd.XLRDError, xlrd.compdoc.CompDocError, *_STUMBLES) as problem:
        raise InputError(
            f"{title} cannot be read as an .xls spreadsheet ({problem!r}); download it again, or "
            "save the sheet as CSV."
        ) from None
