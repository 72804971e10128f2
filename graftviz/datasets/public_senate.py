"""Roll calls of one Congress of the US Senate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graftviz.datasets.dataset import DataSet
from graftviz.datasets.public_base import PublicReader
from graftviz.datasets.public_files import FileSource, FoundFile, decoded, find_files
from graftviz.datasets.text import csv_rows
from graftviz.errors import InputError
from graftviz.options import option
from graftviz.table import DiscreteTable

LABELS = ("nay", "yea", "absent")
NOT_A_MEMBER, MOST_CODE = 0, 9
_STATES = np.array([2, 1, 1, 1, 0, 0, 0, 2, 2, 2], dtype=np.uint8)  # of the codes 0 … 9
_PARTIES = {"100": "D", "200": "R", "328": "Indep"}  # codes of Voteview
_PRESIDENT = "USA"  # in place of a state
_MEMBER = re.compile(r"(.+) \((\w+) ([A-Z]{2,3})\)")
_FILES = "files of roll calls (S109_votes.csv and S109_members.csv, or one CSV table of votes)"
_VOTES = ("congress", "chamber", "rollnumber", "icpsr", "cast_code")
_MEMBERS = ("congress", "chamber", "icpsr", "state_abbrev", "party_code", "bioname")


class Member(NamedTuple):
    """Member of the Senate, or the president."""

    name: str
    party: str
    state: str


class RollCalls(NamedTuple):
    """Votes as codes of Poole and Rosenthal, shape (roll calls, members), and the members."""

    codes: np.ndarray
    members: list[Member]


@dataclass(frozen=True)
class Senate(PublicReader):
    """Reader of a table with one row per roll call and one column per seat.

    Senators who hold a seat one after the other share its column; the president is left out.
    """

    name = "senate"
    files = (
        "S109_votes.csv and S109_members.csv of voteview.com (of any Congress), in a folder or zip "
        "archive; or one CSV table of the votes of R's pscl, such as s109$votes, either way round"
    )
    source = (
        "Roll calls of the US Senate: nay, yea or absent (not voting, or seat not filled). Lewis, "
        "Poole, Rosenthal, Boche, Rudkin and Sonnet, Voteview: Congressional Roll-Call Votes "
        "Database, https://voteview.com."
    )

    minority: int = option(
        5,
        "fewest votes of the smaller side: roll calls with fewer, on which nearly all agree, are "
        "left out; 0 includes them",
        label="Fewest minority votes",
        minimum=0,
        maximum=50,
        advanced=True,
    )

    def read(self, path: FileSource) -> DataSet:
        """Read the roll calls; see :class:`PublicReader`."""
        votes, members = _roll_calls(find_files(path, r"[^.].*\.csv", _FILES))
        names, states = _seats(votes, members)
        sides = np.stack([(states == side).sum(axis=1) for side in (0, 1)])
        is_close = sides.min(axis=0) >= self.minority
        if not is_close.any():
            raise InputError(
                f"None of the {len(states):,} roll calls has {self.minority} votes on each side; "
                "use a smaller minority."
            )
        table = DiscreteTable.from_codes(
            states[is_close], names=names, labels=[LABELS] * len(names)
        )
        return self.data_set(path, table)


def _roll_calls(files: Sequence[FoundFile]) -> RollCalls:
    """Return the roll calls in two files of Voteview, or in one table."""
    tables = [(file.title, _cells(file)) for file in files]
    votes = [one for one in tables if "cast_code" in one[1][0]]
    members = [one for one in tables if "bioname" in one[1][0]]
    others = [one for one in tables if one not in votes and one not in members]
    titles = ", ".join(title for title, _ in tables)
    if others and len(tables) == 1:
        return _table_of_votes(*others[0])
    if others or len(votes) > 1 or len(members) > 1:
        raise InputError(
            f"{titles} are not the votes and the members of one Congress; two files of Voteview "
            "are needed, or one table of votes."
        )
    if not members:
        raise InputError(
            f"{titles} holds votes without the names of the senators; the file of the members of "
            "that Congress, such as S109_members.csv, is needed with it."
        )
    if not votes:
        raise InputError(
            f"{titles} holds members without their votes; the file of the votes in that Congress, "
            "such as S109_votes.csv, is needed with it."
        )
    return _voteview(*votes[0], *members[0])


def _cells(file: FoundFile) -> list[list[str]]:
    text = decoded(file.load(), file.title)
    rows = [cells for cells in csv_rows(file.title, text) if any(cells)]
    if not rows:
        raise InputError(f"{file.title} holds no values; download it again.")
    return rows


# ---------------------------------------------------------------------------------------- formats


def _table_of_votes(title: str, cells: list[list[str]]) -> RollCalls:
    """Return the roll calls of a table whose columns, or rows, are named as members."""
    for row, line in enumerate(cells, start=1):
        if len(line) != len(cells[0]):
            raise InputError(
                f"Row {row} of {title} has {len(line)} columns and row 1 has {len(cells[0])}; "
                "write the table with the names of its rows in the first column, as write.csv does."
            )
    across, down = cells[0][1:], [line[0] for line in cells[1:]]
    is_across = _are_members(across)
    if not is_across and not _are_members(down):
        raise InputError(
            f"Neither the first row nor the first column of {title} holds senators such as "
            "'MCCAIN (R AZ)'; write s109$votes of pscl as CSV, or use the two files of Voteview."
        )
    codes = np.array(
        [
            [_code(title, row, column, cell) for column, cell in enumerate(line[1:], start=2)]
            for row, line in enumerate(cells[1:], start=2)
        ],
        dtype=np.int8,
    ).reshape(len(down), len(across))
    found = [_MEMBER.fullmatch(name) for name in (across if is_across else down)]
    members = [Member(*match.groups()) for match in found if match]
    return RollCalls(codes if is_across else codes.T, members)


def _are_members(names: Sequence[str]) -> bool:
    return len(names) > 1 and all(_MEMBER.fullmatch(name) for name in names)


def _code(title: str, row: int, column: int, cell: str) -> int:
    if not re.fullmatch(r"\d", cell, re.ASCII):
        raise InputError(
            f"Row {row}, column {column} of {title} holds {cell!r}; a vote is a code from "
            f"{NOT_A_MEMBER} to {MOST_CODE} (1 to 3 yea, 4 to 6 nay)."
        )
    return int(cell)


def _voteview(
    votes_title: str, votes: list[list[str]], members_title: str, members: list[list[str]]
) -> RollCalls:
    """Return the roll calls in the file of votes and the file of members of one Congress."""
    people: dict[str, Member] = {}
    congresses = set()
    for _, (congress, chamber, number, state, party, name) in _senate(
        members_title, members, _MEMBERS
    ):
        if chamber == "Senate":
            congresses.add(congress)
            surname = name.partition(",")[0]
            people[number] = Member(surname, _PARTIES.get(party, party), state)
    cast: dict[str, dict[str, int]] = {}  # roll call → member → code
    code_column = votes[0].index("cast_code") + 1
    for row, (congress, chamber, roll_call, number, code) in _senate(votes_title, votes, _VOTES):
        if chamber == "Senate":
            congresses.add(congress)
            cast.setdefault(roll_call, {})[number] = _code(votes_title, row, code_column, code)
    if not cast or not people:
        empty = members_title if cast else votes_title
        raise InputError(f"{empty} holds no row of the Senate; download the files of the Senate.")
    if len(congresses) > 1:
        raise InputError(
            f"{votes_title} and {members_title} belong to more than one Congress; download both "
            "files for the same one."
        )
    codes = [[row.get(number, NOT_A_MEMBER) for number in people] for row in cast.values()]
    return RollCalls(np.array(codes, dtype=np.int8), list(people.values()))


def _senate(
    title: str, cells: list[list[str]], names: Sequence[str]
) -> list[tuple[int, list[str]]]:
    """Return number and cells of the rows, with the columns of the given names only."""
    missing = [name for name in names if name not in cells[0]]
    if missing:
        raise InputError(f"{title} has no column {missing[0]!r}; download it again.")
    columns = [cells[0].index(name) for name in names]
    for row, line in enumerate(cells, start=1):
        if len(line) != len(cells[0]):
            raise InputError(
                f"Row {row} of {title} has {len(line)} columns and row 1 has {len(cells[0])}; the "
                "file is truncated, download it again."
            )
    return [
        (row, [line[column] for column in columns]) for row, line in enumerate(cells[1:], start=2)
    ]


# ------------------------------------------------------------------------------------------ seats


def _seats(codes: np.ndarray, members: Sequence[Member]) -> tuple[list[str], np.ndarray]:
    """Return the names of the seats, and their states, shape (roll calls, seats).

    Members of a state who are never in office at the same roll call share a seat: each takes, in
    the order of their first roll calls, the seat that was left last before that.
    """
    in_office = codes != NOT_A_MEMBER
    first = in_office.argmax(axis=0)
    last = len(codes) - 1 - in_office[::-1].argmax(axis=0)
    seats: list[list[int]] = []
    for i in sorted(range(len(members)), key=lambda i: (first[i], i)):
        if not in_office[:, i].any() or members[i].state == _PRESIDENT:
            continue
        free = [
            seat
            for seat in seats
            if members[seat[-1]].state == members[i].state and last[seat[-1]] < first[i]
        ]
        if free:
            max(free, key=lambda seat: last[seat[-1]]).append(i)
        else:
            seats.append([i])
    if len(seats) < 2:
        raise InputError("The file holds roll calls of fewer than two senators.")
    seats.sort(key=lambda seat: seat[0])
    names = [_seat_name([members[i] for i in seat]) for seat in seats]
    # Only one of the members of a seat is in office, and the code of the others is 0.
    return names, np.stack([_STATES[codes[:, seat].max(axis=1)] for seat in seats], axis=1)


def _seat_name(holders: Sequence[Member]) -> str:
    names, parties = (
        "/".join(dict.fromkeys(texts))
        for texts in ([one.name for one in holders], [one.party for one in holders])
    )
    return f"{names} ({parties} {holders[0].state})"
