"""Examples of the README run and print what it shows."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def command(name: str) -> str:
    found = re.search(
        rf"<!-- command: {name} -->\n```sh\n(.*?)\n```\n<!-- end -->", README, re.DOTALL
    )
    assert found, f"the README lost the marks around its {name} command"
    return found.group(1)


@pytest.mark.parametrize(
    ("name", "last"), [("app", "-m streamlit run app.py"), ("test", "-m pytest -n 2")]
)
def test_two_commands_of_one_line_start_from_nothing(name: str, last: str) -> None:
    line = command(name)
    assert "\n" not in line
    assert line.startswith("python3 -m venv .venv && .venv/bin/python -m pip install ")
    assert line.endswith(last)


def test_the_python_examples_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    monkeypatch.chdir(tmp_path)  # the examples write files
    # Those with scikit-learn, the last of them on a cluster, run in test_cluster.py.
    text, beyond = README.split("### With scikit-learn")
    sources = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert sources
    assert len(re.findall(r"```python\n", beyond)) == 2
    names: dict[str, object] = {}
    exec(compile("\n".join(sources), "<examples>", "exec"), names)  # the project's own text
    assert names["result"].model.n_edges > 0


@pytest.mark.slow
def test_the_command_line_example_runs(tmp_path: Path) -> None:
    # The arena and the papers' experiments take longer and have tests of their own.
    pattern = r"^\.venv/bin/python (-m graftviz (?!arena|reproduce).*)$"
    lines = re.findall(pattern, README, re.MULTILINE)
    assert len(lines) == 4
    for line in lines:
        done = subprocess.run(
            [sys.executable, *shlex.split(line)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    section = README.split("`learned/` then contains")[1].split("### Marginals")[0]
    promised = re.findall(r"`(\w[\w.]*\.\w+)`", section)
    assert promised
    assert [name for name in promised if not (tmp_path / "learned" / name).exists()] == []
    inferred = sorted(path.name for path in (tmp_path / "inferred").iterdir())
    assert inferred == ["graftviz-manifest.json", "marginals.MAR", "partition.PR"]
