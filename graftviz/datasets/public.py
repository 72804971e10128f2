"""All readers of public data sets. Nothing is downloaded: people bring the files."""

from __future__ import annotations

import os
from typing import Any

from graftviz.datasets.dataset import DataSet
from graftviz.datasets.public_base import PublicReader
from graftviz.datasets.public_jester import Jester
from graftviz.datasets.public_plants import Plants
from graftviz.datasets.public_recipes import Recipes
from graftviz.datasets.public_twenty import Twenty
from graftviz.errors import InputError
from graftviz.options import option_specs

READERS: tuple[type[PublicReader], ...] = (Jester, Recipes, Plants, Twenty)


def public_names() -> tuple[str, ...]:
    """Return what :func:`read_public` can read."""
    return tuple(reader.name for reader in READERS)


def public_reader(name: str) -> type[PublicReader]:
    """Return the reader of that name.

    Raises
    ------
    InputError
        When there is none; the message lists those there are.
    """
    for reader in READERS:
        if reader.name == name:
            return reader
    raise InputError(
        f"There is no public data set {name!r}; those that can be read are "
        f"{', '.join(public_names())}."
    )


def read_public(name: str, path: str | os.PathLike[str], **options: Any) -> DataSet:
    """Read a public data set from files that were downloaded before.

    Parameters
    ----------
    name : {"jester", "recipes", "plants", "twenty"}
    path : path
        The file, or the zip archive or folder that holds it; for "twenty" FOLDER/NAME, such as
        ``data/nltcs``.
    **options
        Of the reader: jester ``missing``; recipes ``min_recipes``, ``ingredients``, ``rows``,
        ``seed``; plants ``names``; twenty ``join_valid``.

    Returns
    -------
    DataSet
        Its `table`; `test` and `validation` where the data set itself sets rows aside; `positions`
        where variables have places.

    Raises
    ------
    InputError
        For an unknown name or option, and for files that are missing, cut short or of another kind;
        file, row and column are named.
    """
    reader = public_reader(name)
    known = [spec.name for spec in option_specs(reader)]
    for option in options:
        if option not in known:
            raise InputError(
                f"There is no option {option!r} of {name}; the options are {', '.join(known)}."
            )
    return reader(**options).read(path)
