"""Data of the Dynamics page: series, positions, and the true system if known.

Nothing here knows Streamlit.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np

from graftviz.dynamics import LinearSystem, TimeSeries, random_system, simulate
from graftviz.dynamics.samples import load_sample
from graftviz.errors import InputError
from graftviz.layout import static_layout
from graftviz.ui.caches import SourceCache
from graftviz.ui.dynamics.options import RANDOM, DynamicsOptions
from graftviz.ui.material import FINGERPRINT_DIGITS

MOST_SERIES = 1_000  # beyond, neither picture nor matrix has a pixel for every series
_MATERIALS, _WORKS = 4, 60  # kept of files, and of each material they made
_NEIGHBOURS = 2  # of the series that follow a series most closely, for its place


@dataclass(frozen=True, eq=False)
class DynamicsMaterial:
    """Prepared series: training rows, held-out rows, and positions.

    Attributes
    ----------
    identity : str
        Two materials of the same identity give the same runs.
    title : str
    series, train, test : TimeSeries
        All rows, the first of them, and the last.
    places : int array, shape (n, 2)
        0 … 10000, y downwards.
    given : bool
        Whether the places are known ones.
    truth : LinearSystem or None
    parents : tuple of n tuples of int, or None
        From a file.
    own : SourceCache or None
        Cache of results for uploaded series; results for all others are shared.
    """

    identity: str
    title: str
    series: TimeSeries
    train: TimeSeries
    test: TimeSeries
    places: np.ndarray
    given: bool
    truth: LinearSystem | None = None
    parents: tuple[tuple[int, ...], ...] | None = None
    own: SourceCache | None = None

    @property
    def n(self) -> int:
        """The number of series."""
        return self.series.n_series


@dataclass(frozen=True, eq=False)
class UploadedSeries:
    """Uploaded files, read and accepted.

    Attributes
    ----------
    series : TimeSeries
    positions : float array, shape (n, 2), or None
    parents : tuple of n tuples of int, or None
    fingerprint : str
        Of all three.
    materials : SourceCache
        Made of them, by the share of the rows that is held out.
    """

    series: TimeSeries
    positions: np.ndarray | None
    parents: tuple[tuple[int, ...], ...] | None
    fingerprint: str
    materials: SourceCache = field(
        default_factory=lambda: SourceCache(_MATERIALS), init=False, repr=False
    )


def generated(options: DynamicsOptions) -> DynamicsMaterial:
    """Return a simulation of a stable random sparse system.

    Raises
    ------
    InputError
        When the sizes make no sense, or too few rows are left to learn from.
    """
    n, seed = options.size, options.seed
    truth = random_system(n, density=options.density, seed=seed)
    series = simulate(truth, options.rows, observation_noise=options.noise, seed=seed)
    arrows = np.argwhere(truth.matrix != 0.0)
    decided = (n, options.density, options.rows, options.noise, seed)
    title = f"Random system · {n} series, {options.rows:,} rows"
    whole = _divided(f"{RANDOM}:{decided}", title, series, options.held_out)
    places = static_layout(n, arrows[arrows[:, 0] != arrows[:, 1]])
    return replace(whole, places=places, truth=truth)


def sampled(key: str, held_out: float) -> DynamicsMaterial:
    """Return a sample of ``sample_data``."""
    sample = load_sample(key)
    whole = _divided(key, sample.title, sample.series, held_out)
    return _placed(whole, sample.positions)


def uploaded_material(files: UploadedSeries, held_out: float) -> DynamicsMaterial:
    """Return the material of uploaded files.

    Raises
    ------
    InputError
        For more series than can be shown, or too few rows to hold some out.
    """
    series = files.series
    if series.n_series > MOST_SERIES:
        raise InputError(
            f"{series.title} has {series.n_series:,} series; this page shows at most "
            f"{MOST_SERIES:,}. Upload fewer, or use python -m graftviz dynamics."
        )
    title = f"{series.title} · {series.n_series:,} series, {series.n_rows:,} rows"
    whole = _divided(f"upload:{files.fingerprint}", title, series, held_out)
    return replace(_placed(whole, files.positions), parents=files.parents, own=SourceCache(_WORKS))


def fingerprint(
    series: TimeSeries,
    positions: np.ndarray | None,
    parents: tuple[tuple[int, ...], ...] | None,
) -> str:
    """Return a hash of the files, shortened for links."""
    digest = hashlib.sha256(repr((series.names, series.values.shape, parents)).encode())
    digest.update(series.values.tobytes())
    digest.update(b"" if positions is None else positions.tobytes())
    return digest.hexdigest()[:FINGERPRINT_DIGITS]


def _divided(identity: str, title: str, series: TimeSeries, held_out: float) -> DynamicsMaterial:
    train, test = series.split(held_out)
    nowhere = np.zeros((0, 2), dtype=np.int64)
    return DynamicsMaterial(
        f"{identity}:{held_out}", title, series, train, test, nowhere, given=False
    )


def _placed(material: DynamicsMaterial, positions: np.ndarray | None) -> DynamicsMaterial:
    """Give series their known places, or places beside those that follow them most closely."""
    if positions is not None:
        return replace(material, places=np.rint(positions).astype(np.int64), given=True)
    return replace(material, places=static_layout(material.n, _followers(material.train)))


def _followers(train: TimeSeries) -> np.ndarray:
    """Return pairs of each series and those that correlate most with it one step later."""
    values = train.values - train.values.mean(axis=0)
    sizes = np.linalg.norm(values, axis=0)
    values = values / np.where(sizes > 0.0, sizes, 1.0)
    strength = np.abs(values[1:].T @ values[:-1])
    np.fill_diagonal(strength, 0.0)
    n = len(strength)
    nearest = np.argsort(-strength, axis=1, kind="stable")[:, : min(_NEIGHBOURS, n - 1)]
    pairs = np.column_stack([np.repeat(np.arange(n), nearest.shape[1]), nearest.ravel()])
    found: np.ndarray = pairs
    return found
