"""Imports between the rooms of graftviz: a room imports rooms of lower storeys only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STOREY = {"utils": 1, "model": 2, "data": 3, "inference": 4, "dynamics": 4, "learning": 5}
STOREY |= {"evaluation": 6, "reports": 7, "app": 8, "cli": 9}
FILES = sorted(
    path.relative_to(ROOT)
    for path in [ROOT / "app.py", *ROOT.glob("pages/*.py"), *ROOT.glob("graftviz/*/**/*.py")]
)


def imports_of(source: str) -> Iterator[str]:
    """Yield the dotted names that a module imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def violations(path: Path, source: str) -> list[str]:
    """Return the imports of a file that its room must not have."""
    room = path.parts[1] if path.parts[0] == "graftviz" else "app"
    found = []
    for name in imports_of(source):
        library, _, rest = name.partition(".")
        other = rest.partition(".")[0]
        is_upward = library == "graftviz" and other not in ("", room) and path.parts[0] == library
        is_upward = is_upward and STOREY.get(other, 99) >= STOREY[room]
        is_late = library == "streamlit" and room != "app"
        is_late |= library == "plotly" and other != "data" and STOREY[room] < STOREY["reports"]
        if is_upward or is_late:
            found.append(name)
    return found


@pytest.mark.parametrize("path", FILES, ids=str)
def test_rooms_import_lower_storeys_only(path: Path) -> None:
    assert violations(path, (ROOT / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("model", "from graftviz.inference.methods import infer"),
        ("dynamics", "import graftviz.inference.beliefs"),
        ("learning", "import plotly.graph_objects as go"),
        ("reports", "import streamlit as st"),
        ("reports", "from graftviz.app import session"),
    ],
)
def test_wrong_imports_are_found(room: str, line: str) -> None:
    assert violations(Path("graftviz", room, "file.py"), f"def f():\n    {line}\n") != []


def test_rooms_are_those_of_the_architecture_page() -> None:
    rooms = {path.name for path in (ROOT / "graftviz").iterdir() if (path / "__init__.py").exists()}
    assert rooms == set(STOREY)
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert all(f" {storey} {room}/" in page for room, storey in STOREY.items())
