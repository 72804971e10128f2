"""Texts that users read, in the folder ``en``.

==================  ================================================================
file                contents
==================  ================================================================
pages/PAGE.md       first paragraph: headline of a page; the rest: its explanation
keys.md             keys of the player; replaces ``{keys}`` in a page's file
glossary.toml       terms, by key
lessons.toml        lessons and the tour, by key
labels.toml         short texts of controls, by part
views.toml          short texts that the views in the browser share, by part
player.toml         those of the player
steps.toml          templates of the sentences about steps
answers.toml        those of answers about an edge or a pair
learners.toml       those of steps and missing edges of learners with a search of their own
ends.toml           those of the learners: reasons why they end, and notes
grow.toml           texts of the page Grow
inspect.toml        texts of the page Inspect
class_data.toml     steps and questions on data sets that users download
==================  ================================================================
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_FOLDER = Path(__file__).parent / "en"
_KEYS = "{keys}"  # stands for the content of keys.md
_LINE_BREAKS = re.compile(r"[ \n]*\n[ \n]*")


class PageText(NamedTuple):
    """Headline and explanation of a page, in Markdown."""

    headline: str
    explanation: str


@cache
def catalogue(name: str) -> dict[str, dict[str, Any]]:
    """Return the entries of ``NAME.toml`` by key, each text as one line.

    Callers share the result and must not change it.
    """
    entries: dict[str, dict[str, Any]] = _unwrapped(tomllib.loads(_read(f"{name}.toml")))
    return entries


@cache
def page_text(page: str) -> PageText:
    """Return the text of a page."""
    headline, _, explanation = _read(f"pages/{page}.md").partition("\n\n")
    if _KEYS in explanation:
        explanation = explanation.replace(_KEYS, _read("keys.md"))
    return PageText(" ".join(headline.split()), explanation)


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _unwrapped(value: Any) -> Any:
    """Return a value of a TOML file whose texts have no line breaks."""
    if isinstance(value, str):
        return _LINE_BREAKS.sub(" ", value.strip())
    if isinstance(value, list):
        return [_unwrapped(item) for item in value]
    return {key: _unwrapped(item) for key, item in value.items()}
