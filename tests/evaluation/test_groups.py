"""Permutation test of the difference of two networks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from graftviz import ChowLiu, DiscreteTable, InputError, compare_groups, learn, read_table
from graftviz.data.synthetic.graphs import scale_free_graph
from graftviz.data.synthetic.potentials import random_model, sample_exact
from graftviz.evaluation.selection.groups import coded_alike, compare_groups_steps, split_groups
from graftviz.model.pairwise import zero_sum

SIZES = [2] * 6
EDGES = scale_free_graph(6, 1).edges


def rows(seed: int, n: int = 300, model: int = 0) -> DiscreteTable:
    return sample_exact(random_model(EDGES, SIZES, seed=model), n, seed)


def test_differences_match_learned_models() -> None:
    a, b = rows(1), rows(2, model=3)
    found = compare_groups(a, b, ChowLiu(), permutations=9)
    first, second = (learn(table, ChowLiu()).model for table in (a, b))
    strengths = [model.edge_norms().sum() for model in (first, second)]
    assert found.attrs["strengths"] == pytest.approx(strengths)
    assert (found.attrs["n_rows"], found.attrs["permutations"]) == ((300, 300), 9)
    pairs = {tuple(edge) for model in (first, second) for edge in model.edges.tolist()}
    number = {name: i for i, name in enumerate(a.names)}
    edges = [(number[i], number[j]) for i, j in zip(found["source"], found["target"], strict=True)]
    assert set(edges) == pairs
    assert (np.diff(found["difference"]) <= 0).all()
    for (i, j), difference in zip(edges, found["difference"], strict=True):
        tables = [np.zeros((2, 2)), np.zeros((2, 2))]
        for k, model in enumerate((first, second)):
            at = np.flatnonzero((model.edges == (i, j)).all(axis=1))
            if len(at):
                tables[k] = zero_sum(model.edge_weights(int(at[0])))
        assert difference == pytest.approx(float(np.linalg.norm(tables[0] - tables[1])))
    assert list(found.columns) == ["source", "target", "difference", "p", "p_adjusted"]
    assert (found["p"] <= found["p_adjusted"]).all()


def test_p_values_of_equal_groups_are_not_small_too_often() -> None:
    """Check the rate of p-values below 20 %, with a bound of error probability 10⁻⁴."""
    tests = 20
    values = [
        compare_groups(rows(2 * k), rows(2 * k + 1), ChowLiu(), permutations=19).attrs["p_strength"]
        for k in range(tests)
    ]
    assert sum(value <= 0.2 for value in values) <= 12
    assert min(values) >= 1 / 20


def test_groups_with_different_networks_are_distinguished() -> None:
    found = compare_groups(rows(1, 800), rows(2, 800, model=5), ChowLiu(), permutations=99)
    assert found["p_adjusted"].min() == 1 / 100


def test_result_depends_on_seed_only() -> None:
    a, b = rows(1), rows(2)
    serial, parallel, reseeded = (
        compare_groups(a, b, ChowLiu(), permutations=30, seed=seed, jobs=jobs)
        for seed, jobs in ((0, 1), (0, 2), (1, 1))
    )
    assert serial.equals(parallel)
    assert serial.attrs == parallel.attrs
    assert not serial["p"].equals(reseeded["p"])


def test_identical_groups_have_no_difference() -> None:
    a = rows(1)
    found = compare_groups(a, a, ChowLiu(), permutations=9)
    assert (found["difference"] == 0.0).all()
    assert (found["p"] == 1.0).all()
    assert found.attrs["p_strength"] == 1.0


def test_comparison_in_steps_gives_same_result() -> None:
    a, b = rows(1), rows(2)
    *steps, last = compare_groups_steps(a, b, ChowLiu(), permutations=9)
    assert [step.done for step in steps] == list(range(10))
    assert last.result is not None
    whole = compare_groups(a, b, ChowLiu(), permutations=9)
    assert last.result.equals(whole)
    assert last.result.attrs == whole.attrs


def test_column_splits_rows() -> None:
    table = rows(1)
    first, second = split_groups(table, 2, 1)
    assert first.names == second.names == (*table.names[:2], *table.names[3:])
    is_first = table.codes[2] == 1
    assert first.n_rows + second.n_rows == table.n_rows
    assert (first.codes == table.codes[[0, 1, 3, 4, 5]][:, is_first]).all()
    assert (second.codes == table.codes[[0, 1, 3, 4, 5]][:, ~is_first]).all()
    assert split_groups(table, 2, 1, 0)[1].fingerprint == second.fingerprint
    with pytest.raises(InputError, match="No row has another state of 'x2'"):
        split_groups(table.rows(np.flatnonzero(is_first)), 2, 1)


def test_two_tables_are_coded_alike() -> None:
    a = read_table(pd.DataFrame({"u": ["p", "q", "q"], "v": ["1", "2", "1"]}))
    b = read_table(pd.DataFrame({"v": ["2", "3", "3"], "u": ["q", "p", "q"]}))
    first, second = coded_alike(a, b)
    assert (first.names, first.labels) == (second.names, second.labels)
    assert second.to_frame()[["u", "v"]].astype(str).to_numpy().tolist() == [
        ["q", "2"],
        ["p", "3"],
        ["q", "3"],
    ]
    assert first.to_frame().astype(str).equals(a.to_frame().astype(str))
    with pytest.raises(InputError, match="'v' is in one of them only"):
        coded_alike(a, read_table(pd.DataFrame({"u": ["p", "q"], "w": ["1", "2"]})))


def test_incomparable_groups_are_refused() -> None:
    with pytest.raises(InputError, match="same variables and states"):
        compare_groups(rows(1), DiscreteTable.from_codes(np.zeros((5, 6), dtype=int)))
    with pytest.raises(InputError, match="at least one permutation; got 0"):
        compare_groups(rows(1), rows(2), permutations=0)
