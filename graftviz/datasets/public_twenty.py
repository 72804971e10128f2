"""The "twenty data sets", binary benchmarks of density estimation."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graftviz.datasets.dataset import DataSet
from graftviz.datasets.public_base import PublicReader
from graftviz.datasets.public_files import MAX_BYTES, decoded, find_file
from graftviz.errors import InputError
from graftviz.options import option
from graftviz.table import DiscreteTable
from graftviz.table.gzipped import SUFFIX as GZIP, is_gzipped, unzipped

PARTS = ("train", "valid", "test")
_OPTIONAL = "valid"
_TRAIN = ("train", "ts")  # copies of the benchmark name the training rows differently
_PACKED = ".npz"


def _endings(part: str) -> list[str]:
    """Return the possible ends of the name of the file of a part."""
    words = _TRAIN if part == PARTS[0] else (part,)
    return [f".{word}.data{zipped}" for word in words for zipped in ("", GZIP)]


_SUFFIXES = (*(ending for part in PARTS for ending in _endings(part)), _PACKED)


@dataclass(frozen=True)
class Twenty(PublicReader):
    """Reader of one of the twenty data sets, with the published split; variables have no names."""

    name = "twenty"
    files = (
        "NAME.train.data (or NAME.ts.data), NAME.valid.data and NAME.test.data, also compressed "
        "(.data.gz), or NAME.npz with the arrays train, valid and test: the path FOLDER/NAME, or "
        "the path of one of these files"
    )
    source = (
        "One of the twenty binary data sets of Lowd and Davis (ICDM 2010) and Van Haaren and Davis "
        "(AAAI 2012), https://github.com/UCLA-StarAI/Density-Estimation-Datasets."
    )

    join_valid: bool = option(False, "add the validation rows to the training rows")

    def read(self, path: str | os.PathLike[str]) -> DataSet:
        """Read the three parts; the validation rows may be missing. See :class:`PublicReader`."""
        stem = _stem(Path(path))
        packed = stem.with_name(f"{stem.name}{_PACKED}")
        parts = _arrays(packed) if packed.exists() else _texts(stem)
        (title, train), *others = ((title, rows) for title, rows in parts.values())
        for other, rows in others:
            if rows.shape[1] != train.shape[1]:
                raise InputError(
                    f"{title} has {train.shape[1]} columns and {other} has {rows.shape[1]}; they "
                    "do not belong together."
                )
        tables = {
            part: DiscreteTable.from_codes(rows, cardinalities=[2] * rows.shape[1])
            for part, (_, rows) in parts.items()
        }
        table, valid = tables["train"], tables.get("valid")
        if self.join_valid:
            if valid is None:
                raise InputError(f"There are no validation rows to add to {title}.")
            codes = np.concatenate([table.codes, valid.codes], axis=1)
            table, valid = DiscreteTable(codes, table.names, table.labels), None
        return self.data_set(stem, table, validation=valid, test=tables["test"])


def has_split(path: Path) -> bool:
    """Return whether training and test rows of one data set are in text files at `path`."""
    try:
        files = _files(_stem(path))
    except InputError:
        return False
    return all(part in files for part in PARTS if part != _OPTIONAL)


def is_part(name: str) -> bool:
    """Return whether a file of that name is a part of one of the data sets."""
    return name.endswith(tuple(ending for part in PARTS for ending in _endings(part)))


def _stem(path: Path) -> Path:
    """Return FOLDER/NAME for FOLDER/NAME, one of its files, or a folder with one data set."""
    if path.is_dir():
        marks = (*_endings(PARTS[0]), _PACKED)
        try:
            inside = sorted(item.name for item in path.iterdir())
        except OSError as problem:
            raise InputError(f"{path} cannot be read: {problem.strerror}.") from None
        names = {
            name.removesuffix(mark) for name in inside for mark in marks if name.endswith(mark)
        }
        if len(names) == 1:
            return path / names.pop()
        found = f"holds {', '.join(sorted(names))}" if names else "holds no NAME.train.data"
        raise InputError(f"{path} {found}; pass the path FOLDER/NAME of one data set.")
    for suffix in _SUFFIXES:
        if path.name.endswith(suffix):
            return path.with_name(path.name.removesuffix(suffix))
    return path


def _files(stem: Path) -> dict[str, Path]:
    """Return the files of the parts that exist."""
    found = {}
    for part in PARTS:
        files = (stem.with_name(f"{stem.name}{ending}") for ending in _endings(part))
        if file := next((file for file in files if file.exists()), None):
            found[part] = file
    return found


def _texts(stem: Path) -> dict[str, tuple[str, np.ndarray]]:
    """Return titles and rows of the parts, from text files."""
    files = _files(stem)
    missing = [part for part in PARTS if part != _OPTIONAL and part not in files]
    if missing:
        raise InputError(
            f"There is no {stem.name}.{missing[0]}.data in {stem.parent}; pass the path "
            "FOLDER/NAME of NAME.train.data and NAME.test.data, or of NAME.npz."
        )
    parts = {}
    for part, file in files.items():
        found = find_file(file, "", file.name)
        content = found.load()
        if is_gzipped(file.name):
            content = unzipped(content, found.title, MAX_BYTES)
        parts[part] = found.title, _zeros_and_ones(content, found.title)
    return parts


def _zeros_and_ones(content: bytes, title: str) -> np.ndarray:
    """Return the rows of a text of zeros and ones, uint8; all lines must have the same length."""
    decoded(content, title)  # raises InputError unless the content is text
    lines = content.splitlines()
    while not lines[-1].strip():
        lines.pop()
    width = len(lines[0])
    for row, line in enumerate(lines, start=1):
        if len(line) != width:
            first, here = (text.count(b",") + 1 for text in (lines[0], line))
            raise InputError(
                f"Row {row} of {title} has {here} columns and row 1 has {first}; the file is "
                "truncated or damaged, download it again."
                if here != first
                else f"Row {row} of {title} is not a sequence of zeros and ones separated by "
                "single commas with the length of row 1."
            )
    letters = np.frombuffer(b"".join(lines), dtype=np.uint8).reshape(len(lines), width)
    is_right = np.empty(letters.shape, dtype=bool)
    is_right[:, ::2] = (letters[:, ::2] == ord("0")) | (letters[:, ::2] == ord("1"))
    is_right[:, 1::2] = letters[:, 1::2] == ord(",")
    is_right[:, -1] &= width % 2 == 1  # lines do not end with a comma
    if not is_right.all():
        row, place = divmod(int(np.argmin(is_right)), width)
        raise InputError(
            f"Row {row + 1}, column {lines[row][:place].count(b',') + 1} of {title} is not 0 or 1; "
            "rows should be zeros and ones separated by single commas."
        )
    return letters[:, ::2] - ord("0")


def _arrays(path: Path) -> dict[str, tuple[str, np.ndarray]]:
    """Return titles and rows of the parts, from arrays in one file."""
    try:
        with np.load(path) as arrays:
            names: Sequence[str] = arrays.files
            found = {part: arrays[part] for part in PARTS if part in names}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, TypeError) as error:
        raise InputError(f"{path.name} is not a readable file of NumPy arrays ({error}).") from None
    parts = {}
    for part in PARTS:
        if part not in found:
            if part == _OPTIONAL:
                continue
            raise InputError(
                f"{path.name} has no array {part!r}; it should hold train, valid and test, but "
                f"holds {', '.join(names) or 'nothing'}."
            )
        rows = found[part]
        if rows.ndim != 2 or 0 in rows.shape or rows.dtype.kind not in "iub":
            raise InputError(
                f"The array {part!r} of {path.name} should be a matrix of zeros and ones; it has "
                f"type {rows.dtype} and shape {rows.shape}."
            )
        is_right = np.isin(rows, (0, 1))
        if not is_right.all():
            row, column = divmod(int(np.argmin(is_right)), rows.shape[1])
            raise InputError(
                f"Row {row + 1}, column {column + 1} of the array {part!r} in {path.name} holds "
                f"{rows[row, column]}, which is not 0 or 1."
            )
        parts[part] = f"the array {part!r} of {path.name}", rows.astype(np.uint8)
    return parts
