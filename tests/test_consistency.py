"""The search for a joint state of positive probability: complete, and quick where it can be."""

from __future__ import annotations

import naive
import networkx as nx
import numpy as np
import pytest
from inference_cases import joint_scores, log_partition, random_model, random_tree

from graftviz import PairwiseMRF, infer
from graftviz.inference.consistency import consistent_states
from graftviz.inference.support import support


def colouring(graph: nx.Graph, colours: int) -> PairwiseMRF:
    """Every proper colouring of a graph is equally probable, everything else impossible."""
    differ = np.where(np.eye(colours), -np.inf, 0.0)
    pairs = [tuple(sorted(pair)) for pair in graph.edges]
    return PairwiseMRF.from_tables([np.zeros(colours)] * len(graph), dict.fromkeys(pairs, differ))


@pytest.mark.parametrize("part", range(6))
def test_a_state_is_found_exactly_where_there_is_one(part):
    answers = []
    for seed in range(40 * part, 40 * part + 40):
        model = random_model(seed, zeros=0.3 + 0.1 * (seed % 3), density=0.9)
        states = support(model)
        if states.empty_node >= 0:
            continue
        likely = np.random.default_rng(seed).random(len(states.possible))
        found, is_settled = consistent_states(model, states, likely)
        assert is_settled
        answers.append(found is not None)
        assert answers[-1] == (joint_scores(model).max() > -np.inf)
        if found is not None:
            assert model.log_scores(found[:, None])[0] > -np.inf
    assert any(answers)


def test_the_likely_state_is_taken_where_nothing_forbids_it():
    model = random_model(0)
    likely = np.random.default_rng(0).random(int(model.cardinalities.sum()))
    found, _ = consistent_states(model, support(model), likely)
    wanted = [part.argmax() for part in np.split(likely, model.node_offsets[1:-1])]
    assert found.tolist() == wanted


@pytest.mark.parametrize("seed", range(4))
def test_colourings_are_found_by_backtracking(seed):
    model = colouring(nx.gnm_random_graph(100, 200, seed=seed), 3)
    found, _ = consistent_states(model, support(model), np.zeros(300))
    assert all(found[i] != found[j] for i, j in model.edges)


def test_that_there_is_none_is_known_for_certain():
    """Six pigeons in five holes: every two alone are well, all of them are not."""
    model = colouring(nx.complete_graph(6), 5)
    found, is_settled = consistent_states(model, support(model), np.zeros(30))
    assert found is None
    assert is_settled
    beliefs = infer(model, "mean-field")
    assert beliefs.log_partition == -np.inf
    assert beliefs.log_partition_is == "exact"
    assert "No joint state has a positive probability" in beliefs.notes[0]


def test_giving_up_is_told():
    model = colouring(nx.complete_graph(14), 13)  # 13! ways to fail
    found, is_settled = consistent_states(model, support(model), np.zeros(14 * 13))
    assert found is None
    assert not is_settled
    beliefs = infer(model, "mean-field")
    assert beliefs.log_partition == -np.inf
    assert beliefs.log_partition_is == "lower bound"
    assert "vacuous" in beliefs.notes[-1]


@pytest.mark.parametrize("seed", range(4))
def test_mean_field_starts_from_it_where_its_own_starts_are_stuck(seed):
    model = colouring(nx.gnm_random_graph(60, 110, seed=seed), 3)
    below, above = infer(model, "mean-field"), infer(model, "trbp")
    assert 0.0 <= below.log_partition <= above.log_partition
    assert all(np.trace(pair) == 0.0 for pair in below.edge)


# Zero potentials thought through: equal to the plain twin, exact on trees.


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
