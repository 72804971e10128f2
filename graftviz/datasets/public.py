"""Readers of public data sets, from files that the user has downloaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from graftviz.datasets.dataset import DataSet
from graftviz.datasets.public_base import PublicReader
from graftviz.datasets.public_jester import Jester
from graftviz.datasets.public_plants import Plants
from graftviz.datasets.public_recipes import Recipes
from graftviz.datasets.public_senate import Senate
from graftviz.datasets.public_twenty import Twenty
from graftviz.errors import InputError
from graftviz.options import option_specs

READERS: tuple[type[PublicReader], ...] = (Jester, Recipes, Plants, Senate, Twenty)
_UPLOADED: Mapping[str, type[Senate | Plants]] = {"senate": Senate, "plants": Plants}


def public_names() -> tuple[str, ...]:
    """Return the names of the data sets that :func:`read_public` reads."""
    return tuple(reader.name for reader in READERS)


def public_reader(name: str) -> type[PublicReader]:
    """Return the reader with the given name.

    Raises
    ------
    InputError
        For an unknown name; the message lists the valid names.
    """
    for reader in READERS:
        if reader.name == name:
            return reader
    raise InputError(
        f"There is no public data set {name!r}; supported are {', '.join(public_names())}."
    )


def class_reader(name: str) -> type[Senate | Plants]:
    """Return the reader of a data set for classes, which also reads the contents of files."""
    return _UPLOADED[name]


def read_public(name: str, path: str | os.PathLike[str], **options: Any) -> DataSet:
    r"""Read a public data set from downloaded files.

    Parameters
    ----------
    name : {"jester", "recipes", "plants", "senate", "twenty"}
    path : path
        The file, or the zip archive or folder that contains it; for "twenty" FOLDER/NAME, such as
        ``data/nltcs``.
    **options
        Options of the reader: ``missing`` of jester; ``min_recipes``, ``ingredients``, ``rows`` and
        ``seed`` of recipes; ``names`` of plants; ``minority`` of senate; ``join_valid`` of
        twenty.

    Returns
    -------
    DataSet
        With `test` and `validation` if the published data set holds out rows, and with `positions`
        if variables have places.

    Raises
    ------
    InputError
        For an unknown name or option, and for files that are missing, truncated or not those of the
        data set; the message names file, row and column.

    Examples
    --------
    >>> from pathlib import Path
    >>> for part in ("train", "test"):
    ...     size = Path(f"nltcs.{part}.data").write_text("0,1,0\n1,1,0\n0,0,1\n" * 5)
    >>> gv.read_public("twenty", "nltcs.train.data").table
    DiscreteTable(3 variables, 15 rows)
    """
    reader = public_reader(name)
    names = [spec.name for spec in option_specs(reader)]
    for option in options:
        if option not in names:
            raise InputError(
                f"There is no option {option!r} of {name}; the options are {', '.join(names)}."
            )
    return reader(**options).read(path)
