"""Edge stability: rows of subsamples, frequencies of edges, and bounds."""

from __future__ import annotations

import itertools
import json
import re

import joblib
import naive
import numpy as np
import pytest
from fakes import random_pairs, random_table
from learner_cases import make, scale_free_table

from graftviz import DiscreteTable, InputError, PairwiseMRF, edge_stability, learn
from graftviz.__main__ import main
from graftviz.evaluation.selection.fits import learner_seed, subsample_rows, subsample_size
from graftviz.evaluation.selection.stability import stability_steps
from graftviz.learning.registry import learner_names

OPTIONS = {"lam": 0.012, "max_edges": 12}


def small_table() -> DiscreteTable:
    return scale_free_table(10, 3, 301)


def edges_on(table: DiscreteTable, learner, index: int, **plan) -> np.ndarray:
    """Return the edges with weights learned from one subsample by the public API."""
    rows = subsample_rows(table.n_rows, index, **plan)
    result = learn(table.rows(rows), learner, seed=learner_seed(index, seed=plan["seed"]))
    model = result.model
    return model.edges[[bool(np.any(model.edge_weights(e))) for e in range(len(model.edges))]]


# Rows


@pytest.mark.parametrize("rows", [4, 5, 100, 301])
def test_complementary_halves_are_disjoint_and_omit_at_most_one_row(rows):
    size = subsample_size(rows, "complementary-pairs")
    assert size == rows // 2
    plan = {"method": "complementary-pairs", "size": size, "seed": 3}
    for pair in range(4):
        first, second = (subsample_rows(rows, 2 * pair + k, **plan) for k in (0, 1))
        assert len(first) == len(second) == size
        both = np.concatenate([first, second])
        assert len(np.unique(both)) == 2 * size
        assert both.min() >= 0
        assert both.max() < rows


@pytest.mark.parametrize(
    ("rows", "size"), [(10, 8), (144, 115), (145, 120), (2000, 447), (10_000, 1000)]
)
def test_stars_takes_ten_roots_of_rows_without_replacement(rows, size):
    assert subsample_size(rows, "stars") == size
    parts = [subsample_rows(rows, k, method="stars", size=size, seed=1) for k in range(3)]
    for part in parts:
        assert len(np.unique(part)) == size
        assert part.max() < rows
    assert len({tuple(part) for part in parts}) == 3


# Counts


@pytest.mark.parametrize("method", ["complementary-pairs", "stars", "bootstrap"])
@pytest.mark.parametrize("name", learner_names())
def test_counts_equal_those_of_a_plain_loop(name, method):
    table, learner = small_table(), make(name, **OPTIONS)
    plan = {"method": method, "size": subsample_size(table.n_rows, method), "seed": 5}
    found = [edges_on(table, learner, index, **plan) for index in range(6)]
    wanted = naive.edge_counts(found, table.n_variables)
    stability = edge_stability(table, learner, subsamples=6, method=method, seed=5)
    counts = zip(map(tuple, stability.edges.tolist()), stability.counts.tolist(), strict=True)
    assert dict(counts) == wanted
    assert len(wanted) > 0
    assert stability.edge_counts.tolist() == [len(edges) for edges in found]
    assert stability.mean_edges == pytest.approx(np.mean([len(edges) for edges in found]))
    assert stability.n_subsample_rows == plan["size"]


def test_result_depends_on_seed_only():
    table, learner = small_table(), make("best-choice", t_max=3, **OPTIONS)
    first, repeated, other = (
        edge_stability(table, learner, subsamples=6, seed=s) for s in (1, 1, 2)
    )
    assert np.array_equal(first.edges, repeated.edges)
    assert np.array_equal(first.counts, repeated.counts)
    assert first.edge_counts.tolist() != other.edge_counts.tolist() or not np.array_equal(
        first.edges, other.edges
    )
    with joblib.parallel_config(backend="threading", n_jobs=2):
        threads = edge_stability(table, learner, subsamples=6, seed=1)
    assert np.array_equal(first.edges, threads.edges)
    assert np.array_equal(first.edge_counts, threads.edge_counts)


def test_frequency_of_accepts_either_direction_and_unknown_edges():
    stability = edge_stability(small_table(), make("edge-grafting", **OPTIONS), subsamples=4)
    turned = stability.edges[:, ::-1]
    assert np.array_equal(stability.frequency_of(turned), stability.frequencies)
    known = set(map(tuple, stability.edges.tolist()))
    missing = next(pair for pair in itertools.combinations(range(10), 2) if pair not in known)
    assert stability.frequency_of([missing]).tolist() == [0.0]
    assert stability.frequency_of([]).shape == (0,)


def test_an_edge_without_weight_is_not_found(monkeypatch):
    table = random_table(0, 6, 40)
    assert len(edge_stability(table, random_pairs(), subsamples=4).edges) > 0
    monkeypatch.setattr(PairwiseMRF, "edge_weights", lambda model, e: np.zeros((2, 2)))
    assert len(edge_stability(table, random_pairs(), subsamples=4).edges) == 0


# Instability and bounds


def test_instability_is_probability_that_two_subsamples_disagree():
    stability = edge_stability(small_table(), make("edge-grafting", **OPTIONS), subsamples=6)
    share = dict(
        zip(map(tuple, stability.edges.tolist()), stability.frequencies.tolist(), strict=True)
    )
    pairs = list(itertools.combinations(range(10), 2))
    disagreements = [2 * share.get(pair, 0.0) * (1 - share.get(pair, 0.0)) for pair in pairs]
    assert stability.instability == pytest.approx(np.mean(disagreements))
    assert 0 < stability.instability <= 0.5


def test_bound_on_rare_edges_holds_if_every_edge_is_rare():
    # Random pairs: none has a probability above q / p, so all stable edges are rare.
    table = DiscreteTable.from_codes(np.random.default_rng(3).integers(0, 3, size=(61, 8)))
    learner = random_pairs()
    counts = []
    for seed in range(100):
        stability = edge_stability(table, learner, subsamples=2, seed=seed)
        assert stability.mean_edges == 12
        assert stability.expected_rare_edges(0.9) == pytest.approx(12**2 / (0.8 * 28))
        counts.append(len(stability.stable_edges(0.9)))
    # Both halves give the same pair with probability (12 / 28)², and the bound is 6.43.
    assert np.mean(counts) == pytest.approx(28 * (12 / 28) ** 2, rel=0.1)
    assert np.mean(counts) <= stability.expected_rare_edges(0.9)


def test_bound_is_none_where_it_does_not_apply():
    table, learner = small_table(), make("edge-grafting", **OPTIONS)
    halves = edge_stability(table, learner, subsamples=2)
    assert halves.expected_rare_edges(0.5) is None
    assert halves.expected_rare_edges(0.6) is not None
    parts = edge_stability(table, learner, subsamples=2, method="stars")
    assert parts.expected_rare_edges(0.9) is None
    assert parts.summary()["expected_rare_edges"] is None


# Steps


def test_steps_end_with_the_whole_result():
    table, learner = small_table(), make("best-choice", **OPTIONS)
    grown = list(stability_steps(table, learner, subsamples=6, seed=2))
    whole = edge_stability(table, learner, subsamples=6, seed=2)
    assert [state.done for state in grown] == [1, 2, 3, 4, 5, 6]
    assert {state.planned for state in grown} == {6}
    for state in grown:
        assert np.array_equal(state.edge_counts, whole.edge_counts[: state.done])
        assert state.counts.max() <= state.done
    assert np.array_equal(grown[-1].edges, whole.edges)
    assert np.array_equal(grown[-1].counts, whole.counts)


def test_every_step_yields_within_subsamples():
    table, learner = small_table(), make("edge-grafting", **OPTIONS)
    steps = stability_steps(table, learner, subsamples=4, every_step=True)
    first = next(steps)
    assert (first.done, len(first.edges), first.mean_edges, first.instability) == (0, 0, 0.0, 0.0)
    assert first.frequency_of([(0, 1)]).tolist() == [0.0]
    done = [first.done, *(state.done for state in itertools.islice(steps, 15))]
    steps.close()
    assert done == sorted(done)
    assert done.count(0) > 3  # one value for every edge that the first subsample activates


REFUSED = [
    ({"subsamples": 5}, "take 6 subsamples instead of 5"),
    ({"subsamples": 0}, "at least 2 subsamples; got 0"),
    ({"subsamples": 2.5}, "must be a whole number, not 2.5"),
    ({"method": "jackknife"}, "no subsampling method 'jackknife'"),
    ({"size": 10}, "only stars takes another size"),
    ({"size": 10, "method": "bootstrap"}, "only stars takes another size"),
    ({"subsamples": 1, "method": "bootstrap"}, "at least 2 subsamples; got 1"),
    ({"size": 301, "method": "stars"}, "fewer than the table's 301; got 301"),
    ({"size": 1, "method": "stars"}, "at least 2 rows"),
    ({"seed": -1}, "at least 0"),
]


@pytest.mark.parametrize(("settings", "sentence"), REFUSED)
def test_invalid_arguments_are_refused_at_the_call(settings, sentence):
    for function in (edge_stability, stability_steps):
        with pytest.raises(InputError, match=re.escape(sentence)):
            function(small_table(), make("edge-grafting"), **settings)


# Figure and command


def test_ctrl_c_keeps_finished_subsamples(tmp_path, monkeypatch, capsys):
    def interrupted(*arguments, **settings):
        yield next(stability_steps(*arguments, **settings))
        raise KeyboardInterrupt

    monkeypatch.setattr("graftviz.cli.selection.stability_steps", interrupted)
    out = tmp_path / "o"
    arguments = ["karate", "--set", "lam=0.01", "--stability", "4", "--out", str(out)]
    assert main(["learn", *arguments]) == 130
    assert json.loads((out / "result.json").read_text())["stability"]["subsamples"] == 1
    shown = capsys.readouterr()
    assert "4 subsamples were requested" in shown.out
    assert "Interrupted before the last subsample" in shown.err
