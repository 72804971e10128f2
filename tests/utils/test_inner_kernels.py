"""Kernels without a Python wrapper are used in other kernels only: a call would crash."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from numba.core.registry import CPUDispatcher

ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = ("graftviz", "tests", "docs", "pages")
_KERNEL_DECORATORS = ("kernel", "inner_kernel", "kernel_for", "vectorize")


def is_inner(kernel: Any) -> bool:
    """Return whether `kernel` was compiled without a wrapper for Python."""
    return isinstance(kernel, CPUDispatcher) and kernel.targetoptions.get(
        "no_cpython_wrapper", False
    )


def uses_by_python(tree: ast.Module, names: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Iterate over line and expression of inner kernels outside kernels.

    Parameters
    ----------
    names : dict
        Objects of the module, by name; names that the tree imports are added.
    """
    names = names | dict(_imported(tree))
    remaining: list[ast.AST] = [tree]
    while remaining:
        node = remaining.pop()
        if isinstance(node, ast.FunctionDef) and _is_kernel(node):
            continue
        if isinstance(node, ast.Attribute) and node.attr == "py_func":
            continue  # the plain function
        if isinstance(node, ast.Name) and is_inner(names.get(node.id)):
            yield node.lineno, node.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = names.get(node.value.id)
            if isinstance(module, ModuleType) and is_inner(getattr(module, node.attr, None)):
                yield node.lineno, ast.unparse(node)
        remaining += ast.iter_child_nodes(node)


def _is_kernel(node: ast.FunctionDef) -> bool:
    decorators = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
    return any(word in decorators for word in _KERNEL_DECORATORS)


def _imported(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """Iterate over the names that a module imports from the package, with their objects."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graftviz"):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                found = getattr(module, alias.name, None)
                if found is None:
                    found = importlib.import_module(f"{node.module}.{alias.name}")
                yield alias.asname or alias.name, found


def _own_names(path: Path) -> dict[str, Any]:
    """Return the objects of a module of the package; tests define no inner kernels."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] != "graftviz" or parts[-1] == "__main__":
        return {}
    name = ".".join(part for part in parts if part != "__init__")
    return vars(importlib.import_module(name))


def _files() -> list[Path]:
    return [ROOT / "app.py", *(p for f in _FOLDERS for p in sorted((ROOT / f).rglob("*.py")))]


def test_python_uses_no_inner_kernel() -> None:
    found = []
    for path in _files():
        source = path.read_text(encoding="utf-8")
        if "graftviz" in source or "inner_kernel" in source:
            for line, name in uses_by_python(ast.parse(source), _own_names(path)):
                found.append(f"{path.relative_to(ROOT)}:{line}: {name}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "from graftviz.learning.grafting.queue import _sort_hubs\n_sort_hubs(1)",
        "from graftviz.learning.grafting.queue import _sort_hubs as sort\n"
        "def f(x):\n    return map(sort, x)",
        "def f(x):\n    from graftviz.learning.grafting import queue\n    queue._sort_hubs(x)",
    ],
)
def test_use_from_python_is_found(source: str) -> None:
    assert [line for line, _ in uses_by_python(ast.parse(source), {})]


def test_uses_in_kernels_and_of_the_plain_function_are_allowed() -> None:
    source = (
        "from graftviz.learning.grafting.queue import _sort_hubs\n"
        "@kernel\ndef f(x):\n    _sort_hubs(x)\n"
        "_sort_hubs.py_func(1)"
    )
    assert not list(uses_by_python(ast.parse(source), {}))


def test_there_are_inner_kernels() -> None:
    modules = [module for name, module in sys.modules.items() if name.startswith("graftviz")]
    assert sum(is_inner(value) for module in modules for value in vars(module).values()) > 50
