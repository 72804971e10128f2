"""Parents of series that are not regressed: from two-hop rows of seeds, or by gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from graftviz.data.series.series import StandardisedData
from graftviz.dynamics.products import Products
from graftviz.dynamics.rows import fit_row, strongest

GRAFT_ROUNDS = 3  # rounds of activation; the coefficients are fitted again after each
_BLOCK = 64  # series whose gradients are computed in one product


class Scores(NamedTuple):
    """Scores of candidate parents, by series, and the additions that they took."""

    by_series: dict[int, np.ndarray]
    additions: int


def two_hop_scores(seeds: Iterable[tuple[np.ndarray, np.ndarray]], n: int) -> Scores:
    """Return the scores E_j of each series j that is a parent of seeds (equation 2.9).

    E_ju = Σ |B_iu| / ‖B_i‖₁ over the seeds i that have j among their parents: if u drives i in two
    steps, and j drives i in one, then u is likely to drive j.

    Parameters
    ----------
    seeds : iterable of (parents, two_hop)
        For each seed: int array, and float array of shape (n,) that sums to 1, or to 0 if there is
        no information.
    n : int
    """
    scores: dict[int, np.ndarray] = {}
    additions = 0
    for parents, two_hop in seeds:
        if not two_hop.any():
            continue
        for j in parents.tolist():
            scores.setdefault(j, np.zeros(n))
            scores[j] += two_hop
            additions += n
    return Scores(scores, additions)


def grafted_parents(
    data: StandardisedData, nodes: Sequence[int], k: int, times: Products
) -> dict[int, np.ndarray]:
    """Return k parents of each node, selected by the gradient of its squared error.

    A third of the parents is activated in each round; least squares on the active parents then
    updates the gradients. This is stagewise orthogonal matching pursuit, at the cost of three
    products with X′.
    """
    found = {int(node): np.zeros(0, dtype=np.int64) for node in nodes}
    sizes = [len(part) for part in np.array_split(np.arange(k), min(GRAFT_ROUNDS, k))]
    for at in range(0, len(nodes), _BLOCK):
        block = [int(node) for node in nodes[at : at + _BLOCK]]
        gaps = data.targets[block]
        for number, size in enumerate(sizes):
            if number > 0:
                for column, node in enumerate(block):
                    row = fit_row(data, node, found[node])
                    times.count += row.work.coefficients
                    weights = row.coefficients * data.scale[row.parents] / data.scale[node]
                    gaps[column] = data.targets[node] - times(weights, data.columns[row.parents])
            gradients = np.abs(times(gaps, data.before))
            for column, node in enumerate(block):
                gradients[column, found[node]] = 0.0
                new = strongest(gradients[column], size)
                found[node] = np.union1d(found[node], new)
    return found
