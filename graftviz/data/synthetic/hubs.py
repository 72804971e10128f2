"""Hubs whose state is drawn with some of their neighbours summed out.

Drawn one at a time, a hub and its neighbours hold each other in place: a chain may keep a hub's
state for ever, and rows of different chains then have the wrong frequencies. So the state of a hub
is drawn from its distribution given all variables but its *leaves*, neighbours that are not joined
to each other, and the leaves are drawn directly afterwards. This is a draw of hub and leaves
together from their distribution given the rest (blocked Gibbs sampling; Jensen, Kong and Kjærulff
1995; Hamze and de Freitas 2004).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.model.pairwise import PairwiseModel

# Root mean square of the interactions of a variable's edges, summed; weaker ones mix well alone.
LEAST_STRENGTH = 3.0
# Larger interactions, in nats, would leave the range of single precision when summed.
_LARGEST_INTERACTION = 35.0


class Star(NamedTuple):
    """A hub and its leaves.

    Attributes
    ----------
    hub : int
    leaves : tuple of int
        Neighbours of the hub, no two of them joined.
    interactions : tuple of float64 arrays, each shape (states of the hub, states of the leaf)
        ``w[k, b] − w[0, b] − w[k, 0] + w[0, 0]`` of the edge to each leaf.
    """

    hub: int
    leaves: tuple[int, ...]
    interactions: tuple[np.ndarray, ...]


def stars(model: PairwiseModel) -> list[Star]:
    """Return the hubs of a model, the strongest first, each with as many leaves as are found.

    The strength of a variable is the root of the summed mean squares of its edges' weights, each
    double centred, since constants of a row or column move nothing. Leaves are sought among the
    neighbours with fewest edges first.
    """
    n, degrees = model.n_variables, model.degrees()
    squares = np.zeros(n)
    neighbours: list[dict[int, int]] = [{} for _ in range(n)]
    for e, (i, j) in enumerate(model.edges.tolist()):
        squares[[i, j]] += np.mean(_centred(model.edge_weights(e)) ** 2)
        neighbours[i][j] = neighbours[j][i] = e
    strengths = np.sqrt(squares)
    found = []
    for hub in np.argsort(-strengths, kind="stable").tolist():
        if strengths[hub] < LEAST_STRENGTH:
            break
        leaves: dict[int, np.ndarray] = {}
        for leaf in sorted(neighbours[hub], key=lambda j: (degrees[j], j)):
            weights = model.edge_weights(neighbours[hub][leaf])
            interaction = _interaction(weights if hub < leaf else weights.T)
            if np.abs(interaction).max() <= _LARGEST_INTERACTION and not (
                leaves.keys() & neighbours[leaf].keys()
            ):
                leaves[leaf] = interaction
        if leaves:
            found.append(Star(hub, tuple(leaves), tuple(leaves.values())))
    return found


def _centred(weights: np.ndarray) -> np.ndarray:
    rows, columns = weights.mean(axis=1, keepdims=True), weights.mean(axis=0)
    return weights - rows - columns + weights.mean()


def _interaction(weights: np.ndarray) -> np.ndarray:
    odds = weights - weights[0]
    return odds - odds[:, :1]
