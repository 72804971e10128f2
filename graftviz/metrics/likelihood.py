"""Likelihoods of held-out rows: exact, and of a hidden half of the variables given the rest."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from graftviz.arrays import read_only
from graftviz.errors import InputError
from graftviz.inference import METHODS
from graftviz.inference.exact import JunctionTree
from graftviz.inference.exact.repeated import RepeatedTree
from graftviz.inference.settings import InferenceSettings
from graftviz.model import PairwiseMRF
from graftviz.table import DiscreteTable


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
    """

    mean: float
    total: float
    by_half: tuple[float, ...]
    method: str
    converged: bool


def nll(model: PairwiseMRF, table: DiscreteTable, *, max_memory: int | None = None) -> float:
    """Return the mean over rows of −log p(x), in nats per row, with the exact log Z.

    Parameters
    ----------
    model : PairwiseMRF
    table : DiscreteTable
        Rows of the same variables, with the codes of the model.
    max_memory : int, optional
        Memory limit in bytes of the tables of exact inference; default: 80 % of free memory.

    Raises
    ------
    InputError
        If the rows do not match the variables and states of the model, if a row has probability
        zero (its negative log-likelihood would be infinite), or if exact inference does not fit
        into memory.
    """
    _check_table(model, table)
    log_partition = JunctionTree(model, max_memory=max_memory).log_partition
    sums, before = [], 0
    for chunk in table.chunks():
        scores = model.log_scores(chunk.codes)
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            raise _impossible(model, chunk.codes[:, row], before + row)
        sums.append(math.fsum(scores))
        before += chunk.n_rows
    return log_partition - math.fsum(sums) / table.n_rows


def ncmll(
    model: PairwiseMRF,
    table: DiscreteTable,
    *,
    halves: int = 5,
    seed: int = 0,
    method: str = "exact",
    max_memory: int | None = None,
) -> Ncmll:
    """Return the negative conditional marginal log-likelihood of rows (Lee et al., 2006).

    With a random half of the variables, ⌊n/2⌋, hidden in every row x, it is −Σ_{h hidden}
    log p(x_h | x_observed), from the conditional marginals of single variables. Rows with the same
    states of the observed neighbours of hidden variables share their inference, and all rows share
    the order of elimination.

    Parameters
    ----------
    model : PairwiseMRF
    table : DiscreteTable
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
    """
    if method not in METHODS:
        raise InputError(f"Inference method must be one of {', '.join(METHODS)}, not {method!r}.")
    if halves < 1 or model.n_variables < 2:
        raise InputError(
            "At least one half of at least two variables must be hidden; got "
            f"{halves} halves of {model.n_variables} variables."
        )
    _check_table(model, table)
    found = []
    converged = True
    for hidden in hidden_halves(model.n_variables, halves, seed):
        half = _Half(model, hidden, InferenceSettings(max_memory=max_memory), method)
        found.append(half.loss(table) / table.n_rows)
        converged = converged and half.converged
    mean = math.fsum(found) / halves
    return Ncmll(mean, mean * table.n_rows, tuple(found), method, converged)


def hidden_halves(n: int, halves: int = 5, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Return the hidden variables of each random half, ⌊n/2⌋ of n, ascending and read-only."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(halves):
        hidden = read_only(np.sort(rng.permutation(n)[: n // 2]))
        found.append(hidden)
    return tuple(found)


class _Half:
    """Model of the hidden variables; observations change only its node weights."""

    def __init__(
        self, model: PairwiseMRF, hidden: np.ndarray, settings: InferenceSettings, method: str
    ) -> None:
        self._model, self._hidden = model, hidden
        self._settings, self._method = settings, method
        self.converged = True
        place = np.full(model.n_variables, -1)
        place[hidden] = np.arange(len(hidden))
        ends = place[model.edges]
        inside = (ends >= 0).all(axis=1)
        self._crossing = np.flatnonzero((ends >= 0).sum(axis=1) == 1)
        self._place = place
        crossing = model.edges[self._crossing]
        self._boundary = np.unique(crossing[place[crossing] < 0])
        nodes = [model.node_weights(i) for i in hidden.tolist()]
        edge_weights = [model.edge_weights(e).reshape(-1) for e in np.flatnonzero(inside).tolist()]
        self._rest = PairwiseMRF(
            model.cardinalities[hidden], ends[inside], np.concatenate([*nodes, *edge_weights])
        )
        self._tree = RepeatedTree(self._rest, settings.max_memory) if method == "exact" else None

    def loss(self, table: DiscreteTable) -> float:
        """Return the sum over rows of −Σ log p(x_h | x_observed)."""
        sums, before = [], 0
        for chunk in table.chunks():
            sums.append(self._loss_of_rows(chunk.codes, before))
            before += chunk.n_rows
        return math.fsum(sums)

    def _loss_of_rows(self, codes: np.ndarray, before: int) -> float:
        observed, same = _distinct(codes[self._boundary])
        weights = self._node_weights(observed)
        marginals = self._marginals(weights)
        firsts = self._rest.node_offsets[:-1]
        total = []
        for k, i in enumerate(self._hidden.tolist()):
            chances = marginals[same, firsts[k] + codes[i]]
            if not (chances > 0.0).all():
                row = int(np.argmin(chances > 0.0))
                raise _impossible(self._model, codes[:, row], before + row)
            total.append(-math.fsum(np.log(chances)))
        return math.fsum(total)

    def _node_weights(self, observed: np.ndarray) -> np.ndarray:
        """Return the node weights for states of the boundary, shape (configurations, Σ s_h)."""
        model, offsets = self._model, self._rest.node_offsets
        weights = np.tile(self._rest.weights[: offsets[-1]], (observed.shape[1], 1))
        for e in self._crossing.tolist():
            i, j = model.edges[e].tolist()
            table = model.edge_weights(e)
            if self._place[i] >= 0:
                i, j, table = j, i, table.T  # i is observed, j hidden
            states = observed[np.searchsorted(self._boundary, i)]
            k = self._place[j]
            weights[:, offsets[k] : offsets[k + 1]] += table[states]
        return weights

    def _marginals(self, node_weights: np.ndarray) -> np.ndarray:
        """Return the marginals of the hidden variables for each row of node weights."""
        if self._tree is not None:
            return self._tree.marginals(node_weights)[0]
        found = np.zeros(node_weights.shape)
        rest = self._rest.weights[node_weights.shape[1] :]
        for row, weights in enumerate(node_weights):
            conditional = dataclasses.replace(self._rest, weights=np.concatenate([weights, rest]))
            beliefs = METHODS[self._method](conditional, self._settings)
            self.converged = self.converged and beliefs.converged
            if beliefs.log_partition > -np.inf:
                found[row] = np.concatenate(beliefs.node)
        return found


def _distinct(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct columns of `codes` and the index of each column among them."""
    if len(codes) == 0:
        return codes[:, :1], np.zeros(codes.shape[1], dtype=np.int64)
    found, same = np.unique(codes, axis=1, return_inverse=True)
    return found, same.reshape(-1)


def _check_table(model: PairwiseMRF, table: DiscreteTable) -> None:
    """Raise :class:`InputError` if the rows do not match the variables of the model."""
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
