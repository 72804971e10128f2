"""Random models that are small enough to enumerate, for the tests of regions."""

from __future__ import annotations

import numpy as np

from graftviz import PairwiseMRF


def random_case(rng):
    """A model of up to seven variables: any density, weak to strong, sometimes with zeros or a hub.

    Two to four states each, sometimes a variable with one.
    """
    most = int(rng.integers(2, 5))
    n = int(rng.integers(1, 8 if most < 4 else 7))
    sizes = rng.integers(1 if rng.random() < 0.1 else 2, most + 1, n)
    strength, field = 10.0 ** rng.uniform(-2.0, 1.2), 10.0 ** rng.uniform(-2.0, 1.0)
    density, with_zeros, with_hub = rng.uniform(0.2, 1.0), rng.random() < 0.3, rng.random() < 0.2
    nodes = [rng.normal(0.0, field, s) for s in sizes]
    edges = {}
    for i in range(n):
        for j in range(i + 1, n):
            if rng.random() < density or (with_hub and i == 0):
                edges[i, j] = rng.normal(0.0, strength, (sizes[i], sizes[j]))
    if with_zeros:
        for table in (*nodes, *edges.values()):
            table[rng.random(table.shape) < 0.12] = -np.inf
    return PairwiseMRF.from_tables(nodes, edges)


def ising(n, edges, couplings, fields):
    """A model of ±1 variables."""
    nodes = [np.array([-h, h]) for h in np.broadcast_to(fields, n)]
    tables = [np.array([[w, -w], [-w, w]]) for w in np.broadcast_to(couplings, len(edges))]
    return PairwiseMRF.from_tables(
        nodes, dict(zip(map(tuple, np.asarray(edges).tolist()), tables, strict=True))
    )
