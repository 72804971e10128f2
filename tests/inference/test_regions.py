"""Local marginals: results, growth of regions, and refused queries."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
from region_cases import ising, random_case

import graftviz as gv
from graftviz import InputError, PairwiseMRF, grow_region, local_marginal
from graftviz.data.synthetic.graphs import grid_graph, ising_grid
from graftviz.data.synthetic.potentials import random_model
from graftviz.inference.local.local_model import region_marginal, region_model, rim_of

GRID = random_model(grid_graph(8, 8).edges, [2, 3] * 32, edge_sigma=0.25, seed=1)


def test_answer_is_described_and_within_its_bound():
    answer = gv.local_marginal(GRID, 27, tolerance=0.0, max_size=12)
    truth = gv.infer(GRID, "exact").node[27]
    assert answer.query == 27
    assert answer.nodes[0] == 27
    assert len(set(answer.nodes.tolist())) == len(answer.nodes) == 12
    assert answer.nodes.tolist() == [step.added for step in answer.history]
    assert [step.size for step in answer.history] == list(range(1, 13))
    assert answer.marginal.sum() == pytest.approx(1.0)
    assert np.abs(answer.marginal - truth).max() <= answer.bound
    assert answer.bound <= answer.history[-1].bound < answer.history[0].bound
    assert answer.nontrivial_bound
    assert not answer.certified
    assert answer.method == "exact"
    assert "Size limit reached (12)" in answer.stop_reason
    assert np.array_equal(answer.marginal, region_marginal(GRID, answer.nodes, 27))
    with pytest.raises(ValueError, match="read-only"):
        answer.marginal[0] = 1.0


def test_greedy_growth_takes_the_smallest_bound_and_detours_on_plateaus_only():
    detours = 0
    for seed in range(4):
        model = random_model(grid_graph(7, 7).edges, [2] * 49, edge_sigma=0.4, seed=seed)
        steps = list(grow_region(model, 24, tolerance=0.0, max_size=16))
        for step, following in itertools.pairwise(steps):
            bounds = dict(zip(step.candidates.tolist(), step.candidate_bounds, strict=True))
            assert following.bound <= bounds[following.added] + 1e-9
            if min(bounds.values()) < 0.99 * step.bound:
                assert bounds[following.added] == min(bounds.values())
            else:
                detours += bounds[following.added] > min(bounds.values())
    assert detours > 0


def test_growth_continues_if_every_bound_is_vacuous():
    edges = grid_graph(5, 5).edges
    model = ising(25, edges, 100.0, 40.0)
    steps = list(grow_region(model, 12, max_size=6))
    assert [step.is_vacuous for step in steps] == [True] * 6
    answer = local_marginal(model, 12, max_size=6)
    assert answer.bound == 1.0
    assert not answer.certified
    assert "vacuous" in answer.stop_reason


def test_random_and_norm_expansion():
    ways = {
        tuple(s.added for s in grow_region(GRID, 27, expansion="random", seed=seed, tolerance=0.0))
        for seed in range(5)
    }
    assert len(ways) > 1
    repeated = [
        [s.added for s in grow_region(GRID, 27, expansion="random", seed=3, tolerance=0.0)]
        for _ in range(2)
    ]
    assert repeated[0] == repeated[1]
    norms = GRID.edge_norms()
    steps = list(grow_region(GRID, 27, expansion="norm", tolerance=0.0, max_size=8))
    for step, following in itertools.pairwise(steps):
        assert np.isnan(step.candidate_bounds).all()
        inside = set(step.nodes.tolist())
        into = dict.fromkeys(step.candidates.tolist(), 0.0)
        for (i, j), norm in zip(GRID.edges.tolist(), norms, strict=True):
            if (i in inside) != (j in inside):
                into[j if i in inside else i] += norm**2
        assert into[following.added] == pytest.approx(max(into.values()))


def test_a_whole_component_is_answered_exactly():
    nodes = [np.array([0.3, 0.0]), np.zeros(2), np.zeros(3), np.zeros(2)]
    pair = np.array([[1.0, 0.0], [0.0, 1.0]])
    model = PairwiseMRF.from_tables(nodes, {(0, 1): pair, (1, 2): np.ones((2, 3)), (0, 3): pair})
    answer = local_marginal(model, 0, tolerance=0.0)
    assert answer.bound == 0.0
    assert answer.certified
    assert "whole connected component" in answer.stop_reason
    assert np.abs(answer.marginal - naive.marginal(model, 0)).max() < 1e-12
    assert answer.history[-2].candidate_bounds.tolist() == [0.0]


def test_growth_stops_at_the_tolerance_and_below_the_threshold():
    free = local_marginal(GRID, 27, tolerance=0.0, max_size=20)
    bounds = [step.bound for step in free.history]
    wanted = bounds[9] * 1.0001
    first = next(k for k, bound in enumerate(bounds) if bound <= wanted)
    answer = local_marginal(GRID, 27, tolerance=wanted, max_size=20)
    assert len(answer.history) == first + 1
    assert answer.certified
    assert answer.bound <= wanted
    assert "tolerance" in answer.stop_reason
    by_threshold = local_marginal(GRID, 27, tolerance=0.0, max_size=20, threshold=0.02)
    stopped = [step.bound for step in by_threshold.history]
    assert 1 < len(stopped) < 20
    assert (np.diff(stopped) <= -0.02 + 1e-9).all()
    last = by_threshold.history[-1]
    assert last.candidate_bounds.min() > last.bound - 0.02
    assert "No variable improves" in by_threshold.stop_reason
    blind = list(grow_region(GRID, 27, tolerance=0.0, threshold=0.02, expansion="norm"))
    gains = -np.diff([step.bound for step in blind])
    assert gains[-1] < 0.02
    assert (gains[:-1] >= 0.02).all()
    assert "The last variable" in blind[-1].reason
    alone = local_marginal(GRID, 27, max_size=1)
    assert alone.nodes.tolist() == [27]
    assert "Size limit reached (1)." in alone.stop_reason


def test_evidence_is_used_and_observed_query_is_certain():
    evidence = {26: 1, GRID.names[35]: 0, 20: 1}
    truth = gv.infer(GRID, "exact", evidence=evidence).node
    for cut in ("drop", "mean-field"):
        answer = local_marginal(GRID, "x27", evidence=evidence, cut=cut, tolerance=0.0)
        assert np.abs(answer.marginal - truth[27]).max() <= answer.bound < 0.2
        assert not set(answer.nodes.tolist()) & {26, 35, 20}
    observed = local_marginal(GRID, 26, evidence=evidence)
    assert observed.marginal.tolist() == truth[26].tolist() == [0.0, 1.0]
    assert observed.bound == 0.0
    assert observed.certified
    assert "observed" in observed.stop_reason


def test_impossible_evidence_is_refused():
    zero = np.array([[0.0, 0.0], [0.0, -np.inf]])
    model = PairwiseMRF.from_tables(
        [np.zeros(2)] * 3, {(0, 1): zero, (1, 2): np.array([[-np.inf, 0.0], [0.0, 0.0]])}
    )
    assert local_marginal(model, 0, evidence={1: 1}).marginal.tolist() == [1.0, 0.0]
    with pytest.raises(InputError, match="zero"):
        local_marginal(model, 1, evidence={0: 1, 2: 0})


def test_a_region_too_wide_for_memory_is_answered_but_not_certified():
    edges = [(i, j) for i in range(9) for j in range(i + 1, 9)]
    model = random_model(np.array(edges), [4] * 9, edge_sigma=0.02, seed=1)
    answer = local_marginal(model, 0, tolerance=0.0, max_size=8, max_memory=2_000)
    assert answer.method == "bp"
    assert answer.bound == 1.0
    assert not answer.nontrivial_bound
    assert not answer.certified
    assert "too much memory" in answer.stop_reason
    assert answer.history[-1].bound < 1.0
    truth = gv.infer(model, "exact").node[0]
    assert np.abs(answer.marginal - truth).max() < 0.05
    assert local_marginal(model, 0, tolerance=0.0, max_size=8).nontrivial_bound


def test_answer_is_that_of_region_with_smallest_bound():
    rng = np.random.default_rng(11)
    shorter = 0
    for _ in range(150):
        model = random_case(rng)
        query = int(rng.integers(model.n_variables))
        truth = naive.marginal(model, query)
        if truth is None:
            continue
        size = int(rng.integers(2, 6))
        options = {"tolerance": 0.0, "max_size": size, "expansion": "random"}
        answer = local_marginal(model, query, **options)
        grown = list(grow_region(model, query, **options))
        assert np.abs(answer.marginal - truth).max() <= answer.bound + 1e-12
        assert answer.bound == min(step.bound for step in grown) == answer.history[-1].bound
        assert answer.nodes.tolist() == [step.added for step in answer.history]
        shorter += len(answer.history) < len(grown)
    assert shorter > 3


def test_evidence_that_is_ruled_out_far_from_the_query_is_refused():
    equal = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    weak = np.array([[0.1, 0.0], [0.0, 0.1]])
    chain = {(k, k + 1): weak for k in range(20)} | {(20, 21): equal, (21, 22): equal}
    model = PairwiseMRF.from_tables([np.zeros(2)] * 23, chain)
    assert local_marginal(model, 0, evidence={20: 1, 22: 1}).certified
    with pytest.raises(InputError, match="probability zero"):
        local_marginal(model, 0, evidence={20: 0, 22: 1})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"query": 64}, "64 is not one"),
        ({"query": -1}, "-1 is not one"),
        ({"query": "x99"}, "no variable named 'x99'"),
        ({"cut": "saw"}, "cut must be one of drop, mean-field"),
        ({"expansion": "largest"}, "one of greedy, random, norm"),
        ({"tolerance": -0.1}, "tolerance must be at least 0"),
        ({"tolerance": float("nan")}, "tolerance must be finite"),
        ({"max_size": 0}, "max_size must be at least 1"),
        ({"threshold": -1.0}, "threshold must be at least 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"evidence": {70: 0}}, "70 is not one"),
        ({"evidence": {1: 9}}, "9 is not one"),
    ],
)
def test_invalid_queries_are_refused_with_one_sentence(options, sentence):
    arguments = {"query": 27, **options}
    with pytest.raises(InputError, match=sentence):
        local_marginal(GRID, **arguments)
    with pytest.raises(InputError, match=sentence):
        grow_region(GRID, **arguments)  # refused before the first step is requested


def test_bad_regions_are_refused():
    with pytest.raises(InputError, match="not in the region"):
        region_marginal(GRID, [1, 2], 27)
    for nodes in ([], [3, 3]):
        with pytest.raises(InputError, match="at least one variable, and none twice"):
            region_model(GRID, nodes)
    with pytest.raises(InputError, match="A cut is one of"):
        region_model(GRID, [3], "saw")


ZEROS = np.full((2, 2), -np.inf)


@pytest.mark.parametrize(
    "tables",
    [
        {(0, 1): ZEROS, (1, 2): ZEROS},
        {(0, 1): np.zeros((2, 2)), (1, 2): ZEROS},
        # An odd cycle of variables that must differ from their neighbours.
        {
            (i, j): np.where(np.eye(2, dtype=bool), -np.inf, 0.0)
            for i, j in ((0, 1), (1, 2), (0, 2))
        },
    ],
    ids=["all", "far", "cycle"],
)
def test_a_model_without_a_possible_state_is_refused(tables):
    model = PairwiseMRF.from_tables([np.zeros(2)] * 3, tables)
    for compute in (local_marginal, grow_region):
        with pytest.raises(InputError, match="Every joint state of this model has probability"):
            compute(model, 0)


def corollary_with_fields(model, region):
    """Corollary 2 for a region whose cut edges are replaced by its own mean field, plainly."""
    rim = rim_of(model, region).tolist()
    both = [*region, *rim]
    together = region_model(model, both)
    marginals = [naive_softmax(together.node_weights(k)) for k in range(len(both))]
    for _ in range(300):
        naive.mean_field_sweep(together, marginals, range(len(both)))
    influence, perturbation = np.zeros((len(region), len(region))), np.zeros(len(region))
    for place, i in enumerate(region):
        field, inside = np.zeros(model.cardinalities[i]), []
        for e, (a, b) in enumerate(model.edges.tolist()):
            if i not in (a, b):
                continue
            other = a + b - i
            if other in region:
                inside.append(other)
            else:
                table = model.edge_weights(e) if i == a else model.edge_weights(e).T
                field += table @ marginals[both.index(other)]
        row, perturbation[place], _ = naive.star(model, i, inside, field)
        influence[place, [region.index(j) for j in inside]] = row
    if not rim:
        return 0.0
    if np.abs(np.linalg.eigvals(influence)).max() >= 1.0:
        return 1.0
    return min(float(np.linalg.solve(np.eye(len(region)) - influence, perturbation)[0]), 1.0)


def naive_softmax(logs):
    chances = np.exp(logs - logs.max())
    return chances / chances.sum()


@pytest.mark.parametrize("seed", range(12))
def test_candidates_under_mean_field_have_fields_of_their_own(seed):
    """Algorithm 1, lines 8 and 9: the same order as a plain loop, up to ties."""
    model = ising_grid(3, 3, field=1.0, coupling=0.6, seed=seed)
    steps = list(
        grow_region(
            model, 4, cut="mean-field", growth="algorithm-1", bound="corollary-2", tolerance=0.0
        )
    )
    for step in steps:
        region = step.nodes.tolist()
        assert step.bound == pytest.approx(corollary_with_fields(model, region), abs=1e-6)
        for node, bound in zip(step.candidates.tolist(), step.candidate_bounds, strict=True):
            wanted = corollary_with_fields(model, [*region, node])
            assert bound == pytest.approx(wanted, abs=1e-6)
    for step, after in itertools.pairwise(steps):
        taken = step.candidate_bounds[step.candidates == after.added].item()
        assert taken <= step.candidate_bounds.min() + 1e-9
        assert after.bound == pytest.approx(taken, abs=1e-9)
        assert after.bound < step.bound
