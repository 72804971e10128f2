"""Which k edges leave a model: the least contributing ones, or a random subset.

A random subset S is drawn from the distribution ∝ exp(mean pseudo-likelihood per row of the model
without S). Rejection sampling draws subsets uniformly and accepts with that probability, whose
envelope is 1; a Markov chain on subsets swaps one edge at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graftviz.fitting.structure_fit import StructureFit
from graftviz.search.contributions import Contributions, loss_without

_FIRST_BATCH = 256  # subsets drawn at once; doubled until one is accepted
_LARGEST_BATCH = 4096
_REMEMBERED = 4096  # subsets that a fallback chooses from


class Deletion(NamedTuple):
    """The edges chosen to leave.

    Attributes
    ----------
    edges : int64 array, shape (k,)
        Places in the model's edges, smallest contribution first.
    tries, accepted : int
        Subsets drawn, and accepted; 0 for the greedy choice.
    fallback : bool
        Nothing was accepted within the tries allowed: the subset is one of those drawn, chosen with
        probability ∝ exp(mean pseudo-likelihood without it).
    """

    edges: np.ndarray
    tries: int = 0
    accepted: int = 0
    fallback: bool = False


class SubsetLosses:
    """What the pseudo-likelihood loses without a set of edges, all else left as it is.

    A conditional changes only if its variable has an edge in the set. Where it has one, the loss is
    that side of the edge's contribution; where it has more, it takes a pass over the rows, done
    once for each combination.

    Parameters
    ----------
    fit : StructureFit
        Last evaluated at the model.
    tables : float64 array, flat
        Tables of the model's edges.
    known : Contributions
    node_losses : float64 array, shape (n,)
        −mean log p(x_i | rest) of every variable.
    """

    def __init__(
        self, fit: StructureFit, tables: np.ndarray, known: Contributions, node_losses: np.ndarray
    ) -> None:
        self._fit, self._tables, self._sides = fit, tables, known.sides
        self._edges = fit.layout.structure.edges
        self._node_losses = node_losses
        self._seen: dict[tuple[int, tuple[int, ...]], float] = {}

    @property
    def count(self) -> int:
        """How many edges there are to choose from."""
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
        return self.value - math.fsum(self._lost(node, tuple(es)) for node, es in at_node.items())

    def bounds(self, subsets: np.ndarray) -> np.ndarray:
        """Return upper bounds of :meth:`without` for many sets at once, shape (B,).

        A variable with several edges of the set is taken to be predicted perfectly.

        Parameters
        ----------
        subsets : int64 array, shape (B, k)
        """
        nodes = self._edges[subsets].reshape(len(subsets), -1)
        sides = self._sides[subsets].reshape(len(subsets), -1)
        often = (nodes[:, :, None] == nodes[:, None, :]).sum(axis=2)
        most = np.where(often == 1, -sides, self._node_losses[nodes] / often)
        bounds: np.ndarray = self.value + most.sum(axis=1)
        return bounds

    def _lost(self, node: int, edges: tuple[int, ...]) -> float:
        if len(edges) == 1:
            return float(self._sides[edges[0], int(self._edges[edges[0], 1] == node)])
        if (node, edges) not in self._seen:
            chosen = np.array(edges, dtype=np.int64)
            lost = loss_without(self._fit, self._tables, node, chosen)
            self._seen[node, edges] = lost / self._fit.rows.total
        return self._seen[node, edges]


def least_contributing(known: Contributions, count: int) -> Deletion:
    """Return the `count` edges with the smallest contributions."""
    return Deletion(np.argsort(known.total, kind="stable")[:count])


def by_rejection(
    losses: SubsetLosses,
    known: Contributions,
    count: int,
    tries: int,
    generator: np.random.Generator,
) -> Deletion:
    """Draw subsets until one is accepted, at most `tries`.

    Most draws are rejected by an upper bound of their probability, without a look at the rows.
    """
    drawn, batch = 0, _FIRST_BATCH
    remembered: list[np.ndarray] = []
    while drawn < tries:
        size = min(batch, tries - drawn)
        batch = min(2 * batch, _LARGEST_BATCH)
        heights = np.log(1.0 - generator.random(size))
        keys = generator.random((size, losses.count))
        subsets = np.argsort(keys, axis=1)[:, :count]
        bounds = losses.bounds(subsets)
        for k in np.flatnonzero(heights <= bounds + 1e-12):
            if heights[k] <= losses.without(subsets[k]):
                chosen = _sorted(subsets[k], known)
                return Deletion(chosen, drawn + int(k) + 1, 1)
        drawn += size
        remembered = [*remembered, *subsets][-_REMEMBERED:]
    weights = np.array([losses.without(subset) for subset in remembered])
    weights = np.exp(weights - weights.max())
    chosen = remembered[int(generator.choice(len(remembered), p=weights / weights.sum()))]
    return Deletion(_sorted(chosen, known), drawn, 0, fallback=True)


def by_metropolis(
    losses: SubsetLosses,
    known: Contributions,
    count: int,
    swaps: int,
    generator: np.random.Generator,
) -> Deletion:
    """Return the last state of a Metropolis chain on subsets, started from a uniform one.

    A proposal swaps one edge of the set for one outside it, both uniform, so that it is as likely
    as its reverse; it is accepted with probability min(1, exp(difference of what remains)).
    """
    order = generator.permutation(losses.count)
    inside, outside = order[:count].copy(), order[count:].copy()
    if len(outside) == 0:
        return Deletion(_sorted(inside, known))
    value, accepted = losses.without(inside), 0
    for _ in range(swaps):
        a, b = int(generator.integers(len(inside))), int(generator.integers(len(outside)))
        inside[a], outside[b] = outside[b], inside[a]
        proposed = losses.without(inside)
        if math.log(1.0 - generator.random()) <= proposed - value:
            value, accepted = proposed, accepted + 1
        else:
            inside[a], outside[b] = outside[b], inside[a]
    return Deletion(_sorted(inside, known), swaps, accepted)


def _sorted(subset: np.ndarray, known: Contributions) -> np.ndarray:
    """Return the edges of a set, smallest contribution first."""
    ordered: np.ndarray = subset[np.argsort(known.total[subset], kind="stable")]
    return ordered
