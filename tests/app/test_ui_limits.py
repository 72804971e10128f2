"""Limits of runs: refusals, questions and offers."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path

import pytest
from fakes import random_table

from graftviz.__main__ import main
from graftviz.app import material
from graftviz.app.grow import GrowState
from graftviz.app.jobs import Executor
from graftviz.app.material import RunCheck, fewer_edges, judge, prepare
from graftviz.data.sets.registry import load_dataset
from graftviz.learning.registry import learner_class
from graftviz.reports.words.code import learn_command

TABLE = random_table(0, 60, 400)


def test_run_beyond_limits_is_refused_with_both_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = learner_class("edge-grafting")()
    assert judge(TABLE, learner) == RunCheck()
    monkeypatch.setattr(material, "MOST_BYTES", 1000.0)
    refusal = judge(TABLE, learner).refusal
    assert "This run will take about" in refusal
    assert "1.0 kB per run. Not started." in refusal


def test_fewer_edges_are_offered_if_they_fit_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = learner_class("best-choice")()
    offered = []
    for share in (0.3, 0.6, 0.9):
        seconds = share * material.of_learner(TABLE, learner).seconds
        monkeypatch.setattr(material, "ASK_SECONDS", seconds)
        assert judge(TABLE, learner).question
        budget = fewer_edges(TABLE, learner)
        if budget is not None:
            assert judge(TABLE, dataclasses.replace(learner, max_edges=budget)) == RunCheck()
            offered.append(budget)
    assert offered
    assert offered == sorted(offered), "offers should grow with the limit"
    monkeypatch.setattr(material, "ASK_SECONDS", 0.0)
    assert fewer_edges(TABLE, learner) is None


def test_command_learns_with_settings_of_page(tmp_path: Path) -> None:
    learner = learner_class("best-choice")(max_edges=2, alpha=0.5, preset="paper")
    table = tmp_path / "a table.csv"
    table.write_text("a,b,c\n" + "x,y,1\nx,z,2\ny,z,1\n" * 30, encoding="utf-8")
    command = learn_command("upload", learner, 1, {"missing": "drop"}, str(table))
    words = shlex.split(command)[3:]
    words[words.index("results")] = str(tmp_path / "results")
    assert main(words) == 0
    assert {"max_edges=2", "alpha=0.5", "preset=paper"} <= set(words)
    assert (tmp_path / "results" / "edges.csv").exists()


def test_command_uses_rows_of_page(tmp_path: Path) -> None:
    state = GrowState(
        lambda key, seed: prepare(load_dataset(key), seed), Executor(threads=1).queue()
    )
    for name, value in (("rows", 200), ("held_out", 0.25), ("seed", 3), ("max_edges", 5)):
        state.choose(name, value)
    state.refresh()
    assert state.run is not None
    state.run.grant()
    assert state.run.wait_for_end(120)
    words = shlex.split(state.command())[3:]
    words[words.index("results")] = str(tmp_path)
    assert main(words) == 0
    found, learned = json.loads((tmp_path / "result.json").read_text()), state.run.result()
    assert found["rows"] == learned.n_rows == 200
    assert found["objective"] == pytest.approx(learned.objective, abs=1e-9)
    assert found["nlpl_test"] == pytest.approx(learned.nlpl_test, abs=1e-9)
