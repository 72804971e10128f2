"""JavaScript and CSS of the player, joined from the files in ``assets/`` once per process."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from graftviz.narrative.glossary import glossary_records

_ASSETS = Path(__file__).parent / "assets"
_SHARED = ("core.js", "layout.js", "keys.js", "keys_help.js", "save_picture.js")
_PARTS = (
    *_SHARED,
    "log.js",
    "demand.js",
    "camera.js",
    "gestures.js",
    "labels.js",
    "edges.js",
    "region_layer.js",
    "graph_pointer.js",
    "graph.js",
    "reservoir.js",
    "curves.js",
    "terms.js",
    "words.js",
    "bound_chart.js",
    "certified_region.js",
    "inspector.js",
    "transport.js",
    "player.js",
)
_RACE_PARTS = (
    *_SHARED,
    "race_log.js",
    "race_looks.js",
    "view.js",
    "asking.js",
    "race_graphs.js",
    "race_curves.js",
    "race_table.js",
    "race_transport.js",
    "race.js",
)
_REGION_PARTS = (
    *_SHARED,
    "race_looks.js",
    "view.js",
    "step_view.js",
    "transport.js",
    "region_log.js",
    "camera.js",
    "gestures.js",
    "region_graph.js",
    "region_answer.js",
    "region_curves.js",
    "region_map.js",
    "region_transport.js",
    "region.js",
)
_PRUNE_PARTS = (
    *_SHARED,
    "race_looks.js",
    "view.js",
    "step_view.js",
    "asking.js",
    "transport.js",
    "prune_log.js",
    "prune_graph.js",
    "prune_ranking.js",
    "prune_strip.js",
    "prune_curves.js",
    "prune.js",
)
_BUDGET_PARTS = (
    *_SHARED,
    "race_looks.js",
    "view.js",
    "step_view.js",
    "fed_view.js",
    "transport.js",
    "budget_log.js",
    "budget_plane.js",
    "budget_graph.js",
    "budget_tree.js",
    "budget_gauge.js",
    "budget.js",
)
_DYNAMICS_PARTS = (
    *_SHARED,
    "race_looks.js",
    "view.js",
    "step_view.js",
    "fed_view.js",
    "transport.js",
    "camera.js",
    "gestures.js",
    "dynamics_log.js",
    "dynamics_network.js",
    "dynamics_matrix.js",
    "dynamics_evidence.js",
    "dynamics_series.js",
    "dynamics.js",
)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*(?s:.*?)\*/)[ \t]*$", re.MULTILINE)
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CSS_MARK = re.compile(r" ?([{};,]) ?")


def _read(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _slim(script: str) -> str:
    """Return a script without indentation and comments on lines of their own.

    This is safe because no string or template in the sources spans lines.
    """
    lines = (line.strip() for line in _COMMENT.sub("", script).splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def _join(parts: tuple[str, ...]) -> str:
    """Return the parts as one text, whose names are visible to the code after it."""
    return _slim("\n".join(_read(part) for part in parts))


def _export(name: str, parts: tuple[str, ...], data: str = "") -> str:
    """Return a script that defines `name` on ``globalThis`` as an object with `mount`."""
    body = f'"use strict";\n{data}{_join(parts)}return {{ mount }};\n'
    return f"globalThis.{name} = (() => {{\n{body}}})();\n"


def _slim_css(text: str) -> str:
    """Return a style sheet without comments, indentation and spaces around marks."""
    text = _CSS_MARK.sub(r"\1", _CSS_COMMENT.sub("", text))
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


@cache
def _glossary() -> str:
    """Return the line of script with the terms of the glossary."""
    # In an HTML page, "</" could end the script.
    text = json.dumps(glossary_records(), ensure_ascii=False).replace("</", "<\\/")
    return f"const GLOSSARY = {text};\n"


@cache
def player_javascript() -> str:
    """Return the script of the live player, ``GraftvizPlayer``."""
    return _export("GraftvizPlayer", _PARTS, _glossary())


@cache
def player_css() -> str:
    """Return the style sheet; every rule is scoped under ``.gv-player`` or a ``gv-`` class."""
    return _slim_css(_read("player.css") + _read("terms.css"))


@cache
def canvas_javascript() -> str:
    """Return the script for zooming, panning and clicking in pictures outside of the player."""
    return _join(("keys.js", "camera.js", "gestures.js"))


@cache
def race_javascript() -> str:
    """Return the script of the race, ``GraftvizRace``."""
    return _export("GraftvizRace", _RACE_PARTS)


@cache
def race_css() -> str:
    """Return the style sheet of the race, which extends that of the player."""
    return player_css() + _slim_css(_read("race.css"))


@cache
def region_javascript() -> str:
    """Return the script of the growing region, ``GraftvizRegion``."""
    return _export("GraftvizRegion", _REGION_PARTS)


@cache
def region_css() -> str:
    """Return the style sheet of a growing region, which extends that of the player."""
    return player_css() + _slim_css(_read("region.css"))


@cache
def prune_javascript() -> str:
    """Return the script of forced pruning, ``GraftvizPrune``."""
    return _export("GraftvizPrune", _PRUNE_PARTS)


@cache
def prune_css() -> str:
    """Return the style sheet of forced pruning, which extends that of the player."""
    return player_css() + _slim_css(_read("prune.css"))


@cache
def budget_javascript() -> str:
    """Return the script of learning with bounded inference cost, ``GraftvizBudget``."""
    return _export("GraftvizBudget", _BUDGET_PARTS)


@cache
def budget_css() -> str:
    """Return the style sheet of the Budget page, which extends that of the player."""
    return player_css() + _slim_css(_read("budget.css"))


@cache
def dynamics_javascript() -> str:
    """Return the script of the influence network, ``GraftvizDynamics``."""
    return _export("GraftvizDynamics", _DYNAMICS_PARTS)


@cache
def dynamics_css() -> str:
    """Return the style sheet of the influence network, which extends that of the player."""
    return player_css() + _slim_css(_read("dynamics.css"))


@cache
def replay_parts() -> tuple[str, str, str]:
    """Return page template, script and style sheet of the standalone replay page."""
    script = (
        f'(() => {{\n"use strict";\n{_glossary()}{_join(_PARTS)}'
        "const GraftvizPlayer = { mount };\nglobalThis.GraftvizPlayer = GraftvizPlayer;\n"
        f"{_slim(_read('replay.js'))}openReplay();\n}})();\n"
    )
    return _read("replay.html"), script, _read("replay.css") + player_css()
