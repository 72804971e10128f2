"""Losses of rows: pseudo-likelihood, likelihood, and that of a hidden half of the variables."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graftviz.data.reading.reading import Tabular, as_table
from graftviz.data.table import DiscreteTable
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.hidden import HiddenModel
from graftviz.inference.methods import Method, check_method
from graftviz.inference.settings import InferenceSettings
from graftviz.model.pairwise import HasModel, PairwiseModel, model_of
from graftviz.utils.array_kernels import exponentiate
from graftviz.utils.arrays import flat_positions, read_only
from graftviz.utils.compiling import kernel
from graftviz.utils.errors import InputError

_NO_WEIGHTS = read_only(np.zeros(0))
_BLOCK = 512  # rows whose logits are processed together, so that they stay in the L1 cache


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
    >>> from graftviz.inference.likelihood import ncmll_by_half
    >>> found = ncmll_by_half(model, survey, halves=2)
    >>> round(found.mean, 2), len(found.by_half), found.method
    (4.18, 2, 'exact')
    """

    mean: float
    total: float
    by_half: tuple[float, ...]
    method: str
    converged: bool


def nlpl(model: HasModel, table: Tabular) -> float:
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


def nll(model: HasModel, table: Tabular, *, max_memory: int | None = None) -> float:
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
    scores = own.log_scores(table.codes)
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        raise _impossible(own, table.codes[:, row], row)
    total = math.fsum(scores if table.weights is None else scores * table.weights)
    return log_partition - total / table.total_weight


def ncmll(
    model: HasModel,
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
    model: HasModel,
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
    return tuple(read_only(np.sort(rng.permutation(n)[: n // 2])) for _ in range(halves))


def _loss(
    half: HiddenModel, model: PairwiseModel, hidden: np.ndarray, table: DiscreteTable
) -> float:
    """Return the sum over rows of −Σ log p(x_h | x_observed)."""
    firsts, codes, weights = half.rest.node_offsets[:-1], table.codes, table.weights
    marginals, rows, sums = half.marginals(codes), np.arange(table.n_rows), []
    for k, i in enumerate(hidden.tolist()):
        chances = marginals[rows, firsts[k] + codes[i]]
        if not (chances > 0.0).all():
            row = int(np.argmin(chances > 0.0))
            raise _impossible(model, codes[:, row], row)
        logarithms = np.log(chances)
        sums.append(-math.fsum(logarithms if weights is None else logarithms * weights))
    return math.fsum(sums)


def _checked(first: HasModel, source: Tabular) -> tuple[PairwiseModel, DiscreteTable]:
    """Return model and table; raise :class:`InputError` if they do not match."""
    model: PairwiseModel = model_of(first)
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


def _impossible(model: PairwiseModel, states: np.ndarray, row: int) -> InputError:
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


class TableLoss:
    """Loss Σ_rows −log p(x_i | x_N(i)) of every node, updated as weights change."""

    def __init__(self, model: PairwiseModel, table: DiscreteTable) -> None:
        self._table = table
        self._rows = table.total_weight
        self._cardinalities = model.cardinalities
        self._node_offsets = model.node_offsets.copy()
        self._node_weights = model.weights[: self._node_offsets[-1]].copy()
        # A copy, as activate creates a writable array, for which kernels are compiled separately.
        self._edges = np.array(model.edges)
        self._edge_offsets = model.edge_offsets - self._node_offsets[-1]
        self._edge_weights = model.weights[self._node_offsets[-1] :].copy()
        self._losses = np.zeros(model.n_variables)
        self._stale = np.ones(model.n_variables, dtype=np.bool_)

    def activate(self, activated: list[tuple[int, int]]) -> None:
        """Append edges with zero weights, which change no conditional yet."""
        if not activated:
            return
        new = np.array(activated, dtype=np.int64)
        sizes = self._cardinalities[new].prod(axis=1)
        ends = self._edge_offsets[-1] + np.cumsum(sizes)
        self._edges = np.concatenate([self._edges, new])
        self._edge_offsets = np.concatenate([self._edge_offsets, ends])
        self._edge_weights = np.concatenate([self._edge_weights, np.zeros(int(sizes.sum()))])

    def change_nodes(self, nodes: np.ndarray, weights: np.ndarray) -> None:
        """Set the weights of `nodes`, node after node."""
        self._node_weights[flat_positions(self._node_offsets, nodes)] = weights
        self._stale[nodes] = True

    def change_edges(self, edges: np.ndarray, weights: np.ndarray) -> None:
        """Set the weights of `edges` (ids, see History), edge after edge."""
        self._edge_weights[flat_positions(self._edge_offsets, edges)] = weights
        self._stale[self._edges[edges].reshape(-1)] = True

    def remove_edges(self, edges: np.ndarray) -> None:
        """Remove `edges` (ids) by setting their weights to zero."""
        self.change_edges(edges, np.zeros(len(flat_positions(self._edge_offsets, edges))))

    def refresh(self) -> None:
        """Compute the loss of the nodes whose conditional changed."""
        nodes = np.flatnonzero(self._stale)
        if len(nodes) == 0:
            return
        # Node i has the edges incident[starts[i] : starts[i + 1]].
        ends = self._edges.ravel()
        starts = np.zeros(len(self._losses) + 1, dtype=np.int64)
        np.cumsum(np.bincount(ends, minlength=len(self._losses)), out=starts[1:])
        incident = np.argsort(ends, kind="stable") >> 1
        self._losses[nodes] = 0.0
        _add_node_losses(
            nodes,
            self._table.codes,
            _NO_WEIGHTS if self._table.weights is None else self._table.weights,
            self._cardinalities,
            self._node_offsets,
            self._node_weights,
            self._edges,
            self._edge_offsets,
            self._edge_weights,
            starts,
            incident,
            self._losses,
        )
        self._stale[:] = False

    def mean(self) -> float:
        """Return the loss per row, summed over nodes."""
        # fsum: the sum does not depend on the order in which the losses were computed.
        value = math.fsum(self._losses) / self._rows
        if math.isnan(value):
            raise ArithmeticError("The weights are so large that their sums overflow.")
        return value


@kernel
def _add_node_losses(
    nodes,
    codes,
    weights,
    cardinalities,
    node_offsets,
    node_weights,
    edges,
    edge_offsets,
    edge_weights,
    starts,
    incident,
    losses,
):
    """Add Σ_rows −log p(x_i | x_N(i)) to ``losses[i]`` for every i in `nodes`.

    Rows are processed in blocks; the logits of a block are stored state after state, so that loops
    over rows access contiguous memory. Without case weights, `weights` is empty.
    """
    rows = codes.shape[1]
    largest = 1
    for i in nodes:
        largest = max(largest, cardinalities[i])
    logits = np.empty((largest, _BLOCK))
    top = np.empty(_BLOCK)
    total = np.empty(_BLOCK)
    shifted = np.empty(_BLOCK)
    bits = np.empty(_BLOCK, dtype=np.int64)
    for i in nodes:
        states = cardinalities[i]
        loss = losses[i]  # continues the sum of the previous chunk
        for first in range(0, rows, _BLOCK):
            count = min(_BLOCK, rows - first)
            for a in range(states):
                logits[a, :count] = node_weights[node_offsets[i] + a]
            for at in range(starts[i], starts[i + 1]):
                e = incident[at]
                # Weights of an edge are row-major with its smaller node as the row.
                width = cardinalities[edges[e, 1]]
                if edges[e, 0] == i:
                    partner, own_stride, partner_stride = edges[e, 1], width, 1
                else:
                    partner, own_stride, partner_stride = edges[e, 0], 1, width
                seen = codes[partner]
                for a in range(states):
                    start = edge_offsets[e] + a * own_stride
                    for m in range(count):
                        logits[a, m] += edge_weights[start + seen[first + m] * partner_stride]
            for m in range(count):
                top[m] = logits[0, m]
            for a in range(1, states):
                for m in range(count):
                    top[m] = max(top[m], logits[a, m])
            total[:count] = 0.0
            for a in range(states):
                for m in range(count):
                    shifted[m] = logits[a, m] - top[m]
                exponentiate(shifted, bits, count)
                for m in range(count):
                    total[m] += shifted[m]
            product = 1.0
            for m in range(count):
                chosen = logits[codes[i, first + m], m]
                if chosen == -np.inf:
                    # Also if every state is impossible and log-sum-exp would be undefined.
                    loss = np.inf
                    break
                if len(weights) > 0:
                    loss += weights[first + m] * (top[m] - chosen + math.log(total[m]))
                    continue
                # Each total lies between 1 and the number of states: the product of 32 of them
                # cannot overflow, and one logarithm is enough for all.
                product *= total[m]
                loss += top[m] - chosen
                if m & 31 == 31:
                    loss += math.log(product)
                    product = 1.0
            if loss == np.inf:
                break
            loss += math.log(product)
        losses[i] = loss
