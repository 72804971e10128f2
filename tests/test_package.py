"""The public package: exported names, a quick start, and the cache of compiled kernels."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import graftviz

ROOT = Path(__file__).resolve().parent.parent


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
def test_every_public_name_is_there(name):
    assert getattr(graftviz, name) is not None
    assert name in dir(graftviz)


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="learm"):
        _ = graftviz.learm


def test_the_package_alone_loads_nothing_heavy():
    code = "import sys, graftviz; print({'numba', 'pandas', 'numpy'} & set(sys.modules))"
    assert run_python(code).stdout.strip() == "set()"


def test_processes_of_multiprocessing_do_not_run_the_app():
    code = "import runpy; print('page' in runpy.run_path('app.py', run_name='__mp_main__'))"
    done = run_python(code)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "False", "")


# Root may write everywhere, so a place that cannot be written is played by a file in its way.
def private_cache(tmp_path: Path) -> Path:
    """Return where kernels go if numba's own directories cannot be written."""
    blocker = tmp_path / "module" / "__pycache__"
    blocker.parent.mkdir(exist_ok=True)
    blocker.touch()
    places = {"XDG_CACHE_HOME": str(blocker), "HOME": str(blocker), "TMPDIR": str(tmp_path)}
    place = "import numba; print(numba.config.CACHE_DIR, file=sys.stderr)"
    return Path(kernels_run(blocker.parent, after=place, **places).strip())


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs users as POSIX knows them")
def test_without_a_writable_place_kernels_go_to_a_private_one(tmp_path):
    first = private_cache(tmp_path)
    assert first.parent == tmp_path
    assert first.stat().st_mode & 0o777 == 0o700
    assert private_cache(tmp_path) == first


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs users as POSIX knows them")
def test_a_directory_others_could_write_to_is_not_trusted(tmp_path):
    shared = private_cache(tmp_path)
    shared.chmod(0o777)
    other = private_cache(tmp_path)
    assert other != shared
    assert other.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(shared)
    shared.symlink_to(tmp_path)
    assert private_cache(tmp_path) not in (shared, other)


KERNELS = """
import sys
sys.path.insert(0, {folder!r})
{before}
import graftviz
import small_kernels
print(small_kernels.outer(3))
{after}
"""
SMALL = """from numba import njit

@njit(cache=True)
def inner(x):
    return x + 1

@njit(cache=True)
def outer(x):
    return 2 * inner(x)
"""


def kernels_run(folder: Path, before: str = "", after: str = "", **environment: str) -> str:
    """Call a kernel of a module in `folder` in a fresh process; return what was logged."""
    (folder / "small_kernels.py").write_text(SMALL)
    code = KERNELS.format(folder=str(folder), before=before, after=after)
    done = run_python(code, PYTHONPATH=str(ROOT), NUMBA_CACHE_DIR="", **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "8"
    return done.stderr


def test_kernels_run_where_the_disk_is_full(tmp_path):
    # No file may grow: what a full disk does, and any user may ask for it.
    limit = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
sys.dont_write_bytecode = True
"""
    pytest.importorskip("resource")
    output = kernels_run(tmp_path, limit)
    assert output.count("could not be kept") == 1, "two kernels, one line"
    assert "Traceback" not in output
    assert not list(tmp_path.rglob("*.nbc"))


def test_kernels_run_where_nothing_can_be_written(tmp_path):
    nowhere = """
import tempfile
def refuse(*args, **kwargs):
    raise OSError(30, "Read-only file system")
tempfile.TemporaryFile = tempfile.mkdtemp = refuse
"""
    output = kernels_run(tmp_path, nowhere, HOME="/nonexistent", TMPDIR="/nonexistent")
    assert "cannot be kept on this machine" in output


def test_damaged_kernels_are_compiled_again_and_replaced(tmp_path):
    assert kernels_run(tmp_path) == ""
    kept = [*tmp_path.rglob("*.nbi"), *tmp_path.rglob("*.nbc")]
    assert len(kept) == 4
    for path in kept:
        path.write_bytes(path.read_bytes()[:40])
    assert "could not be read" in kernels_run(tmp_path)
    assert all(path.stat().st_size > 40 for path in kept), "what was damaged has been replaced"


# A package like this one, with kernels that are compiled in a moment.
MODULES = {
    "inner.py": "from numba import njit\nfrom graftviz.number import STEP\n\n"
    "@njit(cache=True)\ndef inner(x):\n    return x + STEP\n",
    "outer.py": "from numba import njit\nfrom graftviz.inner import inner\n\n"
    "@njit(cache=True)\ndef outer(x):\n    return 2 * inner(x)\n",
    "number.py": "STEP = 1\n",
    "other.py": "UNUSED = 1\n",
}
OUTER = "from graftviz.outer import outer; print(outer(3), sum(outer.stats.cache_hits.values()))"


@pytest.fixture
def small_package(tmp_path):
    """A copy of the package with other modules, and the function that calls its kernel."""
    package = tmp_path / "graftviz"
    package.mkdir()
    for name in ("__init__.py", "__init__.pyi", "_numba_cache.py", "_version.py"):
        shutil.copy(ROOT / "graftviz" / name, package)
    for name, text in MODULES.items():
        (package / name).write_text(text)

    def call(**environment):
        done = subprocess.run(
            [sys.executable, "-c", OUTER],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": ""} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        value, hits = done.stdout.split()
        return int(value), int(hits)

    return package, call


def test_kernels_are_compiled_again_if_a_callee_or_a_constant_changes(small_package):
    package, call = small_package
    assert [call(), call()] == [(8, 0), (8, 1)]
    changes = {
        "inner.py": MODULES["inner.py"].replace("x + STEP", "x - STEP"),
        "number.py": "STEP = 10\n",
    }
    for name, text in changes.items():
        (package / name).write_text(text)
    assert [call(), call()] == [(-14, 0), (-14, 1)]
    (package / "inner.py").write_text(MODULES["inner.py"])
    assert call() == (26, 0)
    (package / "number.py").write_text(MODULES["number.py"])
    assert call() == (8, 1), "the first kernels are still there"
    (package / "other.py").write_text("UNUSED = 2\n")
    assert call() == (8, 1)


def test_copies_of_the_package_share_a_directory_of_kernels(small_package, tmp_path):
    package, call = small_package
    place = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    assert call(**place) == (8, 0)
    (tmp_path / "elsewhere").mkdir()
    moved = package.rename(tmp_path / "elsewhere" / "graftviz")
    assert call(**place, PYTHONPATH=str(moved.parent)) == (8, 1)


def test_kernels_that_were_not_used_for_a_month_are_removed(small_package):
    package, call = small_package
    call()
    (first,) = package.glob("__pycache__/outer-*")
    os.utime(first, (0, 0))
    call()
    assert first.stat().st_mtime > 1e9, "used today"
    os.utime(first, (0, 0))
    (package / "number.py").write_text("STEP = 2\n")
    assert call() == (10, 0)
    (second,) = package.glob("__pycache__/outer-*")
    assert second != first


def test_kernels_that_others_register_functions_for_depend_on_the_whole_folder(small_package):
    package, call = small_package
    registers = "from numba.extending import overload  # noqa: F401\n"
    (package / "outer.py").write_text(registers + MODULES["outer.py"])
    assert [call(), call()] == [(8, 0), (8, 1)]
    (package / "other.py").write_text("UNUSED = 2\n")
    assert [call(), call()] == [(8, 0), (8, 1)]
    (package / "added.py").write_text("")
    assert [call(), call()] == [(8, 0), (8, 1)]
