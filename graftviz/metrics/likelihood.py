"""Losses of rows: pseudo-likelihood, likelihood, and that of a hidden half of the variables."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graftviz.arrays import read_only
from graftviz.errors import InputError
from graftviz.inference.exact import JunctionTree
from graftviz.inference.hidden import HiddenModel
from graftviz.inference.methods import Method, check_method
from graftviz.inference.settings import InferenceSettings
from graftviz.metrics.observer import TableLoss
from graftviz.model import PairwiseMRF
from graftviz.predictor import Predictor, model_of
from graftviz.table import DiscreteTable, Tabular, as_table


class Ncmll(NamedTuple):
    """Negative conditional marginal log-likelihood, in nats.

    Attributes
    ----------
    mean : float
        Value per row, averaged over the halves.
    total : float
        Sum over rows, averaged over the halves, as in the paper.
    by_half : tuple of float
        Value per row for each half.
    method : str
        Inference method of the conditional marginals.
    converged : bool
        Whether all inference converged; exact inference always does.

    Examples
    --------
    >>> found = gv.metrics.ncmll_by_half(model, survey, halves=2)
    >>> round(found.mean, 2), len(found.by_half), found.method
    (4.18, 2, 'exact')
    """

    mean: float
    total: float
    by_half: tuple[float, ...]
    method: str
    converged: bool


def nlpl(model: Predictor, table: Tabular) -> float:
    """Return the negative log pseudo-likelihood, the mean of −Σ_i log p(x_i | x_N(i)) over rows.

    It is in nats per row, needs no partition function, and is +inf if a row has probability zero.
    Source: eq. 3.22 of the thesis on graft learning.

    Parameters
    ----------
    model : PairwiseMRF, Result or MarkovNetwork
    table : DiscreteTable, DataFrame, array or DataSet
        Rows of the same variables, with the codes of the model.

    Raises
    ------
    InputError
        If the rows do not match the variables and states of the model.
    ArithmeticError
        If weights are so large that their sums overflow.

    Examples
    --------
    >>> round(gv.nlpl(model, survey), 2)
    9.04
    """
    loss = TableLoss(*_checked(model, table))
    loss.refresh()
    return loss.mean()


def nll(model: Predictor, table: Tabular, *, max_memory: int | None = None) -> float:
    """Return the mean over rows of −log p(x), in nats per row, with the exact log Z.

    Parameters
    ----------
    model : PairwiseMRF, Result or MarkovNetwork
    table : DiscreteTable, DataFrame, array or DataSet
        Rows of the same variables, with the codes of the model.
    max_memory : int, optional
        Memory limit in bytes of the tables of exact inference; default: 80 % of free memory.

    Raises
    ------
    InputError
        If the rows do not match the variables and states of the model, if a row has probability
        zero (its negative log-likelihood would be infinite), or if exact inference does not fit
        into memory.

    Examples
    --------
    >>> round(gv.nll(model, survey), 2)
    9.9
    """
    own, table = _checked(model, table)
    log_partition = JunctionTree(own, max_memory=max_memory).log_partition
    sums, before = [], 0
    for chunk in table.chunks():
        scores = own.log_scores(chunk.codes)
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            raise _impossible(own, chunk.codes[:, row], before + row)
        sums.append(math.fsum(scores if chunk.weights is None else scores * chunk.weights))
        before += chunk.n_rows
    return log_partition - math.fsum(sums) / table.total_weight


def ncmll(
    model: Predictor,
    table: Tabular,
    *,
    halves: int = 5,
    seed: int = 0,
    method: Method = "exact",
    max_memory: int | None = None,
) -> float:
    """Return the negative conditional marginal log-likelihood of rows (Lee et al., 2006).

    With a random half of the variables, ⌊n/2⌋, hidden in every row x, it is −Σ_{h hidden}
    log p(x_h | x_observed), from the conditional marginals of single variables. Rows with the same
    states of the observed neighbours of hidden variables share their inference, and all rows share
    the order of elimination.

    Parameters
    ----------
    model : PairwiseMRF, Result or MarkovNetwork
    table : DiscreteTable, DataFrame, array or DataSet
        Rows of the same variables, with the codes of the model.
    halves : int
        Number of random halves to average over.
    seed : int
        Seed of the halves; it determines the hidden variables for every model.
    method : {"exact", "bp", "trbp", "mean-field"}
    max_memory : int, optional
        Memory limit of tables in bytes.

    Raises
    ------
    InputError
        If the method is unknown, there are fewer than one half or two variables, the rows do not
        match the variables and states of the model or have probability zero given the observed
        half, or exact inference does not fit into memory.

    Examples
    --------
    >>> round(gv.ncmll(model, survey), 2)
    4.35
    """
    return ncmll_by_half(model, table, halves, seed, method, max_memory).mean


def ncmll_by_half(
    model: Predictor,
    table: Tabular,
    halves: int = 5,
    seed: int = 0,
    method: Method = "exact",
    max_memory: int | None = None,
) -> Ncmll:
    """Return the value of each half that :func:`ncmll` averages, and whether inference converged.

    Parameters and errors are those of :func:`ncmll`.
    """
    check_method(method)
    own, table = _checked(model, table)
    if halves < 1 or own.n_variables < 2:
        raise InputError(
            "At least one half of at least two variables must be hidden; got "
            f"{halves} halves of {own.n_variables} variables."
        )
    found = []
    converged = True
    for hidden in hidden_halves(own.n_variables, halves, seed):
        half = HiddenModel(own, hidden, InferenceSettings(max_memory=max_memory), method)
        found.append(_loss(half, own, hidden, table) / table.total_weight)
        converged = converged and half.converged
    mean = math.fsum(found) / halves
    return Ncmll(mean, mean * table.total_weight, tuple(found), method, converged)


def hidden_halves(n: int, halves: int = 5, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Return the hidden variables of each random half, ⌊n/2⌋ of n, ascending and read-only."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(halves):
        hidden = read_only(np.sort(rng.permutation(n)[: n // 2]))
        found.append(hidden)
    return tuple(found)


def _loss(half: HiddenModel, model: PairwiseMRF, hidden: np.ndarray, table: DiscreteTable) -> float:
    """Return the sum over rows of −Σ log p(x_h | x_observed)."""
    firsts, sums, before = half.rest.node_offsets[:-1], [], 0
    for chunk in table.chunks():
        codes, weights = chunk.codes, chunk.weights
        marginals, rows = half.marginals(codes), np.arange(chunk.n_rows)
        for k, i in enumerate(hidden.tolist()):
            chances = marginals[rows, firsts[k] + codes[i]]
            if not (chances > 0.0).all():
                row = int(np.argmin(chances > 0.0))
                raise _impossible(model, codes[:, row], before + row)
            logarithms = np.log(chances)
            sums.append(-math.fsum(logarithms if weights is None else logarithms * weights))
        before += chunk.n_rows
    return math.fsum(sums)


def _checked(first: Predictor, source: Tabular) -> tuple[PairwiseMRF, DiscreteTable]:
    """Return model and table; raise :class:`InputError` if they do not match."""
    model: PairwiseMRF = model_of(first)
    table = as_table(source, DiscreteTable.coding(model.names, model.labels))
    if table.n_variables != model.n_variables:
        raise InputError(
            f"The rows have {table.n_variables:,} variables and the model has "
            f"{model.n_variables:,}; use rows of the variables of the model."
        )
    more = np.flatnonzero(table.cardinalities != model.cardinalities)
    if len(more):
        i = int(more[0])
        raise InputError(
            f"Variable {table.names[i]!r} has {table.cardinalities[i]} states in these rows and "
            f"{model.cardinalities[i]} in the model; code both alike, with every state among the "
            "training rows."
        )
    return model, table


def _impossible(model: PairwiseMRF, states: np.ndarray, row: int) -> InputError:
    """Return the error for a row of probability zero, naming a variable that causes it alone."""
    for i, state in enumerate(states.tolist()):
        if model.node_weights(i)[state] == -np.inf:
            return InputError(
                f"Row {row + 1} has probability zero under this model: state "
                f"{model.labels[i][state]!r} of {model.names[i]!r} is not in the training "
                "rows; learn with smoothing, or remove such rows."
            )
    return InputError(
        f"Row {row + 1} has probability zero under this model, so its likelihood is no number; "
        "learn with smoothing, or leave such rows out."
    )
