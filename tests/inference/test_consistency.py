"""Search for a joint state of positive probability: completeness and speed."""

from __future__ import annotations

import naive
import networkx as nx
import numpy as np
import pytest
from inference_cases import joint_scores, log_partition, random_model, random_tree

from graftviz import PairwiseMRF, infer
from graftviz.inference.support import consistent_states, support


def colouring(graph: nx.Graph, colours: int) -> PairwiseMRF:
    """Return a model in which proper colourings are equally probable, all else impossible."""
    differ = np.where(np.eye(colours), -np.inf, 0.0)
    pairs = [tuple(sorted(pair)) for pair in graph.edges]
    return PairwiseMRF.from_tables([np.zeros(colours)] * len(graph), dict.fromkeys(pairs, differ))


@pytest.mark.parametrize("part", range(6))
def test_state_is_found_if_and_only_if_one_exists(part):
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


def test_most_likely_states_are_returned_without_zeros():
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


def test_absence_of_states_is_proved():
    """Check six pigeons in five holes, where every two alone are consistent."""
    model = colouring(nx.complete_graph(6), 5)
    found, is_settled = consistent_states(model, support(model), np.zeros(30))
    assert found is None
    assert is_settled
    beliefs = infer(model, "mean-field")
    assert beliefs.log_partition == -np.inf
    assert beliefs.log_partition_is == "exact"
    assert "No joint state has a positive probability" in beliefs.notes[0]


def test_search_beyond_limit_is_reported_as_vacuous_bound():
    model = colouring(nx.complete_graph(14), 13)  # 13! ways to fail
    found, is_settled = consistent_states(model, support(model), np.zeros(14 * 13))
    assert found is None
    assert not is_settled
    beliefs = infer(model, "mean-field")
    assert beliefs.log_partition == -np.inf
    assert beliefs.log_partition_is == "lower bound"
    assert "vacuous" in beliefs.notes[-1]


@pytest.mark.parametrize("seed", range(4))
def test_mean_field_starts_from_consistent_state_if_other_starts_fail(seed):
    model = colouring(nx.gnm_random_graph(60, 110, seed=seed), 3)
    below, above = infer(model, "mean-field"), infer(model, "trbp")
    assert 0.0 <= below.log_partition <= above.log_partition
    assert all(np.trace(pair) == 0.0 for pair in below.edge)


# Propagation of zero potentials.


@pytest.mark.parametrize("seed", range(40))
def test_support_matches_plain_twin(seed):
    model = random_model(seed, zeros=0.1 + 0.01 * seed)
    found = support(model)
    wanted = naive.arc_consistent(model)
    if found.empty_node >= 0:
        assert not any(row.all() for row in wanted if not row.any())
        assert any(not row.any() for row in wanted)
    else:
        assert np.array_equal(found.possible, np.concatenate(wanted))


@pytest.mark.parametrize("seed", range(30))
def test_support_is_exact_on_trees(seed):
    model = random_tree(seed, zeros=0.3)
    found = support(model)
    assert (found.empty_node >= 0) == (log_partition(model) == -np.inf)
    if found.empty_node < 0:
        nodes, _, _ = naive.marginals(model)
        assert np.array_equal(found.possible, np.concatenate(nodes) > 0)


def test_all_states_are_possible_without_zeros():
    assert support(random_model(0)).possible.all()


@pytest.mark.parametrize("method", ["bp", "trbp", "mean-field"])
def test_contradiction_is_reported_with_variable_name(method):
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
def test_evidence_of_probability_zero_is_reported(method):
    equal = np.where(np.eye(2), 0.0, -np.inf)
    model = PairwiseMRF.from_tables([np.zeros(2)] * 3, {(0, 1): equal, (1, 2): equal})
    beliefs = infer(model, method, evidence={0: 0, 2: 1})
    assert beliefs.log_partition == -np.inf
    assert beliefs.evidence == {0: 0, 2: 1}
