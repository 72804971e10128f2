"""Calibration: few false edges between independent columns, true edges beside them, and tables."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from graftviz.__main__ import main
from graftviz.data.sets.registry import dataset_keys
from graftviz.data.synthetic.potentials import random_model, sample_exact
from graftviz.data.table import DiscreteTable
from graftviz.evaluation.benchmarks import calibration
from graftviz.evaluation.benchmarks.bench import Lab
from graftviz.evaluation.benchmarks.calibration import (
    GRAFTING,
    LEARNERS,
    POWER,
    Case,
    Drawn,
    chain,
    counting,
    even,
    independent,
    known_recall,
    pearson,
    permuted,
    rare_pair,
)

SEEDS = 8
RARE = (0.99, 0.01)
INDEPENDENT = {
    "rare states": independent(1_000, (50, RARE)),
    "mixed states": independent(2_000, (20, even(2)), (20, even(5)), (10, even(21))),
    "coins, rare states, 5 states": independent(1_000, (25, even(2)), (15, RARE), (10, even(5))),
}


def values_of(draw, learners=GRAFTING):
    measurement = Case("columns", draw, SEEDS, POWER).measurement()
    return Lab().measure(replace(measurement, run=counting(draw, learners))).values


def check_false_edges(values, variables):
    """Check that no learner has more false edges than n / 50 by over three standard deviations."""
    promised = variables / 50
    most = promised + 3.0 * np.sqrt(promised / SEEDS)
    false = {name: mean for name, mean in values.items() if name.endswith(", false")}
    assert false
    assert {name: mean for name, mean in false.items() if mean > most} == {}


@pytest.mark.parametrize("columns", INDEPENDENT)
def test_independent_columns_have_few_edges(columns):
    check_false_edges(values_of(INDEPENDENT[columns], LEARNERS), 50)


def test_coins_do_not_hide_a_chain_of_more_states():
    alone, beside = (values_of(chain(0.35, 1_000, coins)) for coins in (0, 30))
    for learner in GRAFTING:
        recall = f"{learner.name}, recall"
        assert beside[recall] > alone[recall] - 0.15, learner.name
        assert alone[recall] > 0.7
    check_false_edges(beside, 40)


def test_a_pair_of_rare_states_is_found():
    values = values_of(rare_pair(14, 14, 2_000))
    recalls = [values[f"{learner.name}, recall"] for learner in GRAFTING]
    assert min(recalls) >= 0.85
    check_false_edges(values, 30)


def test_rare_states_have_the_stated_shares_and_odds():
    one, other = rare_pair(1, 1, 500_000)(0).table.codes[:2]
    counts = np.histogram2d(one, other, bins=2)[0]
    assert counts[1].sum() / counts.sum() == pytest.approx(0.02, rel=0.05)
    odds = counts[0, 0] * counts[1, 1] / counts[0, 1] / counts[1, 0]
    assert odds == pytest.approx(20.0, rel=0.1)


def test_columns_are_permuted_one_by_one():
    table = DiscreteTable.from_codes(np.repeat(np.arange(200)[:, None] % 4, 3, axis=1))
    shuffled = permuted(lambda: table)(3).table
    assert np.array_equal(np.sort(shuffled.codes, axis=1), np.sort(table.codes, axis=1))
    assert len(np.unique(shuffled.codes, axis=0)) == 3


@pytest.fixture
def model():
    """Three variables in a row, of 3, 4 and 5 states."""
    return random_model(np.array([(0, 1), (1, 2)]), [3, 4, 5], edge_sigma=1.5, seed=1)


def test_reference_without_neighbours_is_the_test_of_independence(model):
    table = independent(300, (1, even(3)), (1, (0.5, 0.3, 0.1, 0.1)), (1, even(5)))(1).table
    counts = np.histogram2d(*table.codes[:2], bins=(3, 4))[0]
    wanted = chi2_contingency(counts, correction=False).statistic
    assert pearson(model, table, 0, 1) == pytest.approx(wanted)


def test_reference_accounts_for_known_neighbours(model):
    table = sample_exact(model, 5_000, seed=2)
    alone = random_model(np.array([(1, 2)]), [3, 4, 5], seed=1)
    assert pearson(alone, table, 0, 2) > 100.0  # without the neighbour between them
    found = [pearson(model, sample_exact(model, 5_000, seed=seed), 0, 2) for seed in range(20)]
    assert 5.0 < np.mean(found) < 10.0  # 8 degrees of freedom
    assert known_recall(model, table) == 1.0


# The command


@pytest.fixture
def few(monkeypatch):
    """Cases of three columns, two of them equal, of which one table takes its true edges."""

    def equal(seed):
        codes = np.random.default_rng(seed).integers(0, 2, (300, 3))
        codes[:, 1] = codes[:, 0]
        return Drawn(DiscreteTable.from_codes(codes), frozenset({(0, 1)}))

    found = [
        Case("apart", independent(300, (3, even(2))), 2),
        Case("equal", equal, 2, POWER),
    ]
    monkeypatch.setattr(calibration, "cases", lambda: found)


def test_command_writes_tables(few, tmp_path, capsys):
    assert main(["bench", "--only", "Calibration", "--out", str(tmp_path)]) == 0
    markdown = (tmp_path / "calibration.md").read_text()
    assert markdown in capsys.readouterr().out
    assert "| apart | 3 | 300 | 2 | 0.06 | 0.00 | 0.00 | 0.00 | " in markdown
    assert "| equal | 3 | 300 | 2 | 0.06 | 1.00, 1.00, 0.00 | " in markdown
    with (tmp_path / "calibration.csv").open() as file:
        apart, equal = csv.DictReader(file)
    assert apart["best-choice, recall"] == ""
    assert float(equal["best-choice, recall"]) == 1.0
    rows = json.loads((tmp_path / "calibration.json").read_text())["rows"]
    assert [row["columns"] for row in rows] == ["apart", "equal"]
    assert main(["bench", "--only", "calibration, equal", "--out", str(tmp_path)]) == 0
    assert "apart" not in (tmp_path / "calibration.md").read_text()


def test_every_built_in_data_set_is_permuted():
    names = {case.name for case in calibration.cases() if case.group == calibration.FALSE_EDGES}
    assert {f"permuted {key}" for key in dataset_keys()} < names
