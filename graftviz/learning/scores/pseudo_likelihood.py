"""The score by pseudo-likelihood: its gradient, from the conditional probabilities of all rows.

If neither variable has an edge, it is twice the belief score.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.learning.scores.base import Expectation, PairFit, Score, Scorer, ScorerInput
from graftviz.learning.scores.kernels import (
    expect,
    expect_many,
    kernel_for,
    new_scoring,
    variance,
    workspace,
)
from graftviz.learning.weights.conditionals import (
    ROWS_OF_WORD,
    WORDS_AT_ONCE,
    Conditionals,
    add_words,
    columns_of,
    gradient_variance,
    mean_impurity,
    mean_product,
    sum_by_state,
)
from graftviz.learning.weights.noise import impurity_of
from graftviz.learning.weights.pseudo_network import PseudoNetwork
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import inner_kernel

_ROW_STATES = 0.06e-9  # seconds per row and pair of states


class RowState(NamedTuple):
    """State of the score: the conditionals of all rows.

    Attributes
    ----------
    conditionals : Conditionals
    totals : float64 array, flat
        Σ u p(x_i = a | rest) over all rows, all states of all variables.
    tables : float64 array, shape (3, largest number of joint states)
    """

    conditionals: Conditionals
    totals: np.ndarray
    tables: np.ndarray


@kernel_for(variance, RowState)
def _variance(own, impurity, i, j):
    rows = own.conditionals
    if rows.starts[i] >= 0 and rows.starts[j] >= 0:
        impurity_i, impurity_j = columns_of(rows, i)[-1], columns_of(rows, j)[-1]
        product = mean_product(impurity_i, impurity_j, rows.multiplicity, rows.rows)
    else:
        product = impurity[i] * impurity[j]
    margins = rows.margin_impurity
    return gradient_variance(product, impurity[i], impurity[j], margins[i], margins[j])


@kernel_for(expect, RowState)
def _expect(own, _beliefs, _offsets, i, j, _rows, out):
    by_i, by_j = own.tables[0], own.tables[1]
    by_i[:] = 0.0
    by_j[:] = 0.0
    only = np.zeros(1, dtype=np.int64)
    _add_group(own.conditionals, i, np.array([j]), only, only, by_i)
    _add_group(own.conditionals, j, np.array([i]), only, only, by_j)
    _complete_sums(own, i, j, by_i)
    _complete_sums(own, j, i, by_j)
    _mean_of_sums(own, i, j, by_i, by_j, out)


@inner_kernel
def _add_group(rows, i, others, group, places, sums):
    """Add the conditionals of i by the states of some others, piece by piece of the columns.

    The last states of both are left out, as their sums follow from the others and the totals.

    Parameters
    ----------
    others : int array, shape (k,)
    group : int64 array
        Positions in `others` of those that are added.
    places : int64 array, shape (k,)
        Start of the sums of each.
    """
    if rows.starts[i] < 0:
        return
    values, codes, planes, plane_starts = rows.columns, rows.codes, rows.planes, rows.plane_starts
    offsets, width, start = rows.node_offsets, len(rows.multiplicity), rows.starts[i]
    states = offsets[i + 1] - offsets[i]
    for word in range(0, rows.words, WORDS_AT_ONCE):
        span, at = (word, min(WORDS_AT_ONCE, rows.words - word)), start + ROWS_OF_WORD * word
        for k in group:
            j, into = np.int64(others[k]), sums[places[k] :]
            partner = (j, plane_starts[j], rows.words, offsets[j + 1] - offsets[j] - 1)
            add_words(values, at, width, states - 1, codes, planes, partner, span, into, states)


@inner_kernel(inline="always")
def _complete_sums(own, i, j, sums):
    """Write the sums of the last states of i and j."""
    rows = own.conditionals
    if rows.starts[i] < 0:
        return
    at_i, at_j = rows.node_offsets[i], rows.node_offsets[j]
    states, others = rows.node_offsets[i + 1] - at_i, rows.node_offsets[j + 1] - at_j
    last_a, last_b = states - 1, others - 1
    for a in range(last_a):
        sums[last_b * states + a] = own.totals[at_i + a]
        for b in range(last_b):
            sums[last_b * states + a] -= sums[b * states + a]
    for b in range(others):
        sums[b * states + last_a] = rows.rows * rows.margins[at_j + b]
        for a in range(last_a):
            sums[b * states + last_a] -= sums[b * states + a]


@inner_kernel(inline="always")
def _mean_of_sums(own, i, j, by_i, by_j, out):
    """Write the expected counts: the mean of the sums of the conditionals of both ends.

    A variable without columns has the same distribution in all rows, and its sums are not read.
    """
    rows = own.conditionals
    offsets = rows.node_offsets
    at_i, at_j = offsets[i], offsets[j]
    states_i, states_j = offsets[i + 1] - at_i, offsets[j + 1] - at_j
    for a in range(states_i):
        for b in range(states_j):
            model = by_i[b * states_i + a]
            if rows.starts[i] < 0:
                model = rows.rows * rows.alone[at_i + a] * rows.margins[at_j + b]
            if rows.starts[j] < 0:
                model += rows.rows * rows.margins[at_i + a] * rows.alone[at_j + b]
            else:
                model += by_j[a * states_j + b]
            out[a * states_j + b] = 0.5 * model


@kernel_for(expect_many, RowState)
def _expect_many(own, first, second, starts, out):
    # The columns of a variable are read once, piece by piece, for all its pairs.
    rows = own.conditionals
    by_first, by_second = np.zeros(len(out)), np.zeros(len(out))
    _add_pairs(rows, first, second, starts, by_first)
    _add_pairs(rows, second, first, starts, by_second)
    for k in range(len(first)):
        i, j = np.int64(first[k]), np.int64(second[k])
        by_i, by_j = by_first[starts[k] :], by_second[starts[k] :]
        _complete_sums(own, i, j, by_i)
        _complete_sums(own, j, i, by_j)
        _mean_of_sums(own, i, j, by_i, by_j, out[starts[k] :])


@inner_kernel
def _add_pairs(rows, ones, others, places, sums):
    """Add the conditionals of `ones` by the states of `others`, in groups of equal `ones`."""
    order = np.argsort(ones)
    start = 0
    while start < len(order):
        i, stop = np.int64(ones[order[start]]), start + 1
        while stop < len(order) and ones[order[stop]] == i:
            stop += 1
        _add_group(rows, i, others, order[start:stop], places, sums)
        start = stop


class PseudoScorer:
    """Scorer for the gradient of the pseudo-likelihood, from the conditionals of a fit.

    Parameters
    ----------
    fit : ScorerInput
        A Bethe fit stores no conditionals; they are computed in a separate network.
    """

    def __init__(self, fit: ScorerInput) -> None:
        self._network = fit.network
        self._separate = (
            None if isinstance(fit.network, PseudoNetwork) else PseudoNetwork(fit.table, fit.counts)
        )
        rows = self._pseudo_network().rows
        own = RowState(rows, np.zeros(len(rows.margins)), workspace(rows.node_offsets))
        self.scoring = new_scoring(own, fit.counts.packed, rows.margins, fit.measure, factor=2.0)
        self._marginal = self.scoring.impurity.copy()
        self._seen = np.full(fit.counts.n_variables, -1.0)

    @property
    def drift(self) -> np.ndarray:
        """Accumulated change of the log-conditionals of every node."""
        return self._pseudo_network().state.drift

    def refresh(self) -> None:
        """Update `scoring` to the current conditionals."""
        network = self._network
        if self._separate is not None:
            state = network.state
            cells = int(state.edge_offsets[network.n_edges])
            self._separate.follow(state.node_weights, network.edges, state.edge_weights[:cells])
        fit = self._pseudo_network()
        fit.refresh_impurity()
        rows = fit.rows
        connected = rows.starts >= 0
        alone = impurity_of(rows.alone, rows.node_offsets)
        self._marginal[~connected] = alone[~connected]
        offsets, own = rows.node_offsets, self.scoring.own
        sums = np.zeros((int(np.diff(offsets).max()),) * 2)
        for i in np.flatnonzero(connected & (fit.state.drift != self._seen)):
            states = int(offsets[i + 1] - offsets[i])
            impurity = columns_of(rows, i)[states]
            self._marginal[i] = mean_impurity(impurity, rows.multiplicity, rows.rows)
            sum_by_state(rows, i, i, sums)
            own.totals[offsets[i] : offsets[i + 1]] = sums[:states, :states].sum(axis=0)
        self._seen[:] = np.where(connected, fit.state.drift, -1.0)
        self.scoring = self.scoring._replace(
            own=own._replace(conditionals=rows), impurity=self._marginal, drift=fit.state.drift
        )

    def _pseudo_network(self) -> PseudoNetwork:
        if self._separate is not None:
            return self._separate
        assert isinstance(self._network, PseudoNetwork)
        return self._network


class PseudoLikelihoodScore(Score):
    """Score of a pair by the gradient of the pseudo-likelihood in its weights."""

    name = "pseudo-likelihood"
    formula = "‖∂PL/∂wᵢⱼ‖ / d"
    help = "what the active edges do not explain, from the rows, robust, O(N) a test"
    when_to_use = "Discounts what edges explain on any graph; reads the rows."
    reads_rows = True
    noise_factor = 2.0

    def scorer(self, fit: ScorerInput) -> Scorer:
        """Return the scorer of a run."""
        return PseudoScorer(fit)

    def expectation(self, at: PairFit) -> Expectation:
        """Return the mean of Σ p_i 1{x_j} and Σ 1{x_i} p_j, and the variance by the conditionals.

        p_i is p(x_i | all others) in each row. See
        :func:`graftviz.learning.weights.conditionals.gradient_variance`.
        """
        codes, weights, total = at.table.codes, at.table.row_weights, at.table.total_weight
        shares_i, shares_j = (conditional(at.model, codes, k) for k in (at.i, at.j))
        is_a = np.eye(shares_i.shape[1])[codes[at.i]] * weights[:, np.newaxis]
        is_b = np.eye(shares_j.shape[1])[codes[at.j]]
        expected = (shares_i.T * weights) @ is_b + is_a.T @ shares_j
        impurities = impurity_of(shares_i), impurity_of(shares_j)
        spread = gradient_variance.py_func(
            float(np.average(impurities[0] * impurities[1], weights=weights)),
            *(float(np.average(impurity, weights=weights)) for impurity in impurities),
            *(
                float(impurity_of(margins / total))
                for margins in (is_a.sum(axis=0), weights @ is_b)
            ),
        )
        return Expectation(0.5 * expected, spread)


def conditional(model: PairwiseModel, codes: np.ndarray, i: int) -> np.ndarray:
    """Return p(x_i = a | the other variables) in every row, shape (N, s_i).

    Parameters
    ----------
    model : PairwiseMRF
    codes : int array, shape (n, N)
    i : int
    """
    logits = np.tile(model.node_weights(i), (codes.shape[1], 1))
    for e in np.flatnonzero((model.edges == i).any(axis=1)):
        first, second = model.edges[e].tolist()
        weights = model.edge_weights(int(e))
        logits += weights[codes[first]] if second == i else weights[:, codes[second]].T
    logits -= logits.max(axis=1, keepdims=True)
    shares = np.exp(logits)
    conditionals: np.ndarray = shares / shares.sum(axis=1, keepdims=True)
    return conditionals
