"""First run of an installation: one line on standard error."""

from __future__ import annotations

import re

import pytest

import graftviz as gv
from graftviz.evaluation.race import small_data
from graftviz.utils import cold_start


def test_first_run_logs_a_line_and_later_ones_do_not(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    marks = tmp_path / "marks"
    monkeypatch.setattr(cold_start, "_marks", lambda: marks)
    monkeypatch.setattr(cold_start, "_done", set())
    gv.learn(small_data().table, gv.ChowLiu())
    (line,) = caplog.messages
    assert re.fullmatch(r"Compiling .*, once per installation: at most about \d+0 seconds\.", line)
    monkeypatch.setattr(cold_start, "_done", set())  # as in another process
    gv.learn(small_data().table, gv.ChowLiu())
    assert caplog.messages == [line]
    assert len(list(marks.iterdir())) == 1


def test_a_run_that_fails_leaves_no_mark(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    marks = tmp_path / "marks"
    monkeypatch.setattr(cold_start, "_marks", lambda: marks)
    monkeypatch.setattr(cold_start, "_done", set())
    with pytest.raises(gv.InputError):
        gv.learn(small_data().table, gv.BestChoice(max_edges=10**6))
    assert not marks.exists()
