"""Direction of imports, checked on the syntax trees of all modules without importing them."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from docs.making.import_order import ARCHITECTURE, import_ranks

ROOT = Path(__file__).resolve().parent.parent


# A room (a file or folder of graftviz/) may import its own rank and ranks above it in the list of
# docs/architecture.md; cycles within a rank are not allowed. "graftviz" is graftviz/__init__.py.
RANKS = import_ranks(ARCHITECTURE.read_text(encoding="utf-8"))
STREAMLIT_ROOMS = {"ui", "app", "pages"}
# Learners, scores, formats and experiments are found by file; commands and public names are loaded
# on first use.
IMPORT_BY_NAME_ROOMS = {"discovery", "experiments", "commands", "__main__", "graftviz"}
LATE_IMPORT = ("graftviz.ui.server", "graftviz.ui.start")  # after the server has begun to listen

# Inside graftviz/ui: pages, pages that show runs of other pages, and modules that import all pages;
# shared modules have no rank. A page imports no page of its own rank.
UI_RANKS = (
    ("grow", "race", "prune", "budget", "dynamics", "reservoir"),
    ("model_source",),
    ("regions", "inspect"),
    ("lessons",),
    ("start",),
    ("server",),
)

RANK_OF = {room: rank for rank, rooms in enumerate(RANKS) for room in rooms}
UI_RANK_OF = {part: rank for rank, parts in enumerate(UI_RANKS) for part in parts}


class Module(NamedTuple):
    """Source file: its dotted name, and whether it is the __init__ of a folder."""

    name: str
    is_package: bool
    source: str


class Import(NamedTuple):
    """Import of `target` by `importer` (dotted names), written on `line`."""

    importer: str
    target: str
    line: int
    in_function: bool
    by_name: bool


def read_project() -> list[Module]:
    paths = [
        ROOT / "app.py",
        *sorted(ROOT.glob("pages/*.py")),
        *sorted(ROOT.glob("graftviz/**/*.py")),
    ]
    modules = []
    for path in paths:
        if not path.exists():
            continue
        parts = path.relative_to(ROOT).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        modules.append(Module(name, is_package, path.read_text(encoding="utf-8")))
    return modules


def room(name: str) -> str:
    """Return the room of a dotted module name: "fitting" for graftviz.fitting.solver."""
    parts = name.split(".")
    return parts[1] if parts[0] == "graftviz" and len(parts) > 1 else parts[0]


def imports_of(module: Module, known: set[str]) -> list[Import]:
    """Return all imports of a module, including those for type checking."""

    def walk(node: ast.AST, in_function: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            for target, by_name in _targets(child, module, known):
                yield Import(module.name, target, child.lineno, in_function, by_name)
            inner = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, in_function or inner)

    return list(walk(ast.parse(module.source), False))


def _targets(node: ast.AST, module: Module, known: set[str]) -> Iterator[tuple[str, bool]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, False
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parts = module.name.split(".")
            depth = len(parts) - node.level + module.is_package
            base = ".".join([*parts[:depth], *([base] if base else [])])
        for alias in node.names:
            full = f"{base}.{alias.name}"
            yield (full if full in known else base), False
    elif isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called in ("import_module", "__import__"):
            named = node.args[0] if node.args else None
            is_text = isinstance(named, ast.Constant) and isinstance(named.value, str)
            yield (named.value if is_text else "?"), True


def violations(modules: list[Module]) -> list[str]:
    """Return one sentence for every broken rule."""
    known = {module.name for module in modules}
    imports = [arrow for module in modules for arrow in imports_of(module, known)]
    found = [
        f"{name}: the room {room(name)!r} has no rank; give it one in docs/architecture.md"
        for name in sorted(known)
        if room(name) not in RANK_OF
    ]
    found += [sentence for arrow in imports for sentence in _broken_by(arrow)]
    inside = [
        arrow for arrow in imports if arrow.target.split(".")[0] == "graftviz" and not arrow.by_name
    ]
    found += _cycles({(arrow.importer, arrow.target) for arrow in inside}, "modules")
    rooms = {(room(arrow.importer), room(arrow.target)) for arrow in inside}
    found += _cycles({(a, b) for a, b in rooms if a != b}, "rooms")
    return found


def _broken_by(arrow: Import) -> Iterator[str]:
    importing, imported = room(arrow.importer), room(arrow.target)
    place = f"{arrow.importer}, line {arrow.line}"
    if imported == "streamlit" and importing not in STREAMLIT_ROOMS:
        yield f"{place}: only graftviz/ui/, app.py and pages/ know streamlit"
    is_late = (arrow.importer, arrow.target) == LATE_IMPORT
    if arrow.by_name and importing not in IMPORT_BY_NAME_ROOMS and not is_late:
        yield f"{place}: an import by name hides an arrow"
    if arrow.in_function and not arrow.by_name and arrow.importer.startswith("graftviz"):
        yield f"{place}: an import inside a function hides a cycle"
    is_ours = arrow.target.split(".")[0] in ("graftviz", "app", "pages")
    if is_ours and RANK_OF.get(imported, 0) > RANK_OF.get(importing, len(RANKS)):
        yield f"{place}: {importing} must not import {imported}, which comes later"
    if importing == imported == "ui":
        own, other = (_part_of_ui(name) for name in (arrow.importer, arrow.target))
        if own != other and UI_RANK_OF.get(other, -1) >= UI_RANK_OF.get(own, 0):
            yield f"{place}: {own} must not import {other}, which is not below it"


def _part_of_ui(name: str) -> str:
    """Return the page or the shared module of a name below graftviz.ui."""
    return [*name.split("."), "", ""][2]


def _cycles(arrows: set[tuple[str, str]], what: str) -> list[str]:
    needs: dict[str, set[str]] = {}
    for importer, target in sorted(arrows):
        needs.setdefault(importer, set()).add(target)
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as error:
        return [f"{what} import each other in a circle: {' < '.join(error.args[1])}"]
    return []


def test_project_has_no_violations() -> None:
    assert violations(read_project()) == []


def test_every_room_has_one_rank() -> None:
    rooms = [room for rank in RANKS for room in rank]
    assert len(rooms) == len(set(rooms))


def test_architecture_page_lists_every_room() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    top_level = {"graftviz", "app", "pages"}  # described in the text
    assert listed == {room for room in RANK_OF if not room.startswith("_")} - top_level


# Sources of a small project, and a part of the expected sentence.
BROKEN = {
    "upwards": ({"graftviz.model": "from graftviz.runs import learn"}, "must not import runs"),
    "another page": (
        {"graftviz.ui.race.state": "from graftviz.ui.grow.state import GrowState"},
        "race must not import grow",
    ),
    "for types only": (
        {"graftviz.trace": "if TYPE_CHECKING:\n    import graftviz.metrics"},
        "must not import metrics",
    ),
    "streamlit": ({"graftviz.figures": "import streamlit as st"}, "know streamlit"),
    "hidden": ({"graftviz.runs": "importlib.import_module(name)"}, "hides an arrow"),
    "late": ({"graftviz.runs": "def f():\n    import graftviz.model"}, "inside a function"),
    "unknown room": ({"graftviz.attic": ""}, "has no rank"),
    "circle": (
        {"graftviz.model": "import graftviz.table", "graftviz.table": "import graftviz.model"},
        "modules import each other",
    ),
    "circle of rooms": (
        {
            "graftviz.search.queue": "import graftviz.trace",
            "graftviz.search.frozen": "",
            "graftviz.trace": "import graftviz.search.frozen",
        },
        "rooms import each other",
    ),
}


def modules_of(sources: dict[str, str]) -> list[Module]:
    return [
        Module(name.removesuffix(".__init__"), name.endswith(".__init__"), source)
        for name, source in sources.items()
    ]


@pytest.mark.parametrize(("sources", "complaint"), BROKEN.values(), ids=BROKEN)
def test_violation_is_found(sources: dict[str, str], complaint: str) -> None:
    assert any(complaint in sentence for sentence in violations(modules_of(sources)))


def test_allowed_imports_have_no_violations() -> None:
    clean = {
        "app": "import streamlit as st",
        "pages.grow": "import graftviz as gv\nfrom graftviz.ui import player",
        "graftviz.__init__": "from graftviz.model import PairwiseMRF",
        "graftviz.model": "import numpy as np",
        "graftviz.fitting.__init__": "from .solver import solve",
        "graftviz.fitting.penalty": "",
        "graftviz.fitting.solver": "from graftviz.fitting import penalty",
        "graftviz.__main__": "importlib.import_module('graftviz.commands.learn')",
    }
    assert violations(modules_of(clean)) == []
