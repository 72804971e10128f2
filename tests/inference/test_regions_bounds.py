"""Bounds of localized inference and the incremental inverse."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import get_args

import naive
import numpy as np
import pytest
from region_cases import ising, random_case

from graftviz import InputError, dobrushin_coefficient
from graftviz.data.synthetic.graphs import grid_graph, ising_grid
from graftviz.data.synthetic.potentials import random_model
from graftviz.inference.local.bounds import (
    Coefficients,
    all_coefficients,
    appended,
    bound_with,
    coefficients_with,
    compare_from_scratch,
    region_arrays,
    solve_in_place,
)
from graftviz.inference.local.influence import (
    decay_rate,
    distance_bound,
    minimal_radius,
    tail_bound,
)
from graftviz.inference.local.local_model import fields_of, region_model, rim_of
from graftviz.inference.local.marginal import Bound, ExpansionOptions, Growth, expansion_steps
from graftviz.inference.local.star import ENUMERATION_LIMIT, flat_model, members, neighbours_of

BOUNDS, GROWTHS = get_args(Bound), get_args(Growth)
EXPANSIONS = ("greedy", "greedy", "random", "norm")
LIMITS = (1, 9, ENUMERATION_LIMIT, ENUMERATION_LIMIT)


def check_models(count, seed):
    """Grow a region in each of many random models; return all ratios of true error to bound."""
    rng = np.random.default_rng(seed)
    ratios, models = [], 0
    while models < count:
        model = random_case(rng)
        query = int(rng.integers(model.n_variables))
        truth = naive.marginal(model, query)
        if truth is None:
            continue
        models += 1
        options = ExpansionOptions(
            tolerance=0.0,
            max_size=int(rng.integers(1, 9)),
            cut=("drop", "mean-field")[rng.integers(2)],
            expansion=EXPANSIONS[rng.integers(4)],
            limit=LIMITS[rng.integers(4)],
            seed=int(rng.integers(100)),
            growth=GROWTHS[rng.integers(2)],
            bound=BOUNDS[rng.integers(2)],
        )
        for step in expansion_steps(model, query, options):
            assert 0.0 <= step.bound <= 1.0
            assert step.is_vacuous == (step.bound == 1.0)
            local = naive.marginal(region_model(model, step.nodes, options.cut), 0)
            error = float(np.abs(local - truth).max())
            assert error <= step.bound + 1e-12, (model, query, options, step)
            ratios.append(error / max(step.bound, 1e-9))
    return np.array(ratios)


def test_the_true_error_never_exceeds_the_bound():
    """Check hundreds of models of two to four states, weak to strong, with all options."""
    ratios = check_models(600, seed=20)
    assert len(ratios) > 1_200
    assert ratios.max() > 0.99  # the bound is tight
    assert (ratios > 0.1).mean() > 0.2


@pytest.mark.nightly
def test_the_true_error_never_exceeds_the_bound_on_many_more_models():
    for seed in range(100, 120):
        check_models(2_500, seed)


def grown(model, query, size, cut="drop", limit=ENUMERATION_LIMIT):
    """Yield comparisons of a region grown by one neighbour at a time."""
    flat = flat_model(model)
    nodes = np.array([query])
    comparison = None
    while True:
        inside, rim = members(nodes), rim_of(model, nodes)
        fields = fields_of(flat, nodes, rim, cut)
        region = region_arrays(flat, nodes, inside, fields, limit)
        if comparison is None or cut != "drop":
            comparison = compare_from_scratch(Coefficients(*all_coefficients(flat, region, limit)))
        yield region, comparison, rim
        if not len(rim) or len(nodes) == size:
            return
        candidate = int(rim[(7 * len(nodes)) % len(rim)])
        found = coefficients_with(flat, region, inside, candidate, fields, limit)
        expected, loose = bound_with(comparison, *found)
        if cut == "drop":
            touched, rows, perturbation, spread = found
            comparison = appended(comparison, touched, rows, perturbation, spread, loose)
            assert comparison.bounds[0] <= expected + 1e-9
        nodes = np.append(nodes, candidate)


@pytest.mark.parametrize(("strength", "limit"), [(0.15, 4096), (0.6, 4096), (1.5, 4096), (0.6, 1)])
def test_incremental_inverse_equals_full_inverse(strength, limit):
    model = random_model(
        grid_graph(7, 7).edges, [2, 3, 2, 4, 2, 3, 2] * 7, edge_sigma=strength, seed=1
    )
    flat = flat_model(model)
    kinds = set()
    for region, found, _ in grown(model, 24, 40, limit=limit):
        coefficients = Coefficients(*all_coefficients(flat, region, limit))
        for mine, whole in zip(found.coefficients, coefficients, strict=True):
            assert np.allclose(mine, whole, atol=1e-12)
        rows = np.where(found.loose[:, None], 0.0, coefficients.influence)
        inverse = np.linalg.inv(np.eye(len(rows)) - rows)
        assert np.allclose(found.inverse, inverse, rtol=1e-7, atol=1e-9)
        assert found.inverse.min() > -1e-12
        constants = np.where(found.loose, coefficients.spread, coefficients.perturbation)
        assert np.allclose(found.bounds, inverse @ constants, atol=1e-9)
        assert np.allclose(found.bounds, naive.least_bounds(*coefficients), atol=1e-9)
        assert np.allclose(found.bounds, compare_from_scratch(coefficients).bounds, atol=1e-9)
        kinds |= set(found.loose[:1].tolist()) | set(found.loose.tolist())
    assert kinds >= ({False} if strength == 0.15 else {False, True})


def test_without_loose_rows_the_bound_is_that_of_the_paper():
    """Compare with Corollary 2: Σ_j D_qj b_j with D = (I − C)⁻¹ of the local model."""
    model = random_model(grid_graph(6, 6).edges, [2] * 36, edge_sigma=0.1, seed=2)
    for _, found, _ in grown(model, 14, 16):
        influence, perturbation, _ = found.coefficients
        inverse = np.linalg.inv(np.eye(len(influence)) - influence)
        assert found.bounds[0] == pytest.approx(inverse[0] @ perturbation, abs=1e-12)


@pytest.mark.parametrize("cut", ["drop", "mean-field"])
@pytest.mark.parametrize("strength", [0.2, 0.8])
def test_the_bound_with_a_candidate_is_that_of_the_larger_region(cut, strength):
    model = random_model(grid_graph(5, 5).edges, [3, 2] * 12 + [2], edge_sigma=strength, seed=3)
    flat = flat_model(model)
    equal = total = 0
    for region, found, rim in grown(model, 12, 14, cut):
        nodes = region.nodes
        fields = fields_of(flat, nodes, rim, cut)
        for candidate in rim.tolist():
            changed = coefficients_with(
                flat, region, members(nodes), candidate, fields, ENUMERATION_LIMIT
            )
            bound, loose = bound_with(found, *changed)
            touched, rows, perturbation, spread = changed
            larger = appended(found, touched, rows, perturbation, spread, loose)
            # Other rows may be switched after the addition, which can only lower bounds.
            assert larger.bounds[0] <= bound + 1e-9
            equal += larger.bounds[0] >= bound - 1e-9
            total += 1
            if cut == "drop":
                both = np.append(nodes, candidate)
                whole = region_arrays(flat, both, members(both), fields, ENUMERATION_LIMIT)
                wanted = naive.least_bounds(*all_coefficients(flat, whole, ENUMERATION_LIMIT))
                assert larger.bounds[0] == pytest.approx(wanted[0], abs=1e-8)
    assert equal > 0.8 * total


def test_solution_of_small_system_equals_numpy():
    rng = np.random.default_rng(7)
    for t in range(1, 9):
        system, right = rng.normal(size=(t, t)), rng.normal(size=t)
        wanted = np.linalg.solve(system, right)
        solve_in_place(system.copy(), right)
        assert np.allclose(right, wanted)
    right = np.ones(2)
    solve_in_place(np.ones((2, 2)), right)
    assert np.isnan(right).all()


def test_a_system_beyond_uniqueness_gives_the_spreads():
    """Check row sums above one, for which (I − C)⁻¹ has negative entries."""
    influence = np.array([[0.0, 0.9, 0.9], [0.9, 0.0, 0.9], [0.9, 0.9, 0.0]])
    spread = np.array([0.8, 1.0, 1.0])
    found = compare_from_scratch(Coefficients(influence, np.array([0.5, 0.5, 1e-10]), spread))
    assert np.allclose(found.bounds, spread)
    weak = compare_from_scratch(
        Coefficients(0.01 * influence, np.array([0.0, 0.0, 0.1]) + 1e-10, spread)
    )
    assert weak.bounds[0] < 0.01
    assert not weak.loose.any()


def test_distant_strong_couplings_leave_bound_small():
    """Check a row sum above one behind a weak edge, where the paper's inverse is vacuous."""
    edges = [(0, 1), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (4, 5), (2, 5), (3, 5)]
    model = ising(6, edges, [0.05] + [2.0] * 8, 0.0)
    steps = list(expansion_steps(model, 0, ExpansionOptions(tolerance=0.0, max_size=5)))
    assert steps[-1].coefficient > 1.0
    assert all(step.bound < 0.1 for step in steps)


@pytest.mark.parametrize("strength", [0.2, 1.5])
@pytest.mark.parametrize("cut", ["drop", "mean-field"])
def test_corollary_2_is_the_inverse_of_i_less_c_and_never_below_the_tight_bound(strength, cut):
    model = ising_grid(6, 6, field=1.0, coupling=strength, seed=3)
    flat = flat_model(model)
    options = ExpansionOptions(
        tolerance=0.0, max_size=12, cut=cut, expansion="norm", bound="corollary-2"
    )
    vacuous = 0
    for step in expansion_steps(model, 14, options):
        rim = rim_of(model, step.nodes)
        fields = fields_of(flat, step.nodes, rim, cut)
        inside = members(step.nodes)
        region = region_arrays(flat, step.nodes, inside, fields, ENUMERATION_LIMIT)
        found = Coefficients(*all_coefficients(flat, region, ENUMERATION_LIMIT))
        expected = 1.0
        if np.abs(np.linalg.eigvals(found.influence)).max() < 1.0:
            inverse = np.linalg.inv(np.eye(step.size) - found.influence)
            expected = min(float((inverse @ found.perturbation)[0]), 1.0)
        assert step.bound == pytest.approx(expected, abs=1e-9)
        assert step.bound >= compare_from_scratch(found).bounds[0] - 1e-12
        vacuous += step.is_vacuous
    assert (vacuous > 0) == (strength > 0.5)


@pytest.mark.parametrize("bound", BOUNDS)
def test_algorithm_1_adds_the_smallest_bound_and_stops_where_none_is_smaller(bound):
    model = ising_grid(6, 6, field=1.0, coupling=0.6, seed=3)
    options = ExpansionOptions(tolerance=0.0, max_size=30, growth="algorithm-1", bound=bound)
    steps = list(expansion_steps(model, 14, options))
    for before, after in pairwise(steps):
        assert after.added == before.candidates[np.argmin(before.candidate_bounds)]
        assert after.bound == pytest.approx(before.candidate_bounds.min(), abs=1e-9)
        assert after.bound < before.bound
    assert steps[-1].size < 30
    assert steps[-1].candidate_bounds.min() > steps[-1].bound - 1e-9
    assert "Algorithm 1 stops" in steps[-1].reason
    free = ExpansionOptions(tolerance=0.0, max_size=30, bound=bound)
    assert len(list(expansion_steps(model, 14, free))) == 30


# The whole model


def region_of_radius(model, query, radius):
    nodes, front = [query], [query]
    for _ in range(radius):
        front = sorted({int(k) for i in front for k in neighbours_of(model, i)} - set(nodes))
        nodes += front
    return nodes


def test_global_bounds_hold_for_all_radii():
    rng = np.random.default_rng(8)
    tight = checked = 0
    while checked < 150:
        model = random_case(rng)
        c = dobrushin_coefficient(model)
        if not 0.0 < c < 0.95:
            continue
        query = int(rng.integers(model.n_variables))
        truth = naive.marginal(model, query)
        if truth is None:
            continue
        for radius in range(1, 5):
            nodes = region_of_radius(model, query, radius)
            if not len(rim_of(model, nodes)):
                break
            checked += 1
            for cut in ("drop", "mean-field"):
                local = naive.marginal(region_model(model, nodes, cut), 0)
                error = np.abs(local - truth).max()
                assert error <= tail_bound(c, radius) + 1e-12
                tight += error > 0.01 * tail_bound(c, radius)
            assert tail_bound(c, radius) <= distance_bound(c, radius) + 1e-15
    assert tight > 5


def test_the_distance_bound_is_that_of_the_theorem():
    for c in (0.01, 0.2, 0.49):
        beta = decay_rate(c)
        assert c * math.exp(beta) == pytest.approx(0.5)
        for distance in range(8):
            wanted = min(2.0 * math.exp(-beta * distance), 1.0)
            assert distance_bound(c, distance) == pytest.approx(wanted)
    assert distance_bound(0.5, 100) == distance_bound(3.0, 100) == 1.0
    assert tail_bound(0.5, 3) == pytest.approx(0.25)
    assert tail_bound(1.0, 1000) == tail_bound(2.0, 5) == 1.0
    assert distance_bound(0.0, 1) == tail_bound(0.0, 1) == 0.0


def test_minimal_radius_is_smallest_that_suffices():
    for c in (0.0, 0.05, 0.3, 0.4999, 0.5, 0.9, 1.0, 1.7):
        for tolerance in (0.9, 0.1, 1e-3, 1e-9):
            for radius, bound in zip(
                minimal_radius(c, tolerance), (distance_bound, tail_bound), strict=True
            ):
                if radius is None:
                    assert bound(c, 10_000) > tolerance
                else:
                    assert bound(c, radius) <= tolerance
                    assert radius == 0 or bound(c, radius - 1) > tolerance
    assert minimal_radius(0.5, 1.0) == (0, 0)


@pytest.mark.parametrize("c", [-0.1, math.nan, math.inf])
def test_invalid_coefficient_is_refused(c):
    for bound in (distance_bound, tail_bound, minimal_radius):
        with pytest.raises(InputError, match="Dobrushin coefficient"):
            bound(c, 1)
    with pytest.raises(InputError, match="distance must be at least 0"):
        tail_bound(0.5, -1)
    with pytest.raises(InputError, match="must be above 0"):
        minimal_radius(0.5, 0.0)
