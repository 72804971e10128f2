"""Texts that users read, one folder per language.

==================  ================================================================
file                contents
==================  ================================================================
pages/PAGE.md       first paragraph: headline of a page; the rest: its explanation
keys.md             keys of the player
glossary.toml       terms, by key
lessons.toml        lessons, by key
tour.toml           stops of the tour, by key
==================  ================================================================

A translation is another folder with the same files and keys.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

LANGUAGE = "en"
_FOLDER = Path(__file__).parent
_LINE_BREAKS = re.compile(r"[ \n]*\n[ \n]*")


@cache
def catalogue(name: str, language: str = LANGUAGE) -> dict[str, dict[str, Any]]:
    """Return the entries of ``NAME.toml`` by key, each text as one line.

    Callers share the result and must not change it.
    """
    content = (_FOLDER / language / f"{name}.toml").read_text(encoding="utf-8")
    entries: dict[str, dict[str, Any]] = _unwrapped(tomllib.loads(content))
    return entries


@cache
def page_markdown(name: str, language: str = LANGUAGE) -> str:
    """Return the content of ``NAME.md``."""
    return (_FOLDER / language / f"{name}.md").read_text(encoding="utf-8")


def _unwrapped(value: Any) -> Any:
    """Return a value of a TOML file whose texts have no line breaks."""
    if isinstance(value, str):
        return _LINE_BREAKS.sub(" ", value.strip())
    if isinstance(value, list):
        return [_unwrapped(item) for item in value]
    return {key: _unwrapped(item) for key, item in value.items()}
