"""Sentences, records, answers and files about single features."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from fakes import finished_run
from record_checks import check_types, documented_keys, strict

import graftviz as gv
from graftviz import DiscreteTable, FeatureGrafting, GraftingLight, Run
from graftviz.learning.features.run import FeatureOptions
from graftviz.reports.files.run_folder import result_json
from graftviz.reports.files.tables import EDGE_COLUMNS, FEATURE_COLUMNS, edges_csv
from graftviz.reports.replay.records import answer, recorded_run
from graftviz.reports.words.answers import why_edge, why_not
from graftviz.reports.words.phrases import pair, score
from graftviz.reports.words.steps import outcome_words, step_words


def table(rows: int = 700) -> DiscreteTable:
    """Return a chain of variables of three states, labelled a, b and c."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, size=(rows, 6))
    for i in range(1, 6):
        copies = rng.random(rows) < 0.5
        codes[copies, i] = codes[copies, i - 1]
    names = tuple(f"v{i}" for i in range(6))
    return DiscreteTable(codes.T.astype(np.uint8), names, (("a", "b", "c"),) * 6)


TABLE = table()
LEARNERS: list[FeatureOptions] = [
    FeatureGrafting(lam=0.02, lam2=0.02),
    GraftingLight(lam=0.02, lam2=0.02),
    FeatureGrafting(lam=0.01, max_features=9),
    GraftingLight(lam=0.01, max_edges=3),
]


def finished(learner: FeatureOptions, **settings: Any) -> Run:
    return finished_run(TABLE, learner, **settings)


@cache
def cached_run(k: int) -> Run:
    return finished(LEARNERS[k])


@pytest.fixture(params=range(len(LEARNERS)))
def run(request: pytest.FixtureRequest) -> Run:
    return cached_run(request.param)


def test_step_names_its_feature_and_active_share_of_edge(run: Run) -> None:
    assert len(run.steps) > 2
    for step in run.steps:
        words = step_words(step, run.learner, TABLE.names)
        [(i, j, a, b, own)] = step.features
        assert f"v{i} = {'abc'[a]} with v{j} = {'abc'[b]}" in words
        assert f"{score(own)} of" in words
        assert f"λ = {run.learner.lam:g}" in words
        assert f"{step.tests:,} " in words
        assert ("all that could be the best" in words) == (step.index > 1)
        edges = [tuple(edge) for edge in step.active_edges().tolist()]
        active, possible = step.feature_counts()[edges.index((i, j))].tolist()
        share = f"{active} of its {possible}" if active < possible else f"all of its {possible}"
        assert f"{share} features" in words
        assert ("becomes an edge" in words) == bool(step.activated)
        assert ("took one step" in words) == isinstance(run.learner, GraftingLight)
        assert pair(TABLE.names, i, j) in words


def test_answer_about_edge_has_fitted_weights_and_active_features(run: Run) -> None:
    for t in (1, len(run.steps)):
        step = run.steps[t - 1]
        model = step.model()
        for e, (i, j) in enumerate(step.active_edges().tolist()):
            reply = why_edge(run, i, j, t)
            cells = np.array(reply["active"])
            assert np.array_equal(cells, step.history.active_cells_at(t)[e])
            assert np.array_equal(np.array(reply["weights"]), model.edge_weights(e))
            assert not np.array(reply["weights"])[~cells].any()
            assert f"{np.count_nonzero(cells)} of its {cells.size}" in reply["words"] or cells.all()
            assert "nan" not in reply["words"]


def test_answer_about_absent_pair_names_its_best_feature(run: Run) -> None:
    for t in (0, 1, len(run.steps)):
        active = set(map(tuple, run.steps[t - 1].active_edges().tolist())) if t else set()
        for i, j in ((0, 5), (1, 4), (2, 5)):
            if (i, j) in active:
                continue
            reply = why_not(run, i, j, t)
            joint = np.zeros((3, 3))
            np.add.at(joint, (TABLE.codes[i], TABLE.codes[j]), 1 / TABLE.n_rows)
            gaps = np.abs(np.outer(joint.sum(axis=1), joint.sum(axis=0)) - joint)
            assert reply["score"] == pytest.approx(gaps.max(), abs=1e-9)
            assert reply["violates"] == (gaps.max() > run.learner.lam)
            assert reply["tests"] == t
            a, b = np.unravel_index(int(gaps.argmax()), gaps.shape)
            assert f"v{i} = {'abc'[a]} with v{j} = {'abc'[b]}" in reply["words"]


def test_records_have_the_documented_keys_and_count_features(run: Run) -> None:
    header, records, outcome = recorded_run(run, title="A chain")
    for part in (header, *records, outcome):
        strict(part)
        check_types(part)
    counts: dict[tuple[int, int], list[int]] = {}
    for step, record in zip(run.steps, records, strict=True):
        assert set(record) | {"layout", "threshold"} == documented_keys("Record")
        counts |= {(i, j): both for i, j, *both in record["features"]}
        edges = map(tuple, step.active_edges().tolist())
        assert [counts[edge] for edge in edges] == step.feature_counts().tolist()
    assert outcome["certificate"]["unit"] == "feature"
    assert header["threshold"]["value"] == header["lam"] == run.learner.lam
    i, j = run.steps[0].activated[0][:2]
    for question in ({"kind": "edge", "i": i, "j": j, "t": 1}, {"kind": "node", "i": 0, "t": 1}):
        check_types(strict(answer(run, question)))


def test_files_have_number_of_active_features_per_edge() -> None:
    result = cached_run(0).result()
    rows = list(csv.reader(io.StringIO(edges_csv(result))))
    assert rows[0] == [*EDGE_COLUMNS, *FEATURE_COLUMNS]
    reply = [[int(row[-2]), int(row[-1])] for row in rows[1:]]
    assert reply == cached_run(0).outcome.feature_counts().tolist()
    record = json.loads(result_json(result))
    assert record["certificate"]["unit"] == "feature"
    assert len(record["certificate"]["worst_states"]) == 2
    # Whole edges have no such columns.
    whole = gv.learn(TABLE, gv.EdgeGrafting(max_edges=2))
    assert edges_csv(whole).splitlines()[0] == ",".join(EDGE_COLUMNS)


def test_unstable_outcome_recommends_options_of_feature_learners() -> None:
    outcome = cached_run(0).outcome
    assert outcome is not None
    words = outcome_words(dataclasses.replace(outcome, bp_restart_gap=0.3))
    assert "a larger λ₂ or fewer edges" in words
    assert "refit" not in words
