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


# Root may write everywhere, so a file in the way makes the path unwritable.
def private_cache(tmp_path: Path) -> Path:
    """Return the directory of kernels if numba's own directories cannot be written."""
    blocker = tmp_path / "module" / "__pycache__"
    blocker.parent.mkdir(exist_ok=True)
    blocker.touch()
    places = {"XDG_CACHE_HOME": str(blocker), "HOME": str(blocker), "TMPDIR": str(tmp_path)}
    place = "import numba; print(numba.config.CACHE_DIR, file=sys.stderr)"
    return Path(kernels_run(blocker.parent, after=place, **places).strip())


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="requires POSIX users")
def test_kernels_are_cached_privately_without_writable_directory(tmp_path):
    first = private_cache(tmp_path)
    assert first.parent == tmp_path
    assert first.stat().st_mode & 0o777 == 0o700
    assert private_cache(tmp_path) == first


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="requires POSIX users")
def test_directory_writable_by_others_is_not_used(tmp_path):
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


def test_kernels_run_on_full_disk(tmp_path):
    # A file size limit of zero acts like a full disk.
    limit = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
sys.dont_write_bytecode = True
"""
    pytest.importorskip("resource")
    output = kernels_run(tmp_path, limit)
    assert output.count("could not be cached") == 1, "expected one line for both kernels"
    assert "Traceback" not in output
    assert not list(tmp_path.rglob("*.nbc"))


def test_kernels_run_without_writable_directory(tmp_path):
    nowhere = """
import tempfile
def refuse(*args, **kwargs):
    raise OSError(30, "Read-only file system")
tempfile.TemporaryFile = tempfile.mkdtemp = refuse
"""
    output = kernels_run(tmp_path, nowhere, HOME="/nonexistent", TMPDIR="/nonexistent")
    assert "cannot be cached on this machine" in output


def test_damaged_kernels_are_compiled_and_replaced(tmp_path):
    assert kernels_run(tmp_path) == ""
    stored = [*tmp_path.rglob("*.nbi"), *tmp_path.rglob("*.nbc")]
    assert len(stored) == 4
    for path in stored:
        path.write_bytes(path.read_bytes()[:40])
    assert "could not be read" in kernels_run(tmp_path)
    assert all(path.stat().st_size > 40 for path in stored), "a damaged kernel was not replaced"
