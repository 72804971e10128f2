"""Data with options of their own: tables and published files to upload, and generated data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from graftviz.app.material import UPLOAD
from graftviz.data.coding import TableOptions
from graftviz.data.sets.generated import GENERATED, Generated
from graftviz.data.sets.public import PUBLIC
from graftviz.reports.texts import catalogue


class ClassData(NamedTuple):
    """Texts on a public data set whose files the user downloads.

    Attributes
    ----------
    title : str
    label : str
        Of the uploader.
    steps : sequence of str
        Where to find the files, in Markdown.
    questions : sequence of str
        Questions that the page Grow answers, in Markdown.
    """

    title: str
    label: str
    steps: Sequence[str]
    questions: Sequence[str]


# Data set → endings of the names of its files.
CLASS_DATA: Mapping[str, list[str]] = {
    "senate": ["csv", "zip"],
    "plants": ["zip", "data", "csv", "txt"],
}


def class_data(name: str) -> ClassData:
    """Return the texts on a data set for classes."""
    return ClassData(**catalogue("class_data")[name])


def is_upload(data: str) -> bool:
    """Return whether a choice of data is an upload."""
    return data == UPLOAD or data in CLASS_DATA


def import_options(data: str) -> type:
    """Return the dataclass of the import options of an upload, or of generated data."""
    if data == GENERATED:
        return Generated
    return PUBLIC[data] if data in CLASS_DATA else TableOptions
