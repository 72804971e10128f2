"""Stored kernels: dependence on their sources, directories, and nothing changed for others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A package like this one, with kernels that compile quickly.
MODULES = {
    "__init__.py": "",
    "inner.py": "from graftviz.utils.compiling import inner_kernel\n"
    "from graftviz.number import STEP\n\n"
    "@inner_kernel\ndef inner(x):\n    return x + STEP\n",
    "outer.py": "from graftviz.inner import inner\nfrom graftviz.utils.compiling import kernel\n\n"
    "@kernel\ndef outer(x):\n    return 2 * inner(x)\n",
    "number.py": "STEP = 1\n",
    "other.py": "UNUSED = 1\n",
}
OUTER = "from graftviz.outer import outer; print(outer(3), sum(outer.stats.cache_hits.values()))"


@pytest.fixture
def small_package(tmp_path):
    """Package with other modules, and a function that calls its kernel."""
    package = tmp_path / "graftviz"
    (package / "utils").mkdir(parents=True)
    (package / "utils" / "__init__.py").write_text("")
    shutil.copy(ROOT / "graftviz" / "utils" / "compiling.py", package / "utils")
    for name, text in MODULES.items():
        (package / name).write_text(text)

    def call(**environment):
        completed = subprocess.run(
            [sys.executable, "-c", OUTER],
            cwd=tmp_path,
            # Python would not notice a change of the same length within a second.
            env=os.environ
            | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": "", "PYTHONDONTWRITEBYTECODE": "1"}
            | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (completed.returncode, completed.stderr) == (0, "")
        value, hits = completed.stdout.split()
        return int(value), int(hits)

    return package, call


def test_kernels_are_compiled_again_if_a_callee_or_a_constant_changes(small_package):
    package, call = small_package
    assert [call(), call()] == [(8, 0), (8, 1)]
    (package / "inner.py").write_text(MODULES["inner.py"].replace("x + STEP", "x - STEP"))
    (package / "number.py").write_text("STEP = 10\n")
    assert call() == (-14, 0)
    (package / "inner.py").write_text(MODULES["inner.py"])
    assert call() == (26, 0)
    (package / "number.py").write_text(MODULES["number.py"])
    (package / "other.py").write_text("UNUSED = 2\n")
    assert call() == (8, 1), "the first kernels are stored and do not depend on other.py"


def test_kernels_of_a_module_with_overloads_depend_on_the_whole_folder(small_package):
    package, call = small_package
    registers = "from numba.extending import overload  # noqa: F401\n"
    (package / "outer.py").write_text(registers + MODULES["outer.py"])
    assert [call(), call()] == [(8, 0), (8, 1)]
    (package / "other.py").write_text("UNUSED = 2\n")
    assert call() == (8, 0)


def test_without_a_directory_that_can_be_written_kernels_are_not_stored(small_package, tmp_path):
    _, call = small_package
    blocked = tmp_path / "file"
    blocked.write_text("")
    (tmp_path / "graftviz" / "__pycache__").write_text("")
    nowhere = {"NUMBA_CACHE_DIR": str(blocked / "kernels"), "HOME": str(blocked)}
    nowhere["XDG_CACHE_HOME"] = str(blocked)
    assert [call(**nowhere), call(**nowhere)] == [(8, 0), (8, 0)]


def test_on_a_full_disk_kernels_are_not_stored(small_package):
    package, call = small_package
    full = "import shutil\nfrom types import SimpleNamespace\n"
    full += "shutil.disk_usage = lambda folder: SimpleNamespace(free=0)\n"
    (package / "__init__.py").write_text(full)
    assert [call(), call()] == [(8, 0), (8, 0)]
    assert not list(package.rglob("*.nbc"))


UNCHANGED = """
import os, sys
import numba
from numba.core import caching, codegen, config, dispatcher

modules = caching, codegen, dispatcher

def state():
    classes = {
        (name, key): id(value)
        for module in modules
        for name, each in vars(module).items() if isinstance(each, type)
        for key, value in vars(each).items() if not key.startswith("_abc")
    }
    settings = {key: value for key, value in vars(config).items() if key.isupper()}
    return classes, settings, dict(os.environ), list(sys.meta_path)

before = state()
import graftviz as gv
import numpy as np
gv.learn(gv.DiscreteTable.from_codes(np.arange(400).reshape(100, 4) % 3), gv.ChowLiu())
after = state()
assert [a == b for a, b in zip(before, after)] == [True] * 4
"""


def test_learning_changes_nothing_for_others():
    command = [sys.executable, "-c", UNCHANGED]
    completed = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False
    )
    assert completed.returncode == 0
