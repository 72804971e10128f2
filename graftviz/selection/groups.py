"""Comparison of the networks of two groups of rows by a permutation test.

Under the hypothesis that both groups have the same distribution, the rows can be exchanged between
them. The learner runs on both groups of many random divisions of all rows; the p-value of a
statistic is the share of divisions, the given one included, in which it is at least as large.
C. D. van Borkulo et al., Comparing network structures on three aspects, Psychological Methods 28,
2023, describes the test for Gaussian and binary variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from graftviz.arrays import freeze
from graftviz.errors import InputError
from graftviz.history import flat_positions
from graftviz.learners.base import Learner, checked_seed
from graftviz.learners.edge_grafting import EdgeGrafting
from graftviz.learners.registry import as_learner
from graftviz.model import PairwiseMRF, zero_sum_norms
from graftviz.parallel import parallel_map
from graftviz.table import DiscreteTable, Tabular, as_table

PERMUTATIONS = 1000
_ROUNDING = 1e-9  # statistics closer than this share of the observed one count as equal


@dataclass(frozen=True, eq=False, repr=False)
class GroupComparison:
    """Difference of the networks of two groups, with p-values of a permutation test.

    Attributes
    ----------
    first, second : PairwiseMRF
        Models of the two groups.
    rows : tuple of int
        Number of rows of each group.
    permutations : int
    strengths : tuple of float
        Global strength of each model: the sum of the norms of its edges.
    p_strength : float
        p-value of the absolute difference of global strengths.
    edges : int64 array, shape (k, 2), read-only
        Pairs that are an edge of one of the models, sorted by decreasing difference.
    differences : float64 array, shape (k,), read-only
        Norm of the difference of the weights of each pair, in the zero-sum gauge.
    p_edges : float64 array, shape (k,), read-only
        p-value of each pair alone.
    p_edges_adjusted : float64 array, shape (k,), read-only
        p-values that account for the number of pairs: the share of divisions in which the largest
        difference of all pairs is at least as large.

    Examples
    --------
    >>> a, b = survey.split(test_fraction=0.5, seed=0)
    >>> comparison = gv.compare_groups(a, b, permutations=20)
    >>> comparison.rows, len(comparison.edges), comparison.p_strength > 0.05
    ((1000, 1000), 14, True)
    >>> comparison.to_frame().columns.tolist()
    ['source', 'target', 'difference', 'p', 'p_adjusted']
    """

    first: PairwiseMRF
    second: PairwiseMRF
    rows: tuple[int, int]
    permutations: int
    strengths: tuple[float, float]
    p_strength: float
    edges: np.ndarray
    differences: np.ndarray
    p_edges: np.ndarray
    p_edges_adjusted: np.ndarray

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair: names, difference and p-values."""
        names = np.array(self.first.names, dtype=object)
        return pd.DataFrame(
            {
                "source": names[self.edges[:, 0]],
                "target": names[self.edges[:, 1]],
                "difference": self.differences,
                "p": self.p_edges,
                "p_adjusted": self.p_edges_adjusted,
            }
        )

    def __repr__(self) -> str:
        a, b = self.strengths
        changed = int((self.p_edges_adjusted <= 0.05).sum())
        return (
            f"<GroupComparison of {self.rows[0]:,} and {self.rows[1]:,} rows: global strength "
            f"{a:.4g} and {b:.4g}, p = {self.p_strength:.3g}; {changed:,} of {len(self.edges):,} "
            "edges differ at 5 %>"
        )


class _Task(NamedTuple):
    """Rows of both groups together, the first `split` of them those of the first group.

    Random divisions also need the pairs whose differences they report, as keys i n + j.
    """

    table: DiscreteTable
    split: int
    learner: Learner
    seed: int
    keys: np.ndarray = np.zeros(0, dtype=np.int64)


def compare_groups(
    a: Tabular,
    b: Tabular,
    learner: Learner | str | None = None,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    jobs: int | None = None,
    on_done: Callable[[int, int], Any] | None = None,
) -> GroupComparison:
    """Compare the networks of two groups of rows by a permutation test.

    Parameters
    ----------
    a, b : DiscreteTable, DataFrame, array or DataSet
        Rows of the two groups. Tables must be coded alike (``read_table(rows, like=a)``).
    learner : Learner or str, optional
        Default: edge grafting with the preset paper, which is fast. The test is valid for any
        learner; a more accurate one detects smaller differences.
    permutations : int
        Number of random divisions.
    seed : int
        Seed of the divisions and of the learner.
    jobs : int, optional
        See :func:`graftviz.parallel.parallel_map`; the result does not depend on it.
    on_done : callable, optional
        Called as ``on_done(done, of)`` after each division.

    Raises
    ------
    InputError
        If the tables are not coded alike, or there is no permutation.

    Examples
    --------
    >>> import graftviz as gv
    >>> table = gv.load_dataset("survey").table
    >>> first, second = table.rows(slice(0, 300)), table.rows(slice(300, 600))
    >>> found = gv.compare_groups(first, second, gv.ChowLiu(), permutations=19, jobs=1)
    >>> found.p_strength > 0.05
    True
    """
    a = as_table(a, name="a")
    b = as_table(b, a, name="b")
    if (a.names, a.labels) != (b.names, b.labels):
        raise InputError(
            "Both groups must have the same variables and states; read the second with like=, as "
            "in read_table(rows, like=first)."
        )
    if permutations < 1:
        raise InputError(f"The test needs at least one permutation; got {permutations}.")
    learner = EdgeGrafting(preset="paper") if learner is None else as_learner(learner)
    codes = np.concatenate([a.codes, b.codes], axis=1)
    codes.flags.writeable = False
    weights = None
    if a.weights is not None or b.weights is not None:
        weights = np.concatenate(
            [np.ones(g.n_rows) if g.weights is None else g.weights for g in (a, b)]
        )
    together = DiscreteTable(codes, a.names, a.labels, weights=weights)
    task = _Task(together, a.n_rows, learner, checked_seed(seed))
    first, second = _models(task, None)
    observed = _differences(first, second)
    order = np.argsort(-observed.norms, kind="stable")
    keys, values = observed.keys[order], observed.norms[order]
    null = parallel_map(
        _null_statistics,
        range(permutations),
        shared=task._replace(keys=keys),
        jobs=jobs,
        on_done=on_done,
    )
    strengths = float(first.edge_norms().sum()), float(second.edge_norms().sum())
    at_least = 1.0 - _ROUNDING
    apart = abs(strengths[0] - strengths[1]) * at_least
    own, largest, exceeds = np.ones(len(keys)), np.ones(len(keys)), 1
    for strength, most, differences in null:
        exceeds += strength >= apart
        largest += most >= values * at_least
        own += differences >= values * at_least
    pairs = np.stack(np.divmod(keys, a.n_variables), axis=1)
    p_edges, p_adjusted = own / (permutations + 1), largest / (permutations + 1)
    freeze(pairs, values, p_edges, p_adjusted)
    return GroupComparison(
        first=first,
        second=second,
        rows=(a.n_rows, b.n_rows),
        permutations=permutations,
        strengths=strengths,
        p_strength=exceeds / (permutations + 1),
        edges=pairs,
        differences=values,
        p_edges=p_edges,
        p_edges_adjusted=p_adjusted,
    )


def _models(task: _Task, division: int | None) -> tuple[PairwiseMRF, PairwiseMRF]:
    """Return the models of both groups of a random division; None: of the given one."""
    order = np.arange(task.table.n_rows)
    if division is not None:
        np.random.default_rng([task.seed, division]).shuffle(order)
    parts = order[: task.split], order[task.split :]
    tables = [task.table.rows(np.sort(rows)) for rows in parts]
    first, second = (task.learner.outcome(each, seed=task.seed).model() for each in tables)
    return first, second


def _null_statistics(task: _Task, division: int) -> tuple[float, float, np.ndarray]:
    """Return the statistics of a random division.

    Returns
    -------
    strength : float
        Difference of global strengths.
    largest : float
        Largest difference of all pairs.
    differences : float64 array, shape (k,)
        Differences of the pairs `task.keys`.
    """
    first, second = _models(task, division)
    apart = float(first.edge_norms().sum()) - float(second.edge_norms().sum())
    found = _differences(first, second)
    own = np.zeros(len(task.keys))
    _, ours, theirs = np.intersect1d(task.keys, found.keys, assume_unique=True, return_indices=True)
    own[ours] = found.norms[theirs]
    return abs(apart), float(found.norms.max(initial=0.0)), own


class _Differences(NamedTuple):
    """Norms of the differences of weights, of the pairs that are an edge of one model.

    Attributes
    ----------
    keys : int64 array, shape (k,), ascending
        i n + j of every pair i < j.
    norms : float64 array, shape (k,)
    """

    keys: np.ndarray
    norms: np.ndarray


def _differences(first: PairwiseMRF, second: PairwiseMRF) -> _Differences:
    n, sizes = first.n_variables, first.cardinalities
    own_keys = [model.edges.astype(np.int64) @ np.array([n, 1]) for model in (first, second)]
    keys = np.union1d(*own_keys)
    shapes = sizes[np.stack(np.divmod(keys, n), axis=1)]
    offsets = np.concatenate([[0], np.cumsum(shapes.prod(axis=1))])
    weights = np.zeros(offsets[-1])
    for model, own, sign in zip((first, second), own_keys, (1.0, -1.0), strict=True):
        at = flat_positions(offsets, np.searchsorted(keys, own))
        weights[at] += sign * model.weights[model.edge_offsets[0] :]
    # The gauge is linear, so it may be applied to the differences.
    return _Differences(keys, zero_sum_norms(shapes, weights))
