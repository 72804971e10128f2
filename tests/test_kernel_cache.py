"""Cache of the kernels of the package: dependencies, concurrent processes, damaged files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("__init__.py", "__init__.pyi", "_numba_cache.py", "_kernel_files.py", "_version.py")

# A package like this one, with kernels that compile quickly.
MODULES = {
    "inner.py": "from numba import njit\nfrom graftviz.number import STEP\n\n"
    "@njit(cache=True)\ndef inner(x):\n    return x + STEP\n",
    "outer.py": "from numba import njit\nfrom graftviz.inner import inner\n\n"
    "@njit(cache=True)\ndef outer(x):\n    return 2 * inner(x)\n",
    "number.py": "STEP = 1\n",
    "other.py": "UNUSED = 1\n",
}
OUTER = "from graftviz.outer import outer; print(outer(3), sum(outer.stats.cache_hits.values()))"


def new_package(folder: Path) -> Path:
    """Write a copy of the package with other modules into a folder; return the folder."""
    package = folder / "graftviz"
    package.mkdir()
    for name in COPIED:
        shutil.copy(ROOT / "graftviz" / name, package)
    for name, text in MODULES.items():
        (package / name).write_text(text)
    return folder


@pytest.fixture
def small_package(tmp_path):
    """Copy of the package with other modules, and a function that calls its kernel."""
    package = new_package(tmp_path) / "graftviz"

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
    changes = {
        "inner.py": MODULES["inner.py"].replace("x + STEP", "x - STEP"),
        "number.py": "STEP = 10\n",
    }
    for name, text in changes.items():
        (package / name).write_text(text)
    assert call() == (-14, 0)
    (package / "inner.py").write_text(MODULES["inner.py"])
    assert call() == (26, 0)
    (package / "number.py").write_text(MODULES["number.py"])
    (package / "other.py").write_text("UNUSED = 2\n")
    assert call() == (8, 1), "the first kernels are cached and do not depend on other.py"


def test_copies_of_the_package_share_a_directory_of_kernels(small_package, tmp_path):
    package, call = small_package
    place = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    assert call(**place) == (8, 0)
    (tmp_path / "elsewhere").mkdir()
    moved = package.rename(tmp_path / "elsewhere" / "graftviz")
    assert call(**place, PYTHONPATH=str(moved.parent)) == (8, 1)


def test_kernels_unused_for_a_month_are_removed(small_package):
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


def test_kernels_of_module_with_overloads_depend_on_whole_folder(small_package):
    package, call = small_package
    registers = "from numba.extending import overload  # noqa: F401\n"
    (package / "outer.py").write_text(registers + MODULES["outer.py"])
    assert [call(), call()] == [(8, 0), (8, 1)]
    (package / "other.py").write_text("UNUSED = 2\n")
    assert call() == (8, 0)
    (package / "added.py").write_text("")
    assert call() == (8, 0)


class Package:
    """Small package and a directory of kernels."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kernels = folder, folder / "kernels"

    def start(self, code: str) -> subprocess.Popen[str]:
        places = {"PYTHONPATH": str(self.folder), "NUMBA_CACHE_DIR": str(self.kernels)}
        return subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=self.folder,
            env=os.environ | places,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, code: str) -> tuple[str, str]:
        """Return standard output and error of a process."""
        return self.result(self.start(code))

    @staticmethod
    def result(process: subprocess.Popen[str]) -> tuple[str, str]:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        return output.strip(), errors

    def files(self) -> list[Path]:
        return sorted(self.kernels.rglob("*.nbc"))


@pytest.fixture
def package(small_package: tuple[Path, Callable], tmp_path: Path) -> Package:
    return Package(tmp_path)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of the kernels that `THREE` needs."""
    first = Package(new_package(tmp_path_factory.mktemp("compiled")))
    assert first.run(THREE.format(before="")) == (f"{VALUES} 6", "")
    return first.kernels


@pytest.fixture
def compiled(package: Package, kernels: Path) -> Package:
    """Small package with compiled kernels."""
    shutil.copytree(kernels, package.kernels)
    return package


THREE = """
import pathlib, sys, time
from graftviz.outer import outer
from graftviz.inner import inner
{before}
values = outer(3), outer(3.5), outer(3j)
print(*values, sum(outer.stats.cache_misses.values()) + sum(inner.stats.cache_misses.values()))
"""
VALUES = "8 9.0 (2+6j)"


def test_kernel_is_compiled_by_one_of_several_processes(package):
    gate = package.folder / "gate"
    wait = f"while not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.001)"
    processes = [package.start(THREE.format(before=wait)) for _ in range(3)]
    gate.touch()
    outputs = [package.result(process) for process in processes]
    assert {output.rpartition(" ")[0] for output, _ in outputs} == {VALUES}
    assert {errors for _, errors in outputs} == {""}
    assert sum(int(output.rpartition(" ")[2]) for output, _ in outputs) == 6
    assert len(package.files()) == 6
    assert not list(package.kernels.rglob("*.nbc.*"))


def test_threads_of_one_process_compile_a_kernel_once(package):
    threads = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool:
    assert set(pool.map(outer, [3] * 4)) == {8}
"""
    assert package.run(THREE.format(before=threads)) == (f"{VALUES} 6", "")


def test_cache_is_the_same_if_numba_was_imported_first(package):
    first = "import numba, numba.core.dispatcher\n"
    assert package.run(first + THREE.format(before="")) == (f"{VALUES} 6", "")
    slp = "from numba.core import config; assert (config.SLP_VECTORIZE, config.OPT) == (1, 1)"
    assert package.run(THREE.format(before="") + slp) == (f"{VALUES} 0", "")
    assert package.run(first + THREE.format(before="") + slp) == (f"{VALUES} 0", "")


CALLER = """
from numba import njit
parsed = lambda: [each.library._shared_module is not None for each in inner.overloads.values()]
assert parsed() == [False] * 3, parsed()
assert njit(lambda x: 2 * inner(x))(3) == 8
assert sum(parsed()) == 1, parsed()
"""


def test_loaded_kernel_is_parsed_only_if_another_kernel_calls_it(compiled):
    load = "for x in (3, 3.5, 3j): inner(x)"
    assert compiled.run(THREE.format(before=load) + CALLER) == (f"{VALUES} 0", "")


# A process that hangs during a compilation.
STUCK = """
import time
from numba.core import event

class Stop(event.Listener):
    def on_start(self, event):
        if event.data["dispatcher"].py_func.__name__ == "inner":
            print("compiling", flush=True)
            time.sleep(600)
    def on_end(self, event):
        pass

event.register("numba:compile", Stop())
from graftviz.outer import outer
outer(3)
"""


@pytest.fixture
def stuck(package):
    process = package.start(STUCK)
    assert process.stdout.readline() == "compiling\n"
    yield process
    process.kill()
    process.communicate()


def test_process_killed_during_compilation_leaves_no_lock_and_no_file(package, stuck):
    waiting = package.start(THREE.format(before="print('waiting', flush=True)"))
    assert waiting.stdout.readline() == "waiting\n"
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(1.5)
    assert not package.files()
    stuck.kill()
    assert package.result(waiting) == (f"{VALUES} 6", "")


def test_waiting_for_a_compiling_process_is_limited(package, stuck):
    short = "import graftviz._kernel_files as files; files.LONGEST_WAIT = 0.1"
    assert package.run(THREE.format(before=short)) == (f"{VALUES} 6", "")


def test_failed_compilation_releases_lock(package):
    fails = """
from numba import TypingError
for _ in range(2):
    try:
        outer("text")
    except TypingError:
        print("refused")
"""
    started = package.start(THREE.format(before=f"{fails}\nsys.stdin.read()"))
    assert [started.stdout.readline() for _ in range(2)] == ["refused\n"] * 2
    short = "import graftviz._kernel_files as files; files.LONGEST_WAIT = 600.0"
    output, _ = package.run(THREE.format(before=short + fails))
    assert output.startswith(f"refused\nrefused\n{VALUES}")
    started.kill()
    started.communicate()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def scramble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :: 50] = bytes(len(data[len(data) // 2 :: 50]))
    path.write_bytes(data)


def test_damaged_kernels_are_recompiled_with_one_line_in_log(compiled):
    files = compiled.files()
    before = [path.read_bytes() for path in files]
    for path, damage in zip(files, [truncate, empty, scramble] * 2, strict=True):
        damage(path)
        assert path.read_bytes() not in before
    output, errors = compiled.run(THREE.format(before=""))
    assert output == f"{VALUES} 6"
    assert errors.count("\n") == 1
    assert "could not be read and is compiled again" in errors
    assert compiled.run(THREE.format(before="")) == (f"{VALUES} 0", "")


def test_kernel_file_with_name_of_another_kernel_is_not_used(compiled):
    first, *others = (path for path in compiled.files() if path.name.startswith("outer"))
    for other in others:
        shutil.copy(first, other)
    assert compiled.run(THREE.format(before="")) == (f"{VALUES} 2", "")


def test_directory_removed_during_run_is_created_again(package):
    removed = f"outer(3); import shutil; shutil.rmtree({str(package.kernels)!r})"
    assert package.run(THREE.format(before=removed)) == (f"{VALUES} 6", "")
    assert len(package.files()) == 4, "kernels compiled after the removal"


def test_kernels_that_cannot_be_written_are_used_with_one_line_in_log(package):
    pytest.importorskip("resource")
    full = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""
    output, errors = package.run(THREE.format(before=full))
    assert output == f"{VALUES} 6"
    assert errors.count("\n") == 1
    assert "could not be cached" in errors
    assert not list(package.kernels.rglob("*.nbc*"))


# Code that refuses changes of files like a read-only file system.
READ_ONLY = """
import os, sys

def refuse(event, arguments):
    changes = event in ("os.mkdir", "os.remove", "os.rename", "os.utime")
    if event == "open":
        changes = (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
    if changes:
        raise PermissionError(13, "read-only", str(arguments[0]))

sys.addaudithook(refuse)
"""


def test_kernels_are_compiled_on_read_only_disk_with_one_line_in_log(package):
    read_only = READ_ONLY + THREE.format(before="")
    output, errors = package.run(read_only)
    assert output == f"{VALUES} 6"
    assert errors.count("\n") == 1
    assert "cannot be cached on this machine" in errors
    assert not package.kernels.exists()


def test_missing_kernels_are_compiled_on_read_only_disk_with_one_line_in_log(compiled):
    read_only = READ_ONLY + THREE.format(before="")
    assert compiled.run(read_only) == (f"{VALUES} 0", "")
    removed = [path for path in compiled.files() if path.name.startswith("outer")][1:]
    for path in removed:
        path.unlink()
    output, errors = compiled.run(read_only)
    assert output == f"{VALUES} {len(removed)}"
    assert errors.count("\n") == 1
    assert "could not be cached" in errors
