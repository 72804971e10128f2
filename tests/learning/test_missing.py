"""Missing values: refusal, and completion by EM."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import graftviz as gv
from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.table import DiscreteTable
from graftviz.learning.completion import MOST_VARIABLES, read_table
from graftviz.utils.errors import InputError


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


@pytest.mark.parametrize("share", [0.08, 0.3])
def test_a_chain_has_no_indirect_edges(share: float) -> None:
    generator = np.random.default_rng(1)
    codes = [generator.integers(0, 3, 4000)]
    for _ in range(2):
        stays = generator.random(4000) < 0.6
        codes.append(np.where(stays, codes[-1], generator.integers(0, 3, 4000)))
    table = DiscreteTable.from_codes(np.transpose(codes), list("abc"))
    found = read_table(with_gaps(table, share, 2), missing="em")
    assert gv.learn(found, gv.BestChoice()).model.edges.tolist() == [[0, 1], [1, 2]]


def test_observed_values_and_rows_are_unchanged() -> None:
    table, _ = sampled(8, 300, 1)
    frame = with_gaps(table, 0.2)
    known = frame.notna().to_numpy()
    found = read_table(frame, missing="em")
    assert (found.to_frame().to_numpy()[known] == table.to_frame().to_numpy()[known]).all()
    assert found.labels == table.labels
    assert read_table(frame, missing="em").fingerprint == found.fingerprint
    assert read_table(table.to_frame(), missing="em").fingerprint == table.fingerprint


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


def test_incompletable_table_is_refused_in_one_sentence() -> None:
    wide = pd.DataFrame(np.ones((3, MOST_VARIABLES + 1))).mask(np.eye(3, MOST_VARIABLES + 1) > 0)
    with pytest.raises(InputError, match="up to 200 variables, and there are 201"):
        read_table(wide, missing="em")
    empty = pd.DataFrame({"a": [1, 2], "b": [None, None]})
    with pytest.raises(InputError, match="column 'b' has no values"):
        read_table(empty, missing="em")
    table = read_table(pd.DataFrame({"a": [1, 2], "b": [1, 2]}))
    scored = read_table(pd.DataFrame({"a": [1, 2], "b": [1, None]}), like=table, missing="em")
    assert scored.n_rows == 1
