"""Zero potentials thought through: equal to the plain twin, exact on trees."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from inference_cases import log_partition, random_model, random_tree

from graftviz.inference import infer
from graftviz.inference.support import support
from graftviz.model import PairwiseMRF


@pytest.mark.parametrize("seed", range(40))
def test_equals_the_plain_twin(seed):
    model = random_model(seed, zeros=0.1 + 0.01 * seed)
    found = support(model)
    wanted = naive.arc_consistent(model)
    if found.empty_node >= 0:
        assert not any(row.all() for row in wanted if not row.any())
        assert any(not row.any() for row in wanted)
    else:
        assert np.array_equal(found.possible, np.concatenate(wanted))


@pytest.mark.parametrize("seed", range(30))
def test_on_trees_what_is_left_has_a_positive_probability(seed):
    model = random_tree(seed, zeros=0.3)
    found = support(model)
    assert (found.empty_node >= 0) == (log_partition(model) == -np.inf)
    if found.empty_node < 0:
        nodes, _, _ = naive.marginals(model)
        assert np.array_equal(found.possible, np.concatenate(nodes) > 0)


def test_without_zeros_everything_is_possible():
    assert support(random_model(0)).possible.all()


@pytest.mark.parametrize("method", ["bp", "trbp", "mean-field"])
def test_a_contradiction_is_told_by_name(method):
    equal, opposite = np.where(np.eye(2), 0.0, -np.inf), np.where(np.eye(2), -np.inf, 0.0)
    model = PairwiseMRF.from_tables(
        [[0.0, -np.inf], [0.0, 0.0], [0.0, -np.inf]],
        {(0, 1): equal, (1, 2): opposite},
        names=("left", "middle", "right"),
    )
    beliefs = infer(model, method)
    assert beliefs.log_partition == -np.inf
    assert beliefs.log_partition_is == "exact"
    assert "No joint state has a positive probability" in beliefs.notes[0]
    assert any(name in beliefs.notes[0] for name in model.names)
    assert all(np.isfinite(belief).all() for belief in (*beliefs.node, *beliefs.edge))


@pytest.mark.parametrize("method", ["bp", "trbp", "mean-field"])
def test_evidence_of_probability_zero_is_told(method):
    equal = np.where(np.eye(2), 0.0, -np.inf)
    model = PairwiseMRF.from_tables([np.zeros(2)] * 3, {(0, 1): equal, (1, 2): equal})
    beliefs = infer(model, method, evidence={0: 0, 2: 1})
    assert beliefs.log_partition == -np.inf
    assert beliefs.evidence == {0: 0, 2: 1}
