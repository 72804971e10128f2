"""The walk-through of docs/add_a_learner.md, done: its file, its command, and the contract."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
PAGE = (TESTS.parent / "docs" / "add_a_learner.md").read_text(encoding="utf-8")
FILE = re.search(r"<!-- file: (\w+)\.py -->\n```python\n(.*?)```\n<!-- end -->", PAGE, re.DOTALL)
COMMAND = re.search(r"<!-- command -->\n```sh\n(.*?)\n```\n<!-- end -->", PAGE, re.DOTALL)


@pytest.mark.slow
def test_the_learner_of_the_page_keeps_the_contract_and_has_flags_and_controls(tmp_path):
    assert FILE
    assert COMMAND
    name = FILE[1]
    folder = tmp_path / "learners"
    folder.mkdir()
    (folder / f"{name}.py").write_text(FILE[2], encoding="utf-8")
    program, *words = shlex.split(COMMAND[1])
    assert (program, words[:2]) == (".venv/bin/python", ["-m", "graftviz"])
    environment = {key: text for key, text in os.environ.items() if not key.startswith("PYTEST_")}
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    done = subprocess.run(
        [sys.executable, str(TESTS / "one_file_learner.py"), str(folder), name, *words[2:]],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    output, contract = done.stdout.split("the contract follows")
    assert "Tournament grafting: 10 edges among 11 variables" in output
    assert "players=8" in output, "the options are in the help of learn"
    passed = re.search(r"(\d+) passed", contract)
    assert passed
    assert int(passed[1]) > 100
    out = tmp_path / words[words.index("--out") + 1]
    assert (out / "replay.html").exists()
