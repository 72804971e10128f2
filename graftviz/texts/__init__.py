"""Texts that users read, one folder per language.

==================  ================================================================
file                contents
==================  ================================================================
pages/PAGE.md       first paragraph: headline of a page; the rest: its explanation
keys.md             keys of the player; replaces ``{keys}`` in a page's file
glossary.toml       terms, by key
lessons.toml        lessons and the tour, by key
labels.toml         short texts of controls, by part
==================  ================================================================

A translation is another folder with the same files and keys.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

LANGUAGE = "en"
_FOLDER = Path(__file__).parent
_KEYS = "{keys}"  # stands for the content of keys.md
_LINE_BREAKS = re.compile(r"[ \n]*\n[ \n]*")


class PageText(NamedTuple):
    """Headline and explanation of a page, in Markdown."""

    headline: str
    explanation: str


@cache
def catalogue(name: str, language: str = LANGUAGE) -> dict[str, dict[str, Any]]:
    """Return the entries of ``NAME.toml`` by key, each text as one line.

    Callers share the result and must not change it.
    """
    content = (_FOLDER / language / f"{name}.toml").read_text(encoding="utf-8")
    entries: dict[str, dict[str, Any]] = _unwrapped(tomllib.loads(content))
    return entries


@cache
def page_text(page: str, language: str = LANGUAGE) -> PageText:
    """Return the text of a page."""
    folder = _FOLDER / language
    text = (folder / "pages" / f"{page}.md").read_text(encoding="utf-8")
    headline, _, explanation = text.partition("\n\n")
    if _KEYS in explanation:
        explanation = explanation.replace(_KEYS, (folder / "keys.md").read_text(encoding="utf-8"))
    return PageText(" ".join(headline.split()), explanation)


def _unwrapped(value: Any) -> Any:
    """Return a value of a TOML file whose texts have no line breaks."""
    if isinstance(value, str):
        return _LINE_BREAKS.sub(" ", value.strip())
    if isinstance(value, list):
        return [_unwrapped(item) for item in value]
    return {key: _unwrapped(item) for key, item in value.items()}
