"""Table of coded discrete variables: checked and immutable, the input of all learners."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError
from graftviz.utils.wording import nearest, quoted

MAX_CARDINALITY = 2**16  # a code must fit an unsigned 16-bit integer
_MOST_REPEATED = 10**7  # rows
_LARGEST_TOTAL = 1e15  # of case weights; up to it, whole numbers are exact
_WIDE = 2**8  # variables with more states need two bytes per code


@dataclass(frozen=True, eq=False)
class DiscreteTable:
    """Immutable table of discrete variables; each value is stored as the index of its label.

    Attributes
    ----------
    codes : uint8 or uint16 array, shape (variables, rows)
        Row i holds all values of variable i; C-contiguous, read-only. 16 bits only when a variable
        has more than 256 states.
    names : tuple of str
        One per variable, all different.
    labels : tuple of tuple of str
        ``labels[i][k]`` is the text of state k of variable i, all different within a variable.
    warnings : tuple of str
        Warnings about the data, as sentences.
    weights : float64 array, shape (rows,), or None
        Case weights, at least 0: a row of weight 2 counts as two equal rows. None: all are 1.

    Raises
    ------
    InputError
        When shapes, names, labels and codes do not fit together, or the table is empty.

    Examples
    --------
    >>> survey
    DiscreteTable(11 variables, 2000 rows)
    >>> survey.labels[0]
    ('city', 'suburb', 'village')
    >>> survey["home"].value_counts().to_dict()
    {'city': 799, 'village': 760, 'suburb': 441}
    >>> train, test = survey.split(test_fraction=0.1, seed=0)
    >>> train.n_rows, test.n_rows
    (1800, 200)
    """

    codes: np.ndarray
    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    warnings: tuple[str, ...] = ()
    weights: np.ndarray | None = None

    has_rows: ClassVar[bool] = True  # False where only counts are in memory

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.names)
        labels = tuple(tuple(str(label) for label in states) for states in self.labels)
        codes = np.asarray(self.codes)
        _check_naming(names, labels)
        if codes.ndim != 2 or codes.dtype.kind not in "iu":
            raise InputError("The codes of a table must be a two-dimensional array of integers.")
        if codes.shape[0] != len(names) or codes.shape[1] == 0:
            raise InputError(
                f"A table of {len(names)} variables needs as many rows of codes, none of them "
                f"empty; the codes have shape {codes.shape}."
            )
        sizes = np.array([len(states) for states in labels], dtype=np.int64)
        outside = (codes.min(axis=1) < 0) | (codes.max(axis=1) >= sizes)
        if outside.any():
            i = int(np.argmax(outside))
            raise InputError(
                f"Variable {quoted(names[i])} has {sizes[i]} labels, but codes from "
                f"{codes[i].min()} to {codes[i].max()}."
            )
        dtype = np.uint8 if sizes.max() <= _WIDE else np.uint16
        # A writable array belongs to the caller, who may change it later; hence the copy.
        copy = True if codes.flags.writeable else None
        frozen = read_only(np.array(codes, dtype=dtype, order="C", copy=copy))
        object.__setattr__(self, "codes", frozen)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "warnings", tuple(self.warnings))
        if self.weights is not None:
            object.__setattr__(self, "weights", checked_weights(self.weights, frozen.shape[1]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the constructor's arguments, since numpy does not pickle the read-only flag."""
        return DiscreteTable, (self.codes, self.names, self.labels, self.warnings, self.weights)

    def __repr__(self) -> str:
        """Return a text with the shape."""
        weights = "" if self.weights is None else f", total weight {self.total_weight:g}"
        return f"{type(self).__name__}({self.n_variables} variables, {self.n_rows} rows{weights})"

    @classmethod
    def from_codes(
        cls,
        codes: Any,
        names: Sequence[str] | None = None,
        cardinalities: Sequence[int] | np.ndarray | None = None,
        labels: Sequence[Sequence[str]] | None = None,
    ) -> DiscreteTable:
        """Return a table of integer codes 0 … s_i − 1, one *column* per variable.

        Parameters
        ----------
        codes : integer or bool array, shape (rows, variables)
        names : sequence of str, optional
            Default ``x0``, ``x1``, …
        cardinalities : sequence of int, optional
            States per variable; default: the number of labels, else the largest code plus one.
        labels : sequence of sequences of str, optional
            Default ``"0"``, ``"1"``, …

        Raises
        ------
        InputError
            For a wrong shape or type, a negative or too large code (named by row and column,
            rows counted from 1), or names, cardinalities and labels of the wrong number.
        """
        array = np.asarray(codes)
        if array.ndim != 2 or 0 in array.shape:
            raise InputError(
                f"Codes need the shape (rows, variables) and content; got {array.shape}."
            )
        if array.dtype.kind not in "iub":
            raise InputError(f"Codes must be integers, not {array.dtype}.")
        array = array.astype(np.uint8) if array.dtype.kind == "b" else array
        n = array.shape[1]
        names = tuple(names) if names is not None else default_names(n)
        if labels is not None and cardinalities is None:
            cardinalities = [len(states) for states in labels]
        # Clipped, so that adding one cannot overflow; clipped codes are rejected below.
        largest = np.array([min(code, MAX_CARDINALITY) for code in array.max(axis=0).tolist()])
        sizes = np.asarray(largest + 1 if cardinalities is None else cardinalities)
        if len(names) != n or sizes.shape != (n,) or (labels is not None and len(labels) != n):
            raise InputError(f"{n} columns of codes need {n} names, cardinalities and label lists.")
        limits = np.minimum(sizes, MAX_CARDINALITY)
        bad = (array.min(axis=0) < 0) | (largest >= limits)
        if bad.any():
            i = int(np.argmax(bad))
            row = int(np.argmax((array[:, i] < 0) | (array[:, i] >= limits[i])))
            raise InputError(
                f"Row {row + 1}, column {quoted(names[i])} holds {array[row, i]}, but a code "
                f"must be at least 0 and below "
                f"{limits[i] if cardinalities is not None else MAX_CARDINALITY}; read_table "
                "accepts any integers as labels."
            )
        if labels is None:
            if sizes.max() > MAX_CARDINALITY:
                raise InputError(f"A variable cannot have more than {MAX_CARDINALITY} states.")
            labels = [[str(k) for k in range(size)] for size in sizes.tolist()]
        if [len(states) for states in labels] != sizes.tolist():
            raise InputError("Each variable needs as many labels as it has states.")
        dtype = np.uint8 if sizes.max() <= _WIDE else np.uint16
        turned = np.ascontiguousarray(array.T, dtype=dtype)
        return cls(turned, names, tuple(tuple(states) for states in labels))

    @classmethod
    def coding(
        cls,
        names: tuple[str, ...],
        labels: tuple[tuple[str, ...], ...],
        warnings: Sequence[str] = (),
    ) -> DiscreteTable:
        """Return the smallest table with these names and labels, to code others like it."""
        return cls(np.zeros((len(names), 1), dtype=np.uint8), names, labels, tuple(warnings))

    @property
    def n_variables(self) -> int:
        """Number of variables, n."""
        return self.codes.shape[0]

    @property
    def varying(self) -> np.ndarray:
        """Mask of the variables with more than one observed state, shape (n,)."""
        seen = [np.count_nonzero(self.state_counts(i)) for i in range(self.n_variables)]
        return np.array(seen) > 1

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.codes.shape[1]

    @property
    def total_weight(self) -> float:
        """N: the number of rows, or the sum of their case weights."""
        return self.n_rows if self.weights is None else float(self.weights.sum())

    @property
    def row_weights(self) -> np.ndarray:
        """Case weights, or ones, shape (rows,)."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    @cached_property
    def cardinalities(self) -> np.ndarray:
        """Number of states of every variable, int64, shape (n,), read-only."""
        return read_only(np.array([len(states) for states in self.labels], dtype=np.int64))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of names, labels and codes in hexadecimal; the same in every process."""
        naming = [self.n_rows, self.names, self.labels]
        digest = hashlib.sha256(json.dumps(naming).encode("ascii"))
        for values in self.codes.astype(self.codes.dtype.newbyteorder("<"), copy=False):
            digest.update(hashlib.sha256(values.data).digest())
        if self.weights is not None:
            digest.update(hashlib.sha256(self.weights.astype("<f8").tobytes()).digest())
        return digest.hexdigest()

    def joint_counts(self, i: int, j: int) -> np.ndarray:
        """Return the number, or total weight, of rows with each pair of states of two variables.

        int64, or float64 if the table has case weights.
        """
        shape = (len(self.labels[i]), len(self.labels[j]))
        joint = self.codes[i].astype(np.int64) * shape[1] + self.codes[j]
        return np.bincount(joint, self.weights, minlength=shape[0] * shape[1]).reshape(shape)

    def state_counts(self, i: int) -> np.ndarray:
        """Return the number, or total weight, of rows with each state of a variable."""
        return np.bincount(self.codes[i], self.weights, minlength=len(self.labels[i]))

    def joint_shares(self) -> np.ndarray:
        """Return the share of rows with each two states of all variables, shape (states, states).

        Memory is quadratic in the total number of states.
        """
        states = [
            codes == state
            for codes, size in zip(self.codes, self.cardinalities.tolist(), strict=True)
            for state in range(size)
        ]
        if self.weights is not None:
            indicators = np.array(states, dtype=np.float64)
            return (indicators * self.weights) @ indicators.T / self.total_weight
        indicators = np.array(states, dtype=np.float32)  # products count exactly in float32
        return (indicators @ indicators.T).astype(np.float64) / self.n_rows

    def rows(self, index: Any) -> DiscreteTable:
        """Return the rows selected by an index array, mask or slice, with all names and labels.

        Raises
        ------
        InputError
            When the index does not fit the table or selects no rows.
        """
        try:
            chosen = np.arange(self.n_rows)[index]
        except IndexError as problem:
            raise InputError(f"These rows are not in the table: {problem}.") from None
        # take, since fancy indexing may return an array that is not C-contiguous.
        part = np.take(self.codes, np.atleast_1d(chosen), axis=1)
        weights = None if self.weights is None else self.weights[np.atleast_1d(chosen)]
        return DiscreteTable(part, self.names, self.labels, self.warnings, weights)

    def repeated(self) -> DiscreteTable:
        """Return the table without case weights, each row repeated as often as its weight says.

        Raises
        ------
        InputError
            If a weight is not a whole number, or there would be too many rows.
        """
        if self.weights is None:
            return self
        if (self.weights != np.floor(self.weights)).any() or self.total_weight > _MOST_REPEATED:
            raise InputError(
                "This learner accepts case weights only if they are whole numbers with a sum of at "
                f"most {_MOST_REPEATED:,}, as it repeats the rows; choose another learner, or "
                "round the weights."
            )
        rows = np.repeat(np.arange(self.n_rows), self.weights.astype(np.int64))
        return replace(self.rows(rows), weights=None)

    def split(
        self, test_fraction: float = 0.1, seed: int = 0
    ) -> tuple[DiscreteTable, DiscreteTable]:
        """Return a random partition of the rows into a training and a test table.

        Both parts have the rows in their original order, and all labels.

        Raises
        ------
        InputError
            When the fraction is not between 0 and 1, or a part would have no rows.
        """
        in_test = held_out_rows(self.n_rows, test_fraction, seed)
        return self.rows(~in_test), self.rows(in_test)

    def sample(self, n_rows: int, seed: int = 0) -> DiscreteTable:
        """Return some rows in their original order: the first ones of a random order.

        Fewer rows of the same seed are a subset of more.

        Raises
        ------
        InputError
            When the table does not have that many rows.
        """
        return self.rows(sampled_rows(self.n_rows, n_rows, seed))

    def __getitem__(self, variable: int | str) -> pd.Series:
        """Return the labels of a variable, by name or index, as a categorical series."""
        if variable not in self.names and not isinstance(variable, int | np.integer):
            hint = nearest(str(variable), self.names)
            tail = f"; {hint}" if hint else "."
            raise InputError(f"The table has no variable {quoted(str(variable))}{tail}")
        i = self.names.index(variable) if variable in self.names else int(variable)
        if not -self.n_variables <= i < self.n_variables:
            raise InputError(f"The table has the variables 0 … {self.n_variables - 1}, not {i}.")
        states = pd.Index(self.labels[i])
        values = pd.Categorical.from_codes(self.codes[i], categories=states)
        return pd.Series(values, name=self.names[i])

    def to_frame(self) -> pd.DataFrame:
        """Return the labels as a DataFrame of categorical columns, states in code order."""
        return pd.DataFrame({name: self[i] for i, name in enumerate(self.names)})


def checked_weights(weights: Any, n_rows: int) -> np.ndarray:
    """Return case weights as a read-only float64 array.

    Raises
    ------
    InputError
        Unless there is one finite number of at least 0 for each row, and their sum is positive and
        at most `_LARGEST_TOTAL`.
    """
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("Case weights must be numbers.") from None
    if array.shape != (n_rows,):
        raise InputError(f"{n_rows:,} rows need as many case weights; got shape {array.shape}.")
    bad = ~(np.isfinite(array) & (array >= 0.0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"The case weight of row {row + 1} is {array[row]:g}; weights must be finite numbers "
            "of at least 0."
        )
    if not array.any():
        raise InputError("All case weights are zero; at least one row must have weight.")
    if (array / _LARGEST_TOTAL).sum() > 1.0:
        raise InputError(
            f"The case weights sum to more than {_LARGEST_TOTAL:g}; divide them by a constant."
        )
    return read_only(array)


def held_out_rows(n_rows: int, test_fraction: float, seed: int) -> np.ndarray:
    """Return the mask of the rows that :meth:`DiscreteTable.split` holds out, shape (n_rows,).

    Raises
    ------
    InputError
        When the fraction is not between 0 and 1, or a part would have no rows.
    """
    if not 0 < test_fraction < 1:
        raise InputError(f"The test fraction must lie between 0 and 1; got {test_fraction:g}.")
    n_test = round(n_rows * test_fraction)
    if not 1 <= n_test <= n_rows - 1:
        part = "test" if n_test < 1 else "training"
        raise InputError(
            f"A test fraction of {test_fraction:g} of {n_rows} rows leaves no {part} row; "
            "use more rows or another fraction."
        )
    in_test = np.zeros(n_rows, dtype=bool)
    in_test[np.random.default_rng(seed).permutation(n_rows)[:n_test]] = True
    return in_test


def sampled_rows(n_rows: int, chosen: int, seed: int) -> np.ndarray:
    """Return the mask of the rows that :meth:`DiscreteTable.sample` selects, shape (n_rows,).

    Raises
    ------
    InputError
        When `chosen` is not between 1 and `n_rows`.
    """
    if not 1 <= chosen <= n_rows:
        raise InputError(
            f"{chosen:,} rows cannot be chosen from {n_rows:,}; use a number from 1 to {n_rows:,}."
        )
    mask = np.zeros(n_rows, dtype=bool)
    # A stream of its own: the permutation of `held_out_rows` has the seed alone.
    mask[np.random.default_rng((seed, 1)).permutation(n_rows)[:chosen]] = True
    return mask


def default_names(n: int) -> tuple[str, ...]:
    """Return the names of unnamed variables: ``x0``, ``x1`` and so on."""
    return tuple(f"x{i}" for i in range(n))


def _check_naming(names: tuple[str, ...], labels: tuple[tuple[str, ...], ...]) -> None:
    if not names:
        raise InputError("A table needs at least one variable.")
    if len(set(names)) != len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"The column name {quoted(twice)} occurs twice in the table.")
    if len(labels) != len(names):
        raise InputError(f"{len(names)} variables need as many lists of labels; got {len(labels)}.")
    for name, states in zip(names, labels, strict=True):
        if not 1 <= len(states) <= MAX_CARDINALITY:
            raise InputError(
                f"Variable {quoted(name)} has {len(states)} states; the number must be from 1 to "
                f"{MAX_CARDINALITY}."
            )
        if len(set(states)) != len(states):
            raise InputError(f"Variable {quoted(name)} has the same label twice.")
