"""Free parameters of a fixed structure: log-odds of deviations from the mean of the data.

The weights of a pairwise model are not unique. Here every edge (i, j) has one free parameter for
each pair of states other than the references, and its table is

    w_ij[x, y] = Σ_ab t_ab (1{x = a} − q_i(a)) (1{y = b} − q_j(b)),

with q the shares of the data; node parameters are the weights of all states but the reference,
whose weight is 0. Deviations from the mean have two advantages. First, the parametrisation is
minimal (for two states: one parameter per node and per edge, the log-odds ratio), so that tying
into p values is no restriction. Second, an edge hardly changes the mean logits of its nodes:
parameters interact little when they are tied, and an edge can be removed or added with all other
parameters fixed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.inference.prediction import PairwiseMRF
from graftviz.learning.weights.conditionals import Structure, structure_of
from graftviz.utils.compiling import kernel


class Deviations(NamedTuple):
    """Layout of the free parameters θ of a structure, nodes first.

    Attributes
    ----------
    structure : Structure
    shares : float64 array, flat
        Shares q of all states of all variables.
    references : int64 array, shape (n,)
        The state of each variable without a parameter: the first that occurs.
    node_starts : int64 array, shape (n + 1,)
        Parameters of node i are ``node_starts[i]`` … ``node_starts[i + 1]``.
    edge_starts : int64 array, shape (m + 1,)
        Parameters of edge e, row-major with states of x_i as rows.
    """

    structure: Structure
    shares: np.ndarray
    references: np.ndarray
    node_starts: np.ndarray
    edge_starts: np.ndarray

    @property
    def size(self) -> int:
        """Number of parameters, p."""
        return int(self.edge_starts[-1])

    def weights(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the node weights and tables of `parameters`, both flat."""
        structure = self.structure
        nodes = np.zeros(int(structure.node_offsets[-1]))
        tables = np.zeros(int(structure.edge_offsets[-1]))
        _expand(self, parameters, nodes, tables)
        return nodes, tables

    def pulled_back(self, node_sums: np.ndarray, edge_sums: np.ndarray) -> np.ndarray:
        """Return the derivatives in the parameters from those in node weights and tables."""
        slopes = np.zeros(self.size)
        _pull_back(self, node_sums, edge_sums, slopes)
        return slopes

    def contrasts(self, i: int) -> np.ndarray:
        """Return 1{x = a} − q_i(a) of variable i, shape (s_i, s_i − 1): a table is C_i t C_jᵀ."""
        offsets = self.structure.node_offsets
        shares = self.shares[offsets[i] : offsets[i + 1]]
        full = np.eye(len(shares)) - shares
        return np.delete(full, self.references[i], axis=1)


def deviations_of(cardinalities: np.ndarray, shares: np.ndarray, edges: np.ndarray) -> Deviations:
    """Return the layout of the parameters of a graph.

    Parameters
    ----------
    cardinalities : int64 array, shape (n,)
    shares : float64 array, flat
        Relative frequency of each state of each variable.
    edges : int array, shape (m, 2)
    """
    structure = structure_of(cardinalities, edges)
    starts = structure.node_offsets[:-1]
    references = [
        int(np.argmax(shares[at : at + size] > 0.0))
        for at, size in zip(starts, cardinalities, strict=True)
    ]
    free = cardinalities - 1
    node_starts = np.concatenate([[0], np.cumsum(free)]).astype(np.int64)
    sizes = free[structure.edges].prod(axis=1)
    edge_starts = node_starts[-1] + np.concatenate([[0], np.cumsum(sizes)])
    return Deviations(
        structure=structure,
        shares=shares,
        references=np.array(references, dtype=np.int64),
        node_starts=node_starts,
        edge_starts=edge_starts.astype(np.int64),
    )


@kernel
def _expand(layout, parameters, nodes, tables):
    """Write node weights and tables of the parameters."""
    structure, shares, references = layout.structure, layout.shares, layout.references
    offsets, edges = structure.node_offsets, structure.edges
    for i in range(len(offsets) - 1):
        k = layout.node_starts[i]
        for a in range(offsets[i + 1] - offsets[i]):
            if a != references[i]:
                nodes[offsets[i] + a] = parameters[k]
                k += 1
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        states_i, states_j = offsets[i + 1] - offsets[i], offsets[j + 1] - offsets[j]
        at, k = structure.edge_offsets[e], layout.edge_starts[e]
        for a in range(states_i):
            if a == references[i]:
                continue
            for b in range(states_j):
                if b == references[j]:
                    continue
                value = parameters[k]
                k += 1
                for x in range(states_i):
                    own = (1.0 if x == a else 0.0) - shares[offsets[i] + a]
                    for y in range(states_j):
                        other = (1.0 if y == b else 0.0) - shares[offsets[j] + b]
                        tables[at + x * states_j + y] += value * own * other


@kernel
def _pull_back(layout, node_sums, edge_sums, slopes):
    """Write the derivatives in the parameters (the transpose of `_expand`)."""
    structure, shares, references = layout.structure, layout.shares, layout.references
    offsets, edges = structure.node_offsets, structure.edges
    for i in range(len(offsets) - 1):
        k = layout.node_starts[i]
        for a in range(offsets[i + 1] - offsets[i]):
            if a != references[i]:
                slopes[k] = node_sums[offsets[i] + a]
                k += 1
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        states_i, states_j = offsets[i + 1] - offsets[i], offsets[j + 1] - offsets[j]
        at, k = structure.edge_offsets[e], layout.edge_starts[e]
        for a in range(states_i):
            if a == references[i]:
                continue
            for b in range(states_j):
                if b == references[j]:
                    continue
                total = 0.0
                for x in range(states_i):
                    own = (1.0 if x == a else 0.0) - shares[offsets[i] + a]
                    for y in range(states_j):
                        other = (1.0 if y == b else 0.0) - shares[offsets[j] + b]
                        total += edge_sums[at + x * states_j + y] * own * other
                slopes[k] = total
                k += 1


def centred_weights(
    structure: Structure, nodes: np.ndarray, tables: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return equivalent weights in which rows and columns of all tables sum to 0.

    All learners report weights in this form.

    Parameters
    ----------
    structure : Structure
    nodes, tables : float64 arrays, flat
    """
    nodes, tables = nodes.copy(), tables.copy()
    _centre(structure, nodes, tables)
    return nodes, tables


@kernel
def _centre(structure, nodes, tables):
    offsets, edges = structure.node_offsets, structure.edges
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        states_i, states_j = offsets[i + 1] - offsets[i], offsets[j + 1] - offsets[j]
        at = structure.edge_offsets[e]
        for a in range(states_i):
            mean = 0.0
            for b in range(states_j):
                mean += tables[at + a * states_j + b] / states_j
            for b in range(states_j):
                tables[at + a * states_j + b] -= mean
            nodes[offsets[i] + a] += mean
        for b in range(states_j):
            mean = 0.0
            for a in range(states_i):
                mean += tables[at + a * states_j + b] / states_i
            for a in range(states_i):
                tables[at + a * states_j + b] -= mean
            nodes[offsets[j] + b] += mean
    for i in range(len(offsets) - 1):
        states = offsets[i + 1] - offsets[i]
        mean = 0.0
        for a in range(states):
            mean += nodes[offsets[i] + a] / states
        for a in range(states):
            nodes[offsets[i] + a] -= mean


def parameters_of(layout: Deviations, nodes: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Return the parameters of weights in any gauge; the inverse of :meth:`Deviations.weights`.

    Parameters
    ----------
    layout : Deviations
    nodes, tables : float64 arrays, flat
        Node weights and tables, not necessarily centred.
    """
    structure, references = layout.structure, layout.references
    offsets, nodes = structure.node_offsets, nodes.copy()
    parameters = np.zeros(layout.size)
    for e, (i, j) in enumerate(structure.edges):
        shape = (offsets[i + 1] - offsets[i], offsets[j + 1] - offsets[j])
        at, end = structure.edge_offsets[e], structure.edge_offsets[e + 1]
        table = tables[at:end].reshape(shape)
        row, column = table[references[i]], table[:, references[j]]
        odds = table - row - column[:, None] + table[references[i], references[j]]
        odds = np.delete(np.delete(odds, references[i], axis=0), references[j], axis=1)
        parameters[layout.edge_starts[e] : layout.edge_starts[e + 1]] = odds.reshape(-1)
        # The rest is a function of x_i plus a function of x_j, which is added to the nodes.
        rest = table - layout.contrasts(i) @ odds @ layout.contrasts(j).T
        nodes[offsets[i] : offsets[i + 1]] += rest[:, 0]
        nodes[offsets[j] : offsets[j + 1]] += rest[0] - rest[0, 0]
    for i, reference in enumerate(references):
        own = nodes[offsets[i] : offsets[i + 1]]
        start, end = layout.node_starts[i], layout.node_starts[i + 1]
        parameters[start:end] = np.delete(own - own[reference], reference)
    return parameters


def model_of(
    layout: Deviations,
    parameters: np.ndarray,
    names: tuple[str, ...],
    labels: tuple[tuple[str, ...], ...],
) -> PairwiseMRF:
    """Return the model with `parameters`, in the centred form."""
    structure = layout.structure
    nodes, tables = centred_weights(structure, *layout.weights(parameters))
    sizes = np.diff(structure.node_offsets)
    return PairwiseMRF(sizes, structure.edges, np.concatenate([nodes, tables]), names, labels)
