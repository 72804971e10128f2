"""Belief propagation: exact on forests, equal to its plain twin elsewhere, and never NaN."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
from inference_cases import largest_gap

from graftviz import InputError, PairwiseMRF, infer
from graftviz.inference.propagation import message_graph, pass_quickly, refresh_belief


def random_forest(
    seed: int,
    n: int,
    scale: float,
    *,
    zeros: float = 0.0,
    most_states: int = 4,
    states: int | None = None,
):
    """Return a forest of one or more trees with edges in random order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most_states + 1, size=n) if states is None else np.full(n, states)
    names = rng.permutation(n)
    parents = {k: rng.integers(k) for k in range(1, n) if rng.random() < 0.9}
    tables = {}
    for k in rng.permutation(list(parents)):
        i, j = int(names[k]), int(names[parents[k]])
        tables[i, j] = with_zeros(rng, rng.normal(0, scale, (sizes[i], sizes[j])), zeros)
    nodes = [with_zeros(rng, rng.normal(0, scale, size), zeros / 3) for size in sizes]
    return PairwiseMRF.from_tables(nodes, tables)


def with_zeros(rng, weights, share):
    weights[rng.random(weights.shape) < share] = -np.inf
    return weights


def random_loops(seed: int, n: int, scale: float, density: float = 0.5, states: int | None = None):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=n) if states is None else np.full(n, states)
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < density]
    return PairwiseMRF.from_tables(
        [rng.normal(0, scale, size) for size in sizes],
        {(i, j): rng.normal(0, scale, (sizes[i], sizes[j])) for i, j in pairs},
    )


def assert_sound(beliefs) -> None:
    """Check that beliefs are finite, not negative and normalised."""
    for belief in (*beliefs.node, *beliefs.edge):
        assert np.isfinite(belief).all()
        assert (belief >= 0).all()
        assert belief.sum() == pytest.approx(1.0, abs=1e-12)
    assert not np.isnan(beliefs.log_partition)


@pytest.mark.parametrize("scale", [0.3, 2.0, 8.0, 40.0])
@pytest.mark.parametrize("seed", range(8))
def test_exact_on_forests_whatever_the_weights(seed, scale):
    model = random_forest(seed, 6, scale)
    beliefs = infer(model, "bp")
    nodes, edges, log_partition = naive.marginals(model)
    assert beliefs.converged
    assert_sound(beliefs)
    assert largest_gap(beliefs, nodes, edges) < 1e-9
    assert beliefs.log_partition == pytest.approx(log_partition, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_zero_potentials_are_exact_and_contradictions_reported_on_forests(seed):
    model = random_forest(seed, 6, 2.0, zeros=0.3)
    beliefs = infer(model, "bp")
    assert_sound(beliefs)
    with np.errstate(invalid="ignore"):  # of a contradiction, marginals are 0 / 0
        nodes, edges, log_partition = naive.marginals(model)
    if log_partition == -np.inf:
        assert beliefs.log_partition == -np.inf
    else:
        assert largest_gap(beliefs, nodes, edges) < 1e-9
        assert beliefs.log_partition == pytest.approx(log_partition, abs=1e-9)


COUPLING = np.array([[2.0, -2.0], [-2.0, 2.0]])
FAINT = np.array([[0.0, -26.0], [0.0, -24.5]])  # depends on the left node in the 12th digit
CHAIN = (((0, 1), COUPLING), ((1, 2), FAINT), ((2, 3), COUPLING))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_tiny_change_of_message_that_decides_a_belief_is_propagated(order):
    """Check a message 1 → 2 that changes in its 12th digit only, amplified by the field at 2.

    A criterion on absolute changes would stop before the change reaches node 3.
    """
    fields = [[3.0, 0.0], [0.0, 0.0], [0.0, 26.0], [0.0, 0.0]]
    model = PairwiseMRF.from_tables(fields, dict(CHAIN[k] for k in order))
    beliefs = infer(model, "bp")
    nodes, edges, _ = naive.marginals(model)
    assert beliefs.converged
    assert largest_gap(beliefs, nodes, edges) < 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_equals_the_plain_twin_on_loops(seed):
    model = random_loops(seed, 6, 0.6)
    beliefs = infer(model, "bp", tolerance=1e-13, max_sweeps=2000)
    assert beliefs.converged
    assert_sound(beliefs)
    nodes, edges = naive.loopy_propagation(model, 400)
    assert largest_gap(beliefs, nodes, edges) < 1e-9
    log_partition = naive.bethe_log_partition(model, nodes, edges)
    assert beliefs.log_partition == pytest.approx(log_partition, abs=1e-9)


@pytest.mark.parametrize("scale", [2.0, 40.0, 100.0])
@pytest.mark.parametrize("states", [2, 3, 5])
def test_equal_numbers_of_states_are_exact_on_forests_whatever_the_weights(states, scale):
    model = random_forest(states, 6, scale, states=states)
    beliefs = infer(model, "bp")
    nodes, edges, log_partition = naive.marginals(model)
    assert beliefs.converged
    assert_sound(beliefs)
    assert largest_gap(beliefs, nodes, edges) < 1e-9
    assert beliefs.log_partition == pytest.approx(log_partition, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_zeros_among_equal_numbers_of_states_use_the_careful_update(seed):
    model = random_forest(seed, 5, 2.0, zeros=0.15, states=3)
    beliefs = infer(model, "bp")
    assert_sound(beliefs)
    with np.errstate(invalid="ignore"):  # of a contradiction, marginals are 0 / 0
        nodes, edges, log_partition = naive.marginals(model)
    assert beliefs.log_partition == pytest.approx(log_partition, abs=1e-9)
    if log_partition > -np.inf:
        assert largest_gap(beliefs, nodes, edges) < 1e-9


@pytest.mark.parametrize("states", [2, 5, None])
@pytest.mark.parametrize("direction", [1, -1])
def test_quick_sweep_equals_careful_sweep(states, direction):
    """Compare messages, beliefs and residual with those of a plain sweep."""
    model = random_loops(3, 7, 1.0, states=states)
    quick, plain = message_graph(model), message_graph(model)
    for graph in (quick, plain):
        graph.messages[:] = np.random.default_rng(1).uniform(0.5, 1.5, len(graph.messages))
    work = np.empty((6, 5))
    for graph in (quick, plain):
        for i in range(model.n_variables):
            refresh_belief(graph, i, work[0])
    m = model.n_edges
    first, end = (0, m) if direction == 1 else (m - 1, -1)
    stopped, residual = pass_quickly(quick, first, end, direction, 0.0, work)
    assert stopped == end
    change = max(naive.send_messages(plain, e) for e in range(first, end, direction))
    assert residual == pytest.approx(change, rel=1e-9)
    assert np.allclose(quick.messages, plain.messages, rtol=1e-12)
    assert np.allclose(quick.node_beliefs, plain.node_beliefs, rtol=1e-12)


@pytest.mark.parametrize("spoil", ["message", "belief", "potential"])
def test_quick_sweep_stops_unchanged_at_tiny_or_zero_values(spoil):
    model = random_loops(0, 6, 1.0, states=3)
    graph = message_graph(model)
    graph.node_beliefs[:] = 1 / 3
    e = model.n_edges // 2
    i = int(model.edges[e, 0])
    if spoil == "message":
        graph.messages[graph.message_offsets[e]] = 1e-80
    elif spoil == "belief":
        e = int(np.flatnonzero((model.edges == i).any(axis=1))[0])
        graph.node_beliefs[3 * i] = 1e-80
    else:
        graph.potentials[graph.edge_offsets[e] : graph.edge_offsets[e + 1]] = 0.0
    before = graph.messages[graph.message_offsets[e] :].copy()
    stopped, residual = pass_quickly(graph, 0, model.n_edges, 1, 0.0, np.empty((6, 3)))
    assert stopped == e
    assert np.array_equal(graph.messages[graph.message_offsets[e] :], before)
    assert np.isfinite(residual)


@pytest.mark.parametrize("scale", [1.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_hub_of_300_neighbours_does_not_underflow(seed, scale):
    """Check a product of 300 messages that underflows unless computed by logarithms."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=301)
    sizes[0] = 4
    # All messages favour the same state: nothing cancels.
    tables = {
        (0, j): rng.normal(0, scale, (4, sizes[j])) + scale * np.arange(4)[:, None]
        for j in rng.permutation(np.arange(1, 301)).tolist()
    }
    nodes = [rng.normal(0, scale, size) for size in sizes]
    # The field of the hub opposes them, so that more than one state is probable.
    log_messages = sum(naive.log_sum(w + nodes[j], 1) for (_, j), w in tables.items())
    nodes[0] = rng.normal(0, 1, 4) - log_messages
    model = PairwiseMRF.from_tables(nodes, tables)
    beliefs = infer(model, "bp")
    assert beliefs.converged
    assert_sound(beliefs)
    plain_nodes, plain_edges = naive.loopy_propagation(model, 4)
    assert largest_gap(beliefs, plain_nodes, plain_edges) < 1e-9
    assert beliefs.log_partition == pytest.approx(
        naive.log_sum(nodes[0] + log_messages, 0), abs=1e-8
    )


def frustrated(strength: float, n: int = 7) -> PairwiseMRF:
    """Return a model in which all pairs of n binary variables repel: BP oscillates."""
    pairs = itertools.combinations(range(n), 2)
    table = [[0.0, strength], [strength, 0.0]]
    return PairwiseMRF.from_tables([[0.1, 0.0]] * n, dict.fromkeys(pairs, table))


def test_missing_convergence_is_reported_with_sound_beliefs():
    beliefs = infer(frustrated(6.0), "bp", max_sweeps=30)
    assert not beliefs.converged
    assert beliefs.sweeps == 30
    assert beliefs.residual > 1e-9
    assert_sound(beliefs)


def test_results_are_read_only_and_model_is_unchanged():
    model = random_loops(0, 5, 0.5)
    weights = model.weights.copy()
    beliefs = infer(model, "bp")
    assert np.array_equal(model.weights, weights)
    for array in (*beliefs.node, *beliefs.edge):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


REFUSED = {
    "method": ({"method": "guess"}, "must be one of bp"),
    "damping of one": ({"damping": 1.0}, "less than 1; got 1"),
    "negative damping": ({"damping": -0.1}, "at least 0"),
    "no sweeps": ({"max_sweeps": 0}, "at least 1; got 0"),
    "negative tolerance": ({"tolerance": -1.0}, "at least 0; got -1"),
    "no tolerance": ({"tolerance": np.nan}, "at least 0; got nan"),
}


@pytest.mark.parametrize(("options", "sentence"), REFUSED.values(), ids=REFUSED)
def test_invalid_settings_are_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        infer(random_loops(0, 4, 0.5), **options)
