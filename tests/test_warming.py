"""Compilation ahead of use: jobs, worker processes and stored kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from compiled_kernels import copy_kernels
from waiting import wait_until

from graftviz.__main__ import main
from graftviz.commands import warm_up
from graftviz.player import warming
from graftviz.player.rehearsal import every_job, page_jobs, parts_of_runs
from graftviz.player.warming import Workers

ROOT = Path(__file__).resolve().parent.parent


def environment(kernels: Path) -> dict[str, str]:
    return os.environ | {"NUMBA_CACHE_DIR": str(kernels), "PYTHONPATH": str(ROOT)}


def test_jobs_have_unique_names() -> None:
    names = [job.name for job in (*every_job(), *parts_of_runs())]
    assert len(set(names)) == len(names)
    assert all(names)


def test_workers_run_jobs_and_end_despite_failures() -> None:
    unknown = warming.Rehearsal("not a job", print)
    job = page_jobs()["reservoir"]
    workers = Workers([unknown, job])
    assert workers.wait(job.name, 300)
    assert workers.wait(unknown.name, 60)
    assert workers.wait("never given", 0)
    assert unknown.name in workers.failed
    assert workers.is_finished
    wait_until(lambda: not psutil.Process().children(recursive=True), 60)


def test_the_progress_of_a_job_follows_the_kernels_that_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    (job,) = [job for job in parts_of_runs() if job.name == "the edge queue"]
    workers = Workers([job])
    seen = []
    while not workers.wait(job.name, 0.05):
        seen.append(workers.seconds_done)
    assert seen == sorted(seen)
    assert len({seconds for seconds in seen if 0 < seconds < job.seconds}) > 2
    assert workers.seconds_done == job.seconds
    stored = [path.stat().st_size for path in tmp_path.rglob("*.nbc")]
    assert job.seconds / 3 < workers.seconds_stored(job) < 3 * job.seconds
    assert workers.seconds_stored(job) == pytest.approx(5.5e-6 * sum(stored), rel=0.01)


def test_closed_workers_end_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    workers = Workers(every_job()[:1])
    workers.close()
    assert workers.wait(every_job()[0].name, 60)
    wait_until(lambda: not psutil.Process().children(recursive=True), 60)


STARTS = """
from graftviz.player.rehearsal import parts_of_runs
from graftviz.player.warming import Workers
import psutil, time
if __name__ == "__main__":
    workers = Workers(parts_of_runs()[2:])
    print(*(child.pid for child in psutil.Process().children()), flush=True)
    time.sleep(600)
"""


def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", STARTS],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    children = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
    assert children
    wait_until(lambda: bool(list(tmp_path.rglob("*.nbc"))), 120)
    parent.kill()
    parent.communicate()
    wait_until(lambda: not any(child.is_running() for child in children), 30)


COMPILES = """
import json, sys, time
from numba.core import event

class Compiled(event.Listener):
    def on_start(self, event):
        kernel = event.data["dispatcher"]
        if kernel.py_func.__module__.startswith("graftviz.") and kernel.stats.cache_path:
            names.append(f"{kernel.py_func.__qualname__}{event.data['args']}")
    def on_end(self, event):
        pass

names = []
event.register("numba:compile", Compiled())
import graftviz as gv
from graftviz.player.rehearsal import _rehearse_queue
from graftviz.racing import small_data
jobs = [_rehearse_queue, lambda: gv.learn(small_data().table, gv.ChowLiu())]
if sys.argv[1] == "reversed":
    jobs.reverse()
results = [job() for job in jobs]
model = next(filter(None, results)).model
print(json.dumps([names, model.weights.tolist(), model.edges.tolist()]))
"""


@pytest.mark.slow
def test_two_concurrent_processes_compile_each_kernel_once(tmp_path: Path) -> None:
    def start(order: str, kernels: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", COMPILES, order]
        return subprocess.Popen(
            command, env=environment(kernels), stdout=subprocess.PIPE, text=True
        )

    copy_kernels(tmp_path / "both", "counts-", "fitting-", "pairs-", "search-")
    together = [start(order, tmp_path / "both") for order in ("given", "reversed")]
    outputs = [json.loads(process.communicate(timeout=300)[0]) for process in together]
    later = json.loads(start("given", tmp_path / "both").communicate(timeout=300)[0])
    (names, *result), (other_names, *other_result) = outputs
    assert result == other_result == later[1:]
    assert later[0] == [], "some kernels were not compiled"
    compiled = [*names, *other_names]
    assert len(compiled) == len(set(compiled)) > 20


def test_command_reports_that_nothing_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = page_jobs()["reservoir"]
    monkeypatch.setattr(warm_up, "missing_jobs", lambda: [job])
    assert main(["warm-up"]) == 0
    assert capsys.readouterr().out == "Everything is compiled.\n"
    monkeypatch.setattr(warm_up, "missing_jobs", list)
    assert main(["warm-up"]) == 0
    assert capsys.readouterr().out == "Everything is compiled already.\n"


def test_command_requires_a_cache(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warm_up, "can_store", lambda: False)
    assert main(["warm-up"]) == 2
    assert "set NUMBA_CACHE_DIR" in capsys.readouterr().err


def test_jobs_whose_kernels_are_stored_are_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warming, "_marks", lambda: tmp_path / "marks")
    assert len(warming.missing_jobs()) == len(every_job()) + len(parts_of_runs())
    first, *others = every_job()
    for job in others:
        warming.mark(job)
    assert warming.missing_jobs() == [first, *parts_of_runs()]
    warming.mark(first)
    assert warming.missing_jobs() == []
