"""Table race.csv: all moments of all racers, sorted by cost."""

from __future__ import annotations

from graftviz.formats.spreadsheet import shown_cell
from graftviz.racing import Race
from graftviz.table.csv_text import csv_text

RACE_COLUMNS = (
    *("racer", "step", "end", "seconds", "tests", "tables_counted", "edges"),
    *("objective", "recall", "precision", "nlpl_test"),
)


def race_csv(race: Race, axis: str = "seconds") -> str:
    """Return one line per moment, sorted by its cost on `axis`; racers share one timeline.

    ``step`` 0 is the model without edges; ``end`` is 1 for the end of a racer, after its last fit.
    A cell is empty if a value does not apply; floats are exact.

    Raises
    ------
    InputError
        When there is no such axis.
    """
    rows = []
    for number, course in enumerate(race.courses):
        last = len(course.moments) - 1
        for k, (cost, moment) in enumerate(zip(course.costs(axis), course.moments, strict=True)):
            is_end = int(course.ended and k == last)
            step, *values = moment
            rows.append((cost, number, k, (shown_cell(course.name), step, is_end, *values)))
    in_order = sorted(rows, key=lambda entry: entry[:3])
    return csv_text([RACE_COLUMNS, *(row for *_, row in in_order)])
