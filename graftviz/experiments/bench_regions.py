"""Benchmarked local queries on a small and on a large graph.

Both graphs are tori of Ising variables, the large one tiled with copies of the small one. A query
therefore has the same neighbourhood and the same result in both.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from graftviz.experiments.bench import Lab, Sample, Size, timed
from graftviz.model import PairwiseMRF
from graftviz.regions import LocalMarginal, local_marginal

ROWS, COLUMNS = 25, 40
SMALL_NODES = ROWS * COLUMNS
SLOWER = f"time over that on {SMALL_NODES:,} nodes"
QUERIES = 25
FIELD, COUPLING = 0.5, 0.25


class _Torus(NamedTuple):
    model: PairwiseMRF
    columns: int


def local_queries(lab: Lab, size: Size) -> Sample:
    """Time one local query, as the mean of many, on the graph of this size and on the small one."""
    del lab
    large, small = _torus(_tiles(size), size.seed), _torus(1, size.seed)
    _query(small, 1), _query(large, 1)  # the index of a model is built on first use
    sample = timed(lambda: _query(large, QUERIES))[1].scaled(1.0 / QUERIES)
    on_small = timed(lambda: _query(small, QUERIES))[1].scaled(1.0 / QUERIES)
    ratio = sample.seconds / on_small.seconds if on_small.seconds > 0 else 1.0
    return sample._replace(facts={SLOWER: ratio})


def _tiles(size: Size) -> int:
    """Return the number of copies of the small torus along each side."""
    return max(1, round(math.sqrt(size.nodes / SMALL_NODES)))


def _query(torus: _Torus, queries: int) -> list[LocalMarginal]:
    """Query variables in the first tile."""
    found = []
    for k in range(queries):
        row, column = divmod(k * 37 % SMALL_NODES, COLUMNS)
        found.append(local_marginal(torus.model, row * torus.columns + column, tolerance=0.0))
    return found


@functools.cache
def _torus(tiles: int, seed: int) -> _Torus:
    """Return a torus of tiles × tiles copies of 25 × 40 Ising variables."""
    rng = np.random.default_rng(seed)
    field = np.tile(rng.uniform(-FIELD, FIELD, (ROWS, COLUMNS)), (tiles, tiles))
    coupling = np.tile(rng.uniform(-COUPLING, COUPLING, (2, ROWS, COLUMNS)), (1, tiles, tiles))
    nodes = np.arange(field.size).reshape(field.shape)
    following = np.array([np.roll(nodes, -1, axis=axis) for axis in (0, 1)])
    ends = np.stack([np.broadcast_to(nodes, following.shape), following]).reshape(2, -1)
    weights = np.concatenate(
        [
            np.outer(field.reshape(-1), [-1.0, 1.0]).reshape(-1),
            np.outer(coupling.reshape(-1), [1.0, -1.0, -1.0, 1.0]).reshape(-1),
        ]
    )
    model = PairwiseMRF(np.full(field.size, 2), np.sort(ends, axis=0).T, weights)
    return _Torus(model, field.shape[1])
