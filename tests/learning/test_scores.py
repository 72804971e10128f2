"""Scores: plain formulas, kernels and required attributes."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import naive
import numpy as np
import pytest
from learner_cases import mixed_table, plain_scores, scale_free_table

from graftviz import PairwiseMRF
from graftviz.data.synthetic.potentials import random_model
from graftviz.data.table import DiscreteTable
from graftviz.inference.methods import infer
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.edge_grafting import EdgeGrafting
from graftviz.learning.grafting.grafting import GraftingRun
from graftviz.learning.scores.base import PairFit, Score, ScorerInput, edge_dimension
from graftviz.learning.scores.kernels import Measure, new_scoring, score_batch, score_slots
from graftviz.learning.scores.pseudo_likelihood import conditional
from graftviz.learning.scores.registry import SCORES
from graftviz.learning.weights.penalty import Penalty
from graftviz.learning.weights.pseudo_network import PseudoNetwork

every_score = pytest.mark.parametrize("name", SCORES)


def model_of(table, edges, seed=0):
    return random_model(np.array(edges), table.cardinalities.tolist(), seed=seed)


def fitted(table, name):
    """Return a run of a score with three edges."""
    run = GraftingRun(table, EdgeGrafting(preset="paper", score=name))
    run.refit(np.array([[0, 1], [1, 2], [4, 6]], dtype=np.int32))
    run.polish()
    return run


def nodes_of(run):
    return np.split(run.network.node_beliefs, run.network.state.node_offsets[1:-1])


def norm_of(name, table, model, i, j):
    return SCORES[name].of_pair(
        PairFit(table, model, infer(model, "bp", tolerance=1e-12).node, i, j)
    )


def with_edge(model, i, j, weights):
    """Return the model with a further edge."""
    edges = np.concatenate([model.edges, [[i, j]]])
    return PairwiseMRF(
        model.cardinalities, edges, np.concatenate([model.weights, weights.reshape(-1)])
    )


def test_dimensions_are_the_joint_states_or_their_root():
    assert edge_dimension(3, 4, "count") == 12.0
    assert edge_dimension(3, 4, "sqrt") == math.sqrt(12)


@every_score
def test_a_score_describes_itself(name):
    score = SCORES[name]
    assert score.name == name
    assert min(len(score.formula), len(score.help), len(score.when_to_use)) > 5
    assert score.when_to_use.endswith(".")
    assert score.noise_factor > 0


@every_score
def test_kernels_and_formulas_of_a_fit_agree(name):
    table = mixed_table(8, 900)
    score = SCORES[name]
    run = fitted(table, name)
    counts, model, beliefs = run.counts, run.network.model(), nodes_of(run)
    pairs = list(itertools.combinations(range(table.n_variables), 2))
    slots = np.array([counts.slot(i, j) for i, j in pairs], dtype=np.int64)
    counts.reserve(0)
    # With κ = 0 the value is the norm; with an unreachable κ, it is λ times a share.
    for measure in (Measure(), Measure(0, 1.0, 3.0), Measure(0, 1.0, 30.0)):
        scorer = score.scorer(ScorerInput(run.network, table, counts, measure))
        scorer.refresh()
        found = np.empty(len(slots))
        score_slots(slots, counts.packed, counts.store, scorer.scoring, counts.scratch, found)
        for (i, j), value in zip(pairs, found, strict=True):
            own = score.of_pair(PairFit(table, model, beliefs, i, j), measure.significance)
            wanted = own.value / edge_dimension(*table.cardinalities[[i, j]], "count")
            if measure.significance and own.share <= 1.0:
                wanted = min(wanted, own.share)
            assert value == pytest.approx(wanted, rel=2e-3, abs=1e-7)


def test_batches_of_pairs_equal_their_formulas():
    """Check score, norm and slack, the drift within which a pair provably does not pass."""
    table, name = mixed_table(8, 900), "pseudo-likelihood"
    run = fitted(table, name)
    counts, model, lam, kappa = run.counts, run.network.model(), 0.02, 3.0
    scorer = SCORES[name].scorer(ScorerInput(run.network, table, counts, Measure(0, lam, kappa)))
    scorer.refresh()
    plain = plain_scores(table, model, name, False)
    first, second = np.array(list(plain)).T
    cells = [pair.observed.reshape(-1) for pair in plain.values()]
    starts = np.cumsum([0, *map(len, cells)])
    out = np.empty((3, len(plain)))
    score_batch(first, second, starts, np.concatenate(cells), counts.packed, scorer.scoring, out)
    passed = 0
    for (value, norm, slack), pair in zip(out.T, plain.values(), strict=True):
        multiple, needed, share = pair.tested(kappa)
        wanted = pair.value * pair.observed.size
        assert norm == pytest.approx(wanted, rel=2e-3, abs=1e-6)
        assert value == pytest.approx(pair.effective(lam, kappa), rel=2e-3, abs=1e-7)
        least = max(lam * pair.observed.size - wanted, 0.0)
        if 0.0 < multiple < needed:
            sigma = 2 * np.sqrt(pair.variance / 900)
            own = (needed - multiple) * sigma / (1 + 2.5 * needed * sigma / pair.variance)
            least = max(least, own)
        assert slack == pytest.approx(least, rel=1e-2, abs=1e-5)
        passed += share > 1.0
    assert 0 < passed < len(plain)


def test_incomplete_score_is_refused_by_name():
    complete = {"name": "toy", "formula": "s", "help": "toy", "when_to_use": "Never."}
    type("Toy", (Score,), complete)
    wrong = [
        ({"name": ""}, "Toy needs the attribute 'name'"),
        ({"help": ""}, "Toy needs the attribute 'help'"),
        ({"noise_facter": 2.0}, "Toy has the unknown attribute 'noise_facter'; there are"),
    ]
    for change, words in wrong:
        with pytest.raises(TypeError, match=words):
            type("Toy", (Score,), complete | change)


def test_state_without_kernels_is_refused_by_name():
    class ToyState(NamedTuple):
        pass

    counts = PairCounts(mixed_table(8, 50))
    with pytest.raises(TypeError, match=r"no kernel expect for .*ToyState: define one with @ke"):
        new_scoring(ToyState(), counts.packed, counts.packed.margins / 50, Measure())


@pytest.mark.parametrize("name", ["belief", "pseudo-likelihood"])
def test_norm_and_its_test_equal_those_of_the_twin(name):
    table = mixed_table(8, 900)
    model = fitted(table, name).network.model()
    beliefs = infer(model, "bp", tolerance=1e-13).node
    for (i, j), plain in plain_scores(table, model, name, False).items():
        own = SCORES[name].of_pair(PairFit(table, model, beliefs, i, j), 3.0)
        dimension = edge_dimension(*table.cardinalities[[i, j]], "count")
        assert own.value / dimension == pytest.approx(plain.value, rel=1e-6, abs=1e-9)
        assert own[1:4] == pytest.approx(plain.tested(3.0), rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("case", ["mixed", "scale-free"])
def test_conditionals_equal_those_of_the_twin(case):
    table = mixed_table() if case == "mixed" else scale_free_table(8, 3, 700)
    model = model_of(table, [(0, 1), (1, 2), (0, 4), (5, 7)])
    wanted = naive.conditionals(model, table.codes)
    for i in range(table.n_variables):
        np.testing.assert_allclose(conditional(model, table.codes, i), wanted[i], rtol=1e-12)


def test_the_pseudo_likelihood_score_is_the_slope_of_the_loss():
    """Check by finite differences in every weight of the absent pair."""
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
        found = norm_of("pseudo-likelihood", table, model, i, j)
        assert found.value == pytest.approx(np.linalg.norm(slopes), rel=1e-6)


def test_without_edges_the_pseudo_likelihood_score_is_twice_the_belief_score():
    table = mixed_table()
    shares = [
        np.bincount(c, minlength=s) / table.n_rows
        for c, s in zip(table.codes, table.cardinalities, strict=True)
    ]
    weights = np.concatenate([np.log(np.maximum(share, 1e-300)) for share in shares])
    model = PairwiseMRF(table.cardinalities, np.zeros((0, 2), dtype=np.int32), weights)
    for i, j in ((0, 1), (2, 9), (3, 4)):
        belief = SCORES["belief"].of_pair(PairFit(table, model, shares, i, j), 3.0)
        by_rows = SCORES["pseudo-likelihood"].of_pair(PairFit(table, model, shares, i, j), 3.0)
        assert by_rows.value == pytest.approx(2 * belief.value, rel=1e-9, abs=1e-12)
        assert by_rows[1:4] == pytest.approx(belief[1:4], rel=1e-9)


def test_noise_is_the_spread_of_scores_over_many_samples():
    """Check two variables that are independent given a third; each sample has a
    model fitted to it, as in a run."""
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
        at = PairFit(table, network.model(), [], 0, 2)
        ratios.append(SCORES["pseudo-likelihood"].of_pair(at).multiple)
    assert np.sqrt(np.mean(np.square(ratios))) == pytest.approx(1.0, abs=0.08)
