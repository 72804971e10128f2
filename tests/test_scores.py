"""The formulas of scores: what they say of small cases, and that they are gradients."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from learner_cases import mixed_table, scale_free_table

from graftviz import scores
from graftviz.counts import PairCounts
from graftviz.fitting.penalty import Penalty
from graftviz.fitting.pseudo_network import PseudoNetwork
from graftviz.inference import infer
from graftviz.inference.response import linear_response
from graftviz.model import PairwiseMRF
from graftviz.sampling import random_model
from graftviz.table import DiscreteTable


def model_of(table, edges, seed=0):
    return random_model(np.array(edges), table.cardinalities.tolist(), seed=seed)


def with_edge(model, i, j, weights):
    """The same model with one edge more."""
    edges = np.concatenate([model.edges, [[i, j]]])
    return PairwiseMRF(
        model.cardinalities, edges, np.concatenate([model.weights, weights.reshape(-1)])
    )


def test_dimensions_are_the_joint_states_or_their_root():
    assert scores.edge_dimension(3, 4, "count") == 12.0
    assert scores.edge_dimension(3, 4, "sqrt") == math.sqrt(12)


@pytest.mark.parametrize("case", ["mixed", "scale-free"])
def test_conditionals_are_those_of_the_twin(case):
    table = mixed_table() if case == "mixed" else scale_free_table(8, 3, 700)
    model = model_of(table, [(0, 1), (1, 2), (0, 4), (5, 7)])
    wanted = naive.conditionals(model, table.codes)
    for i in range(table.n_variables):
        given = scores.conditional(model, table.codes, i)
        np.testing.assert_allclose(given, wanted[i], rtol=1e-12)


def test_the_pseudo_likelihood_score_is_the_slope_of_the_loss():
    """By finite differences in every weight of the pair that is not there."""
    table = scale_free_table(8, 3, 700)
    model = model_of(table, [(0, 1), (1, 2), (2, 5), (0, 4)])
    twin = naive.PenalisedPseudoLikelihood(table.codes, 0.0, 0.0)
    for i, j in ((0, 2), (3, 6), (4, 7)):
        slopes = np.empty((3, 3))
        for a, b in np.ndindex(3, 3):
            losses = []
            for h in (1e-5, -1e-5):
                weights = np.zeros((3, 3))
                weights[a, b] = h
                losses.append(twin.loss(with_edge(model, i, j, weights)))
            slopes[a, b] = (losses[0] - losses[1]) / 2e-5
        given = [scores.conditional(model, table.codes, k) for k in (i, j)]
        found = scores.pseudo_likelihood_score(*given, table.codes[i], table.codes[j], 9.0)
        assert found == pytest.approx(np.linalg.norm(slopes) / 9.0, rel=1e-6)


def test_without_edges_the_pseudo_likelihood_score_is_twice_the_belief_score():
    table = mixed_table()
    shares = [
        np.bincount(c, minlength=s) / table.n_rows
        for c, s in zip(table.codes, table.cardinalities, strict=True)
    ]
    for i, j in ((0, 1), (2, 9), (3, 4)):
        counts = naive.count_pair(table.codes[i], table.codes[j], len(shares[i]), len(shares[j]))
        belief = scores.belief_score(counts / table.n_rows, shares[i], shares[j], 1.0)
        given = [np.tile(shares[k], (table.n_rows, 1)) for k in (i, j)]
        by_rows = scores.pseudo_likelihood_score(*given, table.codes[i], table.codes[j], 1.0)
        assert by_rows == pytest.approx(2 * belief, rel=1e-9, abs=1e-12)
        noise = scores.belief_noise(shares[i], shares[j], table.n_rows)
        assert noise == pytest.approx(naive.belief_noise(shares[i], shares[j], table.n_rows))
        assert scores.pseudo_likelihood_noise(*given) == pytest.approx(2 * noise, rel=1e-9)


def test_noise_is_the_spread_of_scores_over_many_samples():
    """Two variables that depend on a third, and on each other through it alone; each sample has a
    model fitted to it, as a run would have."""
    rng = np.random.default_rng(0)
    true = PairwiseMRF(np.array([3, 2, 4]), np.array([[0, 1], [1, 2]]), rng.normal(size=9 + 6 + 8))
    every, chances = naive.joint_probabilities(true)
    ratios = []
    free = Penalty(0.0, 0.0, False, False)
    for _ in range(150):
        rows = np.array(every)[rng.choice(len(every), size=400, p=chances)]
        table = DiscreteTable.from_codes(rows, cardinalities=[3, 2, 4])
        network = PseudoNetwork(table, PairCounts(table))
        network.add_edge(0, 1)
        network.add_edge(1, 2)
        network.polish(free, tolerance=1e-4)
        given = [scores.conditional(network.model(), table.codes, k) for k in (0, 2)]
        distance = scores.pseudo_likelihood_score(*given, table.codes[0], table.codes[2], 1.0)
        ratios.append(distance / scores.pseudo_likelihood_noise(*given))
    assert np.sqrt(np.mean(np.square(ratios))) == pytest.approx(1.0, abs=0.08)


def test_on_a_tree_linear_response_expects_the_pair_that_the_model_has():
    """So its score is the distance of the exact pair marginal from the data."""
    table = DiscreteTable.from_codes(
        np.random.default_rng(1).integers(0, 3, size=(200, 4)), cardinalities=[3] * 4
    )
    model = model_of(table, [(0, 1), (1, 2), (2, 3)])
    beliefs, response = infer(model, tolerance=1e-12), linear_response(model)
    every, chances = naive.joint_probabilities(model)
    every = np.array(every)
    for i, j in ((0, 2), (0, 3), (1, 3)):
        exact = np.zeros((3, 3))
        np.add.at(exact, (every[:, i], every[:, j]), chances)
        frequencies = naive.count_pair(table.codes[i], table.codes[j], 3, 3) / 200
        found = scores.response_score(
            frequencies, beliefs.node[i], beliefs.node[j], response.covariance(i, j), 9.0
        )
        assert found == pytest.approx(np.linalg.norm(exact - frequencies) / 9.0, rel=1e-7)
