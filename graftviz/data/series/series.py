"""Time series, and transitions from one time step to the next, the training data of learners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from graftviz.data.table import default_names
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError

LARGEST_VALUE = 1e50  # learners multiply up to four values, which must not overflow
TOO_LARGE = f"beyond ±{LARGEST_VALUE:g}; correct the value, or use another unit"


class Transitions(NamedTuple):
    """Pairs (or triples) of consecutive states, not necessarily from one long series.

    Attributes
    ----------
    names : tuple of str
        Names of the n series.
    before : float array, shape (pairs, n), C-contiguous
        X′, one row per transition.
    after : float array, shape (pairs, n)
        X″, one time step later.
    later : float array, shape (triples, n)
        X‴, two time steps after the first `triples` rows of `before`.

    Examples
    --------
    >>> transitions = dynamics.simulate_transitions(system, 100, seed=0)
    >>> transitions.before.shape
    (100, 8)
    """

    names: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    later: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class TimeSeries:
    """Series observed at equidistant times.

    Attributes
    ----------
    values : float array, shape (rows, n), C-contiguous, read-only
        One row per time.
    names : tuple of str
        Names of the n series.
    times : tuple of str
        Times of the rows as in the source; empty if it has no times.
    title : str
        Name of the source in messages.
    notes : tuple of str
        Sentences about interpolated values and dropped series.

    Examples
    --------
    >>> series.values.shape, series.names[:2]
    ((500, 8), ('x0', 'x1'))
    """

    values: np.ndarray
    names: tuple[str, ...]
    times: tuple[str, ...] = ()
    title: str = "The series"
    notes: tuple[str, ...] = ()

    @classmethod
    def from_array(cls, values: np.ndarray, names: Sequence[str] = ()) -> TimeSeries:
        """Return the series of an array, shape (rows, n), or of a data frame.

        Names default to the columns of a data frame, or to x0, x1 and so on.

        Raises
        ------
        InputError
            For another shape, fewer than two rows, equal names, and entries that are not finite or
            beyond `LARGEST_VALUE`.

        Examples
        --------
        >>> dynamics.TimeSeries.from_array(np.eye(3)).names
        ('x0', 'x1', 'x2')
        """
        array = np.array(values, dtype=np.float64, order="C")
        if array.ndim != 2 or array.shape[0] < 2 or array.shape[1] < 1:
            raise InputError(
                "Time series need an array of at least two times × one series; got shape "
                f"{array.shape}."
            )
        if (wrong := ~(np.abs(array) <= LARGEST_VALUE)).any():
            row, column = np.argwhere(wrong)[0]
            is_finite = np.isfinite(array[row, column])
            reason = TOO_LARGE if is_finite else "not finite; fill the gap or leave it out"
            raise InputError(f"Row {row + 1} of series {column + 1} is {reason}.")
        columns = map(str, getattr(values, "columns", ()))
        all_names = tuple(names) or tuple(columns) or default_names(array.shape[1])
        if len(all_names) != array.shape[1]:
            raise InputError(f"There are {array.shape[1]} series, but {len(all_names)} names.")
        if len(set(all_names)) < len(all_names):
            raise InputError("Two series have the same name; use different names.")
        return cls(read_only(array), all_names)

    @property
    def n_rows(self) -> int:
        """Number of times."""
        return len(self.values)

    @property
    def n_series(self) -> int:
        """Number of series, n."""
        return len(self.names)

    def __repr__(self) -> str:
        return f"<TimeSeries: {self.n_series:,} series, {self.n_rows:,} rows>"

    def transitions(self) -> Transitions:
        """Return X′ = all rows but the last, X″ = all but the first, X‴ = all but the first two."""
        return Transitions(self.names, self.values[:-1], self.values[1:], self.values[2:])

    def selected(self, names: tuple[str, ...]) -> TimeSeries:
        """Return the series with the given names, in that order.

        Raises
        ------
        InputError
            For an unknown name.
        """
        places = {name: i for i, name in enumerate(self.names)}
        absent = [name for name in names if name not in places]
        if absent:
            raise InputError(f"{self.title}: there is no series {absent[0]!r}.")
        values = np.ascontiguousarray(self.values[:, [places[name] for name in names]])
        return replace(self, values=read_only(values), names=names)

    def split(self, test_fraction: float) -> tuple[TimeSeries, TimeSeries]:
        """Return the first rows, and the last `test_fraction` of the rows, in order of time.

        Raises
        ------
        InputError
            When the fraction is not between 0 and 1, or either part has fewer than two rows.
        """
        if not 0.0 < test_fraction < 1.0:
            raise InputError(f"The test fraction must lie between 0 and 1; got {test_fraction}.")
        cut = self.n_rows - round(self.n_rows * test_fraction)
        if min(cut, self.n_rows - cut) < 2:
            raise InputError(
                f"{self.title}: a test fraction of {test_fraction} divides {self.n_rows} rows into "
                f"{cut} and {self.n_rows - cut}; both parts need at least two."
            )
        first, last = self.values[:cut], self.values[cut:]
        return (
            replace(self, values=first, times=self.times[:cut]),
            replace(self, values=last, times=self.times[cut:]),
        )


class StandardisedData(NamedTuple):
    """StandardisedData transitions, the input of solvers.

    Attributes
    ----------
    names : tuple of str
    before, after, later : float arrays, shape (pairs or triples, n), C-contiguous
    shift : float array, shape (n,)
        Subtracted mean of each series; zero without centring.
    scale : float array, shape (n,)
        Root mean square of each shifted series, the divisor; 1 for a series that is always zero.
    columns, targets : float arrays, shape (n, pairs)
        Transposes of `before` and `after`, because selecting a few columns of row-major arrays
        costs more than regressing on them.
    """

    names: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    later: np.ndarray
    shift: np.ndarray
    scale: np.ndarray
    columns: np.ndarray
    targets: np.ndarray


def _means(values: np.ndarray) -> np.ndarray:
    """Return the mean of each column; that of equal values is exactly their value."""
    return np.where(np.ptp(values, axis=0) == 0.0, values[0], values.mean(axis=0))


def centred(values: np.ndarray) -> np.ndarray:
    """Return `values` without the mean of each column, exactly zero for a constant column."""
    found: np.ndarray = values - _means(values)
    return found


def standardise(data: TimeSeries | Transitions, *, centre: bool) -> StandardisedData:
    """Return the data divided by root mean squares over X′, after subtracting means if `centre`."""
    n = len(data.names)
    before = data.values[:-1] if isinstance(data, TimeSeries) else data.before
    shift = _means(before) if centre else np.zeros(n)
    scale = np.sqrt(np.mean((before - shift) ** 2 if centre else before**2, axis=0))
    scale[scale == 0.0] = 1.0
    if isinstance(data, TimeSeries):
        # Three views of one array.
        values = (data.values - shift) / scale
        before, after, later = values[:-1], values[1:], values[2:]
        turned = np.ascontiguousarray(values.T)
        columns, targets = turned[:, :-1], turned[:, 1:]
    else:
        before, after, later = ((part - shift) / scale for part in data[1:])
        columns, targets = np.ascontiguousarray(before.T), np.ascontiguousarray(after.T)
    shift, scale = read_only(shift), read_only(scale)
    return StandardisedData(data.names, before, after, later, shift, scale, columns, targets)
