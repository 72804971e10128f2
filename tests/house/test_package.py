"""The public package: exported names and a quick start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import graftviz

ROOT = Path(__file__).resolve().parents[2]


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", graftviz.__all__)
def test_every_public_name_is_exported(name):
    assert getattr(graftviz, name) is not None
    assert name in dir(graftviz)


def test_unknown_names_are_not_exported():
    with pytest.raises(AttributeError, match="learm"):
        _ = graftviz.learm


def test_import_of_package_loads_no_heavy_module():
    code = "import sys, graftviz; print({'numba', 'pandas', 'numpy'} & set(sys.modules))"
    assert run_python(code).stdout.strip() == "set()"


def test_processes_of_multiprocessing_do_not_run_the_app():
    code = "import runpy; print('page' in runpy.run_path('app.py', run_name='__mp_main__'))"
    done = run_python(code)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "False", "")
