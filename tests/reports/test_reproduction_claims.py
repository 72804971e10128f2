"""Claims of experiments, judged on generated rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from claim_rows import rows_for

from graftviz.reports.reproduction.claims import NotComparable, NotMeasured, condition, verdict
from graftviz.reports.reproduction.papers import experiments

CLAIMS = [(name, k) for name, item in experiments().items() for k in range(len(item.claims))]


@pytest.mark.parametrize(("name", "k"), CLAIMS)
def test_claim_holds_for_agreeing_rows_only(name, k):
    claim = experiments()[name].claims[k]
    for good in (True, False):
        verdict = claim.judge(rows_for(name, good))
        assert verdict.held is good, verdict.sentence
        assert verdict.sentence.endswith(".")
        assert list(verdict.numbers)
    with pytest.raises(NotMeasured):
        claim.judge([])


@pytest.mark.parametrize("name", experiments())
def test_generated_rows_are_drawn_and_tabulated(name):
    item = experiments()[name]
    rows = rows_for(name, True)
    assert len(item.draw("title", rows).data) > 0
    table = item.tabulated(rows)
    assert table
    assert {tuple(row) for row in table} == {tuple(table[0])}


@pytest.mark.parametrize(
    ("words", "good", "bad"),
    [
        ("above 1", 1.1, 1.0),
        ("at least -0.5", -0.5, -0.6),
        ("below 1e-9", 0.0, 1e-9),
        ("at most 1", 1.0, 1.1),
        ("-0.15 to 2", 2.0, 2.1),
        ("rising", [1.0, 2.0, 3.0], [1.0, 3.0, 0.5]),
        ("falling", [3.0, 2.0, 1.0], [3.0, 1.0, 3.5]),
        ("true", True, False),
    ],
)
def test_comparators_of_claims(words, good, bad):
    assert condition(words)(good) is True
    assert condition(words)(bad) is False


@pytest.mark.parametrize("words", ["abov 0", "above", "above x", "0", " to 1", "", "growing"])
def test_unknown_comparators_are_refused(words):
    with pytest.raises(ValueError, match=r"comparator|could not convert"):
        condition(words)


def test_verdict_names_exceptions_and_skips_reported_quantities():
    cases = {"a": {"one": 2.0, "two": 1.00004}, "b": {"one": None, "two": 0.5}}
    found = verdict(("ratio", cases, "above 1"), remark="A remark.")
    assert found.held == "partly"
    assert found.sentence == (
        "Ratio: a: 2 (one), 1.00004 (two); b: none (one), 0.5 (two) [above 1 in 2 of 3, not for b, "
        "two]. A remark."
    )
    assert found.numbers == {"ratio": cases}
    many = {str(k): float(k) for k in range(9)}
    assert "0 to 8 [above 10 in 0 of 9]" in verdict(("x", many, "above 10")).sentence
    with pytest.raises(NotMeasured, match="No required measurement"):
        verdict(("reported", cases))


def test_cases_of_other_data_are_not_judged():
    cases = {"own": 2.0, "other": NotComparable("the rows are others")}
    found = verdict(("ratio", cases, "above 1"))
    assert (found.held, found.met, found.judged) == (True, 1, 1)
    assert "2 (own), not judged: the rows are others (other) [above 1 in 1 of 1]" in found.sentence
    del cases["own"]
    found = verdict(("ratio", cases, "above 1"))
    assert (found.held, found.judged) == (None, 0)
    assert found.sentence == "Ratio: not judged: the rows are others (other)."
    many = {str(k): float(k) for k in range(9)} | cases
    found = verdict(("x", many, "above 3"))
    assert (found.held, found.met, found.judged) == ("partly", 5, 9)
    assert "0 to 8, not judged: the rows are others [above 3 in 5 of 9" in found.sentence


@pytest.mark.parametrize(
    "other", [{"test_rows_are": "drawn"}, {"rows": 3_000}, {"variables": 9}], ids=str
)
def test_numbers_of_forced_pruning_are_judged_on_the_papers_rows_only(other):
    rows = rows_for("forced-pruning-table1", True)
    whole = [claim.judge(rows) for claim in experiments()["forced-pruning-table1"].claims]
    for row in rows:
        if row["data"] == "plants" and "test_rows_are" in row:
            row.update(other)
    cut = [claim.judge(rows) for claim in experiments()["forced-pruning-table1"].claims]
    lost = [one.judged - two.judged for one, two in zip(whole, cut, strict=True)]
    assert lost == [0, 0, 1, 0, 1]
    assert "not judged: other rows than the paper's (plants)" in cut[2].sentence


def test_numbers_are_json_values():
    cases = {1: float("inf"), 0.1: [np.float64(0.5)]}
    assert verdict(("x", cases), ("y", 3, "above 2")).numbers == {
        "x": {"1": None, "0.1": [0.5]},
        "y": 3,
    }
    by_two = pd.Series([1.0, 2.0], index=pd.MultiIndex.from_tuples([("b", 10), ("a", 5)]))
    assert verdict(("z", by_two, "above 0")).numbers == {"z": {"b": {"10": 1.0}, "a": {"5": 2.0}}}
