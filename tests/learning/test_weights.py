"""Case weights: a row of weight w counts as w equal rows."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import graftviz as gv
from graftviz.data.table import DiscreteTable
from graftviz.learning.completion import read_table
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.screening import sampled
from graftviz.learning.registry import learner_class, learner_names
from graftviz.learning.scores.base import PairFit
from graftviz.learning.scores.registry import SCORES
from graftviz.utils.errors import InputError


def twins(seed: int = 0, share: float = 0.7) -> tuple[DiscreteTable, DiscreteTable]:
    """Return a table of 150 rows with whole case weights, and the same with repeated rows."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 3, (5, 150))
    for i, j in ((1, 0), (2, 1), (3, 0)):
        codes[i] = np.where(generator.random(150) < share, codes[j], codes[i])
    weights = generator.integers(0, 5, 150)
    table = DiscreteTable.from_codes(codes.T, cardinalities=[3] * 5)
    return dataclasses.replace(table, weights=weights), table.rows(np.repeat(range(150), weights))


@given(st.integers(0, 2**32), st.sampled_from([1.0, 0.25, 2.0**-20]))
def test_counts_equal_those_of_repeated_rows(seed: int, unit: float) -> None:
    weighted, repeated = twins(seed)
    weighted = dataclasses.replace(weighted, weights=unit * np.array(weighted.weights))
    counts, plain = PairCounts(weighted), PairCounts(repeated)
    assert counts.n_rows == weighted.total_weight == unit * plain.n_rows
    counts.count_rows(0, 2)
    for i in range(5):
        assert (counts.marginal(i) == unit * plain.marginal(i)).all()
        for j in set(range(5)) - {i}:
            expected = unit * plain.table(i, j)
            assert (counts.table(i, j) == expected).all()
            assert (weighted.joint_counts(i, j) == expected).all()
    assert weighted.joint_shares() == pytest.approx(repeated.joint_shares(), abs=1e-6)


@pytest.mark.parametrize("name", learner_names())
def test_learners_give_same_model_as_from_repeated_rows(name: str) -> None:
    options = {"max_edges": 6} if name == "bounded-inference" else {}
    learner = learner_class(name)(**options)
    results = [gv.learn(table, learner, test=table) for table in twins()]
    one, other = results
    assert one.model.edges.tolist() == other.model.edges.tolist()
    assert len(one.model.edges) >= 3
    np.testing.assert_allclose(one.model.weights, other.model.weights, rtol=0, atol=1e-10)
    assert one.stop_reason == other.stop_reason
    automatic, expected = (result.trace.outcome.automatic for result in results)
    assert automatic.keys() == expected.keys()
    for option, value in automatic.items():
        is_number = isinstance(value, float)
        assert value == (pytest.approx(expected[option]) if is_number else expected[option])
    assert one.trace[-1].objective == pytest.approx(other.trace[-1].objective, abs=1e-10)


def test_learner_that_repeats_rows_requires_whole_weights() -> None:
    weighted = dataclasses.replace(twins()[0], weights=np.full(150, 0.5))
    with pytest.raises(InputError, match="only if they are whole numbers"):
        gv.learn(weighted, "nodewise-l1")


@pytest.mark.parametrize("name", SCORES)
def test_scores_of_pairs_equal_those_of_repeated_rows(name: str) -> None:
    norms = []
    model = gv.learn(twins()[1], "chow-liu").model
    for table in twins():
        beliefs = [table.state_counts(i) / table.total_weight for i in range(5)]
        at = PairFit(table, model, beliefs, 1, 3)
        norms.append(SCORES[name].of_pair(at, 3.0)[:4])
    np.testing.assert_allclose(*norms, rtol=1e-10)


def test_metrics_equal_those_of_repeated_rows() -> None:
    weighted, repeated = twins(3)
    model = gv.learn(repeated, "chow-liu").model
    for metric in (gv.nll, gv.nlpl, gv.ncmll):
        assert metric(model, weighted) == pytest.approx(metric(model, repeated), abs=1e-10)


def test_rows_keep_their_weights() -> None:
    weighted, _ = twins()
    weights = np.array(weighted.weights)
    part, held = weighted.split(0.2, seed=1)
    assert part.total_weight + held.total_weight == weights.sum()
    assert (weighted.rows(slice(5, 9)).weights == weights[5:9]).all()
    assert pickle.loads(pickle.dumps(weighted)).fingerprint == weighted.fingerprint
    assert weighted.fingerprint != dataclasses.replace(weighted, weights=None).fingerprint


def test_sampled_rows_follow_their_weights() -> None:
    table = DiscreteTable.from_codes(np.repeat([[0, 0], [1, 1]], 5000, axis=0))
    weighted = dataclasses.replace(table, weights=np.repeat([3.0, 1.0], 5000))
    sample = sampled(weighted, 2048, 0)
    assert sample.counts[0] + sample.last_counts[0] == 2048
    assert sample.counts[0] / 2048 == pytest.approx(0.75, abs=0.04)  # four standard errors


class TestReading:
    frame = pd.DataFrame({"a": list("xyxx"), "w": [1, 2, 1, 0.5], "b": [1, 1, 2, None]})

    def test_weights_are_read_from_column_or_array(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        self.frame.to_csv(path, index=False)
        for source in (self.frame, path):
            table = read_table(source, weights="w", missing="drop")
            assert table.names == ("a", "b")
            assert table.weights is not None
            assert table.weights.tolist() == [1, 2, 1]
        array = read_table(self.frame[["a", "b"]], weights=[1, 2, 1, 0.5], missing="drop")
        assert array.fingerprint == table.fingerprint
        whole = read_table(self.frame, weights="w", missing="state")
        assert whole.total_weight == 4.5
        assert "inform like 3 equal rows" in whole.warnings[-1]

    @pytest.mark.parametrize(
        ("weights", "sentence"),
        [
            ("v", "no column 'v' for the case weights; the columns are 'a', 'w', 'b'"),
            ("a", "the case weights must be numbers, but it holds text in column 'a'"),
            ("b", "row 4 holds no weight in column 'b'"),
            ([1, 2], r"4 rows need as many case weights; got shape \(2,\)"),
            ([1, 2, -1, 0], "The case weight of row 3 is -1"),
            ([0, 0, 0, 0], "All case weights are zero"),
            ([1e308] * 4, r"sum to more than 1e\+15; divide them by a constant"),
            ([1e16, 0, 0, 0], "sum to more than"),
            (["x"] * 4, "Case weights must be numbers"),
        ],
    )
    def test_invalid_weights_are_refused(self, weights: Any, sentence: str) -> None:
        with pytest.raises(InputError, match=sentence):
            read_table(self.frame, weights=weights, missing="state")


def test_estimator_accepts_weights() -> None:
    weighted, repeated = twins()
    network = gv.MarkovNetwork().fit(weighted.codes.T, sample_weight=weighted.weights)
    plain = gv.MarkovNetwork().fit(repeated.codes.T)
    np.testing.assert_allclose(network.model_.weights, plain.model_.weights, rtol=0, atol=1e-10)
    score = network.score(weighted.codes.T, sample_weight=weighted.weights)
    assert score == pytest.approx(plain.score(repeated.codes.T), abs=1e-10)
