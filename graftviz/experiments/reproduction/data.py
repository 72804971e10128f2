"""Data of the papers' experiments: generated, or given as files by whoever has them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graftviz.datasets import read_public
from graftviz.datasets.labelled_graph import LabelledGraph
from graftviz.datasets.public_cora import read_cora
from graftviz.dynamics import TimeSeries
from graftviz.errors import InputError
from graftviz.experiments.bench import GivenProblem, Problem, Size
from graftviz.experiments.reproduction.given_series import read_given_series
from graftviz.formats.result_folder import check_results
from graftviz.table import DiscreteTable, read_table

GENERATED = "generated"


class Source(NamedTuple):
    """A public data set that everybody fetches for themselves.

    Attributes
    ----------
    title, where : str
        What it is called, and where it is to be had.
    hints : tuple of str
        Parts of file names by which it is known.
    reader : str
        What reads its own files, see :func:`graftviz.read_public`; empty for a graph with classes,
        which is no table, and for time series.
    suffixes : tuple of str
        Of its own files; all others are read as tables.
    """

    title: str
    where: str
    hints: tuple[str, ...]
    reader: str
    suffixes: tuple[str, ...]


SOURCES: Mapping[str, Source] = {
    "jester": Source(
        "Jester data set 1",
        "the joke ratings at goldberg.berkeley.edu/jester-data (.xls or .zip), or a table with a "
        "column per joke and ratings in five steps",
        ("jester",),
        "jester",
        (".xls", ".zip"),
    ),
    "yummly": Source(
        "What's Cooking (Yummly)",
        "the recipes at kaggle.com/c/whats-cooking (train.json), or a table of zeros and ones with "
        "a column per ingredient",
        ("yummly", "cook", "recipe"),
        "recipes",
        (".json", ".zip"),
    ),
    "nltcs": Source(
        "NLTCS",
        "nltcs.train.data and nltcs.test.data of "
        "github.com/UCLA-StarAI/Density-Estimation-Datasets, or arrays train and test (.npz)",
        ("nltcs",),
        "twenty",
        (),
    ),
    "msnbc": Source(
        "MSNBC",
        "msnbc.train.data and msnbc.test.data of "
        "github.com/UCLA-StarAI/Density-Estimation-Datasets, or arrays train and test (.npz)",
        ("msnbc",),
        "twenty",
        (),
    ),
    "plants": Source(
        "USDA plants",
        "the data set Plants at archive.ics.uci.edu/ml/datasets/Plants (plants.data), or a table "
        "of zeros and ones with a column per region",
        ("plants", "usda"),
        "plants",
        (".data", ".zip"),
    ),
    "cora": Source(
        "Cora",
        "ind.cora.* in the folder data of github.com/kimiyoung/planetoid, or cora.content and "
        "cora.cites of the Cora archive; the folder that holds them",
        ("cora",),
        "",
        (),
    ),
    "series": Source(
        "Time series",
        "any CSV or parquet file that `graftviz dynamics` reads, or an array of times × series "
        "(.npz)",
        ("series", "taxi"),
        "",
        (),
    ),
}


class Data:
    """The data of all sizes that are asked for, each made or read once.

    Parameters
    ----------
    given : mapping of str to Path, optional
        Files by the name of their source.
    """

    def __init__(self, given: Mapping[str, Path] | None = None) -> None:
        self._given = dict(given or {})
        self._read: dict[str, tuple[DiscreteTable, DiscreteTable | None]] = {}
        self._problems: dict[Size, Problem] = {}
        self._graphs: dict[str, LabelledGraph] = {}
        self._series: dict[str, TimeSeries] = {}

    def has(self, source: str) -> bool:
        """Return whether data from there can be had."""
        return source == GENERATED or source in self._given

    def problem(self, size: Size) -> Problem:
        """Return the data of a size, with their truth where they are generated."""
        if size not in self._problems:
            if size.source == GENERATED:
                self._problems[size] = Problem(size)
            else:
                self._problems[size] = GivenProblem(size, *self._cut(size))
        return self._problems[size]

    def fingerprint(self, size: Size) -> str | None:
        """Return the digest of given rows; None for generated ones, which their size decides."""
        return None if size.source == GENERATED else self.problem(size).train.fingerprint

    def labelled_graph(self, source: str) -> LabelledGraph:
        """Return a given graph with classes."""
        if source not in self._graphs:
            self._graphs[source] = read_cora(self._given[source])
        return self._graphs[source]

    def time_series(self, source: str) -> TimeSeries:
        """Return given time series."""
        if source not in self._series:
            self._series[source] = read_given_series(self._given[source])
        return self._series[source]

    def _cut(self, size: Size) -> tuple[DiscreteTable, DiscreteTable]:
        """Return rows to learn from and held-out rows of a given data set, cut to its size."""
        if size.source not in self._read:
            self._read[size.source] = read_source(SOURCES[size.source], self._given[size.source])
        table, test = self._read[size.source]
        table, test = most_frequent_columns(table, test, size.nodes)
        if test is None:
            wanted = min(size.rows + size.held_out, table.n_rows)
            order = np.random.default_rng(size.seed).permutation(table.n_rows)[:wanted]
            fraction = size.held_out / (size.rows + size.held_out)
            return table.rows(np.sort(order)).split(fraction, seed=size.seed)
        return table.rows(np.arange(min(size.rows, table.n_rows))), test


def assigned(paths: Sequence[str], needs: Sequence[str]) -> dict[str, Path]:
    """Return which path is which data set.

    A path may say so itself (``jester=FILE``); otherwise its name decides, and where that says
    nothing, the order.

    Raises
    ------
    InputError
        For a path that is not there, data sets that are not needed, or more paths than data sets.
    """
    found: dict[str, Path] = {}
    unnamed: list[Path] = []
    for text in paths:
        name, equals, rest = text.partition("=")
        if equals and name in SOURCES and name not in needs:
            raise InputError(f"This experiment does not use {name}; it needs {_listed(needs)}.")
        if equals and name in needs:
            found[name] = _existing(rest)
        else:
            unnamed.append(_existing(text))
    for path in list(unnamed):
        hinted = [name for name in needs if _hints_at(path, name) and name not in found]
        if len(hinted) == 1:
            found[hinted[0]] = path
            unnamed.remove(path)
    left = [name for name in needs if name not in found]
    if len(unnamed) > len(left):
        wanted = f"it needs {_listed(needs)}" if needs else "it needs no data"
        raise InputError(f"{unnamed[-1]} is one path too many for this experiment: {wanted}.")
    return found | dict(zip(left, unnamed, strict=False))


def missing_words(needs: Sequence[str]) -> str:
    """Return a sentence that says which data are missing and where they are to be had."""
    if not needs:
        return ""
    told = "; ".join(f"{SOURCES[name].title}: {SOURCES[name].where}" for name in needs)
    paths = " ".join(f"{name}=FILE" for name in needs)
    return f"Data are missing, download them and give them by --data {paths} ({told})."


def read_source(source: Source, path: Path) -> tuple[DiscreteTable, DiscreteTable | None]:
    """Read a data set from its own files, or from a table made of them; see :func:`read_given`."""
    if _is_divided(path):
        found = read_public("twenty", path)
        return found.table, found.test
    if _is_original(source, path):
        found = read_public(source.reader, path)
        return found.table, found.test
    return read_given(path)


def _is_divided(path: Path) -> bool:
    """Whether rows to learn from and held-out rows have files of their own, both there."""
    folder = path if path.is_dir() else path.parent
    stems = {file.name.removesuffix(".train.data") for file in folder.glob("*.train.data")}
    if not path.is_dir():
        stems &= {path.name.removesuffix(".train.data").removesuffix(".test.data")}
    return any((folder / f"{stem}.test.data").exists() for stem in stems)


def _is_original(source: Source, path: Path) -> bool:
    if path.is_dir():
        return any(_is_original(source, file) for file in path.iterdir() if file.is_file())
    is_part = any(f".{part}." in path.name for part in ("train", "valid", "test"))
    return path.suffix.lower() in source.suffixes and not is_part


def read_given(path: Path) -> tuple[DiscreteTable, DiscreteTable | None]:
    """Read rows, and the held-out rows where the file has them apart.

    Taken are what :func:`graftviz.read_table` takes, packed arrays (``.npz``) that hold the codes
    as ``X``, or as ``train`` and ``test``, and a folder with one such file (of several ``.npz``
    the one with "dense" in its name).
    """
    if path.is_dir():
        check_results(path)
        path = _file_in(path)
    if path.suffix.lower() != ".npz":
        return read_table(path), None
    try:
        with np.load(path) as arrays:
            if "X" in arrays:
                names = next((arrays[key] for key in ("codes", "names") if key in arrays), None)
                parts = [arrays["X"]]
            else:
                names, parts = None, [arrays["train"], arrays["test"]]
    except (OSError, ValueError, KeyError) as problem:
        raise InputError(
            f"No table can be read from {path}: it should hold the array X, or train and test "
            f"({problem})."
        ) from None
    _check_codes(path, parts)
    return _coded(parts, None if names is None else [str(name) for name in names])


def most_frequent_columns(
    table: DiscreteTable, test: DiscreteTable | None, most: int
) -> tuple[DiscreteTable, DiscreteTable | None]:
    """Keep the columns that are least often in their first state: the commonest ingredients."""
    if table.n_variables <= most:
        return table, test
    shares = np.array([np.count_nonzero(column) for column in table.codes])
    kept = np.sort(np.argsort(-shares, kind="stable")[:most]).tolist()
    return _columns(table, kept), None if test is None else _columns(test, kept)


def _columns(table: DiscreteTable, kept: list[int]) -> DiscreteTable:
    codes = np.ascontiguousarray(table.codes[kept])
    codes.flags.writeable = False
    return dataclasses.replace(
        table,
        codes=codes,
        names=tuple(table.names[i] for i in kept),
        labels=tuple(table.labels[i] for i in kept),
    )


def _coded(
    parts: list[np.ndarray], names: list[str] | None
) -> tuple[DiscreteTable, DiscreteTable | None]:
    """Return tables of packed codes that may begin at 0 or at 1."""
    least = min(int(part.min()) for part in parts)
    shifted = [part.astype(np.int64) - least for part in parts]
    sizes = np.max([part.max(axis=0) for part in shifted], axis=0) + 1
    tables = [
        DiscreteTable.from_codes(part, cardinalities=sizes.tolist(), names=names)
        for part in shifted
    ]
    return tables[0], tables[1] if len(tables) > 1 else None


def _check_codes(path: Path, parts: list[np.ndarray]) -> None:
    for part in parts:
        if part.ndim != 2 or part.dtype.kind not in "iub" or part.size == 0:
            raise InputError(f"The arrays in {path} are not rows of whole numbers.")
        if part.min() < 0 or part.max() > 255 or part.shape[1] != parts[0].shape[1]:
            raise InputError(f"The arrays in {path} do not hold states of the same variables.")


def _file_in(folder: Path) -> Path:
    for pattern in ("*dense*.npz", "*.npz", "*.parquet", "*.csv", "*.data"):
        found = sorted(folder.glob(pattern))
        if found:
            return found[0]
    raise InputError(f"There is no table (.csv, .parquet, .npz) in the folder {folder}.")


def _existing(text: str) -> Path:
    path = Path(text)
    if not path.exists():
        raise InputError(f"There is no file or folder {path}.")
    return path


def _hints_at(path: Path, name: str) -> bool:
    words = path.resolve().name.lower() + path.resolve().parent.name.lower()
    return any(hint in words for hint in SOURCES[name].hints)


def _listed(needs: Sequence[str]) -> str:
    return " and ".join(SOURCES[name].title for name in needs) or "no data"
