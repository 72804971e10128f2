"""Missing values: counts of available pairs, and completion by EM."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import graftviz as gv
from graftviz.completion import MOST_VARIABLES
from graftviz.counts.available import available_pairs, fit_margins
from graftviz.errors import InputError
from graftviz.sampling import sample_gibbs
from graftviz.table import AvailableTable, DiscreteTable, open_table, read_table


def with_gaps(table: DiscreteTable, share: float, seed: int = 0) -> pd.DataFrame:
    """Return the rows as text, with a share of the cells missing at random."""
    frame = table.to_frame().astype(object)
    return frame.mask(np.random.default_rng(seed).random(frame.shape) < share)


def sampled(n: int, rows: int, seed: int) -> tuple[DiscreteTable, set[tuple[int, int]]]:
    """Return rows of a scale-free network of five states, and its edges."""
    edges = sorted(nx.barabasi_albert_graph(n, 2, seed=seed).edges)
    generator = np.random.default_rng(seed)
    weights = [generator.normal(0, 0.5, 5 * n), generator.normal(0, 1, 25 * len(edges))]
    model = gv.PairwiseMRF(np.full(n, 5), np.array(edges), np.concatenate(weights))
    return sample_gibbs(model, rows, seed=seed).table, set(edges)


def f1(result: gv.Result, truth: set[tuple[int, int]]) -> float:
    found = set(map(tuple, result.model.edges.tolist()))
    return 2 * len(found & truth) / (len(found) + len(truth))


@pytest.mark.parametrize("seed", range(5))
def test_em_finds_the_graph_of_complete_data(seed: int) -> None:
    table, truth = sampled(50, 2000, seed)
    complete = f1(gv.learn(table, gv.BestChoice()), truth)
    completed = read_table(with_gaps(table, 0.1, seed), missing="em")
    assert f1(gv.learn(completed, gv.BestChoice()), truth) > complete - 0.03


def test_available_pairs_find_the_graph_of_complete_counts() -> None:
    by_counts = gv.BestChoice(objective="bethe", score="linear-response", refit=False)
    same = dataclasses.replace(by_counts, lam2=0.0894)
    found = []
    for seed in range(3):  # runs end early at different places, when the linear response ends
        table, truth = sampled(50, 2000, seed)
        available = read_table(with_gaps(table, 0.1), missing="available")
        found.append([f1(gv.learn(table, by_counts), truth), f1(gv.learn(available, same), truth)])
    by_complete, by_available = np.mean(found, axis=0)
    assert by_available > by_complete - 0.05


@pytest.mark.parametrize("share", [0.08, 0.3])
def test_a_chain_has_no_indirect_edges(share: float) -> None:
    generator = np.random.default_rng(1)
    codes = [generator.integers(0, 3, 4000)]
    for _ in range(2):
        stays = generator.random(4000) < 0.6
        codes.append(np.where(stays, codes[-1], generator.integers(0, 3, 4000)))
    table = DiscreteTable.from_codes(np.transpose(codes), list("abc"))
    for missing in ("available", "em"):
        found = read_table(with_gaps(table, share, 2), missing=missing)
        assert gv.learn(found, gv.BestChoice()).model.edges.tolist() == [[0, 1], [1, 2]]


def test_observed_values_and_rows_are_unchanged() -> None:
    table, _ = sampled(8, 300, 1)
    frame = with_gaps(table, 0.2)
    known = frame.notna().to_numpy()
    for missing in ("em", "available"):
        found = read_table(frame, missing=missing)
        assert (found.to_frame().to_numpy()[known] == table.to_frame().to_numpy()[known]).all()
        assert found.labels == table.labels
        assert read_table(frame, missing=missing).fingerprint == found.fingerprint
        assert pickle.loads(pickle.dumps(found)).fingerprint == found.fingerprint
        assert read_table(table.to_frame(), missing=missing).fingerprint == table.fingerprint


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.booleans())
def test_pairs_are_counted_from_rows_with_both_values(seed: int, has_weights: bool) -> None:
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 3, (4, 60))
    frame = pd.DataFrame(codes.T, columns=list("abcd")).astype(float)
    frame = frame.mask(generator.random(frame.shape) < 0.3)
    weights = generator.integers(1, 4, 60).astype(float) if has_weights else np.ones(60)
    table = read_table(frame, missing="available", weights=weights)
    assert isinstance(table, AvailableTable)
    counts = gv.PairCounts(table)
    totals = []
    for i in range(4):
        values = frame.iloc[:, i]
        margin = np.bincount(values.dropna().astype(int), weights[values.notna()], minlength=3)
        for j in range(i + 1, 4):
            both = frame.iloc[:, [i, j]].dropna().astype(int)
            plain = np.zeros((3, 3))
            np.add.at(plain, tuple(both.to_numpy().T), weights[both.index])
            totals.append(plain.sum())
            found = counts.table(i, j) / counts.n_rows
            np.testing.assert_allclose(found.sum(axis=1), margin / margin.sum(), atol=1e-6)
            if (plain > 0).all():  # odds ratios are those of the counts
                ratios = found / found[0] * found[0, 0] / found[:, :1]
                expected = plain / plain[0] * plain[0, 0] / plain[:, :1]
                np.testing.assert_allclose(ratios, expected, rtol=1e-6)
    assert counts.n_rows == pytest.approx(np.mean(totals))
    assert available_pairs(table.rows(slice(None))).rows == counts.n_rows


def test_margins_are_fitted_without_counts_too() -> None:
    rows, columns = np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])
    cells = np.zeros((2, 3))
    fit_margins(cells, rows, columns)
    np.testing.assert_allclose(cells, np.outer(rows, columns))


def test_values_that_are_not_missing_at_random_are_noted() -> None:
    table, _ = sampled(6, 2000, 2)
    frame = table.to_frame().astype(object)
    by_chance = read_table(with_gaps(table, 0.1), missing="available")
    assert "by more than chance" not in by_chance.warnings[-1]
    frame.loc[frame.iloc[:, 0] == "0", frame.columns[1]] = None
    by_state = read_table(frame, missing="available")
    assert "by more than chance, so values are not missing at random" in by_state.warnings[-1]


@pytest.mark.parametrize("missing", ["reject", "drop"])
def test_refusals_name_all_columns_of_a_kind(missing: str) -> None:
    several = pd.DataFrame({"a": [1, 2], "b": [None, None], "c": [1, None], "d": [None, None]})
    with pytest.raises(InputError, match="columns 'b', 'd' have no values; leave them out"):
        read_table(several, missing=missing)
    like = read_table(pd.DataFrame({"a": [1, 2], "b": [1, 2]}))
    with pytest.raises(InputError) as caught:
        read_table(several[["a", "b"]], like=like, missing=missing)
    assert "leave it out" not in str(caught.value), "its columns must be those of the training"
    texts = [f"k{i}" for i in range(100)]
    numbers = np.arange(100) / 7
    wide = pd.DataFrame({"x": texts, "u": numbers, "y": texts, "v": numbers})
    with pytest.raises(InputError, match=r"column 'x' has 100 different texts.* \(also: 'y'\),"):
        read_table(wide, missing=missing)
    with pytest.raises(InputError, match=r"column 'u' has 100 different numbers.* \(also: 'v'\);"):
        read_table(wide[["u", "y", "v"]], missing=missing)


def test_incompletable_table_is_refused_in_one_sentence(tmp_path: Path) -> None:
    wide = pd.DataFrame(np.ones((3, MOST_VARIABLES + 1))).mask(np.eye(3, MOST_VARIABLES + 1) > 0)
    with pytest.raises(InputError, match="up to 200 variables, and there are 201"):
        read_table(wide, missing="em")
    empty = pd.DataFrame({"a": [1, 2], "b": [None, None]})
    with pytest.raises(InputError, match="column 'b' has no values"):
        read_table(empty, missing="available")
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,\n2,3\n")
    with pytest.raises(InputError, match="cannot have missing=em"):
        open_table(path, missing="em")
    table = read_table(pd.DataFrame({"a": [1, 2], "b": [1, 2]}))
    scored = read_table(pd.DataFrame({"a": [1, 2], "b": [1, None]}), like=table, missing="em")
    assert scored.n_rows == 1
    available = read_table(pd.DataFrame({"a": [1, 2, 1], "b": [1, None, 2]}), missing="available")
    with pytest.raises(InputError, match="rows"):
        gv.learn(available, "forced-pruning")
