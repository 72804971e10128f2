"""Influences in a whole model: its Dobrushin matrix, and the error bounds that follow from it.

The error bounds hold for any region around the query and any replacement of the edges that leave
it. They depend only on the Dobrushin coefficient c and on the distance r from the query to the
boundary: the nearest variable of the region that has a neighbour outside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from graftviz.inference.local.star import ENUMERATION_LIMIT, flat_model, neighbour_sums, star
from graftviz.model.pairwise import HasModel, PairwiseModel, model_of
from graftviz.utils.compiling import kernel
from graftviz.utils.errors import InputError

_LEVELS = 255
_FAINTEST = 1e-4  # smallest influence that is drawn
_MOST_TERMS = 60


def influence_matrix(model: HasModel, *, limit: int = ENUMERATION_LIMIT) -> csr_array:
    """Return the Dobrushin matrix C of a model.

    C_ij is the largest total variation distance between the conditional distributions of x_i given
    two joint states of all others that differ only in x_j; 0 where no edge joins i and j. It is the
    exact maximum where the neighbours of i have at most `limit` joint states, and otherwise an
    upper bound: tanh(osc(Δ)/4), Δ the difference of two columns of w_ij, maximised over the pairs
    of columns, and for variables of two states the maximum over the range of log-odds that the
    other neighbours allow.

    Parameters
    ----------
    model : PairwiseMRF, Result or MarkovNetwork
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
    own = model_of(model)
    flat = flat_model(own)
    n = own.n_variables
    data = np.zeros(len(flat.neighbours))
    _all_rows(flat, n, limit, data)
    return csr_array((data, flat.neighbours, flat.starts), shape=(n, n))


def dobrushin_coefficient(model: HasModel, *, limit: int = ENUMERATION_LIMIT) -> float:
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


class MinimalRadius(NamedTuple):
    """Smallest distances to the boundary that guarantee an error; None where no distance does.

    Attributes
    ----------
    distance, tail : int or None
        Distances for :func:`distance_bound` and for :func:`tail_bound`.

    Examples
    --------
    >>> from graftviz.inference.local import minimal_radius
    >>> minimal_radius(0.6, 0.01)
    MinimalRadius(distance=None, tail=11)
    """

    distance: int | None
    tail: int | None


def decay_rate(c: float) -> float:
    """Return β = log(1/(2c)), the largest decay rate of Theorem 2; positive for c < ½.

    In the condition max_i Σ_j C_ij e^(β d(i,j)) ≤ ½ only neighbours, at distance 1, have C_ij ≠ 0:
    it is c e^β ≤ ½, and no larger β satisfies it.
    """
    _check_coefficient(c)
    return math.inf if c == 0 else -math.log(2 * c)


def distance_bound(c: float, distance: int) -> float:
    """Return the error bound 2 e^(−β r) = 2 (2c)^r of Theorem 2; 1 (vacuous) unless c < ½.

    Parameters
    ----------
    c : float
        Dobrushin coefficient of the whole model.
    distance : int
        r, the distance from the query to the boundary of the region.

    Examples
    --------
    >>> from graftviz.inference.local import distance_bound
    >>> distance_bound(0.25, 4)
    0.125
    """
    _check_coefficient(c)
    _check_distance(distance)
    return min(1.0, 2.0 * (2.0 * c) ** distance) if c < 0.5 else 1.0


def tail_bound(c: float, radius: int) -> float:
    """Return the error bound c^r/(1 − c), the rest of the Neumann series; 1 (vacuous) unless c < 1.

    It holds for all c < 1 and is never larger than :func:`distance_bound`: paths from the query to
    the boundary have at least r steps.

    Parameters
    ----------
    c : float
        Dobrushin coefficient of the whole model.
    radius : int
        r, the distance from the query to the boundary of the region.

    Examples
    --------
    >>> from graftviz.inference.local import tail_bound
    >>> tail_bound(0.5, 4), tail_bound(1.2, 4)
    (0.125, 1.0)
    """
    _check_coefficient(c)
    _check_distance(radius)
    return min(1.0, c**radius / (1.0 - c)) if c < 1.0 else 1.0


def minimal_radius(c: float, tolerance: float) -> MinimalRadius:
    """Return the smallest distances to the boundary at which the bounds are at most `tolerance`.

    Examples
    --------
    >>> from graftviz.inference.local import minimal_radius
    >>> minimal_radius(0.25, 0.01)
    MinimalRadius(distance=8, tail=4)
    """
    _check_coefficient(c)
    if not tolerance > 0.0:
        raise InputError(f"The tolerance of a radius must be above 0; got {tolerance:g}.")
    if tolerance >= 1.0:
        return MinimalRadius(0, 0)
    distance = _steps(2.0 * c, tolerance / 2.0) if c < 0.5 else None
    tail = _steps(c, tolerance * (1.0 - c)) if c < 1.0 else None
    return MinimalRadius(distance, tail)


def _steps(factor: float, target: float) -> int:
    """Return the smallest r ≥ 0 with factor^r ≤ target."""
    if target >= 1.0:
        return 0
    if factor == 0.0:
        return 1
    r = max(math.ceil(math.log(target) / math.log(factor)) - 1, 0)
    while factor**r > target:
        r += 1
    return r


def _check_coefficient(c: float) -> None:
    if not 0.0 <= c < math.inf:
        raise InputError(f"A Dobrushin coefficient is a number of at least 0; got {c:g}.")


def _check_distance(distance: int) -> None:
    if distance < 0:
        raise InputError(f"A distance must be at least 0; got {distance}.")


class Influence(NamedTuple):
    """Dobrushin's matrix of a model, and c, its largest row sum."""

    matrix: sparse.csr_array
    coefficient: float

    def reach(self, query: int) -> np.ndarray | None:
        """Return the query's row of D = Σ_r C^r, shape (n,); None if c ≥ 1 (no convergence)."""
        if self.coefficient >= 1.0:
            return None
        transposed = self.matrix.T
        term = np.zeros(transposed.shape[0])
        term[query] = 1.0
        total = term.copy()
        for _ in range(_MOST_TERMS):
            term = transposed @ term
            total += term
            if term.max() < _FAINTEST:
                break
        return total

    def halo(self, query: int) -> list[int] | None:
        """Return 0 … 255 for every variable, on a logarithmic scale; None if c ≥ 1."""
        reached = self.reach(query)
        if reached is None:
            return None
        with np.errstate(divide="ignore"):
            height = 1.0 - np.log(np.minimum(reached, 1.0)) / math.log(_FAINTEST)
        levels: list[int] = np.rint(_LEVELS * np.clip(height, 0.0, 1.0)).astype(int).tolist()
        return levels


def influence_of(model: PairwiseModel) -> Influence:
    """Return the influence of the variables of a model on each other."""
    matrix = influence_matrix(model)
    return Influence(matrix, float(matrix.sum(axis=1).max()))


def coefficient_map(
    model: PairwiseModel, fields: Sequence[float], couplings: Sequence[float]
) -> Iterator[list[list[float]]]:
    """Compute c for multiples of the node weights (columns) and of the edge weights (rows).

    Yields the complete rows so far, and the map at the end.
    """
    nodes, edges = np.split(model.weights, [int(model.node_offsets[-1])])
    rows: list[list[float]] = []
    for t2 in couplings:
        row = []
        for t1 in fields:
            scaled = replace(model, weights=np.concatenate([t1 * nodes, t2 * edges]))
            row.append(round(dobrushin_coefficient(scaled), 4))
            yield rows
        rows.append(row)
    yield rows
