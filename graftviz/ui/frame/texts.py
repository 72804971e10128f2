"""Texts of the pages: ``texts/<language>/pages/<page>.md``, and ``keys.md`` for all of them.

The first paragraph of a page's file is its headline, the rest its explanation.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

LANGUAGE = "en"
_TEXTS = Path(__file__).parents[2] / "texts"
_KEYS = "{keys}"  # stands for the text about the keyboard

# All ASCII punctuation may be escaped in Markdown. Line breaks would end the sentence's paragraph.
_SPECIAL = re.compile(r"[!-/:-@\[-`{-~]")
_SPACE = re.compile(r"\s+")


class PageText(NamedTuple):
    """Headline and explanation of a page, in Markdown."""

    headline: str
    explanation: str


@cache
def page_text(page: str, language: str = LANGUAGE) -> PageText:
    """Return the text of a page."""
    folder = _TEXTS / language
    text = (folder / "pages" / f"{page}.md").read_text(encoding="utf-8")
    headline, _, explanation = text.partition("\n\n")
    if _KEYS in explanation:
        explanation = explanation.replace(_KEYS, (folder / "keys.md").read_text(encoding="utf-8"))
    return PageText(" ".join(headline.split()), explanation)


def plain(text: str) -> str:
    """Return Markdown that shows `text` as it is: no images, links, styles or formulas in it."""
    return _SPECIAL.sub(lambda found: "\\" + found.group(), _SPACE.sub(" ", text).strip())
