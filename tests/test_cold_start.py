"""First run of an installation: one line on standard error, and a second process."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import joblib
import psutil
import pytest
from compiled_kernels import copy_kernels
from waiting import wait_until

import graftviz as gv
from graftviz import _kernel_files
from graftviz.cold_start import NOTICE, Compilation, announced
from graftviz.learners.registry import learner_class, learner_names
from graftviz.player.rehearsal import parts_of_runs
from graftviz.racing import small_data

ROOT = Path(__file__).resolve().parent.parent
LEARN = """
import graftviz as gv
from graftviz.racing import small_data
print(len(gv.learn(small_data().table, gv.ChowLiu()).model.edges))
"""


def test_first_run_prints_compilation_notice_and_later_runs_do_not(tmp_path: Path) -> None:
    variables = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    copy_kernels(tmp_path, "search-spanning-")

    def learn() -> tuple[str, str]:
        command = [sys.executable, "-c", LEARN]
        completed = subprocess.run(
            command, env=os.environ | variables, capture_output=True, text=True, check=True
        )
        return completed.stdout, completed.stderr

    notice = f"{NOTICE} about 12 seconds.\n"
    assert learn() == ("4\n", notice)
    assert learn() == ("4\n", "")


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def test_another_process_compiles_parts_and_ends_with_the_run(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    before = set(children())
    with announced(Compilation(40.0, ("the edge queue",))):
        assert set(children()) == before, "no kernel is missing so far"
        for _ in range(2):
            _kernel_files._announce()
        assert len(set(children()) - before) == 1
    wait_until(lambda: not set(children()) - before, 30)
    assert caplog.messages == [f"{NOTICE} about 20 seconds."]


def test_on_one_core_no_process_is_started(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joblib, "cpu_count", lambda: 1)
    before = set(children())
    with announced(Compilation(40.0, ("the edge queue",))):
        _kernel_files._announce()
        assert set(children()) == before
    assert "about 40 seconds" in caplog.text


def test_run_without_compilation_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "graftviz")
    gv.learn(small_data().table, gv.ChowLiu())
    caplog.clear()
    gv.learn(small_data().table, gv.ChowLiu())
    assert not caplog.messages


@pytest.mark.parametrize("name", learner_names())
def test_parts_are_jobs_of_the_rehearsal(name: str) -> None:
    compilation = learner_class(name)().compilation()
    assert compilation.seconds > 0
    assert set(compilation.parts) <= {job.name for job in parts_of_runs()}
