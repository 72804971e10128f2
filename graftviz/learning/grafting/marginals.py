"""Comparison of the pair marginals of a fitted model with those of its data.

The paper activates an edge where the model's marginal of a pair differs from the data's. The
pseudo-likelihood asks less: once each column has a partner that predicts it, as copies of a column
have, it gains nothing from further edges, though the copies are far from independent. So the
marginals have the last word. They are exact where exact inference is cheap; otherwise the rows of
the data, moved by some Gibbs sweeps of the model, are compared with the data. If the model is
right, moved rows have the distribution of the data, however slowly they move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graftviz.data.synthetic.gibbs import MAX_STATES
from graftviz.data.synthetic.sweep import advance, conditionals_of, stars
from graftviz.data.table import DiscreteTable
from graftviz.inference.prediction import PairwiseMRF
from graftviz.learning.bounded.likelihood_fit import LikelihoodFit
from graftviz.learning.counts.pair_counts import PairCounts, table_cells
from graftviz.learning.scores.pair_test import PairTest, judge
from graftviz.learning.trace import MarginalCheck
from graftviz.learning.weights.merged_rows import merged_rows
from graftviz.utils.compiling import kernel

_MOST_ROWS, _FEWEST_ROWS = 4096, 512
_MOST_SWEEPS, _FEWEST_SWEEPS = 25, 5
_MOST_VISITS = 40_000_000  # of variables by all sweeps together
_PAIRS_AT_ONCE = 16_384
_MARGIN_ROUNDS = 4
_MOST_MATCHED = 200  # variables
_MATCHED_VISITS, _MATCHED_SWEEPS = 2_000_000, 25  # of each comparison
_CORRECTIONS = 2  # comparisons of sampled shares, with a step between them
_EXACT_CORRECTIONS, _EXACT_ERROR = 12, 5e-5
_ERRORS = 3.0  # standard errors of a share that may be noise
_RIDGE = 1e-3  # of the covariance, relative
_LONGEST = 1.0  # change of a weight in one step
_STRONG = 0.2  # φ² of a dependence that moved rows can prove to be missed
_LARGEST_PART = 0.25  # of φ² that they may show then


class MarginalGaps(NamedTuple):
    """Differences between the pair marginals of a model and those of the data.

    Attributes
    ----------
    pairs : int array, shape (k, 2)
    shares : float64 array, shape (k,)
        Share of its threshold that each pair reaches; above 1: more than noise.
    rows : int
        Number of rows drawn from the model; 0: its marginals are exact.
    of_model : callable (i, j)
        Returns the relative frequencies of a pair in the model.
    """

    pairs: np.ndarray
    shares: np.ndarray
    rows: int
    of_model: Callable[[int, int], np.ndarray]

    def deviating(self, counts: PairCounts, lam: float, *, root: bool) -> np.ndarray:
        """Return the positions of the pairs that deviate by more than noise and λ, most first.

        Parameters
        ----------
        counts : PairCounts
            Of the data.
        lam : float
            λ, which the paper compares with ‖p_D − p‖ / d.
        root : bool
            Whether d is the square root of the number of joint states instead of the number.
        """
        found = np.flatnonzero(self.shares > 1.0)
        scores = np.zeros(len(found))
        for k, (i, j) in enumerate(self.pairs[found].tolist()):
            gap = counts.table(i, j) / counts.n_rows - self.of_model(i, j)
            scores[k] = np.linalg.norm(gap) / (np.sqrt(gap.size) if root else gap.size)
        found = found[scores > lam]
        order: np.ndarray = found[np.argsort(-self.shares[found], kind="stable")]
        return order

    def check(self, counts: PairCounts, found: np.ndarray) -> MarginalCheck:
        """Return the report of the comparison; `found` are the positions that deviate."""
        if len(self.pairs) == 0:
            return MarginalCheck(0, self.rows, 0)
        i, j = self.pairs[int(np.argmax(self.shares))].tolist()
        observed, expected = counts.table(i, j) / counts.n_rows, self.of_model(i, j)
        a, b = divmod(int(np.argmax(np.abs(observed - expected))), observed.shape[1])
        return MarginalCheck(
            pairs=len(self.pairs),
            rows=self.rows,
            deviating=len(found),
            worst_edge=(i, j),
            states=(a, b),
            observed=float(observed[a, b]),
            expected=float(expected[a, b]),
        )


def exact_deviations(
    counts: PairCounts, test: PairTest, pairs: np.ndarray, marginals: np.ndarray
) -> MarginalGaps:
    """Compare exact marginals with the data.

    Parameters
    ----------
    counts : PairCounts
        Of the data.
    test : PairTest
    pairs : int array, shape (k, 2)
        i < j.
    marginals : float64 array, shape (Σ s_i, Σ s_j)
        p(x_i = a, x_j = b).
    """
    offsets, shares = test.offsets, np.zeros(len(pairs))
    arrays = counts.slots(pairs), counts.packed, counts.store, counts.scratch
    _compare_exact(*arrays, test, marginals * counts.n_rows, shares)

    def of_model(i: int, j: int) -> np.ndarray:
        return marginals[offsets[i] : offsets[i + 1], offsets[j] : offsets[j + 1]]

    return MarginalGaps(pairs, shares, 0, of_model)


def moved_deviations(
    model: PairwiseMRF,
    table: DiscreteTable,
    counts: PairCounts,
    test: PairTest,
    pairs: np.ndarray,
    seed: int,
) -> MarginalGaps | None:
    """Compare rows that the model has moved with the data; None if a variable has too many states.

    The expected counts are scaled to the margins of the data, as a dependence is what counts. Their
    own noise adds to that of the data. A pair deviates only if its dependence is strong and moved
    rows show less than a quarter of it: other differences are errors of weights, which more edges
    would not lessen.
    """
    moved = moved_rows(model, table, seed)
    if moved is None:
        return None
    shares = np.zeros(len(pairs))
    inflation = 1.0 + table.total_weight / moved.n_rows
    others = PairCounts(moved)
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        some = pairs[start : start + _PAIRS_AT_ONCE]
        of_data = counts.slots(some), counts.packed, counts.store, counts.scratch
        of_rows = others.slots(some), others.packed, others.store, others.scratch
        out = shares[start : start + len(some)]
        _compare_counts(*of_data, *of_rows, test, inflation, out)
    return MarginalGaps(pairs, shares, moved.n_rows, lambda i, j: others.table(i, j) / moved.n_rows)


def moved_rows(model: PairwiseMRF, table: DiscreteTable, seed: int) -> DiscreteTable | None:
    """Return rows of the table after some Gibbs sweeps of the model; None with too many states."""
    if not _can_move(model, table):
        return None
    n = table.n_variables
    affordable = min(_MOST_ROWS, max(_FEWEST_ROWS, _MOST_VISITS // (n * _MOST_SWEEPS)))
    rows = min(max(int(table.total_weight), 2), affordable)
    chains = _Chains(table, rows, seed)
    chains.move(model, min(_MOST_SWEEPS, max(_FEWEST_SWEEPS, _MOST_VISITS // (n * rows))))
    return DiscreteTable(chains.states, table.names, table.labels)


def _can_move(model: PairwiseMRF, table: DiscreteTable) -> bool:
    return bool(table.cardinalities.max() <= MAX_STATES and np.isfinite(model.weights).all())


class _Chains:
    """Rows of a table at even distances, so that a table and its repeated rows give the same."""

    def __init__(self, table: DiscreteTable, rows: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        codes, multiplicity = merged_rows(np.ascontiguousarray(table.codes), table.weights)
        bounds = np.cumsum(multiplicity, dtype=np.float64)
        at = (np.arange(rows) + random.random()) * (bounds[-1] / rows)
        chosen = np.minimum(np.searchsorted(bounds, at, side="right"), len(bounds) - 1)
        self.states = np.ascontiguousarray(codes[:, chosen]).astype(np.uint8)
        self._generators = random.integers(0, 2**32, size=(4, rows), dtype=np.uint32)

    def move(self, model: PairwiseMRF, sweeps: int) -> None:
        """Move every row by some Gibbs sweeps of a model."""
        advance(conditionals_of(model, stars(model)), self.states, self._generators, sweeps)

    def moments(self, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of all states, and the covariance of their indicators with a ridge."""
        rows, states = self.states.shape[1], int(sizes.sum())
        offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        indicators = np.zeros((states, rows), dtype=np.float32)
        indicators[offsets[:, np.newaxis] + self.states, np.arange(rows)] = 1.0
        shares = indicators.mean(axis=1, dtype=np.float64)
        indicators -= shares[:, np.newaxis].astype(np.float32)
        covariance = (indicators @ indicators.T).astype(np.float64) / rows
        covariance[np.diag_indices(states)] += _RIDGE * np.diag(covariance) + 2.0 / rows
        return shares, covariance


class MatchedNodes(NamedTuple):
    """Node weights with which the shares of all states are those of the data.

    Attributes
    ----------
    weights : float64 array, flat
    gap : float
        Largest difference of a share that is left.
    is_exact : bool
        Whether the shares were computed by exact inference, not by sampling.
    """

    weights: np.ndarray
    gap: float
    is_exact: bool


def matched_nodes(
    model: PairwiseMRF, table: DiscreteTable, seed: int, exact: LikelihoodFit | None = None
) -> MatchedNodes | None:
    """Correct node weights until the shares of all states are those of the data, up to noise.

    The edge weights stay. None with more than 200 variables, or too many states.

    Parameters
    ----------
    model : PairwiseMRF
    table : DiscreteTable
    seed : int
    exact : LikelihoodFit, optional
        Exact marginals of the model; None: rows of the data are moved by Gibbs sweeps.

    Notes
    -----
    While the share of a state differs from the data's by more than its error, which is three
    standard errors of a sample, the node weights take a Newton step C⁻¹ (p_D − p), where C is the
    covariance of the indicators of all states in the rows drawn, which later comparisons improve by
    Broyden's update.
    """
    n = table.n_variables
    if n > _MOST_MATCHED or not _can_move(model, table):
        return None
    rows = min(_MOST_ROWS, max(_FEWEST_ROWS, _MATCHED_VISITS // (n * _MATCHED_SWEEPS)))
    chains = _Chains(table, rows, seed)
    sizes = table.cardinalities
    states = int(sizes.sum())
    target = np.concatenate([table.state_counts(i) / table.total_weight for i in range(n)])
    error = _ERRORS * np.sqrt(target * (1.0 - target) / rows) if exact is None else _EXACT_ERROR
    best = MatchedNodes(model.weights[:states], np.inf, exact is not None)
    weights = model.weights.copy()
    chains.move(model, _MATCHED_SWEEPS)
    found, covariance = chains.moments(sizes)
    if exact is not None:
        found = exact.beliefs_at(weights[:states])
    for left in reversed(range(_CORRECTIONS if exact is None else _EXACT_CORRECTIONS)):
        gaps = np.abs(found - target)
        if gaps.max() < best.gap:
            best = best._replace(weights=weights[:states].copy(), gap=float(gaps.max()))
        if (gaps <= error).all() or left == 0:
            break
        step = np.linalg.solve(covariance, target - found)
        step *= min(1.0, _LONGEST / np.abs(step).max())
        weights[:states] += step
        before = found
        if exact is not None:
            found = exact.beliefs_at(weights[:states])
        else:
            moved = PairwiseMRF(sizes, model.edges, weights, model.names, model.labels)
            chains.move(moved, _MATCHED_SWEEPS)
            found = chains.moments(sizes)[0]
        covariance += np.outer(found - before - covariance @ step, step / (step @ step))
    return best


@kernel
def _deviation(test, i, j, inflation, expected, cells, start):
    """Return the share of its threshold that a pair reaches, and φ² in the data and in the model.

    The variance of the pair's covariance C is E ‖x_i − p_i‖² ‖x_j − p_j‖² − ‖C‖², by the model.
    """
    total, variance, phi, phi_model, k = 0.0, 0.0, 0.0, 0.0, 0
    rest_i, rest_j = 1.0 - test.impurity[i], 1.0 - test.impurity[j]
    for a in range(test.offsets[i], test.offsets[i + 1]):
        for b in range(test.offsets[j], test.offsets[j + 1]):
            alone, model = test.shares[a] * test.shares[b], expected[k] / test.rows
            total += (expected[k] - cells[start + k]) ** 2
            square = 1.0 - 2.0 * test.shares[a] + rest_i
            variance += model * square * (1.0 - 2.0 * test.shares[b] + rest_j)
            variance -= (model - alone) ** 2
            if alone > 0.0:
                phi += (cells[start + k] / test.rows - alone) ** 2 / alone
                phi_model += (model - alone) ** 2 / alone
            k += 1
    share = judge(test, i, j, total, inflation * variance, expected, cells[start:])[2]
    return share, phi, phi_model


@kernel
def _compare_exact(slots, packed, store, scratch, test, expected, shares):
    """Write the shares of thresholds of pairs by a matrix of expected counts."""
    for k in range(len(slots)):
        i, j = np.int64(store.pairs.first[slots[k]]), np.int64(store.pairs.second[slots[k]])
        cells, start = table_cells(packed, store, slots[k], scratch)
        own = expected[
            test.offsets[i] : test.offsets[i + 1], test.offsets[j] : test.offsets[j + 1]
        ].copy()
        shares[k] = _deviation(test, i, j, 1.0, own.reshape(-1), cells, start)[0]


@kernel
def _compare_counts(
    slots, packed, store, scratch, others, of_rows, stored, memory, test, inflation, shares
):
    """Write the shares of thresholds by the counts of other rows, scaled to the data's margins."""
    for k in range(len(slots)):
        i, j = np.int64(store.pairs.first[slots[k]]), np.int64(store.pairs.second[slots[k]])
        states_i = test.offsets[i + 1] - test.offsets[i]
        states_j = test.offsets[j + 1] - test.offsets[j]
        seen, at = table_cells(of_rows, stored, others[k], memory)
        own = np.empty((states_i, states_j))
        for a in range(states_i):
            for b in range(states_j):
                own[a, b] = seen[at + a * states_j + b]
        _fit_margins(own, test.rows, test.shares[test.offsets[i] :], test.shares[test.offsets[j] :])
        cells, start = table_cells(packed, store, slots[k], scratch)
        share, phi, phi_model = _deviation(test, i, j, inflation, own.reshape(-1), cells, start)
        phi_model -= (states_i - 1) * (states_j - 1) * (inflation - 1.0) / test.rows  # noise
        is_missed = phi > _STRONG and phi_model < _LARGEST_PART * phi
        shares[k] = share if is_missed else 0.0


@kernel
def _fit_margins(table, rows, shares_i, shares_j):
    """Scale rows and columns of a table in turn to the margins ``rows * shares``."""
    states_i, states_j = table.shape
    for _ in range(_MARGIN_ROUNDS):
        for a in range(states_i):
            total = table[a].sum()
            table[a] *= rows * shares_i[a] / total if total > 0.0 else 0.0
        for b in range(states_j):
            total = table[:, b].sum()
            table[:, b] *= rows * shares_j[b] / total if total > 0.0 else 0.0
