"""Jester data set 1: ratings of 100 jokes by 73,421 users."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from graftviz.datasets.dataset import DataSet
from graftviz.datasets.public_base import PublicReader, other_size
from graftviz.datasets.public_files import FoundFile, decoded, find_files
from graftviz.datasets.spreadsheet import spreadsheet_rows
from graftviz.datasets.text import csv_rows
from graftviz.errors import InputError
from graftviz.options import option
from graftviz.table import DiscreteTable

JOKES = 100
STATES = 5
USERS = 73_421
NOT_RATED = 99_00  # in hundredths, as all ratings here
_LARGEST = 10_00
_STATE_WIDTH = 4_00
_NOT_RATED_LABEL = "not rated"
_ALL_JOKES = tuple(f"joke {j}" for j in range(1, JOKES + 1))


def rating_states(hundredths: np.ndarray) -> np.ndarray:
    """Return the states 0 … 4 of ratings −10 … 10 in hundredths; the labels are 1 … 5.

    A rating r has the label min(⌊(r + 10) / 4⌋, 4) + 1, as in the papers. With integers, rounding
    errors cannot change the state of a rating.
    """
    states: np.ndarray = np.minimum((hundredths + _LARGEST) // _STATE_WIDTH, STATES - 1)
    return states


@dataclass(frozen=True)
class Jester(PublicReader):
    """Reader of ratings as five states, by default of the users who rated all jokes."""

    name = "jester"
    files = (
        "the three .xls files of Jester data set 1, or CSV exports of them: the folder that "
        "contains them, possibly in zip archives, or one of the files"
    )
    source = (
        "Ratings of 100 jokes from −10 to 10, in five states. Goldberg, Roeder, Gupta "
        "and Perkins, Eigentaste: A Constant Time Collaborative Filtering Algorithm, Information "
        "Retrieval 4(2), 133–151, 2001."
    )

    missing: Literal["drop", "state"] = option(
        "drop",
        "jokes that were not rated: drop the users concerned, or use a sixth state",
    )

    def read(self, path: str | os.PathLike[str]) -> DataSet:
        """Read the ratings; see :class:`PublicReader`."""
        found = find_files(path, r"[^.].*\.(csv|xls)", "spreadsheet (.xls or .csv)")
        ratings = np.concatenate([_ratings(file) for file in found])
        warnings = other_size("users", len(ratings), USERS)
        is_missing = ratings == NOT_RATED
        labels = [str(state) for state in range(1, STATES + 1)]
        if self.missing == "state":
            labels.append(_NOT_RATED_LABEL)
        else:
            ratings = ratings[~is_missing.any(axis=1)]
            if not len(ratings):
                raise InputError(
                    f"None of the {len(is_missing):,} users in "
                    f"{', '.join(file.title for file in found)} rated all {JOKES} jokes; read the "
                    "other files too, or use missing=state."
                )
        codes = np.where(ratings == NOT_RATED, STATES, rating_states(ratings)).astype(np.uint8)
        table = DiscreteTable.from_codes(codes, names=_ALL_JOKES, labels=[labels] * JOKES)
        return self.data_set(path, table, warnings=warnings)


def _ratings(file: FoundFile) -> np.ndarray:
    """Return the ratings of one file in hundredths, int16, shape (users, 100)."""
    content = file.load()
    if file.name.lower().endswith(".xls"):
        rows = list(enumerate(spreadsheet_rows(content, file.title), start=1))
    else:
        rows = _csv_rows(decoded(content, file.title), file.title)
    rows = [(row, cells) for row, cells in rows if any(cell != "" for cell in cells)]
    if rows and not any(_is_number(cell) for cell in rows[0][1]):
        rows = rows[1:]  # a line of names
    if not rows:
        raise InputError(f"{file.title} holds no ratings; download it again.")
    numbers = np.array([_numbers(file.title, row, cells) for row, cells in rows])
    _check(file.title, [row for row, _ in rows], numbers)
    return np.rint(100.0 * numbers[:, 1:]).astype(np.int16)


def _csv_rows(text: str, title: str) -> list[tuple[int, list[object]]]:
    # Programs use semicolons as separators in locales where the comma is the decimal separator.
    german = ";" in text.partition("\n")[0]
    if german:
        text = text.replace(",", ".")
    rows = csv_rows(title, text, ";" if german else ",")
    return [(row, list(cells)) for row, cells in enumerate(rows, start=1)]


def _numbers(title: str, row: int, cells: Sequence[object]) -> list[float]:
    if len(cells) != JOKES + 1:
        raise InputError(
            f"Row {row} of {title} has {len(cells)} columns; it should have {JOKES + 1}: the "
            f"number of jokes the user rated, then {JOKES} ratings. Download the file again, or "
            "use that of Jester data set 1."
        )
    try:
        return [float(cell) for cell in cells]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        column = next(c for c, cell in enumerate(cells, start=1) if not _is_number(cell))
        raise InputError(
            f"Row {row}, column {column} of {title} holds {cells[column - 1]!r}, which is not a "
            "number; jokes that were not rated should hold 99."
        ) from None


def _is_number(cell: object) -> bool:
    try:
        float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _check(title: str, rows: Sequence[int], numbers: np.ndarray) -> None:
    """Raise :class:`InputError` for invalid ratings and for wrong counts of ratings."""
    with np.errstate(invalid="ignore"):
        hundredths = np.rint(100.0 * numbers[:, 1:])
        is_exact = np.abs(100.0 * numbers[:, 1:] - hundredths) <= 1e-6
        is_rated = np.abs(hundredths) <= _LARGEST
    is_bad = ~is_exact | ~(is_rated | (hundredths == NOT_RATED))
    if is_bad.any():
        i, joke = divmod(int(np.argmax(is_bad)), JOKES)
        raise InputError(
            f"Row {rows[i]}, column {joke + 2} of {title} holds {numbers[i, joke + 1]:g}; a rating "
            "is a number from −10 to 10 with two decimals, or 99 for not rated."
        )
    counted = is_rated.sum(axis=1)
    if (counted != numbers[:, 0]).any():
        i = int(np.argmax(counted != numbers[:, 0]))
        raise InputError(
            f"According to column 1, {numbers[i, 0]:g} jokes were rated in row {rows[i]} of "
            f"{title}, but it holds {counted[i]} ratings; the file is damaged, download it again."
        )
