"""Files: written files are read back, and malformed files are refused in one sentence."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from fakes import random_pairs, random_table
from hypothesis import given, strategies as st
from inference_cases import read_mar, read_pr, shuffled_model
from learner_cases import significance_of

from graftviz import (
    BestChoice,
    BoundedInference,
    DiscreteTable,
    EdgeGrafting,
    FeatureGrafting,
    ForcedPruning,
    InputError,
    NodewiseL1,
    PairwiseMRF,
    Run,
    infer,
    learn,
)
from graftviz.model.readwrite.reading import GRAPHML
from graftviz.model.readwrite.uai import (
    mar_text,
    names_path,
    names_text,
    pr_text,
    read_evidence,
    read_uai,
    uai_text,
    write_uai,
)
from graftviz.reports.files.run_folder import peak_memory_mb, result_json
from graftviz.reports.files.tables import result_model, trace_csv
from graftviz.utils.files import write_whole


def random_codes(model: PairwiseMRF, rows: int = 50) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.stack([rng.integers(0, s, size=rows) for s in model.cardinalities])


# UAI


@given(st.integers(0, 10_000), st.integers(1, 7), st.sampled_from([0.0, 1.0, 30.0]))
def test_uai_file_is_read_back_as_same_model(tmp_path_factory, seed, n, scale):
    model = shuffled_model(seed, n, scale=scale)
    path = tmp_path_factory.mktemp("uai") / "model.uai"
    write_uai(model, path)
    again = read_uai(path)
    assert again.cardinalities.tolist() == model.cardinalities.tolist()
    assert again.edges.tolist() == model.edges.tolist()
    assert (again.names, again.labels) == (model.names, model.labels)
    codes = random_codes(model)
    assert np.allclose(again.log_scores(codes), model.log_scores(codes), rtol=0, atol=1e-12 * 300)


def test_weights_beyond_the_range_of_exp_are_shifted_by_a_constant(tmp_path):
    model = PairwiseMRF.from_tables(
        [np.array([900.0, 901.0]), np.array([-2000.0, -2001.5, -1999.0])],
        {(0, 1): 5000 + np.arange(6.0).reshape(2, 3)},
    )
    write_uai(model, tmp_path / "m.uai")
    codes = random_codes(model)
    difference = read_uai(tmp_path / "m.uai").log_scores(codes) - model.log_scores(codes)
    assert np.ptp(difference) < 1e-9


def test_zero_potentials_are_read_back(tmp_path):
    model = PairwiseMRF.from_tables(
        [np.array([-np.inf, 0.0]), np.zeros(2)], {(0, 1): np.array([[0.0, -np.inf], [1.0, 2.0]])}
    )
    write_uai(model, tmp_path / "m.uai")
    assert np.allclose(read_uai(tmp_path / "m.uai").weights, model.weights)


def test_scopes_are_descending_and_last_variable_varies_fastest():
    weights = np.log(np.arange(1.0, 7.0)).reshape(2, 3)
    model = PairwiseMRF.from_tables([np.zeros(2), np.zeros(3)], {(0, 1): weights})
    words = uai_text(model).split()
    assert " ".join(words[:15]) == "MARKOV 2 2 3 3 1 0 1 1 2 1 0 2 1 1"
    # Scope (1, 0): for each state of variable 1, both states of variable 0.
    assert np.allclose([float(word) for word in words[-6:]], [1, 4, 2, 5, 3, 6])


def test_tables_in_any_order_are_multiplied(tmp_path):
    (tmp_path / "m.uai").write_text(
        "MARKOV\n3\n2 3 2\n6\n2 1 0\n1 2\n2 0 1\n0\n2 0 2\n1 2\n"
        "6  1 2  3 4  5 6\n2 1 3\n6  1 1 2  2 2 1\n1 5\n4 1 0 2 1\n2 2 2\n"
    )
    model = read_uai(tmp_path / "m.uai")
    assert model.edges.tolist() == [[0, 1], [0, 2]]
    assert model.names == ("x0", "x1", "x2")
    assert np.allclose(np.exp(model.edge_weights(0)), [[1, 3, 10], [4, 8, 6]])
    assert np.allclose(np.exp(model.edge_weights(1)), [[1, 0], [2, 1]])
    assert np.allclose(np.exp(model.node_weights(0)), 5)  # the constant factor
    assert np.allclose(np.exp(model.node_weights(2)), [2, 6])


GOOD = "MARKOV 2 2 2 2 1 0 2 0 1 2 0.5 0.5 4 1 2 3 4"
MALFORMED = {
    "nothing": ("", "is truncated: the word MARKOV is missing"),
    "other network": (GOOD.replace("MARKOV", "CREDAL"), "starts with 'CREDAL'"),
    "no variables": ("MARKOV 0", "no variables"),
    "no states": ("MARKOV 2 2 0 0", "variable 1 has no states"),
    "cut in the cardinalities": ("MARKOV 3 2 2", "number of states of variable 2 is missing"),
    "too many states": ("MARKOV 1 99999999999 0", "from 0 to 1000000, not '99999999999'"),
    "far too many digits": ("MARKOV " + "9" * 5000, "number of variables must be a whole number"),
    "fractional count": ("MARKOV 2.5 2 2", "not '2.5'"),
    "three variables": ("MARKOV 3 2 2 2 1 3 0 1 2", "table 0 is over 3 variables"),
    "unknown variable": ("MARKOV 2 2 2 1 1 2", "a variable of table 0 must be .* from 0 to 1"),
    "one variable twice": ("MARKOV 2 2 2 1 2 1 1", "names variable 1 twice"),
    "wrong size": (GOOD.replace(" 4 1", " 5 1"), "declares 5 entries, .* have 4 joint states"),
    "cut in a table": (GOOD.removesuffix(" 4"), "table 1 has 3 of 4 numbers"),
    "word in a table": (GOOD.replace("3", "three"), "within table 1: could not convert"),
    "negative potential": (GOOD.replace(" 3", " -3"), "table 1 has an entry that is negative"),
    "not a number": (GOOD.replace(" 3", " nan"), "not a finite number"),
    "infinite potential": (GOOD.replace(" 3", " inf"), "not a finite number"),
    "left over": (GOOD + " 7", "continues with '7'"),
    "not text": (b"MARKOV \xff\xfe\x00", "not plain text"),
    "NUL": (b"MARKOV 2 2\x002", "number of states of variable 0"),
}


@pytest.mark.parametrize(("content", "sentence"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_uai_file_is_refused(tmp_path, content, sentence):
    (tmp_path / "bad.uai").write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError, match=sentence):
        read_uai(tmp_path / "bad.uai")


def test_missing_file_is_named_in_error(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.uai cannot be read"):
        read_uai(tmp_path / "nowhere.uai")


@pytest.mark.parametrize(
    "names",
    [
        "{",
        "[]",
        '{"names": ["a"], "labels": [["0", "1"], ["0", "1"]]}',
        '{"names": ["a", "a"], "labels": [["0", "1"], ["0", "1"]]}',
        '{"names": ["a", 2], "labels": [["0", "1"], ["0", "1"]]}',
        '{"names": ["a", "b"], "labels": [["0", "1"], ["0"]]}',
        '{"names": ["a", "b"], "labels": 7}',
        "[" * 100_000,
    ],
)
def test_invalid_names_are_refused(tmp_path, names):
    (tmp_path / "m.uai").write_text(GOOD)
    (tmp_path / "m.names.json").write_text(names)
    with pytest.raises(InputError, match=r"m\.names\.json"):
        read_uai(tmp_path / "m.uai")


@given(st.lists(st.text(), min_size=2, max_size=2, unique=True))
def test_any_names_are_read_back(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("uai") / "m.uai"
    states = [np.zeros(2)] * 2
    model = PairwiseMRF.from_tables(
        states, {}, names=tuple(names), labels=(("\x00", "é"), ("\ud800", ""))
    )
    write_uai(model, path)
    again = read_uai(path)
    assert (again.names, again.labels) == (model.names, model.labels)
    assert names_path(path).read_text() == names_text(model)


# GraphML


@given(st.lists(st.text(), min_size=2, max_size=2, unique=True))
def test_graphml_is_well_formed_for_any_names(names):
    table = DiscreteTable(np.array([[0, 1, 1], [1, 0, 1]]), tuple(names), (("0", "1"),) * 2)
    ElementTree.fromstring(result_model(GRAPHML, learn(table, random_pairs(max_edges=1))))


# JSON


def strict(text: str) -> dict:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


BY_DATA = -1.0  # κ that depends on the number of variables


@pytest.mark.parametrize(
    ("learner", "values"),
    [
        (BestChoice(preset="paper", lam2=0.1), {"t_max": 2, "lam2": 0.1}),
        (BestChoice(), {"score": "pseudo-likelihood", "significance": BY_DATA, "reservoir": 6}),
        (EdgeGrafting(lam=0.01, max_edges=4), {"objective": "pseudo-likelihood", "max_edges": 4}),
        (FeatureGrafting(), {"lam2": 0.28, "max_edges": None}),
        (NodewiseL1(max_edges=3), {"max_edges": 3}),
        (
            ForcedPruning(exchanges=1),
            {"max_edges": 6, "exchange": 5, "clusters": 16, "lam2": 0.0025},
        ),
        (BoundedInference(), {"bound": 3.0, "inference": "trbp"}),
    ],
)
def test_result_has_tests_of_trace_and_resolved_options(learner, values):
    table = random_table(1, 6, 200)
    result = learn(table, learner)
    record = strict(result_json(result))
    used = record["options_used"]
    if values.get("significance") == BY_DATA:
        values = values | {"significance": significance_of(table)}
    assert {name: used[name] for name in values} == values
    assert "lam" not in used or used["lam"] is not None
    chosen = {name: value for name, value in record["options"].items() if value is not None}
    assert {name: used[name] for name in chosen} == chosen
    rows = list(csv.DictReader(io.StringIO(trace_csv(result))))
    if rows:
        assert record["tests"] == int(rows[-1]["tests"])


def test_values_that_do_not_apply_are_null():
    table = random_table(1, 5, 20)
    run = Run(table, random_pairs(max_edges=10), branch=(1, random_pairs(max_edges=9)))
    run.advance()
    record = strict(result_json(run.result()))
    assert record["recall"] is record["nlpl_test"] is record["bp_restart_gap"] is None
    assert record["rows_test"] == 0
    assert record["certificate"]["scored"] == 0
    assert record["certificate"]["possible"] == 9
    assert record["certificate"]["worst_score"] is None
    assert record["branch"]["at"] == 1
    assert record["branch"]["options"]["max_edges"] == 9


def test_infinity_is_written_as_null():
    run = Run(random_table(1, 5, 20), random_pairs(max_edges=9))
    run.advance()
    result = run.result()
    object.__setattr__(result, "nlpl_train", math.inf)
    assert strict(result_json(result))["nlpl_train"] is None


def test_peak_memory_grows_with_allocations():
    before = peak_memory_mb()
    block = np.ones(40_000_000)
    assert peak_memory_mb() >= before
    assert peak_memory_mb() > block.nbytes / 1e6


# Files


def test_file_is_replaced_by_complete_text(tmp_path):
    path = tmp_path / "a.csv"
    write_whole(path, "é\r\n\ud800")
    assert path.read_bytes() == "é\r\n?".encode()
    write_whole(path, b"\x00")
    assert path.read_bytes() == b"\x00"
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_failed_write_keeps_old_file_and_no_temporary_file(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    write_whole(path, "old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("graftviz.utils.files.os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_named_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    write_whole(path, "text")
    reader.join(10)
    assert found == [b"text"]
    assert path.is_fifo()
    assert [other.name for other in tmp_path.iterdir()] == ["pipe"]


def test_missing_folder_raises_os_error(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        write_whole(tmp_path / "no" / "a.csv", "text")


# UAI evidence, marginals and partition functions.


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
def test_malformed_evidence_is_refused_in_one_sentence(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        read_evidence(written(tmp_path, text), MODEL)
    assert "\n" not in str(refused.value)


def test_missing_evidence_file_is_named_in_error(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.evid cannot be read"):
        read_evidence(tmp_path / "nowhere.evid", MODEL)


def test_marginals_and_log_z_are_read_back_exactly(tmp_path):
    beliefs = infer(MODEL, "exact", evidence={1: 2})
    marginals = read_mar(written(tmp_path, mar_text(beliefs.node), "m.MAR"))
    assert [m.tolist() for m in marginals] == [belief.tolist() for belief in beliefs.node]
    log10_z = read_pr(written(tmp_path, pr_text(beliefs.log_partition), "p.PR"))
    assert log10_z * np.log(10) == pytest.approx(beliefs.log_partition, rel=1e-15)


def test_layout_of_marginals_and_partition_function():
    beliefs = infer(MODEL, "exact", evidence={0: 1, 1: 2, 2: 0})
    assert " ".join(mar_text(beliefs.node).split()) == "MAR 3 2 0 1 3 0 0 1 2 1 0"
    assert pr_text(beliefs.log_partition).splitlines()[0] == "PR"
    assert float(pr_text(beliefs.log_partition).split()[1]) == pytest.approx(
        (0.3 - 0.4 + 2) / np.log(10)
    )


def test_bayesian_network_of_pairs_is_product_of_its_tables(tmp_path):
    text = "BAYES 2 2 2 2 1 0 2 0 1 2 0.2 0.8 4 0.9 0.1 0.4 0.6"
    model = read_uai(written(tmp_path, text, "b.uai"))
    beliefs = infer(model, "exact")
    assert beliefs.log_partition == pytest.approx(0.0, abs=1e-12)
    assert beliefs.node[1].tolist() == pytest.approx([0.2 * 0.9 + 0.8 * 0.4, 0.2 * 0.1 + 0.8 * 0.6])
    wide = "BAYES 3 2 2 2 1 3 0 1 2 8 1 0 1 0 1 0 1 0"
    with pytest.raises(InputError, match="table 0 is over 3 variables"):
        read_uai(written(tmp_path, wide, "wide.uai"))
