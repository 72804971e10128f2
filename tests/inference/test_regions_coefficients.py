"""Coefficients of localized inference: enumerated maxima and closed-form bounds."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from region_cases import random_case

from graftviz import InputError, PairwiseMRF, dobrushin_coefficient, influence_matrix
from graftviz.data.synthetic.graphs import scale_free_graph
from graftviz.data.synthetic.potentials import random_model
from graftviz.inference.local.local_model import fields_of, region_model, rim_of
from graftviz.inference.local.star import (
    ENUMERATION_LIMIT,
    ROUNDING,
    flat_model,
    logistic,
    logistic_gap,
    neighbour_sums,
    star,
    sums_with,
)


def stars(seed, count):
    """Yield variables of random models with random neighbours inside and a finite field."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        model = random_case(rng)
        i = int(rng.integers(model.n_variables))
        starts, neighbours, _ = model.incidence
        around = neighbours[starts[i] : starts[i + 1]]
        slots = np.flatnonzero(rng.random(len(around)) < rng.random())
        yield model, i, slots, around[slots].tolist(), rng.normal(0.0, 1.0, model.cardinalities[i])


def coefficients(model, i, slots, field, limit):
    flat = flat_model(model)
    influence = np.empty(len(slots))
    sums = neighbour_sums(flat, i, slots, limit)
    return influence, *star(flat, i, sums, field, limit, influence)


def test_enumerated_coefficients_are_the_maxima():
    for model, i, slots, inside, field in stars(1, 250):
        found = coefficients(model, i, slots, field, ENUMERATION_LIMIT)
        influence, perturbation, spread = naive.star(model, i, inside, field)
        assert np.allclose(found[0], influence, atol=1e-12)
        assert found[1] == pytest.approx(perturbation, abs=1e-12)
        assert found[2] == pytest.approx(spread, abs=1e-12)


@pytest.mark.parametrize("limit", [1, 40])
def test_closed_forms_are_never_below_the_maxima(limit):
    looser = 0
    for model, i, slots, inside, field in stars(2, 400):
        found = coefficients(model, i, slots, field, limit)
        wanted = naive.star(model, i, inside, field)
        for bound, maximum in zip(found, wanted, strict=True):
            assert (np.asarray(bound) >= np.asarray(maximum) - ROUNDING / 2).all()
            looser += bool((np.asarray(bound) > np.asarray(maximum) + 1e-9).any())
        # The joint influence is never above the sum in Corollary 2.
        assert found[2] <= found[1] + found[0].sum() + 1e-12
    assert looser > 20  # closed forms were used


def test_adding_a_neighbour_equals_starting_with_it():
    for model, i, slots, _, field in stars(3, 200):
        if not len(slots):
            continue
        flat = flat_model(model)
        for limit in (1, ENUMERATION_LIMIT):
            sums = sums_with(flat, i, neighbour_sums(flat, i, slots[:-1], limit), slots[-1])
            influence = np.empty(len(slots))
            found = star(flat, i, sums, field, limit, influence)
            whole, *others = coefficients(model, i, slots, field, limit)
            assert np.allclose(influence, whole, atol=1e-12)
            assert np.allclose(found, others, atol=1e-12)


def test_influence_matrix_equals_definition_over_joint_states():
    rng = np.random.default_rng(4)
    done = 0
    while done < 15:
        model = random_case(rng)
        # Joint states of probability zero have no conditionals: the stars above test zeros.
        if model.cardinalities.prod() > 100 or np.isinf(model.weights).any():
            continue
        done += 1
        wanted = naive.influences(model)
        assert np.allclose(influence_matrix(model).toarray(), wanted, atol=1e-12)
        assert dobrushin_coefficient(model) == pytest.approx(wanted.sum(axis=1).max())
        closed = influence_matrix(model, limit=1).toarray()
        assert (closed >= wanted - ROUNDING / 2).all()


def test_impossible_states_give_full_influence():
    zero = np.array([[0.0, -np.inf], [0.0, 0.0]])
    model = PairwiseMRF.from_tables([np.zeros(2), np.zeros(2)], {(0, 1): zero})
    assert influence_matrix(model).toarray()[0, 1] == pytest.approx(0.5)
    assert influence_matrix(model, limit=1).toarray()[0, 1] == 1.0
    # A state that is impossible by its own field has no influence.
    never = PairwiseMRF.from_tables([np.array([-np.inf, 0.0]), np.zeros(2)], {(0, 1): zero})
    for limit in (1, ENUMERATION_LIMIT):
        assert influence_matrix(never, limit=limit).toarray()[0, 1] == 0.0


def test_the_gap_of_two_logistic_curves_is_its_maximum_over_the_interval():
    rng = np.random.default_rng(6)
    for _ in range(100):
        low, high = np.sort(rng.normal(0.0, 4.0, 2))
        d, e = rng.normal(0.0, 4.0, 2)
        grid = np.linspace(low, high, 4001)
        gaps = [abs(logistic(t + d) - logistic(t + e)) for t in grid]
        found = logistic_gap(low, high, d, e)
        assert found >= max(gaps) - 1e-12
        assert found == pytest.approx(max(gaps), abs=1e-5)


def test_fields_come_from_mean_field_on_the_region_and_its_rim():
    model = random_model(scale_free_graph(12, 2).edges, [3] * 12, edge_sigma=0.4, seed=3)
    region = [4, 0]
    rim = rim_of(model, region)
    both = [*region, *rim.tolist()]
    together = region_model(model, both)
    marginals = [np.full(3, 1.0 / 3.0) for _ in both]
    for _ in range(200):
        naive.mean_field_sweep(together, marginals, range(len(both)))
    fields = fields_of(flat_model(model), np.array(region), rim, "mean-field")
    for place in range(len(rim)):
        found = fields.marginals[fields.offsets[place] : fields.offsets[place + 1]]
        assert np.allclose(found, marginals[2 + place], atol=1e-7)
    local = region_model(model, region, "mean-field")
    for place, i in enumerate(region):
        field = local.node_weights(place) - model.node_weights(i)
        wanted = np.zeros(3)
        for e, (a, b) in enumerate(model.edges.tolist()):
            if i in (a, b) and (other := a + b - i) not in region:
                table = model.edge_weights(e) if i == a else model.edge_weights(e).T
                wanted += table @ marginals[both.index(other)]
        assert np.allclose(field, wanted, atol=1e-6)
    dropped = region_model(model, region)
    assert (dropped.node_weights(0) == model.node_weights(4)).all()
    assert dropped.names == (model.names[4], model.names[0])


@pytest.mark.parametrize("function", [influence_matrix, dobrushin_coefficient])
def test_influences_of_something_else_are_refused(function):
    with pytest.raises(InputError, match="must be a model"):
        function(None)
