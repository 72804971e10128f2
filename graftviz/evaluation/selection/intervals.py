"""Intervals of edges over resamples of the rows: how often an edge is found, and its weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from graftviz.evaluation.selection.fits import Method
from graftviz.model.pairwise import PairwiseModel, zero_sum
from graftviz.utils.arrays import freeze
from graftviz.utils.errors import InputError

LEVEL = 0.95
FEWEST_FOUND = 10  # resamples that must have found an edge for an interval of its weights
SMALL_TABLE = 9  # pairs of states up to which the interval of each is computed


class FoundEdges(NamedTuple):
    """Edges that a learner found on one resample.

    Attributes
    ----------
    edges : int array, shape (k, 2)
    norms : float64 array, shape (k,)
        Strengths: the norms of the weights in the zero-sum gauge.
    tables : dict
        Zero-sum weights of the edges with few pairs of states, by pair of variables.
    """

    edges: np.ndarray
    norms: np.ndarray
    tables: dict[tuple[int, int], np.ndarray]


@dataclass(frozen=True, eq=False, repr=False)
class EdgeIntervals:
    """Intervals of the edges of a model over resamples of its rows.

    **Frequency.** The share of resamples in which the learner finds the edge, with its Wilson
    interval, which covers the error of a limited number of resamples only.

    **Strength and weights.** Strength is the norm of the weights in the zero-sum gauge. Intervals
    go from quantile (1 - level) / 2 to quantile (1 + level) / 2 of the resamples *that found the
    edge*: they are conditional on its selection. They describe how much the fitted weights vary
    with the rows, penalty included; weights that the penalty shrinks stay shrunk in every resample.
    A penalty chosen for prediction (``lam2=None``) shrinks each resample by another amount, so give
    `lam2` by hand to compare with true strengths.
    They are no confidence intervals of an unpenalised weight and no test: an edge is selected
    because its weights are not zero, so its interval says nothing about a strength of zero. The
    frequency shows whether an edge might be absent.

    Halves of complementary pairs differ from the whole table about as much as it would from another
    one. As an automatic penalty is larger on a half, their quantiles are shifted so that the median
    is the value of `model`; those of the bootstrap are not. Intervals of strengths and weights are
    NaN for StARS, whose samples are smaller, and for edges that fewer than ten resamples found.

    Attributes
    ----------
    model : PairwiseMRF
        The model learned from all rows.
    method : {"complementary-pairs", "stars", "bootstrap"}
    resamples : int
    level : float
    frequencies : float64 array, shape (m,), read-only
        One per edge of the model.
    frequency_intervals, strength_intervals : float64 arrays, shape (m, 2), read-only
        Lower and upper ends.
    weight_intervals : dict
        Array of shape (2, s_i, s_j), lower and upper ends, by pair (i, j) of variables; only edges
        with at most nine pairs of states.

    Examples
    --------
    >>> stability = gv.edge_stability(survey, gv.ChowLiu(), subsamples=20, method="bootstrap")
    >>> found = stability.intervals(gv.learn(survey, gv.ChowLiu()).model)
    >>> found
    <EdgeIntervals of 10 edges over 20 bootstrap samples: strength and frequency at 95 %>
    >>> found.to_frame().columns.tolist()[:5]
    ['source', 'target', 'strength', 'strength_low', 'strength_high']
    """

    model: PairwiseModel
    method: Method
    resamples: int
    level: float
    frequencies: np.ndarray
    frequency_intervals: np.ndarray
    strength_intervals: np.ndarray
    weight_intervals: dict[tuple[int, int], np.ndarray]

    def __post_init__(self) -> None:
        freeze(self.frequencies, self.frequency_intervals, self.strength_intervals)
        freeze(*self.weight_intervals.values())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per edge of the model: names, strength and frequency with intervals."""
        names = np.array(self.model.names, dtype=object)
        ends = self.model.edges
        return pd.DataFrame(
            {
                "source": names[ends[:, 0]],
                "target": names[ends[:, 1]],
                "strength": self.model.edge_norms(),
                "strength_low": self.strength_intervals[:, 0],
                "strength_high": self.strength_intervals[:, 1],
                "frequency": self.frequencies,
                "frequency_low": self.frequency_intervals[:, 0],
                "frequency_high": self.frequency_intervals[:, 1],
            }
        )

    def weights_frame(self) -> pd.DataFrame:
        """Return one row per pair of states of `weight_intervals`, with its zero-sum weight."""
        rows = []
        for e, (i, j) in enumerate(self.model.edges.tolist()):
            if (i, j) not in self.weight_intervals:
                continue
            low, high = self.weight_intervals[i, j]
            weights = zero_sum(self.model.edge_weights(e))
            names, labels = self.model.names, self.model.labels
            rows += [
                (names[i], names[j], labels[i][a], labels[j][b], *values)
                for (a, b), *values in zip(
                    np.ndindex(weights.shape),
                    *(table.reshape(-1).tolist() for table in (weights, low, high)),
                    strict=True,
                )
            ]
        columns = ["source", "target", "source_state", "target_state", "weight", "low", "high"]
        return pd.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        kinds = {"bootstrap": "bootstrap samples", "complementary-pairs": "halves"}
        kind = kinds.get(self.method, "subsamples")
        return (
            f"<EdgeIntervals of {self.model.n_edges:,} edges over {self.resamples:,} {kind}: "
            f"strength and frequency at {100 * self.level:g} %>"
        )


def found_edges(model: PairwiseModel) -> FoundEdges:
    """Return the edges of a model that have a non-zero weight."""
    # Any non-zero weight counts: a table without interaction has the zero-sum norm 0.
    active = np.array([bool(model.edge_weights(e).any()) for e in range(model.n_edges)], dtype=bool)
    edges = model.edges[active]
    small = model.cardinalities[edges].prod(axis=1) <= SMALL_TABLE
    places = np.flatnonzero(active)[small].tolist()
    tables = {
        (i, j): zero_sum(model.edge_weights(e))
        for e, (i, j) in zip(places, edges[small].tolist(), strict=True)
    }
    return FoundEdges(edges, model.edge_norms()[active], tables)


def wilson_interval(counts: np.ndarray, of: int, level: float = LEVEL) -> np.ndarray:
    """Return the Wilson interval of shares counts / of, shape (k, 2); NaN if `of` is 0."""
    if of == 0:
        return np.full((len(counts), 2), np.nan)
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    share = counts / of
    centre = share + z * z / (2.0 * of)
    half = z * np.sqrt(share * (1.0 - share) / of + (z / (2.0 * of)) ** 2)
    ends = np.stack([centre - half, centre + half], axis=1) / (1.0 + z * z / of)
    return np.clip(ends, 0.0, 1.0)


def edge_intervals(
    model: PairwiseModel, found: Sequence[FoundEdges], method: Method, level: float
) -> tuple[np.ndarray, dict[tuple[int, int], np.ndarray]]:
    """Return the intervals of strengths and of weights, as in :class:`EdgeIntervals`."""
    pairs = [(i, j) for i, j in model.edges.tolist()]
    strengths: dict[tuple[int, int], list[float]] = {pair: [] for pair in pairs}
    tables: dict[tuple[int, int], list[np.ndarray]] = {pair: [] for pair in pairs}
    for sample in found if method != "stars" else ():
        for (i, j), norm in zip(sample.edges.tolist(), sample.norms.tolist(), strict=True):
            if (i, j) in strengths:
                strengths[i, j].append(norm)
                if (i, j) in sample.tables:
                    tables[i, j].append(sample.tables[i, j])
    ends, weights = np.full((len(pairs), 2), np.nan), {}
    shifts = method == "complementary-pairs"
    for e, (pair, norm) in enumerate(zip(pairs, model.edge_norms().tolist(), strict=True)):
        if len(strengths[pair]) >= FEWEST_FOUND:
            norms = np.array(strengths[pair])
            ends[e] = np.maximum(_ends(norms, norm if shifts else None, level), 0.0)
        if len(tables[pair]) >= FEWEST_FOUND:
            centre = zero_sum(model.edge_weights(e)) if shifts else None
            weights[pair] = _ends(np.array(tables[pair]), centre, level)
    return ends, weights


def _ends(values: np.ndarray, centre: Any, level: float) -> np.ndarray:
    """Return two quantiles along the first axis, shifted to the median `centre` if there is one."""
    quantiles = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    ends: np.ndarray = np.quantile(values, quantiles, axis=0)
    return ends if centre is None else ends + (centre - np.median(values, axis=0))


def checked_level(level: float) -> float:
    """Return the level of intervals; raise :class:`InputError` unless it is between 0 and 1."""
    if not (math.isfinite(level) and 0.0 < level < 1.0):
        raise InputError(f"The level of intervals must lie between 0 and 1; got {level:g}.")
    return float(level)
