"""Parents of series that were not regressed: from two-hop rows of seeds, or by activation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from graftviz.dynamics.rows import fitted_row, strongest
from graftviz.dynamics.series import Standardised

GRAFT_ROUNDS = 3  # activations between which the coefficients are fitted again
_BLOCK = 64  # series whose gradients are taken in one product


def spoken_scores(seeds: Iterable[tuple[np.ndarray, np.ndarray]], n: int) -> dict[int, np.ndarray]:
    """Return the scores E_j of each series j that is some seed's parent (equation 2.9).

    E_ju = Σ |B_iu| / ‖B_i‖₁ over the seeds i that have j among their parents: what reaches i in two
    steps, and j leads to i in one, may well reach j in one.

    Parameters
    ----------
    seeds : iterable of (parents, two_hop)
        Of each seed: int array, and float array of shape (n,) that adds up to 1 (or to 0, from
        which nothing is learned).
    n : int
    """
    scores: dict[int, np.ndarray] = {}
    for parents, two_hop in seeds:
        if not two_hop.any():
            continue
        for j in parents.tolist():
            scores.setdefault(j, np.zeros(n))
            scores[j] += two_hop
    return scores


def common_scores(seeds: Sequence[np.ndarray], n: int) -> np.ndarray:
    """Return Σ |B_iu| / ‖B_i‖₁ over all seeds: how much of everything each series drives."""
    return np.sum(seeds, axis=0) if len(seeds) else np.zeros(n)


def grafted_parents(data: Standardised, nodes: Sequence[int], k: int) -> dict[int, np.ndarray]:
    """Return k parents of each node, those of the largest gradient of its squared error.

    A third of them is activated at a time, and least squares on those that are active changes the
    gradients before the next are chosen. This is stagewise orthogonal matching pursuit; it costs
    three products with X′ and no descent.
    """
    found = {int(node): np.zeros(0, dtype=np.int64) for node in nodes}
    sizes = [len(part) for part in np.array_split(np.arange(k), min(GRAFT_ROUNDS, k))]
    for at in range(0, len(nodes), _BLOCK):
        block = [int(node) for node in nodes[at : at + _BLOCK]]
        gaps = data.targets[block]
        for number, size in enumerate(sizes):
            if number > 0:
                for column, node in enumerate(block):
                    gaps[column] = _gap(data, node, found[node])
            gradients = np.abs(gaps @ data.before)
            for column, node in enumerate(block):
                gradients[column, found[node]] = 0.0
                new = strongest(gradients[column], size)
                found[node] = np.union1d(found[node], new)
    return found


def _gap(data: Standardised, node: int, parents: np.ndarray) -> np.ndarray:
    """Return what least squares on `parents` leaves of a series, in standardised units."""
    row = fitted_row(data, node, parents)
    weights = row.coefficients * data.scale[parents] / data.scale[node]
    return data.targets[node] - weights @ data.columns[parents]
