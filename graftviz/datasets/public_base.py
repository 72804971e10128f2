"""What a reader of a public data set is: options as data, and one method."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from graftviz.datasets.dataset import DataSet, suggest_lam
from graftviz.options import check_options
from graftviz.table import DiscreteTable


@dataclass(frozen=True)
class PublicReader(ABC):
    """Base of all readers. The fields of a reader are its options.

    Attributes
    ----------
    name : str
        What the command line and :func:`read_public` call it.
    files : str
        What to download, and what path to give.
    source : str
        Where it comes from, in the words of a reference list.
    """

    name: ClassVar[str]
    files: ClassVar[str]
    source: ClassVar[str]

    def __post_init__(self) -> None:
        check_options(self)

    @abstractmethod
    def read(self, path: str | os.PathLike[str]) -> DataSet:
        """Read the data set from a file, a zip archive or a folder the user has.

        Raises
        ------
        InputError
            When something is missing, cut short, or not what it should be; file, row and column
            are named.
        """

    def data_set(
        self,
        path: str | os.PathLike[str],
        table: DiscreteTable,
        *,
        warnings: tuple[str, ...] = (),
        positions: np.ndarray | None = None,
        validation: DiscreteTable | None = None,
        test: DiscreteTable | None = None,
    ) -> DataSet:
        """Return `table` with `warnings`, title and source, and with what else is known."""
        return DataSet(
            key=f"{self.name}:{Path(path)}",
            title=f"{self.name} · {table.n_variables:,} variables, {table.n_rows:,} rows",
            table=DiscreteTable(table.codes, table.names, table.labels, warnings),
            truth=None,
            positions=positions,
            description=self.source,
            suggested={"lam": suggest_lam(table)},
            validation=validation,
            test=test,
        )


def other_size(what: str, found: int, original: int) -> tuple[str, ...]:
    """Return the warning that a file is smaller or larger than the one that is published."""
    if found == original:
        return ()
    return (f"{found:,} {what} were read; the published data have {original:,}.",)
