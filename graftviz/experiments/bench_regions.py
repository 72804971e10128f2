"""What the benchmark does with local queries: the same ones on a small and on a large graph.

Both graphs are tori of Ising variables, the large one tiled with copies of the small one. So a
query finds the same neighbourhood in both, to the last bit, and has the same answer; only the size
of the rest differs.
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


class _Tiled(NamedTuple):
    model: PairwiseMRF
    columns: int


def local_queries(lab: Lab, size: Size) -> Sample:
    """One local query, from the time of many: on the graph of this size, and on the small one."""
    del lab
    large, small = _torus(_tiles(size), size.seed), _torus(1, size.seed)
    _ask(small, 1), _ask(large, 1)  # the indices of a model are made when they are first used
    sample = timed(lambda: _ask(large, QUERIES))[1].scaled(1.0 / QUERIES)
    on_small = timed(lambda: _ask(small, QUERIES))[1].scaled(1.0 / QUERIES)
    ratio = sample.seconds / on_small.seconds if on_small.seconds > 0 else 1.0
    return sample._replace(facts={SLOWER: ratio})


def _tiles(size: Size) -> int:
    """Return how many copies of the small torus stand side by side."""
    return max(1, round(math.sqrt(size.nodes / SMALL_NODES)))


def _ask(torus: _Tiled, queries: int) -> list[LocalMarginal]:
    """Query variables in the first tile."""
    found = []
    for k in range(queries):
        row, column = divmod(k * 37 % SMALL_NODES, COLUMNS)
        found.append(local_marginal(torus.model, row * torus.columns + column, tolerance=0.0))
    return found


@functools.cache
def _torus(tiles: int, seed: int) -> _Tiled:
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
    return _Tiled(model, field.shape[1])
