"""What learning under a bound on inference reports, and the tree that its order makes.

An elimination order proves a width: summing the variables out in that order joins, at every
variable, at most so many others. Whoever doubts it can go through the order again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graftviz.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Complexity:
    """What inference takes after a step, and how the step's edge was found. Immutable.

    Attributes
    ----------
    measure : str
        "treewidth", "bp-sweeps", "trbp-sweeps", "seconds", "circuit-size" or
        "approximation-error".
    value : float
        R of the model after this step; at most `bound`.
    bound : float
        τ.
    infeasible : int
        Inactive pairs known to pass the bound now.
    newly_infeasible : int
        Those of them that were found so in this step.
    order : int32 array, shape (n,)
        An elimination order of the graph after this step. It proves `width` (and, where that is
        the measure, the circuit size).
    width : int
        Most variables that any variable is still joined to when it is summed out in that order.
    gradient_norm : float
        ‖∇_e ℓ‖₂ of the chosen edge: data marginal minus model marginal of the pair.
    inference : str
        What the gradients of this step came from: "exact", "bp" or "trbp".
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
    """Sum variables out in a given order, by the definition, and say what each is joined to then.

    Parameters
    ----------
    n : int
        Number of variables.
    edges : int array, shape (m, 2)
    order : sequence of int, length n

    Returns
    -------
    list of sets of int
        By place in the order; the width is the size of the largest.

    Raises
    ------
    InputError
        When the order does not hold every variable exactly once.
    """
    sequence = [int(i) for i in order]
    if sorted(sequence) != list(range(n)):
        raise InputError("An elimination order must hold every variable exactly once.")
    joined: list[set[int]] = [set() for _ in range(n)]
    for i, j in np.asarray(edges, dtype=np.int64).reshape(-1, 2).tolist():
        joined[i].add(j)
        joined[j].add(i)
    scopes = []
    for i in sequence:
        scope = joined[i]
        for j in scope:
            joined[j] |= scope
            joined[j] -= {i, j}
        scopes.append(scope)
    return scopes


def junction_tree_of(
    n: int, edges: np.ndarray | Sequence[Sequence[int]], order: np.ndarray | Sequence[int]
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Return the junction tree (a forest where the graph falls apart) of an elimination order.

    Parameters
    ----------
    n : int
        Number of variables.
    edges : int array, shape (m, 2)
    order : sequence of int, length n

    Returns
    -------
    cliques : tuple of int32 arrays
        The maximal cliques of the triangulated graph, each ascending. A variable without edges is
        a clique by itself.
    links : int32 array, shape (k, 2)
        Pairs of cliques (by index) that are joined in the tree. Cliques that hold a variable are
        connected through cliques that hold it.

    Raises
    ------
    InputError
        When the order does not hold every variable exactly once.
    """
    scopes = elimination_scopes(n, edges, order)
    sequence = [int(i) for i in order]
    place = {i: k for k, i in enumerate(sequence)}
    members: list[set[int]] = []
    links: list[tuple[int, int]] = []
    holder = [-1] * n  # the clique that contains each variable and its scope, by place
    # From the last place on, the clique of the next variable in a scope is there already. Either it
    # is that scope, and grows by the variable, or a new clique hangs from it.
    for k in range(n - 1, -1, -1):
        scope = scopes[k]
        parent = min((place[j] for j in scope), default=-1)
        if parent >= 0 and members[holder[parent]] == scope:
            holder[k] = holder[parent]
            members[holder[k]] = scope | {sequence[k]}
            continue
        holder[k] = len(members)
        members.append(scope | {sequence[k]})
        if parent >= 0:
            links.append((holder[parent], holder[k]))
    cliques = tuple(np.array(sorted(clique), dtype=np.int32) for clique in members)
    return cliques, np.array(links, dtype=np.int32).reshape(-1, 2)
