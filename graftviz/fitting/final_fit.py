"""Exact maximum likelihood of a finished structure, and the marginals of all its pairs.

The pseudo-likelihood of a model may be the largest although its marginals are not those of the
data, as where several columns are copies of each other. The likelihood has no such gap.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from graftviz.counts import PairCounts
from graftviz.fitting.likelihood_fit import Fitted, LikelihoodFit, Targets
from graftviz.fitting.proportional import EdgePenalty
from graftviz.inference.exact.elimination import greedy_elimination
from graftviz.inference.exact.ordering import WEIGHTED_FILL, Elimination

_LEAST_WORK = 200_000  # table entries that a pass over all cliques may process in any case
_EXCLUDED = -80.0  # added weight that makes a state impossible up to rounding errors
_TOLERANCE = 1e-6  # of the marginals of a fit


class ExactFit(NamedTuple):
    """Weights of largest likelihood of one structure.

    Attributes
    ----------
    fit : LikelihoodFit
    fitted : Fitted
    """

    fit: LikelihoodFit
    fitted: Fitted

    def pair_marginals(self) -> np.ndarray:
        """Return p(x_i = a, x_j = b), shape (Σ s_i, Σ s_j), variables in order.

        One pass over the cliques for each state of each variable, which excludes its other states.
        """
        fit, offsets = self.fit, self.fit.targets.offsets
        weights, beliefs = fit.node_weights, fit.beliefs()
        found = np.zeros((len(beliefs), len(beliefs)))
        for first, last in itertools.pairwise(offsets.tolist()):
            for state in range(first, last):
                fit.node_weights = weights.copy()
                fit.node_weights[first:last] += _EXCLUDED
                fit.node_weights[state] = weights[state]
                fit.calibrate()
                found[state] = beliefs[state] * fit.beliefs()
        fit.node_weights = weights
        fit.calibrate()
        return found


def exact_fit(
    counts: PairCounts,
    edges: np.ndarray,
    node_weights: np.ndarray,
    edge_weights: np.ndarray,
    lam2: float,
) -> ExactFit | None:
    """Return the weights of largest likelihood; None if exact inference costs too much.

    A pass over all cliques may cost as much as one over the rows of the table.

    Parameters
    ----------
    counts : PairCounts
    edges : int array, shape (m, 2)
        Pairs i < j.
    node_weights, edge_weights : float64 arrays, flat
        Weights to start from.
    lam2 : float
        λ₂ of the edge weights; node weights are not penalised.
    """
    sizes = counts.cardinalities.astype(np.int64)
    most = max(_LEAST_WORK, int(counts.n_rows) * int(sizes.sum()))
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    found = greedy_elimination(edges, sizes, WEIGHTED_FILL, most=float(np.log2(most)))
    if found is None or _work(found, edges) > most:
        return None
    fit = LikelihoodFit(Targets(counts, 0.0), EdgePenalty(lam2))
    fit.begin(edges, found, node_weights, edge_weights)
    return ExactFit(fit, fit.fit(_TOLERANCE))


def _work(found: Elimination, edges: np.ndarray) -> float:
    """Return the number of table entries that a pass with all edges processes."""
    own = np.bincount(found.place[edges].min(axis=1), minlength=len(found.order))
    return float(((own + 2.0) * found.clique_sizes).sum())
