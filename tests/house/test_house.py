"""Rules of the repository: folders, lengths of files, requirements, public names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from source_files import tree_of

from graftviz import __version__
from graftviz.dynamics.learners import LEARNERS as DYNAMICS_LEARNERS
from graftviz.learning.registry import learner_class, learner_names

ROOT = Path(__file__).resolve().parents[2]
TOP_LEVEL = {
    *("app.py", "pages", "graftviz", "sample_data", "tests", "docs"),
    *("README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "requirements.txt", "mkdocs.yml"),
    *(".ci", ".gitignore", ".streamlit"),
}
MOST_LINES = 750
MOST_BYTES = 1_500_000
CODE = {".py", ".js", ".css", ".html"}
TEXT = CODE | {".md", ".toml", ".txt", ".csv", ".json", ".uai", ""}

MODULE_OF = {"scikit-learn": "sklearn"}
# Versions of these are fixed by the packages that require them.
COMES_WITH = {"llvmlite": "numba", "starlette": "streamlit"}
NOT_IMPORTED = "not imported by name"  # comment of a requirement that other packages import


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    """Files under version control, relative to the root."""
    try:
        listed = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=True
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def text_of(path: Path | str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def requirements() -> dict[str, str]:
    """Return the comments of the requirements of the package, by name."""
    lines = (
        text_of("pyproject.toml").split("\ndependencies = [\n")[1].split("\n]\n")[0].splitlines()
    )
    found = dict(re.fullmatch(r' *"([^"]+)",(?: # (.+))?', line).groups() for line in lines)  # type: ignore[union-attr]
    return {re.split(r"[<>=!~\[; ]", line)[0]: comment or "" for line, comment in found.items()}


def required(extra: str = "") -> list[str]:
    """Return the requirements of the package, or of one of its extras."""
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    lines: list[str] = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return lines


def extras() -> set[str]:
    """Return the optional requirements, which the rest of the package must not need."""
    optional = tomllib.loads(text_of("pyproject.toml"))["project"]["optional-dependencies"]
    lines = [line for name, lines in optional.items() if name != "test" for line in lines]
    return {re.split(r"[<>=!~\[; ]", line)[0] for line in lines}


def imported_packages() -> set[str]:
    """Return the top-level packages that the package, the app and its pages import."""
    found = set()
    for path in [*ROOT.glob("app.py"), *ROOT.glob("pages/*.py"), *ROOT.glob("graftviz/**/*.py")]:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add((node.module or "").split(".")[0])
    return found - set(sys.stdlib_module_names) - {"graftviz", "pages", "app"}


def test_top_level_has_no_other_files(tracked: list[Path]) -> None:
    assert {path.parts[0] for path in tracked} - TOP_LEVEL == set()


def test_no_file_is_too_long(tracked: list[Path]) -> None:
    ours = [
        p for p in tracked if p.suffix in CODE and p.parts[0] in ("graftviz", "pages", "app.py")
    ]
    lengths = {str(path): len(text_of(path).splitlines()) for path in ours}
    assert {path: n for path, n in lengths.items() if n > MOST_LINES} == {}


def test_no_file_is_too_large(tracked: list[Path]) -> None:
    sizes = {str(path): (ROOT / path).stat().st_size for path in tracked}
    assert {path: size for path, size in sizes.items() if size > MOST_BYTES} == {}


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("unfinished work", r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b"),
        ("a path of one machine", r"(?<![\w.:/-])/(home|root|work|tmp|Users)/\w"),
    ],
)
def test_texts_have_no_unwanted_patterns(tracked: list[Path], what: str, pattern: str) -> None:
    places = [
        f"{path}:{number}: {line.strip()[:80]}"
        for path in tracked
        if path.suffix in TEXT
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert places == [], what


def test_every_import_is_required_and_every_requirement_imported() -> None:
    comments = requirements()
    modules = {MODULE_OF.get(name, name) for name in comments}
    imported = imported_packages()
    assert imported - modules - set(COMES_WITH) - extras() == set()
    unused = {name for name in comments if MODULE_OF.get(name, name) not in imported}
    assert {name for name in unused if NOT_IMPORTED not in comments[name]} == set()


def test_requirements_txt_lists_package_and_app() -> None:
    lines = text_of("requirements.txt").splitlines()
    assert sorted(line for line in lines if line[:1] != "#") == sorted(required() + required("app"))


def test_every_requirement_has_reason_and_lower_bound() -> None:
    assert all(requirements().values())
    lines = required()
    assert [line for line in lines if not re.fullmatch(r"[\w-]+>=[\d.]+(,<[\d.]+)?", line)] == []


def test_every_folder_of_the_package_is_installed() -> None:
    folders = {path.parent for path in ROOT.glob("graftviz/**/*.py")}
    assert {str(f.relative_to(ROOT)) for f in folders if not (f / "__init__.py").exists()} == set()


KERNEL_DECORATORS = ("kernel", "inner_kernel", "intrinsic", "vectorize", "kernel_for")


def untyped_functions(tree: ast.AST) -> list[str]:
    """Return functions without full annotations, except kernels and their contents."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            if any(word in decorators for word in KERNEL_DECORATORS):
                continue
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            untyped = [a for a in arguments if not a.annotation and a.arg not in ("self", "cls")]
            if untyped or not node.returns:
                found.append(f"{node.name}, line {node.lineno}")
        found += untyped_functions(node)
    return found


def test_all_functions_but_kernels_are_annotated() -> None:
    assert untyped_functions(ast.parse("@kernel\ndef kernel(x):\n    return x")) == []
    assert untyped_functions(ast.parse("def plain(x) -> int:\n    return x")) == ["plain, line 1"]
    paths = sorted(ROOT.glob("graftviz/**/*.py"))
    found = {str(path.relative_to(ROOT)): untyped_functions(tree_of(path)) for path in paths}
    assert {path: names for path, names in found.items() if names} == {}


def test_names_of_classes_are_unique(tracked: list[Path]) -> None:
    modules: dict[str, list[str]] = {}
    for path in tracked:
        if path.suffix == ".py" and str(path).startswith("graftviz/"):
            for node in ast.walk(tree_of(ROOT / path)):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    modules.setdefault(node.name, []).append(str(path))
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}


LEARNER_FOLDERS = ("graftviz/learning/", "graftviz/dynamics/")


def names_of_learners(tree: ast.AST) -> list[str]:
    """Return the places that depend on concrete learners: class checks, and tables of names."""
    learners = [*map(learner_class, learner_names()), *DYNAMICS_LEARNERS.values()]
    classes = {cls.__name__ for cls in learners}
    names = {cls.name for cls in learners}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            checked = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
            found += [f"{name}, line {node.lineno}" for name in sorted(checked & classes)]
        elif isinstance(node, ast.Dict):
            keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
            if len(keys & names) > 1:
                found.append(f"table of names, line {node.lineno}")
    return found


def test_other_modules_do_not_depend_on_concrete_learners(tracked: list[Path]) -> None:
    assert names_of_learners(ast.parse("isinstance(learner, Learner | ChowLiu)"))
    assert names_of_learners(ast.parse("{'chow-liu': 1, 'first-hit': 2}"))
    found = {
        str(path): names_of_learners(tree_of(ROOT / path))
        for path in tracked
        if path.suffix == ".py"
        and str(path).startswith("graftviz/")
        and not str(path).startswith(LEARNER_FOLDERS)
    }
    # Experiments may have tables of learners.
    sweeps = "graftviz/evaluation/benchmarks/"
    rest = {
        path: [place for place in places if not ("table" in place and path.startswith(sweeps))]
        for path, places in found.items()
    }
    assert {path: places for path, places in rest.items() if places} == {}


def test_version_matches_changelog() -> None:
    newest = re.search(r"^## (\[\d.*)$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert newest
    assert __version__ in newest.group(1)
