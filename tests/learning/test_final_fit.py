"""Final weights by exact maximum likelihood, and the comparison of all pair marginals."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from learner_cases import drain, followers_table, parts_of, scale_free_table

import graftviz as gv
from graftviz import BestChoice, DiscreteTable, EdgeGrafting, FirstHit
from graftviz.data.synthetic.potentials import joint_probabilities, joint_states, random_model
from graftviz.learning.bounded.clique_tables import COMPLETE
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.marginals import matched_nodes, moved_deviations, moved_rows
from graftviz.learning.scores.pair_test import pair_test
from graftviz.learning.weights.final_fit import (
    STRENGTHS,
    Fold,
    best_penalty,
    exact_fit,
    exact_marginals,
)
from graftviz.learning.weights.penalty import Penalty
from graftviz.learning.weights.pseudo_network import PseudoNetwork

LEARNERS = [BestChoice(), EdgeGrafting(), FirstHit()]


def kind(learner: gv.BestChoice) -> str:
    return learner.name


def break_off(columns: int, share: float, seed: int, rows: int = 1000) -> DiscreteTable:
    """Return independent columns of which all answers after some point are missing together."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.integers(1, 6, (rows, columns)).astype(float)).add_prefix("q")
    frame[random.random(rows) < share] = np.nan
    return gv.read_table(frame, missing="state")


def fitted(table: DiscreteTable, edges: np.ndarray, **options: object):
    counts = PairCounts(table)
    sizes = table.cardinalities
    cells = int(sizes[edges].prod(axis=1).sum())
    start = np.zeros(int(sizes.sum())), np.zeros(cells)
    options = {"lam2": 0.5 / table.total_weight, "distinct": table.n_rows, **options}
    return exact_fit(counts, edges, start, **options)


@pytest.mark.parametrize("learner", LEARNERS, ids=kind)
@pytest.mark.parametrize(("columns", "share", "seed"), [(6, 0.05, 2), (15, 0.1, 1)])
def test_answers_that_are_missing_together_predict_each_other(learner, columns, share, seed):
    result = gv.learn(break_off(columns, share, seed), learner)
    beliefs = gv.infer(result.model, "exact", evidence={"q0": "missing"})
    assert min(beliefs[f"q{k}"]["missing"] for k in range(1, columns)) >= 0.95
    check = result.certificate.marginals
    assert check.deviating == 0
    assert check.pairs == columns * (columns - 1) // 2 - result.n_edges
    assert result.trace.stop_reason.kind == "marginals.exact"


@pytest.mark.parametrize("learner", LEARNERS, ids=kind)
def test_copies_of_a_column_predict_each_other(learner):
    random = np.random.default_rng(4)
    frame = pd.DataFrame(random.integers(0, 3, (600, 8))).add_prefix("v")
    frame = frame.assign(copy=frame.v0, another=frame.v0)
    model = gv.learn(frame, learner).model
    beliefs = gv.infer(model, "exact", evidence={"v0": 1})
    assert min(beliefs["copy"]["1"], beliefs["another"]["1"]) > 0.98


@pytest.mark.parametrize("learner", LEARNERS, ids=kind)
def test_marginals_of_the_model_are_the_shares_of_the_data(learner):
    table = followers_table(12)
    outcome = drain(table, learner).outcome
    assert outcome.objective_name == "exact likelihood"
    assert outcome.kkt_residual < 2e-6
    beliefs = gv.infer(outcome.model(), "exact")
    for i in range(12):
        shares = table.state_counts(i) / table.n_rows
        np.testing.assert_allclose(beliefs.node[i], shares, atol=1e-5)


def test_pair_marginals_are_those_of_enumeration():
    table = scale_free_table(6, 3, 400)
    edges = np.array([[0, 1], [1, 2], [0, 2], [3, 4]])
    found = fitted(table, edges)
    fit = found.fit
    weights = np.concatenate([fit.node_weights, fit.edge_weights])
    model = gv.PairwiseMRF(table.cardinalities, edges, weights)
    states, chances = joint_states(model), joint_probabilities(model)
    offsets, marginals = fit.targets.offsets, fit.pair_marginals()
    for i in range(6):
        for j in range(6):
            if i != j:
                expected = np.zeros((3, 3))
                np.add.at(expected, (states[i], states[j]), chances)
                own = marginals[offsets[i] : offsets[i + 1], offsets[j] : offsets[j + 1]]
                np.testing.assert_allclose(own, expected, atol=1e-10)


def test_strength_is_the_same_for_weights_and_repeated_rows():
    codes = followers_table(5, rows=120).codes
    times = np.random.default_rng(1).integers(1, 4, 120)
    weighted = replace(DiscreteTable.from_codes(codes.T), weights=times.astype(float))
    edges = [(0, 1), (1, 3), (0, 2)]
    one, other = gv.fit(edges, weighted), gv.fit(edges, weighted.repeated())
    np.testing.assert_allclose(one.model.weights, other.model.weights, atol=1e-5)
    assert one.trace.outcome.held_out.nlpl == pytest.approx(other.trace.outcome.held_out.nlpl)


def test_exact_fit_is_left_out_where_it_costs_too_much_or_is_not_wanted():
    complete = np.stack(np.triu_indices(15, 1), axis=1)
    assert fitted(scale_free_table(15, 3, 1000), complete, lam2=1e-3) is None
    outcome = drain(followers_table(8), BestChoice(fit="pseudo-likelihood")).outcome
    assert outcome.objective_name == "pseudo-likelihood"
    assert outcome.certificate.marginals.rows > 0


def near_copies(rows: int = 500) -> DiscreteTable:
    """Return columns of which most are determined by others, but for a few rows."""
    random = np.random.default_rng(3)
    first = random.integers(0, 4, rows)
    noisy = np.where(random.random(rows) < 0.01, random.integers(0, 4, rows), first)
    half = np.where(random.random(rows) < 0.02, 1 - first // 2, first // 2)
    codes = np.stack([first, noisy, half, (noisy + half) % 3, random.integers(0, 2, rows)], axis=1)
    return DiscreteTable.from_codes(codes)


def test_acceleration_reaches_the_optimum_of_plain_rounds_in_fewer():
    table, edges = near_copies(), np.array([[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]])
    fit = fitted(table, edges, lam2=0.02 / 500).fit
    plain = fitted(table, edges, lam2=0.02 / 500).fit
    plain._fit_faster = lambda roots, tolerance: plain._fit_all(roots, tolerance, COMPLETE)
    for one in (fit, plain):
        one.node_weights, one.edge_weights = np.zeros(15), np.zeros(len(one.edge_weights))
    accelerated, slow = fit.fit(1e-7), plain.fit(1e-7)
    assert accelerated.violation < 1e-6
    assert accelerated.objective == pytest.approx(slow.objective, abs=1e-8)
    assert accelerated.rounds < 0.5 * slow.rounds


def test_all_weights_of_the_exact_fit_are_recorded():
    table = near_copies()
    result = gv.learn(table)
    assert result.trace.outcome.objective_name == "exact likelihood"
    beliefs = gv.infer(result.model, "exact")
    for i in range(5):
        shares = table.state_counts(i) / table.n_rows
        np.testing.assert_allclose(beliefs.node[i], shares, atol=1e-5)


class _Quadratic(Fold):
    """Fold whose loss is smallest at one λ₂."""

    def __init__(self, best: float) -> None:
        self._best, self.rows, self.calls = best, 1.0, 0

    def fitted(self, penalty):
        raise NotImplementedError

    def loss(self, penalty):
        self.calls += 1
        return abs(np.log(penalty.lam2 / self._best))


@pytest.mark.parametrize("best", range(5))
@pytest.mark.parametrize("first", range(5))
def test_best_penalty_is_found_from_any_start(best, first):
    penalties = [Penalty(0.0, strength, False, False) for strength in STRENGTHS]
    fold = _Quadratic(STRENGTHS[best])
    chosen = best_penalty([fold], penalties, first)
    assert chosen.penalty == penalties[best]
    assert fold.calls <= abs(best - first) + 3


def weak_dependence(rows: int, seed: int) -> pd.DataFrame:
    """Return columns of four states that all depend on each other, weakly."""
    random = np.random.default_rng(seed)
    mixing = np.linalg.cholesky(np.full((14, 14), 0.3) + 0.7 * np.eye(14))
    values = random.normal(size=(rows, 14)) @ mixing.T
    return pd.DataFrame(np.digitize(values, np.linspace(-0.8, 0.8, 3))).add_prefix("q")


@pytest.mark.parametrize("learner", LEARNERS[:2], ids=kind)
def test_edges_of_a_lowered_kappa_stay_only_if_rows_left_out_agree(learner):
    tables = [weak_dependence(600, 0), *(weak_dependence(1500, seed) for seed in range(3))]
    results = [gv.learn(table, learner) for table in tables]
    reasons = [parts_of(result.trace.stop_reason) for result in results]
    withdrawn = ["marginals.withdrawn" in parts for parts in reasons]
    lowered = ["parts.passes_lowered" in parts for parts in reasons]
    assert any(withdrawn)
    assert any(lowered)
    for result, was in zip(results, withdrawn, strict=True):
        assert result.converged
        used = result.trace.outcome.automatic["significance"]
        assert (used == result.learner.automatic(PairCounts(result.run.table))["significance"]) == (
            was
        )


def test_node_weights_are_corrected_where_exact_inference_costs_too_much():
    random = np.random.default_rng(1)
    hidden = random.integers(0, 2, 1500)
    flips = random.random((1500, 24)) < np.linspace(0.1, 0.45, 24)
    table = DiscreteTable.from_codes(hidden[:, np.newaxis] ^ flips)
    complete = np.stack(np.triu_indices(24, 1), axis=1)
    network = PseudoNetwork(table, PairCounts(table))
    for i, j in complete.tolist():
        network.add_edge(i, j)
    network.polish(Penalty(0.0, 8.0 / 1500, False, False), tolerance=1e-3)
    model = network.model()
    biased = model.weights.copy()
    biased[::2][:24] += 0.04
    biased = gv.PairwiseMRF(model.cardinalities, model.edges, biased)
    found = matched_nodes(biased, table, 0)
    before = moved_rows(biased, table, 0)
    shares = np.array([table.state_counts(i)[0] / 1500 for i in range(24)])
    gap = max(abs((before.codes == 0).mean(axis=1) - shares))
    assert found.gap < 0.5 * gap


def test_pairs_that_deviate_are_named_when_the_budget_is_used_up():
    result = gv.learn(break_off(6, 0.05, 2), BestChoice(max_edges=3))
    check = result.certificate.marginals
    assert result.n_edges == 3
    assert check.deviating == 12
    assert check.observed > 10 * check.expected
    assert "q1 = missing – q2 = missing: 5.5 % of the rows, 0.303 % by" in result.stop_reason
    assert result.trace.stop_reason.values["observed"] == pytest.approx(100 * check.observed)


def test_moved_rows_find_missing_dependence_and_nothing_else():
    table = break_off(20, 0.1, 3)
    counts = PairCounts(table)
    packed = counts.packed
    test = pair_test(packed.margins, packed.node_offsets, packed.rows, 3.0)
    pairs = np.stack(np.triu_indices(20, 1), axis=1)
    alone = gv.learn(table, BestChoice(preset="paper", max_edges=1)).model
    found = moved_deviations(alone, table, counts, test, pairs, 0)
    assert found.shares.shape == (190,)
    assert (found.shares > 1.0).sum() >= 185
    independent = DiscreteTable.from_codes(np.random.default_rng(0).integers(0, 4, (900, 20)))
    counts = PairCounts(independent)
    model = gv.learn(independent, BestChoice(preset="paper", lam=0.5)).model
    packed = counts.packed
    test = pair_test(packed.margins, packed.node_offsets, packed.rows, 3.0)
    assert (moved_deviations(model, independent, counts, test, pairs, 0).shares > 1.0).sum() == 0


def test_moved_rows_are_those_of_repeated_rows_and_of_the_seed():
    codes = followers_table(5, rows=100).codes
    weighted = replace(DiscreteTable.from_codes(codes.T), weights=np.full(100, 3.0))
    model = gv.learn(weighted, BestChoice(preset="paper")).model
    one, other = (moved_rows(model, table, 5) for table in (weighted, weighted.repeated()))
    np.testing.assert_array_equal(one.codes, other.codes)
    assert not np.array_equal(one.codes, moved_rows(model, weighted, 6).codes)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"id": range(40), "x": [0, 1] * 20}),
        pd.DataFrame({"x": [0, 1, 0, 1], "y": [0, 1, 0, 1]}),
        pd.DataFrame({"x": list("abcde"), "y": list("vwxyz"), "z": [0, 1, 1, 0, 1]}),
        pd.DataFrame({"x": ["a"] * 30, "y": ["b"] * 30}),
    ],
    ids=["as many states as rows", "two copies", "fewer rows than states", "constant"],
)
@pytest.mark.parametrize("learner", LEARNERS, ids=kind)
def test_odd_tables_give_a_result(frame, learner):
    result = gv.learn(gv.read_table(frame, max_states=64), learner)
    assert np.isfinite(result.model.weights).all()
    assert result.stop_reason


def test_weights_below_one_give_a_result():
    table = replace(followers_table(6, rows=200), weights=np.full(200, 0.01))
    assert np.isfinite(gv.learn(table).model.weights).all()


def test_held_out_loss_counts_states_that_occur_in_one_part_only() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 200)
    second = np.where(rng.random(200) < 0.9, first, 1 - first)
    codes = np.stack([first, second, np.arange(200)], axis=1)
    quality = gv.learn(DiscreteTable.from_codes(codes), gv.BestChoice()).quality
    assert quality is not None
    # Nobody predicts which of 200 rows a row is for less than log 200.
    assert quality.nlpl > np.log(200)


def test_coins_beside_weak_edges_keep_their_level():
    false, lowered = 0, 0
    for seed in (2, 3):
        random = np.random.default_rng(seed)
        pairs = [(j, i) for i in range(18) for j in range(i) if random.random() < 0.8]
        weights = random.choice([-1, 1], len(pairs)) * 0.15 * random.random(len(pairs))
        tables = {
            pair: w * np.array([[1, -1], [-1, 1]]) for pair, w in zip(pairs, weights, strict=True)
        }
        model = gv.PairwiseMRF.from_tables([np.zeros(2)] * 18, tables)
        coins = random.integers(0, 2, (4000, 25))
        result = gv.learn(np.hstack([model.sample(4000, seed=seed).codes.T, coins]))
        lowered += "lowered" in result.stop_reason
        false += int((result.model.edges.max(axis=1) >= 18).sum())
    assert lowered == 2
    assert false <= 4


def test_node_marginals_are_exact_where_only_the_fit_costs_too_much():
    random = np.random.default_rng(2)
    hidden = random.integers(0, 2, (4000, 2))
    flips = random.random((4000, 28)) < np.linspace(0.15, 0.4, 28)
    codes = (hidden[:, [0] * 14 + [1] * 14] ^ flips).astype(int)
    table = DiscreteTable.from_codes(codes)
    network = PseudoNetwork(table, PairCounts(table))
    for i, j in itertools.combinations(range(28), 2):
        if i // 14 == j // 14:
            network.add_edge(i, j)
    network.polish(Penalty(0.0, 2.0 / 4000, False, False), tolerance=1e-3)
    model = network.model()
    exact = exact_marginals(
        PairCounts(table), network.edges, network.weights_of(np.arange(network.n_edges))
    )
    found = matched_nodes(model, table, 0, exact)
    assert found.is_exact
    weights = model.weights.copy()
    weights[: len(found.weights)] = found.weights
    beliefs = gv.infer(gv.PairwiseMRF(model.cardinalities, model.edges, weights), "exact")
    gaps = [abs(beliefs.node[i][0] - (codes[:, i] == 0).mean()) for i in range(28)]
    assert max(gaps) < 1e-4
    assert max(gaps) == pytest.approx(found.gap, abs=1e-9)


def test_left_out_rows_are_compared_with_columns_of_the_rows_that_were_fitted():
    random = np.random.default_rng(0)
    value = random.integers(0, 60, 150)
    table = pd.DataFrame({"x": value, "big": value >= 30, "coin": random.integers(0, 2, 150)})
    quality = gv.learn(gv.read_table(table, max_states=400)).quality
    assert quality.rows == "left out"
    assert quality.nlpl < 1.05 * quality.independent


def test_inference_says_where_exact_inference_costs_too_much():
    wide = random_model([(j, i) for i in range(40) for j in range(i)], [2] * 40, edge_sigma=0.1)
    beliefs = gv.infer(wide)
    assert beliefs.method == "bp"
    assert "Belief propagation was used" in beliefs.notes[0]
    chain = random_model([(0, 1), (1, 2), (0, 2)], [2, 3, 2])
    assert gv.infer(chain).method == "exact"
