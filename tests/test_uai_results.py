"""UAI evidence, marginals and partition functions: what is written is read, the rest refused."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, strategies as st

from graftviz.errors import InputError
from graftviz.formats.uai import (
    evidence_text,
    mar_text,
    pr_text,
    read_evidence,
    read_mar,
    read_pr,
    read_uai,
)
from graftviz.inference import infer
from graftviz.model import PairwiseMRF

MODEL = PairwiseMRF.from_tables(
    [[0.0, 0.3], [0.1, 0.2, -0.4], [0.0, 1.0]], {(0, 1): [[1, 0, 0], [0, 0, 2]]}
)


def written(tmp_path, text, name="model.evid"):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path / name


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("0", {}),
        ("1\n0\n", {}),
        ("1 2 1", {2: 1}),
        ("2 0 1 1 2\n", {0: 1, 1: 2}),
        ("1\n2 0 1 1 2\n", {0: 1, 1: 2}),
        ("1\n1 1 0", {1: 0}),
        ("2 0 1\n0 1", {0: 1}),
    ],
)
def test_both_forms_of_evidence_are_read(tmp_path, text, evidence):
    assert read_evidence(written(tmp_path, text), MODEL) == evidence


@pytest.mark.parametrize("evidence", [{}, {0: 0}, {2: 1, 1: 2, 0: 1}])
def test_evidence_written_is_evidence_read(tmp_path, evidence):
    assert read_evidence(written(tmp_path, evidence_text(evidence)), MODEL) == evidence


BAD_EVIDENCE = {
    "nothing": ("", "is truncated: the number of observed variables is missing"),
    "a word": ("one 0 1", "number of observed variables must be a whole number"),
    "negative": ("-1", "number of observed variables must be a whole number"),
    "cut short": ("2 0 1 1", "declares 2 observed variables, .* 4 numbers, .* 3 follow"),
    "goes on": ("1 0 1 1 2", "declares 1 observed variables, .* 2 numbers, .* 4 follow"),
    "cut short after a count of samples": ("1\n2 0 1", "declares 1 .* 3 follow|is truncated"),
    "unknown variable": ("1 3 0", "an observed variable must be .* from 0 to 2, not '3'"),
    "unknown state": ("1 0 2", "state of variable 0 must be .* from 0 to 1, not '2'"),
    "two states": ("2 1 0 1 2", "variable 1 in state 0 and in state 2"),
    "two samples": ("2\n1 0 1\n1 0 0", "holds 2 samples"),
    "not text": (b"\xff\xfe", "not plain text"),
}


@pytest.mark.parametrize(("text", "sentence"), BAD_EVIDENCE.values(), ids=BAD_EVIDENCE)
def test_bad_evidence_is_refused_in_one_sentence(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        read_evidence(written(tmp_path, text), MODEL)
    assert "\n" not in str(refused.value)


def test_a_missing_evidence_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.evid cannot be read"):
        read_evidence(tmp_path / "nowhere.evid", MODEL)


@given(st.text("0123456789 .-e\n", max_size=20))
def test_no_evidence_file_brings_anything_but_a_sentence(tmp_path_factory, text):
    path = written(tmp_path_factory.mktemp("evid"), text)
    with contextlib.suppress(InputError):
        for i, state in read_evidence(path, MODEL).items():
            assert 0 <= state < MODEL.cardinalities[i]


def test_marginals_and_log_z_come_back_to_the_last_digit(tmp_path):
    beliefs = infer(MODEL, "exact", evidence={1: 2})
    marginals = read_mar(written(tmp_path, mar_text(beliefs), "m.MAR"))
    assert [m.tolist() for m in marginals] == [belief.tolist() for belief in beliefs.node]
    in_tens = read_pr(written(tmp_path, pr_text(beliefs), "p.PR"))
    assert in_tens * np.log(10) == pytest.approx(beliefs.log_partition, rel=1e-15)


def test_marginals_stand_as_the_format_has_them():
    beliefs = infer(MODEL, "exact", evidence={0: 1, 1: 2, 2: 0})
    assert " ".join(mar_text(beliefs).split()) == "MAR 3 2 0 1 3 0 0 1 2 1 0"
    assert pr_text(beliefs).splitlines()[0] == "PR"
    assert float(pr_text(beliefs).split()[1]) == pytest.approx((0.3 - 0.4 + 2) / np.log(10))


BAD_RESULTS = {
    "other file": (read_mar, "PR\n1.5", "starts with 'PR', .* starts with MAR"),
    "cut marginals": (
        read_mar,
        "MAR 2 2 0.5 0.5 3 0.1 0.2",
        "is truncated: the marginal of variable 1",
    ),
    "no sum": (read_mar, "MAR 1 2 0.5 0.4", "probabilities of variable 0 do not sum to 1"),
    "negative": (read_mar, "MAR 1 2 1.5 -0.5", "probabilities of variable 0 do not sum to 1"),
    "marginals nan": (read_mar, "MAR 1 2 nan 1", "probabilities of variable 0 do not sum to 1"),
    "goes on": (read_mar, "MAR 1 2 0.5 0.5 9", "continues with '9'"),
    "not PR": (read_pr, "MAR 0", "starts with 'MAR', .* starts with PR"),
    "no number": (read_pr, "PR", "is truncated: log10"),
    "a word": (read_pr, "PR much", "could not convert"),
    "nan": (read_pr, "PR nan", "is not a number"),
    "two": (read_pr, "PR 1 2", "continues with '2'"),
}


@pytest.mark.parametrize(("read", "text", "sentence"), BAD_RESULTS.values(), ids=BAD_RESULTS)
def test_bad_results_are_refused_in_one_sentence(tmp_path, read, text, sentence):
    with pytest.raises(InputError, match=sentence):
        read(written(tmp_path, text, "bad.txt"))


def test_a_bayesian_network_of_pairs_is_the_product_of_its_tables(tmp_path):
    text = "BAYES 2 2 2 2 1 0 2 0 1 2 0.2 0.8 4 0.9 0.1 0.4 0.6"
    model = read_uai(written(tmp_path, text, "b.uai"))
    beliefs = infer(model, "exact")
    assert beliefs.log_partition == pytest.approx(0.0, abs=1e-12)
    assert beliefs.node[1].tolist() == pytest.approx([0.2 * 0.9 + 0.8 * 0.4, 0.2 * 0.1 + 0.8 * 0.6])
    wide = "BAYES 3 2 2 2 1 3 0 1 2 8 1 0 1 0 1 0 1 0"
    with pytest.raises(InputError, match="table 0 is over 3 variables"):
        read_uai(written(tmp_path, wide, "wide.uai"))
