"""The pseudo-likelihood fit: kernels against plain twins, and the conditions of an optimum."""

from __future__ import annotations

import functools
import itertools

import naive
import numpy as np
import pytest
from learner_cases import conditionals_of, mixed_table, scale_free_table

from graftviz import DiscreteTable, PairwiseMRF, infer
from graftviz.data.synthetic.potentials import random_model, sample_exact
from graftviz.inference.likelihood import nlpl
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.scores.base import PairFit
from graftviz.learning.scores.pair_test import pair_test
from graftviz.learning.scores.pseudo_likelihood import PseudoLikelihoodScore
from graftviz.learning.weights.conditionals import (
    MOST_PLANES,
    ROWS_TO_MIX,
    columns_of,
    fill_impurity,
    log_loss,
    mean_impurity,
    mean_product,
    mix,
    new_conditionals,
    sum_by_state,
)
from graftviz.learning.weights.merged_rows import merged_rows
from graftviz.learning.weights.penalty import Penalty
from graftviz.learning.weights.pseudo_network import PseudoNetwork

TIGHT = 1e-5  # tolerance of the polish of a run


# ------------------------------------------------------------------------------------- kernels


SIZES = (1, 2, 3, 4, 5, 6, 9, MOST_PLANES, MOST_PLANES + 4)  # with and without planes of bits
MANY = 300
every_size = pytest.mark.parametrize("i", range(len(SIZES) + 1))
every_pair = pytest.mark.parametrize(
    ("i", "j"), [(i, j) for i in range(len(SIZES)) for j in range(len(SIZES)) if i != j]
)


class Rows:
    """Random conditionals and codes of independent variables; the last has many states."""

    def __init__(self, rows, seed=0, repeated=True):
        rng = np.random.default_rng(seed)
        self.sizes = (*SIZES, MANY)
        self.codes = np.stack([rng.integers(0, s, size=rows) for s in self.sizes])
        often = rng.integers(1, 5, size=rows) if repeated else np.ones(rows)
        self.often = often.astype(np.float32)
        self.plain = [rng.dirichlet(np.ones(s), size=rows) for s in self.sizes]
        offsets = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        empty = new_conditionals(
            self.codes.astype(np.uint16),
            self.often,
            offsets,
            np.concatenate([np.full(s, 1 / s) for s in self.sizes]),
            float(often.sum()),
        )
        width = len(empty.multiplicity)
        starts = np.concatenate([[0], np.cumsum([(s + 1) * width for s in self.sizes])])
        self.rows = empty._replace(columns=np.zeros(starts[-1], dtype=np.float32))
        self.rows.starts[:] = starts[:-1]
        for i, plain in enumerate(self.plain):
            columns_of(self.rows, i)[:-1, :rows] = plain.T * self.often

    def shares(self, i):
        """Return p(x_i | rest) by the columns, shape (R, s_i), and check the padding."""
        assert columns_of(self.rows, i)[:-1, len(self.often) :].max(initial=0.0) < 1e-20
        return conditionals_of(self.rows, i)

    def by_state(self, numbers, j):
        """Return the sums of numbers, one row each, by the states of variable j."""
        return naive.sums_by_state(numbers, self.codes[j], self.sizes[j], self.often)

    def mixed(self, i, j, factors):
        """Mix variable i by factors of variable j; return sums and squares."""
        largest = max(self.sizes[i], self.sizes[j])
        sums, squares = np.full((2, largest + 1, largest + 1), 7.0)
        table = np.zeros((self.sizes[j], self.sizes[i] + 2), dtype=np.float32)
        table[:, :-2] = factors
        scratch = np.zeros((largest + 1, ROWS_TO_MIX), dtype=np.float32)
        states, start = self.sizes[i], self.rows.starts[i]
        mix(self.rows, self.rows.columns, start, states, j, table, True, sums, squares, scratch)
        found = sums[: self.sizes[j], :states].copy(), squares[: self.sizes[j], :states].copy()
        mix(
            self.rows,
            self.rows.columns.copy(),
            start,
            states,
            j,
            np.ones_like(table),
            False,
            sums,
            np.zeros((0, 0)),
            scratch,
        )
        np.testing.assert_allclose(sums[: self.sizes[j], :states], found[0], rtol=3e-6, atol=1e-5)
        for array in (sums, squares):
            array[: self.sizes[j], :states] = 7.0
            assert (array == 7.0).all()
        return found


@functools.cache
def rows_of(rows, repeated=True):
    return Rows(rows, seed=rows, repeated=repeated)


def factors_of(case, i, j):
    rng = np.random.default_rng(i * 10 + j)
    return np.exp(rng.normal(size=(case.sizes[j], case.sizes[i]))).astype(np.float32)


@every_pair
@pytest.mark.parametrize("rows", [1, 64, 5000])
@pytest.mark.parametrize("repeated", [False, True])
def test_sums_by_state_of_partner(i, j, rows, repeated):
    case = rows_of(rows, repeated)
    sums = np.full((case.sizes[j] + 1, case.sizes[i] + 3), 7.0)
    sum_by_state(case.rows, i, j, sums)
    inside = sums[: case.sizes[j], : case.sizes[i]]
    np.testing.assert_allclose(inside, case.by_state(case.plain[i], j), rtol=3e-6, atol=1e-6)
    inside[:] = 7.0
    assert (sums == 7.0).all()


@every_pair
@pytest.mark.parametrize("rows", [63, 65, 2100])
def test_mixing_multiplies_normalises_and_sums(i, j, rows):
    case = Rows(rows, seed=rows)
    factors = factors_of(case, i, j)
    sums, squares = case.mixed(i, j, factors)
    moved = naive.mixed(case.plain[i], case.codes[j], factors.astype(float))
    np.testing.assert_allclose(case.shares(i), moved, rtol=3e-6)
    np.testing.assert_allclose(case.shares(i).sum(axis=1), 1.0, rtol=2e-6)
    np.testing.assert_allclose(sums, case.by_state(moved, j), rtol=3e-6)
    np.testing.assert_allclose(squares, case.by_state(moved**2, j), rtol=5e-6)


@pytest.mark.parametrize(("i", "j"), [(1, 2), (4, 3), (8, 4), (2, 8), (9, 1), (1, 9)])
def test_probabilities_do_not_become_subnormal(i, j):
    case = Rows(1100, seed=i)
    factors = np.zeros((case.sizes[j], case.sizes[i]), dtype=np.float32)
    factors[:, 0], factors[:, 1:] = 1.0, 1e-25
    for _ in range(4):
        case.mixed(i, j, factors)
    columns = columns_of(case.rows, i)[:-1, : case.rows.codes.shape[1]]
    assert columns.min() >= np.float32(1e-30)
    np.testing.assert_allclose(case.shares(i)[:, 0], 1.0, rtol=1e-6)
    # Tiny probabilities can grow again.
    factors[:, 0], factors[:, 1:] = 1e-20, 1e20
    case.mixed(i, j, factors)
    assert (case.shares(i)[:, 1] > 0.5 / case.sizes[i]).all()


@every_size
def test_last_column_is_the_variance_of_the_indicators(i):
    case = rows_of(700)
    columns, often = columns_of(case.rows, i), case.rows.multiplicity
    fill_impurity(columns, case.rows.inverse)
    wanted = (case.plain[i] * (1 - case.plain[i])).sum(axis=1)
    np.testing.assert_allclose(columns[-1, : len(case.often)], wanted, atol=1e-6)
    mean = mean_impurity(columns[-1], often, case.rows.rows)
    assert mean == pytest.approx(np.average(wanted, weights=case.often), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("rows", [64, 512, 576, 4096, 5056])
def test_mean_products_for_any_number_of_words(rows):
    rng = np.random.default_rng(rows)
    one, two = rng.random((2, rows)).astype(np.float32)
    often = rng.integers(0, 4, size=rows).astype(np.float32)
    wanted = np.sum(often.astype(float) * one * two) / often.sum()
    assert mean_product(one, two, often, float(often.sum())) == pytest.approx(wanted, rel=2e-6)
    wanted = np.sum(often.astype(float) * one) / often.sum()
    assert mean_impurity(one, often, float(often.sum())) == pytest.approx(wanted, rel=2e-6)


@every_size
@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("tiny", [False, True])
def test_log_loss_is_the_sum_of_the_logarithms(i, repeated, tiny):
    case = Rows(133, seed=i, repeated=repeated)
    columns, rows = columns_of(case.rows, i), np.arange(133)
    if tiny:
        columns[:, :133] = np.float32(1e-30) * case.often
    chances = columns[case.codes[i], rows].astype(float) / case.often
    wanted = -np.sum(case.often * np.log(chances))
    found = log_loss(columns, case.rows.codes[i], case.rows.multiplicity)
    assert found == pytest.approx(wanted, rel=1e-12)


def test_bits_beyond_the_last_row_are_zero():
    case = rows_of(70)
    assert case.rows.words == 2
    last = case.rows.planes.reshape(-1, 2)[:, 1]
    assert (last >> np.uint64(6) == 0).all()
    assert (case.rows.plane_starts >= 0).tolist() == [s <= MOST_PLANES for s in case.sizes]


def test_repeated_rows_are_merged():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 2, size=(4, 3000)).astype(np.uint8)
    codes, often = merged_rows(few)
    found = {tuple(row): int(count) for row, count in zip(codes.T.tolist(), often, strict=True)}
    wanted = {}
    for row in map(tuple, few.T.tolist()):
        wanted[row] = wanted.get(row, 0) + 1
    assert found == wanted
    reordered = merged_rows(few[:, ::-1])
    assert (reordered[0] == codes).all()
    assert (reordered[1] == often).all()
    assert len(wanted) == codes.shape[1] == 16
    assert codes.flags.c_contiguous
    many = rng.integers(0, 200, size=(6, 500)).astype(np.uint16)
    codes, often = merged_rows(many)
    assert codes is many
    assert (often == 1).all()


# ----------------------------------------------------------------------------------- the network


def repeated_table():
    """Return 4,000 rows of five binary columns: at most 32 different rows."""
    rng = np.random.default_rng(5)
    hidden = rng.integers(0, 2, size=4000)
    codes = [np.where(rng.random(4000) < 0.3, rng.integers(0, 2, 4000), hidden) for _ in range(5)]
    return DiscreteTable.from_codes(np.stack(codes, axis=1), cardinalities=[2] * 5)


def many_states_table():
    """Return a table of cardinalities 2, 12, 9 and 5; a state of the second is in no row."""
    rng = np.random.default_rng(6)
    base = rng.integers(0, 11, size=900)
    codes = [base % 2, base, np.minimum(base, 8), (base + rng.integers(0, 3, size=900)) % 5]
    flips = [
        np.where(rng.random(900) < 0.4, rng.permutation(column), column).tolist()
        for column in codes
    ]
    return DiscreteTable.from_codes(np.array(flips).T, cardinalities=[2, 12, 9, 5])


TABLES = {
    "scale-free": (lambda: scale_free_table(8, 3, 700), 7),
    "mixed": (mixed_table, 12),  # constant columns, an unseen state
    "repeated rows": (repeated_table, 6),
    "many states": (many_states_table, 4),
}
PENALTIES = {
    "plain": Penalty(1e-4, 3e-3, False, False),
    "strong": Penalty(3e-3, 0.02, False, False),
    "root": Penalty(2e-3, 3e-3, True, False),
    "nodes": Penalty(1e-3, 0.01, False, True),
    "root and nodes": Penalty(2e-3, 0.01, True, True),
}


def some_pairs(table, count, seed=1):
    rng = np.random.default_rng(seed)
    n = table.n_variables
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    return [pairs[k] for k in rng.permutation(len(pairs))[:count]]


def network_of(table, pairs, penalty, *, gradually=True):
    """Return a network fitted as in a run: nodes, then edge by edge."""
    network = PseudoNetwork(table, PairCounts(table))
    network.fit_nodes(penalty, tolerance=1e-3)
    for i, j in pairs:
        network.add_edge(i, j)
        if gradually:
            network.fit(penalty, tolerance=1e-3, max_sweeps=4)
    return network


@functools.cache
def polished(table_name, penalty_name):
    make_table, count = TABLES[table_name]
    table, penalty = make_table(), PENALTIES[penalty_name]
    network = network_of(table, some_pairs(table, count), penalty)
    evaluation = network.polish(penalty, tolerance=TIGHT)
    return table, penalty, network, evaluation


def twin_of(table, penalty):
    return naive.PenalisedPseudoLikelihood(
        table.codes, penalty.lam, penalty.lam2, penalty.square_root, penalty.nodes
    )


every_fit = pytest.mark.parametrize(
    ("table_name", "penalty_name"), [(t, p) for t in TABLES for p in PENALTIES]
)


@every_fit
def test_the_polished_fit_satisfies_the_conditions_of_an_optimum(table_name, penalty_name):
    table, penalty, network, evaluation = polished(table_name, penalty_name)
    assert evaluation.kkt_residual <= TIGHT
    assert twin_of(table, penalty).violation(network.model()) <= 1.2 * TIGHT


@every_fit
def test_the_objective_is_the_loss_of_the_model_plus_the_penalty(table_name, penalty_name):
    table, penalty, network, evaluation = polished(table_name, penalty_name)
    model, twin = network.model(), twin_of(table, penalty)
    # Unseen states have a tiny probability; their logarithms have no weight.
    assert evaluation.objective == pytest.approx(twin.objective(model), rel=1e-6)
    loss = nlpl(model, table)
    assert loss == pytest.approx(twin.loss(model), rel=1e-9)
    assert network.evaluate(penalty).objective == evaluation.objective


@pytest.mark.parametrize("table_name", TABLES)
def test_the_gradients_are_those_of_finite_differences(table_name):
    """Check the gradient of the twin and the violation of the kernels away from an optimum."""
    make_table, count = TABLES[table_name]
    table, penalty = make_table(), Penalty(0.0, 0.0, False, False)
    network = network_of(table, some_pairs(table, count), PENALTIES["strong"])
    model, twin = network.model(), twin_of(table, penalty)
    weights = np.concatenate([g.reshape(-1) for _, g, _, _ in twin.groups(model)])
    rng = np.random.default_rng(0)
    for k in rng.permutation(len(weights))[:25]:
        losses = []
        for h in (1e-5, -1e-5):
            moved = model.weights.copy()
            moved[k] += h
            losses.append(twin.loss(PairwiseMRF(model.cardinalities, model.edges, moved)))
        assert (losses[0] - losses[1]) / 2e-5 == pytest.approx(weights[k], abs=1e-8)


@pytest.mark.parametrize("table_name", TABLES)
def test_unconverged_fit_reports_its_violation(table_name):
    make_table, count = TABLES[table_name]
    table, penalty = make_table(), PENALTIES["plain"]
    pairs = some_pairs(table, count)
    network = network_of(table, pairs[:-1], penalty)
    network.add_edge(*pairs[-1])
    evaluation = network.fit(penalty, tolerance=0.01, max_sweeps=1)
    network.state.drift[:] += 1.0  # no cached value is used
    evaluation = network.evaluate(penalty)
    assert evaluation.kkt_residual > 1e-5
    wanted = twin_of(table, penalty).violation(network.model())
    assert evaluation.kkt_residual == pytest.approx(wanted, rel=1e-3, abs=2e-6)


@every_fit
def test_updated_conditionals_equal_those_of_the_weights(table_name, penalty_name):
    make_table, count = TABLES[table_name]
    table, penalty = make_table(), PENALTIES[penalty_name]
    network = network_of(table, some_pairs(table, count), penalty)
    for _ in range(5):
        network.fit(penalty, tolerance=1e-4, max_sweeps=3)
    stored = network.rows.columns.copy()
    network.rebuild()
    np.testing.assert_allclose(stored, network.rows.columns, rtol=2e-3, atol=4e-6)
    codes = network.rows.codes
    wanted = naive.conditionals(network.model(), codes)
    for i in np.flatnonzero(network.rows.starts >= 0):
        shares = conditionals_of(network.rows, i)
        np.testing.assert_allclose(shares, wanted[i], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("penalty_name", PENALTIES)
def test_removed_edges_leave_network_without_them(penalty_name):
    """Check also a variable that loses its last edge."""
    table, penalty = scale_free_table(8, 3, 700), PENALTIES[penalty_name]
    pairs = [(0, 1), (0, 2), (1, 2), (2, 5), (3, 6), (4, 5), (1, 7)]
    network = network_of(table, pairs, penalty)
    network.polish(penalty, tolerance=TIGHT)
    network.remove_edges(np.array([1, 4, 6]))
    left = [pair for k, pair in enumerate(pairs) if k not in (1, 4, 6)]
    assert [tuple(edge) for edge in network.edges.tolist()] == left
    ours = network.polish(penalty, tolerance=TIGHT)
    other = network_of(table, left, penalty)
    theirs = other.polish(penalty, tolerance=TIGHT)
    twin = twin_of(table, penalty)
    assert twin.violation(network.model()) <= 1.2 * TIGHT
    assert ours.objective == pytest.approx(theirs.objective, abs=5e-7)
    assert ours.objective == pytest.approx(twin.objective(network.model()), rel=1e-6)
    for mine, yours in zip(
        naive.conditionals(network.model(), table.codes),
        naive.conditionals(other.model(), table.codes),
        strict=True,
    ):
        np.testing.assert_allclose(mine, yours, atol=2e-3)
    # The fit continues from there.
    for grown in (network, other):
        grown.add_edge(3, 7)
        grown.polish(penalty, tolerance=TIGHT)
    assert twin.violation(network.model()) <= 1.2 * TIGHT


@pytest.mark.parametrize("table_name", TABLES)
def test_edges_left_out_are_scored_as_if_they_had_zero_weights(table_name):
    table, _, network, _ = polished(table_name, "plain")
    before = network.rows.columns.copy()
    packed, kappa = PairCounts(table).packed, 30.0  # so large that no edge is clearly above it
    test = pair_test(packed.margins, packed.node_offsets, packed.rows, kappa)
    every = np.ones(network.n_edges)
    norms = 1e9 * network.leave_one_out(tolerance=0.0, least=1e9 * every, test=test)
    # Earlier results are those of another test.
    shares = network.leave_one_out(tolerance=0.0, least=1e-9 * every, test=test._replace())
    assert np.array_equal(network.rows.columns, before)
    model = network.model()
    for e in range(model.n_edges):
        i, j = model.edges[e].tolist()
        seen = [len(np.unique(table.codes[k])) for k in (i, j)]
        if min(seen) == 1:
            assert norms[e] < 1e-5
            assert shares[e] == 0.0
        else:
            norm, share = naive.left_out(model, table.codes, e, kappa)
            assert norms[e] == pytest.approx(norm, rel=5e-3, abs=2e-4)
            assert shares[e] == pytest.approx(share, rel=5e-3, abs=2e-3)


@pytest.mark.parametrize("table_name", TABLES)
def test_conditionals_after_follow_equal_those_of_other_fit(table_name):
    """Check also further edges, and changes of weights of nodes or of one edge only."""
    table, _, network, _ = polished(table_name, "plain")
    model = network.model()
    beside = PseudoNetwork(table, PairCounts(table))
    rng = np.random.default_rng(3)
    cells = int(network.state.node_offsets[-1])
    weights = model.weights.copy()
    for part in (2, model.n_edges):
        stop = int(network.state.edge_offsets[part])
        for place in (None, 0, cells):
            if place is not None:
                weights[place] += rng.normal()
            beside.follow(weights[:cells], model.edges[:part], weights[cells : cells + stop])
            followed = PairwiseMRF(model.cardinalities, model.edges[:part], weights[: cells + stop])
            wanted = naive.conditionals(followed, beside.rows.codes)
            for i in np.flatnonzero(beside.rows.starts >= 0):
                shares = conditionals_of(beside.rows, i)
                np.testing.assert_allclose(shares, wanted[i], rtol=1e-5, atol=1e-7)


def test_restart_gap_is_difference_of_beliefs_and_margins():
    table, _, network, _ = polished("scale-free", "plain")
    beliefs = infer(network.model(), "bp", tolerance=1e-9, max_sweeps=500)
    shares = [np.bincount(c, minlength=3) / table.n_rows for c in table.codes]
    wanted = max(np.abs(b - s).max() for b, s in zip(beliefs.node, shares, strict=True))
    assert network.restart_gap() == pytest.approx(wanted, abs=1e-5)
    assert network.restart_gap() > 1e-4
    apart = network_of(table, [(0, 1), (4, 5)], Penalty(0.0, 0.0, False, False))
    apart.polish(Penalty(0.0, 0.0, False, False), tolerance=TIGHT)
    assert apart.restart_gap() < 1e-4


def test_changes_are_reported_once():
    table, penalty = scale_free_table(8, 3, 700), PENALTIES["plain"]
    network = network_of(table, some_pairs(table, 4), penalty)
    changes = network.changes()
    nodes = sorted({i for pair in some_pairs(table, 4) for i in pair})
    assert changes.nodes.tolist() == nodes
    assert changes.edges.tolist() == [0, 1, 2, 3]
    model = network.model()
    expected = np.concatenate([model.edge_weights(e).reshape(-1) for e in range(4)])
    np.testing.assert_array_equal(changes.edge_weights, expected)
    expected = np.concatenate([model.node_weights(i) for i in nodes])
    np.testing.assert_array_equal(changes.node_weights, expected)
    second = network.changes()
    assert len(second.nodes) == len(second.edges) == 0


# Noise.


def test_noise_is_the_root_mean_square_of_norms_of_absent_edges():
    """Of all absent pairs of trees with strong hubs, at the fit of exactly the true edges.

    The neighbours of a hub determine its state, so that its conditional varies only between rows.
    """
    edges = [(0, i) for i in range(1, 13)] + [(i, i + 12) for i in range(1, 13)]
    found = {True: [], False: []}
    for seed in range(8):
        model = random_model(np.array(edges), [3] * 25, edge_sigma=2.0, seed=seed)
        table = sample_exact(model, 2000, seed=seed)
        network = network_of(table, edges, Penalty(0.0, 1e-3, False, False))
        network.fit(Penalty(0.0, 1e-3, False, False), tolerance=1e-6)
        fitted = network.model()
        for i, j in itertools.combinations(range(25), 2):
            if (i, j) not in edges:
                at = PairFit(table, fitted, [], i, j)
                score = PseudoLikelihoodScore()
                noise = 2 * np.sqrt(score.expectation(at).variance / 2000)
                found[i == 0].append((score.of_pair(at).value, noise))
    for pairs in found.values():
        norm, noise = np.sqrt(np.mean(np.square(pairs), axis=0))
        assert 0.85 < norm / noise < 1.1
