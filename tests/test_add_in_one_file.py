"""The tutorial of docs/add_a_learner.md, run in another process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tutorials import tutorial

TESTS = Path(__file__).resolve().parent


def run_tutorial(kind: str, folder: Path) -> tuple[str, int]:
    """Run a tutorial; return the output of its command and the number of contract tests."""
    page = tutorial(f"add_a_{kind}")
    page.write(folder / "added")
    environment = {key: text for key, text in os.environ.items() if not key.startswith("PYTEST_")}
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    added, script = str(folder / "added"), str(TESTS / f"one_file_{kind}.py")
    arguments = [f"graftviz.{kind}s", added, script, page.module, *page.command]
    completed = subprocess.run(
        [sys.executable, str(TESTS / "one_file.py"), *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    out = page.command[page.command.index("--out") + 1]
    assert (folder / out / "replay.html").exists()
    output, contract = completed.stdout.split("the contract follows")
    passed = re.search(r"(\d+) passed", contract)
    assert passed
    return output, int(passed[1])


@pytest.mark.slow
def test_learner_of_tutorial_passes_contract_and_has_flags_and_controls(
    tmp_path: Path,
) -> None:
    output, passed = run_tutorial("learner", tmp_path)
    assert "Tournament grafting: 10 edges among 11 variables" in output
    assert "players=8" in output, "the options are in the help of learn"
    assert passed > 100
