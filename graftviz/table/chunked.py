"""Tables larger than memory, read from their file in chunks of rows.

A first pass over the file determines the labels of every column and raises the same errors as
:func:`graftviz.table.read_table`. It fixes the coding, so that every chunk of rows can be coded
independently, and sums over rows (pair counts, losses) can be computed as sums over chunks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from graftviz.errors import InputError
from graftviz.memory import free_bytes
from graftviz.table.arrow import arrow_array
from graftviz.table.batches import BatchSource, file_extent, select_columns
from graftviz.table.coding import Rules, code_like
from graftviz.table.discrete import DiscreteTable, Fingerprint, held_out_rows
from graftviz.table.lookup import Lookup
from graftviz.table.raw import RawTable
from graftviz.table.reading import BINS, MAX_STATES, checked_header, checked_rules
from graftviz.table.survey import TableSurvey, complete_rows

# Chunks start at multiples of this number, so that machine words and blocks of rows are not split.
ROW_UNIT = 512
_CHUNK_BYTES = 2**25
_LEAST_CHUNK, _MOST_CHUNK = 4096, 2**20
_SHARE = 0.8  # default share of the free memory for counts


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
    """

    has_rows: ClassVar[bool] = False

    def __init__(
        self,
        source: BatchSource,
        rules: Rules,
        coding: DiscreteTable,
        *,
        file_rows: int,
        warnings: tuple[str, ...],
        chunk_rows: int,
        max_memory: int,
        chosen: np.ndarray | None = None,
    ) -> None:
        parts = {
            "_source": source,
            "_rules": rules,
            "_coding": coding,
            "_file_rows": file_rows,
            "_chosen": chosen,
            "names": coding.names,
            "labels": coding.labels,
            "warnings": warnings,
            "chunk_rows": chunk_rows,
            "max_memory": max_memory,
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    _source: BatchSource
    _rules: Rules
    _coding: DiscreteTable
    _file_rows: int
    _chosen: np.ndarray | None
    chunk_rows: int
    max_memory: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the coding and the path of the file, not its rows."""
        return _rebuild, (self._parts(),)

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
        return self._source.extent.title

    @property
    def n_variables(self) -> int:
        """Number of variables, n."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return self._file_rows if self._chosen is None else int(self._chosen.sum())

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

    def _part(self, mask: np.ndarray) -> ChunkedTable:
        chosen = mask
        if self._chosen is not None:
            chosen = self._chosen.copy()
            chosen[self._chosen] = mask
        return _rebuild({**self._parts(), "chosen": chosen})

    def _parts(self) -> dict[str, Any]:
        return {
            "source": self._source,
            "rules": self._rules,
            "coding": self._coding,
            "file_rows": self._file_rows,
            "warnings": self.warnings,
            "chunk_rows": self.chunk_rows,
            "max_memory": self.max_memory,
            "chosen": self._chosen,
        }

    def _pieces(self, size: int) -> Iterator[DiscreteTable]:
        """Yield tables of `size` rows from the batches of the file."""
        kind = self._coding.codes.dtype
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
        coder = _Coder(self._coding, self._rules)
        for raw in self._source.batches():
            codes = coder.codes(raw)
            rows = codes.shape[1]
            if self._chosen is None:
                yield codes
            else:
                yield np.compress(self._chosen[start : start + rows], codes, axis=1)
            start += rows

    def _changed_error(self) -> InputError:
        return InputError(
            f"{self.title} has changed since it was opened: it no longer has {self._file_rows:,} "
            "rows; open it again."
        )


class _Coder:
    """Coder of successive batches, with a cache of the codes of earlier values."""

    def __init__(self, coding: DiscreteTable, rules: Rules) -> None:
        self._coding = coding
        self._rules = rules
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
        whole = complete_rows(part) if self._rules.missing == "drop" else None
        if whole is not None and not whole.all():
            out = out[:, whole]
            if out.shape[1] == 0:
                return out
        coded = code_like(part, self._part(tuple(place[i] for i in left)), self._rules).codes
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
            self._parts[chosen] = DiscreteTable(
                np.zeros((len(chosen), 1), dtype=np.uint8),
                tuple(coding.names[i] for i in chosen),
                tuple(coding.labels[i] for i in chosen),
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
    missing, max_states, like, header
        As for :func:`graftviz.table.read_table`; whether a first line holds names is decided from
        the first 32 MB. Continuous columns cannot be divided into quantiles, which need all values
        at once, unless `like` has the bins.
    max_memory : int, optional
        Maximum number of bytes of the counts of this table; default: 80 % of the free memory.
    chunk_rows : int, optional
        Rows per chunk, rounded up to a multiple of 512; default: about 32 MB.

    Raises
    ------
    InputError
        For input that cannot be used; the message states the problem, its place and a remedy.
    """
    place = Path(path)
    expected = None if like is None else like.names
    rules = checked_rules(missing, max_states, "reject", BINS)
    source = BatchSource(place, file_extent(place), checked_header(header), expected)
    if max_memory is None:
        max_memory = int(_SHARE * free_bytes())
    return _open(source, rules, like, max_memory, chunk_rows)


def _open(
    source: BatchSource,
    rules: Rules,
    like: DiscreteTable | None,
    max_memory: int,
    chunk_rows: int | None,
) -> ChunkedTable:
    survey = TableSurvey(source.extent.title, rules, like)
    for raw in source.batches():
        survey.add(raw)
    coding = survey.coding()
    usual = min(max(_CHUNK_BYTES // coding.n_variables, _LEAST_CHUNK), _MOST_CHUNK)
    return ChunkedTable(
        source,
        rules,
        coding,
        file_rows=survey.remaining_rows,
        warnings=coding.warnings,
        chunk_rows=-(-(chunk_rows or usual) // ROW_UNIT) * ROW_UNIT,
        max_memory=max_memory,
    )


def _rebuild(parts: dict[str, Any]) -> ChunkedTable:
    return ChunkedTable(**parts)
