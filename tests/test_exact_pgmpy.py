"""Exact inference against an implementation of other people: pgmpy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.inference import BeliefPropagation
from pgmpy.models import DiscreteMarkovNetwork

from graftviz.inference.exact import JunctionTree
from graftviz.model import PairwiseMRF


def random_model(seed: int) -> PairwiseMRF:
    """Ten variables of 2–4 states, all joined somehow, a few potentials zero."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=10)
    pairs = {(int(rng.integers(j)), j) for j in range(1, 10)}
    pairs |= {pair for pair in itertools.combinations(range(10), 2) if rng.random() < 0.2}
    tables = {(i, j): rng.normal(0, 1.0, (sizes[i], sizes[j])) for i, j in sorted(pairs)}
    for table in tables.values():
        table[rng.random(table.shape) < 0.05] = -np.inf
    return PairwiseMRF.from_tables([rng.normal(size=size) for size in sizes], tables)


def in_pgmpy(model: PairwiseMRF) -> DiscreteMarkovNetwork:
    network = DiscreteMarkovNetwork([(model.names[i], model.names[j]) for i, j in model.edges])
    for i, name in enumerate(model.names):
        values = np.exp(model.node_weights(i))
        network.add_factors(DiscreteFactor([name], [len(values)], values))
    for e, (i, j) in enumerate(model.edges):
        values = np.exp(model.edge_weights(e))
        network.add_factors(DiscreteFactor([model.names[i], model.names[j]], values.shape, values))
    return network


@pytest.mark.parametrize("seed", range(5))
def test_pgmpy_agrees(seed):
    model = random_model(seed)
    observed: dict[str, int] = {}
    for name in ("x3", "x7") if seed % 2 else ():  # in states that are possible together
        observed[name] = int(JunctionTree(model, observed).node(model.index_of(name)).argmax())
    network = in_pgmpy(model)
    other, tree = BeliefPropagation(network), JunctionTree(model, observed)
    other.calibrate()
    if not observed:
        assert np.exp(tree.log_partition) == pytest.approx(network.get_partition_function())
    for name in set(model.names) - set(observed):
        found = other.query([name], evidence=observed, show_progress=False).values
        found = np.asarray(found) / np.sum(found)
        np.testing.assert_allclose(tree.node(model.index_of(name)), found, atol=1e-10)
    free = [name for name in model.names if name not in observed]
    for one, another in itertools.pairwise(free[:4]):
        joint = other.query([one, another], evidence=observed, show_progress=False)
        values = np.moveaxis(np.asarray(joint.values), joint.variables.index(one), 0)
        i, j = model.index_of(one), model.index_of(another)
        np.testing.assert_allclose(tree.pair(i, j), values / values.sum(), atol=1e-10)
