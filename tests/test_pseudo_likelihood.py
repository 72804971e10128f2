"""The pseudo-likelihood fit: kernels against plain twins, and the conditions of an optimum."""

from __future__ import annotations

import functools
from typing import Any

import naive
import numpy as np
import pytest
from learner_cases import mixed_table, scale_free_table

from graftviz import DiscreteTable, PairCounts, PairwiseMRF, infer
from graftviz.fitting.conditionals import (
    Conditionals,
    fill_impurity,
    lanes_of,
    log_loss,
    mean_impurity,
    mean_product,
    mix,
    sum_by_group,
)
from graftviz.fitting.merged_rows import merged_rows
from graftviz.fitting.penalty import Penalty
from graftviz.fitting.pseudo_likelihood import block_of
from graftviz.fitting.pseudo_network import PseudoNetwork
from graftviz.fitting.state_columns import (
    fill_columns,
    new_state_columns,
    sum_by_state,
    with_columns,
)
from graftviz.metrics import nlpl

TIGHT = 1e-5  # tolerance of the polish of a run


# ------------------------------------------------------------------------------------- kernels


class Block:
    """Random conditionals of a variable, states of a partner, and repeated rows."""

    def __init__(self, states, partner, rows, seed=0, repeated=True):
        rng = np.random.default_rng(seed)
        self.states, self.partner, self.rows = states, partner, rows
        self.plain = rng.dirichlet(np.ones(states), size=rows)
        self.block = np.full((rows, lanes_of(states)), 1e-30, dtype=np.float32)
        self.block[:, :states] = self.plain
        self.codes = rng.integers(0, partner, size=rows).astype(np.uint16)
        self.own = rng.integers(0, states, size=rows).astype(np.uint16)
        self.order = np.argsort(self.codes, kind="stable").astype(np.int32)
        counts = np.bincount(self.codes, minlength=partner)
        self.groups = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        often = rng.integers(1, 5, size=rows) if repeated else np.ones(rows)
        self.often = often.astype(np.float32)
        self.factors = np.zeros((partner, lanes_of(states)), dtype=np.float32)
        self.factors[:, :states] = np.exp(rng.normal(size=(partner, states)))


@functools.cache
def block_of_size(states):
    return Block(states, {2: 3, 3: 2, 5: 4, 9: 2, 12: 6, 300: 7}[states], 1100, seed=states)


sizes = pytest.mark.parametrize("states", [2, 3, 5, 9, 12, 300])


@sizes
def test_sums_by_state_of_partner(states):
    case = block_of_size(states)
    wanted = naive.sums_by_state(case.plain, case.codes, case.partner, case.often)
    sums = np.full((case.partner + 1, lanes_of(states) + 3), 7.0)
    sum_by_group(case.block, case.order, case.groups, case.often, sums)
    np.testing.assert_allclose(sums[: case.partner, :states], wanted, rtol=2e-6)
    assert (sums[case.partner] == 7.0).all()
    assert sums[: case.partner, states : lanes_of(states)].max(initial=0.0) < 1e-20


@sizes
def test_mixing_multiplies_normalises_and_sums(states):
    case = block_of_size(states)
    block = case.block.copy()
    sums = np.empty((case.partner, lanes_of(states)))
    squares = np.empty_like(sums)
    mix(block, case.order, case.groups, case.often, case.factors, sums, squares)
    moved = naive.mixed(case.plain, case.codes, case.factors[:, :states].astype(float))
    np.testing.assert_allclose(block[:, :states], moved, rtol=2e-6)
    np.testing.assert_allclose(block[:, :states].sum(axis=1), 1.0, rtol=2e-6)
    by_state = functools.partial(
        naive.sums_by_state, codes=case.codes, states=case.partner, multiplicity=case.often
    )
    np.testing.assert_allclose(sums[:, :states], by_state(moved), rtol=3e-6)
    np.testing.assert_allclose(squares[:, :states], by_state(moved**2), rtol=5e-6)


@sizes
def test_probabilities_do_not_become_subnormal(states):
    case = block_of_size(states)
    block = case.block.copy()
    factors = np.zeros_like(case.factors)
    factors[:, 0] = 1.0
    factors[:, 1:states] = 1e-25
    sums, squares = np.empty((2, case.partner, lanes_of(states)))
    for _ in range(4):
        mix(block, case.order, case.groups, case.often, factors, sums, squares)
    assert block.min() >= np.float32(1e-30)
    np.testing.assert_allclose(block[:, 0], 1.0, rtol=1e-6)
    # Tiny probabilities can grow again.
    factors[:, 0], factors[:, 1:states] = 1e-20, 1e20
    mix(block, case.order, case.groups, case.often, factors, sums, squares)
    assert (block[:, 1] > 0.5 / states).all()


@sizes
def test_impurity_is_the_variance_of_the_indicators(states):
    case = block_of_size(states)
    out = np.empty(case.rows, dtype=np.float32)
    fill_impurity(case.block, states, out)
    wanted = (case.plain * (1 - case.plain)).sum(axis=1)
    np.testing.assert_allclose(out, wanted, atol=1e-6)
    total = case.often.sum()
    mean = mean_impurity(out, case.often, float(total))
    assert mean == pytest.approx((case.often * wanted).sum() / total, rel=1e-6)


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 511, 513, 4096, 5003])
def test_mean_products_for_any_number_of_rows(rows):
    rng = np.random.default_rng(rows)
    one, two = rng.random((2, rows)).astype(np.float32)
    often = rng.integers(1, 4, size=rows).astype(np.float32)
    wanted = np.sum(often.astype(float) * one * two) / often.sum()
    assert mean_product(one, two, often, float(often.sum())) == pytest.approx(wanted, rel=2e-6)
    wanted = np.sum(often.astype(float) * one) / often.sum()
    assert mean_impurity(one, often, float(often.sum())) == pytest.approx(wanted, rel=2e-6)


@sizes
@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("tiny", [False, True])
def test_log_loss_is_the_sum_of_the_logarithms(states, repeated, tiny):
    case = Block(states, 2, 133, seed=states, repeated=repeated)
    if tiny:
        case.block[:, :] = np.float32(1e-30)
    chances = case.block[np.arange(case.rows), case.own].astype(float)
    wanted = -np.sum(case.often * np.log(chances))
    assert log_loss(case.block, case.own, case.often) == pytest.approx(wanted, rel=1e-12)


def test_repeated_rows_are_merged():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 2, size=(4, 3000)).astype(np.uint8)
    codes, often = merged_rows(few)
    found = {tuple(row): int(count) for row, count in zip(codes.T.tolist(), often, strict=True)}
    wanted = {}
    for row in map(tuple, few.T.tolist()):
        wanted[row] = wanted.get(row, 0) + 1
    assert found == wanted
    assert list(found) == list(wanted)  # in order of their first occurrence
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
    stored = network.rows.probabilities.copy()
    network.rebuild()
    np.testing.assert_allclose(stored, network.rows.probabilities, rtol=2e-3, atol=2e-6)
    codes = network.rows.codes
    wanted = naive.conditionals(network.model(), codes)
    for i in np.flatnonzero(network.rows.starts >= 0):
        block = block_of(network.rows, i)[:, : table.cardinalities[i]]
        np.testing.assert_allclose(block, wanted[i], rtol=1e-5, atol=1e-7)


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
    before = network.rows.probabilities.copy()
    norms, noise = network.leave_one_out(
        tolerance=0.0, least=np.full(network.n_edges, 1e9), significance=0.0
    )
    assert np.array_equal(network.rows.probabilities, before)
    model = network.model()
    for e in range(model.n_edges):
        i, j = model.edges[e].tolist()
        seen = [len(np.unique(table.codes[k])) for k in (i, j)]
        if min(seen) == 1:
            assert norms[e] < 1e-5
        else:
            wanted, spread = naive.left_out(model, table.codes, e)
            assert noise[e] == pytest.approx(spread, rel=1e-3)
            assert norms[e] == pytest.approx(wanted, rel=5e-3, abs=0.02 * spread)


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
                block = block_of(beside.rows, i)[:, : table.cardinalities[i]]
                np.testing.assert_allclose(block, wanted[i], rtol=1e-5, atol=1e-7)


def test_restart_gap_is_difference_of_beliefs_and_margins():
    table, _, network, _ = polished("scale-free", "plain")
    beliefs = infer(network.model(), tolerance=1e-9, max_sweeps=500)
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


# Sums over the rows in a state from columns and bits.


SIZES = (1, 2, 3, 4, 5, 6, 9, 14)  # one to four columns at a time, and several times that


class Rows:
    """Conditionals and codes of independent variables."""

    def __init__(self, rows, seed=0, repeated=True):
        rng = np.random.default_rng(seed)
        self.offsets = np.concatenate([[0], np.cumsum(SIZES)]).astype(np.int64)
        self.codes = np.stack([rng.integers(0, s, size=rows) for s in SIZES]).astype(np.uint16)
        often = rng.integers(1, 5, size=rows) if repeated else np.ones(rows)
        self.often = often.astype(np.float32)
        self.plain = [rng.dirichlet(np.ones(s), size=rows) for s in SIZES]
        unused: Any = None
        self.conditionals = Conditionals(self.codes, self.often, self.offsets, *[unused] * 10)

    def filled(self, nodes):
        columns = new_state_columns(self.conditionals)
        for i in nodes:
            # Added one by one, so that existing columns are moved.
            columns = with_columns(columns, np.array([i]))
            block = np.zeros((len(self.often), SIZES[i] + 3), dtype=np.float32)
            block[:, : SIZES[i]] = self.plain[i]
            fill_columns(columns, block, self.often, i, self.offsets[i], SIZES[i])
        return columns

    def sums(self, columns, i, j):
        counts = np.bincount(self.codes[j], weights=self.often, minlength=SIZES[j])
        out = np.full(SIZES[i] * SIZES[j] + 3, 7.0)
        sum_by_state(columns, i, j, self.offsets[i], SIZES[i], SIZES[j], counts, out)
        assert (out[SIZES[i] * SIZES[j] :] == 7.0).all()
        return out[: SIZES[i] * SIZES[j]].reshape(SIZES[j], SIZES[i])


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 700, 5000])
@pytest.mark.parametrize("repeated", [False, True])
def test_sums_are_those_of_a_plain_loop(rows, repeated):
    case = Rows(rows, seed=rows, repeated=repeated)
    nodes = list(range(len(SIZES)))
    columns = case.filled(nodes[::-1])
    for i in nodes:
        for j in nodes:
            if i != j:
                wanted = naive.sums_by_state(case.plain[i], case.codes[j], SIZES[j], case.often)
                found = case.sums(columns, i, j)
                np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6 * case.often.sum())


def test_only_requested_variables_have_columns():
    case = Rows(300)
    columns = case.filled([4, 2])
    assert (columns.starts >= 0).tolist() == [i in (2, 4) for i in range(len(SIZES))]
    unchanged = with_columns(columns, np.array([2, 4]))
    assert unchanged is columns
    wanted = naive.sums_by_state(case.plain[4], case.codes[7], SIZES[7], case.often)
    found = case.sums(columns, 4, 7)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6 * case.often.sum())


def test_bits_beyond_the_last_row_are_zero():
    case = Rows(70, repeated=False)
    columns = case.filled([4])
    assert columns.words == 2
    words = columns.planes.reshape(-1, 2)[:, 1]
    assert (words >> np.uint64(6) == 0).all()
