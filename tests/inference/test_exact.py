"""Exact inference against enumeration of all joint states."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest

from graftviz import InputError, PairwiseMRF, infer
from graftviz.inference.exact.junction_tree import JunctionTree

MANY = 200


def random_model(seed: int) -> PairwiseMRF:
    """Return a model of a few variables of random density and strength, some with zeros."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    sizes = rng.integers(1 if seed % 5 == 0 else 2, 5, size=n)
    density = rng.choice([0.2, 0.5, 1.0])
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < density]
    if seed % 4 == 0:
        pairs = [(int(rng.integers(j)), j) for j in range(1, n) if rng.random() < 0.9]
    strength = rng.choice([0.1, 1.0, 5.0, 300.0])
    tables = {(i, j): rng.normal(0, strength, (sizes[i], sizes[j])) for i, j in pairs}
    nodes = [rng.normal(0, 1.0, size=size) for size in sizes]
    if seed % 3 == 0:
        for table in (*tables.values(), *nodes):
            table[rng.random(table.shape) < 0.15] = -np.inf
    return PairwiseMRF.from_tables(nodes, tables)


def random_evidence(model: PairwiseMRF, seed: int) -> dict[int, int]:
    rng = np.random.default_rng(seed + 10_000)
    some = rng.permutation(model.n_variables)[: rng.integers(0, max(model.n_variables // 2, 1))]
    return {int(i): int(rng.integers(model.cardinalities[i])) for i in some}


def enumerated(model: PairwiseMRF, evidence: dict[int, int]) -> tuple[np.ndarray | None, float]:
    """Return p(x | evidence), an axis per variable, and log Z."""
    states = np.array(list(itertools.product(*(range(s) for s in model.cardinalities)))).T
    scores = model.log_scores(states)
    for i, k in evidence.items():
        scores[states[i] != k] = -np.inf
    log_partition = float(naive.log_sum(scores, None))
    if log_partition == -np.inf:
        return None, log_partition
    return np.exp(scores - log_partition).reshape(model.cardinalities), log_partition


def margin(joint: np.ndarray, *axes: int) -> np.ndarray:
    """Sum out all axes but the given ones, and return these in the given order."""
    summed = joint.sum(axis=tuple(k for k in range(joint.ndim) if k not in axes))
    return summed if len(axes) == 1 or axes[0] < axes[1] else summed.T


@pytest.mark.parametrize("seed", range(MANY))
def test_results_match_enumeration(seed):
    model = random_model(seed)
    evidence = random_evidence(model, seed) if seed % 2 else {}
    joint, log_partition = enumerated(model, evidence)
    tree = JunctionTree(model, evidence)
    assert tree.log_partition == pytest.approx(log_partition, rel=1e-12, abs=1e-10)
    if joint is None:
        with pytest.raises(InputError, match="probability zero"):
            tree.beliefs()
        return
    for i in range(model.n_variables):
        np.testing.assert_allclose(tree.node(i), margin(joint, i), atol=1e-10)
        for j in range(model.n_variables):
            if i != j:
                np.testing.assert_allclose(tree.pair(i, j), margin(joint, i, j), atol=1e-10)
    for e, (i, j) in enumerate(model.edges.tolist()):
        np.testing.assert_allclose(tree.edge(e), margin(joint, i, j), atol=1e-10)


@pytest.mark.parametrize("seed", range(0, MANY, 10))
def test_result_does_not_depend_on_elimination_order(seed):
    model = random_model(seed)
    order = np.random.default_rng(seed).permutation(model.n_variables)
    default, ordered = JunctionTree(model), JunctionTree(model, order=order)
    assert ordered.plan.order.tolist() == order.tolist()
    assert ordered.log_partition == pytest.approx(default.log_partition, abs=1e-10)
    if default.log_partition > -np.inf:
        for i in range(model.n_variables):
            np.testing.assert_allclose(default.node(i), ordered.node(i), atol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_samples_have_the_distribution_of_the_model(seed):
    model = random_model(3 * seed + 1)
    evidence = random_evidence(model, seed)
    joint, _ = enumerated(model, evidence)
    assert joint is not None
    rows = 20_000
    codes = JunctionTree(model, evidence).sample(rows, seed=seed)
    assert codes.shape == (model.n_variables, rows)
    counts = np.bincount(
        np.ravel_multi_index(tuple(codes), joint.shape), minlength=joint.size
    ).astype(float)
    expected = rows * joint.ravel()
    assert counts[expected == 0].sum() == 0
    # Pearson's statistic, with rare states pooled.
    often = expected >= 5
    counted = np.append(counts[often], counts[~often].sum())
    wanted = np.append(expected[often], expected[~often].sum())
    counted, wanted = counted[wanted > 1e-3], wanted[wanted > 1e-3]
    statistic = float(((counted - wanted) ** 2 / wanted).sum())
    freedom = len(wanted) - 1
    assert statistic < freedom + 5 * np.sqrt(2 * freedom) + 5


@pytest.mark.parametrize("weight", [700.0, 3000.0, 1e6])
def test_weights_beyond_range_of_exp(weight):
    # x0 ≠ x1 has a factor e^-weight; x2 is pulled the other way by half as much.
    pull = np.array([[0.0, -weight], [-weight, 0.0]])
    model = PairwiseMRF.from_tables(
        [[0.0, 0.5], [0.0, 0.0], [weight / 2, 0.0], [0.0, -weight]],
        {(0, 1): pull, (1, 2): -pull / 4, (0, 2): pull, (2, 3): pull / 2},
    )
    joint, log_partition = enumerated(model, {})
    assert joint is not None
    tree = JunctionTree(model)
    assert tree.log_partition == pytest.approx(log_partition, rel=1e-14)
    for i in range(4):
        np.testing.assert_allclose(tree.node(i), margin(joint, i), atol=1e-10)
    assert (tree.sample(50) < 2).all()


def test_frustrated_grid_of_strong_couplings():
    # Entries of the messages span more than the range of floats.
    rng = np.random.default_rng(0)
    edges = [(4 * r + c, 4 * r + c + 1) for r in range(4) for c in range(3)]
    edges += [(4 * r + c, 4 * r + c + 4) for r in range(3) for c in range(4)]
    signs = rng.choice([-400.0, 400.0], size=len(edges))
    tables = {
        edge: sign * np.array([[1.0, -1.0], [-1.0, 1.0]])
        for edge, sign in zip(edges, signs, strict=True)
    }
    model = PairwiseMRF.from_tables(list(rng.normal(size=(16, 2))), tables)
    joint, log_partition = enumerated(model, {})
    assert joint is not None
    tree = JunctionTree(model)
    assert tree.log_partition == pytest.approx(log_partition, rel=1e-14)
    for e, (i, j) in enumerate(model.edges.tolist()):
        np.testing.assert_allclose(tree.edge(e), margin(joint, i, j), atol=1e-10)


def test_many_factors_on_one_variable_do_not_underflow():
    # The product of the messages of all leaves, about e^-2 each, underflows.
    leaves = 2000
    table = np.array([[-2.0, -3.0], [-2.5, -2.0]])
    edges = {(0, leaf): table for leaf in range(1, leaves + 1)}
    model = PairwiseMRF.from_tables([np.zeros(2)] * (leaves + 1), edges)
    rows = np.log(np.exp(table).sum(axis=1)) * leaves
    tree = JunctionTree(model)
    assert tree.log_partition == pytest.approx(float(naive.log_sum(rows, 0)), rel=1e-12)
    np.testing.assert_allclose(tree.node(0), np.exp(rows - naive.log_sum(rows, 0)), atol=1e-10)


def test_many_messages_on_same_variables_do_not_underflow():
    # Two fully connected layers: each node of the wide one leaves a table on the narrow one.
    rng = np.random.default_rng(0)
    narrow, wide = 9, 400
    tables = {
        (i, j): rng.normal(0, 1.5, (2, 2)) for i in range(narrow) for j in range(narrow, wide)
    }
    model = PairwiseMRF.from_tables([np.zeros(2)] * wide, tables)
    states = np.array(list(itertools.product(range(2), repeat=narrow)))
    scores = np.zeros(len(states))
    for j in range(narrow, wide):
        field = sum(tables[i, j][states[:, i]] for i in range(narrow))
        scores += naive.log_sum(field, 1)
    log_partition = float(naive.log_sum(scores, 0))
    tree = JunctionTree(model)
    assert tree.log_partition == pytest.approx(log_partition, rel=1e-12)
    shares = np.exp(scores - log_partition)
    for i in range(narrow):
        assert tree.node(i)[1] == pytest.approx(shares[states[:, i] == 1].sum(), abs=1e-10)


def test_impossible_evidence_gives_minus_infinity_and_no_marginals():
    equal = np.where(np.eye(2), 0.0, -np.inf)
    model = PairwiseMRF.from_tables([np.zeros(2)] * 3, {(0, 1): equal, (1, 2): equal})
    tree = JunctionTree(model, {0: 0, 2: 1})
    assert tree.log_partition == -np.inf
    for question in (tree.beliefs, lambda: tree.node(1), lambda: tree.pair(0, 1), tree.sample):
        with pytest.raises(InputError, match="probability zero"):
            question()
    beliefs = infer(model, "exact", evidence={0: 0, 2: 1})
    assert beliefs.log_partition == -np.inf
    assert any("No joint state" in note for note in beliefs.notes)


@pytest.mark.parametrize("joined", [1, 2])
def test_opposite_factors_of_many_leaves_cancel_without_underflow(joined):
    # 500 leaves favour state 0 of each hub and 500 state 1, each by e^3; the product of the first
    # half underflows for one state.
    leaves = 500
    table = np.array([[0.0, 0.0], [-3.0, -3.0]])
    hubs, n = range(joined), joined + 2 * leaves
    edges = {
        (hub, joined + k): table if k < leaves else table[::-1]
        for hub in hubs
        for k in range(n - joined)
    }
    model = PairwiseMRF.from_tables([np.array([0.0, 0.5])] * n, edges)
    tree = JunctionTree(model)
    for hub in hubs:
        assert tree.node(hub)[1] == pytest.approx(np.exp(0.5) / (1 + np.exp(0.5)), abs=1e-10)
    share = (tree.sample(2000, seed=0)[0] == 1).mean()
    assert share == pytest.approx(np.exp(0.5) / (1 + np.exp(0.5)), abs=0.06)


def test_samples_depend_on_seed_only():
    model = random_model(7)
    codes = JunctionTree(model).sample(100, seed=4)
    np.testing.assert_array_equal(codes, JunctionTree(model).sample(100, seed=4))
    assert (codes != JunctionTree(model).sample(100, seed=5)).any()
    with pytest.raises(InputError, match="at least 1 row"):
        JunctionTree(model).sample(0)
    with pytest.raises(InputError, match="seed"):
        JunctionTree(model).sample(1, seed=-1)
