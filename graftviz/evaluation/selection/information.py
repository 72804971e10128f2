"""Extended Bayesian information criterion (EBIC) on the pseudo-likelihood."""

from __future__ import annotations

import math

import numpy as np

from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError

GAMMA = 0.5


def free_weights(model: PairwiseModel) -> int:
    """Return Σ (s_i − 1)(s_j − 1) over the edges, the number of identifiable edge weights."""
    return int((model.cardinalities[model.edges] - 1).prod(axis=1).sum())


def extended_bic(model: PairwiseModel, nlpl: float, rows: float, *, gamma: float = GAMMA) -> float:
    """Return the EBIC of a model; smaller is better.

    It is the criterion of Barber and Drton for the regression of one variable on its neighbours,
    −2 log L_i + df_i log N + 2 γ deg(i) log n, summed over the variables. An edge is in two
    regressions, and so are its free weights; hence

        EBIC_γ = 2 N · NLPL + 2 df log N + 4 γ |E| log n,   df = Σ_E (s_i − 1)(s_j − 1).

    The first penalty counts weights. The second counts graphs: there are about n^(2|E|) graphs
    with |E| edges, whatever the numbers of states. Node weights are in every model and omitted.
    Divided by 2 N it is on the scale of NLPL (nats per row).

    Parameters
    ----------
    model : PairwiseMRF
    nlpl : float
        Negative log pseudo-likelihood of the training rows (nats per row).
    rows : int
        Number of training rows, N.
    gamma : float
        γ ≥ 0: 0 is the ordinary BIC, 0.5 the usual choice, 1 the strictest.

    Raises
    ------
    InputError
        If γ is negative or not finite.

    References
    ----------
    R. Foygel and M. Drton, Extended Bayesian information criteria for Gaussian graphical models,
    NeurIPS 2010. R. F. Barber and M. Drton, High-dimensional Ising model selection with Bayesian
    information criteria, Electronic Journal of Statistics 9, 2015.
    """
    check_gamma(gamma)
    weights = 2.0 * free_weights(model) * math.log(rows)
    graphs = 4.0 * gamma * model.n_edges * math.log(model.n_variables)
    return 2.0 * rows * nlpl + weights + graphs


def check_gamma(gamma: float) -> None:
    """Raise :class:`InputError` unless γ is a finite number of at least 0."""
    if not (np.isfinite(gamma) and gamma >= 0):
        raise InputError(f"γ of the EBIC must be at least 0; got {gamma:g}.")
