"""Benchmarked exact inference: marginals and log Z of grids and of banded graphs."""

from __future__ import annotations

import math

import numpy as np

from graftviz.experiments.bench import Lab, Sample, Size, timed
from graftviz.inference.exact import JunctionTree
from graftviz.model import PairwiseMRF
from graftviz.sampling import grid_graph, random_model

BAND = 6  # neighbours of each variable on either side


def grid_marginals(lab: Lab, size: Size) -> Sample:
    """Compute all marginals and log Z of a square grid without wrap-around."""
    del lab
    side = math.isqrt(size.nodes)
    edges = grid_graph(side, side).edges
    return _marginals(random_model(edges, [size.states] * side**2, seed=size.seed))


def band_marginals(lab: Lab, size: Size) -> Sample:
    """Compute all marginals and log Z of a banded graph, whose cliques have many states."""
    del lab
    edges = [(i, j) for j in range(size.nodes) for i in range(max(j - BAND, 0), j)]
    return _marginals(random_model(np.array(edges), [size.states] * size.nodes, seed=size.seed))


def _marginals(model: PairwiseMRF) -> Sample:
    def work() -> JunctionTree:
        tree = JunctionTree(model)
        tree.beliefs()
        return tree

    tree, sample = timed(work)
    return sample._replace(facts={"width": float(tree.plan.width)})
