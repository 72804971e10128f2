"""Ising models: spins −1 and +1 on any graph, and random models on a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftviz.data.synthetic.graphs import grid_graph
from graftviz.data.synthetic.seeds import generator
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError

SPINS = (-1.0, 1.0)  # of state 0 and of state 1
SPIN_LABELS = ("-1", "+1")


def ising_model(
    edges: np.ndarray, fields: np.ndarray, couplings: np.ndarray, names: Sequence[str] = ()
) -> PairwiseModel:
    """Return p(x) ∝ exp(Σ_i θ_i x_i + Σ_(i,j) θ_ij x_i x_j) over spins x_i ∈ {−1, +1}.

    State 0 is the spin −1, state 1 the spin +1 (localized inference, eq. 1).

    Parameters
    ----------
    edges : int array, shape (m, 2)
        Pairs i < j, no pair twice.
    fields : float array, shape (n,)
        θ_i of every node.
    couplings : float array, shape (m,)
        θ_ij of every edge, in the order of `edges`.
    names : sequence of str, optional
        Names of the nodes; default x0, x1, …

    Raises
    ------
    InputError
        When the number of fields or couplings is wrong, a value is not finite, or the edges are not
        those of a graph.
    """
    theta = np.asarray(fields, dtype=np.float64).reshape(-1)
    coupled = np.asarray(couplings, dtype=np.float64).reshape(-1)
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    if len(coupled) != len(pairs):
        raise InputError(f"{len(pairs)} edges need as many couplings; got {len(coupled)}.")
    if not (np.isfinite(theta).all() and np.isfinite(coupled).all()):
        raise InputError("Fields and couplings of an Ising model must be finite numbers.")
    spins = np.array(SPINS)
    return PairwiseModel(
        cardinalities=np.full(len(theta), len(SPINS)),
        edges=pairs,
        weights=np.concatenate(
            [np.outer(theta, spins).reshape(-1), np.outer(coupled, np.outer(spins, spins))],
            axis=None,
        ),
        names=tuple(names),
        labels=(SPIN_LABELS,) * len(theta),
    )


def ising_grid(
    rows: int, columns: int, *, field: float, coupling: float, seed: int = 0
) -> PairwiseModel:
    """Draw an Ising model on a grid: θ_i from U[−T₁, T₁] and θ_ij from U[−T₂, T₂].

    The draws for T₁ = T₂ = 1 are scaled: for a fixed seed, T₁ scales the fields and T₂ the
    couplings, independently of each other (localized inference, section 6.1).

    Parameters
    ----------
    rows, columns : int
        Size of the grid; no wrap-around. Node r · columns + c has the name ``r{r}c{c}``.
    field, coupling : float
        T₁ and T₂, at least 0.
    seed : int

    Raises
    ------
    InputError
        For a strength that is negative or not finite, or fewer than two nodes.
    """
    for name, strength in (("fields", field), ("couplings", coupling)):
        if not 0 <= strength < np.inf:
            raise InputError(f"The strength of {name} must be 0 or more; got {strength:g}.")
    graph = grid_graph(rows, columns)
    rng = generator(seed, "potentials")
    fields = field * rng.uniform(-1.0, 1.0, graph.n_nodes)
    couplings = coupling * rng.uniform(-1.0, 1.0, graph.n_edges)
    return ising_model(graph.edges, fields, couplings, graph.names)
