"""JavaScript and CSS of the views, bundled from the modules in ``assets/`` once per process.

The texts of a view are a line of its script: ``views.toml`` and, of the player, ``player.toml`` of
``reports/texts/en``.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from graftviz.reports.texts import catalogue
from graftviz.reports.words.lessons import glossary_records

_ASSETS = Path(__file__).parent / "assets"
IMPORT = re.compile(r'^import \{ ([^}]*) \} from "([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async |class |const |function |let ))", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*(?s:.*?)\*/)[ \t]*$", re.MULTILINE)
_END_COMMENT = re.compile(r"(?<=[;,{}[\]]) // .*$", re.MULTILINE)
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CSS_MARK = re.compile(r" ?([{};,]) ?")


def modules(entry: str) -> dict[Path, str]:
    """Return the text of a module of ``assets/`` and of all that it imports, imports first."""
    found: dict[Path, str] = {}

    def visit(path: Path) -> None:
        if path in found:
            return
        text = path.read_text(encoding="utf-8")
        for _, name in IMPORT.findall(text):
            visit((path.parent / name).resolve())
        found[path] = text

    visit(_ASSETS / entry)
    return found


@cache
def bundle(entry: str) -> str:
    """Return a module and all that it imports as one script.

    A default export, which Streamlit calls in the script of a component, stays in it.
    """
    texts = modules(entry).values()
    return _slim("\n".join(EXPORT.sub("", IMPORT.sub("", text)) for text in texts))


def _slim(script: str) -> str:
    """Return a script without indentation, comments on lines of their own and after statements.

    This is safe because no string or template in the sources spans lines or contains ``" // "``.
    """
    lines = (line.strip() for line in _END_COMMENT.sub("", _COMMENT.sub("", script)).splitlines())
    return "\n".join(line for line in lines if line) + "\n"


@cache
def style_sheet(name: str) -> str:
    """Return a style sheet of ``assets/`` without comments, indentation and spaces around marks."""
    text = _read(name)
    text = _CSS_MARK.sub(r"\1", _CSS_COMMENT.sub("", text))
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def _read(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _constant(name: str, value: object) -> str:
    """Return a line of script that defines a constant."""
    # In an HTML page, "</" could end the script.
    text = json.dumps(value, ensure_ascii=False).replace("</", "<\\/")
    return f"const {name} = {text};\n"


def view_texts(view: str) -> str:
    """Return the lines of script with the texts of a view, and for the player the glossary."""
    shared = catalogue("views")
    if view != "player":
        return _constant("TEXT", shared)
    text = _constant("TEXT", shared | catalogue("player"))
    return text + _constant("GLOSSARY", glossary_records())


def view_name(view: str) -> str:
    """Return the name of the global object that the script of a view defines."""
    return f"Graftviz{view.title()}"


@cache
def view_script(view: str) -> str:
    """Return the script of a view, which defines its :func:`view_name` with `mount` and `host`."""
    texts = view_texts(view)
    body = f'"use strict";\n{texts}{bundle(f"{view}/{view}.js")}return {{ mount, host }};\n'
    return f"globalThis.{view_name(view)} = (() => {{\n{body}}})();\n"


def host_script(view: str) -> str:
    """Return the script of the component that shows a view inside Streamlit."""
    name = view_name(view)
    return f'{bundle("shared/mount.js")}export default mountedBy("{name}");\n'


@cache
def view_style(view: str) -> str:
    """Return the style sheet of a view; those of other views extend that of the player.

    Every rule is scoped under ``.gv-player`` or a ``gv-`` class.
    """
    own = "" if view == "player" else style_sheet(f"{view}/{view}.css")
    return style_sheet("player/player.css") + style_sheet("player/terms.css") + own


@cache
def replay_parts() -> tuple[str, str, str]:
    """Return page template, script and style sheet of the standalone replay page."""
    texts = view_texts("player")
    script = f'(() => {{\n"use strict";\n{texts}{bundle("player/replay.js")}}})();\n'
    style = style_sheet("player/replay.css") + view_style("player")
    return _read("player/replay.html"), script, style
