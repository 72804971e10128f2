"""Published files of data sets for classes: roll calls of a Senate, and plants by region."""

from __future__ import annotations

from random import Random

from graftviz.datasets.regions import REGIONS
from tests.fuzz.archives import Entry, zip_of
from tests.fuzz.cases import Case, encoded, hostile_name, hostile_text, mutated_bytes
from tests.fuzz.tables import Lines, mutated_lines

_SENATORS = (("ONE", "D", 100, "NY"), ("TWO", "R", 200, "AL"), ("THREE", "R", 200, "TX"))
_ROLL_CALLS = 8


def public_case(rng: Random) -> Case:
    """Return the files of one data set, as they are published or in a zip archive."""
    is_senate = rng.random() < 0.6
    files = _senate(rng) if is_senate else [("plants.data", _plants(rng))]
    if rng.random() < 0.2:
        packed = zip_of([Entry(encoded(name), content) for name, content in files])
        files = [(hostile_name(rng, ".zip"), mutated_bytes(rng, packed, 1))]
    elif rng.random() < 0.1:
        files[0] = (hostile_name(rng, ".csv"), files[0][1])
    options: dict[str, object] = {}
    if rng.random() < 0.9:  # by default none of so few votes is divided enough
        options = {"minority": rng.choice((0, 1))} if is_senate else {"names": "regions"}
    if rng.random() < 0.05:
        options = {next(iter(options), "minority" if is_senate else "names"): hostile_text(rng)}
    return Case("public", tuple(files), {"role": "senate" if is_senate else "plants", **options})


def _senate(rng: Random) -> list[tuple[str, bytes]]:
    """Return a table of votes by R, or the two files of Voteview."""
    votes = {(i, k): rng.choice((1, 6, 9)) for i in range(3) for k in range(_ROLL_CALLS)}
    if rng.random() < 0.4:
        table = [["", *(f"1-{k + 1}" for k in range(_ROLL_CALLS))]]
        for i, (name, party, _, state) in enumerate(_SENATORS):
            codes = [str(votes[i, k]) for k in range(_ROLL_CALLS)]
            table.append([f"{name} ({party} {state})", *codes])
        return [("s109.csv", mutated_lines(rng, table))]
    members = [["congress", "chamber", "icpsr", "state_abbrev", "party_code", "bioname"]]
    for i, (name, _, party, state) in enumerate(_SENATORS):
        members.append(["109", "Senate", str(900 + i), state, str(party), f"{name}; First"])
    cast = [["congress", "chamber", "rollnumber", "icpsr", "cast_code"]]
    cast += [["109", "Senate", str(k + 1), str(900 + i), str(v)] for (i, k), v in votes.items()]
    names = ("S109_votes.csv", "S109_members.csv")
    return [(name, mutated_lines(rng, t)) for name, t in zip(names, (cast, members), strict=True)]


def _plants(rng: Random) -> bytes:
    """Return plants with the codes of their regions."""
    lines: Lines = [
        [f"plant {k}", *rng.sample(list(REGIONS), rng.randint(1, 6))] for k in range(12)
    ]
    return mutated_lines(rng, lines)
