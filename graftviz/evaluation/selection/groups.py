"""Comparison of the networks of two groups of rows by a permutation test.

Under the hypothesis that both groups have the same distribution, the rows can be exchanged between
them. The learner runs on both groups of many random divisions of all rows; the p-value of a
statistic is the share of divisions, the given one included, in which it is at least as large.
C. D. van Borkulo et al., Comparing network structures on three aspects, Psychological Methods 28,
2023, describes the test for Gaussian and binary variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from graftviz.data.reading.reading import Tabular, as_table
from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.grafting.edge_grafting import EdgeGrafting
from graftviz.learning.registry import as_learner
from graftviz.model.pairwise import PairwiseModel, zero_sum_norms
from graftviz.utils.arrays import flat_positions
from graftviz.utils.errors import InputError
from graftviz.utils.options import checked_seed
from graftviz.utils.parallel import parallel_map

PERMUTATIONS = 1000
_ROUNDING = 1e-9  # statistics closer than this share of the observed one count as equal


class _Null(NamedTuple):
    """Statistics of a random division.

    Attributes
    ----------
    strength : float
        Difference of global strengths.
    largest : float
        Largest difference of all pairs.
    differences : float64 array, shape (k,)
        Differences of the pairs that the given groups have, see :class:`_Task`.
    """

    strength: float
    largest: float
    differences: np.ndarray


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
    callback: Callable[[int, int], Any] | None = None,
) -> pd.DataFrame:
    """Compare the networks of two groups of rows by a permutation test.

    Parameters
    ----------
    a, b : DiscreteTable, DataFrame, array or DataSet
        Rows of the two groups, coded alike: best those of one table, ``table.rows(mask)`` and
        ``table.rows(~mask)``.
    learner : Learner or str, optional
        Default: edge grafting with the preset paper, which is fast. The test is valid for any
        learner; a more accurate one detects smaller differences.
    permutations : int
        Number of random divisions.
    seed : int
        Seed of the divisions and of the learner.
    jobs : int, optional
        Number of processes; default: all cores. The result does not depend on it.
    callback : callable, optional
        Called as ``callback(done, of)`` after each division.

    Returns
    -------
    DataFrame
        One row for each pair that is an edge of one of the models, by decreasing difference:
        `source`, `target`, `difference` (norm of the difference of the weights in the zero-sum
        gauge), `p` (of the pair alone) and `p_adjusted` (for the number of pairs: the share of
        divisions in which the largest difference of all pairs is at least as large). ``attrs`` has
        `n_rows` and `strengths` of the groups (sum of the norms of the edges), `p_strength` of the
        difference of strengths, and `permutations`.

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
    >>> found.columns.tolist(), found.attrs["p_strength"] > 0.05
    (['source', 'target', 'difference', 'p', 'p_adjusted'], True)
    """
    first = as_table(a, name="a")
    task = _prepared(first, as_table(b, first, name="b"), learner, permutations, seed)
    found = _observed(task)
    shared = task._replace(keys=found.keys)
    null = parallel_map(
        _null_statistics, range(permutations), shared=shared, jobs=jobs, callback=callback
    )
    return _compared(task, found, null)


class GroupProgress(NamedTuple):
    """Comparison so far: divisions done, their number, and the result once all are done."""

    done: int
    of: int
    result: pd.DataFrame | None = None


def compare_groups_steps(
    a: DiscreteTable,
    b: DiscreteTable,
    learner: Learner | str | None = None,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Iterator[GroupProgress]:
    """Compare two groups as :func:`compare_groups`, in this process; yield after each division."""
    task = _prepared(a, b, learner, permutations, seed)
    null: list[_Null] = []
    yield GroupProgress(0, permutations)
    found = _observed(task)
    shared = task._replace(keys=found.keys)
    for division in range(permutations):
        null.append(_null_statistics(shared, division))
        yield GroupProgress(len(null), permutations)
    yield GroupProgress(permutations, permutations, _compared(task, found, null))


def split_groups(
    table: DiscreteTable, column: int, first: int, second: int | None = None
) -> tuple[DiscreteTable, DiscreteTable]:
    """Return the rows with one state of a variable, and those with another, without the variable.

    Parameters
    ----------
    table : DiscreteTable
    column, first : int
        The variable, and the state of the first group.
    second : int, optional
        State of the second group; by default all other states.

    Raises
    ------
    InputError
        If a group has no rows.
    """
    codes = table.codes[column]
    rows = codes == first, codes != first if second is None else codes == second
    for state, chosen in zip((first, second), rows, strict=True):
        if not chosen.any():
            label = "another state" if state is None else repr(table.labels[column][state])
            raise InputError(f"No row has {label} of {table.names[column]!r}.")
    others = [i for i in range(table.n_variables) if i != column]
    codes = np.ascontiguousarray(table.codes[others])
    codes.flags.writeable = False
    rest = DiscreteTable(
        codes,
        tuple(table.names[i] for i in others),
        tuple(table.labels[i] for i in others),
        weights=table.weights,
    )
    return rest.rows(np.flatnonzero(rows[0])), rest.rows(np.flatnonzero(rows[1]))


def coded_alike(a: DiscreteTable, b: DiscreteTable) -> tuple[DiscreteTable, DiscreteTable]:
    """Return two tables of the same variables with the same states: those of both.

    Raises
    ------
    InputError
        If their variables differ.
    """
    if set(a.names) != set(b.names):
        odd = sorted(set(a.names) ^ set(b.names))[0]
        raise InputError(f"Both tables must have the same columns; {odd!r} is in one of them only.")
    number = {name: i for i, name in enumerate(b.names)}
    order = [number[name] for name in a.names]
    labels = tuple(
        tuple(dict.fromkeys((*own, *b.labels[j]))) for own, j in zip(a.labels, order, strict=True)
    )
    return _recoded(a, range(a.n_variables), labels), _recoded(b, order, labels)


def _recoded(
    table: DiscreteTable, order: Sequence[int], labels: tuple[tuple[str, ...], ...]
) -> DiscreteTable:
    rows = []
    for i, states in zip(order, labels, strict=True):
        place = {label: k for k, label in enumerate(states)}
        rows.append(np.array([place[label] for label in table.labels[i]])[table.codes[i]])
    codes = np.array(rows).astype(table.codes.dtype)
    codes.flags.writeable = False
    names = tuple(table.names[i] for i in order)
    return DiscreteTable(codes, names, labels, weights=table.weights)


def _prepared(
    a: DiscreteTable,
    b: DiscreteTable,
    learner: Learner | str | None,
    permutations: int,
    seed: int,
) -> _Task:
    """Return the rows of both groups together, and the learner.

    Raises
    ------
    InputError
        If the tables are not coded alike, or there is no permutation.
    """
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
        weights = np.concatenate([a.row_weights, b.row_weights])
    together = DiscreteTable(codes, a.names, a.labels, weights=weights)
    return _Task(together, a.n_rows, learner, checked_seed(seed))


class _Observed(NamedTuple):
    """Models of the given groups, and their differences by decreasing norm."""

    first: PairwiseModel
    second: PairwiseModel
    keys: np.ndarray
    norms: np.ndarray


def _observed(task: _Task) -> _Observed:
    first, second = _models(task, None)
    found = _differences(first, second)
    order = np.argsort(-found.norms, kind="stable")
    return _Observed(first, second, found.keys[order], found.norms[order])


def _compared(task: _Task, observed: _Observed, null: Iterable[_Null]) -> pd.DataFrame:
    """Return the comparison of the given groups with the statistics of random divisions."""
    first, second, keys, values = observed
    null = list(null)
    permutations = len(null)
    strengths = float(first.edge_norms().sum()), float(second.edge_norms().sum())
    at_least = 1.0 - _ROUNDING
    apart = abs(strengths[0] - strengths[1]) * at_least
    own, largest, exceeds = np.ones(len(keys)), np.ones(len(keys)), 1
    for strength, most, differences in null:
        exceeds += strength >= apart
        largest += most >= values * at_least
        own += differences >= values * at_least
    names = np.array(task.table.names, dtype=object)
    source, target = np.divmod(keys, task.table.n_variables)
    found = pd.DataFrame(
        {
            "source": names[source],
            "target": names[target],
            "difference": values,
            "p": own / (permutations + 1),
            "p_adjusted": largest / (permutations + 1),
        }
    )
    found.attrs = {
        "n_rows": (task.split, task.table.n_rows - task.split),
        "strengths": strengths,
        "p_strength": float(exceeds / (permutations + 1)),
        "permutations": permutations,
    }
    return found


def _models(task: _Task, division: int | None) -> tuple[PairwiseModel, PairwiseModel]:
    """Return the models of both groups of a random division; None: of the given one."""
    order = np.arange(task.table.n_rows)
    if division is not None:
        np.random.default_rng([task.seed, division]).shuffle(order)
    parts = order[: task.split], order[task.split :]
    tables = [task.table.rows(np.sort(rows)) for rows in parts]
    first, second = (task.learner.outcome(each, seed=task.seed).model() for each in tables)
    return first, second


def _null_statistics(task: _Task, division: int) -> _Null:
    """Return the statistics of a random division."""
    first, second = _models(task, division)
    apart = float(first.edge_norms().sum()) - float(second.edge_norms().sum())
    found = _differences(first, second)
    own = np.zeros(len(task.keys))
    _, ours, theirs = np.intersect1d(task.keys, found.keys, assume_unique=True, return_indices=True)
    own[ours] = found.norms[theirs]
    return _Null(abs(apart), float(found.norms.max(initial=0.0)), own)


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


def _differences(first: PairwiseModel, second: PairwiseModel) -> _Differences:
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
