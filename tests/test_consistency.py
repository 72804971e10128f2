"""The search for a joint state of positive probability: complete, and quick where it can be."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from inference_cases import joint_scores, random_model

from graftviz.inference import infer
from graftviz.inference.consistency import consistent_states
from graftviz.inference.support import support
from graftviz.model import PairwiseMRF


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
    assert found is not None
    wanted = [part.argmax() for part in np.split(likely, model.node_offsets[1:-1])]
    assert found.tolist() == wanted


@pytest.mark.parametrize("seed", range(4))
def test_colourings_are_found_by_backtracking(seed):
    model = colouring(nx.gnm_random_graph(100, 200, seed=seed), 3)
    found, _ = consistent_states(model, support(model), np.zeros(300))
    assert found is not None
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
