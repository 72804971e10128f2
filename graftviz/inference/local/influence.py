"""The Dobrushin matrix of a whole model: the largest influence of each neighbour on a variable."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from graftviz.inference.local.neighbourhood import flat_model
from graftviz.inference.local.star import ENUMERATION_LIMIT, neighbour_sums, star
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import kernel


def influence_matrix(model: PairwiseModel, *, limit: int = ENUMERATION_LIMIT) -> csr_array:
    """Return the Dobrushin matrix C of a model.

    C_ij is the largest total variation distance between the conditional distributions of x_i given
    two joint states of all others that differ only in x_j; 0 where no edge joins i and j. It is the
    exact maximum where the neighbours of i have at most `limit` joint states, and otherwise an
    upper bound: tanh(osc(Δ)/4), Δ the difference of two columns of w_ij, maximised over the pairs
    of columns, and for variables of two states the maximum over the range of log-odds that the
    other neighbours allow.

    Parameters
    ----------
    model : PairwiseMRF
    limit : int
        Largest number of joint states of the neighbours to enumerate.

    Returns
    -------
    scipy.sparse.csr_array, shape (n, n)

    References
    ----------
    Chen, Peng, Liu: Efficient localized inference for large graphical models, eq. 2.

    Examples
    --------
    >>> coins = gv.PairwiseMRF([2, 2], [(0, 1)], [0, 0, 0, 0, 1, 0, 0, 1])
    >>> gv.influence_matrix(coins).toarray().round(3)
    array([[0.   , 0.462],
           [0.462, 0.   ]])
    """
    flat = flat_model(model)
    n = model.n_variables
    data = np.zeros(len(flat.neighbours))
    _all_rows(flat, n, limit, data)
    return csr_array((data, flat.neighbours, flat.starts), shape=(n, n))


def dobrushin_coefficient(model: PairwiseModel, *, limit: int = ENUMERATION_LIMIT) -> float:
    """Return c, the largest row sum of the Dobrushin matrix.

    Below 1, correlations decay exponentially with the distance, and an infinite model with this
    coefficient has a unique Gibbs measure (Dobrushin's uniqueness condition).

    Examples
    --------
    >>> coins = gv.PairwiseMRF([2, 2], [(0, 1)], [0, 0, 0, 0, 1, 0, 0, 1])
    >>> round(gv.dobrushin_coefficient(coins), 3)
    0.462
    """
    return float(influence_matrix(model, limit=limit).sum(axis=1).max())


@kernel
def _all_rows(flat, n, limit, data):
    for i in range(n):
        start, end = flat.starts[i], flat.starts[i + 1]
        sums = neighbour_sums(flat, i, np.arange(end - start), limit)
        star(flat, i, sums, np.zeros(flat.sizes[i]), limit, data[start:end])
