"""Parsed source files, which several tests look through."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a Python file; it must not be changed."""
    return ast.parse(path.read_text(encoding="utf-8"))
