"""Choice of the k edges to remove from a model: the least contributing ones or a random subset.

A random subset S is drawn from the distribution ∝ exp(mean pseudo-likelihood per row of the model
without S). Rejection sampling draws subsets uniformly and accepts with that probability, whose
envelope is 1; a Markov chain on subsets swaps one edge at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graftviz.learning.pruning.contributions import Contributions, loss_without
from graftviz.learning.pruning.structure_fit import StructureFit

_FIRST_BATCH = 256  # subsets per batch; doubled until a subset is accepted
_LARGEST_BATCH = 4096
_FALLBACK_SUBSETS = 4096  # latest subsets that the fallback chooses from


class Deletion(NamedTuple):
    """Edges chosen for removal.

    Attributes
    ----------
    edges : int64 array, shape (k,)
        Positions among the model's edges, smallest contribution first.
    tries, accepted : int
        Numbers of subsets drawn and accepted; 0 for the greedy choice.
    fallback : bool
        Whether no subset was accepted within the allowed tries; the result is then one of the drawn
        subsets, chosen with probability ∝ exp(mean pseudo-likelihood without it).
    """

    edges: np.ndarray
    tries: int = 0
    accepted: int = 0
    fallback: bool = False


class SubsetLosses:
    """Pseudo-likelihood without a set of edges, all other weights fixed.

    A conditional changes only if its variable has an edge in the set. With one such edge, the loss
    is that side of the edge's contribution; with several, it is computed by a pass over the rows
    and cached for each combination.

    Parameters
    ----------
    fit : StructureFit
        Evaluated at the model last.
    tables : float64 array, flat
        Tables of the model's edges.
    contributions : Contributions
    node_losses : float64 array, shape (n,)
        −mean log p(x_i | rest) of every variable.
    positions : int64 array, optional
        Positions of the edges of `contributions` among those of the model. Default: all.
    """

    def __init__(
        self,
        fit: StructureFit,
        tables: np.ndarray,
        contributions: Contributions,
        node_losses: np.ndarray,
        positions: np.ndarray | None = None,
    ) -> None:
        self._fit, self._tables, self._sides = fit, tables, contributions.sides
        edges = fit.layout.structure.edges
        self._positions = np.arange(len(edges)) if positions is None else positions
        self._edges = edges[self._positions]
        self._node_losses = node_losses
        self._losses: dict[tuple[int, tuple[int, ...]], float] = {}

    @property
    def count(self) -> int:
        """Number of edges that a set may have."""
        return len(self._edges)

    @property
    def value(self) -> float:
        """Mean pseudo-likelihood per row of the whole model."""
        return -float(self._node_losses.sum())

    def without(self, subset: np.ndarray) -> float:
        """Return the mean pseudo-likelihood per row without these edges."""
        at_node: dict[int, list[int]] = {}
        for e in sorted(int(e) for e in subset):
            for node in self._edges[e].tolist():
                at_node.setdefault(node, []).append(e)
        return self.value - math.fsum(self._loss(node, tuple(es)) for node, es in at_node.items())

    def bounds(self, subsets: np.ndarray) -> np.ndarray:
        """Return upper bounds of :meth:`without` for many sets at once, shape (B,).

        The bound assumes that a variable with several edges in the set is predicted perfectly.

        Parameters
        ----------
        subsets : int64 array, shape (B, k)
        """
        nodes = self._edges[subsets].reshape(len(subsets), -1)
        sides = self._sides[subsets].reshape(len(subsets), -1)
        occurrences = (nodes[:, :, None] == nodes[:, None, :]).sum(axis=2)
        most = np.where(occurrences == 1, -sides, self._node_losses[nodes] / occurrences)
        bounds: np.ndarray = self.value + most.sum(axis=1)
        return bounds

    def _loss(self, node: int, edges: tuple[int, ...]) -> float:
        if len(edges) == 1:
            return float(self._sides[edges[0], int(self._edges[edges[0], 1] == node)])
        if (node, edges) not in self._losses:
            chosen = self._positions[list(edges)]
            lost = loss_without(self._fit, self._tables, node, chosen)
            self._losses[node, edges] = lost / self._fit.rows.total
        return self._losses[node, edges]


def least_contributing(contributions: Contributions, count: int) -> Deletion:
    """Return the `count` edges with the smallest contributions."""
    return Deletion(np.argsort(contributions.total, kind="stable")[:count])


def by_rejection(
    losses: SubsetLosses,
    contributions: Contributions,
    count: int,
    tries: int,
    generator: np.random.Generator,
) -> Deletion:
    """Draw subsets until one is accepted, at most `tries`.

    Most draws are rejected by an upper bound of their probability, without a pass over the rows.
    """
    drawn, batch = 0, _FIRST_BATCH
    latest: list[np.ndarray] = []
    while drawn < tries:
        size = min(batch, tries - drawn)
        batch = min(2 * batch, _LARGEST_BATCH)
        heights = np.log(1.0 - generator.random(size))
        keys = generator.random((size, losses.count))
        subsets = np.argsort(keys, axis=1)[:, :count]
        bounds = losses.bounds(subsets)
        for k in np.flatnonzero(heights <= bounds + 1e-12):
            if heights[k] <= losses.without(subsets[k]):
                chosen = _sorted(subsets[k], contributions)
                return Deletion(chosen, drawn + int(k) + 1, 1)
        drawn += size
        latest = [*latest, *subsets][-_FALLBACK_SUBSETS:]
    weights = np.array([losses.without(subset) for subset in latest])
    weights = np.exp(weights - weights.max())
    chosen = latest[int(generator.choice(len(latest), p=weights / weights.sum()))]
    return Deletion(_sorted(chosen, contributions), drawn, 0, fallback=True)


def by_metropolis(
    losses: SubsetLosses,
    contributions: Contributions,
    count: int,
    swaps: int,
    generator: np.random.Generator,
) -> Deletion:
    """Return the last state of a Metropolis chain on subsets, started from a uniform one.

    A proposal swaps one edge of the set for one outside it, both drawn uniformly, so it is as
    likely as its reverse. It is accepted with probability min(1, exp(change of the mean
    pseudo-likelihood without the set)).
    """
    order = generator.permutation(losses.count)
    inside, outside = order[:count].copy(), order[count:].copy()
    if len(outside) == 0:
        return Deletion(_sorted(inside, contributions))
    value, accepted = losses.without(inside), 0
    for _ in range(swaps):
        a, b = int(generator.integers(len(inside))), int(generator.integers(len(outside)))
        inside[a], outside[b] = outside[b], inside[a]
        proposed = losses.without(inside)
        if math.log(1.0 - generator.random()) <= proposed - value:
            value, accepted = proposed, accepted + 1
        else:
            inside[a], outside[b] = outside[b], inside[a]
    return Deletion(_sorted(inside, contributions), swaps, accepted)


def _sorted(subset: np.ndarray, contributions: Contributions) -> np.ndarray:
    """Return the edges of a set, smallest contribution first."""
    ordered: np.ndarray = subset[np.argsort(contributions.total[subset], kind="stable")]
    return ordered
