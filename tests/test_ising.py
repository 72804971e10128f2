"""Ising models: their energy, their draws, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from graftviz.errors import InputError
from graftviz.sampling import grid_graph, ising_grid, ising_model


def test_log_scores_are_the_energy_of_the_spins() -> None:
    edges = np.array([[0, 1], [1, 2], [0, 3]])
    fields, couplings = np.array([0.3, -1.2, 0.0, 2.0]), np.array([0.7, -0.4, 1.5])
    model = ising_model(edges, fields, couplings)
    codes = np.random.default_rng(0).integers(0, 2, (4, 50))
    spins = 2.0 * codes - 1.0
    energy = fields @ spins + couplings @ (spins[edges[:, 0]] * spins[edges[:, 1]])
    assert np.allclose(model.log_scores(codes), energy, rtol=0, atol=1e-12)
    assert model.labels == (("-1", "+1"),) * 4


def test_draws_fill_their_ranges_and_only_scale_with_the_strengths() -> None:
    weak = ising_grid(12, 15, field=1.0, coupling=1.0, seed=3)
    strong = ising_grid(12, 15, field=2.0, coupling=0.5, seed=3)
    graph = grid_graph(12, 15)
    assert np.array_equal(weak.edges, graph.edges)
    assert weak.names == graph.names
    n = graph.n_nodes
    fields = weak.weights[1 : 2 * n : 2]
    couplings = weak.weights[2 * n :: 4]
    for drawn in (fields, couplings):
        assert np.abs(drawn).max() <= 1.0
        assert drawn.min() < -0.9
        assert drawn.max() > 0.9
        assert abs(drawn.mean()) < 4 / np.sqrt(3 * len(drawn))  # four standard errors
    assert np.array_equal(strong.weights[: 2 * n], 2.0 * weak.weights[: 2 * n])
    assert np.array_equal(strong.weights[2 * n :], 0.5 * weak.weights[2 * n :])
    assert not np.array_equal(
        weak.weights, ising_grid(12, 15, field=1.0, coupling=1.0, seed=4).weights
    )


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: ising_grid(3, 3, field=-1.0, coupling=1.0), "strength of fields"),
        (lambda: ising_grid(3, 3, field=1.0, coupling=np.inf), "strength of couplings"),
        (lambda: ising_grid(3, 3, field=np.nan, coupling=1.0), "strength of fields"),
        (lambda: ising_grid(1, 1, field=1.0, coupling=1.0), "at least two nodes"),
        (lambda: ising_model(np.array([[0, 1]]), np.zeros(2), np.zeros(2)), "as many couplings"),
        (
            lambda: ising_model(np.array([[0, 1]]), np.array([0.0, np.nan]), np.zeros(1)),
            "finite numbers",
        ),
        (lambda: ising_model(np.array([[0, 2]]), np.zeros(2), np.zeros(1)), "pairs i < j"),
    ],
)
def test_what_is_no_ising_model_is_refused(make, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        make()
