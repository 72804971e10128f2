"""The API reference contains every public callable and its example runs."""

from __future__ import annotations

import copy
import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import graftviz as gv

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "reference"
EXPLANATIONS = ["README.md", "docs/python.md", "docs/recipes.md"]
# Packages that are public as a whole, and packages of which a part is public.
WHOLE = ["graftviz", "graftviz.dynamics", "graftviz.reports.figures"]
IN_PART = [
    "graftviz.inference.exact",
    "graftviz.inference.local",
    "graftviz.evaluation.selection",
]
# Public functions of modules, and classes of what public callables return.
NAMED = [
    "graftviz.data.sets.files.read_truth",
    "graftviz.data.sets.dataset.DataSet",
    "graftviz.reports.files.run_folder.SavedResult",
    "graftviz.inference.cost.InferenceCost",
    "graftviz.inference.exact.EliminationPlan",
    "graftviz.inference.queries.Query",
    "graftviz.inference.likelihood.Ncmll",
    "graftviz.learning.observer.Quality",
    "graftviz.learning.observer.StepMetrics",
    "graftviz.inference.local.MinimalRadius",
    "graftviz.evaluation.selection.PathPoint",
    "graftviz.learning.trace.Certificate",
    "graftviz.learning.trace.Outcome",
    "graftviz.learning.trace.Remark",
    "graftviz.learning.trace.ReservoirView",
    "graftviz.learning.trace.ScoredEdge",
    "graftviz.evaluation.tuning.TuningPoint",
]


def exported(package: str) -> dict[str, Any]:
    """Return the public callables of a package by their full names."""
    module = importlib.import_module(package)
    values = {name: getattr(module, name) for name in module.__all__}
    return {f"{package}.{name}": value for name, value in values.items() if callable(value)}


def public_callables() -> dict[str, Any]:
    """Return the callables that the reference must contain."""
    found = {name: value for package in WHOLE for name, value in exported(package).items()}
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in EXPLANATIONS]
    code = " ".join(re.findall(r"```python\n.*?```|`[^`\n]+`", "\n".join(texts), re.DOTALL))
    words = set(re.findall(r"\w+", code))
    for package in IN_PART:
        for name, value in exported(package).items():
            if name.rpartition(".")[2] in words and value not in found.values():
                found[name] = value
    for name in NAMED:
        package, _, last = name.rpartition(".")
        found[name] = getattr(importlib.import_module(package), last)
    return found


PUBLIC = public_callables()


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    """Names shared by all examples, defined by the code at the top of the reference."""
    page = (PAGES / "index.md").read_text(encoding="utf-8")
    source = page.split("## Examples")[1].split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(compile(source, "<shared>", "exec"), names)  # the project's own text
    return names


def test_every_public_callable_is_in_the_reference_once() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(PAGES.glob("*.md")))
    assert sorted(re.findall(r"^::: (\S+)$", text, re.MULTILINE)) == sorted(PUBLIC)


def examples(name: str, value: Any) -> list[doctest.DocTest]:
    """Return the examples of a callable, and those of the methods of a class."""
    parts = {name: value}
    if inspect.isclass(value):
        methods = {m: getattr(value, m) for m in dir(value) if not m.startswith("_")}
        parts |= {f"{name}.{m}": method for m, method in methods.items()}
    parser = doctest.DocTestParser()
    texts = {part: inspect.getdoc(obj) or "" for part, obj in parts.items()}
    return [
        parser.get_doctest(text, {}, part, None, 0)
        for part, text in texts.items()
        if part == name or "\nExamples\n---" in text
    ]


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_the_example_of_a_public_callable_runs(
    name: str, shared: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # examples write files
    documented, *methods = examples(name, PUBLIC[name])
    assert "\nExamples\n--------\n" in (inspect.getdoc(PUBLIC[name]) or "")
    assert documented.examples
    report: list[str] = []
    for test in (documented, *methods):
        test.globs = copy.copy(shared)
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
        runner.run(test, out=report.append)
    assert "".join(report) == ""


def test_example_with_other_output_is_reported() -> None:
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "sum", None, 0)
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert "Expected:\n    3" in "".join(report)


def test_all_lists_every_public_name() -> None:
    assert {f"graftviz.{name}" for name in ("learn", "read_table", "infer")} <= set(PUBLIC)
    assert (
        PUBLIC["graftviz.evaluation.selection.stability_steps"] not in exported("graftviz").values()
    )
    assert gv.learn is PUBLIC["graftviz.learn"]
