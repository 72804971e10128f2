"""Tables larger than memory, read from their file in chunks of rows.

A first pass over the file determines the labels of every column and raises the same errors as
:func:`graftviz.table.read_table`. It fixes the coding, so that every chunk of rows can be coded
independently, and sums over rows (pair counts, losses) can be computed as sums over chunks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from graftviz.errors import InputError
from graftviz.memory import free_bytes
from graftviz.table.arrow import arrow_array
from graftviz.table.batches import BatchSource, file_extent, select_columns
from graftviz.table.coding import (
    MAX_STATES,
    TableOptions,
    checked_options,
    code_like,
    keeps_gaps,
)
from graftviz.table.discrete import DiscreteTable, Fingerprint, held_out_rows, sampled_rows
from graftviz.table.lookup import Lookup
from graftviz.table.raw import RawTable, complete_rows
from graftviz.table.reading import checked_header
from graftviz.table.survey import TableSurvey

# Chunks start at multiples of this number, so that machine words and blocks of rows are not split.
ROW_UNIT = 512
_CHUNK_BYTES = 2**25
_LEAST_CHUNK, _MOST_CHUNK = 4096, 2**20
_SHARE = 0.8  # default share of the free memory for counts


class _Parts(NamedTuple):
    """Contents of a :class:`ChunkedTable`.

    Attributes
    ----------
    source : BatchSource
    options : TableOptions
    coding : DiscreteTable
        Names, labels and warnings; its rows have no meaning.
    file_rows : int
        Rows of the file that are not dropped.
    chunk_rows, max_memory : int
        See :class:`ChunkedTable`.
    chosen : ndarray of bool or None
        Rows of the table; None: all rows of the file.
    """

    source: BatchSource
    options: TableOptions
    coding: DiscreteTable
    file_rows: int
    chunk_rows: int
    max_memory: int
    chosen: np.ndarray | None = None


class ChunkedTable(DiscreteTable):
    """Table whose rows stay in their file; returned by :func:`open_table`.

    The rows are not in memory: `codes` and methods that need it raise :class:`InputError`.
    Learners whose statistics are pair counts accept it like any other table, with identical
    results.

    Attributes
    ----------
    names, labels, warnings
        See :class:`DiscreteTable`.
    has_rows : bool
        False.
    chunk_rows : int
        Rows in every chunk but the last, a multiple of 512.
    max_memory : int
        Maximum number of bytes of the counts of this table.

    Examples
    --------
    >>> survey.to_frame().to_csv("survey.csv", index=False)
    >>> table = gv.open_table("survey.csv")
    >>> table.n_rows, gv.learn(table, gv.ChowLiu()).model.n_edges
    (2000, 10)
    """

    has_rows: ClassVar[bool] = False

    _parts: _Parts
    chunk_rows: int
    max_memory: int

    def __init__(self, parts: _Parts) -> None:
        coding = parts.coding
        attributes = {
            "_parts": parts,
            "names": coding.names,
            "labels": coding.labels,
            "warnings": coding.warnings,
            "chunk_rows": parts.chunk_rows,
            "max_memory": parts.max_memory,
        }
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the coding and the path of the file, not its rows."""
        return ChunkedTable, (self._parts,)

    def __repr__(self) -> str:
        """Return a text with the shape."""
        return f"ChunkedTable({self.n_variables} variables, {self.n_rows} rows)"

    @property
    def codes(self) -> np.ndarray:
        """Unavailable, since the rows are not in memory.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError(
            f"{self.title} is read in chunks, so its rows are never all in memory; use a learner "
            "that needs only pair counts (the Bethe objective with the belief or linear-response "
            "score), or fewer rows."
        )

    @property
    def title(self) -> str:
        """Name of the file."""
        return self._parts.source.extent.title

    @property
    def n_variables(self) -> int:
        """Number of variables, n."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        chosen = self._parts.chosen
        return self._parts.file_rows if chosen is None else int(chosen.sum())

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the same table in memory; computed during the first pass over the rows."""
        if "_fingerprint" not in self.__dict__:
            for _ in self.chunks():  # computes it as a side effect
                pass
        return str(self.__dict__["_fingerprint"])

    def chunks(self) -> Iterator[DiscreteTable]:
        """Yield the rows in order, `chunk_rows` at a time.

        Raises
        ------
        InputError
            When the file has changed since it was opened.
        """
        yield from self._pieces(self.chunk_rows)

    def load(self) -> DiscreteTable:
        """Return all rows as a table in memory."""
        (whole,) = self._pieces(self.n_rows)
        return whole

    def split(self, test_fraction: float = 0.1, seed: int = 0) -> tuple[ChunkedTable, ChunkedTable]:
        """Return the same random partition of the rows as :meth:`DiscreteTable.split`."""
        in_test = held_out_rows(self.n_rows, test_fraction, seed)
        return self._part(~in_test), self._part(in_test)

    def sample(self, n_rows: int, seed: int = 0) -> ChunkedTable:
        """Return the same rows as :meth:`DiscreteTable.sample`."""
        return self._part(sampled_rows(self.n_rows, n_rows, seed))

    def _part(self, mask: np.ndarray) -> ChunkedTable:
        chosen = mask
        if (before := self._parts.chosen) is not None:
            chosen = before.copy()
            chosen[before] = mask
        return ChunkedTable(self._parts._replace(chosen=chosen))

    def _pieces(self, size: int) -> Iterator[DiscreteTable]:
        """Yield tables of `size` rows from the batches of the file."""
        kind = self._parts.coding.codes.dtype
        left = self.n_rows
        piece = np.empty((self.n_variables, min(size, left)), dtype=kind)
        filled = 0
        prints = None if "_fingerprint" in self.__dict__ else Fingerprint(self.names, self.labels)
        for codes in self._coded():
            at = 0
            while at < codes.shape[1]:
                if left == 0:
                    raise self._changed_error()
                taken = min(codes.shape[1] - at, piece.shape[1] - filled)
                piece[:, filled : filled + taken] = codes[:, at : at + taken]
                at, filled = at + taken, filled + taken
                if filled == piece.shape[1]:
                    piece.flags.writeable = False  # so that the table need not copy it
                    whole = DiscreteTable(piece, self.names, self.labels)
                    if prints is not None:
                        prints.add(whole)
                    yield whole
                    left -= filled
                    piece = np.empty((self.n_variables, min(size, left)), dtype=kind)
                    filled = 0
        if left:
            raise self._changed_error()
        if prints is not None:
            object.__setattr__(self, "_fingerprint", prints.text())

    def _coded(self) -> Iterator[np.ndarray]:
        """Yield the codes of the rows that belong to this table, batch by batch."""
        start = 0
        source, options, coding, *_, chosen = self._parts
        coder = _Coder(coding, options)
        for raw in source.batches():
            codes = coder.codes(raw)
            rows = codes.shape[1]
            yield codes if chosen is None else codes.compress(chosen[start : start + rows], axis=1)
            start += rows

    def _changed_error(self) -> InputError:
        return InputError(
            f"{self.title} has changed since it was opened: it no longer has "
            f"{self._parts.file_rows:,} rows; open it again."
        )


class _Coder:
    """Coder of successive batches, with a cache of the codes of earlier values."""

    def __init__(self, coding: DiscreteTable, options: TableOptions) -> None:
        self._coding = coding
        self._options = options
        self._lookups = [Lookup() for _ in coding.names]
        self._position = {name: i for i, name in enumerate(coding.names)}
        self._parts: dict[tuple[int, ...], DiscreteTable] = {}

    def codes(self, raw: RawTable) -> np.ndarray:
        """Return the codes of a batch, without the rows to drop."""
        place = [self._position.get(name, -1) for name in raw.names]
        if not raw.named or sorted(place) != list(range(len(place))):
            place = list(range(len(raw.names)))
            new = place
        else:
            new = sorted(range(len(place)), key=place.__getitem__)
        out = np.empty((len(place), raw.n_rows), dtype=self._coding.codes.dtype)
        left = []
        for i in new:
            array = arrow_array(raw, i)
            found = None if array is None else self._lookups[place[i]].codes(array)
            if found is None:
                left.append(i)
            else:
                out[place[i]] = found
        if not left:
            return out
        part = select_columns(raw, left)
        whole = complete_rows(part) if self._options.missing == "drop" else None
        if whole is not None and not whole.all():
            out = out[:, whole]
            if out.shape[1] == 0:
                return out
        coded = code_like(part, self._part(tuple(place[i] for i in left)), self._options).codes
        for k, i in enumerate(left):
            out[place[i]] = coded[k]
            array = arrow_array(raw, i)
            if array is not None and out.shape[1] == raw.n_rows:
                self._lookups[place[i]].add(array, coded[k])
        return out

    def _part(self, chosen: tuple[int, ...]) -> DiscreteTable:
        """Return the coding of some variables."""
        if len(chosen) == len(self._coding.names):
            return self._coding
        if chosen not in self._parts:
            coding = self._coding
            self._parts[chosen] = DiscreteTable.coding(
                tuple(coding.names[i] for i in chosen), tuple(coding.labels[i] for i in chosen)
            )
        return self._parts[chosen]


def open_table(
    path: str | os.PathLike[str],
    *,
    missing: Literal["reject", "drop", "state"] = "reject",
    max_states: int = MAX_STATES,
    like: DiscreteTable | None = None,
    header: bool | Literal["auto"] = "auto",
    max_memory: int | None = None,
    chunk_rows: int | None = None,
) -> ChunkedTable:
    """Open a table that may be larger than memory; its file is read once, to check it.

    Parameters
    ----------
    path : path
        CSV or parquet, as for :func:`graftviz.table.read_table`.
    missing : {"reject", "drop", "state"}
        As for :func:`graftviz.table.read_table`.
    max_states : int
        A column with more distinct values is refused: quantiles need all values at once.
    like : DiscreteTable, optional
        Training table whose names, labels and bins are used.
    header : bool or "auto"
        Whether the first line of text holds names; "auto" decides from the first 32 MB.
    max_memory : int, optional
        Maximum number of bytes of the counts of this table; default: 80 % of the free memory.
    chunk_rows : int, optional
        Rows per chunk, rounded up to a multiple of 512; default: about 32 MB.

    Raises
    ------
    InputError
        For input that cannot be used; the message states the problem, its place and a remedy.

    Examples
    --------
    >>> survey.to_frame().to_csv("survey.csv", index=False)
    >>> gv.open_table("survey.csv").n_rows
    2000
    """
    place = Path(path)
    expected = None if like is None else like.names
    options = checked_options(missing=missing, max_states=max_states)
    if keeps_gaps(options):
        raise InputError(
            f"A table read in chunks cannot have missing={missing}; use drop or state, or fewer "
            "rows."
        )
    source = BatchSource(place, file_extent(place), checked_header(header), expected)
    if max_memory is None:
        max_memory = int(_SHARE * free_bytes())
    survey = TableSurvey(source.extent.title, options, like)
    for raw in source.batches():
        survey.add(raw)
    coding = survey.coding()
    usual = min(max(_CHUNK_BYTES // coding.n_variables, _LEAST_CHUNK), _MOST_CHUNK)
    chunk_rows = -(-(chunk_rows or usual) // ROW_UNIT) * ROW_UNIT
    return ChunkedTable(
        _Parts(source, options, coding, survey.remaining_rows, chunk_rows, max_memory)
    )
