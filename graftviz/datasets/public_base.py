"""Base class of readers of public data sets."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from graftviz.datasets.dataset import DataSet, suggest_lam
from graftviz.datasets.public_files import FileSource, path_text
from graftviz.options import check_options
from graftviz.table import DiscreteTable


@dataclass(frozen=True)
class PublicReader(ABC):
    """Base class of readers; the fields of a subclass are its options.

    Attributes
    ----------
    name : str
        Name on the command line and in :func:`read_public`.
    files : str
        Description of the files to download and of the path to pass.
    source : str
        Reference to the origin of the data.
    """

    name: ClassVar[str]
    files: ClassVar[str]
    source: ClassVar[str]

    def __post_init__(self) -> None:
        check_options(self)

    @abstractmethod
    def read(self, path: str | os.PathLike[str]) -> DataSet:
        """Read the data set from a file, a zip archive or a folder.

        Raises
        ------
        InputError
            For files that are missing, truncated or invalid; the message names file, row and
            column.
        """

    def data_set(
        self,
        path: FileSource,
        table: DiscreteTable,
        *,
        warnings: tuple[str, ...] = (),
        positions: np.ndarray | None = None,
        validation: DiscreteTable | None = None,
        test: DiscreteTable | None = None,
    ) -> DataSet:
        """Return the data set of `table`, with warnings, title, source and optional parts."""
        return DataSet(
            key=f"{self.name}:{path_text(path)}",
            title=f"{self.name} · {table.n_variables:,} variables, {table.n_rows:,} rows",
            table=DiscreteTable(table.codes, table.names, table.labels, warnings),
            positions=positions,
            description=self.source,
            suggested={"lam": suggest_lam(table)},
            validation=validation,
            test=test,
        )


def other_size(what: str, found: int, original: int) -> tuple[str, ...]:
    """Return a warning if the size of a file differs from the published size; else no warning."""
    if found == original:
        return ()
    return (f"{found:,} {what} were read; the published data have {original:,}.",)
