"""Readers of the public data sets of the papers' experiments, from files that the user downloads.

A file that is damaged or not the published one is refused with one sentence. Nothing is unpickled:
a pickle is a program, which would run on the reader's machine.
"""

from __future__ import annotations

import io
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd

from graftviz.data.sets.dataset import DataSet, suggest_lam
from graftviz.data.sets.files import FileSource, found_files, framed, reading, source_text
from graftviz.data.table import DiscreteTable
from graftviz.utils.errors import InputError
from graftviz.utils.options import check_options, option, option_specs


class Region(NamedTuple):
    """State, province or territory, with the approximate coordinates of its centre in degrees."""

    name: str
    longitude: float
    latitude: float


# Regions by code, in the order of the columns.
REGIONS = {
    "ab": Region("Alberta", -115.0, 55.0),
    "ak": Region("Alaska", -152.7, 64.5),
    "al": Region("Alabama", -86.8, 32.8),
    "ar": Region("Arkansas", -92.4, 34.9),
    "az": Region("Arizona", -111.7, 34.3),
    "bc": Region("British Columbia", -125.0, 54.5),
    "ca": Region("California", -119.6, 37.3),
    "co": Region("Colorado", -105.5, 39.0),
    "ct": Region("Connecticut", -72.7, 41.6),
    "dc": Region("District of Columbia", -77.0, 38.9),
    "de": Region("Delaware", -75.5, 39.0),
    "dengl": Region("Greenland", -42.0, 70.0),
    "fl": Region("Florida", -82.5, 28.6),
    "fraspm": Region("St. Pierre and Miquelon", -56.3, 46.9),
    "ga": Region("Georgia", -83.4, 32.6),
    "hi": Region("Hawaii", -155.5, 19.6),
    "ia": Region("Iowa", -93.5, 42.1),
    "id": Region("Idaho", -114.7, 44.4),
    "il": Region("Illinois", -89.2, 40.1),
    "in": Region("Indiana", -86.3, 39.9),
    "ks": Region("Kansas", -98.4, 38.5),
    "ky": Region("Kentucky", -85.3, 37.5),
    "la": Region("Louisiana", -92.0, 31.1),
    "lb": Region("Labrador", -61.5, 54.0),
    "ma": Region("Massachusetts", -71.8, 42.3),
    "mb": Region("Manitoba", -97.5, 55.0),
    "md": Region("Maryland", -76.8, 39.0),
    "me": Region("Maine", -69.2, 45.4),
    "mi": Region("Michigan", -84.6, 43.5),
    "mn": Region("Minnesota", -94.3, 46.3),
    "mo": Region("Missouri", -92.5, 38.4),
    "ms": Region("Mississippi", -89.7, 32.8),
    "mt": Region("Montana", -109.6, 47.0),
    "nb": Region("New Brunswick", -66.3, 46.6),
    "nc": Region("North Carolina", -79.4, 35.5),
    "nd": Region("North Dakota", -100.5, 47.4),
    "ne": Region("Nebraska", -99.8, 41.5),
    "nf": Region("Newfoundland", -56.0, 48.7),
    "nh": Region("New Hampshire", -71.6, 43.7),
    "nj": Region("New Jersey", -74.7, 40.2),
    "nm": Region("New Mexico", -106.1, 34.4),
    "ns": Region("Nova Scotia", -63.2, 45.1),
    "nt": Region("Northwest Territories", -119.0, 64.5),
    "nu": Region("Nunavut", -91.0, 66.0),
    "nv": Region("Nevada", -116.7, 39.4),
    "ny": Region("New York", -75.5, 42.9),
    "oh": Region("Ohio", -82.8, 40.3),
    "ok": Region("Oklahoma", -97.5, 35.6),
    "on": Region("Ontario", -86.0, 50.5),
    "or": Region("Oregon", -120.6, 43.9),
    "pa": Region("Pennsylvania", -77.8, 40.9),
    "pe": Region("Prince Edward Island", -63.3, 46.4),
    "pr": Region("Puerto Rico", -66.5, 18.2),
    "qc": Region("Québec", -72.0, 53.0),
    "ri": Region("Rhode Island", -71.6, 41.7),
    "sc": Region("South Carolina", -80.9, 33.9),
    "sd": Region("South Dakota", -100.2, 44.4),
    "sk": Region("Saskatchewan", -106.0, 54.5),
    "tn": Region("Tennessee", -86.3, 35.8),
    "tx": Region("Texas", -99.3, 31.5),
    "ut": Region("Utah", -111.7, 39.3),
    "va": Region("Virginia", -78.9, 37.5),
    "vi": Region("Virgin Islands", -64.8, 17.7),
    "vt": Region("Vermont", -72.7, 44.1),
    "wa": Region("Washington", -120.4, 47.4),
    "wi": Region("Wisconsin", -90.0, 44.6),
    "wv": Region("West Virginia", -80.6, 38.6),
    "wy": Region("Wyoming", -107.6, 43.0),
    "yt": Region("Yukon", -135.5, 63.5),
}


# A table, the number of rows in its files, and other parts of the data set.
Found = tuple[DiscreteTable, int, dict[str, Any]]


def numbers(frame: pd.DataFrame) -> np.ndarray:
    """Return the cells as numbers, NaN where they are none."""
    return frame.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)


def check_rows(is_right: Any, first: int = 1) -> None:
    """Raise ValueError with the number of the first row that is wrong, or missing."""
    rows = np.asarray(is_right, dtype=bool)
    if not rows.all() or not len(rows):
        raise ValueError(f"see row {first + (int(rows.argmin()) if len(rows) else 0)}")


@dataclass(frozen=True)
class PublicReader(ABC):
    """Base class of readers, whose fields are options."""

    name: ClassVar[str]  # on the command line
    files: ClassVar[str]  # what to download, and the path to pass
    size: ClassVar[tuple[str, int]] = ("", 0)  # what a row is, and their published number
    source: ClassVar[str]  # the origin: the last paragraph of the docstring

    def __init_subclass__(cls) -> None:
        cls.source = " ".join((cls.__doc__ or "").rpartition("\n\n")[2].split())

    def __post_init__(self) -> None:
        check_options(self)

    def read(self, source: FileSource) -> DataSet:
        """Read the data set; raise :class:`InputError` for files that are missing or damaged."""
        table, rows, more = self._read(source)
        kind, published = self.size
        warning = f"{rows:,} {kind} were read; the published data have {published:,}."
        warnings = (warning,) if published not in (0, rows) else ()
        return DataSet(
            key=f"{self.name}:{source_text(source)}",
            title=f"{self.name} · {table.n_variables:,} variables, {table.n_rows:,} rows",
            table=DiscreteTable(table.codes, table.names, table.labels, warnings),
            description=self.source,
            suggested={"lam": suggest_lam(table)},
            **more,
        )

    @abstractmethod
    def _read(self, source: FileSource) -> Found: ...


@dataclass(frozen=True)
class Jester(PublicReader):
    """Reader of ratings: r has the state min(⌊(r + 10) / 4⌋, 4) + 1, as in the papers.

    Ratings of 100 jokes from −10 to 10, in five states. Goldberg, Roeder, Gupta and Perkins,
    Eigentaste: A Constant Time Collaborative Filtering Algorithm, Information Retrieval 4(2),
    133–151, 2001.
    """

    name = "jester"
    files = "the three .xls files of Jester data set 1, zipped or not, or CSV exports: their folder"
    size = ("users", 73_421)

    missing: Literal["drop", "state"] = option(
        "drop", "jokes that were not rated: drop the users concerned, or use a sixth state"
    )

    def _read(self, source: FileSource) -> Found:
        files = found_files(source, r"[^.].*\.(csv|xls)", "sheet of ratings (.xls or .csv)")
        ratings = np.concatenate([self._hundredths(*file) for file in files.items()])
        complete = ratings[(ratings <= 1000).all(axis=1) | (self.missing == "state")]
        if not len(complete):
            raise InputError(
                f"None of the {len(ratings):,} users in {', '.join(files)} rated all 100 jokes; "
                "read the other files too, or use missing=state."
            )
        codes = np.where(complete > 1000, 5, np.minimum((complete + 1000) // 400, 4))
        labels = [*"12345", *(["not rated"] if self.missing == "state" else [])]
        names = [f"joke {j}" for j in range(1, 101)]
        table = DiscreteTable.from_codes(codes, names, labels=[labels] * 100)
        return table, len(ratings), {}

    def _hundredths(self, name: str, content: bytes) -> np.ndarray:
        """Return ratings in hundredths, shape (users, 100); integers, for exact states."""
        with reading(name, "a sheet of Jester: count of ratings, then 100 of −10 to 10 or 99"):
            is_sheet = name.lower().endswith(".xls")
            if not is_sheet and b";" in content.partition(b"\n")[0]:  # decimals have commas then
                content = content.replace(b",", b".").replace(b";", b",")
            read = pd.read_excel if is_sheet else pd.read_csv
            cells = numbers(read(io.BytesIO(content), header=None))
            first = int(np.isnan(cells[0]).all())  # the first row may be names
            exact = 100.0 * cells[first:, 1:]
            hundredths = np.rint(exact)
            is_rated = np.abs(hundredths) <= 1000
            is_right = (is_rated | (hundredths == 9900)) & (np.abs(exact - hundredths) <= 1e-6)
            is_counted = (is_rated.sum(axis=1) == cells[first:, 0]) & (exact.shape[1] == 100)
            check_rows(is_right.all(axis=1) & is_counted, first + 1)
        return hundredths.astype(np.int16)


@dataclass(frozen=True)
class Recipes(PublicReader):
    """Reader of recipes, with a column per common ingredient, the most common one first.

    Ingredients of recipes from Yummly. Kaggle, What's Cooking?, 2015,
    https://www.kaggle.com/c/whats-cooking.
    """

    name = "recipes"
    files = "train.json of Kaggle's What's Cooking: the file, or its zip archive or folder"
    size = ("recipes", 39_774)

    min_recipes: int = option(
        150, "fewest recipes with an ingredient; 489 ingredients occur in at least 150", minimum=1
    )
    # The thesis reports 153 ingredients and 36,450 parameters, the number for 135.
    ingredients: int | None = option(
        None, "most ingredients; the thesis has 153 or 135", minimum=1, none_means="all of them"
    )
    rows: int | None = option(
        10_000, "recipes drawn at random, as in the paper", minimum=1, none_means="all of them"
    )
    seed: int = option(0, "seed of the random draw", minimum=0, maximum=2**32 - 1)

    def _read(self, source: FileSource) -> Found:
        files = found_files(source, r"train\.json", "train.json")
        with reading(source_text(files), "train.json of What's Cooking, lists of ingredients"):
            [content] = files.values()
            lists = pd.Series([recipe["ingredients"] for recipe in json.loads(content)])
            check_rows([isinstance(one, list) and one != [] for one in lists])
            listed = lists.explode().str.strip()
            check_rows(listed.fillna("").ne("").groupby(level=0).all())
            pairs = listed.rename("name").reset_index().drop_duplicates()
            counts = pairs["name"].value_counts().sort_index()
            ranked = counts.sort_values(ascending=False, kind="stable")
        names = ranked.index[ranked >= self.min_recipes][: self.ingredients]
        if not len(names):
            raise InputError(
                f"No ingredient occurs in {self.min_recipes:,} of the {len(lists):,} recipes, the "
                f"most common in {ranked.iloc[0]:,}; use a smaller min_recipes."
            )
        columns = names.get_indexer(pd.Index(listed))
        codes = np.zeros((len(lists), len(names)), np.uint8)
        codes[listed.index[columns >= 0], columns[columns >= 0]] = 1
        if self.rows is not None and self.rows < len(lists):
            drawn = np.random.default_rng(self.seed).choice(len(lists), self.rows, replace=False)
            codes = codes[np.sort(drawn)]
        labels = [("without", "with")] * len(names)
        return DiscreteTable.from_codes(codes, names.tolist(), labels=labels), len(lists), {}


@dataclass(frozen=True)
class Plants(PublicReader):
    """Reader of plants, with a column per region and positions on the map.

    States and provinces in which the plants of North America grow. USDA, NRCS 2008, The PLANTS
    Database, National Plant Data Center, Baton Rouge; extracted by W. Hämäläinen for the UCI
    Machine Learning Repository.
    """

    # The published file stateabbr.txt is not used: it swaps Alabama and Alberta (the plants of al
    # are those of Georgia and Mississippi) and has no code for Prince Edward Island.

    name = "plants"
    files = "plants.data of UCI's Plants: the file, or its zip archive or folder"
    size = ("plants", 34_781)

    names: Literal["codes", "regions"] = option(
        "codes", "names of the variables: codes such as ca, or names of regions", label="Names"
    )

    def _read(self, source: FileSource) -> Found:
        files = found_files(source, r"plants\.data", "plants.data")
        with reading(source_text(files), "plants.data of UCI, a plant and its regions in a row"):
            [content] = files.values()
            rows = [row.strip() for row in content.decode("latin-1").split("\n") if row.strip()]
            # Greenland has two codes, never both in one row.
            regions = [re.sub(r"\bgl\b", "dengl", row.partition(",")[2]) for row in rows]
            codes = pd.Series(regions, dtype=str)
            present = codes.str.get_dummies(",").reindex(columns=[*REGIONS], fill_value=0)
            # Rows of damaged copies have no code, other codes, or one twice.
            check_rows(present.sum(axis=1) == codes.str.count(",") + 1)
            names = [*REGIONS] if self.names == "codes" else [one.name for one in REGIONS.values()]
            labels = [("absent", "present")] * len(names)
            table = DiscreteTable.from_codes(present.to_numpy(), names, labels=labels)
        places = np.array([(one.longitude, one.latitude) for one in REGIONS.values()])
        return table, len(present), {"positions": framed(places, is_map=True)}


@dataclass(frozen=True)
class Senate(PublicReader):
    """Reader of roll calls of one Congress, with a column per seat, without the president.

    Roll calls of the US Senate: nay, yea or absent (not voting, or seat not filled). Lewis, Poole,
    Rosenthal, Boche, Rudkin and Sonnet, Voteview: Congressional Roll-Call Votes Database,
    https://voteview.com.
    """

    name = "senate"
    files = (
        "S109_votes.csv and S109_members.csv of voteview.com (of any Congress), in a folder or zip "
        "archive; or one CSV table of the votes of R's pscl, such as s109$votes, either way round"
    )

    minority: int = option(
        5,
        "fewest votes of the smaller side; with fewer, nearly all agree and nothing is learned",
        label="Fewest minority votes",
        minimum=0,
        maximum=50,
        advanced=True,
    )

    def _read(self, source: FileSource) -> Found:
        files = found_files(source, r"[^.].*\.csv", "CSV file of roll calls")
        with reading(" and ".join(files), "votes and members of one Senate, or votes of R's pscl"):
            frames = [pd.read_csv(io.BytesIO(one), dtype=str) for one in files.values()]
            if len(frames) == 1:
                table = frames[0].set_index(frames[0].columns[0])
                calls = table if table.columns.str.endswith(")").all() else table.T
            else:
                calls = self._voteview(frames)
            members = calls.columns.str.extract(r"^(.+) \((\w+) ([A-Z]{2,3})\)$")
            if members.isna().any(axis=None):
                raise ValueError("neither rows nor columns are senators such as MCCAIN (R AZ)")
            codes = numbers(calls)
            check_rows(np.isin(codes, range(10)).all(axis=1))
            names, states = self._seats(codes.astype(np.int8), members)
        smaller = np.min([(states == side).sum(axis=1) for side in (0, 1)], axis=0)
        is_close = smaller >= self.minority
        if not is_close.any():
            raise InputError(
                f"None of the {len(states):,} roll calls has {self.minority} votes on each side; "
                "use a smaller minority."
            )
        labels = [("nay", "yea", "absent")] * len(names)
        return DiscreteTable.from_codes(states[is_close], names, labels=labels), len(states), {}

    def _voteview(self, frames: list[pd.DataFrame]) -> pd.DataFrame:
        """Return codes by roll call and member, named as in pscl: MCCAIN (R AZ)."""
        members, votes = sorted(frames, key=lambda frame: "cast_code" in frame)
        members, votes = (one[one["chamber"] == "Senate"] for one in (members, votes))
        if pd.concat([votes["congress"], members["congress"]]).nunique() != 1:
            raise ValueError("they are not of one Senate")
        calls = votes.pivot(index="rollnumber", columns="icpsr", values="cast_code")
        calls = calls.reindex(index=votes["rollnumber"].unique(), columns=members["icpsr"])
        name = members["bioname"].str.partition(",")[0]
        party = members["party_code"].replace({"100": "D", "200": "R", "328": "Indep"})
        calls.columns = pd.Index(name + " (" + party + " " + members["state_abbrev"] + ")")
        return calls.astype(object).fillna("0")

    def _seats(self, codes: np.ndarray, members: pd.DataFrame) -> tuple[list[str], np.ndarray]:
        """Return the names of the seats, and their states, shape (roll calls, seats).

        Members of a state who are never in office at the same roll call share a seat: each takes,
        in the order of their first roll calls, the seat that was left last before that.
        """
        in_office = codes > 0
        first = in_office.argmax(axis=0)
        last = len(codes) - 1 - in_office[::-1].argmax(axis=0)
        state, seats = members[2].tolist(), list[list[int]]()
        for i in np.argsort(first, kind="stable").tolist():
            if not in_office[:, i].any() or state[i] == "USA":  # the president
                continue
            free = [s for s in seats if state[s[-1]] == state[i] and last[s[-1]] < first[i]]
            if free:
                max(free, key=lambda seat: last[seat[-1]]).append(i)
            else:
                seats.append([i])
        if len(seats) < 2:
            raise ValueError("there are fewer than two senators")
        seats.sort(key=lambda seat: seat[0])
        shared = [["/".join(members.loc[seat, k].unique()) for k in range(3)] for seat in seats]
        # Only one of the members of a seat is in office, and the code of the others is 0.
        states = np.array([2, 1, 1, 1, 0, 0, 0, 2, 2, 2], dtype=np.uint8)
        labels = [f"{name} ({party} {state})" for name, party, state in shared]
        return labels, np.stack([states[codes[:, seat].max(axis=1)] for seat in seats], axis=1)


def split_files(path: Path) -> dict[str, Path]:
    """Return the files of one of the twenty data sets by part; `path` is FOLDER/NAME or a file."""
    match, found = re.fullmatch(r"(.+)\.(ts|train|valid|test)\.data(\.gz)?", path.name), {}
    stem = path.with_name(match[1]) if match else path
    for word, part in {"ts": "train", "train": "train", "valid": "valid", "test": "test"}.items():
        for ending in ("data.gz", "data"):
            file = stem.with_name(f"{stem.name}.{word}.{ending}")
            if file.is_file():
                found[part] = file
    return found


@dataclass(frozen=True)
class Twenty(PublicReader):
    """Reader of one of the twenty data sets, with the published split; variables have no names.

    One of the twenty binary data sets of Lowd and Davis (ICDM 2010) and Van Haaren and Davis (AAAI
    2012), https://github.com/UCLA-StarAI/Density-Estimation-Datasets.
    """

    name = "twenty"
    files = (
        "NAME.train.data (or NAME.ts.data), NAME.valid.data and NAME.test.data, also compressed "
        "(.data.gz), or NAME.npz with the arrays train, valid and test: FOLDER/NAME, or one file"
    )

    join_valid: bool = option(False, "add the validation rows to the training rows")

    def _read(self, source: FileSource) -> Found:
        path, rows = Path(source_text(source)), dict[str, np.ndarray]()
        path = path / path.name if path.is_dir() else path
        with reading(path.name, "a data set of train, valid and test"):
            packed = path if path.suffix == ".npz" else path.with_name(f"{path.name}.npz")
            if packed.is_file():
                with np.load(packed) as arrays:
                    frames = {part: pd.DataFrame(arrays[part]) for part in arrays}
            else:
                files = split_files(path).items()
                frames = {part: pd.read_csv(file, header=None) for part, file in files}
        for part, frame in frames.items():
            with reading(f"{part} of {path.name}", "a table of zeros and ones"):
                check_rows(np.isin(numbers(frame), (0, 1)).all(axis=1))
                rows[part] = frame.to_numpy(dtype=np.uint8)
        needed = ["train", "test", *(["valid"] if self.join_valid else [])]
        if not {*needed} <= rows.keys() or len({part.shape[1] for part in rows.values()}) > 1:
            raise InputError(
                f"{path} does not hold rows {', '.join(needed)} of one data set; pass {self.files}."
            )
        if self.join_valid:
            rows["train"] = np.concatenate([rows["train"], rows.pop("valid")])
        tables = {
            part: DiscreteTable.from_codes(codes, cardinalities=[2] * codes.shape[1])
            for part, codes in rows.items()
        }
        return tables["train"], 0, {"validation": tables.get("valid"), "test": tables["test"]}


PUBLIC: Mapping[str, type[PublicReader]] = {
    reader.name: reader for reader in (Jester, Recipes, Plants, Senate, Twenty)
}


def read_public(name: str, path: str | os.PathLike[str], **options: Any) -> DataSet:
    r"""Read a public data set from downloaded files.

    Parameters
    ----------
    name : {"jester", "recipes", "plants", "senate", "twenty"}
    path : path
        The file, or the zip archive or folder that contains it; for "twenty" FOLDER/NAME, such as
        ``data/nltcs``.
    **options
        Those of the data set, as ``learn --help`` lists them.

    Returns
    -------
    DataSet
        With `test` and `validation` if the published data set holds out rows, and with `positions`
        if variables have places.

    Raises
    ------
    InputError
        For an unknown name or option, and for files that are missing or not those of the data set.

    Examples
    --------
    >>> from pathlib import Path
    >>> for part in ("train", "test"):
    ...     size = Path(f"nltcs.{part}.data").write_text("0,1,0\n1,1,0\n0,0,1\n" * 5)
    >>> gv.read_public("twenty", "nltcs.train.data").table
    DiscreteTable(3 variables, 15 rows)
    """
    if name not in PUBLIC:
        listed = ", ".join(PUBLIC)
        raise InputError(f"There is no public data set {name!r}; supported are {listed}.")
    names = [spec.name for spec in option_specs(PUBLIC[name])]
    for key in options:
        if key not in names:
            listed = ", ".join(names)
            raise InputError(f"There is no option {key!r} of {name}; the options are {listed}.")
    return PUBLIC[name](**options).read(path)
