"""Series of the Dynamics page: generated, of a sample or uploaded, with their positions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import streamlit as st

from graftviz.dynamics import LinearSystem, TimeSeries, random_system, simulate
from graftviz.dynamics.samples import load_sample
from graftviz.errors import InputError
from graftviz.layout import static_layout
from graftviz.ui.dynamics.options import OF_SYSTEM, RANDOM, DynamicsOptions
from graftviz.ui.material import FINGERPRINT_DIGITS
from graftviz.ui.url_state import UPLOAD
from graftviz.ui.visits import SourceCache, clearable_cache

MOST_SERIES = 1_000  # beyond, neither picture nor matrix has a pixel for every series
_MATERIALS, _WORKS = 4, 60  # kept of files, and of each material they made
_SYSTEM = (*OF_SYSTEM, "seed")
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
    own : SourceCache
        Materials made of them, by the share of the rows that is held out.
    """

    series: TimeSeries
    positions: np.ndarray | None = None
    parents: tuple[tuple[int, ...], ...] | None = None
    own: SourceCache = field(
        default_factory=lambda: SourceCache(_MATERIALS), init=False, repr=False
    )

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the files, shortened for links."""
        series, positions = self.series, self.positions
        digest = hashlib.sha256(repr((series.names, series.values.shape, self.parents)).encode())
        digest.update(series.values.tobytes())
        digest.update(b"" if positions is None else positions.tobytes())
        return digest.hexdigest()[:FINGERPRINT_DIGITS]


def source(options: DynamicsOptions, files: UploadedSeries | None) -> DynamicsMaterial | None:
    """Return what settings say is learned from; None while a file is awaited.

    Raises
    ------
    InputError
        When sizes make no sense, or too few rows are left to learn from.
    """
    held_out = options.held_out
    if options.data == UPLOAD:
        if files is None:
            return None
        with st.spinner("Loading the series…"):
            return files.own.get(held_out, lambda: uploaded_material(files, held_out))
    system = {name: getattr(options, name) for name in _SYSTEM} if options.data == RANDOM else {}
    return _built_in(options.data, held_out, system)


@clearable_cache
@st.cache_resource(show_spinner="Loading the series…", max_entries=48)
def _built_in(data: str, held_out: float, system: Mapping[str, Any]) -> DynamicsMaterial:
    if data == RANDOM:
        return generated(DynamicsOptions(held_out=held_out, **system))
    return sampled(data, held_out)


def generated(options: DynamicsOptions) -> DynamicsMaterial:
    """Return a simulation of a stable random sparse system."""
    n, seed = options.size, options.seed
    truth = random_system(n, density=options.density, seed=seed)
    series = simulate(truth, options.rows, observation_noise=options.noise, seed=seed)
    arrows = np.argwhere(truth.matrix != 0.0)
    return _prepared(
        f"{RANDOM}:{tuple(getattr(options, name) for name in _SYSTEM)}",
        f"Random system · {n} series, {options.rows:,} rows",
        series,
        options.held_out,
        neighbours=arrows[arrows[:, 0] != arrows[:, 1]],
        truth=truth,
    )


def sampled(key: str, held_out: float) -> DynamicsMaterial:
    """Return a sample of ``sample_data``."""
    sample = load_sample(key)
    return _prepared(key, sample.title, sample.series, held_out, sample.positions)


def uploaded_material(files: UploadedSeries, held_out: float) -> DynamicsMaterial:
    """Return the material of uploaded files.

    Raises
    ------
    InputError
        For more series than can be shown, or too few rows to hold some out.
    """
    series = files.series
    title = f"{series.title} · {series.n_series:,} series, {series.n_rows:,} rows"
    if series.n_series > MOST_SERIES:
        raise InputError(
            f"{series.title} has {series.n_series:,} series; this page shows at most "
            f"{MOST_SERIES:,}. Upload fewer, or use python -m graftviz dynamics."
        )
    identity = f"upload:{files.fingerprint}"
    own = SourceCache(_WORKS)
    return _prepared(
        identity, title, series, held_out, files.positions, parents=files.parents, own=own
    )


def _prepared(
    identity: str,
    title: str,
    series: TimeSeries,
    held_out: float,
    positions: np.ndarray | None = None,
    neighbours: np.ndarray | None = None,
    **facts: Any,
) -> DynamicsMaterial:
    """Hold out rows, and give the series their positions, or places beside their neighbours.

    By default, these are the series that follow a series most closely.
    """
    train, test = series.split(held_out)
    if positions is None:
        pairs = _followers(train) if neighbours is None else neighbours
        places = static_layout(series.n_series, pairs)
    else:
        places = np.rint(positions).astype(np.int64)
    is_given = positions is not None
    return DynamicsMaterial(
        f"{identity}:{held_out}", title, series, train, test, places, is_given, **facts
    )


def _followers(train: TimeSeries) -> np.ndarray:
    """Return pairs of each series and those that correlate most with it one step later."""
    values = train.values - train.values.mean(axis=0)
    sizes = np.linalg.norm(values, axis=0)
    values = values / np.where(sizes > 0.0, sizes, 1.0)
    strength = np.abs(values[1:].T @ values[:-1])
    np.fill_diagonal(strength, 0.0)
    n = len(strength)
    nearest = np.argsort(-strength, axis=1, kind="stable")[:, : min(_NEIGHBOURS, n - 1)]
    return np.column_stack([np.repeat(np.arange(n), nearest.shape[1]), nearest.ravel()])
