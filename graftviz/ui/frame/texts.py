"""Markdown of plain text."""

from __future__ import annotations

import re

# All ASCII punctuation may be escaped in Markdown. Line breaks would end the sentence's paragraph.
_SPECIAL = re.compile(r"[!-/:-@\[-`{-~]")
_SPACE = re.compile(r"\s+")


def plain(text: str) -> str:
    """Return Markdown that shows `text` as it is: no images, links, styles or formulas in it."""
    return _SPECIAL.sub(lambda found: "\\" + found.group(), _SPACE.sub(" ", text).strip())
