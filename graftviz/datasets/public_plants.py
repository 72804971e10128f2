"""USDA plants data set: occurrence of 34,781 plants in the regions of North America."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from graftviz.datasets.dataset import DataSet
from graftviz.datasets.positions import framed
from graftviz.datasets.public_base import PublicReader, other_size
from graftviz.datasets.public_files import FileSource, decoded, find_file
from graftviz.datasets.regions import REGIONS
from graftviz.errors import InputError
from graftviz.options import option
from graftviz.table import DiscreteTable

PLANTS = 34_781
LABELS = ("absent", "present")
SYNONYMS = {"gl": "dengl"}  # Greenland has two codes, never both in one row


@dataclass(frozen=True)
class Plants(PublicReader):
    """Reader of a table with one row per plant and one column per region, with map positions."""

    # The published file stateabbr.txt is not used: it swaps Alabama and Alberta (the plants of al
    # are those of Georgia and Mississippi) and has no code for Prince Edward Island.

    name = "plants"
    files = "plants.data of UCI's Plants: the file, or a zip archive or folder that contains it"
    source = (
        "States and provinces in which the plants of North America grow. USDA, NRCS 2008, The "
        "PLANTS Database, National Plant Data Center, Baton Rouge; extracted by W. Hämäläinen for "
        "the UCI Machine Learning Repository."
    )

    names: Literal["codes", "regions"] = option(
        "codes",
        "names of the variables: codes of the file, such as ca, or full names of the regions",
        label="Names",
    )

    def read(self, path: FileSource) -> DataSet:
        """Read the plants; see :class:`PublicReader`."""
        file = find_file(path, r"plants\.data", "plants.data")
        rows = _regions_of_plants(decoded(file.load(), file.title), file.title)
        codes = np.zeros((len(rows), len(REGIONS)), dtype=np.uint8)
        for codes_of_one, columns in zip(codes, rows, strict=True):
            codes_of_one[columns] = 1
        in_full = self.names == "regions"
        table = DiscreteTable.from_codes(
            codes,
            names=[region.name if in_full else code for code, region in REGIONS.items()],
            labels=[LABELS] * len(REGIONS),
        )
        places = np.array([(place.longitude, place.latitude) for place in REGIONS.values()])
        return self.data_set(
            path,
            table,
            warnings=other_size("plants", len(rows), PLANTS),
            positions=framed(places, is_map=True),
        )


def _regions_of_plants(text: str, title: str) -> list[list[int]]:
    """Return the columns of the regions of every plant."""
    column = {code: i for i, code in enumerate(REGIONS)}
    column |= {synonym: column[code] for synonym, code in SYNONYMS.items()}
    rows = []
    for row, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        _, *codes = (cell.strip() for cell in line.split(","))
        if not codes:
            raise InputError(
                f"Row {row} of {title} names no region; it should hold the Latin name of a plant "
                "and the codes of its regions, separated by commas. Download the file again."
            )
        for place, code in enumerate(codes, start=2):
            if code not in column:
                raise InputError(
                    f"Row {row}, column {place} of {title} holds {code!r}, which is not one of the "
                    f"{len(column)} codes of regions; the file is truncated or modified, download "
                    "it again."
                )
        if len(set(codes)) < len(codes):
            twice = next(code for code in codes if codes.count(code) > 1)
            raise InputError(
                f"Row {row} of {title} names the region {twice!r} twice, so the file is a damaged "
                "copy; download it from the UCI repository."
            )
        rows.append([column[code] for code in codes])
    return rows
