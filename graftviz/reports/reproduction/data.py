"""Data of the papers' experiments, generated or read from local files."""

from __future__ import annotations

import dataclasses
import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import networkx as nx
import numpy as np
import pandas as pd

from graftviz.data.series.reading import read_series
from graftviz.data.series.series import TimeSeries
from graftviz.data.sets.files import found_files, reading
from graftviz.data.sets.public import check_rows, read_public, split_files
from graftviz.data.table import DiscreteTable
from graftviz.evaluation.benchmarks.bench import GENERATED, Problem, Size
from graftviz.learning.completion import read_table
from graftviz.utils.errors import InputError

_PATTERNS = ("*.npz", "*.parquet", "*.csv")


class DataSource(NamedTuple):
    """Public data set that the user downloads.

    Attributes
    ----------
    title, where : str
        Title, and where to download it.
    hints : tuple of str
        Parts of file names that identify it.
    reader : str
        Reader of the original files, see :func:`graftviz.read_public`; empty for labelled graphs
        and time series, which are not tables.
    suffixes : tuple of str
        Suffixes of the original files; all others are read as tables.
    """

    title: str
    where: str
    hints: tuple[str, ...]
    reader: str = ""
    suffixes: tuple[str, ...] = ()


def _twenty(name: str) -> DataSource:
    where = (
        f"{name}.train.data and {name}.test.data of "
        f"github.com/UCLA-StarAI/Density-Estimation-Datasets, or {name}.ts.data.gz and "
        f"{name}.test.data.gz, or arrays train and test (.npz)"
    )
    return DataSource(name.upper(), where, (name,), "twenty")


SOURCES: Mapping[str, DataSource] = {
    "jester": DataSource(
        "Jester data set 1",
        "the joke ratings at goldberg.berkeley.edu/jester-data (.xls or .zip), or a table with a "
        "column per joke and ratings in five steps",
        ("jester",),
        "jester",
        (".xls", ".zip"),
    ),
    "yummly": DataSource(
        "What's Cooking (Yummly)",
        "the recipes at kaggle.com/c/whats-cooking (train.json), or a table of zeros and ones with "
        "a column per ingredient",
        ("yummly", "cook", "recipe"),
        "recipes",
        (".json", ".zip"),
    ),
    "nltcs": _twenty("nltcs"),
    "msnbc": _twenty("msnbc"),
    "plants": DataSource(
        "USDA plants",
        "the data set Plants at archive.ics.uci.edu/ml/datasets/Plants (plants.data), or a table "
        "of zeros and ones with a column per region",
        ("plants", "usda"),
        "plants",
        (".data", ".zip"),
    ),
    "cora": DataSource(
        "Cora",
        "cora.content and cora.cites of the Cora archive of linqs.org; the folder that holds them",
        ("cora",),
    ),
    "series": DataSource(
        "Time series",
        "any CSV or parquet file that `graftviz dynamics` reads, or an array of times × series "
        "(.npz)",
        ("series", "taxi"),
    ),
}


class Data:
    """Data of experiments: each is generated or read once.

    Parameters
    ----------
    files : mapping of str to Path, optional
        Paths by the name of their source.
    """

    def __init__(self, files: Mapping[str, Path] | None = None) -> None:
        self._paths = dict(files or {})
        self._found: dict[Any, Any] = {}
        self._digests: dict[str, str] = {}

    def has(self, source: str) -> bool:
        """Return whether data of that source are available."""
        return source == GENERATED or source in self._paths

    def problem(self, size: Size) -> Problem:
        """Return the data of a size, with the true edges if generated."""
        if size not in self._found:
            tables = None if size.source == GENERATED else self._cut(size)
            # The papers draw one variable at a time.
            self._found[size] = Problem(size, tables, join_hubs=False)
        found: Problem = self._found[size]
        return found

    def digest(self, *sources: str) -> list[str]:
        """Return the digests of those of the sources that are read from files."""
        present = [source for source in sources if source in self._paths]
        for source in present:
            self.read(source)
        return [self._digests[source] for source in present]

    def read(self, source: str) -> Any:
        """Return the tables, the labelled graph or the time series of a source."""
        if source not in self._found:
            others = {"cora": read_cora, "series": read_series_file}
            reader = others.get(source) or partial(read_source, SOURCES[source])
            self._found[source] = reader(self._paths[source])
            # Later, cached properties may be part of the object.
            self._digests[source] = joblib.hash(self._found[source])
        return self._found[source]

    def _cut(self, size: Size) -> tuple[DiscreteTable, DiscreteTable]:
        """Return training and held-out rows of a source, reduced to the size."""
        table, test = self.read(size.source)
        table, test = most_frequent_columns(table, test, size.nodes)
        if test is None:
            n_rows = min(size.rows + size.held_out, table.n_rows)
            order = np.random.default_rng(size.seed).permutation(table.n_rows)[:n_rows]
            fraction = size.held_out / (size.rows + size.held_out)
            return table.rows(np.sort(order)).split(fraction, seed=size.seed)
        return table.rows(np.arange(min(size.rows, table.n_rows))), test


def assigned(paths: Sequence[str], needs: Sequence[str]) -> dict[str, Path]:
    """Assign paths to data sets.

    A path may be prefixed by its data set (``jester=FILE``). Otherwise its name is compared with
    the hints of the sources; the remaining paths are assigned in order.

    Raises
    ------
    InputError
        If a path does not exist, a data set is not needed, or there are too many paths.
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
        expected = f"it needs {_listed(needs)}" if needs else "it needs no data"
        raise InputError(f"{unnamed[-1]} is one path too many for this experiment: {expected}.")
    return found | dict(zip(left, unnamed, strict=False))


def missing_data_sentence(needs: Sequence[str]) -> str:
    """Return a sentence on the missing data sets and where to download them."""
    if not needs:
        return ""
    sources = "; ".join(f"{SOURCES[name].title}: {SOURCES[name].where}" for name in needs)
    paths = " ".join(f"{name}=FILE" for name in needs)
    return f"Data are missing; download them and pass --data {paths} ({sources})."


def read_source(source: DataSource, path: Path) -> tuple[DiscreteTable, DiscreteTable | None]:
    """Read a data set from its original files, or by :func:`read_data`."""
    for place in (*(path / hint for hint in source.hints), path):
        if {"train", "test"} <= split_files(place).keys():
            return _tables("twenty", place)
    return _tables(source.reader, path) if _is_original(source, path) else read_data(path)


def _tables(reader: str, path: Path) -> tuple[DiscreteTable, DiscreteTable | None]:
    found = read_public(reader, path)
    return found.table, found.test


def _is_original(source: DataSource, path: Path) -> bool:
    if path.is_dir():
        return any(_is_original(source, file) for file in path.iterdir() if file.is_file())
    return path.suffix.lower() in source.suffixes and not split_files(path)


def read_data(path: Path) -> tuple[DiscreteTable, DiscreteTable | None]:
    """Read rows, and held-out rows if the file has them separately.

    Accepted are the files of :func:`graftviz.read_table`, packed arrays (``.npz``) with the codes
    as ``X`` or as ``train`` and ``test``, and a folder with one such file (of several ``.npz``
    files the one with "dense" in its name).
    """
    path = _file_at(path, "table (.csv, .parquet, .npz)", "*dense*.npz", *_PATTERNS, "*.data")
    if path.suffix.lower() != ".npz":
        return read_table(path), None
    arrays = _arrays_in(path, "table")
    if "X" not in arrays and not {"train", "test"} <= set(arrays):
        raise InputError(
            f"No table can be read from {path}: it should contain the array X, or train and test."
        )
    names = next((arrays[key] for key in ("codes", "names") if key in arrays), None)
    parts = [arrays["X"]] if "X" in arrays else [arrays["train"], arrays["test"]]
    _check_codes(path, parts)
    return _coded(parts, None if names is None else [str(name) for name in names])


def read_series_file(path: Path) -> TimeSeries:
    """Read series from a table (:func:`graftviz.dynamics.read_series`) or from packed arrays.

    From a ``.npz`` file the array ``hourly``, ``values`` or ``X`` of shape (times, series) is read;
    arrays ``lon`` and ``lat`` name the series if present. Constant series are dropped. From a
    folder the first such file is read.

    Raises
    ------
    InputError
        If there is no such file or array.
    """
    file = _file_at(path, "time series (.csv, .parquet, .npz)", "*.npz", "*.csv", "*.parquet")
    if file.suffix.lower() != ".npz":
        return read_series(file, constant="drop")
    arrays = _arrays_in(file, "arrays")
    values = next((arrays[key] for key in ("hourly", "values", "X") if key in arrays), None)
    if values is None or values.ndim != 2 or values.dtype.kind not in "iufb":
        raise InputError(
            f"{file} should contain the series as a numeric array hourly or values or X with one "
            "row per time and one column per series."
        )
    places = [arrays[name] for name in ("lat", "lon") if name in arrays]
    names: tuple[str, ...] = ()
    if len(places) == 2 and all(place.shape == (values.shape[1],) for place in places):
        names = tuple(f"{lat:.3f}, {lon:.3f}" for lat, lon in zip(*places, strict=True))
    if len(set(names)) < len(names):
        names = ()
    series = dataclasses.replace(TimeSeries.from_array(values, names), title=file.name)
    moving = np.ptp(series.values, axis=0) > 0.0
    if not moving.any():
        raise InputError(f"{file}: all series are constant, so nothing can be learned.")
    return series.selected(tuple(np.array(series.names)[moving].tolist()))


def read_cora(path: str | os.PathLike[str]) -> nx.Graph:
    """Read Cora, a graph of papers with their fields, which is no table to learn from.

    Nodes are 0 … n − 1 in the order of the file, with the attribute ``field``. Citations in both
    directions and repeated ones are one edge; papers that cite themselves have no loop.

    2,708 papers on machine learning and 5,278 citations. Sen, Namata, Bilgic, Getoor, Gallagher and
    Eliassi-Rad, Collective Classification in Network Data, AI Magazine 29(3), 93–106, 2008.

    Parameters
    ----------
    path : path
        Folder or zip archive of cora.content and cora.cites, or of nodes_NAME.csv (with columns
        node and class_name) and edges_NAME.csv (with columns u and v).
    """
    what = "cora.cites and cora.content, nor one edges_NAME.csv and nodes_NAME.csv"
    files = found_files(path, r"cora\.(content|cites)|(nodes|edges)_.*\.csv", what)
    with reading(" and ".join(files), what):
        is_table = all(name.lower().endswith(".csv") for name in files)
        how: dict[str, Any] = {} if is_table else {"sep": r"\s+", "header": None}
        edges, nodes = (pd.read_csv(io.BytesIO(one), dtype=str, **how) for one in files.values())
        names, fields = nodes["node" if is_table else 0], nodes.get("class_name", nodes.iloc[:, -1])
        ends = edges[["u", "v"]] if is_table else edges[[0, 1]]
        pairs = pd.Index(names).get_indexer(ends.to_numpy().ravel()).reshape(-1, 2)
        check_rows((pairs >= 0).all(axis=1))
    graph = nx.Graph()
    graph.add_nodes_from((node, {"field": field}) for node, field in enumerate(fields))
    graph.add_edges_from(pairs[pairs[:, 0] != pairs[:, 1]].tolist())
    return graph


def _arrays_in(path: Path, words: str) -> dict[str, np.ndarray]:
    try:
        with np.load(path) as arrays:
            return dict(arrays)
    except (OSError, ValueError, zipfile.BadZipFile) as problem:
        raise InputError(
            f"No {words} can be read from {path}: it should contain arrays ({problem})."
        ) from None


def _file_at(path: Path, words: str, *patterns: str) -> Path:
    """Return the file, or the first one in a folder that matches the first possible pattern."""
    if not path.is_dir():
        return path
    for pattern in patterns:
        found = sorted(path.glob(pattern))
        if found:
            return found[0]
    noun = "are no" if words.startswith("time") else "is no"
    raise InputError(f"There {noun} {words} in the folder {path}.")


def most_frequent_columns(
    table: DiscreteTable, test: DiscreteTable | None, most: int
) -> tuple[DiscreteTable, DiscreteTable | None]:
    """Select the columns that are least often in their first state, e.g. common ingredients."""
    if table.n_variables <= most:
        return table, test
    shares = np.array([np.count_nonzero(column) for column in table.codes])
    columns = np.sort(np.argsort(-shares, kind="stable")[:most]).tolist()
    return _columns(table, columns), None if test is None else _columns(test, columns)


def _columns(table: DiscreteTable, columns: list[int]) -> DiscreteTable:
    names = tuple(table.names[i] for i in columns)
    labels = tuple(table.labels[i] for i in columns)
    return DiscreteTable(table.codes[columns], names, labels, table.warnings)


def _coded(
    parts: list[np.ndarray], names: list[str] | None
) -> tuple[DiscreteTable, DiscreteTable | None]:
    """Return tables of codes that start at 0 or at 1."""
    least = min(int(part.min()) for part in parts)
    shifted = [part.astype(np.int64) - least for part in parts]
    sizes = np.max([part.max(axis=0) for part in shifted], axis=0) + 1
    first, *second = (DiscreteTable.from_codes(part, names, sizes) for part in shifted)
    return first, second[0] if second else None


def _check_codes(path: Path, parts: list[np.ndarray]) -> None:
    for part in parts:
        if part.ndim != 2 or part.dtype.kind not in "iub" or part.size == 0:
            raise InputError(f"The arrays in {path} are not rows of whole numbers.")
        if part.min() < 0 or part.max() > 255 or part.shape[1] != parts[0].shape[1]:
            raise InputError(f"The arrays in {path} do not hold states of the same variables.")


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
