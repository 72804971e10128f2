"""Approximate maximum likelihood in closed form, by matching beliefs to the data's marginals.

If exact inference is too expensive, log Z is replaced by that of belief propagation (Bethe) or of
tree-reweighted belief propagation, an upper bound. This likelihood is maximal if the beliefs equal
the marginals of the data, and then

    w_i = log p(i),    w_ij = ρ_ij log p(i, j) / (p(i) p(j)),

with edge appearance probabilities ρ (1 for belief propagation): Wainwright, Jaakkola and Willsky,
"Tree-reweighted belief propagation algorithms and approximate ML estimation by pseudo-moment
matching" (2003). Tree-reweighted beliefs are unique, so inference reproduces them; belief
propagation may reach another fixed point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.inference.reweighted.appearance import edge_appearance
from graftviz.learning.bounded.likelihood_fit import Targets


class Matched(NamedTuple):
    """Weights in closed form, flat, and the approximate objective in nats per row."""

    node_weights: np.ndarray
    edge_weights: np.ndarray
    objective: float


def match_moments(targets: Targets, edges: np.ndarray, method: str) -> Matched:
    """Return the weights whose beliefs equal the targets.

    Parameters
    ----------
    targets : Targets
    edges : int64 array, shape (m, 2)
    method : {"bp", "trbp"}
    """
    appearance = np.ones(len(edges))
    sizes = targets.counts.cardinalities
    if method == "trbp":
        couples = (sizes[edges] > 1).all(axis=1)
        appearance[couples] = edge_appearance(len(sizes), edges[couples]).probabilities
    nodes = np.log(targets.nodes)
    objective = float(-(targets.nodes @ nodes))
    tables = []
    for (i, j), share in zip(edges.tolist(), appearance.tolist(), strict=True):
        target = targets.pair(i, j)
        ratios = np.log(target / np.outer(targets.node(i), targets.node(j)))
        objective -= share * float((target * ratios).sum())
        tables.append(share * ratios.reshape(-1))
    return Matched(nodes, np.concatenate([np.zeros(0), *tables]), objective)
