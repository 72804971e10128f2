"""Ranks of the best edge in a reservoir: simulation against theory, and in a run."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given, strategies as st
from learner_cases import followers_table

from graftviz import InputError, load_dataset
from graftviz.evaluation.reservoir import (
    AllScores,
    RankedStep,
    RankSimulation,
    ranked_steps,
    simulated_ranks,
    smallest_ranks,
)
from graftviz.learning.grafting.reservoir import activation
from graftviz.reports.figures.reservoir import activation_figure, rank_figure
from graftviz.reports.words.steps import activation_words, simulation_words


def finished(variables: int, largest: int, trials: int, seed: int = 0) -> RankSimulation:
    *_, last = simulated_ranks(variables, largest, trials, seed)
    return last


@pytest.fixture(scope="module")
def runs() -> tuple[tuple[RankedStep, ...], tuple[RankedStep, ...]]:
    """First hit, and best-choice with a reservoir, on the karate club."""
    known = load_dataset("karate")
    lam = known.suggested["lam"]
    *_, first = ranked_steps(known.table, reservoir=1, t_max=1, lam=lam)
    *_, best = ranked_steps(known.table, reservoir=20, t_max=60, lam=lam)
    return first, best


# --- the simulation ---------------------------------------------------------------------------


@given(st.integers(0, 2**63 - 1), st.integers(2, 9), st.integers(1, 40))
def test_kernel_draws_equal_those_of_plain_twin(seed: int, variables: int, largest: int) -> None:
    pairs = variables * (variables - 1) // 2
    sizes = np.arange(1, min(largest, pairs) + 1)
    found = np.zeros(len(sizes), dtype=np.int64)
    state = np.array([seed], dtype=np.uint64)
    smallest_ranks(state, sizes, np.zeros(pairs, dtype=np.int32), found)
    assert found.tolist() == naive.smallest_ranks(pairs, sizes, seed)


def test_means_agree_with_theory() -> None:
    simulation = finished(50, 200, 400)
    pairs, sizes = 1225, simulation.sizes
    assert simulation.pairs == pairs
    # Exact mean and variance of the minimum of r draws from 1 … M without replacement.
    mean = (pairs + 1) / (sizes + 1)
    variance = (pairs + 1) * (pairs - sizes) * sizes / ((sizes + 1.0) ** 2 * (sizes + 2))
    off = (simulation.ranks.mean(axis=0) - mean) / np.sqrt(variance / 400)
    assert np.abs(off).max() < 4.5
    assert np.mean(off**2) == pytest.approx(1.0, abs=0.35)
    assert np.abs(simulation.expected / (mean / pairs) - 1).max() < 0.001


def test_every_share_lies_between_its_bounds() -> None:
    simulation = finished(10, 45, 30)
    assert (simulation.lowest <= simulation.mean).all()
    assert (simulation.mean <= simulation.highest).all()
    assert simulation.lowest.min() >= 1 / 45
    assert simulation.highest.max() <= 1
    # All pairs drawn: the best is among them.
    assert (simulation.ranks[:, -1] == 1).all()
    # r distinct ranks leave the smallest of them at most M − r + 1.
    assert (simulation.ranks <= 45 - simulation.sizes + 1).all()
    assert not simulation.ranks.flags.writeable


def test_ranks_depend_on_seed_and_trials_are_appended() -> None:
    first, repeated, other = finished(30, 20, 5), finished(30, 20, 5), finished(30, 20, 5, seed=1)
    assert np.array_equal(first.ranks, repeated.ranks)
    assert not np.array_equal(first.ranks, other.ranks)
    growing = list(simulated_ranks(30, 20, 5))
    assert [len(part.ranks) for part in growing] == [1, 2, 3, 4, 5]
    assert all(np.array_equal(part.ranks, first.ranks[: len(part.ranks)]) for part in growing)


@pytest.mark.parametrize("numbers", [(1, 5, 5), (2001, 5, 5), (9, 0, 5), (9, 1001, 5), (9, 5, 0)])
def test_numbers_out_of_bounds_are_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(InputError, match=r"must be .* to .*; got"):
        next(simulated_ranks(*numbers))


# --- the run ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_scores_of_all_pairs_equal_those_in_reservoir(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[np.ndarray] = []
    original = AllScores.of

    def watched(self: AllScores, beliefs: np.ndarray) -> np.ndarray:
        seen.append(original(self, beliefs))
        return seen[-1]

    monkeypatch.setattr(AllScores, "of", watched)
    table = followers_table(9, 300, seed)
    *_, steps = ranked_steps(table, reservoir=6, t_max=9, alpha=0.3, lam=1e-3, seed=seed)
    assert len(steps) > 5
    assert len(seen) == len(steps)
    active: set[tuple[int, int]] = set()
    for step, scores in zip(steps, seen, strict=True):
        view = step.reservoir
        assert np.allclose(scores[tuple(view.edges.T)], view.scores, rtol=1e-9, atol=1e-15)
        inactive = {
            (i, j): scores[i, j]
            for i in range(table.n_variables)
            for j in range(i + 1, table.n_variables)
            if (i, j) not in active
        }
        assert step.inactive == len(inactive)
        ahead = [s for s in inactive.values() if s > scores[tuple(view.edges[0])]]
        assert step.rank == 1 + len(ahead)
        assert step.violating == sum(s > 1e-3 for s in inactive.values())
        picked = activation(view.edges, view.scores, 0.3)
        active |= {(int(i), int(j)) for i, j in view.edges[list(picked.chosen)]}
    assert [step.index for step in steps] == list(range(1, len(steps) + 1))


def test_a_reservoir_of_all_pairs_holds_the_best() -> None:
    table = followers_table(9, 300, 5)
    *_, steps = ranked_steps(table, reservoir=36, t_max=36, alpha=1.0, lam=1e-3)
    assert {step.rank for step in steps[1:]} == {1}  # the first step may stop at its cap
    assert all(step.rank <= step.violating for step in steps)


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="alpha must be"):
        next(ranked_steps(followers_table(9, 300, 0), alpha=2.0))


# --- figures and sentences --------------------------------------------------------------------


@pytest.mark.parametrize(("variables", "largest"), [(2, 1), (3, 9), (5, 1)])
def test_smallest_cases_have_figure_and_sentence(variables: int, largest: int) -> None:
    simulation = finished(variables, largest, 1)
    for size in (1, 2, 50):
        rank_figure(simulation, size=size, logarithmic=True)
        assert simulation_words(simulation, size).endswith(".")


@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.75, 1.0])
def test_figure_of_scores_groups_edges_by_outcome(
    alpha: float, runs: tuple[tuple[RankedStep, ...], tuple[RankedStep, ...]]
) -> None:
    view = runs[1][9].reservoir
    picked = activation(view.edges, view.scores, alpha)
    figure = activation_figure(view, picked, load_dataset("karate").table.names)
    places = {trace.name.split(" (")[0]: trace.x for trace in figure.data}
    taken, passed, below = places.values()
    assert [k - 1 for k in taken] == list(picked.chosen)
    assert [k - 1 for k in passed] == list(picked.skipped)
    assert sorted((*taken, *passed, *below)) == list(range(1, len(view.scores) + 1))
    assert all(view.scores[k - 1] < picked.tau or alpha == 1.0 for k in below)
    heights = {shape.y0 for shape in figure.layout.shapes}
    assert {picked.mean, picked.tau, picked.maximum} <= heights
    words = activation_words(picked, len(view.scores), alpha)
    assert f"{len(picked.chosen)} {'is' if len(picked.chosen) == 1 else 'are'} activated" in words
    assert ("skipped" in words) == bool(picked.skipped)
