"""Reports of learning under a bound on inference, and junction trees of elimination orders.

An elimination order proves a width: when the variables are summed out in that order, each has at
most that many neighbours. :func:`elimination_scopes` recomputes it by the definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graftviz.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Complexity:
    """Cost of inference after a step, and the choice of the step's edge. Immutable.

    Attributes
    ----------
    measure : str
        "treewidth", "bp-sweeps", "trbp-sweeps", "seconds", "circuit-size",
        "approximation-error", "query-operations" or "query-seconds".
    value : float
        R of the model after this step; at most `bound`.
    bound : float
        τ.
    infeasible : int
        Number of inactive pairs known to exceed the bound.
    newly_infeasible : int
        Number of these pairs that were found in this step.
    order : int32 array, shape (n,)
        An elimination order of the graph after this step, which proves `width` (and the circuit
        size, if that is the measure).
    width : int
        Largest number of neighbours of a variable when it is summed out in that order.
    gradient_norm : float
        ‖∇_e ℓ‖₂ of the chosen edge: data marginal minus model marginal of the pair.
    inference : str
        Inference that the gradients of this step came from: "exact", "bp" or "trbp".
    """

    measure: str
    value: float
    bound: float
    infeasible: int
    newly_infeasible: int
    order: np.ndarray
    width: int
    gradient_norm: float
    inference: str

    def __post_init__(self) -> None:
        self.order.flags.writeable = False


def elimination_scopes(
    n: int, edges: np.ndarray | Sequence[Sequence[int]], order: np.ndarray | Sequence[int]
) -> list[set[int]]:
    """Return the neighbours of each variable when the variables are summed out in an order.

    Parameters
    ----------
    n : int
        Number of variables.
    edges : int array, shape (m, 2)
    order : sequence of int, length n

    Returns
    -------
    list of sets of int
        Neighbours by position in the order; the width is the size of the largest set.

    Raises
    ------
    InputError
        If the order does not contain every variable exactly once.
    """
    sequence = [int(i) for i in order]
    if sorted(sequence) != list(range(n)):
        raise InputError("An elimination order must hold every variable exactly once.")
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for i, j in np.asarray(edges, dtype=np.int64).reshape(-1, 2).tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
    scopes = []
    for i in sequence:
        scope = neighbours[i]
        for j in scope:
            neighbours[j] |= scope
            neighbours[j] -= {i, j}
        scopes.append(scope)
    return scopes


def junction_tree_of(
    n: int, edges: np.ndarray | Sequence[Sequence[int]], order: np.ndarray | Sequence[int]
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Return the junction tree of an elimination order (a forest if the graph is disconnected).

    Parameters
    ----------
    n : int
        Number of variables.
    edges : int array, shape (m, 2)
    order : sequence of int, length n

    Returns
    -------
    cliques : tuple of int32 arrays
        Maximal cliques of the triangulated graph, each ascending. A variable without edges forms
        its own clique.
    links : int32 array, shape (k, 2)
        Pairs of cliques (by index) that are adjacent in the tree. Cliques with a common variable
        are connected through cliques with that variable.

    Raises
    ------
    InputError
        If the order does not contain every variable exactly once.
    """
    scopes = elimination_scopes(n, edges, order)
    sequence = [int(i) for i in order]
    position = {i: k for k, i in enumerate(sequence)}
    members: list[set[int]] = []
    links: list[tuple[int, int]] = []
    clique_at = [-1] * n  # clique that contains each variable and its scope, by position
    # In reverse order, the clique of the first variable of a scope exists already. Either it equals
    # the scope, and the variable is added to it, or a new clique becomes its child.
    for k in range(n - 1, -1, -1):
        scope = scopes[k]
        parent = min((position[j] for j in scope), default=-1)
        if parent >= 0 and members[clique_at[parent]] == scope:
            clique_at[k] = clique_at[parent]
            members[clique_at[k]] = scope | {sequence[k]}
            continue
        clique_at[k] = len(members)
        members.append(scope | {sequence[k]})
        if parent >= 0:
            links.append((clique_at[parent], clique_at[k]))
    cliques = tuple(np.array(sorted(clique), dtype=np.int32) for clique in members)
    return cliques, np.array(links, dtype=np.int32).reshape(-1, 2)
