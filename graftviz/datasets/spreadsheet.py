"""Reader of Excel 97 files (.xls) with xlrd, an optional dependency."""

from __future__ import annotations

import io
import struct

from graftviz.discovery import later
from graftviz.errors import InputError

# Exceptions that xlrd raises for damaged files, in addition to its own errors.
_DAMAGE_ERRORS = (
    *(struct.error, LookupError, ValueError, TypeError, AttributeError),
    *(AssertionError, OverflowError, MemoryError),
)


def spreadsheet_rows(content: bytes, title: str) -> list[list[object]]:
    """Return the rows of cells of the first sheet; numbers are floats.

    Raises
    ------
    InputError
        When xlrd is not installed, or the file is damaged or not an .xls spreadsheet.
    """
    try:
        xlrd = later("xlrd")  # here, as it takes 8 MB in every process that can read uploads
    except ModuleNotFoundError:
        raise InputError(
            f"{title} is an .xls spreadsheet, and reading those needs xlrd: install it with "
            "pip install xlrd, or save the sheet as CSV."
        ) from None
    try:
        book = xlrd.open_workbook(file_contents=content, logfile=io.StringIO())
        sheet = book.sheet_by_index(0)
        return [sheet.row_values(row) for row in range(sheet.nrows)]
    except (xlrd.XLRDError, xlrd.compdoc.CompDocError, *_DAMAGE_ERRORS) as problem:
        raise InputError(
            f"{title} cannot be read as an .xls spreadsheet ({problem!r}); download it again, or "
            "save the sheet as CSV."
        ) from None
